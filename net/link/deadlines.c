/* Deadlines, in one queue. See deadlines.h. */
/* Tests: tests/test_net_link_request.c. */
#include "net/link/deadlines.h"
#include "net/base/assert.h"
#include "net/loop/loop.h"

static struct hf_request *request_of_node(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_request, deadline_node);
}

static int64_t first_deadline_ms(const struct hf_deadlines *d)
{
    return request_of_node(d->queue.next)->deadline_ms;
}

static void report_deadline_passed(struct hf_deadlines *d, struct hf_request *request)
{
    hf_deadlines_forget(d, request);
    d->on_deadline_passed(request);
}

static void on_own_timer(struct hf_timer *timer)
{
    struct hf_request *request = HF_OWNER_OF(timer, struct hf_request, timer);

    report_deadline_passed(request->deadlines, request);
}

/* All whose deadline has passed. `on_deadline_passed` may add others meanwhile: none of those
 * is due yet, or it has a timer of its own. */
static void on_queue_timer(struct hf_timer *timer)
{
    struct hf_deadlines *d = HF_OWNER_OF(timer, struct hf_deadlines, queue_timer);
    int64_t now = hf_loop_now(d->loop);

    while (!hf_list_is_empty(&d->queue) && first_deadline_ms(d) <= now)
        report_deadline_passed(d, request_of_node(d->queue.next));
    if (!hf_list_is_empty(&d->queue))
        hf_loop_arm(d->loop, timer, first_deadline_ms(d));
}

void hf_deadlines_init(struct hf_deadlines *d, struct hf_loop *loop,
                       void (*late)(struct hf_request *request))
{
    d->loop = loop;
    d->on_deadline_passed = late;
    d->queue_timer = (struct hf_timer){.fire = on_queue_timer};
    hf_list_init(&d->queue);
}

void hf_deadlines_fini(struct hf_deadlines *d)
{
    HF_ASSERT(hf_loop_is_locked(d->loop));
    hf_loop_disarm(d->loop, &d->queue_timer);
}

static bool may_join_queue(const struct hf_deadlines *d, int64_t deadline_ms)
{
    return deadline_ms > hf_loop_now(d->loop) &&
           (hf_list_is_empty(&d->queue) ||
            request_of_node(d->queue.prev)->deadline_ms <= deadline_ms);
}

void hf_deadlines_add(struct hf_deadlines *d, struct hf_request *request,
                      int64_t deadline_ms)
{
    HF_ASSERT(hf_loop_is_locked(d->loop));
    request->deadlines = d;
    request->deadline_ms = deadline_ms;
    request->timer = (struct hf_timer){.fire = on_own_timer};
    hf_list_init(&request->deadline_node);
    if (deadline_ms == HF_NEVER)
        return;
    if (!may_join_queue(d, deadline_ms)) {
        hf_loop_arm(d->loop, &request->timer, deadline_ms);
        return;
    }
    hf_list_push(&d->queue, &request->deadline_node);
    if (!d->queue_timer.link || deadline_ms < d->queue_timer.due_ms)
        hf_loop_arm(d->loop, &d->queue_timer, deadline_ms);
}

void hf_deadlines_forget(struct hf_deadlines *d, struct hf_request *request)
{
    HF_ASSERT(hf_loop_is_locked(d->loop));
    hf_list_remove(&request->deadline_node);
    hf_loop_disarm(d->loop, &request->timer);
}
