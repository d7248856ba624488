/* The rules of waiting, WAIT-1 to WAIT-9, told events and the time. (WAIT-1, the line, is
 * the edge's: tests/live/lock/test_lock_wait.c.) */
#include <check.h>
#include <string.h>

#include "lock/machine/wait.h"
#include "tests/support/dice.h"
#include "tests/support/promise.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

#define NOW INT64_C(1000000)
#define DEADLINE (NOW + 50000)
#define TTL 7000
#define CAP 30000

/* ---- one event ---- */

enum channel { NOT_YET, LIVE, LIVE_MOVED, MOVED, REFUSED };

static struct hf_channel channel_of(enum channel e)
{
    return (struct hf_channel){.is_live = e == LIVE || e == LIVE_MOVED,
                           .is_refused = e == REFUSED,
                           .wake_events = e == LIVE_MOVED || e == MOVED ? 8 : 7};
}

/* Asked at generation 7. */
static struct hf_wait wait_in(int state, bool sent_live)
{
    struct hf_wait w;

    hf_wait_init(&w, DEADLINE);
    w.state = (enum hf_wait_state)state;
    w.wake_events_when_sent = 7;
    w.was_live_when_sent = sent_live;
    return w;
}

#define QUEUED WAIT_QUEUED
#define ASKING WAIT_REQUESTING
#define SUBSCRIBING WAIT_SUBSCRIBING
#define SLEEPING WAIT_SLEEPING
#define DONE WAIT_DONE

static const struct {
    const char *why;
    int before;
    bool sent_live;
    enum hf_wait_event event;
    enum channel channel;
    int64_t now_ms;
    enum hf_wait_todo todo;
    int after;
} arrows[] = {
    {"its turn", QUEUED, 0, EVENT_DUE, NOT_YET, NOW, DO_REQUEST, ASKING},
    {"WAIT-1: only the first is woken", QUEUED, 0, EVENT_WOKEN, LIVE, NOW,
     DO_NOTHING, QUEUED},
    {"WAIT-1", QUEUED, 0, EVENT_SUBSCRIBED, LIVE, NOW, DO_NOTHING, QUEUED},
    {"WAIT-1", QUEUED, 0, EVENT_NOT_SUBSCRIBED, REFUSED, NOW, DO_NOTHING,
     QUEUED},
    {"too late", QUEUED, 0, EVENT_DUE, NOT_YET, DEADLINE, DO_GIVE_UP, DONE},

    {"WAIT-2: no subscription yet", ASKING, 0, EVENT_REFUSED, NOT_YET, NOW,
     DO_SUBSCRIBE, SUBSCRIBING},
    {"WAIT-2: the subscription was not live when it asked", ASKING, 0,
     EVENT_REFUSED, LIVE, NOW, DO_REQUEST, ASKING},
    {"WAIT-2: asked behind the subscription", ASKING, 1, EVENT_REFUSED, LIVE,
     NOW, DO_SLEEP, SLEEPING},
    {"WAIT-2: the subscription was lost meanwhile", ASKING, 1, EVENT_REFUSED,
     NOT_YET, NOW, DO_SUBSCRIBE, SUBSCRIBING},
    {"WAIT-3: a message while asking", ASKING, 1, EVENT_REFUSED, LIVE_MOVED,
     NOW, DO_REQUEST, ASKING},
    {"WAIT-3: a loss while asking", ASKING, 1, EVENT_REFUSED, MOVED, NOW,
     DO_SUBSCRIBE, SUBSCRIBING},
    {"WAIT-5: no messages", ASKING, 0, EVENT_REFUSED, REFUSED, NOW, DO_SLEEP,
     SLEEPING},
    {"WAIT-7: until it is heard again", ASKING, 1, EVENT_UNANSWERED, NOT_YET,
     NOW, DO_SUBSCRIBE, SUBSCRIBING},
    {"WAIT-7: and there was news meanwhile", ASKING, 1, EVENT_UNANSWERED,
     LIVE_MOVED, NOW, DO_REQUEST, ASKING},
    {"WAIT-7: silent, and still connected", ASKING, 1, EVENT_UNANSWERED, LIVE,
     NOW, DO_SLEEP, SLEEPING},
    {"WAIT-7: by the clock as ever", ASKING, 1, EVENT_UNANSWERED, REFUSED, NOW,
     DO_SLEEP, SLEEPING},
    {"too late", ASKING, 1, EVENT_UNANSWERED, LIVE, DEADLINE, DO_GIVE_UP, DONE},
    {"WAIT-3: the answer will show it", ASKING, 1, EVENT_WOKEN, LIVE_MOVED, NOW,
     DO_NOTHING, ASKING},
    {"", ASKING, 0, EVENT_SUBSCRIBED, LIVE, NOW, DO_NOTHING, ASKING},
    {"", ASKING, 0, EVENT_NOT_SUBSCRIBED, REFUSED, NOW, DO_NOTHING, ASKING},
    {"", ASKING, 1, EVENT_DUE, LIVE, NOW, DO_NOTHING, ASKING},
    {"the answer decides", ASKING, 1, EVENT_DUE, LIVE, DEADLINE, DO_NOTHING,
     ASKING},

    {"WAIT-2: confirmed", SUBSCRIBING, 0, EVENT_SUBSCRIBED, LIVE, NOW, DO_REQUEST,
     ASKING},
    {"WAIT-5: once more, then by the clock", SUBSCRIBING, 0,
     EVENT_NOT_SUBSCRIBED, REFUSED, NOW, DO_REQUEST, ASKING},
    {"WAIT-4: the TTL has ended first", SUBSCRIBING, 0, EVENT_DUE, NOT_YET, NOW,
     DO_REQUEST, ASKING},
    {"WAIT-2: not asleep yet", SUBSCRIBING, 0, EVENT_WOKEN, NOT_YET, NOW,
     DO_NOTHING, SUBSCRIBING},
    {"too late", SUBSCRIBING, 0, EVENT_DUE, NOT_YET, DEADLINE, DO_GIVE_UP,
     DONE},

    {"a message", SLEEPING, 1, EVENT_WOKEN, LIVE_MOVED, NOW, DO_REQUEST, ASKING},
    {"the subscription was lost", SLEEPING, 1, EVENT_WOKEN, MOVED, NOW, DO_REQUEST,
     ASKING},
    {"WAIT-4: the TTL has ended", SLEEPING, 1, EVENT_DUE, LIVE, NOW, DO_REQUEST,
     ASKING},
    {"it has asked behind it", SLEEPING, 1, EVENT_SUBSCRIBED, LIVE, NOW,
     DO_NOTHING, SLEEPING},
    {"it looks by the clock", SLEEPING, 1, EVENT_NOT_SUBSCRIBED, REFUSED, NOW,
     DO_NOTHING, SLEEPING},
    {"too late", SLEEPING, 1, EVENT_DUE, LIVE, DEADLINE, DO_GIVE_UP, DONE},
    {"too late", SLEEPING, 1, EVENT_DUE, LIVE, DEADLINE + 9, DO_GIVE_UP, DONE},

    {"", DONE, 1, EVENT_WOKEN, LIVE_MOVED, NOW, DO_NOTHING, DONE},
    {"", DONE, 1, EVENT_SUBSCRIBED, LIVE, NOW, DO_NOTHING, DONE},
    {"", DONE, 1, EVENT_NOT_SUBSCRIBED, REFUSED, NOW, DO_NOTHING, DONE},
    {"", DONE, 1, EVENT_DUE, LIVE, NOW, DO_NOTHING, DONE},

    {"WAIT-1", QUEUED, 0, EVENT_PUSHED, LIVE, NOW, DO_NOTHING, QUEUED},
    {"WAIT-10: the answer decides", ASKING, 1, EVENT_PUSHED, LIVE, NOW, DO_NOTHING, ASKING},
    {"WAIT-10: a request follows the confirmation", SUBSCRIBING, 0, EVENT_PUSHED, NOT_YET,
     NOW, DO_NOTHING, SUBSCRIBING},
    {"WAIT-10: no request is sent by the push itself", SLEEPING, 1, EVENT_PUSHED, LIVE, NOW,
     DO_SLEEP, SLEEPING},
    {"", DONE, 1, EVENT_PUSHED, LIVE, NOW, DO_NOTHING, DONE},
};

