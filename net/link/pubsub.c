/* Subscriptions: which channels are live, over which link. The diagram is in pubsub.h.
 *
 * PUBSUB-1  With RESP3, subscriptions use the main link. With RESP2 they use a link of their
 *           own, which is wanted as long as there is a subscription. The protocol is known when
 *           the main link is first up, and may change whenever it is up again.
 * PUBSUB-2  A confirmation belongs to the oldest SUBSCRIBE without one. A confirmation for a
 *           channel that was dropped meanwhile is ignored.
 * PUBSUB-3  A subscription that is WANTED while its link is up is always retried: when the
 *           queue has space, and after any other failure (no memory, an error reply) every
 *           RETRY_MS.
 * PUBSUB-4  PING is sent on a connection that carries subscriptions and has been silent for
 *           listen_ms. Silence after that closes the connection (LINK-3), and the owners are
 *           notified. Otherwise the failure of a server would not be noticed if a proxy hides
 *           it.
 * PUBSUB-5  Several subscriptions may be for one channel, because two locks may share one. Each
 *           sends its own SUBSCRIBE, and receives each message. The server counts a connection
 *           once, so UNSUBSCRIBE is sent when the last of them is dropped, unless none of them
 *           has sent SUBSCRIBE.
 * PUBSUB-6  SUNSUBSCRIBE names its channel twice. The server may end the subscription by itself
 *           while the command is pending; the two confirmations show the difference
 *           (CONN-9). */
/* Tests: tests/test_net_pubsub.c. */
#include "net/link/pubsub.h"

#include <stdio.h>
#include <string.h>

#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/link/channel_table.h"
#include "net/net.h"

#define RETRY_MS 1000             /* as often as a waiter without a subscription
                                     looks at its lock */

/* SUBSCRIBE or UNSUBSCRIBE under way. */
struct hf_pubsub_order {
    struct hf_request request;
    struct hf_pubsub *pubsub;
    struct hf_subscription *subscription;   /* NULL: UNSUBSCRIBE */
    struct hf_list node;
};

struct hf_pubsub {
    struct hf_loop *loop;
    const struct hf_mem *mem;
    struct hf_link *main_link;
    struct hf_link *subscriber_link; /* RESP2, made when first needed */
    struct hf_list pending_orders;
    struct hf_space_waiter space_waiter;    /* PUBSUB-3 */
    struct hf_timer retry_timer;
    struct hf_timer silence_timer;  /* PUBSUB-4 */
    struct hf_request ping_request;
    bool is_pinging;
    void (*on_idle)(void *ctx);     /* NULL: not called */
    void *idle_ctx;
    void (*on_slot_moved)(void *ctx);    /* NULL: not called */
    void *slot_moved_ctx;
    void (*on_subscriber_up)(void *ctx); /* these two: NULL: not called */
    void (*on_subscriber_failed)(void *ctx);
    void *subscriber_ctx;
    struct hf_channel_table channels;
};

/* ---- the link in use (PUBSUB-1) ---- */

static bool is_resp2(const struct hf_pubsub *ps)
{
    return hf_link_protocol(ps->main_link) == 2;
}

/* NULL: not known yet, or out of memory. */
static struct hf_link *link_for_subscriptions(const struct hf_pubsub *ps)
{
    return hf_link_protocol(ps->main_link) == 3 ? ps->main_link
           : is_resp2(ps)                  ? ps->subscriber_link
                                           : NULL;
}

static void on_subscriber_push(void *ctx, struct hf_resp_value push)
{
    hf_pubsub_push(ctx, push);
}

static void on_subscriber_push_lost(void *ctx)
{
    hf_pubsub_push_lost(ctx);
}

static void on_subscriber_change(void *ctx, bool is_up);

static void on_subscriber_failure(void *ctx)
{
    struct hf_pubsub *ps = ctx;

    if (ps->on_subscriber_failed)
        ps->on_subscriber_failed(ps->subscriber_ctx);
}

static hf_status open_subscriber_link(struct hf_pubsub *ps)
{
    struct hf_link_options options = *hf_link_options(ps->main_link);
    hf_status rc;

    if (ps->subscriber_link)
        return HF_OK;
    options.predecessor.client_id = 0;
    options.protocol = 2; /* so CLIENT TRACKING is not sent */
    options.is_subscriber = true;
    options.on_push = on_subscriber_push;
    options.on_push_lost = on_subscriber_push_lost;
    options.on_change = on_subscriber_change;
    options.on_failure = on_subscriber_failure;
    options.announced_by = NULL; /* the map that named it may be gone */
    options.ctx = ps;
    rc = hf_link_new(&ps->subscriber_link, ps->loop, &options);
    explicit_bzero(&options.url, sizeof options.url);
    return rc;
}

