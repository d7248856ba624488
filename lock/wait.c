/* Waiting for a lock. Rules and diagram in wait.h. */
#include "lock/wait.h"
#include "lock/moment.h"

/* A key is gone only in the millisecond after its TTL has come to 0. */
#define EXPIRY_SLACK_MS 1
/* Our clock rounds down to a millisecond, so to wait for one at least takes two.
 * Redisson asks 0.7 ms after a release. */
#define START_SLACK_MS 1
/* Of the releases after WAIT_UNUSED_MAX, one in so many gives way. */
#define UNUSED_BEAT 16
/* How often a waiter with a sharded subscription asks, since it may not hear that
 * the key has left its node: far less than a lease, and few commands. */
#define SLOT_LOOK_MS 3000
/* In one call. A server that needs more than half of the lease each time is too
 * slow for that lease. */
#define LATE_GRANTS_MAX 3

void hf_wait_init(struct hf_wait *w, int64_t deadline_ms)
{
    *w = (struct hf_wait){.deadline_ms = deadline_ms};
    hf_wait_requeue(w);
}

void hf_wait_requeue(struct hf_wait *w)
{
    w->state = WAIT_IS_QUEUED;
    w->due_ms = w->deadline_ms;
    w->gives_way = false;
    w->asked_generation = 0;
    w->asked_live = false;
}

static enum hf_wait_todo ask(struct hf_wait *w, const struct hf_ear *ear)
{
    w->state = WAIT_IS_ASKING;
    w->due_ms = w->deadline_ms;
    w->gives_way = false;
    w->asked_generation = ear->generation;
    w->asked_live = ear->is_live;
    return WAIT_ASK;
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

/* ---- whose turn it is ---- */

/* W8. A release that is under way is expected to have as many listeners as the
 * last one. */
static int64_t turn_of_ours(const struct hf_ear *ear, int64_t now_ms)
{
    int64_t turn_ms = now_ms;

    if (ear->owed > 0)
        turn_ms = ear->turn_ms + ear->owed + START_SLACK_MS;
    if (ear->releases > 0 && ear->others > 0)
        turn_ms = later(turn_ms, now_ms + 1 + START_SLACK_MS);
    return turn_ms;
}

/* W9. xorshift: it need not be unpredictable. */
static int64_t moment_in_crowd(struct hf_ear *ear, int64_t now_ms)
{
    ear->dice ^= ear->dice << 13;
    ear->dice ^= ear->dice >> 17;
    ear->dice ^= ear->dice << 5;
    return now_ms + ear->dice % earlier(ear->crowd, WAIT_SPREAD_MS);
}

/* An earlier decision is never postponed (W10). */
static enum hf_wait_todo give_way(struct hf_wait *w, const struct hf_ear *ear,
                                  int64_t until_ms)
{
    w->gives_way = true;
    w->due_ms = earlier(w->due_ms, until_ms);
    if (ear->is_live || ear->is_refused) {
        w->state = WAIT_IS_SLEEPING;
        return WAIT_SLEEP;
    }
    w->state = WAIT_IS_SUBSCRIBING;
    return WAIT_SUBSCRIBE;
}

static enum hf_wait_todo ask_in_turn(struct hf_wait *w, int64_t now_ms,
                                     const struct hf_ear *ear, int64_t turn_ms)
{
    if (turn_ms <= now_ms || turn_ms >= w->deadline_ms)
        return ask(w, ear);
    return give_way(w, ear, turn_ms);
}

/* The lock may be free. In a crowd, the random moment is chosen once. */
static enum hf_wait_todo woken(struct hf_wait *w, int64_t now_ms,
                               struct hf_ear *ear)
{
    int64_t turn_ms = turn_of_ours(ear, now_ms);

    if (w->gives_way && ear->crowd > 0)
        return WAIT_NOTHING;
    if (ear->crowd > 0)
        turn_ms = later(turn_ms, moment_in_crowd(ear, now_ms));
    return ask_in_turn(w, now_ms, ear, turn_ms);
}

/* The first question of a line that begins, or whose first waiter has left. Turns
 * that were owed long ago are forgotten: no client waits for them any more. */
static enum hf_wait_todo begin(struct hf_wait *w, int64_t now_ms,
                               struct hf_ear *ear)
{
    int64_t turn_ms = turn_of_ours(ear, now_ms);

