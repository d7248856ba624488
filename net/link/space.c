/* Waiting for space. See space.h. */
/* Tests: tests/test_net_room.c, tests/live/lock/test_lock_full.c. */
#include "net/link/space.h"
#include "net/base/assert.h"
#include "net/link/conn.h"

static struct hf_space_waiter *waiter_of(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_space_waiter, node);
}

void hf_space_queue_init(struct hf_space_queue *q)
{
    hf_list_init(&q->waiting);
    hf_list_init(&q->stop.node);
    q->stop.is_urgent = false;
}

void hf_space_queue_add(struct hf_space_queue *q,
                        struct hf_space_waiter *waiter)
{
    bool is_serving = !hf_list_is_empty(&q->stop.node);
    struct hf_list *next = &q->waiting;

    HF_ASSERT(waiter->ready && waiter->bytes > 0);
    if (waiter->is_urgent)
        for (next = is_serving ? q->stop.node.next : next->next;
             next != &q->waiting && waiter_of(next)->is_urgent;
             next = next->next)
            continue;
    hf_list_push(next, &waiter->node);
}

static void call_ready(struct hf_space_waiter *waiter, hf_status status)
{
    hf_list_remove(&waiter->node);
    waiter->ready(waiter, status);
}

/* `stop` comes after all that wait now, so the end of this pass does not change when
 * waiters are added or removed meanwhile. */
static bool is_one_left(const struct hf_space_queue *q)
{
    return q->waiting.next != &q->stop.node;
}

void hf_space_queue_serve(struct hf_space_queue *q, const struct hf_conn *conn)
{
    hf_list_push(&q->waiting, &q->stop.node);
    while (is_one_left(q) &&
           hf_conn_has_space(conn, waiter_of(q->waiting.next)->bytes))
        call_ready(waiter_of(q->waiting.next), HF_OK);
    HF_ASSERT(!is_one_left(q) || !hf_conn_has_space(conn, waiter_of(q->waiting.next)->bytes));
    hf_list_remove(&q->stop.node);
}

void hf_space_queue_fail(struct hf_space_queue *q, hf_status status)
{
    hf_list_push(&q->waiting, &q->stop.node);
    while (is_one_left(q))
        call_ready(waiter_of(q->waiting.next), status);
    hf_list_remove(&q->stop.node);
}
