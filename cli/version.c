/* `holdfast version`: what this build is and can do. */
#include <stdio.h>

#include "cli/common.h"
#include "cli/json.h"
#include "cli/report.h"

#ifndef HF_VERSION
#define HF_VERSION "unknown"
#endif

/* Only the loop itself knows. */
static const char *event_backend(void)
{
    struct hf_loop_options options = {.thread = false};
    struct hf_loop *loop;
    const char *backend;

    if (hf_loop_new(&loop, &options) < 0)
        return "none";
    backend = hf_loop_fd(loop) >= 0 ? "epoll" : "poll";
    hf_loop_free(loop);
    return backend;
}

static int print_json(void)
{
    struct cli_json j;
    const char *line;

    cli_json_init(&j);
    cli_json_text(&j, "version", HF_VERSION);
    cli_json_text(&j, "events", event_backend());
    cli_json_bool(&j, "tls", hf_tls_library() != NULL);
    if (hf_tls_library())
        cli_json_text(&j, "tls_library", hf_tls_library());
    if ((line = cli_json_end(&j)))
        (void)fputs(line, stdout);
    cli_json_fini(&j);
    return line ? CLI_OK : cli_fail("out of memory");
}

static int print_text(void)
{
    const char *tls = hf_tls_library();

    (void)printf("holdfast %s (events: %s; TLS: %s)\n", HF_VERSION,
                 event_backend(), tls ? tls : "no");
    return CLI_OK;
}

static int main_version(struct cli_args *args, struct cli_common *common)
{
    static const struct cli_option *const tables[] = {cli_common_options, NULL};
    char *value;
    int id, rc;

    while ((id = cli_args_next(args, tables, &value)) != CLI_END) {
        if (id == CLI_WORD)
            return cli_usage(args, "'%s' is too much", value);
        if ((rc = cli_common_take(common, args, id, value)) != CLI_GO_ON)
            return rc;
    }
    return common->is_json ? print_json() : print_text();
}

const struct cli_command cli_version_command = {
    .name = "version",
    .summary = "which version this is, and what is built in",
    .help = "usage: holdfast version [--json]\n",
    .main = main_version,
};
