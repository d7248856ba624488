/* The judge on histories that are right, and on each of them wrong in one line
 * (tests/judge/histories/). A line "#= P1,P2~ LINE" there says: with LINE in place
 * of the next one these properties are broken and no others, and LINE is among
 * what is shown; behind a "~" it need not be. "#+" adds LINE before the next one,
 * "#-" leaves the next one out. */
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "tests/judge/judge.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"

#define FOLDER "tests/judge/histories/"
#define LINES_MAX 200
#define VARIANTS_MAX 40

struct variant {
    char how;                   /* '=', '+', '-' */
    int at;                     /* the line that it concerns, from 0 */
    uint32_t broken;            /* bit N: PN */
    uint32_t shown;             /* of these: by its line */
    char line[200];
};

struct history {
    char lines[LINES_MAX][200];
    int count;
    struct variant variants[VARIANTS_MAX];
    int variants_count;
};

/* "P1,P10~ ": returns what is behind it. */
static const char *read_broken(const char *at, struct variant *v)
{
    while (*at == 'P') {
        char *end;
        uint32_t bit = 1u << strtol(at + 1, &end, 10);

        v->broken |= bit;
        if (*end != '~')
            v->shown |= bit;
        at = end + (*end == '~');
        at += *at == ',';
    }
    return *at == ' ' ? at + 1 : at;
}

static void add_variant(struct history *h, const char *line)
{
    struct variant *v = &h->variants[h->variants_count++];

    ck_assert_int_le(h->variants_count, VARIANTS_MAX);
    v->how = line[1];
    v->at = h->count;
    strcpy(v->line, read_broken(line + 3, v));
    ck_assert_msg(v->broken, "%s", line);
}

static void read_history(struct history *h, const char *name)
{
    char path[300], line[200];
    FILE *f;

    memset(h, 0, sizeof *h);
    snprintf(path, sizeof path, FOLDER "%s", name);
    ck_assert_ptr_nonnull(f = fopen(path, "r"));
    while (fgets(line, sizeof line, f)) {
        ck_assert_ptr_nonnull(strchr(line, '\n'));
        *strchr(line, '\n') = '\0';
        if (line[0] == '#' && line[1] && strchr("=+-", line[1]))
            add_variant(h, line);
        else
            strcpy(h->lines[h->count++], line);
        ck_assert_int_lt(h->count, LINES_MAX);
    }
    fclose(f);
}

/* An end may be left over: of a call that the variant does not ask, or ends itself. */
static void show_rest(struct judge *judge, const char *line, bool may_be_left)
{
    char copy[200];
    const char *wrong;

    strcpy(copy, line);
    wrong = judge_line(judge, copy, strlen(copy));
    ck_assert_msg(!wrong || (may_be_left && strstr(line, " end ")), "%s: %s", line,
                  wrong);
}

static void show_line(struct judge *judge, const char *line)
{
    show_rest(judge, line, false);
}

static bool has_other_calls(const struct history *h, const struct variant *v)
{
    return v && (strstr(v->how == '+' ? v->line : h->lines[v->at], " ask ") ||
                 strstr(v->line, " end "));
}

/* What is broken, of the history with a variant, or without (NULL). *shown: what
 * of it names the variant's line. */
static uint32_t judge_history(const struct history *h, const struct variant *v,
                              uint32_t *shown, char *texts, size_t room)
{
    struct judge *judge = judge_new(NULL);
    uint32_t broken = 0;

    for (int i = 0; i < h->count; i++) {
        if (v && v->at == i && v->how != '-')
            show_line(judge, v->line);
        if (!v || v->at != i || v->how == '+')
            show_rest(judge, h->lines[i], has_other_calls(h, v));
    }
    judge_end(judge);
    *shown = 0;
    *texts = '\0';
    for (size_t i = 0; i < judge_count(judge); i++) {
        const struct judge_violation *found = judge_violation(judge, i);
        size_t len = strlen(texts);

        broken |= 1u << found->property;
        snprintf(texts + len, room - len, "P%d %s; ", found->property,
                 found->text);
        for (int k = 0; v && k < found->lines_count; k++)
            if (found->lines[k] == (size_t)v->at + 1)
                *shown |= 1u << found->property;
    }
    judge_free(judge);
    return broken;
}

static const char *const names[] = {
    "queue.txt", "queue_at_zero.txt", "p1.txt", "p2.txt", "p3.txt", "p4.txt",
    "p5.txt",       "p6.txt",
    "p7.txt", "p8.txt", "p9.txt", "p10.txt", "failover.txt", "quiet.txt",
    "successor.txt", "excuses.txt", "old_master.txt", "permit.txt", "count.txt",
    "p12.txt"};

