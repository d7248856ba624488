/* Subscriptions: which channels are live, over which link.
 *
 *   WANTED -link up-> ASKED -confirmed-> LIVE -link down-> WANTED
 *
 * P1  In RESP3 they ride on the main link, in RESP2 on a link of their own that
 *     is wanted as long as there is a subscription. Which it is, is known when
 *     the main link was first up, and may change whenever it is up again.
 * P2  A confirmation belongs to the oldest unanswered SUBSCRIBE. One for a
 *     channel that was dropped meanwhile finds nobody. */
#include <string.h>

#include "net/net.h"

#define BUCKETS 1024u             /* ten thousand channels: ten a bucket */

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
    struct hf_link *main;
    struct hf_link *own;            /* RESP2, made when first needed */
    struct hf_link_options options; /* for `own` */
    uint32_t count;
    struct hf_list orders;
    void (*idle)(void *ctx);        /* NULL: nobody asks */
    void *idle_ctx;
    void (*astray)(void *ctx);      /* likewise */
    void *astray_ctx;
    struct hf_list buckets[BUCKETS];
};

/* ---- looking up ---- */

static struct hf_list *bucket_of(struct hf_pubsub *ps, const char *ptr,
                                 size_t len)
{
    return &ps->buckets[hf_hash(ptr, len) % BUCKETS];
}

static struct hf_subscription *find(struct hf_pubsub *ps, const char *ptr,
                                    size_t len)
{
    struct hf_list *bucket = bucket_of(ps, ptr, len);

    for (struct hf_list *l = bucket->next; l != bucket; l = l->next) {
        struct hf_subscription *s =
            HF_OWNER_OF(l, struct hf_subscription, node);

        if (s->channel_len == len && memcmp(s->channel, ptr, len) == 0)
            return s;
    }
    return NULL;
}

/* ---- the link in use (P1) ---- */

static bool is_resp2(const struct hf_pubsub *ps)
{
    return hf_link_protocol(ps->main) == 2;
}

/* NULL: not known yet, or there was no memory for one. */
static struct hf_link *link_of(const struct hf_pubsub *ps)
{
    return hf_link_protocol(ps->main) == 3 ? ps->main
           : is_resp2(ps)                  ? ps->own
                                           : NULL;
}

static void on_own_push(void *ctx, struct hf_resp_value push)
{
    hf_pubsub_push(ctx, push);
}

static void on_own_change(void *ctx, bool is_up);

static hf_status open_own(struct hf_pubsub *ps)
{
    struct hf_link_options options = ps->options;
    hf_status rc;

    if (ps->own)
        return HF_OK;
    options.protocol = 2;
    options.is_subscriber = true;
    options.on_push = on_own_push;
    options.on_change = on_own_change;
    options.ctx = ps;
    rc = hf_link_new(&ps->own, ps->loop, &options);
    explicit_bzero(&options.url, sizeof options.url);
    return rc;
}

static void want_link(struct hf_pubsub *ps)
{
    hf_link_want(ps->main, ps->count > 0);
    if (ps->own)
        hf_link_want(ps->own, ps->count > 0);
}

/* ---- orders ---- */

static void order_free(struct hf_pubsub_order *order)
{
    struct hf_pubsub *ps = order->pubsub;

    if (order->subscription)
        order->subscription->order = NULL;
    hf_list_remove(&order->node);
    hf_mem_free(ps->mem, order, sizeof *order);
    if (ps->idle && hf_pubsub_is_idle(ps))
        ps->idle(ps->idle_ctx);
}

bool hf_pubsub_is_idle(const struct hf_pubsub *ps)
{
    return hf_list_is_empty(&ps->orders);
}

void hf_pubsub_on_idle(struct hf_pubsub *ps, void (*idle)(void *ctx), void *ctx)
{
    ps->idle = idle;
    ps->idle_ctx = ctx;
}

void hf_pubsub_on_astray(struct hf_pubsub *ps, void (*astray)(void *ctx),
                         void *ctx)
{
    ps->astray = astray;
    ps->astray_ctx = ctx;
}

