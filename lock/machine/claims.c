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
    c->end_ms = c->proved_ms = INT64_MIN;
}

/* ---- the end ---- */

/* CLAIM-2, CLAIM-3. */
static void claim(struct hf_claims *c, int64_t since_ms, int64_t lease_ms)
{
    int64_t end = hf_max_ms(since_ms, c->proved_ms) + lease_ms -
                  hf_claims_drift_ms(lease_ms);

    if (lease_ms > 0 && end < c->end_ms) {
        c->end_ms = end;
        c->shortest_ms = lease_ms;
    }
}

static void find_end(struct hf_claims *c)
{
    if (c->answered_ms == 0)
        return; /* never granted: the end stays INT64_MIN */
    c->end_ms = INT64_MAX;
    claim(c, c->proved_ms, c->answered_ms);
    for (int i = 0; i < CLAIM_BYS; i++)
        claim(c, c->asked[i].since_ms, c->asked[i].lease_ms);
    for (int i = 0; i < CLAIM_UNKNOWNS; i++)
        claim(c, c->unknown[i].since_ms, c->unknown[i].lease_ms);
}

/* ---- the facts ---- */

static bool is_asked_ok(const struct hf_claims *c, const struct hf_claim_asked *asked)
{
    return asked->lease_ms >= 0 && asked->step <= c->step;
}

static bool is_unknown_ok(const struct hf_claims *c, const struct hf_claim_unknown *u)
{
    return u->lease_ms >= 0 && u->step <= c->step &&
           (u->lease_ms == 0 || u->stream != 0);
}

static bool were_commands_ok(const struct hf_claims *c)
{
    bool is_ok = c->answered_step <= c->step && c->look_step <= c->step;

    for (int i = 0; i < CLAIM_BYS; i++)
        is_ok = is_ok && is_asked_ok(c, &c->asked[i]);
    for (int i = 0; i < CLAIM_UNKNOWNS; i++)
        is_ok = is_ok && is_unknown_ok(c, &c->unknown[i]);
    return is_ok;
}

/* CLAIM-2: no claim ends before end_ms, and one ends then. */
static bool is_end_ok(const struct hf_claims *c)
{
    struct hf_claims again = *c;

    find_end(&again);
    return c->answered_ms == 0
               ? c->end_ms == INT64_MIN && c->proved_ms == INT64_MIN
               : c->end_ms == again.end_ms && c->shortest_ms > 0 &&
                     c->proved_ms != INT64_MIN;
}

static bool claims_ok(const struct hf_claims *c)
{
    return were_commands_ok(c) && is_end_ok(c);
}

/* ---- claims whose outcome is unknown ---- */

/* Returns the place for a claim of this stream: that of a claim of the same stream;
 * otherwise a free place; otherwise the last one, where the claims are merged. */
static struct hf_claim_unknown *place_of(struct hf_claims *c, uint64_t stream)
{
    struct hf_claim_unknown *last = &c->unknown[CLAIM_UNKNOWNS - 1];

    for (struct hf_claim_unknown *u = c->unknown; u <= last; u++)
        if (u->lease_ms > 0 && u->stream == stream)
            return u;
    for (struct hf_claim_unknown *u = c->unknown; u <= last; u++)
        if (u->lease_ms == 0)
            return u;
    return last;
}

/* Two claims in one place are merged: the earlier start, the shorter lease, and
 * no stream whose answers could end it if the streams differ. */
static void note_unknown(struct hf_claims *c, int64_t since_ms,
                         int64_t lease_ms, uint64_t stream)
{
    struct hf_claim_unknown *u = place_of(c, stream);

    if (u->lease_ms > 0) {
        since_ms = hf_min_ms(since_ms, u->since_ms);
        lease_ms = hf_min_ms(lease_ms, u->lease_ms);
        if (u->stream != stream)
            stream = HF_STREAM_MANY;
    }
    *u = (struct hf_claim_unknown){since_ms, lease_ms, stream, c->step};
}