START_TEST(a_history_that_is_right_is_passed_over_in_silence)
{
    static struct history h;
    static char texts[4096];
    uint32_t shown;

    read_history(&h, names[_i]);
    ck_assert_msg(!judge_history(&h, NULL, &shown, texts, sizeof texts),
                  "%s: %s", names[_i], texts);
}
END_TEST

/* What is wrong with the judgement of a variant; nothing: empty. */
static void try_variant(const struct history *h, const struct variant *v,
                        char *complaint, size_t room)
{
    static char texts[4096];
    uint32_t shown, broken = judge_history(h, v, &shown, texts, sizeof texts);

    if (broken != v->broken)
        snprintf(complaint, room, "\nbefore line %d, #%c %s:\n  %s", v->at + 1,
                 v->how, v->line, *texts ? texts : "nothing found");
    else if ((shown & v->shown) != v->shown)
        snprintf(complaint, room, "\nbefore line %d, #%c %s: not shown:\n  %s",
                 v->at + 1, v->how, v->line, texts);
}

START_TEST(one_wrong_line_is_found_and_shown)
{
    static struct history h;
    static char complaints[1 << 16];

    read_history(&h, names[_i]);
    ck_assert_int_ge(h.variants_count, 5);
    *complaints = '\0';
    for (int i = 0; i < h.variants_count; i++) {
        size_t len = strlen(complaints);

        try_variant(&h, &h.variants[i], complaints + len,
                    sizeof complaints - len);
    }
    ck_assert_msg(!*complaints, "%s:%s", names[_i], complaints);
}
END_TEST

/* No file is forgotten, and each property has one that breaks it. */
START_TEST(each_history_is_judged)
{
    DIR *folder = opendir(FOLDER);
    int files = 0;

    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        files += entry->d_name[0] != '.';
    closedir(folder);
    ck_assert_int_eq(files, ROWS(names));
}
END_TEST

/* Of a lock of its own and a new owner: %d is the time, then its number. */
static const char *const life[] = {
    "%d c1 ask call=1 op=acquire lock=l%d kind=plain owner=c1:1",
    "%d s1 held lock=l%d kind=plain owner=c1:1 count=1 until=900000000 by=acquire",
    "%d c1 safe lock=l%d kind=plain owner=c1:1 until=800000000",
    "%d c1 end call=1 status=OK n=%d",
    "%d c1 ask call=2 op=release lock=l%d kind=plain owner=c1:1",
    "%d c1 safe lock=l%d kind=plain owner=c1:1 until=0",
    "%d s1 freed lock=l%d kind=plain owner=c1:1 why=released",
    "%d c1 end call=2 status=OK n=%d"};

/* What the judge keeps is what is live: it does not grow with the lines. */
START_TEST(a_long_history_takes_no_more_memory)
{
    struct judge *judge = judge_new(NULL);
    size_t before = 0;

    for (int i = 0; i < 20000; i++) {
        char line[200];

        for (int k = 0; k < ROWS(life); k++) {
            snprintf(line, sizeof line, life[k], i * 10 + k, i);
            show_line(judge, line);
        }
        if (i == 100)
            before = mallinfo2().uordblks;
    }
    ck_assert_uint_le(mallinfo2().uordblks, before + 4096);
    judge_end(judge);
    ck_assert_uint_eq(judge_count(judge), 0);
    judge_free(judge);
}
END_TEST

/* How many losses were told before the end of the hold, which is at 1,000; the
 * client is suspended until `go`. */
static uint64_t leads(int stop, int go, int lost)
{
    static const char *const lines[] = {
        "10 c1 ask call=1 op=acquire lock=a kind=plain owner=c1:1",
        "20 s1 held lock=a kind=plain owner=c1:1 count=1 until=1000 by=acquire",
        "30 c1 end call=1 status=OK", "%d c1 stop", "%d c1 go",
        "%d c1 lost lock=a kind=plain owner=c1:1"};
    const int times[] = {0, 0, 0, stop, go, lost};
    struct judge *judge = judge_new(NULL);
    struct judge_stats stats;

    for (int i = 0; i < ROWS(lines); i++) {
        char line[200];

        snprintf(line, sizeof line, lines[i], times[i]);
        show_line(judge, line);
    }
    judge_stats(judge, &stats);
    judge_free(judge);
    return stats.leads;
}