static void gone_astray(struct hf_pubsub *ps)
{
    if (ps->astray)
        ps->astray(ps->astray_ctx);
}

static void order_done(struct hf_request *request, enum hf_outcome outcome,
                       struct hf_resp_value reply)
{
    struct hf_pubsub_order *order =
        HF_OWNER_OF(request, struct hf_pubsub_order, request);
    struct hf_subscription *s = order->subscription;

    order_free(order);
    if (s && outcome == HF_ANSWERED && hf_resp_error_is(reply, "MOVED"))
        gone_astray(s->pubsub);
    if (!s || outcome != HF_ANSWERED)
        return; /* a lost link subscribes anew when it is back */
    s->is_live = !hf_resp_is_error(reply);
    s->on_change(s, s->is_live);
}

static hf_status give_order(struct hf_pubsub *ps, const char *verb,
                            const char *channel, size_t len,
                            struct hf_subscription *s)
{
    struct hf_resp_arg argv[2] = {{verb, strlen(verb)}, {channel, len}};
    struct hf_pubsub_order *order = hf_mem_new(ps->mem, sizeof *order);
    hf_status rc;

    if (!order)
        return HF_E_NOMEM;
    order->pubsub = ps;
    order->subscription = s;
    order->request.done = order_done;
    order->request.is_acknowledged_by_push = true;
    rc = hf_link_submit(link_of(ps), &order->request, argv, 2, HF_NEVER);
    if (rc < 0) {
        hf_mem_free(ps->mem, order, sizeof *order);
        return rc;
    }
    hf_list_push(&ps->orders, &order->node);
    if (s)
        s->order = order;
    return HF_OK;
}

static hf_status subscribe(struct hf_pubsub *ps, struct hf_subscription *s)
{
    return give_order(ps, s->is_sharded ? "SSUBSCRIBE" : "SUBSCRIBE",
                      s->channel, s->channel_len, s);
}

/* True if no byte of it left, so that nothing needs undoing. */
static bool withdraw(struct hf_pubsub_order *order)
{
    enum hf_outcome outcome = hf_link_cancel(&order->request);

    order_free(order);
    return outcome == HF_UNSENT;
}

/* ---- new, free ---- */

hf_status hf_pubsub_new(struct hf_pubsub **out, struct hf_loop *loop,
                        struct hf_link *main,
                        const struct hf_link_options *options)
{
    struct hf_pubsub *ps;

    if (hf_loop_forked(loop))
        return HF_E_FORKED;
    ps = hf_mem_new(hf_loop_mem(loop), sizeof *ps);
    if (!ps)
        return HF_E_NOMEM;
    ps->loop = loop;
    ps->mem = hf_loop_mem(loop);
    ps->main = main;
    ps->options = *options;
    hf_list_init(&ps->orders);
    for (size_t i = 0; i < BUCKETS; i++)
        hf_list_init(&ps->buckets[i]);
    *out = ps;
    return HF_OK;
}

void hf_pubsub_free(struct hf_pubsub *ps)
{
    if (!ps)
        return;
    while (!hf_list_is_empty(&ps->orders))
        (void)withdraw(HF_OWNER_OF(ps->orders.next, struct hf_pubsub_order,
                                   node));
    hf_link_free(ps->own);
    explicit_bzero(&ps->options.url, sizeof ps->options.url);
    hf_mem_free(ps->mem, ps, sizeof *ps);
}

/* ---- what the links say ---- */

/* The slot has moved: the server has ended a subscription by itself. */
static void ended(struct hf_pubsub *ps, struct hf_subscription *s)
{
    if (!s->is_sharded || !s->is_live)
        return;
    s->is_live = false;
    s->on_change(s, false);
    gone_astray(ps);
}

