/* Commands to servers, many at a time, and their answers. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/requests.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "net/base/error.h"
#include "net/loop/clock.h"
#include "net/route/refusal.h"

void ls_query_bytes(struct ls_query *q, const char *ptr, size_t len)
{
    assert(q->count < LS_WORDS_MAX);
    q->words[q->count++] = (struct hf_resp_arg){ptr, len};
}

void ls_query_word(struct ls_query *q, const char *word)
{
    ls_query_bytes(q, word, strlen(word));
}

/* ---- answers ---- */

static void keep_refusal(struct ls_query *q, struct hf_resp_value reply)
{
    bool lacks_right = hf_refusal_is_by_acl(reply);
    char words[220];
    const char *ptr;
    size_t len;

    hf_refusal_words(reply, &ptr, &len);
    q->is_refused = true;
    (void)hf_error_set(&q->error, HF_E_SERVER, "%s: %.*s: %s%s",
                       hf_command_address(&q->command), (int)q->words[0].len,
                       (const char *)q->words[0].ptr,
                       hf_error_quote(words, sizeof words, ptr, len),
                       lacks_right
                           ? " (the ACL of this user lacks that command)"
                           : "");
}

/* All requests only read: a request that was lost with its connection is sent once
 * more. */
static bool send_again(struct ls_query *q, enum hf_outcome outcome)
{
    if (outcome != HF_UNKNOWN || q->is_repeated)
        return false;
    q->is_repeated = true;
    return hf_router_send(q->requests->router, &q->command) == HF_OK;
}

static void on_answer(struct hf_command *command, enum hf_outcome outcome,
                      struct hf_resp_value reply)
{
    struct ls_query *q = HF_OWNER_OF(command, struct ls_query, command);
    const struct hf_error *why = hf_command_error(command);

    if (send_again(q, outcome))
        return;
    q->requests->pending--;
    if (outcome != HF_ANSWERED && why->status != HF_OK)
        q->error = *why;
    else if (outcome != HF_ANSWERED)
        (void)hf_error_set(&q->error, HF_E_NOREPLY, "%s: no reply in time",
                           hf_command_address(command));
    else if (hf_resp_is_error(reply))
        keep_refusal(q, reply);
    else
        q->read(q, reply);
}

/* Behind the address and the command, as keep_refusal writes it. */
bool ls_query_is(const struct ls_query *q, const char *code)
{
    char part[40];

    (void)snprintf(part, sizeof part, ": %s ", code);
    return q->is_refused && strstr(q->error.text, part);
}

/* ---- sending ---- */

void ls_send(struct ls_requests *requests, struct ls_query *q)
{
    hf_status rc;

    q->requests = requests;
    q->error = (struct hf_error){0};
    q->is_refused = q->is_repeated = false;
    q->command = (struct hf_command){
        .argv = q->words,
        .argc = q->count,
        .slot = q->slot,
        .is_once = true,
        .deadline_ms = hf_clock_ms() + requests->timeout_ms,
        .done = on_answer};
    hf_loop_lock(requests->loop);
    rc = hf_router_send(requests->router, &q->command);
    hf_loop_unlock(requests->loop);
    if (rc == HF_OK)
        requests->pending++;
    else
        (void)hf_error_set(&q->error, rc, "%s", hf_status_text(rc));
}

void ls_await(struct ls_requests *requests)
{
    while (requests->pending > 0)
        hf_loop_dispatch(requests->loop, -1);
}