    if (turn_ms <= now_ms)
        ear->owed = 0;
    return ask_in_turn(w, now_ms, ear, turn_ms);
}

/* ---- events ---- */

static enum hf_wait_todo refused(struct hf_wait *w, int64_t now_ms,
                                 struct hf_ear *ear, int64_t ttl_ms,
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
    if (!w->asked_live)
        return ask(w, ear); /* W2 */
    if (w->asked_generation != ear->generation)
        return woken(w, now_ms, ear); /* W3 */
    w->state = WAIT_IS_SLEEPING;
    return WAIT_SLEEP;
}

/* As if the lock were held for WAIT_POLL_MS. */
static enum hf_wait_todo unanswered(struct hf_wait *w, int64_t now_ms,
                                    struct hf_ear *ear)
{
    return is_over(w, now_ms) ? WAIT_GIVE_UP
                              : refused(w, now_ms, ear, -1, WAIT_POLL_MS);
}

/* The server has confirmed or refused the subscription. */
static enum hf_wait_todo settled(struct hf_wait *w, const struct hf_ear *ear)
{
    if (w->state != WAIT_IS_SUBSCRIBING)
        return WAIT_NOTHING;
    return w->gives_way ? give_way(w, ear, w->due_ms) : ask(w, ear);
}

static enum hf_wait_todo due(struct hf_wait *w, int64_t now_ms,
                             struct hf_ear *ear)
{
    if (w->state == WAIT_IS_ASKING || w->state == WAIT_IS_DONE)
        return WAIT_NOTHING; /* W6; the answer decides */
    if (is_over(w, now_ms))
        return WAIT_GIVE_UP;
    if (now_ms >= w->due_ms)
        return ask(w, ear);
    return w->state == WAIT_IS_QUEUED ? begin(w, now_ms, ear)
                                      : woken(w, now_ms, ear); /* W6 */
}

enum hf_wait_todo hf_wait_step(struct hf_wait *w, enum hf_wait_event event,
                               int64_t now_ms, struct hf_ear *ear,
                               int64_t ttl_ms, int64_t cap_ms)
{
    switch (event) {
    case WAIT_REFUSED:
        return refused(w, now_ms, ear, ttl_ms, cap_ms);
    case WAIT_UNANSWERED:
        return unanswered(w, now_ms, ear);
    case WAIT_LIVE:
    case WAIT_DEAF:
        return settled(w, ear);
    case WAIT_WOKEN:
        return w->state == WAIT_IS_SLEEPING ? woken(w, now_ms, ear)
                                            : WAIT_NOTHING;
    case WAIT_DUE:
        return due(w, now_ms, ear);
    }
    return WAIT_NOTHING;
}

/* ---- what the server says, or does not ---- */

/* While a slot is on the move and the key is already at the target, a release
 * publishes there, and a sharded subscription at the source hears nothing. If our
 * own question was sent by ASK, we know that this is so; but the key may also leave
 * while we sleep. */
int64_t hf_wait_cap_ms(int64_t watchdog_ms, bool is_sharded, bool is_by_ask)
{
    int64_t ms = watchdog_ms / 3;

    if (!is_sharded)
        return ms;
    return earlier(ms, is_by_ask ? WAIT_POLL_MS : SLOT_LOOK_MS);
}

void hf_wait_answered(struct hf_wait_answers *answers)
{
    *answers = (struct hf_wait_answers){.has_answered = true};
}

/* The end of the wait came before the question could well be answered: that is no
 * error of the server's. */
static bool was_cut_short(const struct hf_wait *w, int64_t now_ms,
                          hf_status status)
{
    return status != HF_E_SERVER && /* which is an answer */
           now_ms >= w->deadline_ms && now_ms - w->asked_ms < WAIT_POLL_MS / 2;
}

bool hf_wait_failed(const struct hf_wait *w, struct hf_wait_answers *answers,
                    int64_t now_ms, hf_status status)
{
    if (!answers->has_answered)
        return false;
    if (answers->last_error < 0 || !was_cut_short(w, now_ms, status))
        answers->last_error = status;
    return true;
}

hf_status hf_wait_result(const struct hf_wait_answers *answers)
{
    return answers->last_error < 0 ? answers->last_error : HF_TIMEOUT;
}

/* When it asks again, the server sets the whole lease anew, if the lock is still
 * ours or free. With more than half of the lease gone by, the rest may be too
 * short to be of use, or to be renewed in time. */
bool hf_wait_asks_again(struct hf_wait *w, bool waits, int64_t now_ms,
                        int64_t left_ms, int64_t lease_ms)
{
    if (left_ms >= lease_ms / 2)
        return false;
    if (!waits)
        return w->late_grants++ == 0;
    return w->late_grants++ < LATE_GRANTS_MAX && now_ms < w->deadline_ms;
}

/* ---- events of the channel and of our releases ---- */

/* The number in a message of W9; 0: it is another message. */
static uint32_t crowd_in(const char *ptr, size_t len)
{
    uint32_t count = 0;

    if (len == 0 || len > 9) /* more cannot overflow */
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (ptr[i] < '0' || ptr[i] > '9')
            return 0;
        count = count * 10 + (uint32_t)(ptr[i] - '0');
    }
    return count > WAIT_FEW ? count : 0;
}