START_TEST(each_event_moves_a_wait_by_one_arrow)
{
    struct hf_wait w = wait_in(arrows[_i].before, arrows[_i].sent_live);
    struct hf_channel channel = channel_of(arrows[_i].channel);

    ck_assert_msg(hf_wait_step(&w, arrows[_i].event, arrows[_i].now_ms, &channel,
                               TTL, CAP) == arrows[_i].todo,
                  "row %d: %s: what to do", _i, arrows[_i].why);
    ck_assert_msg((int)w.state == arrows[_i].after, "row %d: %s: where to", _i,
                  arrows[_i].why);
}
END_TEST

/* ---- why a request is sent: for the metrics ---- */

static const struct {
    enum hf_wake wake;
    int before;
    bool sent_live;
    enum hf_wait_event event;
    enum channel channel;
    int64_t due_ms;
    bool gives_way, is_waking, is_pushed;
} wakes[] = {
    {WAKE_NONE, QUEUED, 0, EVENT_DUE, NOT_YET, DEADLINE, 0, 0, 0},
    {WAKE_SUBSCRIPTION, ASKING, 0, EVENT_REFUSED, LIVE, DEADLINE, 0, 0, 0},
    {WAKE_NOTIFICATION, ASKING, 1, EVENT_REFUSED, LIVE_MOVED, DEADLINE, 0, 0, 0},
    {WAKE_NOTIFICATION, ASKING, 1, EVENT_UNANSWERED, LIVE_MOVED, DEADLINE, 0, 0, 0},
    {WAKE_SUBSCRIPTION, SUBSCRIBING, 0, EVENT_SUBSCRIBED, LIVE, DEADLINE, 0, 0, 0},
    {WAKE_SUBSCRIPTION, SUBSCRIBING, 0, EVENT_NOT_SUBSCRIBED, REFUSED, DEADLINE, 0, 0, 0},
    {WAKE_TIMER, SUBSCRIBING, 0, EVENT_DUE, NOT_YET, NOW, 0, 0, 0},
    {WAKE_NOTIFICATION, SLEEPING, 1, EVENT_WOKEN, LIVE_MOVED, DEADLINE, 0, 0, 0},
    {WAKE_TIMER, SLEEPING, 1, EVENT_DUE, LIVE, NOW, 0, 0, 0},
    {WAKE_TURN, SLEEPING, 1, EVENT_DUE, LIVE, NOW, 1, 0, 0},
    {WAKE_TURN, SLEEPING, 1, EVENT_DUE, LIVE, NOW + 1, 0, 0, 0},
    {WAKE_NOTIFICATION, SLEEPING, 1, EVENT_DUE, LIVE, NOW + 1, 0, 1, 0},
    {WAKE_PUSH, SLEEPING, 1, EVENT_DUE, LIVE, NOW, 0, 0, 1},
};

START_TEST(each_request_has_its_cause)
{
    struct hf_wait w = wait_in(wakes[_i].before, wakes[_i].sent_live);
    struct hf_channel channel = channel_of(wakes[_i].channel);

    w.due_ms = wakes[_i].due_ms;
    w.gives_way = wakes[_i].gives_way;
    w.has_notification_to_process = wakes[_i].is_waking;
    w.wake_cause = WAKE_COUNT;
    if (wakes[_i].is_pushed)
        hf_channel_pushed(&channel, NOW, false);
    ck_assert_int_eq(hf_wait_step(&w, wakes[_i].event, NOW, &channel, TTL, CAP), DO_REQUEST);
    ck_assert_int_eq(w.wake_cause, wakes[_i].wake);
}
END_TEST

/* ---- how long to sleep: WAIT-4, WAIT-5 ---- */

static const struct {
    const char *why;
    enum channel channel;
    int64_t ttl_ms, deadline_ms, due_ms;
} naps[] = {
    {"the TTL and the moment after", LIVE, TTL, DEADLINE, NOW + TTL + 1},
    {"gone already", LIVE, 0, DEADLINE, NOW + 1},
    {"without a TTL: the cap", LIVE, -1, DEADLINE, NOW + CAP},
    {"a longer TTL: the cap", LIVE, 3600000, DEADLINE, NOW + CAP},
    {"the deadline is sooner", LIVE, TTL, NOW + 10, NOW + 10},
    {"the deadline has passed", LIVE, TTL, NOW - 5, NOW - 5},
    {"no deadline", LIVE, 3600000, INT64_MAX, NOW + CAP},
    {"unheard: each second", REFUSED, TTL, DEADLINE, NOW + WAIT_POLL_MS},
    {"unheard, but it ends sooner", REFUSED, 300, DEADLINE, NOW + 301},
    {"unheard, no TTL", REFUSED, -1, DEADLINE, NOW + WAIT_POLL_MS},
    {"unheard, deadline", REFUSED, TTL, NOW + 10, NOW + 10},
    {"while subscribing too", NOT_YET, TTL, DEADLINE, NOW + WAIT_POLL_MS},
};

START_TEST(wait_4_sleep_ends_with_the_ttl_the_cap_or_the_deadline)
{
    struct hf_wait w = wait_in(ASKING, true);
    struct hf_channel channel = channel_of(naps[_i].channel);

    w.deadline_ms = naps[_i].deadline_ms;
    (void)hf_wait_step(&w, EVENT_REFUSED, NOW, &channel, naps[_i].ttl_ms, CAP);
    ck_assert_msg(w.due_ms == naps[_i].due_ms, "%s: until %lld", naps[_i].why,
                  (long long)(w.due_ms - NOW));
}
END_TEST

START_TEST(a_wait_in_the_queue_is_due_at_its_deadline_only)
{
    struct hf_wait w;

    hf_wait_init(&w, DEADLINE);
    ck_assert_int_eq(w.state, QUEUED);
    ck_assert_int_eq(w.due_ms, DEADLINE);
    hf_wait_init(&w, INT64_MAX);
    ck_assert_int_eq(w.due_ms, INT64_MAX);
}
END_TEST

/* ---- random events ---- */

static void check_sleep(const struct hf_wait *w, const struct hf_channel *channel)
{
    if (w->state != SLEEPING)
        return;
    ck_must(channel->is_refused || w->gives_way ||
                (channel->is_live && w->was_live_when_sent &&
                 w->wake_events_when_sent == channel->wake_events),
            "WAIT-2, WAIT-3: nobody falls asleep unheard, or with news unread");
    ck_must(w->due_ms <= w->deadline_ms,
            "WAIT-4: no sleep beyond the deadline");
}

START_TEST(random_events_keep_the_rules)
{
    dice_seed = DICE_SEED + (uint64_t)_i;
    for (int life = 0; life < 20000; life++) {
        struct hf_channel channel = {0};
        struct hf_wait w;
        int64_t now = NOW;

        hf_wait_init(&w, dice(3) ? NOW + (int64_t)dice(100000) : INT64_MAX);
        for (int i = 0; i < 60; i++) {
            enum hf_wait_event event = (enum hf_wait_event)dice(7);
            enum hf_wait_todo todo;

            if ((event == EVENT_REFUSED || event == EVENT_UNANSWERED) !=
                (w.state == ASKING))
                continue; /* one answer to one question */
            if (event == EVENT_DUE && w.due_ms != INT64_MAX && dice(2))
                now = w.due_ms > now ? w.due_ms : now;
            if (event == EVENT_SUBSCRIBED || event == EVENT_NOT_SUBSCRIBED) {
                channel.is_live = event == EVENT_SUBSCRIBED;
                channel.is_refused = event == EVENT_NOT_SUBSCRIBED;
                channel.wake_events++;
            }
            if (event == EVENT_WOKEN)
                channel.wake_events++;
            if (event == EVENT_PUSHED)
                hf_channel_pushed(&channel, now, false);
            todo = hf_wait_step(&w, event, now, &channel,
                                (int64_t)dice(40000) - 1, CAP);
            ck_must(w.state != DONE || todo == DO_GIVE_UP || i > 0,
                    "only the deadline ends it");
            ck_must((todo == DO_REQUEST) <= (w.state == ASKING),
                    "asking is a state");
            ck_must(todo != DO_GIVE_UP || now >= w.deadline_ms,
                    "nobody gives up early");
            if (todo == DO_SLEEP && event != EVENT_PUSHED) /* which does not begin it */
                check_sleep(&w, &channel);
            now += (int64_t)dice(500);
        }
    }
}
END_TEST

