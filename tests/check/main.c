/* judge: is a history of a lock service right? See judge.h. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check/judge.h"

enum { RIGHT, WRONG, UNREADABLE }; /* exit codes */

static const char help[] =
    "usage: judge [--stats] FILE...\n"
    "\n"
    "Reads histories of a lock service (\"-\": standard input), and says what is\n"
    "wrong with each by the properties P1 to P11: which property, when, and by\n"
    "which lines. docs/simulation.md, \"Histories\", says how to write one for any\n"
    "client; tests/check/history.h is the format, properties.h the properties.\n"
    "\n"
    "  --stats   events, grants, how early losses were told, the longest wait\n"
    "  --help    this text\n"
    "\n"
    "Exit code: 0 nothing is wrong, 1 something is, 2 a file cannot be read.\n";

static const char *const sentences[1 + HISTORY_PROPERTIES] = {
    NULL,
    "two owners are never both safe",
    "a loss is told before the server lets go, or in time",
    "client and server count the same when all is quiet",
    "no renewal after the release",
    "nobody waits for a lock that is free",
    "nothing is left when all is quiet",
    "each call ends in time",
    "fencing tokens grow",
    "one owner, or readers, on the server",
    "nothing is believed that was not granted",
    "permits and counts are neither made nor lost"};

/* A whole file, so that its lines can be shown. */
struct file {
    const char *name;
    char *bytes;
    size_t len;
};

static bool read_file(struct file *f, FILE *in)
{
    size_t room = 1 << 16, n;

    f->len = 0;
    f->bytes = malloc(room);
    while (f->bytes &&
           (n = fread(f->bytes + f->len, 1, room - f->len, in)) > 0) {
        f->len += n;
        if (f->len == room)
            f->bytes = realloc(f->bytes, room *= 2);
    }
    return f->bytes && !ferror(in);
}

static bool open_file(struct file *f)
{
    FILE *in = strcmp(f->name, "-") == 0 ? stdin : fopen(f->name, "r");
    bool ok = in && read_file(f, in);

    if (!ok)
        fprintf(stderr, "judge: %s: %s\n", f->name, strerror(errno));
    if (in && in != stdin)
        fclose(in);
    return ok;
}

/* The line at `at`, without its LF; *at moves behind it. */
static const char *next_line(const struct file *f, size_t *at, size_t *len)
{
    const char *line = f->bytes + *at;
    const char *end = memchr(line, '\n', f->len - *at);

    *len = end ? (size_t)(end - line) : f->len - *at;
    *at += *len + 1;
    return line;
}

static bool judge_file(struct judge *judge, const struct file *f)
{
    static char copy[HISTORY_LINE_MAX];
    size_t at = 0, len, number = 1;

    do {
        const char *line = next_line(f, &at, &len), *wrong;

        if (number == 1 && (len != strlen(HISTORY_FIRST_LINE) ||
                            memcmp(line, HISTORY_FIRST_LINE, len) != 0)) {
            wrong = "the first line of a history is \"" HISTORY_FIRST_LINE "\"";
        } else if (len >= sizeof copy) {
            wrong = "a line is too long";
        } else {
            memcpy(copy, line, len);
            wrong = judge_line(judge, copy, len);
        }
        if (wrong) {
            fprintf(stderr, "judge: %s:%zu: %s\n", f->name, number, wrong);
            return false;
        }
        number++;
    } while (at < f->len);
    judge_end(judge);
    return true;
}

/* ---- what is said ---- */

static void print_lines(const struct file *f, const struct judge_violation *v)
{
    size_t at = 0, len, number = 1;

    for (int i = 0; at < f->len && i < v->lines_count; number++) {
        const char *line = next_line(f, &at, &len);

        if (number == v->lines[i]) {
            printf("    %zu: %.*s\n", number, (int)len, line);
            i++;
        }
    }
}

static void print_violations(const struct file *f, const struct judge *judge)
{
    const struct judge_violation *v;
    size_t i;

    for (i = 0; (v = judge_violation(judge, i)); i++) {
        printf("%s: P%d, %s:\n  at %" PRId64 ".%06d s: %s\n", f->name,
               v->property, sentences[v->property], v->time_us / 1000000,
               (int)(v->time_us % 1000000), v->text);
        print_lines(f, v);
    }
    if (i < judge_count(judge))
        printf("%s: and %zu more\n", f->name, judge_count(judge) - i);
}

static void print_ignored(const struct file *f, const struct judge *judge)
{
    struct judge_stats s;

    judge_stats(judge, &s);
    if (s.ignored > 0)
        fprintf(stderr,
                "judge: %s:%zu: ignored, for it is not in the format: %s (%" PRIu64
                " lines have such words)\n",
                f->name, s.ignored_line, s.ignored_word, s.ignored);
}

static double ms(int64_t us)
{
    return (double)us / 1000;
}

static void print_stats(const struct file *f, const struct judge *judge)
{
    struct judge_stats s;

    judge_stats(judge, &s);
    printf("%s: %" PRIu64 " events, %" PRIu64 " grants, %" PRIu64
           " losses told\n",
           f->name, s.events, s.grants, s.losses);
    if (s.leads > 0)
        printf("  told before the server's end: least %.3f ms, median %.3f, "
               "most %.3f (%" PRIu64 " of them)\n",
               ms(s.lead_least_us), ms(s.lead_median_us), ms(s.lead_most_us),
               s.leads);
    printf("  longest wait for a lock that was free: %.3f ms\n",
           ms(s.longest_wait_us));
}

static int judge_one(const char *name, bool has_stats)
{
    struct file f = {.name = name};
    struct judge *judge = judge_new(NULL);
    int code = UNREADABLE;

    if (open_file(&f) && judge_file(judge, &f)) {
        print_violations(&f, judge);
        print_ignored(&f, judge);
        if (has_stats)
            print_stats(&f, judge);
        code = judge_count(judge) > 0 ? WRONG : RIGHT;
    }
    judge_free(judge);
    free(f.bytes);
    return code;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"stats", no_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    bool has_stats = false;
    int worst = RIGHT, c;

    while ((c = getopt_long(argc, argv, "sh", options, NULL)) != -1) {
        if (c == 'h') {
            fputs(help, stdout);
            return RIGHT;
        }
        if (c != 's') {
            fputs(help, stderr);
            return UNREADABLE;
        }
        has_stats = true;
    }
    if (optind == argc) {
        fputs(help, stderr);
        return UNREADABLE;
    }
    for (int i = optind; i < argc; i++) {
        int code = judge_one(argv[i], has_stats);

        worst = code > worst ? code : worst;
    }
    return worst;
}
