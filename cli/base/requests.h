/* Sends many commands to servers at a time, and awaits their replies. */
#ifndef CLI_REQUESTS_H
#define CLI_REQUESTS_H

#include "lock/lock.h"
#include "net/base/url.h"
#include "net/route/router.h"

struct cli_requests {
    struct hf_loop *loop;
    struct hf_router *router;
    int64_t timeout_ms;         /* to connect, and of an answer */
    uint32_t pending_count;
};

#define CLI_QUERY_WORDS_MAX 8 /* arguments of the longest request */

/* One command, in memory of the caller, which must not move until the reply. */
struct cli_query {
    /* Set by the owner; zeroed otherwise. */
    uint16_t slot;              /* of its key, or of the server */
    void (*read_reply)(struct cli_query *q, struct hf_resp_value reply);

    /* Read by the owner in the end. */
    struct hf_error error;      /* HF_OK: `read_reply` was called, and has set none */
    bool is_refused;            /* the answer was an error */

    /* requests.c's own. */
    struct cli_requests *requests;
    bool was_repeated;          /* it was sent twice */
    struct hf_resp_arg words[CLI_QUERY_WORDS_MAX];
    size_t words_count;
    struct hf_command command;
};

/* The servers of a URL, and what is reported about their connections. All are borrowed until
 * cli_requests_open has returned, `trace_ctx` until cli_requests_close. */
struct cli_requests_options {
    const struct hf_url *url;
    const struct hf_seeds *seeds;
    const char *client_name;
    void (*on_trace)(void *ctx, const struct hf_trace *trace);
    void *trace_ctx;
};

/* cli_requests_open  - prepares requests to these servers, without I/O. `requests` must be zeros,
 *   except the loop. *err is filled in. HF_E_NOMEM, HF_E_TLS, ...
 * cli_requests_close - closes the connections, also after an error. No request may be pending. */
hf_status cli_requests_open(struct cli_requests *requests,
                            const struct cli_requests_options *options, struct hf_error *err);
void cli_requests_close(struct cli_requests *requests);

/* cli_query_add_word, cli_query_add_bytes - add a word, which is borrowed.
 * cli_requests_send   - sends the command. cli_requests_await calls `read_reply` unless there is an
 *   error.
 * cli_requests_await - waits until all commands have a reply or have failed. */
void cli_query_add_word(struct cli_query *q, const char *word);
void cli_query_add_bytes(struct cli_query *q, const char *ptr, size_t len);
void cli_requests_send(struct cli_requests *requests, struct cli_query *q);
void cli_requests_await(struct cli_requests *requests);

/* The code for cli_query_is_error of a reply that was too large and was skipped. */
#define CLI_TOO_LARGE "TOOLARGE"

/* cli_query_is_error - returns whether the reply is an error with this code ("WRONGTYPE"). */
bool cli_query_is_error(const struct cli_query *q, const char *code);

#endif
