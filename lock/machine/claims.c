/* Until when a hold is safe. Rules in claims.h. */
/* Tests: tests/test_lock_claims.c, tests/exhaust/lease.c. */
#include "lock/machine/claims.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/moment.h"

int64_t hf_claims_drift_ms(int64_t lease_ms)
{
    return lease_ms / 100 + 2;
}

void hf_claims_init(struct hf_claims *c)
{
    memset(c, 0, sizeof *c);
    c->end_ms = c->proved_held_at_ms = INT64_MIN;
}

/* ---- the end ---- */

/* CLAIM-2, CLAIM-3. */
static void end_no_later_than_claim(struct hf_claims *c, int64_t since_ms, int64_t lease_ms)
{
    int64_t end = hf_max_ms(since_ms, c->proved_held_at_ms) + lease_ms -
                  hf_claims_drift_ms(lease_ms);

    if (lease_ms > 0 && end < c->end_ms) {
        c->end_ms = end;
        c->lease_of_first_end_ms = lease_ms;
    }
}

static void set_end_to_earliest_claim(struct hf_claims *c)
{
    if (c->answered_lease_ms == 0)
        return; /* never granted: the end stays INT64_MIN */
    c->end_ms = INT64_MAX;
    end_no_later_than_claim(c, c->proved_held_at_ms, c->answered_lease_ms);
    for (int i = 0; i < CLAIM_BY_COUNT; i++)
        end_no_later_than_claim(c, c->sent[i].since_ms, c->sent[i].lease_ms);
    for (int i = 0; i < CLAIM_UNKNOWNS_MAX; i++)
        end_no_later_than_claim(c, c->unknown[i].since_ms, c->unknown[i].lease_ms);
}

/* ---- the facts ---- */

static bool is_sent_claim_ok(const struct hf_claims *c, const struct hf_claim_sent *sent)
{
    return sent->lease_ms >= 0 && sent->step <= c->step;
}

static bool is_unknown_claim_ok(const struct hf_claims *c, const struct hf_claim_unknown *u)
{
    return u->lease_ms >= 0 && u->step <= c->step &&
           (u->lease_ms == 0 || u->stream != 0);
}

static bool are_command_steps_ok(const struct hf_claims *c)
{
    bool is_ok = c->answered_step <= c->step && c->last_look_step <= c->step &&
                 c->last_extend_step <= c->step;

    for (int i = 0; i < CLAIM_BY_COUNT; i++)
        is_ok = is_ok && is_sent_claim_ok(c, &c->sent[i]);
    for (int i = 0; i < CLAIM_UNKNOWNS_MAX; i++)
        is_ok = is_ok && is_unknown_claim_ok(c, &c->unknown[i]);
    return is_ok;
}

/* CLAIM-2: no claim ends before end_ms, and one ends then. */
static bool is_claims_end_ok(const struct hf_claims *c)
{
    struct hf_claims again = *c;

    set_end_to_earliest_claim(&again);
    return c->answered_lease_ms == 0
               ? c->end_ms == INT64_MIN && c->proved_held_at_ms == INT64_MIN
               : c->end_ms == again.end_ms && c->lease_of_first_end_ms > 0 &&
                     c->proved_held_at_ms != INT64_MIN;
}

/* CLAIM-2, CLAIM-3, without the functions above: a hundredth of the lease and 2 ms are the
 * margin for drift. */
static int64_t expected_end_of_claim(const struct hf_claims *c, int64_t since_ms, int64_t lease_ms)
{
    int64_t end_ms = since_ms > c->proved_held_at_ms ? since_ms : c->proved_held_at_ms;

    return lease_ms == 0 ? INT64_MAX : end_ms + lease_ms - lease_ms / 100 - 2;
}

static bool is_drift_margin_ok(const struct hf_claims *c)
{
    int64_t end_ms = expected_end_of_claim(c, c->proved_held_at_ms, c->answered_lease_ms);

    for (int i = 0; i < CLAIM_BY_COUNT; i++)
        end_ms = hf_min_ms(end_ms,
                           expected_end_of_claim(c, c->sent[i].since_ms, c->sent[i].lease_ms));
    for (int i = 0; i < CLAIM_UNKNOWNS_MAX; i++)
        end_ms =
            hf_min_ms(end_ms,
                      expected_end_of_claim(c, c->unknown[i].since_ms, c->unknown[i].lease_ms));
    return c->answered_lease_ms == 0 || c->end_ms == end_ms;
}

static bool claims_ok(const struct hf_claims *c)
{
    return are_command_steps_ok(c) && is_claims_end_ok(c) && is_drift_margin_ok(c);
}

/* ---- claims whose outcome is unknown ---- */

bool hf_claims_has_unknown(const struct hf_claims *c)
{
    bool has = false;

    for (int i = 0; i < CLAIM_UNKNOWNS_MAX; i++)
        has = has || c->unknown[i].lease_ms > 0;
    return has;
}

/* Returns the place for a claim of this stream: that of a claim of the same stream;
 * otherwise a free place; otherwise the last one, where the claims are merged. */
