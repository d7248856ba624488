/* The options of every subcommand: the server, the user, how much is said. */
/* Tests: tests/test_cli_options.c, tests/live/cli/test_run.c. */
#include "cli/base/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/password_file.h"
#include "cli/base/report.h"
#include "net/base/error.h"
#include "net/base/moment.h"
#include "net/loop/clock.h"

const struct cli_option cli_common_options[] = {
    {CLI_OPT_URL, 'u', "url", "URL"},
    {CLI_OPT_USER, 0, "user", "NAME"},
    {CLI_OPT_PASSWORD_FILE, 0, "password-file", "FILE"},
    {CLI_OPT_SENTINEL_PASSWORD_FILE, 0, "sentinel-password-file", "FILE"},
    {CLI_OPT_CONNECT_TIMEOUT, 0, "connect-timeout", "DURATION"},
    {CLI_OPT_MAP, 0, "map", "FROM=TO"},
    {CLI_OPT_TLS_CA, 0, "tls-ca", "FILE"},
    {CLI_OPT_TLS_CERT, 0, "tls-cert", "FILE"},
    {CLI_OPT_TLS_KEY, 0, "tls-key", "FILE"},
    {CLI_OPT_TLS_KEY_PASSWORD_FILE, 0, "tls-key-password-file", "FILE"},
    {CLI_OPT_TLS_SNI, 0, "tls-sni", "NAME"},
    {CLI_OPT_JSON, 0, "json", NULL},
    {CLI_OPT_QUIET, 'q', "quiet", NULL},
    {CLI_OPT_VERBOSE, 'v', "verbose", NULL},
    {CLI_OPT_HELP, 'h', "help", NULL},
    {0},
};

void cli_common_init(struct cli_common *common)
{
    *common = (struct cli_common){0};
}

static void free_url(char *url)
{
    if (url)
        explicit_bzero(url, strlen(url));
    free(url);
}

/* All clients of a process share one loop, whose lock is held while these are used. */
struct cli_password_files {
    struct {
        struct cli_password_file *file; /* NULL: there is none */
        bool was_read_before;   /* when a connection last needed it */
    } by_server_kind[2];        /* of servers, and of sentinels */
};

static int remember_password_file(struct cli_common *common, const char *path, const char *text,
                                  bool is_sentinel)
{
    struct cli_password_file **file;

    if (!common->password_files)
        common->password_files = calloc(1, sizeof *common->password_files);
    if (!common->password_files)
        return cli_fail("out of memory");
    file = &common->password_files->by_server_kind[is_sentinel].file;
    cli_password_file_free(*file);
    *file = cli_password_file_new(path, text);
    return *file ? CLI_CONTINUE : cli_fail("out of memory");
}

static void free_password_files(struct cli_password_files *files)
{
    if (files)
        for (size_t i = 0; i < 2; i++)
            cli_password_file_free(files->by_server_kind[i].file);
    free(files);
}

void cli_common_fini(struct cli_common *common)
{
    for (size_t i = 0; i < common->urls_count; i++)
        free_url(common->urls[i]);
    free_url(common->given_url);
    free_password_files(common->password_files);
    explicit_bzero(common, sizeof *common);
}

/* ---- options ---- */

/* Everybody on the machine can read the command line, so the URL is copied and
 * hidden there. */
static int add_url(struct cli_common *common, const struct cli_args *args,
                   char *value)
{
    char **url = &common->urls[common->urls_count];

    if (common->urls_count == HF_QUORUM_MAX)
        return cli_usage(args, "a quorum has at most %d servers", HF_QUORUM_MAX);
    if (!(*url = strdup(value)))
        return cli_fail("out of memory");
    common->urls_count++;
    common->has_url = true;
    cli_secret_hide_in_url(value);
    return CLI_CONTINUE;
}

static int set_flag(bool *flag)
{
    *flag = true;
    return CLI_CONTINUE;
}

static int set_option_text(const char **text, const char *value)
{
    *text = value;
    return CLI_CONTINUE;
}

/* Refuses a value that the library has no room for, or would take for not
 * given. */
static int copy_tls_text(const struct cli_args *args, const char *option,
                         const char *value, char *dst, size_t room)
{
    if (!*value || strlen(value) >= room)
        return cli_usage(args, "%s has 1 to %zu bytes", option, room - 1);
    (void)strcpy(dst, value);
    return CLI_CONTINUE;
}