/* CLAIM-4. */
static void settle(struct hf_claims *c, uint32_t asked_step, uint64_t stream)
{
    for (int i = 0; i < CLAIM_UNKNOWNS; i++) {
        struct hf_claim_unknown *u = &c->unknown[i];

        if (u->step < asked_step && u->stream == stream &&
            stream != HF_STREAM_MANY)
            u->lease_ms = 0;
    }
}

/* ---- events ---- */

void hf_claims_add(struct hf_claims *c, enum hf_claim_by by, int64_t now_ms,
                  int64_t lease_ms)
{
    HF_ASSERT(c->asked[by].lease_ms == 0 && lease_ms > 0);
    c->asked[by] = (struct hf_claim_asked){now_ms, lease_ms, ++c->step};
    find_end(c);
    HF_ASSERT(claims_ok(c));
}

/* Was the command that was answered last certainly executed before this one,
 * which is answered now? (CLAIM-4.) */
static bool outdates(const struct hf_claims *c,
                     const struct hf_claim_asked *asked, uint64_t stream)
{
    return c->answered_step < asked->step || c->answered_stream == stream;
}

static void note_answered(struct hf_claims *c,
                          const struct hf_claim_asked *asked, uint64_t stream)
{
    if (c->answered_ms == 0 || outdates(c, asked, stream)) {
        c->answered_ms = asked->lease_ms;
        c->answered_stream = stream;
    } else {
        c->answered_ms = hf_min_ms(c->answered_ms, asked->lease_ms);
        c->answered_stream = HF_STREAM_MANY;
    }
    c->answered_step = c->step;
}

static void prove(struct hf_claims *c, const struct hf_claim_asked *asked,
                  const struct hf_sending *how)
{
    c->step++;
    c->proved_ms = hf_max_ms(c->proved_ms, how->sent_ms);
    settle(c, asked->step, how->stream);
    note_answered(c, asked, how->stream);
}

void hf_claims_answered(struct hf_claims *c, enum hf_claim_by by,
                       const struct hf_sending *how)
{
    struct hf_claim_asked asked = c->asked[by];

    if (asked.lease_ms == 0)
        return;
    c->asked[by].lease_ms = 0;
    prove(c, &asked, how);
    c->set_ms = c->answered_ms;
    if (how->stray != 0 && how->stray != how->stream)
        note_unknown(c, asked.since_ms, asked.lease_ms, how->stray);
    find_end(c);
    HF_ASSERT(claims_ok(c));
}

void hf_claims_unknown(struct hf_claims *c, enum hf_claim_by by,
                      const struct hf_sending *how)
{
    struct hf_claim_asked asked = c->asked[by];
    bool is_scattered = how->stray != 0 && how->stray != how->stream;

    if (asked.lease_ms == 0)
        return;
    c->asked[by].lease_ms = 0;
    c->step++;
    if (how->stream != 0)
        note_unknown(c, asked.since_ms, asked.lease_ms,
                     is_scattered ? HF_STREAM_MANY : how->stream);
    find_end(c);
    HF_ASSERT(claims_ok(c));
}

void hf_claims_refused(struct hf_claims *c, enum hf_claim_by by)
{
    c->asked[by].lease_ms = 0;
    find_end(c);
    HF_ASSERT(claims_ok(c));
}

/* ---- looks ---- */

void hf_claims_look(struct hf_claims *c)
{
    c->look_step = ++c->step;
}

void hf_claims_looked(struct hf_claims *c, const struct hf_sending *how,
                      int64_t ttl_ms)
{
    struct hf_claim_asked look = {how->sent_ms, hf_min_ms(ttl_ms, c->set_ms),
                                  c->look_step};

    HF_ASSERT(ttl_ms > 0 && c->set_ms > 0);
    prove(c, &look, how);
    find_end(c);
    HF_ASSERT(claims_ok(c));
}