static struct hf_claim_unknown *slot_for_unknown_claim(struct hf_claims *c, uint64_t stream)
{
    struct hf_claim_unknown *last = &c->unknown[CLAIM_UNKNOWNS_MAX - 1];

    for (struct hf_claim_unknown *u = c->unknown; u <= last; u++)
        if (u->lease_ms > 0 && u->stream == stream)
            return u;
    for (struct hf_claim_unknown *u = c->unknown; u <= last; u++)
        if (u->lease_ms == 0)
            return u;
    return last;
}

/* When a claim ends if nothing is answered later. */
static int64_t earliest_end_of_claim_ms(int64_t since_ms, int64_t lease_ms)
{
    return since_ms + lease_ms - hf_claims_drift_ms(lease_ms);
}

/* Merges two claims in one place: the result has the shorter lease, and ends when the first of the
 * two ends. If their streams differ, no reply ends it (CLAIM-4). It ends no later than either,
 * whichever later sending is answered (CLAIM-3). */
static void add_unknown_claim(struct hf_claims *c, int64_t since_ms,
                              int64_t lease_ms, uint64_t stream)
{
    struct hf_claim_unknown *u = slot_for_unknown_claim(c, stream), was = *u;
    int64_t end_ms = earliest_end_of_claim_ms(since_ms, lease_ms);

    HF_ASSERT(lease_ms > 0 && stream != 0);
    if (u->lease_ms > 0) {
        end_ms = hf_min_ms(end_ms, earliest_end_of_claim_ms(u->since_ms, u->lease_ms));
        lease_ms = hf_min_ms(lease_ms, u->lease_ms);
        since_ms = end_ms - lease_ms + hf_claims_drift_ms(lease_ms);
        if (u->stream != stream)
            stream = HF_STREAM_MANY;
    }
    *u = (struct hf_claim_unknown){since_ms, lease_ms, stream, c->step};
    HF_ASSERT(earliest_end_of_claim_ms(since_ms, lease_ms) == end_ms);
    HF_ASSERT(was.lease_ms == 0 ||
              (end_ms <= earliest_end_of_claim_ms(was.since_ms, was.lease_ms) &&
                                    u->lease_ms <= was.lease_ms));
    HF_ASSERT(was.lease_ms == 0 || u->stream == was.stream || u->stream == HF_STREAM_MANY);
}

/* CLAIM-4: claims of commands that were executed before, on the same stream. */
static void drop_claims_executed_before(struct hf_claims *c, uint32_t sent_step, uint64_t stream)
{
    for (int i = 0; i < CLAIM_UNKNOWNS_MAX; i++) {
        struct hf_claim_unknown *u = &c->unknown[i], was = *u;

        if (u->step < sent_step && u->stream == stream &&
            stream != HF_STREAM_MANY)
            u->lease_ms = 0;
        HF_ASSERT(u->lease_ms == was.lease_ms || was.stream == stream);
    }
}

/* ---- events ---- */

void hf_claims_add(struct hf_claims *c, enum hf_claim_by by, int64_t now_ms,
                  int64_t lease_ms)
{
    HF_ASSERT(c->sent[by].lease_ms == 0 && lease_ms > 0);
    c->sent[by] = (struct hf_claim_sent){now_ms, lease_ms, ++c->step};
    set_end_to_earliest_claim(c);
    HF_ASSERT(claims_ok(c));
}

/* Was the command that was answered last, if there is one, certainly executed before this one,
 * which is answered now? (CLAIM-4.) */
static bool was_last_answer_executed_before(const struct hf_claims *c,
                                            const struct hf_claim_sent *sent, uint64_t stream)
{
    return c->answered_lease_ms == 0 || c->answered_step < sent->step ||
           c->answered_stream == stream;
}

static void record_answered_command(struct hf_claims *c,
                                    const struct hf_claim_sent *sent, uint64_t stream)
{
    struct hf_claims was = *c;

    if (was_last_answer_executed_before(c, sent, stream)) {
        c->answered_lease_ms = sent->lease_ms;
        c->answered_stream = stream;
    } else {
        c->answered_lease_ms = hf_min_ms(c->answered_lease_ms, sent->lease_ms);
        c->answered_stream = HF_STREAM_MANY;
    }
    c->answered_step = c->step;
    /* CLAIM-4: a command that may have been executed before the last one is no longer proof. */
    HF_ASSERT(was.answered_lease_ms == 0 || was.answered_step < sent->step ||
              was.answered_stream == stream || c->answered_lease_ms <= was.answered_lease_ms);
    HF_ASSERT(c->answered_lease_ms > 0 &&
              c->answered_lease_ms <= hf_max_ms(was.answered_lease_ms, sent->lease_ms));
}

static void record_proof_of_hold(struct hf_claims *c, const struct hf_claim_sent *sent,
                                 const struct hf_sending *how)
{
    int64_t was_ms = c->proved_held_at_ms;

    HF_ASSERT(how->sent_ms != INT64_MAX && sent->lease_ms > 0);
    c->step++;
    c->proved_held_at_ms = hf_max_ms(c->proved_held_at_ms, how->sent_ms);
    HF_ASSERT(c->proved_held_at_ms <= hf_max_ms(was_ms, how->sent_ms)); /* CLAIM-2 */
    drop_claims_executed_before(c, sent->step, how->stream);
    record_answered_command(c, sent, how->stream);
}

