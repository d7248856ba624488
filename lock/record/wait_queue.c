/* The queue of waiters of a lock: which is first, when it sends its request again, and
 * the subscriptions that notify the queue of releases. */
/* Tests: tests/live/lock/test_lock_wait.c, tests/live/kind/test_semaphore.c. */
#include "lock/record/wait_queue.h"

#include <string.h>

#include "lock/record/registration.h"
#include "lock/record/shrink.h"
#include "lock/record/tally_add.h"
#include "lock/record/table.h"
#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/base/random.h"

/* The plain subscription in addition to the sharded one: sharded=both. */
struct hf_plain_subscription {
    struct hf_subscription subscription;
    struct hf_wait_queue *queue;
    bool may_next_message_be_double; /* a sharded message arrived; the next plain one may belong to
                                        the same release */
};

static void on_channel_message(struct hf_subscription *s, const char *ptr, size_t len);
static void on_subscription_change(struct hf_subscription *s, bool is_live);
static void on_plain_message(struct hf_subscription *s, const char *ptr,
                             size_t len);
static void on_plain_subscription_change(struct hf_subscription *s, bool is_live);

/* A queue that is not subscribed has no live channel; a live one is not refused. */
static bool is_subscription_state_ok(const struct hf_wait_queue *line)
{
    return (line->is_listening ||
            (!line->channel.is_live && !line->plain_subscription && !line->registration)) &&
           !(line->channel.is_live && line->channel.is_refused) && line->locks_count > 0;
}


/* ---- the waiters ---- */

struct hf_op *hf_wait_queue_first(const struct hf_wait_queue *line)
{
    if (!line || hf_list_is_empty(&line->waiters))
        return NULL;
    return HF_OWNER_OF(line->waiters.next, struct hf_op, queue_node);
}

struct hf_op *hf_wait_queue_second(const struct hf_wait_queue *line)
{
    const struct hf_list *first = line->waiters.next;

    if (first->next == &line->waiters)
        return NULL;
    return HF_OWNER_OF(first->next, struct hf_op, queue_node);
}

static void notify_first_waiter(struct hf_wait_queue *line, enum hf_wait_event event)
{
    struct hf_op *op = hf_wait_queue_first(line);

    if (op)
        op->verb->on_wait_event(op, event);
}

/* The second message of TURN-2 may be in the same read, and its number may differ from the last
 * one. So a waiter that sleeps is woken by its timer, after all messages of this turn. */
static void wake_first_by_timer(struct hf_wait_queue *line)
{
    const struct hf_kind *kind = line->lock->kind;
    struct hf_op *op = hf_wait_queue_first(line);

    if (op && kind->notification_payload && !kind->is_ownerless &&
        hf_wait_defer_wake(&op->wait))
        hf_loop_arm(op->client->loop, &op->timer, 0);
    else
        notify_first_waiter(line, EVENT_WOKEN);
}

/* The fewest permits come first (COUNT-3). */
static bool comes_after(const struct hf_op *a, const struct hf_op *b)
{
    return a->permits != b->permits ? a->permits > b->permits
                                    : a->begin_number > b->begin_number;
}

/* Returns the last waiter that comes before `op`; the head of the list if there is
 * none. */
static struct hf_list *last_waiter_before(const struct hf_op *op)
{
    struct hf_list *head = &op->queue->waiters, *at = head->prev;

    while (at != head &&
           comes_after(HF_OWNER_OF(at, struct hf_op, queue_node), op))
        at = at->prev;
    return at;
}

/* A reader first sends its request without entering the queue, and other waiters may
 * enter it before the reader is refused. The first of them is then no longer first: it
 * sends one more request when its sleep ends, which is harmless. */
bool hf_wait_queue_enter(struct hf_op *op)
{
    struct hf_wait_queue *line = op->queue;

    HF_ASSERT(hf_loop_is_locked(op->client->loop) && is_subscription_state_ok(line) &&
              line->users_count > 0);
    if (hf_list_is_empty(&line->waiters))
        line->last_answers = (struct hf_wait_answers){0};
    hf_list_push(last_waiter_before(op)->next, &op->queue_node);
    hf_tally_enter_queue(op);
    return hf_wait_queue_first(line) == op;
}

