/* The common options of all subcommands: server, user, verbosity. */
#ifndef CLI_COMMON_H
#define CLI_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/options.h"
#include "cli/base/secret.h"
#include "lock/label.h"
#include "lock/lock.h"
#include "lock/quorum.h"
#include "net/base/url.h"

struct cli_common {
    char *urls[HF_QUORUM_MAX];  /* our copies, for cli_common_fini */
    bool has_url;               /* urls are from -u, not from the environment */
    char *given_url;            /* the only -u, without secrets; NULL: none, or several */
    size_t urls_count;          /* 0: none is given. More than one: for a quorum */
    const char *user;
    char password[CLI_SECRET_MAX];      /* of a file; "": none is given */
    struct cli_password_files *password_files; /* those that can be read again */
    char sentinel_password[CLI_SECRET_MAX]; /* of a file; "": none. For the URL
                                               (cli_common_apply) */
    struct hf_address_map address_map;  /* of all --map; also for the URL */
    const char *readable_password_file; /* a password file that others can read */
    struct hf_tls_options tls;
    int64_t connect_timeout_ms;         /* 0: not given */
    const char *label;          /* of the holder, by an option or variable; NULL: not given; "":
                                   none */
    const char *label_source;   /* the option or variable, for a message */
    char default_label[HF_LABEL_MAX + 1]; /* if not, and the URL has none; "": none */
    bool takes_several_servers; /* set by the subcommand: several -u need no --quorum */
    bool is_json;
    bool is_quiet;
    bool is_verbose;
};

#define CLI_ENV_URL "HOLDFAST_URL"  /* the server, if there is no -u */

/* Their ids, apart from those of the subcommands. */
enum {
    CLI_OPT_COMMON = 1000,
    CLI_OPT_URL = CLI_OPT_COMMON,
    CLI_OPT_USER,
    CLI_OPT_PASSWORD_FILE,
    CLI_OPT_SENTINEL_PASSWORD_FILE,
    CLI_OPT_CONNECT_TIMEOUT,
    CLI_OPT_MAP,
    CLI_OPT_TLS_CA,
    CLI_OPT_TLS_CERT,
    CLI_OPT_TLS_KEY,
    CLI_OPT_TLS_KEY_PASSWORD_FILE,
    CLI_OPT_TLS_SNI,
    CLI_OPT_JSON,
    CLI_OPT_QUIET,
    CLI_OPT_VERBOSE,
    CLI_OPT_HELP,
    CLI_OPT_LABEL               /* of some subcommands: label.h */
};
extern const struct cli_option cli_common_options[];

/* Help text of the common options. */
#define CLI_COMMON_HELP                                                       \
    "  -u, --url URL        redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], rediss://\n" \
    "                       (TLS), unix://PATH or another form; see\n"        \
    "                       holdfast-url(7). Default: $HOLDFAST_URL, $REDIS_URL,\n" \
    "                       redis://127.0.0.1:6379\n"                         \
    "  --user NAME          user name; replaces that of the URL\n"            \
    "  --password-file F    read the password from the first line of F\n"     \
    "  --sentinel-password-file F\n"                                          \
    "                       read the sentinels' password from the first line of F\n" \
    "  --connect-timeout D  stop trying to connect after D; default 5s. D is a\n" \
    "                       number of seconds, or a number and ms, s, m or h\n" \
    "  --map FROM=TO        use the address TO where a server announces FROM (NAT);\n" \
    "                       each HOST or HOST:PORT; repeatable\n"            \
    "  --tls-ca FILE        trust only these CA certificates (PEM)\n"         \
    "  --tls-cert FILE      client certificate (PEM)\n"                       \
    "  --tls-key FILE       client key, if it is not in the file of --tls-cert\n" \
    "  --tls-key-password-file F\n"                                           \
    "                       read the key's password from the first line of F\n" \
    "  --tls-sni NAME       check the certificate for NAME instead of the host\n" \
    "  --json               print JSON: one object on each line\n"            \
    "  -q, --quiet          print only errors\n"                              \
    "  -v, --verbose        print progress on standard error\n"               \
    "  -h, --help           show this help\n"