/* ---- pushes: WAIT-10, PUSHED-1 to PUSHED-3 ---- */

static struct hf_wait asleep(struct hf_channel *channel)
{
    struct hf_wait w = wait_in(ASKING, true);

    *channel = channel_of(LIVE);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_REFUSED, NOW, channel, TTL, CAP), DO_SLEEP);
    return w;
}

static void push(struct hf_wait *w, struct hf_channel *channel, int64_t now_ms)
{
    hf_channel_pushed(channel, now_ms, false);
    (void)hf_wait_step(w, EVENT_PUSHED, now_ms, channel, 0, 0);
}

/* The request that a push causes, at this time and not before, is refused. */
static void ck_assert_request_at(struct hf_wait *w, struct hf_channel *channel, int64_t at_ms)
{
    ck_assert_int_eq(w->due_ms, at_ms);
    ck_assert_int_eq(hf_wait_step(w, EVENT_DUE, at_ms, channel, 0, 0), DO_REQUEST);
    ck_assert(w->was_request_caused_by_push);
    ck_assert_int_eq(hf_wait_step(w, EVENT_REFUSED, at_ms, channel, TTL, CAP), DO_SLEEP);
    ck_assert(!w->was_request_caused_by_push);
    ck_assert_int_eq(w->due_ms, at_ms + TTL + 1);
}

/* PUSHED-1, WAIT-10 */
START_TEST(pushed_1_pushes_before_a_request_are_one)
{
    struct hf_channel channel;
    struct hf_wait w = asleep(&channel);

    push(&w, &channel, NOW + 5);
    push(&w, &channel, NOW + 5);
    ck_assert_request_at(&w, &channel, NOW + 5);
}
END_TEST

/* PUSHED-1: a request for another reason, here a message that was read with the push. */
START_TEST(pushed_1_request_for_another_reason_answers_a_push)
{
    struct hf_channel channel;
    struct hf_wait w = asleep(&channel);

    push(&w, &channel, NOW + 5);
    (void)hf_channel_notified(&channel, NOW + 5, "0", 1);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_WOKEN, NOW + 5, &channel, 0, 0), DO_REQUEST);
    ck_assert(!w.was_request_caused_by_push);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_REFUSED, NOW + 6, &channel, TTL, CAP), DO_SLEEP);
    ck_assert_int_eq(w.due_ms, NOW + 6 + TTL + 1);
    push(&w, &channel, NOW + 7); /* and there is no pause after it */
    ck_assert_request_at(&w, &channel, NOW + 7);
}
END_TEST

/* PUSHED-2 */
START_TEST(pushed_2_pauses_grow_while_pushes_follow_each_other)
{
    struct hf_channel channel;
    struct hf_wait w = asleep(&channel);
    int64_t at_ms = NOW, pause_ms = PUSH_PAUSE_MS;

    push(&w, &channel, at_ms);
    ck_assert_request_at(&w, &channel, at_ms);
    for (int i = 0; i < 8; i++) {
        push(&w, &channel, at_ms + 1);
        ck_assert_request_at(&w, &channel, at_ms + pause_ms);
        at_ms += pause_ms;
        pause_ms = 2 * pause_ms < PUSH_PAUSE_MAX_MS ? 2 * pause_ms : PUSH_PAUSE_MAX_MS;
    }
    at_ms += 2 * PUSH_PAUSE_MAX_MS; /* a push after a pause is heeded at once */
    push(&w, &channel, at_ms);
    ck_assert_request_at(&w, &channel, at_ms);
    push(&w, &channel, at_ms + 1);
    ck_assert_request_at(&w, &channel, at_ms + PUSH_PAUSE_MS);
}
END_TEST

/* PUSHED-2: a request that was granted was not in vain. */
START_TEST(pushed_2_no_pause_follows_a_grant)
{
    struct hf_channel channel;
    struct hf_wait w = asleep(&channel), next = wait_in(SLEEPING, true);

    push(&w, &channel, NOW);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, NOW, &channel, 0, 0), DO_REQUEST);
    hf_wait_end(&w);
    push(&next, &channel, NOW + 1);
    ck_assert_request_at(&next, &channel, NOW + 1);
}
END_TEST

/* WAIT-10, PUSHED-2: a push during a request that another push caused. */
START_TEST(pushed_2_push_during_a_request_waits_for_the_pause)
{
    struct hf_channel channel;
    struct hf_wait w = asleep(&channel);

    push(&w, &channel, NOW);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, NOW, &channel, 0, 0), DO_REQUEST);
    push(&w, &channel, NOW + 1);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_REFUSED, NOW + 2, &channel, TTL, CAP), DO_SLEEP);
    ck_assert_request_at(&w, &channel, NOW + 2 + PUSH_PAUSE_MS);
}
END_TEST

/* WAIT-10: it may concern a change after the request was executed. */
START_TEST(wait_10_push_during_a_request_counts)
{
    struct hf_channel channel = channel_of(LIVE);
    struct hf_wait w = wait_in(ASKING, true);

    push(&w, &channel, NOW);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_REFUSED, NOW + 3, &channel, TTL, CAP), DO_SLEEP);
    ck_assert_request_at(&w, &channel, NOW);
}
END_TEST

/* WAIT-10: TTL and deadline end it as before. */
START_TEST(wait_10_push_never_makes_a_sleep_longer)
{
    struct hf_channel channel;
    struct hf_wait w = asleep(&channel);

    channel.push_ignored_until_ms = NOW + TTL + 500;
    channel.push_pause_ms = PUSH_PAUSE_MAX_MS;
    push(&w, &channel, NOW + 1);
    ck_assert_int_eq(w.due_ms, NOW + TTL + 1);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, w.due_ms, &channel, 0, 0), DO_REQUEST);
    ck_assert(!w.was_request_caused_by_push);
}
END_TEST

/* PUSHED-3: as a message, it waits for the turn of this client. */
START_TEST(pushed_3_push_does_not_overtake_others)
{
    struct hf_channel channel;
    struct hf_wait w = asleep(&channel);

    channel.other_listeners = channel.turns_owed = 3;
    channel.last_release_ms = NOW;
    push(&w, &channel, NOW + 1);
    ck_assert_request_at(&w, &channel, NOW + 4);
}
END_TEST

/* PUSHED-4 */
static const struct {
    uint32_t listeners;
    bool is_shared;
    int64_t spread_ms;
} push_crowds[] = {
    {0, false, 1}, {FEW_LISTENERS_MAX, false, 1}, {FEW_LISTENERS_MAX + 1, false, FEW_LISTENERS_MAX},
    {500, false, FEW_LISTENERS_MAX}, {FEW_LISTENERS_MAX, true, 1}, {500, true, 500},
    {5000, true, CROWD_SPREAD_MS},
};

START_TEST(pushed_4_requests_of_a_crowd_are_spread)
{
    int64_t spread_ms = push_crowds[_i].spread_ms, first = NOW + 1000, last = NOW;

    for (uint32_t i = 1; i <= 200; i++) {
        struct hf_channel channel;
        struct hf_wait w = asleep(&channel);

        channel.waiting_listeners = push_crowds[_i].listeners;
        channel.random_state = i * 2654435761u;
        hf_channel_pushed(&channel, NOW, push_crowds[_i].is_shared);
        (void)hf_wait_step(&w, EVENT_PUSHED, NOW, &channel, 0, 0);
        ck_assert_int_lt(w.due_ms, NOW + spread_ms);
        first = w.due_ms < first ? w.due_ms : first;
        last = w.due_ms > last ? w.due_ms : last;
    }
    ck_assert_int_ge(last - first, (spread_ms - 1) * 4 / 5);
}
END_TEST

/* PUSHED-4: about FEW_LISTENERS_MAX of any crowd, and a greater crowd has no other ones. */
START_TEST(pushed_4_few_of_a_crowd_are_tracked)
{
    static const uint32_t crowds[] = {FEW_LISTENERS_MAX, 100, 1000, 50000};

    for (int k = 0; k < COUNT(crowds); k++) {
        uint32_t scouts = 0;

        dice_seed = DICE_SEED;
        for (uint32_t i = 0; i < crowds[k]; i++) {
            struct hf_channel channel = {.lottery_number = (uint32_t)dice(UINT32_MAX),
                                         .waiting_listeners = crowds[k]};

            scouts += hf_channel_tracks_acquires(&channel, false);
            ck_assert(hf_channel_tracks_acquires(&channel, true));
            channel.waiting_listeners /= 2;
            ck_assert(hf_channel_tracks_acquires(&channel, false) || k > 0);
        }
        ck_assert_uint_ge(scouts, FEW_LISTENERS_MAX / 4);
        ck_assert_uint_le(scouts, 3 * FEW_LISTENERS_MAX);
    }
}
END_TEST