/* The next waiter is woken by its timer, not by a call from here: if ten
 * thousand waiters failed at once, each would call the next on one stack. */
void hf_wait_queue_leave(struct hf_op *op)
{
    struct hf_wait_queue *line = op->queue;
    bool was_first = hf_wait_queue_first(line) == op;

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    hf_list_remove(&op->queue_node);
    hf_tally_leave_queue(op);
    if (!line)
        return;
    if (hf_list_is_empty(&line->waiters))
        hf_wait_queue_stop_listening(line);
    else if (was_first)
        hf_loop_arm(op->client->loop, &hf_wait_queue_first(line)->timer, 0);
    HF_ASSERT(hf_list_is_empty(&line->waiters) || !was_first || /* WAIT-1 */
              hf_wait_queue_first(line)->timer.link);
}

void hf_wait_queue_wake_first(struct hf_wait_queue *line)
{
    notify_first_waiter(line, EVENT_DUE);
}

/* ---- pushes ---- */

bool hf_wait_queue_may_be_tracked(const struct hf_op *op)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    return hf_router_is_tracking(op->client->router) &&
           op->lock->kind->steps[STEP_ACQUIRE].reads_key_last &&
           hf_wait_queue_first(op->queue) == op &&
           hf_wait_sleeps_if_refused(&op->wait, &op->queue->channel);
}

bool hf_wait_queue_is_tracked(const struct hf_op *op)
{
    return hf_wait_queue_may_be_tracked(op) &&
           hf_channel_tracks_acquires(&op->queue->channel, op->wait.may_have_several_holders);
}

void hf_wait_queue_pushed(struct hf_wait_queue *line)
{
    const struct hf_op *first = hf_wait_queue_first(line);

    if (!first)
        return;
    HF_ASSERT(hf_loop_is_locked(first->client->loop));
    hf_channel_pushed(&line->channel, hf_loop_now(first->client->loop),
                      first->wait.may_have_several_holders);
    notify_first_waiter(line, EVENT_PUSHED);
}

/* ---- the queue of a call ---- */

static bool has_place_on_server(const struct hf_op *op)
{
    return op->lock->kind->has_server_queue && op->queue_place_valid_ms > 0;
}

bool hf_wait_queue_assign(struct hf_op *op)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    op->has_own_queue = has_place_on_server(op);
    op->queue = op->has_own_queue
                    ? hf_lock_new_queue(op->lock, 1 + HF_OWNER_TEXT_MAX)
                    : hf_lock_queue(op->lock);
    if (!op->queue)
        return false;
    op->lock->private_queues_count += op->has_own_queue;
    HF_ASSERT(is_subscription_state_ok(op->queue) &&
              (!op->has_own_queue || op->queue->users_count == 0));
    op->queue->users_count++;
    hf_shrink_cancel(&op->queue->shrink);
    return true;
}

void hf_wait_queue_name_channel(struct hf_op *op)
{
    char room[CHANNEL_SHORT_MAX];
    struct hf_bytes base = hf_lock_channel(op->lock, room);
    struct hf_bytes owner = hf_hold_field(op->hold);
    struct hf_wait_queue *own = op->queue;

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    if (!op->has_own_queue || own->is_listening)
        return;
    own->channel_name[base.len] = ':';
    memcpy(own->channel_name + base.len + 1, owner.ptr, owner.len);
    own->channel_name_len = base.len + 1 + owner.len;
    HF_ASSERT(sizeof *own + own->channel_name_len <= own->size);
}

