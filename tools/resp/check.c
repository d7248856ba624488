/* `holdfast-resp check`: does a server speak RESP as specified? */
/* Tests: tests/live/cli/test_resp_check.c. */
#include "tools/resp/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/report.h"
#include "cli/base/signals.h"
#include "tools/resp/row.h"
#include "tools/resp/try.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/random.h"

/* Random keys to try, because in a cluster a key may belong to another node.
 * With a thousand nodes, 99.8 % of runs find a key of this one. */
#define KEYS_TRIED 6000

/* Values in the answer to HELLO, modules included. */
#define HELLO_NODES 1024

/* Bytes of a server's name, or version. */
#define NAME_ROOM 64

struct check {
    struct cli_try try;
    char server[NAME_ROOM];
    char version[NAME_ROOM];
};

/* ---- which server ---- */

/* One context for all connections: only the first has a full handshake. */
static int set_server(struct cli_try *t)
{
    struct hf_error err = {0};
    hf_status status = HF_OK;

    t->server = (struct hf_wire_options){.url = &t->url,
                                         .input_max = CLI_WIRE_MAX};
    if (t->url.kind == HF_URL_TLS)
        status = hf_tls_context_new(&t->server.tls, &hf_mem_libc, hf_url_tls(&t->url),
                                    t->url.host, &err);
    cli_warn_unverified(hf_url_tls(&t->url)->is_unverified);
    return status == HF_OK ? CLI_CONTINUE : cli_fail_status(status, &err);
}

/* ---- which server it is ---- */

static void take_text(char dst[NAME_ROOM], struct hf_resp_value map,
                      const char *key)
{
    struct hf_resp_value v;
    const char *ptr;
    size_t len;

    if (hf_resp_map_get(map, key, strlen(key), &v) == HF_OK &&
        hf_resp_bytes(v, &ptr, &len) == HF_OK)
        (void)hf_error_quote(dst, NAME_ROOM, ptr, len);
}

static void take_hello(struct check *c, const struct cli_answer *answer)
{
    static struct hf_resp_node nodes[HELLO_NODES];
    struct hf_resp_tape tape = {.nodes = nodes, .room = HELLO_NODES};
    struct hf_resp_parser parser;
    struct hf_resp_value v;

    hf_resp_init(&parser, NULL, 3);
    if (hf_resp_parse(&parser, answer->bytes, answer->len, &tape) != HF_OK)
        return;
    v = hf_resp_first(&tape, answer->bytes, 0);
    take_text(c->server, v, "server");
    take_text(c->version, v, "version");
}

/* Before Redis 6. */
static void take_info(struct check *c, const struct cli_answer *answer)
{
    static const char key[] = "redis_version:";
    const char *at = memmem(answer->bytes, answer->len, key, strlen(key));
    const char *end;
    size_t len;

    if (!at)
        return;
    at += strlen(key);
    len = (size_t)(answer->bytes + answer->len - at);
    end = memchr(at, '\r', len);
    (void)strcpy(c->server, "redis");
    (void)hf_error_quote(c->version, sizeof c->version, at,
                         end ? (size_t)(end - at) : len);
}

/* On a connection of its own: checks begin with a fresh one. */
static int identify(struct check *c)
{
    struct cli_answer answer;
    int rc = cli_try_open(&c->try, 2, NULL);

    if (rc != CLI_CONTINUE)
        return rc;
    if (cli_try_words(&c->try, "HELLO 2", &answer))
        take_hello(c, &answer);
    if (!c->version[0] && cli_try_words(&c->try, "INFO server", &answer))
        take_info(c, &answer);
    return CLI_CONTINUE;
}

static void make_key(struct check *c)
{
    uint64_t random;

    (void)hf_random_bytes(&random, sizeof random);
    (void)snprintf(c->try.key, sizeof c->try.key,
                   "holdfast:resp-check:%016" PRIx64, random);
}