void hf_pubsub_set_ip(struct hf_pubsub *ps, const char *ip)
{
    if (ps->subscriber_link)
        hf_link_set_ip(ps->subscriber_link, ip);
}

struct hf_link *hf_pubsub_own_link(const struct hf_pubsub *ps)
{
    return ps->subscriber_link;
}

static void update_wanted_links(struct hf_pubsub *ps)
{
    hf_link_want(ps->main_link, ps->channels.count > 0);
    if (ps->subscriber_link)
        hf_link_want(ps->subscriber_link, ps->channels.count > 0);
}

/* ---- orders ---- */

static void free_order(struct hf_pubsub_order *order)
{
    struct hf_pubsub *ps = order->pubsub;

    if (order->subscription)
        order->subscription->pending_order = NULL;
    hf_list_remove(&order->node);
    hf_mem_free(ps->mem, order, sizeof *order);
    if (ps->on_idle && hf_pubsub_is_idle(ps))
        ps->on_idle(ps->idle_ctx);
}

bool hf_pubsub_is_idle(const struct hf_pubsub *ps)
{
    return hf_list_is_empty(&ps->pending_orders);
}

void hf_pubsub_on_idle(struct hf_pubsub *ps, void (*idle)(void *ctx), void *ctx)
{
    ps->on_idle = idle;
    ps->idle_ctx = ctx;
}

void hf_pubsub_on_slot_moved(struct hf_pubsub *ps, void (*slot_moved)(void *ctx), void *ctx)
{
    ps->on_slot_moved = slot_moved;
    ps->slot_moved_ctx = ctx;
}

void hf_pubsub_on_own_link(struct hf_pubsub *ps, void (*up)(void *ctx), void (*failed)(void *ctx),
                           void *ctx)
{
    ps->on_subscriber_up = up;
    ps->on_subscriber_failed = failed;
    ps->subscriber_ctx = ctx;
}

static void report_slot_moved(struct hf_pubsub *ps)
{
    if (ps->on_slot_moved)
        ps->on_slot_moved(ps->slot_moved_ctx);
}

static void arm_retry_timer(struct hf_pubsub *ps)
{
    if (!ps->retry_timer.link)
        hf_loop_arm(ps->loop, &ps->retry_timer, hf_loop_now(ps->loop) + RETRY_MS);
}

static void on_order_done(struct hf_request *request, enum hf_outcome outcome,
                          struct hf_resp_value reply)
{
    struct hf_pubsub_order *order = HF_OWNER_OF(request, struct hf_pubsub_order, request);
    struct hf_subscription *s = order->subscription;

    free_order(order);
    if (s && outcome == HF_ANSWERED && hf_resp_error_is(reply, "MOVED"))
        report_slot_moved(s->pubsub);
    if (!s || outcome != HF_ANSWERED)
        return; /* a lost link subscribes anew when it is back */
    s->is_live = !hf_resp_is_error(reply);
    s->is_refused_for_good = hf_resp_error_is(reply, "NOPERM") || hf_resp_error_is(reply, "ERR");
    if (!s->is_live)
        arm_retry_timer(s->pubsub);
    s->on_change(s, s->is_live);
}

static hf_status submit_order(struct hf_pubsub *ps, const char *verb,
                              const char *channel, size_t len,
                              struct hf_subscription *s)
{
    struct hf_resp_arg argv[3] = {
        {verb, strlen(verb)}, {channel, len}, {channel, len}};
    size_t argc = strcmp(verb, "SUNSUBSCRIBE") == 0 ? 3 : 2; /* PUBSUB-6 */
    struct hf_pubsub_order *order = hf_mem_new(ps->mem, sizeof *order);
    hf_status rc;

    if (!order)
        return HF_E_NOMEM;
    order->pubsub = ps;
    order->subscription = s;
    order->request.done = on_order_done;
    order->request.is_acknowledged_by_push = true;
    rc = hf_link_submit(link_for_subscriptions(ps), &order->request, argv, argc, HF_NEVER);
    if (rc < 0) {
        hf_mem_free(ps->mem, order, sizeof *order);
        return rc;
    }
    HF_ASSERT(!s || !s->pending_order); /* one SUBSCRIBE at a time */
    hf_list_push(&ps->pending_orders, &order->node);
    if (s)
        s->pending_order = order;
    return HF_OK;
}