void hf_wait_queue_unassign(struct hf_op *op)
{
    struct hf_wait_queue *line = op->queue;

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    if (!line)
        return;
    HF_ASSERT(line->users_count > 0 && hf_list_is_empty(&op->queue_node));
    op->queue = NULL;
    line->users_count--;
    if (op->has_own_queue) {
        HF_ASSERT(line->users_count == 0 && op->lock->private_queues_count > 0);
        hf_wait_queue_stop_listening(line);
        op->lock->private_queues_count--;
        hf_lock_free_queue(op->client, line);
    } else if (line->users_count == 0) {
        hf_shrink_later(op->client, &line->shrink);
    }
}

/* ---- subscriptions ---- */

static hf_status subscribe_queue(struct hf_wait_queue *line, struct hf_subscription *s,
                                 bool is_sharded)
{
    const struct hf_lock *lock = line->lock;

    s->channel = line->channel_name;
    s->channel_len = line->channel_name_len;
    s->is_sharded = is_sharded;
    return hf_router_subscribe(lock->client->router, s, lock->slot);
}

static struct hf_client *client_of_queue(struct hf_wait_queue *line)
{
    return line->lock->client;
}

static bool needs_plain_subscription(struct hf_wait_queue *line)
{
    return line->subscription.is_sharded &&
           hf_router_also_uses_plain_channels(client_of_queue(line)->router);
}

/* If there is no memory, the next hf_wait_queue_listen() tries again. */
static void add_plain_subscription(struct hf_wait_queue *line)
{
    struct hf_plain_subscription *plain =
        hf_mem_new(client_of_queue(line)->mem, sizeof *plain);

    if (!plain)
        return;
    plain->queue = line;
    plain->subscription.on_message = on_plain_message;
    plain->subscription.on_change = on_plain_subscription_change;
    if (subscribe_queue(line, &plain->subscription, false) == HF_OK)
        line->plain_subscription = plain;
    else
        hf_mem_free(client_of_queue(line)->mem, plain, sizeof *plain);
}

void hf_wait_queue_listen(struct hf_wait_queue *line)
{
    if (!line->is_listening) {
        line->subscription.on_message = on_channel_message;
        line->subscription.on_change = on_subscription_change;
        if (!hf_random_bytes(&line->channel.random_state, sizeof line->channel.random_state) ||
            !line->channel.random_state)
            line->channel.random_state = 1;
        line->channel.lottery_number = line->channel.random_state;
        line->is_listening =
            subscribe_queue(line, &line->subscription,
                            hf_lock_is_sharded(line->lock)) == HF_OK;
        line->channel.is_refused = !line->is_listening;
    }
    HF_ASSERT(is_subscription_state_ok(line));
    if (line->is_listening && !line->plain_subscription && needs_plain_subscription(line))
        add_plain_subscription(line);
    hf_registration_begin(line, line->lock);
}

void hf_wait_queue_stop_listening(struct hf_wait_queue *line)
{
    if (line->is_listening)
        hf_router_unsubscribe(&line->subscription);
    if (line->plain_subscription) {
        hf_router_unsubscribe(&line->plain_subscription->subscription);
        hf_mem_free(client_of_queue(line)->mem, line->plain_subscription,
                    sizeof *line->plain_subscription);
        line->plain_subscription = NULL;
    }
    hf_registration_end(line);
    line->is_listening = false;
    line->channel.is_live = false;
    line->channel.is_refused = false;
    hf_channel_lost(&line->channel);
    HF_ASSERT(is_subscription_state_ok(line));
}

/* A number of permits is none of listeners (TURN-2). */
static void handle_message(struct hf_wait_queue *line, const char *ptr, size_t len)
{
    if (!line->lock->kind->notification_payload)
        len = 0;
    if (hf_channel_notified(&line->channel, hf_loop_now(client_of_queue(line)->loop),
                            ptr, len))
        wake_first_by_timer(line);
    else
        hf_registration_begin(line, line->lock);
}

static void on_channel_message(struct hf_subscription *s, const char *ptr, size_t len)
{
    struct hf_wait_queue *line = HF_OWNER_OF(s, struct hf_wait_queue, subscription);

    if (line->plain_subscription)
        line->plain_subscription->may_next_message_be_double = true;
    handle_message(line, ptr, len);
}

