/* Sends many commands to servers at a time, and awaits their replies. */
#ifndef CLI_LS_REQUESTS_H
#define CLI_LS_REQUESTS_H

#include "lock/lock.h"
#include "net/route/router.h"

struct ls_requests {
    struct hf_loop *loop;
    struct hf_router *router;
    int64_t timeout_ms;         /* to connect, and of an answer */
    uint32_t pending;
};

#define LS_WORDS_MAX 8   /* arguments of the longest request */

/* One command, in memory of the caller, which must not move until the reply. */
struct ls_query {
    /* Set by the owner; zeroed otherwise. */
    uint16_t slot;              /* of its key, or of the server */
    void (*read)(struct ls_query *q, struct hf_resp_value reply);

    /* Read by the owner in the end. */
    struct hf_error error;      /* HF_OK: `read` was called, and has set none */
    bool is_refused;            /* the answer was an error */

    /* requests.c's own. */
    struct ls_requests *requests;
    bool is_repeated;           /* it was sent twice */
    struct hf_resp_arg words[LS_WORDS_MAX];
    size_t count;
    struct hf_command command;
};

/* ls_query_word, ls_query_bytes - add a word, which is borrowed.
 * ls_send   - sends the command. ls_await calls `read` unless there is an error.
 * ls_await - waits until all commands have a reply or have failed. */
void ls_query_word(struct ls_query *q, const char *word);
void ls_query_bytes(struct ls_query *q, const char *ptr, size_t len);
void ls_send(struct ls_requests *requests, struct ls_query *q);
void ls_await(struct ls_requests *requests);

/* The code for ls_query_is of a reply that was too large and was skipped. */
#define LS_TOO_LARGE "TOOLARGE"

/* ls_query_is - returns whether the reply is an error with this code ("WRONGTYPE"). */
bool ls_query_is(const struct ls_query *q, const char *code);

#endif