void hf_pubsub_push(struct hf_pubsub *ps, struct hf_resp_value push)
{
    struct hf_resp_value kind, channel, payload;
    struct hf_subscription *s;
    const char *ptr;
    size_t len;

    if (hf_resp_count(push) != 3 || hf_resp_element(push, 0, &kind) < 0 ||
        hf_resp_element(push, 1, &channel) < 0 ||
        hf_resp_element(push, 2, &payload) < 0 ||
        hf_resp_bytes(channel, &ptr, &len) < 0)
        return; /* a kind that is not for us */
    s = find(ps, ptr, len);
    if (!s)
        return;
    if (hf_resp_is_text(kind, "sunsubscribe", 12))
        ended(ps, s);
    else if (hf_resp_is_text(kind, s->is_sharded ? "smessage" : "message",
                             s->is_sharded ? 8 : 7) &&
             hf_resp_bytes(payload, &ptr, &len) == HF_OK)
        s->on_message(s, ptr, len);
}

static void each_subscription(struct hf_pubsub *ps,
                              void (*act)(struct hf_pubsub *,
                                          struct hf_subscription *))
{
    for (size_t i = 0; i < BUCKETS; i++) {
        struct hf_list *bucket = &ps->buckets[i], *next;

        for (struct hf_list *l = bucket->next; l != bucket; l = next) {
            next = l->next; /* `act` may drop this one */
            act(ps, HF_OWNER_OF(l, struct hf_subscription, node));
        }
    }
}

static void went_down(struct hf_pubsub *ps, struct hf_subscription *s)
{
    (void)ps;
    if (!s->is_live)
        return;
    s->is_live = false;
    s->on_change(s, false);
}

/* Without memory it is told, and looks at the lock from time to time. */
static void ask_for(struct hf_pubsub *ps, struct hf_subscription *s)
{
    if (s->order && s->order->request.link != link_of(ps))
        (void)withdraw(s->order); /* another protocol than it was */
    if (!s->order && !s->is_live && (!link_of(ps) || subscribe(ps, s) < 0))
        s->on_change(s, false);
}

/* A new connection has no subscriptions, whatever an old one may have. */
static void came_up(struct hf_pubsub *ps, struct hf_subscription *s)
{
    s->is_live = false;
    ask_for(ps, s);
}

static void on_own_change(void *ctx, bool is_up)
{
    struct hf_pubsub *ps = ctx;

    if (link_of(ps) == ps->own)
        each_subscription(ps, is_up ? came_up : went_down);
}

/* What it still hears would be heard twice. */
static void close_own(struct hf_pubsub *ps)
{
    hf_link_free(ps->own);
    ps->own = NULL;
}

void hf_pubsub_change(struct hf_pubsub *ps, bool is_up)
{
    if (link_of(ps) == ps->main) {
        each_subscription(ps, is_up ? came_up : went_down);
        close_own(ps);
    } else if (is_up && ps->count > 0) {
        (void)open_own(ps); /* without memory, each is told */
        each_subscription(ps, ask_for);
    }
    if (is_up)
        want_link(ps);
}

/* ---- adding, dropping ---- */

hf_status hf_pubsub_add(struct hf_pubsub *ps, struct hf_subscription *s)
{
    hf_status rc;

    if (hf_loop_forked(ps->loop))
        return HF_E_FORKED;
    if (is_resp2(ps) && (rc = open_own(ps)) < 0)
        return rc;
    s->pubsub = ps;
    s->order = NULL;
    s->is_live = false;
    if (link_of(ps) && (rc = subscribe(ps, s)) < 0)
        return rc;
    hf_list_push(bucket_of(ps, s->channel, s->channel_len), &s->node);
    ps->count++;
    want_link(ps);
    return HF_OK;
}

void hf_pubsub_retry(struct hf_subscription *s)
{
    struct hf_pubsub *ps = s->pubsub;

    if (link_of(ps) && hf_link_is_up(link_of(ps)))
        ask_for(ps, s);
}

void hf_pubsub_drop(struct hf_subscription *s)
{
    struct hf_pubsub *ps = s->pubsub;
    struct hf_link *link = link_of(ps);

    hf_list_remove(&s->node);
    ps->count--;
    want_link(ps);
    if (s->order && withdraw(s->order))
        return;
    /* Without memory the server goes on telling us: heard by nobody. */
    if (link && hf_link_is_up(link))
        (void)give_order(ps, s->is_sharded ? "SUNSUBSCRIBE" : "UNSUBSCRIBE",
                         s->channel, s->channel_len, NULL);
}