/* Notes an unsafe file. cli_common_apply reports it, when -q is known. */
static int read_secret_file(struct cli_common *common, char dst[CLI_SECRET_MAX],
                            const char *path)
{
    struct cli_secret_file file = {0};
    int rc = cli_secret_read(dst, path, &file);

    if (file.is_open_to_others)
        common->readable_password_file = path;
    if (rc == CLI_CONTINUE && file.is_regular &&
        (dst == common->password || dst == common->sentinel_password))
        rc = remember_password_file(common, path, dst, dst == common->sentinel_password);
    return rc;
}

/* hf_client_options.credentials: a password file may have a new password for each
 * connection. The first one was read at the start. */
static hf_status read_password_for_connection(void *ctx, const struct hf_credentials_query *query,
                                              struct hf_credentials *out, struct hf_error *err)
{
    struct cli_password_files *files = ctx;
    struct cli_password_file *file = files->by_server_kind[query->is_sentinel].file;
    bool *was_read = &files->by_server_kind[query->is_sentinel].was_read_before;
    hf_status rc;

    if (!file)
        return HF_OK;
    rc = cli_password_file_read(file, query->was_refused, &out->password, err);
    if (rc < 0 && *was_read) /* a lock may be held. Without one, the caller reports it */
        (void)cli_fail("%s; it is read again for each attempt to connect", err->text);
    *was_read = rc == HF_OK;
    return rc;
}

/* A key's password is shorter than a server's, which may be a token. */
static int read_key_password(struct cli_common *common, const struct cli_args *args,
                             const char *path)
{
    char *dst = common->tls.key_password, text[CLI_SECRET_MAX] = "";
    int rc = read_secret_file(common, text, path);

    if (rc == CLI_CONTINUE && text[0] != '\0')
        rc = copy_tls_text(args, "--tls-key-password-file", text, dst,
                           sizeof common->tls.key_password);
    explicit_bzero(text, sizeof text);
    return rc;
}

static int add_map_entry(struct cli_common *common, const struct cli_args *args,
                         const char *entry)
{
    const char *why = hf_address_map_add(
        &common->address_map, (struct hf_text){entry, strlen(entry)});

    return why ? cli_usage(args, "--map %s: %s", entry, why) : CLI_CONTINUE;
}

int cli_common_take_option(struct cli_common *common, const struct cli_args *args,
                           int id, char *value)
{
    struct hf_tls_options *tls = &common->tls;

    switch (id) {
    case CLI_OPT_URL:
        return add_url(common, args, value);
    case CLI_OPT_USER:
        return set_option_text(&common->user, value);
    case CLI_OPT_PASSWORD_FILE:
        return read_secret_file(common, common->password, value);
    case CLI_OPT_SENTINEL_PASSWORD_FILE:
        return read_secret_file(common, common->sentinel_password, value);
    case CLI_OPT_CONNECT_TIMEOUT:
        return cli_take_duration(args, "--connect-timeout", value, 1,
                                 &common->connect_timeout_ms);
    case CLI_OPT_MAP:
        return add_map_entry(common, args, value);
    case CLI_OPT_TLS_CA:
        return copy_tls_text(args, "--tls-ca", value, tls->ca_file,
                             sizeof tls->ca_file);
    case CLI_OPT_TLS_CERT:
        return copy_tls_text(args, "--tls-cert", value, tls->cert_file,
                             sizeof tls->cert_file);
    case CLI_OPT_TLS_KEY:
        return copy_tls_text(args, "--tls-key", value, tls->key_file,
                             sizeof tls->key_file);
    case CLI_OPT_TLS_KEY_PASSWORD_FILE:
        return read_key_password(common, args, value);
    case CLI_OPT_TLS_SNI:
        return copy_tls_text(args, "--tls-sni", value, tls->server_name,
                             sizeof tls->server_name);
    case CLI_OPT_LABEL:
        return set_option_text(&common->label, value);
    case CLI_OPT_JSON:
        return set_flag(&common->is_json);
    case CLI_OPT_QUIET:
        return set_flag(&common->is_quiet);
    case CLI_OPT_VERBOSE:
        return set_flag(&common->is_verbose);
    case CLI_OPT_HELP:
        return args->print_help(args->command);
    default: /* CLI_ARGS_BAD, which has been reported */
        return CLI_EXIT_ERROR;
    }
}