static const char *subscribe_command_name(const struct hf_subscription *s)
{
    return s->is_sharded ? "SSUBSCRIBE" : "SUBSCRIBE";
}

/* PUBSUB-3. An order of which no byte left waits for its turn like any
 * other. */
static void wait_for_output_space(struct hf_pubsub *ps, const struct hf_subscription *s)
{
    struct hf_resp_arg argv[2] = {
        {subscribe_command_name(s), strlen(subscribe_command_name(s))},
        {s->channel, s->channel_len}};

    if (hf_list_is_empty(&ps->space_waiter.node) &&
        hf_link_await_space(link_for_subscriptions(ps), &ps->space_waiter,
                            hf_resp_command_size(argv, 2)) < 0)
        arm_retry_timer(ps);
}

/* Until there is memory or room, its owner looks at the lock from time to
 * time. */
static void send_subscribe(struct hf_pubsub *ps, struct hf_subscription *s)
{
    hf_status rc = submit_order(ps, subscribe_command_name(s), s->channel, s->channel_len, s);

    if (rc == HF_E_LIMIT)
        wait_for_output_space(ps, s);
    else if (rc < 0)
        arm_retry_timer(ps);
}

/* True if no byte of it left, so that nothing needs undoing. */
static bool cancel_order(struct hf_pubsub_order *order)
{
    enum hf_outcome outcome = hf_link_cancel(&order->request);

    free_order(order);
    return outcome == HF_UNSENT;
}

/* ---- a silent peer (PUBSUB-4) ---- */

static void on_pong(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    (void)outcome; /* any answer will do; and if there is none, the link knows */
    (void)reply;
    HF_OWNER_OF(request, struct hf_pubsub, ping_request)->is_pinging = false;
}

/* If the output is full, the link is not idle, so no PING is needed; if there is no
 * memory, the next check sends it. */
static void send_ping(struct hf_pubsub *ps, struct hf_link *link)
{
    static const struct hf_resp_arg ping = {"PING", 4};

    ps->ping_request.done = on_pong;
    ps->is_pinging = hf_link_submit(link, &ps->ping_request, &ping, 1, HF_NEVER) == HF_OK;
}

static void on_silence_timer(struct hf_timer *timer)
{
    struct hf_pubsub *ps = HF_OWNER_OF(timer, struct hf_pubsub, silence_timer);
    struct hf_link *link = link_for_subscriptions(ps);
    int64_t now = hf_loop_now(ps->loop), next = now + hf_link_options(ps->main_link)->listen_ms;

    if (link && hf_link_is_up(link) && !ps->is_pinging) {
        int64_t due = hf_link_heard_ms(link) + hf_link_options(ps->main_link)->listen_ms;

        if (due <= now)
            send_ping(ps, link);
        else
            next = due;
    }
    hf_loop_arm(ps->loop, timer, next);
}

/* Without a subscription, no PING is needed. */
static void update_silence_timer(struct hf_pubsub *ps)
{
    if (ps->channels.count == 0)
        hf_loop_disarm(ps->loop, &ps->silence_timer);
    else if (!ps->silence_timer.link && hf_link_options(ps->main_link)->listen_ms > 0)
        hf_loop_arm(ps->loop, &ps->silence_timer,
                    hf_loop_now(ps->loop) + hf_link_options(ps->main_link)->listen_ms);
}

/* ---- new, free ---- */

static void on_output_space(struct hf_space_waiter *room, hf_status status);
static void on_retry(struct hf_timer *timer);

hf_status hf_pubsub_new(struct hf_pubsub **out, struct hf_loop *loop, struct hf_link *main)
{
    struct hf_pubsub *ps;

    if (hf_loop_forked(loop))
        return HF_E_FORKED;
    ps = hf_mem_new(hf_loop_mem(loop), sizeof *ps);
    if (!ps)
        return HF_E_NOMEM;
    ps->loop = loop;
    ps->mem = hf_loop_mem(loop);
    ps->main_link = main;
    ps->space_waiter.on_ready = on_output_space;
    ps->retry_timer.fire = on_retry;
    ps->silence_timer.fire = on_silence_timer;
    hf_list_init(&ps->space_waiter.node);
    hf_list_init(&ps->pending_orders);
    hf_channel_table_init(&ps->channels, loop, ps->mem);
    *out = ps;
    return HF_OK;
}