/* PUSHED-4: the crowd has left. */
START_TEST(pushed_4_all_of_few_are_tracked)
{
    struct hf_channel channel = {.lottery_number = UINT32_MAX,
                                 .waiting_listeners = FEW_LISTENERS_MAX + 1};

    ck_assert(!hf_channel_tracks_acquires(&channel, false));
    hf_channel_listeners_counted(&channel, NOW, FEW_LISTENERS_MAX, -1);
    ck_assert(hf_channel_tracks_acquires(&channel, false));
}
END_TEST

/* PUSHED-5 */
START_TEST(pushed_5_listeners_are_counted_now_and_then)
{
    struct hf_channel channel = {.random_state = 1};

    ck_assert(hf_channel_must_count_listeners(&channel, NOW));
    hf_channel_listeners_counted(&channel, NOW, 40, -1);
    ck_assert_uint_eq(channel.waiting_listeners, 40);
    ck_assert(!hf_channel_must_count_listeners(&channel, NOW + LISTENERS_RECOUNT_MS - 1));
    ck_assert(hf_channel_must_count_listeners(&channel, NOW + LISTENERS_RECOUNT_MS));
    (void)hf_channel_notified(&channel, NOW + LISTENERS_RECOUNT_MS, "30", 2);
    ck_assert_uint_eq(channel.waiting_listeners, 30);
    ck_assert(hf_channel_must_count_listeners(&channel, NOW + LISTENERS_RECOUNT_MS + 1));
    hf_channel_own_release_begins(&channel);
    hf_channel_own_release_ended(&channel, NOW + LISTENERS_RECOUNT_MS, FEW_LISTENERS_MAX, false);
    ck_assert(!hf_channel_must_count_listeners(&channel, NOW + 2 * LISTENERS_RECOUNT_MS - 1));
}
END_TEST

START_TEST(pushed_5_refused_count_is_not_repeated_soon)
{
    struct hf_channel channel = {.waiting_listeners = 40, .random_state = 1};

    hf_channel_listeners_not_counted(&channel, NOW, true);
    ck_assert_uint_eq(channel.waiting_listeners, 0);
    ck_assert(!hf_channel_must_count_listeners(&channel, NOW + LISTENERS_DENIED_MS - 1));
    ck_assert(hf_channel_must_count_listeners(&channel, NOW + LISTENERS_DENIED_MS));
}
END_TEST

START_TEST(pushed_5_count_after_a_temporary_error_is_repeated_soon)
{
    struct hf_channel channel = {.waiting_listeners = 40, .random_state = 1};

    hf_channel_listeners_not_counted(&channel, NOW, false);
    ck_assert_uint_eq(channel.waiting_listeners, 40);
    ck_assert(!hf_channel_must_count_listeners(&channel, NOW + LISTENERS_RETRY_MS - 1));
    ck_assert(hf_channel_must_count_listeners(&channel, NOW + LISTENERS_RETRY_MS));
}
END_TEST

/* PUSHED-2: clients that were refused together. */
START_TEST(pushed_2_pauses_end_at_different_times)
{
    int64_t first = NOW + 1000, last = NOW;

    for (uint32_t i = 1; i <= 200; i++) {
        struct hf_channel channel;
        struct hf_wait w = asleep(&channel);

        channel.random_state = i * 2654435761u;
        push(&w, &channel, NOW);
        ck_assert_request_at(&w, &channel, NOW);
        push(&w, &channel, NOW + 1);
        ck_assert_int_ge(w.due_ms, NOW + PUSH_PAUSE_MS);
        ck_assert_int_le(w.due_ms, NOW + PUSH_PAUSE_MS * 3 / 2);
        first = w.due_ms < first ? w.due_ms : first;
        last = w.due_ms > last ? w.due_ms : last;
    }
    ck_assert_int_gt(last - first, PUSH_PAUSE_MS * 2 / 5);
}
END_TEST

/* ---- turns: TURN-1 ---- */

/* What a client hears of its own release: how many listen, whether it is one of
 * them, and whether its own message comes before the answer or behind. */
static void release_ours(struct hf_channel *channel, int64_t now_ms, int heard,
                         bool is_own, bool is_message_first)
{
    hf_channel_own_release_begins(channel);
    if (is_own && is_message_first)
        (void)hf_channel_notified(channel, now_ms, "0", 1);
    hf_channel_own_release_ended(channel, now_ms, heard, is_own);
    if (is_own && !is_message_first)
        (void)hf_channel_notified(channel, now_ms, "0", 1);
}

static void release_theirs(struct hf_channel *channel, int64_t now_ms)
{
    (void)hf_channel_notified(channel, now_ms, "0", 1);
}

static const struct {
    const char *why;
    int heard;
    bool is_own;
    int turns;          /* of others, before it wants to ask */
    int64_t start_ms;   /* after the last of these releases; 0: it asks */
} starts[] = {
    {"nobody listens", 0, false, 0, 0},
    {"we alone listen", 1, true, 0, 0},
    {"another listens", 1, false, 0, 2},
    {"we and another", 2, true, 0, 2},
    {"we and another, who had its turn", 2, true, 1, 0},
    {"we and three others", 4, true, 0, 4},
    {"one of three had its turn", 4, true, 1, 3},
    {"all three had theirs", 4, true, 3, 0},
    {"a crowd", 5000, true, 0, FEW_LISTENERS_MAX + 1},
    {"nobody knows", -1, false, 0, 0},
};

START_TEST(turn_1_a_release_owes_each_listener_a_turn)
{
    for (int way = 0; way < 2; way++) {
        struct hf_wait w;
        struct hf_channel channel = {.is_live = true, .random_state = 1};
        enum hf_wait_todo todo;

        release_ours(&channel, NOW, starts[_i].heard, starts[_i].is_own, way);
        for (int i = 0; i < starts[_i].turns; i++)
            release_theirs(&channel, NOW);
        channel.crowd_listeners = 0;
        hf_wait_init(&w, DEADLINE);
        todo = hf_wait_step(&w, EVENT_DUE, NOW, &channel, 0, 0);
        ck_assert_msg(todo == (starts[_i].start_ms ? DO_SLEEP : DO_REQUEST),
                      "%s", starts[_i].why);
        if (starts[_i].start_ms)
            ck_assert_msg(w.due_ms == NOW + starts[_i].start_ms, "%s: %lld",
                          starts[_i].why, (long long)(w.due_ms - NOW));
    }
}
END_TEST

/* A client whose release another heard, and a waiter of its own. */
static struct hf_channel channel_that_owes(int turns)
{
    struct hf_channel channel = {.is_live = true, .random_state = 1};

    release_ours(&channel, NOW, turns + 1, true, true);
    return channel;
}

START_TEST(turn_1_a_local_waiter_also_gives_way)
{
    struct hf_wait w = wait_in(SLEEPING, true);
    struct hf_channel channel = channel_that_owes(1);

    w.due_ms = NOW + TTL;
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, NOW, &channel, 0, 0), DO_SLEEP);
    ck_assert_int_eq(w.due_ms, NOW + 2);
    release_theirs(&channel, NOW + 1);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_WOKEN, NOW + 1, &channel, 0, 0),
                     DO_REQUEST);
}
END_TEST

START_TEST(turn_1_a_waiter_that_gives_way_subscribes_first)
{
    struct hf_channel channel = channel_that_owes(1);
    struct hf_wait w;

    channel.is_live = false;
    hf_wait_init(&w, DEADLINE);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, NOW, &channel, 0, 0),
                     DO_SUBSCRIBE);
    ck_assert_int_eq(w.due_ms, NOW + 2);
    channel.is_live = true;
    ck_assert_int_eq(hf_wait_step(&w, EVENT_SUBSCRIBED, NOW + 1, &channel, 0, 0),
                     DO_SLEEP);
    ck_assert_int_eq(w.due_ms, NOW + 2);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, NOW + 2, &channel, 0, 0), DO_REQUEST);
}
END_TEST