int cli_common_check_one_server(const struct cli_common *common,
                                const struct cli_args *args)
{
    return common->urls_count <= 1 || common->takes_several_servers
               ? CLI_CONTINUE
               : cli_usage(args, "several -u options need --quorum, an option of run "
                                 "and elect; status also takes several");
}

int cli_common_parse(struct cli_common *common, struct cli_args *args,
                     const struct cli_option *own, cli_taker *take, void *ctx)
{
    const struct cli_option *const tables[] = {cli_common_options, own, NULL};
    char *value;
    int id, rc;

    while ((id = cli_args_next(args, tables, &value)) != CLI_ARGS_END) {
        bool is_own = id == CLI_ARGS_WORD || (id > 0 && id < CLI_OPT_COMMON);

        rc = is_own ? take(ctx, args, id, value)
                    : cli_common_take_option(common, args, id, value);
        if (rc != CLI_CONTINUE)
            return rc;
    }
    return cli_common_check_one_server(common, args);
}

/* Gathers words where the arguments stood: there is room for all and a NULL. */
static int collect_word(void *ctx, const struct cli_args *args, int id,
                        char *value)
{
    char ***next = ctx;

    (void)args;
    (void)id;
    *(*next)++ = value;
    return CLI_CONTINUE;
}

int cli_common_parse_words(struct cli_common *common, struct cli_args *args,
                           char ***words)
{
    char **next = args->next_word;
    int rc;

    *words = next;
    rc = cli_common_parse(common, args, NULL, collect_word, &next);
    *next = NULL;
    return rc;
}

/* ---- the server ---- */

