/* The end of a lease. Rules in lease.h. */
#include <string.h>

#include "lock/lease.h"

int64_t hf_lease_drift_ms(int64_t lease_ms)
{
    return lease_ms / 100 + 2;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void hf_lease_init(struct hf_lease *l)
{
    memset(l, 0, sizeof *l);
    l->end_ms = l->proved_ms = INT64_MIN;
}

/* ---- the end ---- */

/* LEASE-2, LEASE-3. */
static void claim(struct hf_lease *l, int64_t since_ms, int64_t lease_ms)
{
    int64_t end = later(since_ms, l->proved_ms) + lease_ms -
                  hf_lease_drift_ms(lease_ms);

    if (lease_ms > 0 && end < l->end_ms) {
        l->end_ms = end;
        l->shortest_ms = lease_ms;
    }
}

static void find_end(struct hf_lease *l)
{
    if (l->answered_ms == 0)
        return; /* never granted: the end stays INT64_MIN */
    l->end_ms = INT64_MAX;
    claim(l, l->proved_ms, l->answered_ms);
    for (int i = 0; i < LEASE_BYS; i++)
        claim(l, l->asked[i].since_ms, l->asked[i].lease_ms);
    for (int i = 0; i < LEASE_UNKNOWNS; i++)
        claim(l, l->unknown[i].since_ms, l->unknown[i].lease_ms);
}

/* ---- claims whose execution nobody knows of ---- */

/* Where a claim of this stream is kept: with a claim of the same stream; else in
 * a free place; else merged with the last one. */
static struct hf_lease_unknown *place_of(struct hf_lease *l, uint64_t stream)
{
    struct hf_lease_unknown *last = &l->unknown[LEASE_UNKNOWNS - 1];

    for (struct hf_lease_unknown *u = l->unknown; u <= last; u++)
        if (u->lease_ms > 0 && u->stream == stream)
            return u;
    for (struct hf_lease_unknown *u = l->unknown; u <= last; u++)
        if (u->lease_ms == 0)
            return u;
    return last;
}

/* Two claims in one place are merged: the earlier start, the shorter lease, and no
 * stream whose answers could end it if the streams differ. */
static void note_unknown(struct hf_lease *l, int64_t since_ms,
                         int64_t lease_ms, uint64_t stream)
{
    struct hf_lease_unknown *u = place_of(l, stream);

    if (u->lease_ms > 0) {
        since_ms = earlier(since_ms, u->since_ms);
        lease_ms = earlier(lease_ms, u->lease_ms);
        if (u->stream != stream)
            stream = HF_STREAM_MANY;
    }
    *u = (struct hf_lease_unknown){since_ms, lease_ms, stream, l->step};
}

/* LEASE-4. */
static void settle(struct hf_lease *l, uint32_t asked_step, uint64_t stream)
{
    for (int i = 0; i < LEASE_UNKNOWNS; i++) {
        struct hf_lease_unknown *u = &l->unknown[i];

        if (u->step < asked_step && u->stream == stream &&
            stream != HF_STREAM_MANY)
            u->lease_ms = 0;
    }
}

/* ---- events ---- */

void hf_lease_ask(struct hf_lease *l, enum hf_lease_by by, int64_t now_ms,
                  int64_t lease_ms)
{
    l->asked[by] = (struct hf_lease_asked){now_ms, lease_ms, ++l->step};
    find_end(l);
}

/* Was the command that was answered last certainly executed before this one,
 * which is answered now? (LEASE-4.) */
static bool outdates(const struct hf_lease *l, const struct hf_lease_asked *asked,
                     uint64_t stream)
{
    return l->answered_step < asked->step || l->answered_stream == stream;
}

static void note_answered(struct hf_lease *l,
                          const struct hf_lease_asked *asked, uint64_t stream)
{
    if (l->answered_ms == 0 || outdates(l, asked, stream)) {
        l->answered_ms = asked->lease_ms;
        l->answered_stream = stream;
    } else {
        l->answered_ms = earlier(l->answered_ms, asked->lease_ms);
        l->answered_stream = HF_STREAM_MANY;
    }
    l->answered_step = l->step;
}

void hf_lease_answered(struct hf_lease *l, enum hf_lease_by by,
                       const struct hf_sending *how)
{
    struct hf_lease_asked asked = l->asked[by];

    if (asked.lease_ms == 0)
        return;
    l->asked[by].lease_ms = 0;
    l->step++;
    l->proved_ms = later(l->proved_ms, how->sent_ms);
    settle(l, asked.step, how->stream);
    note_answered(l, &asked, how->stream);
    if (how->stray != 0 && how->stray != how->stream)
        note_unknown(l, asked.since_ms, asked.lease_ms, how->stray);
    find_end(l);
}

void hf_lease_unknown(struct hf_lease *l, enum hf_lease_by by,
                      const struct hf_sending *how)
{
    struct hf_lease_asked asked = l->asked[by];
    bool is_scattered = how->stray != 0 && how->stray != how->stream;

    if (asked.lease_ms == 0)
        return;
    l->asked[by].lease_ms = 0;
    l->step++;
    if (how->stream != 0)
        note_unknown(l, asked.since_ms, asked.lease_ms,
                     is_scattered ? HF_STREAM_MANY : how->stream);
    find_end(l);
}

void hf_lease_refused(struct hf_lease *l, enum hf_lease_by by)
{
    l->asked[by].lease_ms = 0;
    find_end(l);
}
