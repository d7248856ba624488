/* The program `holdfast-resp`: what servers send, made readable. */
/* Tests: tests/live/cli/test_resp_check.c. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/common.h"
#include "cli/base/json.h"
#include "cli/base/program.h"
#include "cli/base/report.h"
#include "tools/resp/check.h"
#include "tools/resp/decode.h"

/* Reads the bytes after an error, which help to understand it. A peer that waits for a
 * request may never send them. */
#define FOUND_WAIT_MS 200

#define CHUNK 65536   /* bytes of one read */

/* Each byte as \xHH, and a NUL. */
#define FOUND_TEXT_MAX (4 * CLI_FOUND_MAX + 1)

/* ---- the error ---- */

static void escape_found(char dst[FOUND_TEXT_MAX],
                         const struct cli_decode_error *error)
{
    FILE *out = fmemopen(dst, FOUND_TEXT_MAX, "w");

    dst[0] = '\0';
    if (!out)
        return; /* no memory: report without it */
    cli_print_escaped(out, error->found, error->found_len);
    (void)fclose(out);
}

static const char *kind_of(const struct cli_decode_error *error)
{
    switch (error->status) {
    case HF_RESP_MORE:
        return "truncated";
    case HF_E_LIMIT:
        return "limit";
    default:
        return "protocol";
    }
}

static int print_error_json(const struct cli_decode_error *error,
                            const char *found)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_text(&j, "error", kind_of(error));
    cli_json_integer(&j, "offset", (int64_t)error->offset);
    cli_json_integer(&j, "reply_offset", (int64_t)error->reply_offset);
    cli_json_text(&j, "expected", error->expected);
    cli_json_text(&j, "found", found);
    return cli_json_print(&j) == CLI_CONTINUE ? CLI_EXIT_NO : CLI_EXIT_ERROR;
}

static void report_error(const struct cli_decode_error *error,
                         const char *found)
{
    if (error->status == HF_RESP_MORE)
        (void)cli_fail("the input ends at byte %" PRIu64 ", in the middle of "
                       "the reply that begins at byte %" PRIu64,
                       error->offset, error->reply_offset);
    else
        (void)cli_fail("byte %" PRIu64 ", in the reply that begins at byte "
                       "%" PRIu64 ": expected %s, found \"%s\"",
                       error->offset, error->reply_offset, error->expected,
                       found);
}

static int show_error(const struct cli_common *common,
                      const struct cli_decode_error *error)
{
    char found[FOUND_TEXT_MAX];

    if (error->status == HF_E_NOMEM)
        return cli_fail("out of memory in the reply that begins at byte "
                        "%" PRIu64,
                        error->reply_offset);
    escape_found(found, error);
    report_error(error, found);
    return common->is_json ? print_error_json(error, found) : CLI_EXIT_NO;
}

/* ---- the stream ---- */