START_TEST(turn_1_a_message_during_our_release_does_not_overtake_its_answer)
{
    struct hf_channel channel = channel_that_owes(1);
    struct hf_wait w = wait_in(SLEEPING, true);

    release_theirs(&channel, NOW);
    hf_channel_own_release_begins(&channel);
    w.due_ms = NOW + TTL;
    ck_assert(hf_channel_notified(&channel, NOW, "0", 1));
    ck_assert_int_eq(hf_wait_step(&w, EVENT_WOKEN, NOW, &channel, 0, 0), DO_SLEEP);
    hf_channel_own_release_ended(&channel, NOW, 1, true); /* the other has gone */
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, NOW, &channel, 0, 0), DO_REQUEST);
}
END_TEST

START_TEST(turn_1_turns_taken_beyond_are_credit)
{
    struct hf_channel channel = channel_that_owes(1);

    release_theirs(&channel, NOW);
    release_theirs(&channel, NOW); /* not owed */
    ck_assert_uint_eq(channel.turns_owed, 0);
    release_ours(&channel, NOW, 2, true, true);
    ck_assert_uint_eq(channel.turns_owed, 0);
    release_ours(&channel, NOW, 2, true, true);
    ck_assert_uint_eq(channel.turns_owed, 1);
}
END_TEST

/* However many turns were taken, one release later they are forgotten. */
START_TEST(turn_1_credit_is_for_one_release_at_most)
{
    struct hf_channel channel = channel_that_owes(FEW_LISTENERS_MAX);

    for (int i = 0; i < 3 * FEW_LISTENERS_MAX; i++)
        release_theirs(&channel, NOW);
    release_ours(&channel, NOW, FEW_LISTENERS_MAX + 1, true, true);
    ck_assert_uint_eq(channel.turns_owed, 0);
    release_ours(&channel, NOW, FEW_LISTENERS_MAX + 1, true, true);
    ck_assert_uint_eq(channel.turns_owed, FEW_LISTENERS_MAX);
}
END_TEST

/* The message of our release may have been lost with the channel: the next message
 * is another client's. */
START_TEST(turn_1_a_lost_channel_owes_no_echo)
{
    struct hf_channel channel = {.is_live = true, .random_state = 1};

    hf_channel_own_release_begins(&channel);
    hf_channel_own_release_ended(&channel, NOW, 3, true);
    hf_channel_lost(&channel);
    release_theirs(&channel, NOW + 1);
    ck_assert_uint_eq(channel.turns_owed, 1);
    ck_assert_int_eq(channel.last_release_ms, NOW + 1);
}
END_TEST

/* Of how many listen, an answer that never came says nothing. */
START_TEST(turn_1_a_release_without_an_answer_changes_no_debt)
{
    struct hf_channel channel = channel_that_owes(3);

    hf_channel_own_release_begins(&channel);
    hf_channel_own_release_ended(&channel, NOW + 50, -1, true);
    ck_assert_uint_eq(channel.pending_releases, 0);
    ck_assert_uint_eq(channel.turns_owed, 3);
    ck_assert_uint_eq(channel.other_listeners, 3);
    ck_assert_int_eq(channel.last_release_ms, NOW);
}
END_TEST

/* A debt of which nobody made use for long must not hold up whoever comes. */
START_TEST(turn_1_a_queue_that_begins_late_sends_its_request_at_once)
{
    struct hf_channel channel = channel_that_owes(5);
    struct hf_wait w;

    hf_wait_init(&w, DEADLINE);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, NOW + 100, &channel, 0, 0),
                     DO_REQUEST);
    ck_assert_uint_eq(channel.turns_owed, 0);
}
END_TEST

START_TEST(turn_1_unused_turns_become_rare)
{
    struct hf_channel channel = {.is_live = true, .random_state = 1};
    int given = 0;

    for (int i = 0; i < TURNS_UNUSED_MAX + 1600; i++) {
        release_ours(&channel, NOW + i, 2, true, i % 2);
        given += channel.turns_owed > 0;
    }
    ck_assert_int_eq(given, TURNS_UNUSED_MAX + 100);
    release_theirs(&channel, NOW);
    release_ours(&channel, NOW, 2, true, true);
    release_ours(&channel, NOW, 2, true, true);
    ck_assert_uint_eq(channel.turns_owed, 1);
}
END_TEST

START_TEST(wait_8_giving_way_ends_no_later_than_a_sleep_would)
{
    struct hf_channel channel = channel_that_owes(8);
    struct hf_wait w = wait_in(SLEEPING, true);

    w.due_ms = NOW + 3;
    (void)hf_wait_step(&w, EVENT_DUE, NOW, &channel, 0, 0);
    ck_assert_int_eq(w.due_ms, NOW + 3);
    hf_wait_init(&w, NOW + 5); /* too short a wait to give way */
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, NOW, &channel, 0, 0), DO_REQUEST);
}
END_TEST

/* ---- a crowd: TURN-2 ---- */

START_TEST(turn_2_a_crowd_receives_its_number)
{
    static const struct {
        const char *text;
        bool wakes;
        uint32_t crowd;
    } said[] = {{"0", true, 0},          {"1", true, 0},
                {"16", true, 0},         {"17", false, 17},
                {"1000", false, 1000},   {"", true, 0},
                {"-17", true, 0},        {"1e3", true, 0},
                {"999999999", false, 999999999}, {"1000000000", true, 0}};

    for (int i = 0; i < COUNT(said); i++) {
        struct hf_channel channel = {0};

        ck_assert_msg(hf_channel_notified(&channel, NOW, said[i].text,
                                          strlen(said[i].text)) == said[i].wakes &&
                          channel.crowd_listeners == said[i].crowd,
                      "\"%s\"", said[i].text);
    }
}
END_TEST

START_TEST(turn_2_a_crowd_that_is_not_counted_is_forgotten)
{
    struct hf_channel channel = {0};

    (void)hf_channel_notified(&channel, NOW, "100", 3);
    release_theirs(&channel, NOW); /* the count stands behind its message: fresh */
    ck_assert_uint_eq(channel.crowd_listeners, 100);
    release_theirs(&channel, NOW);
    ck_assert_uint_eq(channel.crowd_listeners, 50);
    release_theirs(&channel, NOW);
    release_theirs(&channel, NOW);
    ck_assert_uint_eq(channel.crowd_listeners, 0);
}
END_TEST

/* ---- who of the listeners waits: TURN-3 ---- */

static void hear_number(struct hf_channel *channel, const char *number)
{
    release_theirs(channel, NOW);
    ck_assert(!hf_channel_notified(channel, NOW, number, strlen(number)));
}

START_TEST(turn_3_listeners_that_do_not_wait_are_no_crowd)
{
    struct hf_channel channel = {.is_live = true, .random_state = 1};

    hf_channel_listeners_counted(&channel, NOW, 1000, 0);
    ck_assert(channel.has_more_than_few_listeners);
    ck_assert_uint_eq(channel.crowd_listeners, 1000);
    hf_channel_registered(&channel, true);
    ck_assert(hf_channel_must_count_listeners(&channel, NOW));
    hf_channel_listeners_counted(&channel, NOW, 1000, 3);
    ck_assert_uint_eq(channel.crowd_listeners, 0);
    ck_assert_uint_eq(channel.waiting_listeners, 3);
    hear_number(&channel, "32");
    ck_assert_uint_eq(channel.crowd_listeners, 0);
    ck_assert_uint_eq(channel.waiting_listeners, FEW_LISTENERS_MAX);
    hear_number(&channel, "33");
    ck_assert_uint_eq(channel.crowd_listeners, FEW_LISTENERS_MAX + 1);
    hf_channel_registered(&channel, false);
    hear_number(&channel, "33");
    ck_assert_uint_eq(channel.crowd_listeners, 33);
}
END_TEST

START_TEST(turn_3_client_that_counted_few_sends_its_request_once)
{
    struct hf_channel channel = {.is_live = true, .random_state = 1};

    hf_channel_listeners_counted(&channel, NOW, FEW_LISTENERS_MAX, 0);
    ck_assert(channel.has_counted_few_listeners && !channel.has_more_than_few_listeners);
    ck_assert(!hf_channel_must_count_listeners(&channel, NOW + LISTENERS_RECOUNT_MS - 1));
    hear_number(&channel, "500");
    ck_assert_uint_eq(channel.crowd_listeners, 0);
    ck_assert(!channel.has_counted_few_listeners && channel.has_more_than_few_listeners);
    hear_number(&channel, "500");
    ck_assert_uint_eq(channel.crowd_listeners, 500);
}
END_TEST