static const char *nonempty_variable(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

static const char *const url_variables[] = {CLI_ENV_URL, "REDIS_URL"};

#define URL_VARIABLES (sizeof url_variables / sizeof *url_variables)

const char *cli_common_url(const struct cli_common *common)
{
    const char *url = common->urls[0];

    for (size_t i = 0; !url && i < URL_VARIABLES; i++)
        url = nonempty_variable(url_variables[i]);
    return url ? url : "redis://127.0.0.1:6379";
}

/* Returns the source of cli_common_url, for a message; NULL: it is the default. */
static const char *url_source(const struct cli_common *common)
{
    for (size_t i = 0; !common->has_url && i < URL_VARIABLES; i++)
        if (nonempty_variable(url_variables[i]))
            return url_variables[i];
    return common->has_url ? "-u" : NULL;
}

/* Without a URL of the user there is nothing in it to be wrong. */
static int fail_invalid_url(const char *source, hf_status status, const struct hf_error *why)
{
    struct hf_error whole;

    (void)hf_error_set(&whole, status, "%s: %s", source ? source : "-u", why->text);
    return cli_fail_status(status, &whole);
}

/* ---- all options are known ---- */

static char *put_percent_encoded(char *d, const char *text)
{
    for (; *text; text++)
        d += sprintf(d, "%%%02x", (unsigned)(unsigned char)*text);
    return d;
}

/* At the end of the URL, which is that of the options. */
static int append_option_to_url(struct cli_common *common, size_t index, const char *name,
                                const char *value)
{
    const char *old = common->urls[index] ? common->urls[index]
                                          : cli_common_url(common);
    char *url = malloc(strlen(old) + strlen(name) + 3 + 3 * strlen(value));

    if (!url)
        return cli_fail("out of memory");
    (void)put_percent_encoded(url + sprintf(url, "%s%c%s=", old,
                                            strchr(old, '?') ? '&' : '?', name),
                              value);
    free_url(common->urls[index]);
    common->urls[index] = url;
    return CLI_CONTINUE;
}

static int append_secret_options(struct cli_common *common, size_t index)
{
    int rc = CLI_CONTINUE;

    if (common->sentinel_password[0])
        rc = append_option_to_url(common, index, "sentinel_password",
                                  common->sentinel_password);
    for (const char *p = common->address_map.text; *p && rc == CLI_CONTINUE;
         p += strlen(p) + 1)
        rc = append_option_to_url(common, index, "map", p);
    return rc;
}

/* The library takes these only from the URL. */
static int add_secrets_and_map_to_urls(struct cli_common *common)
{
    int rc = CLI_CONTINUE;

    if (!common->sentinel_password[0] && !common->address_map.text[0])
        return rc;
    if (common->urls_count == 0)
        common->urls_count = 1; /* the environment's */
    for (size_t i = 0; rc == CLI_CONTINUE && i < common->urls_count; i++)
        rc = append_secret_options(common, i);
    return rc;
}

/* Without secrets: those in it, and those that add_secrets_and_map_to_urls adds. */
static int save_url_without_secrets(struct cli_common *common)
{
    if (!common->has_url || common->urls_count != 1)
        return CLI_CONTINUE;
    if (!(common->given_url = strdup(common->urls[0])))
        return cli_fail("out of memory");
    cli_secret_remove_from_url(common->given_url);
    return CLI_CONTINUE;
}

int cli_common_apply(struct cli_common *common)
{
    cli_report_server_source(url_source(common));
    cli_report_level(common->is_quiet, common->is_verbose);
    if (common->readable_password_file)
        cli_warn("other users can read or change the password file %s: use chmod 600, "
                 "and make this user or root its owner", common->readable_password_file);
    return save_url_without_secrets(common) == CLI_CONTINUE ? add_secrets_and_map_to_urls(common)
           : CLI_EXIT_ERROR;
}

/* The default of hf_client_options_init. */
#define CONNECT_TIMEOUT_MS 5000

static int set_login_of_url(struct hf_url *url, const struct cli_common *common)
{
    const char *password = common->password[0] ? common->password : NULL;
    struct hf_error err = {0};
    hf_status rc = hf_login_replace(&url->login, common->user, password, &err);

    return rc < 0 ? cli_fail_status(rc, &err) : CLI_CONTINUE;
}

int cli_common_parse_url(struct hf_url *url, struct hf_seeds *seeds,
                         const struct cli_common *common)
{
    const char *text = cli_common_url(common);
    struct hf_error err = {0};
    hf_status status = seeds ? hf_url_parse_seeds(url, seeds, text, &err)
                             : hf_url_parse(url, text, &err);

    if (status != HF_OK)
        return fail_invalid_url(url_source(common), status, &err);
    status = hf_url_set_tls(url, &common->tls, &err);
    if (status != HF_OK)
        return cli_fail_status(status, &err);
    if (common->connect_timeout_ms > 0)
        url->connect_timeout_ms = common->connect_timeout_ms;
    if (url->connect_timeout_ms == 0)
        url->connect_timeout_ms = CONNECT_TIMEOUT_MS;
    return set_login_of_url(url, common);
}

/* ---- the client ---- */

void cli_warn_unverified(bool is_unverified)
{
    if (is_unverified)
        cli_warn("the server's certificate is not checked (tls_verify=no): an attacker "
                 "between client and server can read and change everything");
}

/* What the URL says that is no secret. A bad one says nothing: that is for the
 * library to report. */
struct url_facts {
    bool is_cluster;
    bool is_unverified;
    bool is_wrong;
    bool has_label;
};

static struct url_facts url_facts(const char *text)
{
    struct hf_seeds seeds = {0};
    struct hf_url url = {0};
    struct url_facts facts = {.is_wrong = true};

    if (hf_url_parse_seeds(&url, &seeds, text, NULL) == HF_OK)
        facts = (struct url_facts){seeds.topology == HF_CLUSTER,
                                   hf_url_tls(&url)->is_unverified, false,
                                   url.label[0] != '\0'};
    hf_url_wipe(&url);
    hf_seeds_wipe(&seeds);
    return facts;
}

static void call_for_each_tls_file(const struct hf_tls_options *tls,
                                   void (*each)(void *ctx, const char *path), void *ctx)
{
    const char *const files[] = {tls->ca_file, tls->crl_file, tls->cert_file, tls->key_file};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i][0])
            each(ctx, files[i]);
}

