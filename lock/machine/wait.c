/* Waiting for a lock. Rules and diagram in wait.h. */
/* Tests: tests/test_lock_wait.c, tests/live/lock/test_lock_wait.c. */
#include "lock/machine/wait.h"

#include "net/base/assert.h"
#include "net/base/moment.h"

/* A key is removed one millisecond after its TTL has reached 0. */
#define EXPIRY_SLACK_MS 1
/* How often a waiter with a sharded subscription sends a request, because it may not be
 * notified that the key has left its node: far less than a lease, and few commands. */
#define MAX_SLEEP_OF_SHARDED_CHANNEL_MS 3000
/* In one call. A server that needs more than half of the lease each time is too
 * slow for that lease. */
#define LATE_GRANTS_MAX 3

static bool wait_ok(const struct hf_wait *w)
{
    if (w->next_spin_sleep_ms < 0 || w->late_grants < 0)
        return false;
    switch (w->state) {
    case WAIT_QUEUED:
    case WAIT_REQUESTING:
        return !w->gives_way;
    case WAIT_SUBSCRIBING: /* WAIT-9 */
        return w->next_spin_sleep_ms == 0 && w->due_ms <= w->deadline_ms;
    case WAIT_SLEEPING: /* WAIT-4, WAIT-8, WAIT-9 */
        return w->due_ms <= w->deadline_ms && w->next_spin_sleep_ms <= WAIT_SPIN_MAX_MS;
    case WAIT_DONE:
        return true;
    }
    return false;
}

/* All that writes the state. */
static enum hf_wait_todo set_wait_state(struct hf_wait *w, enum hf_wait_state state,
                                        enum hf_wait_todo todo)
{
    w->state = state;
    HF_ASSERT(wait_ok(w));
    return todo;
}

void hf_wait_init(struct hf_wait *w, int64_t deadline_ms)
{
    *w = (struct hf_wait){.deadline_ms = deadline_ms};
    hf_wait_requeue(w);
}

void hf_wait_make_spin(struct hf_wait *w)
{
    w->next_spin_sleep_ms = WAIT_SPIN_FIRST_MS;
}

void hf_wait_make_shared(struct hf_wait *w)
{
    w->may_have_several_holders = true;
}

void hf_wait_requeue(struct hf_wait *w)
{
    w->due_ms = w->deadline_ms;
    w->sleep_until_ms = 0;
    w->gives_way = false;
    w->wake_events_when_sent = 0;
    w->was_live_when_sent = false;
    w->has_notification_to_process = false;
    (void)set_wait_state(w, WAIT_QUEUED, DO_NOTHING);
}

bool hf_wait_defer_wake(struct hf_wait *w)
{
    if (w->state == WAIT_SLEEPING)
        w->has_notification_to_process = true;
    return w->has_notification_to_process;
}

void hf_wait_end(struct hf_wait *w)
{
    (void)set_wait_state(w, WAIT_DONE, DO_NOTHING);
}

static enum hf_wait_todo start_request(struct hf_wait *w, struct hf_channel *channel)
{
    channel->has_unused_push = false; /* PUSHED-1 */
    w->was_request_caused_by_push = false;
    w->has_notification_to_process = false;
    w->due_ms = w->deadline_ms;
    w->sleep_until_ms = 0;
    w->gives_way = false;
    w->wake_events_when_sent = channel->wake_events;
    w->was_live_when_sent = channel->is_live;
    return set_wait_state(w, WAIT_REQUESTING, DO_REQUEST);
}

static void set_due_after_pause(struct hf_wait *w, int64_t now_ms, int64_t pause_ms)
{
    w->due_ms = hf_min_ms(now_ms + pause_ms, w->deadline_ms);
}

bool hf_wait_sleeps_if_refused(const struct hf_wait *w, const struct hf_channel *channel)
{
    return channel->is_live || channel->is_refused || w->next_spin_sleep_ms > 0;
}

static bool has_deadline_passed(const struct hf_wait *w, int64_t now_ms)
{
    return now_ms >= w->deadline_ms;
}

/* ---- whose turn it is ---- */

/* An earlier decision is never postponed (WAIT-8). */
static enum hf_wait_todo
wait_for_own_turn(struct hf_wait *w, const struct hf_channel *channel, int64_t until_ms)
{
    w->gives_way = true;
    w->due_ms = hf_min_ms(w->due_ms, until_ms);
    if (hf_wait_sleeps_if_refused(w, channel))
        return set_wait_state(w, WAIT_SLEEPING, DO_SLEEP);
    return set_wait_state(w, WAIT_SUBSCRIBING, DO_SUBSCRIBE);
}