/* cli_common_init - sets the defaults. cli_common_fini - overwrites secrets.
 * cli_common_take_option - processes one option. Returns CLI_CONTINUE or the exit code (0 after
 *   --help).
 * cli_common_parse - processes the rest of the command line. `take` receives words and the
 *   options of `own` (NULL: none). Returns CLI_CONTINUE or the exit code.
 * cli_common_check_one_server - checks that at most one server is given; called by the former.
 * cli_common_parse_words - the same for a subcommand with words and without options of its own.
 *   *words ends in NULL and is valid until the program ends. */
typedef int cli_taker(void *ctx, const struct cli_args *args, int id,
                      char *value);
void cli_common_init(struct cli_common *common);
void cli_common_fini(struct cli_common *common);
int cli_common_take_option(struct cli_common *common, const struct cli_args *args,
                           int id, char *value);
int cli_common_parse(struct cli_common *common, struct cli_args *args,
                     const struct cli_option *own, cli_taker *take, void *ctx);
int cli_common_check_one_server(const struct cli_common *common,
                                const struct cli_args *args);
int cli_common_parse_words(struct cli_common *common, struct cli_args *args,
                           char ***words);

/* cli_common_apply - is called when all options are known. Sets the level of messages, warns
 * of an unsafe password file, and completes the URLs. Returns CLI_CONTINUE, or CLI_EXIT_ERROR
 * after reporting the error. */
int cli_common_apply(struct cli_common *common);

/* cli_common_url - returns the URL of the server: -u, that of the environment, or the
 * default. */
const char *cli_common_url(const struct cli_common *common);

/* cli_common_tls_files - calls `each` for each file that TLS needs, by options or a URL: CAs,
 *   revocation lists, certificates and keys. */
void cli_common_tls_files(const struct cli_common *common,
                          void (*each)(void *ctx, const char *path), void *ctx);

/* cli_common_is_cluster - returns whether that is the URL of a cluster, whose locks are on
 *   different servers. */
bool cli_common_is_cluster(const struct cli_common *common);

/* cli_common_parse_url - parses that URL, replaces its parts by options, and sets a connect
 *   timeout. Sets *seeds for a URL with several hosts; `seeds` NULL: only the URL of one server
 *   is accepted. *url and *seeds must be zeros before; call hf_url_wipe and hf_seeds_wipe for
 *   them, also after an error. Returns CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the
 *   error. */
int cli_common_parse_url(struct hf_url *url, struct hf_seeds *seeds,
                         const struct cli_common *common);

/* cli_warn_unverified - prints a note if the URL turns off the check of certificates. */
void cli_warn_unverified(bool is_unverified);

/* cli_client_open - opens a client that is not connected yet. `options` was set by
 *   hf_client_options_init and then by the caller (loop, watchdog). Returns CLI_CONTINUE, or
 *   CLI_EXIT_ERROR after reporting the error. Sets *out in both cases, to NULL or to a client
 *   for hf_client_free. */
int cli_client_open(struct hf_client **out, const struct cli_common *common,
                    struct hf_client_options *options);

/* cli_client_open_no_retry - does the same with all defaults, for a few calls of this thread: a
 *   server that cannot be reached is not retried. */
int cli_client_open_no_retry(struct hf_client **out,
                             const struct cli_common *common);

/* cli_client_open_at - does as cli_client_open, for the server of -u number `index`, from 0. */
int cli_client_open_at(struct hf_client **out, const struct cli_common *common,
                       size_t index, struct hf_client_options *options);

/* cli_client_close_and_merge_status - closes one of several clients until deadline_ms. `before` is
 *   the status of those before it, at first HF_OK. Returns the status of all: if one has no
 *   reply, that of it; HF_E_SERVER (a release was refused) only if each server has replied.
 *   NULL is allowed. The caller frees the client. */
hf_status cli_client_close_and_merge_status(struct hf_client *client, int64_t deadline_ms,
                                            hf_status before);

/* cli_lock_open - creates a handle on a name and connects to its server. Free it with
 *   hf_lock_free. With CLI_EXIT_ERROR, NULL means that the handle could not be created;
 *   otherwise the server could not be reached.
 * cli_lock_open_and_classify - also returns in *is_temporary whether the server refused the
 *   connection temporarily. */
int cli_lock_open(struct hf_lock **out, struct hf_client *client,
                  enum hf_lock_kind kind, const char *name);
int cli_lock_open_and_classify(struct hf_lock **out, struct hf_client *client,
                               enum hf_lock_kind kind, const char *name, bool *is_temporary);

#endif