void hf_claims_answered(struct hf_claims *c, enum hf_claim_by by,
                       const struct hf_sending *how)
{
    struct hf_claim_sent sent = c->sent[by];
    bool is_last = was_last_answer_executed_before(c, &sent, how->stream);

    if (sent.lease_ms == 0)
        return;
    c->sent[by].lease_ms = 0;
    c->owner_lease_ms = is_last ? sent.lease_ms : hf_min_ms(c->owner_lease_ms, sent.lease_ms);
    record_proof_of_hold(c, &sent, how);
    if (how->unanswered_stream != 0 && how->unanswered_stream != how->stream)
        add_unknown_claim(c, sent.since_ms, sent.lease_ms, how->unanswered_stream);
    set_end_to_earliest_claim(c);
    HF_ASSERT(how->unanswered_stream == 0 || how->unanswered_stream == how->stream ||
              hf_claims_has_unknown(c));
    HF_ASSERT(claims_ok(c));
}

void hf_claims_unknown(struct hf_claims *c, enum hf_claim_by by,
                      const struct hf_sending *how)
{
    struct hf_claim_sent sent = c->sent[by];
    bool is_scattered = how->unanswered_stream != 0 && how->unanswered_stream != how->stream;

    if (sent.lease_ms == 0)
        return;
    c->sent[by].lease_ms = 0;
    c->step++;
    if (how->stream != 0)
        add_unknown_claim(c, sent.since_ms, sent.lease_ms,
                          is_scattered ? HF_STREAM_MANY : how->stream);
    set_end_to_earliest_claim(c);
    HF_ASSERT(how->stream == 0 || hf_claims_has_unknown(c)); /* CLAIM-1 */
    HF_ASSERT(claims_ok(c));
}

void hf_claims_refused(struct hf_claims *c, enum hf_claim_by by)
{
    c->sent[by].lease_ms = 0;
    set_end_to_earliest_claim(c);
    HF_ASSERT(claims_ok(c));
}

/* ---- without a pending command ---- */

bool hf_claims_are_settled(const struct hf_claims *c)
{
    bool are_settled = c->answered_lease_ms > 0;

    for (int i = 0; i < CLAIM_BY_COUNT; i++)
        are_settled = are_settled && c->sent[i].lease_ms == 0;
    for (int i = 0; i < CLAIM_UNKNOWNS_MAX; i++)
        are_settled = are_settled && c->unknown[i].lease_ms == 0;
    return are_settled;
}

bool hf_claims_is_order_unknown(const struct hf_claims *c)
{
    return c->answered_stream == HF_STREAM_MANY;
}

/* The steps begin anew: no command that they would be compared with is pending. */
void hf_claims_restore(struct hf_claims *c, int64_t proved_ms, int64_t answered_ms,
                       int64_t set_ms, uint64_t stream)
{
    hf_claims_init(c);
    c->proved_held_at_ms = proved_ms;
    c->answered_lease_ms = answered_ms;
    c->owner_lease_ms = set_ms;
    c->answered_stream = stream;
    set_end_to_earliest_claim(c);
    HF_ASSERT(claims_ok(c) && hf_claims_are_settled(c));
}

/* ---- looks ---- */

void hf_claims_look_sent(struct hf_claims *c)
{
    c->last_look_step = ++c->step;
    HF_ASSERT(claims_ok(c));
}

void hf_claims_look_answered(struct hf_claims *c, const struct hf_sending *how,
                             int64_t ttl_ms)
{
    struct hf_claim_sent look = {how->sent_ms, hf_min_ms(ttl_ms, c->owner_lease_ms),
                                 c->last_look_step};

    HF_ASSERT(ttl_ms > 0 && c->owner_lease_ms > 0);
    record_proof_of_hold(c, &look, how);
    set_end_to_earliest_claim(c);
    HF_ASSERT(claims_ok(c));
}

/* ---- extensions ---- */

void hf_claims_extend(struct hf_claims *c)
{
    c->last_extend_step = ++c->step;
    HF_ASSERT(claims_ok(c));
}

/* A call of the owner has set the longer of the two leases: owner_lease_ms. */
void hf_claims_extended(struct hf_claims *c, const struct hf_sending *how,
                        int64_t ttl_ms, int64_t lease_ms)
{
    int64_t set_ms = hf_max_ms(c->owner_lease_ms, lease_ms);
    struct hf_claim_sent extension = {how->sent_ms, hf_min_ms(ttl_ms, set_ms),
                                      c->last_extend_step};

    HF_ASSERT(lease_ms > 0 && ttl_ms >= lease_ms && c->owner_lease_ms > 0);
    c->owner_lease_ms = set_ms;
    record_proof_of_hold(c, &extension, how);
    set_end_to_earliest_claim(c);
    HF_ASSERT(claims_ok(c));
}
