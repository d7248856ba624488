/* Attempts to connect: when one begins, and when it ends without a connection (LINK-4,
 * LINK-10). */
/* Tests: tests/test_net_link_connect.c, tests/test_net_link_rival.c,
 *        tests/test_net_pace.c. */
#include "net/base/moment.h"
#include "net/base/assert.h"
#include "net/base/random.h"
#include "net/link/link_inner.h"

/* Doubles, and takes a random half off: clients that lost one server together
 * do not come back together. */
static int64_t next_backoff_ms(struct hf_link *link)
{
    unsigned doublings = link->consecutive_failures < 16 ? link->consecutive_failures : 16;
    int64_t ms = link->options.backoff_min_ms << doublings;
    uint32_t random;

    if (ms > link->options.backoff_max_ms)
        ms = link->options.backoff_max_ms;
    (void)hf_random_bytes(&random, sizeof random);
    return ms - (int64_t)(random % (uint64_t)(ms / 2 + 1));
}

void hf_link_back_off(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    hf_link_set_state(link, HF_LINK_BACKOFF);
    hf_loop_arm(link->loop, &link->timer, hf_loop_now(link->loop) + next_backoff_ms(link));
    link->consecutive_failures++;
}

void hf_link_dial(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    link->attempt_number = hf_loop_next_serial(link->loop);
    hf_dial_start(&link->dial);
}

/* If the callback returned no credentials, the timer ends the attempt, and not this call, which
 * may be made at the end of a caller's turn. */
void hf_link_attempt(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    hf_link_set_state(link, HF_LINK_FETCHING);
    link->is_failure_final = false;
    link->last_received_ms = hf_loop_now(link->loop);
    link->attempt_until_ms = link->last_received_ms + link->options.connect_timeout_ms;
    hf_loop_arm(link->loop, &link->timer, link->attempt_until_ms);
    if (hf_link_find_login(link)) {
        hf_link_set_state(link, HF_LINK_DIALING);
        hf_link_dial(link);
        hf_link_arm_attempt_timer(link);
    } else if (link->pending_credentials_query == 0) {
        hf_loop_arm(link->loop, &link->timer, hf_loop_now(link->loop));
    }
}

/* ---- silence ---- */

/* The end of a name lookup is progress. During the lookup, the attempt always counts as making
 * progress, because another lookup would take as long. */
int64_t hf_link_progress_ms(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return link->dial.pending_lookup ? hf_loop_now(link->loop)
                              : hf_max_ms(link->last_received_ms, link->dial.resolved_ms);
}

/* Returns when the attempt of a rival is replaced by another one (LINK-10); HF_NEVER: never. */
static int64_t replace_attempt_at_ms(const struct hf_link *link)
{
    if (link->rival_attempt_ms == 0 || link->state == HF_LINK_FETCHING)
        return HF_NEVER;
    return hf_link_progress_ms(link) + link->rival_attempt_ms;
}

void hf_link_arm_attempt_timer(struct hf_link *link)
{
    int64_t silence_check_ms = hf_min_ms(replace_attempt_at_ms(link),
                                         hf_rival_for_attempt_due_ms(link));

    HF_ASSERT(hf_loop_is_locked(link->loop));
    hf_loop_arm(link->loop, &link->timer, hf_min_ms(link->attempt_until_ms, silence_check_ms));
}

static void replace_attempt(struct hf_link *link)
{
    hf_link_name_late_step(link);
    hf_link_close(link);
    link->rival_attempt_ms = hf_min_ms(2 * link->rival_attempt_ms,
                                       link->options.connect_timeout_ms);
    hf_link_attempt(link);
}

void hf_link_on_attempt_timer(struct hf_link *link)
{
    int64_t now = hf_loop_now(link->loop);

    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (now >= link->attempt_until_ms) {
        hf_link_name_late_step(link);
        hf_link_failed(link);
    } else if (now >= replace_attempt_at_ms(link)) {
        replace_attempt(link);
    } else {
        hf_rival_open_for_attempt(link);
        hf_link_arm_attempt_timer(link);
    }
}