/* Others may have come while it was not subscribed. */
START_TEST(turn_3_count_before_a_subscription_is_not_of_few)
{
    struct hf_channel channel = {.is_live = false, .random_state = 1};

    hf_channel_listeners_counted(&channel, NOW, 1, 0);
    ck_assert(!channel.has_counted_few_listeners);
    channel.is_live = true;
    hf_channel_listeners_counted(&channel, NOW, 1, 0);
    ck_assert(channel.has_counted_few_listeners);
    hf_channel_lost(&channel);
    ck_assert(!channel.has_counted_few_listeners);
    hear_number(&channel, "500");
    ck_assert_uint_eq(channel.crowd_listeners, 500);
}
END_TEST

/* The message has the same number as the reply, and comes before it, or after. */
START_TEST(turn_3_own_release_does_not_forget_the_message)
{
    struct hf_channel channel = {.is_live = true, .random_state = 1};

    hf_channel_listeners_counted(&channel, NOW, 2, 0);
    hf_channel_own_release_begins(&channel);
    hear_number(&channel, "500");
    hf_channel_own_release_ended(&channel, NOW, 500, true);
    ck_assert_uint_eq(channel.crowd_listeners, 0);
    hf_channel_own_release_begins(&channel);
    hf_channel_own_release_ended(&channel, NOW, 500, false);
    ck_assert_uint_eq(channel.crowd_listeners, 500);
}
END_TEST

START_TEST(turn_2_each_of_a_crowd_chooses_a_moment_once)
{
    int64_t least = INT64_MAX, most = 0;

    for (uint32_t seed_of_it = 1; seed_of_it <= 1000; seed_of_it++) {
        struct hf_channel channel = {.is_live = true, .random_state = seed_of_it * 2654435761u,
                             .crowd_listeners = 200, .is_crowd_counted = true};
        struct hf_wait w = wait_in(SLEEPING, true);
        enum hf_wait_todo todo;
        int64_t due_ms;

        hf_wait_make_shared(&w);
        w.sleep_until_ms = w.due_ms = NOW + TTL;
        release_theirs(&channel, NOW);
        todo = hf_wait_step(&w, EVENT_WOKEN, NOW, &channel, 0, 0);
        due_ms = todo == DO_REQUEST ? NOW : w.due_ms;
        least = due_ms < least ? due_ms : least;
        most = due_ms > most ? due_ms : most;
        if (todo == DO_REQUEST)
            continue;
        channel.is_crowd_counted = true;
        release_theirs(&channel, NOW);
        ck_assert_int_eq(hf_wait_step(&w, EVENT_WOKEN, NOW, &channel, 0, 0), DO_SLEEP);
        ck_assert_int_eq(w.due_ms, due_ms);
    }
    ck_assert_int_eq(least, NOW);
    ck_assert_int_le(most, NOW + 199);
    ck_assert_int_ge(most, NOW + 190);
}
END_TEST

/* Of an exclusive lock: about sqrt(2 t) requests within t ms, the first within a few; and each
 * release draws anew. */
START_TEST(turn_2_requests_of_a_crowd_become_rare)
{
    static const struct {
        int64_t within_ms;
        int least, most;
    } parts[] = {{5, 1, 12}, {50, 4, 22}, {1000, 25, 70}, {TTL, 60, 180}};
    int at_once[2][COUNT(parts)] = {{0}}, changed = 0;

    dice_seed = DICE_SEED;
    for (int i = 0; i < 1000; i++) {
        struct hf_channel channel = {.is_live = true,
                                     .random_state = (uint32_t)dice(UINT32_MAX) + 1,
                                     .crowd_listeners = 1000};
        struct hf_wait w = wait_in(SLEEPING, true);
        int64_t before_ms = NOW;

        w.deadline_ms = INT64_MAX;
        w.sleep_until_ms = w.due_ms = NOW + TTL;
        for (int k = 0; k < 2; k++) {
            enum hf_wait_todo todo;

            channel.is_crowd_counted = true;
            release_theirs(&channel, NOW);
            todo = hf_wait_step(&w, EVENT_WOKEN, NOW, &channel, 0, 0);
            ck_assert_int_le(w.due_ms, todo == DO_REQUEST ? INT64_MAX : NOW + TTL);
            for (int p = 0; p < COUNT(parts); p++)
                at_once[k][p] += todo == DO_REQUEST || w.due_ms < NOW + parts[p].within_ms;
            if (todo == DO_REQUEST)
                break;
            changed += k == 1 && w.due_ms > before_ms;
            before_ms = w.due_ms;
        }
    }
    for (int k = 0; k < 2; k++)
        for (int p = 0; p < COUNT(parts); p++) {
            ck_assert_int_ge(at_once[k][p], parts[p].least);
            ck_assert_int_le(at_once[k][p], parts[p].most);
        }
    ck_assert_int_gt(changed, 50); /* to a later time */
}
END_TEST

/* WAIT-8: a call that ends soon does not end without a request. */
START_TEST(turn_2_waiter_of_a_crowd_sends_a_request_before_its_deadline)
{
    for (uint32_t i = 1; i <= 200; i++) {
        struct hf_channel channel = {.is_live = true, .random_state = i * 2654435761u,
                                     .crowd_listeners = 100000,
                                     .is_crowd_counted = true};
        struct hf_wait w = wait_in(SLEEPING, true);

        w.deadline_ms = NOW + 300;
        w.sleep_until_ms = w.due_ms = NOW + 300;
        release_theirs(&channel, NOW);
        if (hf_wait_step(&w, EVENT_WOKEN, NOW, &channel, 0, 0) == DO_SLEEP)
            ck_assert_int_lt(w.due_ms, NOW + 300);
    }
}
END_TEST

/* TURN-2: the number arrived in the read of the notification, whose timer has fired. */
START_TEST(turn_2_timer_of_a_notification_is_armed_again_for_the_turn)
{
    struct hf_channel channel;
    struct hf_wait w = asleep(&channel);

    hf_wait_make_shared(&w);
    channel.crowd_listeners = 200;
    channel.random_state = 12345;
    ck_assert_int_eq(hf_wait_step(&w, EVENT_WOKEN, NOW, &channel, 0, 0), DO_SLEEP);
    ck_assert(w.gives_way && w.due_ms > NOW);
    channel.crowd_listeners = 0;
    ck_assert(hf_wait_defer_wake(&w));
    channel.crowd_listeners = 200;
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, NOW, &channel, 0, 0), DO_SLEEP);
    ck_assert(w.due_ms > NOW);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, w.due_ms, &channel, 0, 0), DO_REQUEST);
}
END_TEST

/* WAIT-10: the push would be heeded later. */
START_TEST(wait_10_push_does_not_delay_a_notification)
{
    struct hf_channel channel;
    struct hf_wait w = asleep(&channel);

    ck_assert(hf_wait_defer_wake(&w));
    channel.has_unused_push = true;
    channel.push_request_from_ms = NOW + 1000;
    ck_assert_int_eq(hf_wait_step(&w, EVENT_PUSHED, NOW, &channel, 0, 0), DO_NOTHING);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, NOW, &channel, 0, 0), DO_REQUEST);
    ck_assert(!w.has_notification_to_process);
}
END_TEST

/* PUSHED-3: a push and the notification of the same release, of an exclusive lock. */
START_TEST(pushed_3_notification_of_a_crowd_answers_a_push)
{
    struct hf_channel channel;
    struct hf_wait w = asleep(&channel);

    channel.crowd_listeners = channel.waiting_listeners = 1000000;
    channel.random_state = 12345;
    channel.is_crowd_counted = true;
    push(&w, &channel, NOW);
    ck_assert_int_lt(w.due_ms, NOW + FEW_LISTENERS_MAX);
    release_theirs(&channel, NOW);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_WOKEN, NOW, &channel, 0, 0), DO_SLEEP);
    ck_assert_int_eq(w.due_ms, NOW + TTL + 1);
    ck_assert(!channel.has_unused_push);
}
END_TEST