START_TEST(the_lead_is_that_of_clients_that_run)
{
    ck_assert_uint_eq(leads(100, 200, 900), 1);
    ck_assert_uint_eq(leads(100, 200, 1100), 1); /* late */
    ck_assert_uint_eq(leads(100, 1050, 1100), 0);
}
END_TEST

/* The kind of what is wrong with a call of this lock that ends so after 7 us. */
static void kind_of(const char *lock, const char *status, char *kind, size_t size)
{
    static const char *const lines[] = {
        "# cause_ms 1", "# answer_ms 1", "10 c1 start id=c1",
        "20000 c1 ask call=1 op=acquire lock=%s kind=plain owner=c1:1 wait=5000",
        "20007 c1 end call=1 status=%s"};
    const char *const words[] = {"", "", "", lock, status};
    struct judge *judge = judge_new(NULL);

    for (int i = 0; i < ROWS(lines); i++) {
        char line[200];

        snprintf(line, sizeof line, lines[i], words[i]);
        show_line(judge, line);
    }
    ck_assert_uint_eq(judge_count(judge), 1);
    snprintf(kind, size, "%s", judge_violation(judge, 0)->kind);
    judge_free(judge);
}

START_TEST(violations_of_one_kind_differ_in_names_and_numbers_alone)
{
    char kind[256], again[256];

    kind_of("a", "HF_E_NOREPLY", kind, sizeof kind);
    ck_assert_str_eq(kind, "call  of client c, begun at , ends with HF_E_NOREPLY, "
                           "without a fault that touches it");
    kind_of("another", "HF_E_NOREPLY", again, sizeof again);
    ck_assert_str_eq(kind, again);
    kind_of("a", "HF_E_CONNECT", again, sizeof again);
    ck_assert_str_ne(kind, again);
    kind_of("a", "HF_TIMEOUT", again, sizeof again);
    ck_assert_str_eq(again, "call  of client c, begun at , ends with HF_TIMEOUT, "
                            "earlier than the time that it is to wait");
}
END_TEST

/* ---- the program ---- */

static const struct {
    const char *input, *arguments, *says;
    int code;
} runs[] = {
    {HISTORY_FIRST_LINE "\\n", "-", "", 0},
    {"", FOLDER "p1.txt " FOLDER "p2.txt", "", 0},
    {HISTORY_FIRST_LINE "\\n0 c1 ask call=1 due=5\\n9 w over\\n", "-",
     "-: P7, each call ends in time:\n"
     "  at 0.000005 s: call 1 of client c1, begun at 0.000000 s, has not ended "
     "by 0.000005 s\n"
     "    2: 0 c1 ask call=1 due=5\n",
     1},
    {HISTORY_FIRST_LINE "\\n5 s1 up\\n", "--stats -",
     "-: 1 events, 0 grants, 0 losses told\n"
     "  longest wait for a lock that was free: 0.000 ms\n",
     0},
    {"", "/dev/null",
     "judge: /dev/null:1: the first line of a history is \"# holdfast history "
     "1\"\n",
     2},
    {"", "no/such/file", "judge: no/such/file: No such file or directory\n", 2},
    {"5 s1 up\\n", "-",
     "judge: -:1: the first line of a history is \"# holdfast history 1\"\n", 2},
    {HISTORY_FIRST_LINE "\\n5 s1 up\\n4 s1 up\\n", "-",
     "judge: -:3: a line is earlier than the one before it\n", 2},
    {"", "--nonsense -", "judge: wrong option '--nonsense'; see 'judge --help'\n", 2},
    {"", "-x -", "judge: wrong option '-x'; see 'judge --help'\n", 2},
    {"", "-sx -", "judge: wrong option '-x'; see 'judge --help'\n", 2},
    {"", "-go -", "judge: wrong option '-g'; see 'judge --help'\n", 2},
    {"", "-xs -", "judge: wrong option '-x'; see 'judge --help'\n", 2},
    {"", "--stats --nonsense", "judge: wrong option '--nonsense'; see 'judge --help'\n",
     2},
    {"", "--stats=3 -", "judge: wrong option '--stats=3'; see 'judge --help'\n", 2},
    {"", "--svg", "judge: option '--svg' needs a FILE; see 'judge --help'\n", 2},
    {HISTORY_FIRST_LINE "\\n5 s1 held lock=a\\n", "-",
     "judge: -:2: a line does not say what it must\n", 2},
    {HISTORY_FIRST_LINE "\\n5 c1 ask call=1\\n6 c2 end call=1\\n", "-",
     "judge: -:3: the call that ends here was not asked, or has ended already\n", 2},
    {HISTORY_FIRST_LINE "\\n5 c1 ask call=1\\n6 c1 end call=1\\n7 c1 end call=1\\n",
     "-",
     "judge: -:4: the call that ends here was not asked, or has ended already\n", 2},
    {HISTORY_FIRST_LINE "\\n5 c1 ask call=1\\n6 c1 died\\n7 c1 end call=1\\n", "-",
     "judge: -:4: the call that ends here was not asked, or has ended already\n", 2},
    /* What nobody reads is not passed over in silence: it may be a slip. */
    {HISTORY_FIRST_LINE "\\n1 c1 saef lock=a\\n2 c1 ask call=1 op=lock\\n"
                        "3 c1 end call=1 colour=red\\n",
     "-",
     "judge: -:2: ignored, for it is not in the format: saef (3 lines have such "
     "words)\n",
     0},
    {HISTORY_FIRST_LINE "\\n1 c65536 ask call=1\\n", "-",
     "judge: -:2: the number of a source is below 65536\n", 2},
    {HISTORY_FIRST_LINE "\\n# judge 1, 7\\n0 c1 ask call=1 due=5\\n9 w over\\n",
     "-",
     "-: P7, each call ends in time:\n"
     "  at 0.000005 s: call 1 of client c1, begun at 0.000000 s, has not ended "
     "by 0.000005 s\n"
     "    3: 0 c1 ask call=1 due=5\n",
     1},
    {HISTORY_FIRST_LINE "\n1 c1 start id=c1\n"
                        "1 s1 stock lock=a kind=semaphore n=2 by=set hold=c1:0\n"
                        "2 s1 stock lock=a kind=semaphore n=3 by=set hold=c1:9\n",
     "-",
     "-: P11, permits and counts are neither made nor lost:\n"
     "  at 0.000002 s: server s1 counts 3 of a after 2: it is set where there is "
     "one already\n"
     "    3: 1 s1 stock lock=a kind=semaphore n=2 by=set hold=c1:0\n"
     "    4: 2 s1 stock lock=a kind=semaphore n=3 by=set hold=c1:9\n",
     1}};