void cli_common_tls_files(const struct cli_common *common,
                          void (*each)(void *ctx, const char *path), void *ctx)
{
    size_t i = 0;

    do {
        const char *text = i < common->urls_count ? common->urls[i] : cli_common_url(common);
        struct hf_seeds seeds = {0};
        struct hf_url url = {0};

        if (hf_url_parse_seeds(&url, &seeds, text, NULL) == HF_OK &&
            hf_url_set_tls(&url, &common->tls, NULL) == HF_OK)
            call_for_each_tls_file(hf_url_tls(&url), each, ctx);
        hf_url_wipe(&url);
        hf_seeds_wipe(&seeds);
    } while (++i < common->urls_count);
}

bool cli_common_is_cluster(const struct cli_common *common)
{
    return url_facts(cli_common_url(common)).is_cluster;
}

/* `number`: of the -u, from 1; 0: there is only one. */
static int open_client(struct hf_client **out, const struct cli_common *common,
                       const char *url, size_t number,
                       struct hf_client_options *options)
{
    struct url_facts facts = url_facts(url);
    struct hf_error err = {0};
    hf_status rc;

    *out = NULL;
    if (common->label && (rc = hf_url_check_label(common->label, &err)) < 0)
        return fail_invalid_url(common->label_source, rc, &err);
    options->url = url;
    options->user = common->user;
    options->password = common->password[0] ? common->password : NULL;
    if (common->password_files) {
        options->credentials = read_password_for_connection;
        options->credentials_ctx = common->password_files;
    }
    options->tls = &common->tls;
    options->connect_timeout_ms = common->connect_timeout_ms;
    options->label = common->label; /* NULL: that of the URL, if it has one */
    if (!common->label && !facts.has_label)
        options->label = common->default_label;
    options->log = cli_log;
    if (!common->is_verbose) /* else the library warns of the same */
        cli_warn_unverified(facts.is_unverified);
    rc = hf_client_new(out, options, &err);
    if (rc == HF_OK)
        return CLI_CONTINUE;
    if (number == 0 && facts.is_wrong)
        return fail_invalid_url(url_source(common), rc, &err);
    if (number > 0 && err.text[0]) {
        struct hf_error said = err;

        (void)hf_error_set(&err, rc, "-u number %zu: %s", number, said.text);
    }
    return cli_fail_status(rc, &err);
}

int cli_client_open(struct hf_client **out, const struct cli_common *common,
                    struct hf_client_options *options)
{
    return open_client(out, common, cli_common_url(common), 0, options);
}

hf_status cli_client_close_and_merge_status(struct hf_client *client, int64_t deadline_ms,
                                            hf_status before)
{
    int64_t left_ms = hf_max_ms(deadline_ms - hf_clock_ms(), 0);
    hf_status rc = client ? hf_client_close(client, left_ms, NULL, NULL) : HF_OK;

    return rc < 0 && (before == HF_OK || before == HF_E_SERVER) ? rc : before;
}

int cli_client_open_no_retry(struct hf_client **out,
                             const struct cli_common *common)
{
    struct hf_client_options options;

    hf_client_options_init(&options);
    options.thread = false;
    options.connect_once = true;
    return cli_client_open(out, common, &options);
}

int cli_client_open_at(struct hf_client **out, const struct cli_common *common,
                       size_t index, struct hf_client_options *options)
{
    const char *url = common->urls[index];

    return open_client(out, common, url ? url : cli_common_url(common),
                       common->urls_count > 1 ? index + 1 : 0, options);
}

int cli_lock_open_and_classify(struct hf_lock **out, struct hf_client *client,
                               enum hf_lock_kind kind, const char *name, bool *is_temporary)
{
    struct hf_error err = {0};
    hf_status rc;

    *out = NULL;
    rc = hf_lock_new_kind(out, client, kind, name, strlen(name), &err);
    if (rc == HF_OK) {
        rc = hf_lock_connect(*out, &err);
        hf_loop_dispatch(hf_client_loop(client), 0); /* log lines come first */
    }
    *is_temporary = rc < 0 && err.is_temporary;
    return rc < 0 ? cli_fail_status(rc, &err) : CLI_CONTINUE;
}

int cli_lock_open(struct hf_lock **out, struct hf_client *client,
                  enum hf_lock_kind kind, const char *name)
{
    bool is_temporary;

    return cli_lock_open_and_classify(out, client, kind, name, &is_temporary);
}