START_TEST(turn_2_spread_of_a_crowd_has_a_limit)
{
    for (uint32_t seed_of_it = 1; seed_of_it <= 100; seed_of_it++) {
        struct hf_channel channel = {.is_live = true, .random_state = seed_of_it * 2654435761u,
                             .crowd_listeners = 500000, .is_crowd_counted = true};
        struct hf_wait w = wait_in(SLEEPING, true);

        hf_wait_make_shared(&w);
        w.due_ms = NOW + TTL;
        release_theirs(&channel, NOW);
        (void)hf_wait_step(&w, EVENT_WOKEN, NOW, &channel, 0, 0);
        ck_assert_int_lt(w.due_ms, NOW + CROWD_SPREAD_MS);
    }
}
END_TEST

/* ---- no wake-up is lost ---- */

/* A small world: a lock, which another releases at some moment; a server that
 * tells its subscribers so; a wire each way, on which things take their time.
 * Whatever the moment, the waiter asks again soon after the release, though the
 * holder's TTL is an hour. */
struct world {
    struct hf_wait w;
    struct hf_channel channel;
    int64_t now;
    int64_t released_ms;
    int64_t dropped_ms;      /* the connection is lost at this moment */
    bool is_subscribed;      /* as the server knows it */
    /* On the wire; INT64_MAX: nothing. Each is one at a time. */
    int64_t question_ms, answer_ms, subscribe_ms, confirm_ms, message_ms;
    bool answer;             /* granted? */
    bool has_told;
};

static int64_t delay(struct world *g)
{
    return g->now + 1 + (int64_t)dice(20);
}

static void obey(struct world *g, enum hf_wait_todo todo)
{
    if (todo == DO_REQUEST)
        g->question_ms = delay(g);
    if (todo == DO_SUBSCRIBE && g->subscribe_ms == INT64_MAX &&
        g->confirm_ms == INT64_MAX && !g->channel.is_live)
        g->subscribe_ms = delay(g);
    if (todo == DO_SLEEP)
        check_sleep(&g->w, &g->channel);
}

static void tell(struct world *g, enum hf_wait_event event)
{
    obey(g, hf_wait_step(&g->w, event, g->now, &g->channel, 3600000, 3600000));
}

static bool comes(struct world *g, int64_t *at_ms)
{
    if (*at_ms != g->now)
        return false;
    *at_ms = INT64_MAX;
    return true;
}

static void server_acts(struct world *g)
{
    if (g->now == g->released_ms && g->is_subscribed)
        g->message_ms = delay(g);
    if (comes(g, &g->subscribe_ms)) {
        g->is_subscribed = true;
        g->confirm_ms = delay(g);
    }
    if (comes(g, &g->question_ms)) {
        g->answer = g->now >= g->released_ms;
        g->answer_ms = delay(g);
    }
}

/* All that is on the wire is lost; questions are asked again by the call. */
static void drop(struct world *g)
{
    bool was_live = g->channel.is_live;
    bool was_asking = g->w.state == ASKING;

    g->question_ms = g->answer_ms = g->subscribe_ms = INT64_MAX;
    g->confirm_ms = g->message_ms = INT64_MAX;
    g->is_subscribed = false;
    g->subscribe_ms = delay(g); /* subscribed anew */
    if (was_asking)
        g->question_ms = delay(g);
    if (!was_live)
        return;
    g->channel.is_live = false;
    g->channel.wake_events++;
    tell(g, EVENT_WOKEN);
}

static void client_hears(struct world *g)
{
    if (comes(g, &g->confirm_ms)) {
        g->channel.is_live = true;
        g->channel.wake_events++;
        tell(g, EVENT_SUBSCRIBED);
    }
    if (comes(g, &g->message_ms)) {
        g->channel.wake_events++;
        tell(g, EVENT_WOKEN);
    }
    if (comes(g, &g->answer_ms)) {
        if (g->answer)
            g->w.state = DONE;
        else
            tell(g, EVENT_REFUSED);
    }
}

START_TEST(no_moment_of_a_release_loses_the_wakeup)
{
    dice_seed = DICE_SEED + (uint64_t)_i;
    for (int round = 0; round < 30000; round++) {
        struct world g = {.now = NOW,
                          .question_ms = INT64_MAX,
                          .answer_ms = INT64_MAX,
                          .subscribe_ms = INT64_MAX,
                          .confirm_ms = INT64_MAX,
                          .message_ms = INT64_MAX};

        g.released_ms = NOW + (int64_t)dice(200);
        g.dropped_ms = dice(2) ? NOW + (int64_t)dice(200) : 0;
        hf_wait_init(&g.w, INT64_MAX);
        tell(&g, EVENT_DUE);
        while (g.w.state != DONE) {
            g.now++;
            ck_must(g.now < NOW + 500, "asked soon after the release");
            if (g.now == g.dropped_ms)
                drop(&g);
            server_acts(&g);
            client_hears(&g);
        }
    }
}
END_TEST

/* ---- what the server says, or does not ---- */

static const struct {
    const char *why;
    bool has_answered;
    hf_status before, status;
    int64_t asked_ms, now_ms;
    bool goes_on;
    hf_status result;           /* of a wait that gives up then */
} errors[] = {
    {"WAIT-7: a server that never answered is an error", false, HF_OK, HF_E_CONNECT,
     NOW, NOW, false, HF_TIMEOUT},
    {"WAIT-7: one that did is waited for", true, HF_OK, HF_E_CONNECT, NOW, NOW, true,
     HF_E_CONNECT},
    {"the end of the wait cut it short", true, HF_OK, HF_E_NOREPLY,
     DEADLINE - WAIT_POLL_MS / 2 + 1, DEADLINE, true, HF_TIMEOUT},
    {"it had time enough", true, HF_OK, HF_E_NOREPLY,
     DEADLINE - WAIT_POLL_MS / 2, DEADLINE, true, HF_E_NOREPLY},
    {"it failed before the end", true, HF_OK, HF_E_NOREPLY, DEADLINE - 2,
     DEADLINE - 1, true, HF_E_NOREPLY},
    {"a refusal is an answer, however soon it came", true, HF_OK, HF_E_SERVER,
     DEADLINE, DEADLINE, true, HF_E_SERVER},
    {"cut short, and it had failed before", true, HF_E_CONNECT, HF_E_NOREPLY,
     DEADLINE, DEADLINE, true, HF_E_NOREPLY},
};

START_TEST(wait_7_a_queue_continues_to_wait_after_one_reply)
{
    struct hf_wait_answers answers = {errors[_i].has_answered,
                                      errors[_i].before};
    struct hf_wait w;

    hf_wait_init(&w, DEADLINE);
    w.last_request_ms = errors[_i].asked_ms;
    ck_assert_msg(hf_wait_failed(&w, &answers, errors[_i].now_ms,
                                 errors[_i].status) == errors[_i].goes_on,
                  "%s: goes on", errors[_i].why);
    ck_assert_msg(hf_wait_result(&answers) == errors[_i].result, "%s: result",
                  errors[_i].why);
}
END_TEST

START_TEST(wait_7_an_answer_outdates_the_error_before_it)
{
    struct hf_wait_answers answers = {.last_error = HF_E_NOREPLY};

    hf_wait_answered(&answers);
    ck_assert(answers.has_answered);
    ck_assert_int_eq(hf_wait_result(&answers), HF_TIMEOUT);
}
END_TEST

/* Half of the lease or more is of use; one call asks again three times, without a
 * wait once, and never after its deadline. */
START_TEST(late_grant_is_requested_again_a_few_times)
{
    struct hf_wait w;

    hf_wait_init(&w, DEADLINE);
    ck_assert(!hf_wait_retries_grant(&w, true, NOW, 500, 1000));
    for (int i = 0; i < 3; i++)
        ck_assert(hf_wait_retries_grant(&w, true, NOW, 499, 1000));
    ck_assert(!hf_wait_retries_grant(&w, true, NOW, 499, 1000));

    hf_wait_init(&w, DEADLINE);
    ck_assert(!hf_wait_retries_grant(&w, true, DEADLINE, -1, 1000));
    hf_wait_init(&w, NOW);
    ck_assert(hf_wait_retries_grant(&w, false, NOW, -1, 1000));
    ck_assert(!hf_wait_retries_grant(&w, false, NOW, -1, 1000));
}
END_TEST

START_TEST(late_grants_count_over_a_return_to_the_queue)
{
    struct hf_wait w;

    hf_wait_init(&w, DEADLINE);
    ck_assert(hf_wait_retries_grant(&w, false, NOW, 0, 1000));
    hf_wait_requeue(&w);
    ck_assert(!hf_wait_retries_grant(&w, false, NOW, 0, 1000));
    ck_assert_int_eq(w.due_ms, DEADLINE);
}
END_TEST