/* Finds a key of this node: others would be answered with MOVED. Writes nothing
 * that could not be deleted. CLI_CONTINUE, or reported. */
static int choose_key(struct check *c)
{
    struct cli_answer answer = {.len = 0};
    int i = 0;

    do
        make_key(c);
    while (++i < KEYS_TRIED && cli_try_words(&c->try, "DEL KEY", &answer) &&
           cli_answer_begins(&answer, "-MOVED"));
    if (cli_answer_begins(&answer, "-NOPERM"))
        return cli_fail("this user has no permission to DEL keys that begin with "
                        "holdfast:resp-check: so the checks would leave keys behind");
    return CLI_CONTINUE;
}

/* ---- all checks ---- */

/* An exit code after a signal that ends programs, or CLI_CONTINUE. */
static int look_for_signal(void)
{
    int signal = cli_signals_take_end_signal();

    return signal != 0 ? CLI_EXIT_SIGNAL + signal : CLI_CONTINUE;
}

static int try_all(struct check *c, int protocol)
{
    int rc = CLI_CONTINUE;

    for (size_t i = 0; i < cli_probe_count && rc == CLI_CONTINUE; i++) {
        if (cli_try_expects(&cli_probes[i], protocol))
            rc = cli_try_probe(&c->try, &cli_probes[i], protocol);
        if (rc == CLI_CONTINUE)
            rc = look_for_signal();
    }
    return rc;
}

static int try_protocol(struct check *c, int protocol)
{
    struct cli_row row = {protocol,        "T2",   "HELLO 3",
                          CLI_NOT_OFFERED, "%...", NULL};
    char *refused = NULL;
    int rc;

    cli_talk_close(&c->try.talk);
    rc = cli_try_open(&c->try, protocol, &refused);
    if (rc == CLI_CONTINUE)
        return try_all(c, protocol);
    if (!refused)
        return rc;
    row.came = refused;
    cli_try_count(&c->try, &row);
    free(refused);
    return CLI_CONTINUE;
}

static int summarize(struct check *c)
{
    char address[sizeof c->try.url.host + sizeof ":65535[]"];
    struct cli_summary summary = {
        .server = c->server[0] ? c->server : "a server",
        .version = c->version[0] ? c->version : "of unknown version",
        .address = hf_url_address(&c->try.url, address, sizeof address),
    };

    memcpy(summary.count, c->try.count, sizeof summary.count);
    cli_row_print_summary(c->try.common, &summary);
    return c->try.count[CLI_DEVIATES] ? CLI_EXIT_NO : CLI_EXIT_OK;
}

static int check_all(struct check *c, int protocol)
{
    int rc = identify(c);

    if (rc != CLI_CONTINUE)
        return rc;
    rc = choose_key(c);
    if (rc != CLI_CONTINUE)
        return rc;
    cli_row_print_head(c->try.common);
    if (protocol != 3)
        rc = try_protocol(c, 2);
    if (rc == CLI_CONTINUE && protocol != 2)
        rc = try_protocol(c, 3);
    return rc == CLI_CONTINUE ? summarize(c) : rc;
}

int cli_resp_check(const struct cli_common *common, int protocol)
{
    struct check c = {.try = {.common = common}};
    int rc = cli_common_parse_url(&c.try.url, NULL, common);

    if (rc == CLI_CONTINUE)
        rc = set_server(&c.try);
    if (rc == CLI_CONTINUE && cli_signals_open() < 0)
        rc = cli_fail_what(HF_E_SYSTEM, "cannot watch for signals");
    if (rc == CLI_CONTINUE)
        cli_signals_set_end_limit(true, NULL); /* time to delete the keys of a check */
    if (rc == CLI_CONTINUE)
        rc = check_all(&c, protocol);
    cli_talk_close(&c.try.talk);
    cli_talk_close(&c.try.second);
    hf_tls_context_free(c.try.server.tls);
    hf_url_wipe(&c.try.url);
    return rc;
}