static enum hf_wait_todo request_at_turn(struct hf_wait *w, int64_t now_ms,
                                         struct hf_channel *channel,
                                         int64_t turn_ms)
{
    if (turn_ms <= now_ms || turn_ms >= w->deadline_ms)
        return start_request(w, channel);
    return wait_for_own_turn(w, channel, turn_ms);
}

/* In a crowd the random moment is chosen once for a lock that several may hold, and otherwise
 * at each release. The notification answers a push (WAIT-10). */
static enum hf_wait_todo handle_wake_in_crowd(struct hf_wait *w, int64_t now_ms,
                                              struct hf_channel *channel, int64_t turn_ms)
{
    bool draws_anew = !w->may_have_several_holders && w->sleep_until_ms > 0;
    int64_t at_ms;

    if (w->gives_way && !draws_anew)
        return DO_SLEEP; /* the timer may have been used to wake it */
    at_ms = hf_channel_crowd_ms(channel, now_ms, w->may_have_several_holders, w->deadline_ms);
    if (draws_anew) {
        channel->has_unused_push = false;
        w->due_ms = w->sleep_until_ms;
    }
    return request_at_turn(w, now_ms, channel, hf_max_ms(turn_ms, at_ms));
}

/* The lock may be free. */
static enum hf_wait_todo handle_wake(struct hf_wait *w, int64_t now_ms,
                                     struct hf_channel *channel)
{
    int64_t turn_ms = hf_channel_turn_ms(channel, now_ms);

    w->has_notification_to_process = false;
    return channel->crowd_listeners > 0 ? handle_wake_in_crowd(w, now_ms, channel, turn_ms)
                              : request_at_turn(w, now_ms, channel, turn_ms);
}

/* The first request of a queue that begins, or whose first waiter has left. Turns that
 * were owed long ago are forgotten, because no client waits for them. */
static enum hf_wait_todo request_or_give_way(struct hf_wait *w, int64_t now_ms,
                                             struct hf_channel *channel)
{
    int64_t turn_ms = hf_channel_turn_ms(channel, now_ms);

    if (turn_ms <= now_ms)
        channel->turns_owed = 0;
    return request_at_turn(w, now_ms, channel, turn_ms);
}

/* ---- events ---- */

/* WAIT-10 */
static void bring_due_forward_for_push(struct hf_wait *w, const struct hf_channel *channel)
{
    if (channel->has_unused_push)
        w->due_ms = hf_min_ms(w->due_ms, channel->push_request_from_ms);
}

static enum hf_wait_todo handle_push(struct hf_wait *w, const struct hf_channel *channel)
{
    if (w->state != WAIT_SLEEPING || w->gives_way)
        return DO_NOTHING;
    bring_due_forward_for_push(w, channel);
    return w->has_notification_to_process ? DO_NOTHING : DO_SLEEP;
}

static enum hf_wait_todo handle_refusal(struct hf_wait *w, int64_t now_ms,
                                        struct hf_channel *channel, int64_t ttl_ms,
                                        int64_t cap_ms)
{
    if (w->was_request_caused_by_push)
        hf_channel_push_failed(channel, now_ms);
    w->was_request_caused_by_push = false;
    if (!channel->is_live) /* WAIT-5 */
        cap_ms = hf_min_ms(cap_ms, WAIT_POLL_MS);
    set_due_after_pause(w, now_ms,
                        ttl_ms < 0 || ttl_ms >= cap_ms ? cap_ms : ttl_ms + EXPIRY_SLACK_MS);
    w->sleep_until_ms = w->due_ms;
    HF_ASSERT(w->due_ms <= now_ms + cap_ms); /* WAIT-4 */
    HF_ASSERT(ttl_ms < 0 || w->due_ms - now_ms - ttl_ms <= EXPIRY_SLACK_MS);
    HF_ASSERT(channel->is_live || w->due_ms <= now_ms + WAIT_POLL_MS); /* WAIT-5 */
    if (!hf_wait_sleeps_if_refused(w, channel))
        return set_wait_state(w, WAIT_SUBSCRIBING, DO_SUBSCRIBE);
    bring_due_forward_for_push(w, channel);
    if (!channel->is_live)
        return set_wait_state(w, WAIT_SLEEPING, DO_SLEEP);
    if (!w->was_live_when_sent)
        return start_request(w, channel); /* WAIT-2 */
    if (w->wake_events_when_sent != channel->wake_events)
        return handle_wake(w, now_ms, channel); /* WAIT-3 */
    return set_wait_state(w, WAIT_SLEEPING, DO_SLEEP);
}