void hf_pubsub_free(struct hf_pubsub *ps)
{
    if (!ps)
        return;
    while (!hf_list_is_empty(&ps->pending_orders))
        (void)cancel_order(HF_OWNER_OF(ps->pending_orders.next, struct hf_pubsub_order, node));
    hf_link_stop_awaiting_space(&ps->space_waiter);
    hf_loop_disarm(ps->loop, &ps->retry_timer);
    hf_loop_disarm(ps->loop, &ps->silence_timer);
    if (ps->is_pinging)
        (void)hf_link_cancel(&ps->ping_request);
    hf_link_free(ps->subscriber_link);
    hf_channel_table_fini(&ps->channels);
    hf_mem_free(ps->mem, ps, sizeof *ps);
}

/* ---- what the links say ---- */

/* The server has ended a subscription by itself: a sharded one, because the
 * slot has moved. */
static void handle_ended_subscription(struct hf_pubsub *ps, struct hf_subscription *s)
{
    bool is_sharded = s->is_sharded;

    if (!s->is_live)
        return;
    s->is_live = false;
    s->on_change(s, false);
    arm_retry_timer(ps);
    if (is_sharded)
        report_slot_moved(ps);
}

static bool is_push_kind(struct hf_resp_value kind, const char *word, bool is_sharded)
{
    const char *text = word + !is_sharded; /* without the "s" */

    return hf_resp_is_text(kind, text, strlen(text));
}

/* A message, if `payload` is not NULL; else the server ended the subscription. */
static void deliver_to_channel(struct hf_pubsub *ps, struct hf_resp_value channel,
                               bool is_sharded, const struct hf_resp_value *payload)
{
    struct hf_subscription *s;
    const char *ptr, *text = NULL;
    size_t len, text_len = 0, told = 0;
    struct hf_channel_walk walk;

    if (hf_resp_bytes(channel, &ptr, &len) < 0 ||
        (payload && hf_resp_bytes(*payload, &text, &text_len) < 0))
        return;
    hf_channel_walk_begin(&ps->channels, &walk,
                          hf_channel_bucket(&ps->channels, ptr, len));
    while ((s = hf_channel_walk_next(&ps->channels, &walk)) != NULL) {
        if (!hf_subscription_is_for(s, ptr, len, is_sharded))
            continue;
        told++;
        if (payload)
            s->on_message(s, text, text_len);
        else
            handle_ended_subscription(ps, s);
    }
    HF_ASSERT(told >= hf_channel_walk_count(&walk, ptr, len, is_sharded)); /* PUBSUB-5 */
}

void hf_pubsub_push(struct hf_pubsub *ps, struct hf_resp_value push)
{
    struct hf_resp_value kind, channel, payload;

    if (hf_resp_count(push) != 3 || hf_resp_element(push, 0, &kind) < 0 ||
        hf_resp_element(push, 1, &channel) < 0 ||
        hf_resp_element(push, 2, &payload) < 0)
        return; /* a kind that is not for us */
    for (int is_sharded = 0; is_sharded < 2; is_sharded++)
        if (is_push_kind(kind, "smessage", is_sharded))
            deliver_to_channel(ps, channel, is_sharded, &payload);
        else if (is_push_kind(kind, "sunsubscribe", is_sharded))
            deliver_to_channel(ps, channel, is_sharded, NULL);
}

static void report_possible_loss(struct hf_pubsub *ps, struct hf_subscription *s)
{
    (void)ps;
    if (s->is_live)
        s->on_change(s, true);
}

void hf_pubsub_push_lost(struct hf_pubsub *ps)
{
    hf_channel_table_each(&ps->channels, ps, report_possible_loss);
}

static void report_link_down(struct hf_pubsub *ps, struct hf_subscription *s)
{
    (void)ps;
    if (!s->is_live)
        return;
    s->is_live = false;
    s->on_change(s, false);
}

static void send_subscribe_if_none_pending(struct hf_pubsub *ps, struct hf_subscription *s)
{
    if (s->pending_order && s->pending_order->request.link != link_for_subscriptions(ps))
        (void)cancel_order(s->pending_order); /* another protocol than it was */
    if (!s->pending_order && !s->is_live && link_for_subscriptions(ps))
        send_subscribe(ps, s);
}

static void on_output_space(struct hf_space_waiter *room, hf_status status)
{
    struct hf_pubsub *ps = HF_OWNER_OF(room, struct hf_pubsub, space_waiter);

    if (status == HF_OK) /* otherwise each is sent with the next connection */
        hf_channel_table_each(&ps->channels, ps, send_subscribe_if_none_pending);
}

