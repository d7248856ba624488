/* Waiting for a lock. Rules and diagram in wait.h. */
#include "lock/wait.h"

/* A key is gone only in the millisecond after its TTL has come to 0. */
#define EXPIRY_SLACK_MS 1

void hf_wait_init(struct hf_wait *w, int64_t deadline_ms)
{
    w->state = WAIT_IS_QUEUED;
    w->deadline_ms = deadline_ms;
    w->due_ms = deadline_ms;
    w->asked_generation = 0;
    w->asked_live = false;
}

static enum hf_wait_todo ask(struct hf_wait *w, const struct hf_ear *ear)
{
    w->state = WAIT_IS_ASKING;
    w->due_ms = w->deadline_ms;
    w->asked_generation = ear->generation;
    w->asked_live = ear->is_live;
    return WAIT_ASK;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_due(struct hf_wait *w, int64_t now_ms, int64_t pause_ms)
{
    w->due_ms = earlier(now_ms + pause_ms, w->deadline_ms);
}

static bool is_over(struct hf_wait *w, int64_t now_ms)
{
    if (now_ms < w->deadline_ms)
        return false;
    w->state = WAIT_IS_DONE;
    return true;
}

static enum hf_wait_todo refused(struct hf_wait *w, int64_t now_ms,
                                 const struct hf_ear *ear, int64_t ttl_ms,
                                 int64_t cap_ms)
{
    if (!ear->is_live) /* W5 */
        cap_ms = earlier(cap_ms, WAIT_POLL_MS);
    set_due(w, now_ms,
            ttl_ms < 0 || ttl_ms >= cap_ms ? cap_ms
                                           : ttl_ms + EXPIRY_SLACK_MS);
    if (ear->is_refused) {
        w->state = WAIT_IS_SLEEPING;
        return WAIT_SLEEP;
    }
    if (!ear->is_live) {
        w->state = WAIT_IS_SUBSCRIBING;
        return WAIT_SUBSCRIBE;
    }
    if (!w->asked_live || w->asked_generation != ear->generation)
        return ask(w, ear); /* W2, W3 */
    w->state = WAIT_IS_SLEEPING;
    return WAIT_SLEEP;
}

/* As if it were held, for so long. */
static enum hf_wait_todo unanswered(struct hf_wait *w, int64_t now_ms,
                                    const struct hf_ear *ear)
{
    return is_over(w, now_ms) ? WAIT_GIVE_UP
                              : refused(w, now_ms, ear, -1, WAIT_POLL_MS);
}

static enum hf_wait_todo due(struct hf_wait *w, int64_t now_ms,
                             const struct hf_ear *ear)
{
    if (w->state == WAIT_IS_ASKING || w->state == WAIT_IS_DONE)
        return WAIT_NOTHING; /* W6; the answer decides */
    return is_over(w, now_ms) ? WAIT_GIVE_UP : ask(w, ear);
}

enum hf_wait_todo hf_wait_step(struct hf_wait *w, enum hf_wait_event event,
                               int64_t now_ms, const struct hf_ear *ear,
                               int64_t ttl_ms, int64_t cap_ms)
{
    switch (event) {
    case WAIT_REFUSED:
        return refused(w, now_ms, ear, ttl_ms, cap_ms);
    case WAIT_UNANSWERED:
        return unanswered(w, now_ms, ear);
    case WAIT_LIVE:
    case WAIT_DEAF:
        return w->state == WAIT_IS_SUBSCRIBING ? ask(w, ear) : WAIT_NOTHING;
    case WAIT_WOKEN:
        return w->state == WAIT_IS_SLEEPING ? ask(w, ear) : WAIT_NOTHING;
    case WAIT_DUE:
        return due(w, now_ms, ear);
    }
    return WAIT_NOTHING;
}
