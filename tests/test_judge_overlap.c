/* The time lines of build/judge (--overlap, --svg) are those of the golden files in
 * tests/judge/golden/. HF_GOLDEN=1 writes these files anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/judge/history.h"
#include "tests/support/suite.h"

#define FOLDER "tests/judge/verdicts/"
#define GOLDEN "tests/judge/golden/"
#define JUDGE HF_BUILD "/judge "
#define TEXT_MAX (64 * 1024)

static void read_all(FILE *f, char *text)
{
    size_t len;

    ck_assert_ptr_nonnull(f);
    len = fread(text, 1, TEXT_MAX - 1, f);
    text[len] = '\0';
}

static int run(const char *command, char *said)
{
    FILE *f = popen(command, "r");

    read_all(f, said);
    return WEXITSTATUS(pclose(f));
}

static void must_be_golden(const char *name, const char *text)
{
    static char golden[TEXT_MAX];
    char path[200];
    FILE *f;

    snprintf(path, sizeof path, GOLDEN "%s", name);
    if (getenv("HF_GOLDEN")) {
        ck_assert_ptr_nonnull(f = fopen(path, "w"));
        ck_assert_int_ge(fputs(text, f), 0);
        fclose(f);
    }
    read_all(f = fopen(path, "r"), golden);
    fclose(f);
    ck_assert_str_eq(text, golden);
}

/* Two beliefs that overlap by a microsecond; a release of another owner's hold; a
 * suspended owner; two holds on a server; a waiter; a violation without a hold. */
START_TEST(the_text_shows_the_holds_concerned)
{
    static char said[TEXT_MAX];

    ck_assert_int_eq(run(JUDGE "--overlap " FOLDER "wrong-p1-clients-alone.txt " FOLDER
                               "wrong-p1-deleted-before-the-grant.txt " FOLDER
                               "wrong-p2-late-after-a-suspension.txt " FOLDER
                               "wrong-p9-writer-beside-readers.txt " FOLDER
                               "wrong-p5-not-woken.txt " FOLDER
                               "wrong-p11-set-twice.txt",
                         said),
                     1);
    must_be_golden("overlap.txt", said);
}
END_TEST

static void draw(const char *history, char *svg)
{
    char path[] = "/tmp/hf-judge-XXXXXX", command[400], said[2000];
    int fd = mkstemp(path);
    FILE *f;

    ck_assert_int_ge(fd, 0);
    close(fd);
    snprintf(command, sizeof command, JUDGE "--svg %s " FOLDER "%s >/dev/null 2>&1",
             path, history);
    (void)run(command, said);
    read_all(f = fopen(path, "r"), svg);
    fclose(f);
    unlink(path);
}

START_TEST(the_picture_shows_the_holds_concerned)
{
    static char svg[TEXT_MAX];

    draw("wrong-p1-deleted-before-the-grant.txt", svg);
    must_be_golden("overlap.svg", svg);
}
END_TEST

START_TEST(a_right_history_has_an_empty_picture)
{
    static char svg[TEXT_MAX];

    draw("right-re-entry.txt", svg);
    ck_assert_ptr_nonnull(strstr(svg, "</svg>\n"));
    ck_assert_ptr_null(strstr(svg, "<line"));
}
END_TEST

/* A lock's name may have any bytes. */
START_TEST(names_are_escaped)
{
    static char said[TEXT_MAX], command[1000];

    snprintf(command, sizeof command,
             "printf '" HISTORY_FIRST_LINE "\\n# judge 1\\n"
             "1 c1 safe lock=<&>%%%%22 owner=a until=9\\n"
             "2 c2 safe lock=<&>%%%%22 owner=b until=9\\n' | " JUDGE
             "--svg /dev/stderr - 2>&1 >/dev/null");
    (void)run(command, said);
    ck_assert_msg(strstr(said, "lock &lt;&amp;&gt;\", at 0.000002 s"), "%s", said);
}
END_TEST

START_TEST(a_picture_that_cannot_be_written_is_an_error)
{
    char said[2000];

    ck_assert_int_eq(run(JUDGE "--svg /no/such/folder/x.svg " FOLDER
                               "right-re-entry.txt 2>&1",
                         said),
                     2);
    ck_assert_str_eq(said, "judge: /no/such/folder/x.svg: No such file or directory\n");
    ck_assert_int_eq(run(JUDGE "--svg /dev/null " FOLDER "right-re-entry.txt " FOLDER
                               "right-latch.txt 2>&1",
                         said),
                     2);
    ck_assert_str_eq(said, "judge: --svg needs exactly one history\n");
}
END_TEST

static Suite *overlap_suite(void)
{
    Suite *s = suite_create("judge_overlap");
    TCase *tc = tcase_create("time lines");

    tcase_add_test(tc, the_text_shows_the_holds_concerned);
    tcase_add_test(tc, the_picture_shows_the_holds_concerned);
    tcase_add_test(tc, a_right_history_has_an_empty_picture);
    tcase_add_test(tc, names_are_escaped);
    tcase_add_test(tc, a_picture_that_cannot_be_written_is_an_error);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return suite_run(overlap_suite());
}