/* A plain message after a sharded one usually belongs to the same release, whose turn
 * has been counted. It may belong to another release: one more request is harmless. */
static void on_plain_message(struct hf_subscription *s, const char *ptr,
                             size_t len)
{
    struct hf_plain_subscription *plain =
        HF_OWNER_OF(s, struct hf_plain_subscription, subscription);

    if (!plain->may_next_message_be_double) {
        handle_message(plain->queue, ptr, len);
        return;
    }
    plain->may_next_message_be_double = false;
    plain->queue->channel.wake_events++;
    notify_first_waiter(plain->queue, EVENT_WOKEN);
}

static bool are_all_subscriptions_live(struct hf_wait_queue *line)
{
    return line->subscription.is_live &&
           (!needs_plain_subscription(line) ||
            (line->plain_subscription && line->plain_subscription->subscription.is_live));
}

/* One of the line's subscriptions became live, was lost, or was refused. */
static void update_subscription_state(struct hf_wait_queue *line, bool is_one_live)
{
    bool was_live = line->channel.is_live;

    line->channel.is_live = are_all_subscriptions_live(line);
    /* Only a subscription that was never live was refused: one that was live is lost, and
     * is renewed with the connection. */
    line->channel.is_refused = !is_one_live && !was_live;
    line->channel.wake_events++; /* notifications may have been missed */
    hf_channel_lost(&line->channel);
    HF_ASSERT(is_subscription_state_ok(line));
    if (line->channel.is_live) /* if it was live before, a notification may be lost */
        notify_first_waiter(line, was_live ? EVENT_WOKEN : EVENT_SUBSCRIBED);
    else if (was_live)
        notify_first_waiter(line, EVENT_WOKEN);
    else if (!is_one_live)
        notify_first_waiter(line, EVENT_NOT_SUBSCRIBED);
}

static void on_subscription_change(struct hf_subscription *s, bool is_live)
{
    update_subscription_state(HF_OWNER_OF(s, struct hf_wait_queue, subscription), is_live);
}

static void on_plain_subscription_change(struct hf_subscription *s, bool is_live)
{
    update_subscription_state(HF_OWNER_OF(s, struct hf_plain_subscription, subscription)->queue,
                              is_live);
}

/* ---- releases of our own ---- */

void hf_wait_queue_release_begins(struct hf_op *op)
{
    struct hf_wait_queue *line = op->lock->wait_queue;

    HF_ASSERT(hf_loop_is_locked(op->client->loop) && !op->is_last_release_pending);
    op->is_last_release_pending = true;
    op->is_release_counted = line != NULL;
    if (!line)
        return;
    op->was_listening_at_release = line->is_listening;
    hf_channel_own_release_begins(&line->channel);
}

/* A subscription that began or ended meanwhile counts as one that heard the
 * message: better owe one turn too few than give way to ourselves. */
static void count_ended_release(struct hf_op *op, struct hf_wait_queue *line, int64_t heard)
{
    hf_channel_own_release_ended(&line->channel, hf_loop_now(op->client->loop), heard,
                                 op->was_listening_at_release || line->is_listening);
}

/* If others listened to a release that no queue counted, a queue must know that they are
 * owed a turn. Without memory they are not: TURN-1 is about shares, not about safety. */
void hf_wait_queue_release_ended(struct hf_op *op, int64_t heard)
{
    bool was_freeing = op->is_last_release_pending;
    struct hf_wait_queue *line;

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    op->is_last_release_pending = false;
    if (!was_freeing)
        return;
    if (op->is_release_counted) {
        HF_ASSERT(op->lock->wait_queue); /* SHRINK-2 */
        count_ended_release(op, op->lock->wait_queue, heard);
    } else if (heard > 0 && (line = hf_lock_queue(op->lock))) {
        hf_channel_own_release_begins(&line->channel);
        count_ended_release(op, line, heard);
    }
}