START_TEST(the_program_prints_the_verdict_and_sets_its_exit_code)
{
    char command[600], said[2000];
    FILE *f;
    size_t len;
    int status;

    snprintf(command, sizeof command,
             "printf '%s' | " HF_BUILD "/judge %s 2>&1", runs[_i].input,
             runs[_i].arguments);
    ck_assert_ptr_nonnull(f = popen(command, "r"));
    len = fread(said, 1, sizeof said - 1, f);
    said[len] = '\0';
    status = pclose(f);
    ck_assert_str_eq(said, runs[_i].says);
    ck_assert_int_eq(WEXITSTATUS(status), runs[_i].code);
}
END_TEST

START_TEST(the_program_helps)
{
    char command[100];

    ck_assert_int_eq(system(HF_BUILD "/judge --help | grep -q '^usage: judge'"), 0);
    for (int i = 1; i <= HISTORY_PROPERTIES; i++) {
        snprintf(command, sizeof command, HF_BUILD "/judge --help | grep -q '^  P%d '", i);
        ck_assert_int_eq(system(command), 0);
    }
    ck_assert_int_ne(system(HF_BUILD "/judge >/dev/null 2>&1"), 0);
    ck_assert_int_ne(system(HF_BUILD "/judge --nonsense - >/dev/null 2>&1"), 0);
}
END_TEST

static Suite *judge_suite(void)
{
    Suite *s = suite_create("judge");
    TCase *tc = tcase_create("histories");

    tcase_add_loop_test(tc, a_history_that_is_right_is_passed_over_in_silence, 0,
                        ROWS(names));
    tcase_add_loop_test(tc, one_wrong_line_is_found_and_shown, 0, ROWS(names));
    tcase_add_test(tc, each_history_is_judged);
    tcase_add_test(tc, a_long_history_takes_no_more_memory);
    tcase_add_test(tc, the_lead_is_that_of_clients_that_run);
    tcase_add_test(tc, violations_of_one_kind_differ_in_names_and_numbers_alone);
    suite_add_tcase(s, tc);
    tc = tcase_create("program");
    tcase_add_loop_test(tc, the_program_prints_the_verdict_and_sets_its_exit_code, 0,
                        ROWS(runs));
    tcase_add_test(tc, the_program_helps);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return suite_run(judge_suite());
}
