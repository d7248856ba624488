/* What every subcommand takes: which server, as whom, how much is said. */
#include "cli/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/help.h"
#include "cli/report.h"
#include "cli/secret.h"

#define CONNECT_TIMEOUT_MS 5000

const struct cli_option cli_common_options[] = {
    {CLI_OPT_URL, 'u', "url", "URL"},
    {CLI_OPT_USER, 0, "user", "NAME"},
    {CLI_OPT_PASSWORD_FILE, 0, "password-file", "FILE"},
    {CLI_OPT_CONNECT_TIMEOUT, 0, "connect-timeout", "DURATION"},
    {CLI_OPT_JSON, 0, "json", NULL},
    {CLI_OPT_QUIET, 'q', "quiet", NULL},
    {CLI_OPT_VERBOSE, 'v', "verbose", NULL},
    {CLI_OPT_HELP, 'h', "help", NULL},
    {0},
};

void cli_common_init(struct cli_common *common)
{
    *common = (struct cli_common){.connect_timeout_ms = CONNECT_TIMEOUT_MS};
}

void cli_common_fini(struct cli_common *common)
{
    if (common->url)
        explicit_bzero(common->url, strlen(common->url));
    free(common->url);
    common->url = NULL;
}

/* ---- options ---- */

/* What stands on the command line can be read by everybody on the machine, so
 * it is copied and made unreadable there. */
static int take_url(struct cli_common *common, const struct cli_args *args,
                    char *value)
{
    if (common->url)
        return cli_usage(args, "-u is given twice; one server is all it can "
                               "use");
    common->url = strdup(value);
    if (!common->url)
        return cli_fail("out of memory");
    cli_secret_hide(value);
    return CLI_GO_ON;
}

static int set(bool *flag)
{
    *flag = true;
    return CLI_GO_ON;
}

static int set_text(const char **text, const char *value)
{
    *text = value;
    return CLI_GO_ON;
}

int cli_common_take(struct cli_common *common, const struct cli_args *args,
                    int id, char *value)
{
    switch (id) {
    case CLI_OPT_URL:
        return take_url(common, args, value);
    case CLI_OPT_USER:
        return set_text(&common->user, value);
    case CLI_OPT_PASSWORD_FILE:
        return set_text(&common->password_file, value);
    case CLI_OPT_CONNECT_TIMEOUT:
        return cli_take_duration(args, "--connect-timeout", value, 1,
                                 &common->connect_timeout_ms);
    case CLI_OPT_JSON:
        return set(&common->is_json);
    case CLI_OPT_QUIET:
        return set(&common->is_quiet);
    case CLI_OPT_VERBOSE:
        return set(&common->is_verbose);
    case CLI_OPT_HELP:
        return cli_help_print(args->command);
    default: /* CLI_BAD: it has been reported */
        return CLI_TROUBLE;
    }
}

/* ---- the client ---- */

static const char *from_environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static const char *url_of(const struct cli_common *common)
{
    const char *url = common->url;

    if (!url)
        url = from_environment("HOLDFAST_URL");
    return url ? url : from_environment("REDIS_URL");
}

static int connect_client(struct hf_client **out,
                          const struct hf_client_options *options)
{
    struct hf_error err = {0};
    hf_status rc = hf_client_new(out, options, &err);

    if (rc == HF_OK)
        rc = hf_client_connect(*out, &err);
    return rc < 0 ? cli_fail_status(rc, &err) : CLI_GO_ON;
}

int cli_client_open(struct hf_client **out, const struct cli_common *common,
                    struct hf_client_options *options)
{
    char password[CLI_SECRET_MAX];
    int rc;

    *out = NULL;
    if (common->password_file) {
        rc = cli_secret_read(password, common->password_file);
        if (rc != CLI_GO_ON)
            return rc;
        options->password = password;
    }
    options->url = url_of(common);
    options->user = common->user;
    options->connect_timeout_ms = common->connect_timeout_ms;
    options->log = cli_log;
    rc = connect_client(out, options);
    options->password = NULL;
    explicit_bzero(password, sizeof password);
    return rc;
}

int cli_lock_open(struct hf_lock **out, struct hf_client *client,
                  const char *name)
{
    struct hf_error err = {0};
    hf_status rc = hf_lock_new(out, client, name, strlen(name), &err);

    if (rc == HF_OK)
        return CLI_GO_ON;
    *out = NULL;
    return cli_fail_status(rc, &err);
}