/* The longest sleep. WAIT-9 */
static int64_t next_max_sleep_ms(struct hf_wait *w, int64_t cap_ms)
{
    int64_t spin_ms = w->next_spin_sleep_ms;

    if (spin_ms == 0)
        return cap_ms;
    w->next_spin_sleep_ms = hf_min_ms(2 * spin_ms, WAIT_SPIN_MAX_MS);
    return hf_min_ms(spin_ms, cap_ms);
}

/* Continues as if the lock were held for WAIT_POLL_MS. */
static enum hf_wait_todo handle_no_reply(struct hf_wait *w, int64_t now_ms,
                                         struct hf_channel *channel)
{
    return has_deadline_passed(w, now_ms) ? set_wait_state(w, WAIT_DONE, DO_GIVE_UP)
                              : handle_refusal(w, now_ms, channel, -1, WAIT_POLL_MS);
}

/* The server has confirmed or refused the subscription. */
static enum hf_wait_todo handle_subscription_result(struct hf_wait *w, struct hf_channel *channel)
{
    if (w->state != WAIT_SUBSCRIBING)
        return DO_NOTHING;
    return w->gives_way ? wait_for_own_turn(w, channel, w->due_ms) : start_request(w, channel);
}

static enum hf_wait_todo start_request_when_due(struct hf_wait *w, int64_t now_ms,
                                                struct hf_channel *channel)
{
    bool is_by_push = hf_channel_use_push(channel, now_ms);
    enum hf_wait_todo todo = start_request(w, channel);

    w->was_request_caused_by_push = is_by_push;
    return todo;
}

static enum hf_wait_todo handle_due(struct hf_wait *w, int64_t now_ms,
                                    struct hf_channel *channel)
{
    if (w->state == WAIT_REQUESTING || w->state == WAIT_DONE)
        return DO_NOTHING; /* WAIT-6; the answer decides */
    if (has_deadline_passed(w, now_ms))
        return set_wait_state(w, WAIT_DONE, DO_GIVE_UP);
    if (now_ms >= w->due_ms)
        return start_request_when_due(w, now_ms, channel);
    return w->state == WAIT_QUEUED ? request_or_give_way(w, now_ms, channel)
                                 : handle_wake(w, now_ms, channel); /* WAIT-6 */
}

/* WAIT-2, WAIT-3, WAIT-5: a waiter that may have missed a notification since its last request
 * sleeps only if it polls or gives way. */
static bool may_sleep(const struct hf_wait *w, const struct hf_channel *channel)
{
    return w->state != WAIT_SLEEPING || w->gives_way || w->next_spin_sleep_ms > 0 ||
           channel->is_refused ||
           (channel->is_live && w->was_live_when_sent &&
            w->wake_events_when_sent == channel->wake_events);
}

static enum hf_wait_todo handle_event(struct hf_wait *w, enum hf_wait_event event, int64_t now_ms,
                                      struct hf_channel *channel, int64_t ttl_ms, int64_t cap_ms)
{
    switch (event) {
    case EVENT_REFUSED:
        return handle_refusal(w, now_ms, channel, ttl_ms, next_max_sleep_ms(w, cap_ms));
    case EVENT_UNANSWERED:
        return handle_no_reply(w, now_ms, channel);
    case EVENT_SUBSCRIBED:
    case EVENT_NOT_SUBSCRIBED:
        return handle_subscription_result(w, channel);
    case EVENT_WOKEN:
        return w->state == WAIT_SLEEPING ? handle_wake(w, now_ms, channel) : DO_NOTHING;
    case EVENT_DUE:
        return handle_due(w, now_ms, channel);
    case EVENT_PUSHED:
        return handle_push(w, channel);
    }
    return DO_NOTHING;
}

/* Why a request follows, if one does. */
static enum hf_wake wake_cause_of_event(const struct hf_wait *w, enum hf_wait_event event,
                                        int64_t now_ms)
{
    switch (event) {
    case EVENT_REFUSED:
    case EVENT_UNANSWERED: /* WAIT-2, WAIT-3 */
        return w->was_live_when_sent ? WAKE_NOTIFICATION : WAKE_SUBSCRIPTION;
    case EVENT_SUBSCRIBED:
    case EVENT_NOT_SUBSCRIBED:
        return WAKE_SUBSCRIPTION;
    case EVENT_WOKEN:
        return WAKE_NOTIFICATION;
    case EVENT_DUE:
        if (w->state == WAIT_QUEUED || w->has_notification_to_process)
            return w->has_notification_to_process ? WAKE_NOTIFICATION : WAKE_NONE;
        return w->gives_way || now_ms < w->due_ms ? WAKE_TURN : WAKE_TIMER;
    case EVENT_PUSHED:
        break;
    }
    return WAKE_PUSH;
}