/* Redisson's releases do not count the listeners, so the last count fades. */
static void fade(struct hf_ear *ear)
{
    if (!ear->is_counted)
        ear->crowd = ear->crowd / 2 > WAIT_FEW ? ear->crowd / 2 : 0;
    ear->is_counted = false;
}

/* A client that takes more turns than we owe does not give way, so it gives us
 * credit: Redisson, when a thread releases and acquires again at once. */
static void turn_passed(struct hf_ear *ear, int64_t now_ms)
{
    ear->turn_ms = now_ms;
    ear->turns++;
    if (ear->owed > 0)
        ear->owed--;
    else if (ear->others > 0 && ear->credit < WAIT_FEW)
        ear->credit++;
}

bool hf_ear_heard(struct hf_ear *ear, int64_t now_ms, const char *ptr,
                  size_t len)
{
    uint32_t crowd = crowd_in(ptr, len);

    if (crowd > 0) {
        ear->crowd = crowd;
        ear->is_counted = true;
        return false;
    }
    ear->generation++;
    fade(ear);
    if (ear->echoes > 0) {
        ear->echoes--;
    } else if (ear->releases > 0) {
        ear->early++;
    } else {
        turn_passed(ear, now_ms);
    }
    return true;
}

void hf_ear_lost(struct hf_ear *ear)
{
    ear->early = ear->echoes = 0;
}

void hf_ear_releases(struct hf_ear *ear)
{
    ear->releases++;
}

/* The message of our release comes before the answer to that release, or after. */
static void expect_echo(struct hf_ear *ear, bool is_heard_by_us)
{
    if (is_heard_by_us && ear->early > 0)
        ear->early--;
    else if (is_heard_by_us)
        ear->echoes++;
    if (ear->releases == 0)
        ear->early = 0; /* of others: before or after our release, unknown */
}

static void owe(struct hf_ear *ear, uint32_t others)
{
    uint32_t spent;

    ear->unused = ear->turns > 0 ? 0 : ear->unused + (others > 0);
    ear->turns = 0;
    ear->others = others;
    ear->owed = (uint32_t)earlier(others, WAIT_FEW);
    spent = (uint32_t)earlier(ear->owed, ear->credit);
    ear->owed -= spent;
    ear->credit -= spent;
    if (ear->unused > WAIT_UNUSED_MAX && ear->unused % UNUSED_BEAT != 0)
        ear->owed = 0;
}

void hf_ear_released(struct hf_ear *ear, int64_t now_ms, int64_t heard,
                     bool is_heard_by_us)
{
    ear->releases--;
    expect_echo(ear, heard > 0 && is_heard_by_us);
    if (heard < 0)
        return;
    ear->turn_ms = now_ms;
    ear->crowd = heard > WAIT_FEW ? (uint32_t)heard : 0;
    ear->is_counted = true;
    owe(ear, (uint32_t)later(heard - is_heard_by_us, 0));
}
