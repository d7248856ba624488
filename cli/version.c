/* `holdfast version`: what this build is and can do. */
/* Tests: tests/live/cli/test_run.c. */
#include <stdio.h>

#include "cli/base/common.h"
#include "cli/base/json.h"
#include "cli/base/report.h"

/* Only a loop knows. */
static const char *event_backend(void)
{
    struct hf_loop_options options = {.size = sizeof options, .thread = false};
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

    cli_json_init(&j);
    cli_json_text(&j, "version", hf_version());
    cli_json_text(&j, "events", event_backend());
    cli_json_bool(&j, "tls", hf_tls_library() != NULL);
    if (hf_tls_library())
        cli_json_text(&j, "tls_library", hf_tls_library());
    return cli_json_print(&j);
}

static int print_text(void)
{
    const char *tls = hf_tls_library();

    (void)printf("holdfast %s (events: %s; TLS: %s)\n", hf_version(),
                 event_backend(), tls ? tls : "no");
    return CLI_CONTINUE;
}

static int refuse_argument(void *ctx, const struct cli_args *args, int id,
                           char *value)
{
    (void)ctx;
    (void)id;
    return cli_usage(args, "unexpected argument '%s'", value);
}

static int main_version(struct cli_args *args, struct cli_common *common)
{
    int rc = cli_common_parse(common, args, NULL, refuse_argument, NULL);

    if (rc == CLI_CONTINUE)
        rc = common->is_json ? print_json() : print_text();
    return rc == CLI_CONTINUE ? CLI_EXIT_OK : rc;
}

const struct cli_command cli_version_command = {
    .name = "version",
    .summary = "show the version and the built-in features",
    .help = "usage: holdfast version [--json]\n",
    .main = main_version,
};