/* Returns bytes read; 0: the end; -1: errno. */
static ssize_t read_some(char *chunk, int timeout_ms)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    ssize_t n;

    do
        n = poll(&in, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return 0;
    do
        n = read(STDIN_FILENO, chunk, CHUNK);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Flushes before each wait, so that a person sees every reply at once.
 * CLI_CONTINUE, or reported. */
static int pump(struct cli_decoder *d)
{
    static char chunk[CHUNK];
    ssize_t n = 1;

    while (n > 0 && !cli_decoder_has_seen_enough(d) && fflush(stdout) == 0) {
        n = read_some(chunk, d->broken ? FOUND_WAIT_MS : -1);
        if (n > 0)
            (void)cli_decoder_feed(d, chunk, (size_t)n); /* stdout keeps
                                                            errors */
    }
    return n < 0 ? cli_fail("cannot read standard input: %s", strerror(errno))
                 : CLI_CONTINUE;
}

/* Quiet: is it RESP? */
static void print_nothing(FILE *out, const struct cli_reply *reply)
{
    (void)out;
    (void)reply;
}

static cli_print *print_for(const struct cli_common *common)
{
    if (common->is_json)
        return cli_print_json;
    return common->is_quiet ? print_nothing : cli_print_text;
}

static int decode(const struct cli_common *common, int protocol,
                  bool is_strict)
{
    struct cli_decode_error error;
    struct cli_decoder d;
    int code;

    cli_decoder_init(&d, protocol, print_for(common), stdout);
    hf_resp_set_strict(&d.parser, is_strict);
    code = pump(&d);
    if (code == CLI_CONTINUE && ferror(stdout))
        code = CLI_EXIT_ERROR; /* main reports it */
    if (code == CLI_CONTINUE)
        code = cli_decoder_end(&d, &error) == HF_OK
                   ? CLI_EXIT_OK
                   : show_error(common, &error);
    cli_decoder_fini(&d);
    return code;
}

/* ---- the program ---- */

enum { RESP2 = 2, RESP3 = 3, STRICT, VERSION };

static const struct cli_option own_options[] = {{RESP2, '2', NULL, NULL},
                                                {RESP3, '3', NULL, NULL},
                                                {STRICT, 's', "strict", NULL},
                                                {VERSION, 'V', "version", NULL},
                                                {0}};

struct options {
    int protocol; /* 0: not given */
    bool is_strict;
    bool is_check;
};

static int print_version(void)
{
    (void)printf("holdfast-resp %s\n", hf_version());
    return CLI_EXIT_OK;
}

static int take_option(void *ctx, const struct cli_args *args, int id,
                       char *value)
{
    struct options *options = ctx;

    if (id == VERSION)
        return print_version();
    if (id == STRICT)
        options->is_strict = true;
    else if (id != CLI_ARGS_WORD)
        options->protocol = id;
    else if (!options->is_check && strcmp(value, "check") == 0)
        options->is_check = true;
    else if (!options->is_check && strcmp(value, "help") == 0)
        return args->print_help(NULL);
    else if (!options->is_check && strcmp(value, "version") == 0)
        return print_version();
    else
        return cli_usage(args, "unexpected argument '%s': only check, help and version are "
                               "accepted", value);
    return CLI_CONTINUE;
}

static int print_help(const struct cli_command *command)
{
    (void)command;
    (void)fputs(
        "usage: holdfast-resp [--json] [-2 | -3] [--strict]\n"
        "       holdfast-resp check [option]... [-2 | -3]\n"
        "       holdfast-resp help | version\n"
        "\n"
        "Decodes RESP from standard input, as a server sends it. Prints one line for\n"
        "each value, with the offset of its first byte. With --json, prints one\n"
        "object for each reply, which contains its children; with -q, nothing but\n"
        "errors. Stops at the first byte that is not RESP.\n"
        "\n"
        "  -2                   accept only RESP2 types\n"
        "  -3                   accept all types; default\n"
        "  -s, --strict         reject what servers send but the specifications do not\n"
        "                       define: -nan, a push inside a value, a push without a\n"
        "                       kind\n"
        "  -V, --version        show the version\n"
        "\n"
        "Exit code: 0 all input decoded, 1 invalid or truncated input, 125 error.\n"
        "\n"
        "'check' requests every type from a server, in RESP2 and RESP3 (or only in one\n"
        "of them), and shows which replies conform. It uses keys and channels with a\n"
        "random prefix, and deletes the keys.\n"
        "\n"
        "Exit code: 0 all replies conform, 1 at least one deviates, 125 error.\n"
        "\n" CLI_COMMON_HELP,
        stdout);
    return CLI_EXIT_OK;
}

static int run(struct cli_args *args, struct cli_common *common)
{
    struct options options = {0};
    int rc = cli_common_parse(common, args, own_options, take_option, &options);

    if (rc == CLI_CONTINUE && common->has_url && !options.is_check)
        rc = cli_usage(args, "-u is for 'holdfast-resp check'; without it, standard input is "
                             "decoded");
    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    if (rc != CLI_CONTINUE)
        return rc;
    if (options.is_check)
        return cli_resp_check(common, options.protocol);
    return decode(common, options.protocol == RESP2 ? RESP2 : RESP3,
                  options.is_strict);
}

int main(int argc, char **argv)
{
    struct cli_args args = {.next_word = argv + (argc > 0),
                            .print_help = print_help,
                            .help_command = "holdfast-resp --help"};
    struct cli_common common;
    int code;

    cli_program_begin("holdfast-resp");
    cli_common_init(&common);
    code = run(&args, &common);
    cli_common_fini(&common);
    return cli_program_end(code);
}
