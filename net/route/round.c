/* A discovery round: the order of servers, and its end. Rules in round.h. */
/* Tests: tests/test_net_round.c. */

#include "net/route/round.h"

#include "net/base/assert.h"
#include "net/base/moment.h"
#include "net/net.h"

/* ROUND-5: after silent servers, the next round is due. ROUND-6: a running round is due at
 * some time, or awaits its first reply. */
static bool round_ok(const struct hf_round *r)
{
    bool waits_for_first = r->are_all_queried && !r->has_reply_or_failure;

    return (r->retried_rounds > 0) == (r->silent_since_ms != HF_NEVER) &&
           (r->is_running ? (r->due_ms != HF_NEVER || waits_for_first) &&
                                (!r->has_worse_map || r->has_reply_or_failure) &&
                                (!r->is_settled || r->has_worse_map)
                          : (r->due_ms != HF_NEVER) == (r->retried_rounds > 0));
}

static void set_running_and_due(struct hf_round *r, bool is_running, int64_t due_ms)
{
    r->is_running = is_running;
    r->due_ms = due_ms;
}

void hf_round_init(struct hf_round *r, int64_t patience_ms, int64_t stagger_ms)
{
    *r = (struct hf_round){.patience_ms = patience_ms, .stagger_ms = stagger_ms};
    hf_round_reset(r);
}

void hf_round_reset(struct hf_round *r)
{
    set_running_and_due(r, false, HF_NEVER);
    r->silent_since_ms = HF_NEVER;
    r->retried_rounds = 0;
    HF_ASSERT(round_ok(r));
}

static enum hf_round_action begin_round(struct hf_round *r, int64_t now_ms)
{
    set_running_and_due(r, true, now_ms);
    r->are_all_queried = r->has_reply_or_failure = r->has_worse_map = r->is_settled = false;
    r->queried_servers = 0;
    return HF_ROUND_QUERY;
}

static enum hf_round_action end_round(struct hf_round *r,
                                      enum hf_round_action action)
{
    hf_round_reset(r);
    return action;
}

/* ROUND-5 */
static enum hf_round_action schedule_retry(struct hf_round *r, int64_t now_ms)
{
    int64_t pause_ms = HF_ROUND_PAUSE_MS;

    for (uint32_t i = 0; i < r->retried_rounds && pause_ms < HF_ROUND_PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    r->retried_rounds++;
    if (r->silent_since_ms == HF_NEVER)
        r->silent_since_ms = now_ms;
    set_running_and_due(r, false,
                        hf_min_ms(now_ms + hf_min_ms(pause_ms,
                                                     HF_ROUND_PAUSE_MAX_MS) + r->queried_servers,
                                  r->silent_since_ms + r->patience_ms));
    return HF_ROUND_RETRY;
}

/* ROUND-3 */
static bool has_patience_ended(const struct hf_round *r, int64_t now_ms)
{
    return r->silent_since_ms != HF_NEVER &&
           now_ms - r->silent_since_ms >= r->patience_ms;
}

enum hf_round_action hf_round_step(struct hf_round *r, int64_t now_ms)
{
    HF_ASSERT(round_ok(r));
    if (!r->is_running)
        return begin_round(r, now_ms);
    if (!r->are_all_queried)
        return HF_ROUND_QUERY;
    if (now_ms < r->due_ms)
        return HF_ROUND_WAIT;
    if (r->pending_probes > 0 && r->has_worse_map && !r->is_settled &&
        !has_patience_ended(r, now_ms))
        return schedule_retry(r, now_ms);
    return end_round(r, HF_ROUND_ADOPT_BEST);
}

/* ROUND-4, ROUND-6 */
static void set_due_for_silent_servers(struct hf_round *r, int64_t now_ms)
{
    if (r->pending_probes == 0)
        r->due_ms = now_ms;
    else
        r->due_ms = r->has_reply_or_failure ? now_ms + HF_ROUND_SILENCE_MS : HF_NEVER;
}

void hf_round_queried(struct hf_round *r, int64_t now_ms)
{
    HF_ASSERT(r->is_running);
    r->queried_servers++;
    r->pending_probes++;
    r->due_ms = now_ms + r->stagger_ms;
    HF_ASSERT(round_ok(r));
}

void hf_round_nobody_left(struct hf_round *r, int64_t now_ms)
{
    HF_ASSERT(r->is_running);
    r->are_all_queried = true;
    set_due_for_silent_servers(r, now_ms);
    HF_ASSERT(round_ok(r));
}

void hf_round_probe_ended(struct hf_round *r)
{
    HF_ASSERT(r->pending_probes > 0);
    r->pending_probes--;
}

/* ROUND-1 */
static void continue_after_reply(struct hf_round *r, int64_t now_ms)
{
    r->has_reply_or_failure = true;
    if (r->are_all_queried)
        set_due_for_silent_servers(r, now_ms);
    else
        r->due_ms = now_ms;
}

enum hf_round_action hf_round_answered(struct hf_round *r, int64_t now_ms,
                                       enum hf_round_answer answer)
{
    HF_ASSERT(round_ok(r));
    if (answer == HF_ROUND_SAME || answer == HF_ROUND_BETTER)
        return end_round(r, HF_ROUND_ADOPT); /* ROUND-2 */
    if (r->is_running) {
        r->has_worse_map = true;
        r->is_settled = answer == HF_ROUND_SETTLED;
        continue_after_reply(r, now_ms);
    }
    HF_ASSERT(round_ok(r));
    return HF_ROUND_WAIT;
}

void hf_round_failed(struct hf_round *r, int64_t now_ms)
{
    if (r->is_running)
        continue_after_reply(r, now_ms);
    HF_ASSERT(round_ok(r));
}