/* A third of the watchdog timeout; where messages may not arrive, less. */
START_TEST(sleep_is_capped_lower_where_a_slot_may_move)
{
    ck_assert_int_eq(hf_wait_max_sleep_ms(30000, false, false), 10000);
    ck_assert_int_eq(hf_wait_max_sleep_ms(30000, false, true), 10000);
    ck_assert_int_eq(hf_wait_max_sleep_ms(30000, true, false), 3000);
    ck_assert_int_eq(hf_wait_max_sleep_ms(30000, true, true), WAIT_POLL_MS);
    ck_assert_int_eq(hf_wait_max_sleep_ms(900, true, true), 300);
}
END_TEST

/* ---- */

/* Nothing is subscribed to, and each sleep is longer than the one before. */
START_TEST(wait_9_a_waiter_of_a_spin_lock_sleeps_longer_each_time)
{
    static const int64_t sleeps[] = {1, 2, 4, 8, 16, 32, 64, 128, 128};
    struct hf_channel channel = channel_of(NOT_YET);
    struct hf_wait w;
    int64_t now = NOW;

    hf_wait_init(&w, DEADLINE);
    hf_wait_make_spin(&w);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, now, &channel, 0, CAP),
                     DO_REQUEST);
    for (int i = 0; i < COUNT(sleeps); i++) {
        ck_assert_int_eq(hf_wait_step(&w, EVENT_REFUSED, now, &channel, TTL,
                                      CAP),
                         DO_SLEEP);
        ck_assert_int_eq(w.due_ms, now + sleeps[i]);
        now = w.due_ms;
        ck_assert_int_eq(hf_wait_step(&w, EVENT_DUE, now, &channel, 0, CAP),
                         DO_REQUEST);
    }
    (void)hf_wait_step(&w, EVENT_REFUSED, now, &channel, 5, CAP);
    ck_assert_int_eq(w.due_ms, now + 6); /* WAIT-4 */
    channel = channel_of(LIVE_MOVED); /* for a waiter of another kind */
    ck_assert_int_eq(hf_wait_step(&w, EVENT_WOKEN, now, &channel, 0, CAP),
                     DO_REQUEST);
}
END_TEST

START_TEST(wait_9_an_unreachable_server_is_requested_at_the_same_pace)
{
    struct hf_channel channel = channel_of(NOT_YET);
    struct hf_wait w = wait_in(ASKING, false);

    hf_wait_make_spin(&w);
    ck_assert_int_eq(hf_wait_step(&w, EVENT_UNANSWERED, NOW, &channel, 0, CAP),
                     DO_SLEEP);
    ck_assert_int_eq(w.due_ms, NOW + WAIT_POLL_MS);
}
END_TEST

static TCase *case_answers(void)
{
    TCase *c = tcase_create("answers");

    tcase_add_loop_test(c, wait_7_a_queue_continues_to_wait_after_one_reply, 0,
                        COUNT(errors));
    tcase_add_test(c, wait_7_an_answer_outdates_the_error_before_it);
    tcase_add_test(c, late_grant_is_requested_again_a_few_times);
    tcase_add_test(c, late_grants_count_over_a_return_to_the_queue);
    tcase_add_test(c, sleep_is_capped_lower_where_a_slot_may_move);
    return c;
}

static TCase *case_spin(void)
{
    TCase *c = tcase_create("spin");

    tcase_add_test(c, wait_9_a_waiter_of_a_spin_lock_sleeps_longer_each_time);
    tcase_add_test(c, wait_9_an_unreachable_server_is_requested_at_the_same_pace);
    return c;
}

static TCase *case_arrows(void)
{
    TCase *c = tcase_create("arrows");

    tcase_add_loop_test(c, each_event_moves_a_wait_by_one_arrow, 0,
                        COUNT(arrows));
    tcase_add_loop_test(c, each_request_has_its_cause, 0, COUNT(wakes));
    tcase_add_loop_test(c, wait_4_sleep_ends_with_the_ttl_the_cap_or_the_deadline,
                        0, COUNT(naps));
    tcase_add_test(c, a_wait_in_the_queue_is_due_at_its_deadline_only);
    return c;
}

static TCase *case_turns(void)
{
    TCase *c = tcase_create("turns");

    tcase_add_loop_test(c, turn_1_a_release_owes_each_listener_a_turn, 0,
                        COUNT(starts));
    tcase_add_test(c, pushed_1_pushes_before_a_request_are_one);
    tcase_add_test(c, pushed_1_request_for_another_reason_answers_a_push);
    tcase_add_test(c, pushed_2_pauses_grow_while_pushes_follow_each_other);
    tcase_add_test(c, pushed_2_no_pause_follows_a_grant);
    tcase_add_test(c, pushed_2_push_during_a_request_waits_for_the_pause);
    tcase_add_test(c, wait_10_push_during_a_request_counts);
    tcase_add_test(c, wait_10_push_never_makes_a_sleep_longer);
    tcase_add_test(c, pushed_3_push_does_not_overtake_others);
    tcase_add_test(c, pushed_2_pauses_end_at_different_times);
    tcase_add_loop_test(c, pushed_4_requests_of_a_crowd_are_spread, 0, COUNT(push_crowds));
    tcase_add_test(c, pushed_4_few_of_a_crowd_are_tracked);
    tcase_add_test(c, pushed_4_all_of_few_are_tracked);
    tcase_add_test(c, pushed_5_listeners_are_counted_now_and_then);
    tcase_add_test(c, pushed_5_count_after_a_temporary_error_is_repeated_soon);
    tcase_add_test(c, pushed_5_refused_count_is_not_repeated_soon);
    tcase_add_test(c, turn_1_a_local_waiter_also_gives_way);
    tcase_add_test(c, turn_1_a_waiter_that_gives_way_subscribes_first);
    tcase_add_test(c,
                   turn_1_a_message_during_our_release_does_not_overtake_its_answer);
    tcase_add_test(c, turn_1_turns_taken_beyond_are_credit);
    tcase_add_test(c, turn_1_credit_is_for_one_release_at_most);
    tcase_add_test(c, turn_1_a_lost_channel_owes_no_echo);
    tcase_add_test(c, turn_1_a_release_without_an_answer_changes_no_debt);
    tcase_add_test(c, turn_1_a_queue_that_begins_late_sends_its_request_at_once);
    tcase_add_test(c, turn_1_unused_turns_become_rare);
    tcase_add_test(c, wait_8_giving_way_ends_no_later_than_a_sleep_would);
    tcase_add_test(c, turn_2_a_crowd_receives_its_number);
    tcase_add_test(c, turn_2_a_crowd_that_is_not_counted_is_forgotten);
    tcase_add_test(c, turn_3_listeners_that_do_not_wait_are_no_crowd);
    tcase_add_test(c, turn_3_client_that_counted_few_sends_its_request_once);
    tcase_add_test(c, turn_3_count_before_a_subscription_is_not_of_few);
    tcase_add_test(c, turn_3_own_release_does_not_forget_the_message);
    tcase_add_test(c, turn_2_each_of_a_crowd_chooses_a_moment_once);
    tcase_add_test(c, turn_2_spread_of_a_crowd_has_a_limit);
    tcase_add_test(c, turn_2_requests_of_a_crowd_become_rare);
    tcase_add_test(c, turn_2_waiter_of_a_crowd_sends_a_request_before_its_deadline);
    tcase_add_test(c, turn_2_timer_of_a_notification_is_armed_again_for_the_turn);
    tcase_add_test(c, wait_10_push_does_not_delay_a_notification);
    tcase_add_test(c, pushed_3_notification_of_a_crowd_answers_a_push);
    return c;
}

static TCase *case_random(void)
{
    TCase *c = tcase_create("random");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, random_events_keep_the_rules, 0, 4);
    tcase_add_loop_test(c, no_moment_of_a_release_loses_the_wakeup, 0, 4);
    return c;
}

int main(void)
{
    Suite *s = suite_create("lock/wait");

    suite_add_tcase(s, case_arrows());
    suite_add_tcase(s, case_spin());
    suite_add_tcase(s, case_turns());
    suite_add_tcase(s, case_answers());
    suite_add_tcase(s, case_random());
    return suite_run(s);
}
