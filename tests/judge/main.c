/* judge: is a history of a lock service right? See judge.h. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/judge/overlap.h"
#include "tests/judge/report.h"

enum { RIGHT, WRONG, UNREADABLE }; /* exit codes */

static const char help_head[] =
    "usage: judge [OPTION...] FILE...\n"
    "\n"
    "Reads histories of a lock service (\"-\": standard input), and prints what is\n"
    "wrong with each: which property, when, and the lines that show it.\n"
    "docs/judge.md says how to write one for any client;\n"
    "tests/judge/history.h is the format, tests/judge/properties.h has the exact\n"
    "rules and excuses.\n"
    "\n"
    "  --overlap    after each violation, the holds in question on a time line\n"
    "  --svg FILE   writes these time lines to FILE as a picture (one history)\n"
    "  --stats      events, grants, how early losses were told, the longest wait\n"
    "  --help       this text\n"
    "\n"
    "Properties\n";

static const char help_foot[] =
    "\n"
    "P5 is judged where the history has the header wake_ms, losses that the server\n"
    "forgot (P2) where it has tell_ms, P12 in full where it has cause_ms. The header\n"
    "judge names the properties that are judged; default: all.\n"
    "\n"
    "Exit code: 0 nothing is wrong, 1 something is, 2 a file cannot be read.\n";

static int print_help(FILE *out, int code)
{
    fputs(help_head, out);
    for (int i = 1; i <= HISTORY_PROPERTIES; i++)
        fprintf(out, "  P%-2d  %s\n", i, report_sentence(i));
    fputs(help_foot, out);
    return code;
}

/* ---- one history ---- */

struct arguments {
    struct report_options report;
    const char *svg;            /* or NULL */
};

static char *read_all(FILE *in, size_t *len)
{
    size_t room = 1 << 16, n;
    char *bytes = malloc(room), *more;

    *len = 0;
    while (bytes && (n = fread(bytes + *len, 1, room - *len, in)) > 0) {
        *len += n;
        if (*len < room)
            continue;
        if (!(more = realloc(bytes, room *= 2)))
            free(bytes);
        bytes = more;
    }
    if (ferror(in)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

static char *read_file(const char *name, size_t *len)
{
    FILE *in = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");
    char *bytes = in ? read_all(in, len) : NULL;

    if (!bytes)
        fprintf(stderr, "judge: %s: %s\n", name, strerror(errno));
    if (in && in != stdin)
        fclose(in);
    return bytes;
}

static bool write_svg(const char *name, const struct report_file *f,
                      const struct judge *judge)
{
    FILE *out = fopen(name, "w");
    bool ok = out != NULL;

    if (out) {
        overlap_svg(out, f, judge);
        ok = ferror(out) == 0;
        ok = fclose(out) == 0 && ok;
    }
    if (!ok)
        fprintf(stderr, "judge: %s: %s\n", name, strerror(errno));
    return ok;
}

static int judge_file(struct judge *judge, const struct report_file *f,
                      const struct arguments *arguments)
{
    size_t number;
    const char *wrong = report_judge(judge, f, &number);

    if (wrong) {
        fprintf(stderr, "judge: %s:%zu: %s\n", f->name, number, wrong);
        return UNREADABLE;
    }
    report_print(stdout, f, judge, &arguments->report);
    fflush(stdout);
    report_warn(stderr, f, judge);
    if (arguments->svg && !write_svg(arguments->svg, f, judge))
        return UNREADABLE;
    return judge_count(judge) > 0 ? WRONG : RIGHT;
}

static int judge_one(const char *name, const struct arguments *arguments)
{
    struct report_file f = {.name = name};
    char *bytes = read_file(name, &f.len);
    struct judge *judge;
    int code;

    if (!bytes)
        return UNREADABLE;
    f.bytes = bytes;
    judge = judge_new(NULL);
    code = judge_file(judge, &f, arguments);
    judge_free(judge);
    free(bytes);
    return code;
}

/* ---- arguments ---- */

/* What has no letter is above all letters. */
enum { OVERLAP = 256, SVG };

static const struct option options[] = {{"stats", no_argument, NULL, 's'},
                                        {"overlap", no_argument, NULL, OVERLAP},
                                        {"svg", required_argument, NULL, SVG},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};

/* Names the option that getopt_long has rejected. It has advanced past a long option;
 * an unknown letter, which may be one of several in an argument, is in optopt. That is 0
 * after an unknown long option: strchr finds it, as it finds the end of its string. */
static int refuse_option(char **argv)
{
    if (optopt < OVERLAP && strchr("sh", optopt) == NULL)
        fprintf(stderr, "judge: wrong option '-%c'; see 'judge --help'\n", optopt);
    else
        fprintf(stderr, "judge: wrong option '%s'; see 'judge --help'\n",
                argv[optind - 1]);
    return UNREADABLE;
}

static int refuse_missing(char **argv)
{
    fprintf(stderr, "judge: option '%s' needs a FILE; see 'judge --help'\n",
            argv[optind - 1]);
    return UNREADABLE;
}

/* -1: go on; else the exit code. */
static int read_options(struct arguments *arguments, int argc, char **argv)
{
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":sh", options, NULL)) != -1) {
        if (c == 'h')
            return print_help(stdout, RIGHT);
        if (c == 's')
            arguments->report.has_stats = true;
        else if (c == OVERLAP)
            arguments->report.has_overlap = true;
        else if (c == SVG)
            arguments->svg = optarg;
        else
            return c == ':' ? refuse_missing(argv) : refuse_option(argv);
    }
    if (optind == argc)
        return print_help(stderr, UNREADABLE);
    if (arguments->svg && optind + 1 != argc) {
        fputs("judge: --svg needs exactly one history\n", stderr);
        return UNREADABLE;
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {{false, false}, NULL};
    int worst = read_options(&arguments, argc, argv);

    if (worst >= 0)
        return worst;
    worst = RIGHT;
    for (int i = optind; i < argc; i++) {
        int code = judge_one(argv[i], &arguments);

        worst = code > worst ? code : worst;
    }
    return worst;
}