enum hf_wait_todo hf_wait_step(struct hf_wait *w, enum hf_wait_event event,
                               int64_t now_ms, struct hf_channel *channel,
                               int64_t ttl_ms, int64_t cap_ms)
{
    enum hf_wait_state was = w->state;
    enum hf_wake wake = wake_cause_of_event(w, event, now_ms);
    enum hf_wait_todo todo;

    HF_ASSERT(wait_ok(w));
    HF_ASSERT(event != EVENT_REFUSED || cap_ms > 0);
    todo = handle_event(w, event, now_ms, channel, ttl_ms, cap_ms);
    if (todo == DO_REQUEST)
        w->wake_cause = w->was_request_caused_by_push ? WAKE_PUSH : wake;
    HF_ASSERT(event > EVENT_UNANSWERED || may_sleep(w, channel));
    HF_ASSERT((event != EVENT_SUBSCRIBED && event != EVENT_NOT_SUBSCRIBED) ||
              w->state != WAIT_SUBSCRIBING); /* WAIT-2 */
    HF_ASSERT((todo == DO_REQUEST) <= (w->state == WAIT_REQUESTING));
    HF_ASSERT((todo == DO_GIVE_UP) <= (w->state == WAIT_DONE && now_ms >= w->deadline_ms));
    HF_ASSERT(was != WAIT_DONE || w->state == WAIT_DONE);
    HF_ASSERT(was != WAIT_REQUESTING || event != EVENT_DUE || todo == DO_NOTHING); /* WAIT-6 */
    HF_ASSERT(event != EVENT_REFUSED || w->state != WAIT_SLEEPING || w->next_spin_sleep_ms == 0 ||
              w->due_ms <= now_ms + WAIT_SPIN_MAX_MS); /* WAIT-9 */
    return todo;
}

/* ---- what the server says, or does not ---- */

/* While a slot moves and the key is already at the target, a release publishes there,
 * and a sharded subscription at the source receives nothing. If the last request was
 * redirected by ASK, this is known to be so; but the key may also move while the waiter
 * sleeps. */
int64_t hf_wait_max_sleep_ms(int64_t watchdog_ms, bool is_sharded, bool is_by_ask)
{
    int64_t ms = watchdog_ms / 3;

    if (!is_sharded)
        return ms;
    return hf_min_ms(ms, is_by_ask ? WAIT_POLL_MS : MAX_SLEEP_OF_SHARDED_CHANNEL_MS);
}

void hf_wait_answered(struct hf_wait_answers *answers)
{
    *answers = (struct hf_wait_answers){.has_answered = true};
}

/* The wait ended before the server had time to reply: this is not an error of the
 * server. */
static bool had_no_time_for_reply(const struct hf_wait *w, int64_t now_ms,
                                  hf_status status)
{
    return status != HF_E_SERVER && /* which is an answer */
           now_ms >= w->deadline_ms && now_ms - w->last_request_ms < WAIT_POLL_MS / 2;
}

bool hf_wait_failed(const struct hf_wait *w, struct hf_wait_answers *answers,
                    int64_t now_ms, hf_status status)
{
    if (!answers->has_answered)
        return false;
    if (answers->last_error < 0 || !had_no_time_for_reply(w, now_ms, status))
        answers->last_error = status;
    return true;
}

hf_status hf_wait_result(const struct hf_wait_answers *answers)
{
    return answers->last_error < 0 ? answers->last_error : HF_TIMEOUT;
}

/* Another request sets the whole lease again, if the lock is still ours or free. If
 * more than half of the lease has passed, the rest may be too short to be used, or to
 * be renewed in time. */
bool hf_wait_retries_grant(struct hf_wait *w, bool waits, int64_t now_ms,
                           int64_t left_ms, int64_t lease_ms)
{
    if (left_ms >= lease_ms / 2)
        return false;
    if (!waits)
        return w->late_grants++ == 0;
    return w->late_grants++ < LATE_GRANTS_MAX && now_ms < w->deadline_ms;
}