static void on_retry(struct hf_timer *timer)
{
    struct hf_pubsub *ps = HF_OWNER_OF(timer, struct hf_pubsub, retry_timer);

    if (ps->channels.count == 0)
        return;
    if (is_resp2(ps) && open_subscriber_link(ps) < 0)
        arm_retry_timer(ps);
    update_wanted_links(ps);
    hf_channel_table_each(&ps->channels, ps, send_subscribe_if_none_pending);
}

/* A new connection has no subscriptions, whatever an old one may have. */
static void subscribe_on_new_connection(struct hf_pubsub *ps, struct hf_subscription *s)
{
    s->may_get_old_messages = false;
    s->is_live = false;
    send_subscribe_if_none_pending(ps, s);
}

static void on_subscriber_change(void *ctx, bool is_up)
{
    struct hf_pubsub *ps = ctx;

    if (link_for_subscriptions(ps) == ps->subscriber_link)
        hf_channel_table_each(&ps->channels, ps, is_up ? subscribe_on_new_connection
                              : report_link_down);
    if (is_up && ps->on_subscriber_up)
        ps->on_subscriber_up(ps->subscriber_ctx);
}

/* What it still hears would be heard twice. */
static void close_subscriber_link(struct hf_pubsub *ps)
{
    hf_link_free(ps->subscriber_link); /* its waiters for space are also dropped */
    ps->subscriber_link = NULL;
}

void hf_pubsub_link_changed(struct hf_pubsub *ps, bool is_up)
{
    if (link_for_subscriptions(ps) == ps->main_link) {
        hf_channel_table_each(&ps->channels, ps, is_up ? subscribe_on_new_connection
                              : report_link_down);
        close_subscriber_link(ps);
    } else if (is_up && ps->channels.count > 0) {
        if (open_subscriber_link(ps) < 0)
            arm_retry_timer(ps);
        hf_channel_table_each(&ps->channels, ps, send_subscribe_if_none_pending);
    }
    if (is_up)
        update_wanted_links(ps);
}

/* ---- adding, dropping ---- */

hf_status hf_pubsub_add(struct hf_pubsub *ps, struct hf_subscription *s)
{
    HF_ASSERT(hf_loop_is_locked(ps->loop));
    if (hf_loop_forked(ps->loop))
        return HF_E_FORKED;
    if (is_resp2(ps) && open_subscriber_link(ps) < 0)
        arm_retry_timer(ps);
    s->pubsub = ps;
    s->pending_order = NULL;
    s->is_live = s->is_refused_for_good = false;
    s->may_get_old_messages = false;
    hf_channel_table_add(&ps->channels, s);
    update_wanted_links(ps);
    update_silence_timer(ps);
    send_subscribe_if_none_pending(ps, s);
    return HF_OK;
}

void hf_pubsub_retry(struct hf_subscription *s)
{
    struct hf_pubsub *ps = s->pubsub;

    if (link_for_subscriptions(ps) && hf_link_is_up(link_for_subscriptions(ps)))
        send_subscribe_if_none_pending(ps, s);
}

/* If there is no memory, the server still sends messages, which no subscription
 * receives. */
static void send_unsubscribe(struct hf_pubsub *ps, const struct hf_subscription *s)
{
    struct hf_link *link = link_for_subscriptions(ps);

    HF_ASSERT(!hf_channel_table_find_same_channel(&ps->channels, s)); /* PUBSUB-5 */
    if (link && hf_link_is_up(link))
        (void)submit_order(ps, s->is_sharded ? "SUNSUBSCRIBE" : "UNSUBSCRIBE",
                           s->channel, s->channel_len, NULL);
}

/* PUBSUB-5 */
void hf_pubsub_drop(struct hf_subscription *s)
{
    struct hf_pubsub *ps = s->pubsub;
    struct hf_subscription *other;
    bool may_be_subscribed;

    hf_channel_table_remove(&ps->channels, s);
    update_wanted_links(ps);
    update_silence_timer(ps);
    may_be_subscribed = !(s->pending_order && cancel_order(s->pending_order)) ||
        s->may_get_old_messages;
    other = hf_channel_table_find_same_channel(&ps->channels, s);
    if (may_be_subscribed && other)
        other->may_get_old_messages = true;
    else if (may_be_subscribed)
        send_unsubscribe(ps, s);
}

bool hf_pubsub_answer_credentials(struct hf_pubsub *ps, uint64_t id,
                                  const struct hf_credentials *credentials,
                                  const struct hf_error *why)
{
    return ps->subscriber_link &&
           hf_link_answer_credentials(ps->subscriber_link, id, credentials, why);
}
