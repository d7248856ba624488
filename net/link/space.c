/* Waiting for space. See space.h. */
/* Tests: tests/test_net_room.c, tests/live/lock/test_lock_full.c. */
#include "net/link/space.h"
#include "net/base/assert.h"
#include "net/link/conn.h"

static struct hf_space_waiter *waiter_of_node(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_space_waiter, node);
}

void hf_space_queue_init(struct hf_space_queue *q)
{
    hf_list_init(&q->waiters);
    hf_list_init(&q->end_marker.node);
    q->end_marker.is_urgent = false;
}

void hf_space_queue_add(struct hf_space_queue *q,
                        struct hf_space_waiter *waiter)
{
    bool is_serving = !hf_list_is_empty(&q->end_marker.node);
    struct hf_list *next = &q->waiters;

    HF_ASSERT(waiter->on_ready && waiter->bytes > 0);
    if (waiter->is_urgent)
        for (next = is_serving ? q->end_marker.node.next : next->next;
             next != &q->waiters && waiter_of_node(next)->is_urgent;
             next = next->next)
            continue;
    hf_list_push(next, &waiter->node);
}

static void remove_and_call_ready(struct hf_space_waiter *waiter, hf_status status)
{
    hf_list_remove(&waiter->node);
    waiter->on_ready(waiter, status);
}

/* `end_marker` comes after all that wait now, so the end of this pass does not change when
 * waiters are added or removed meanwhile. */
static bool is_waiter_before_stop(const struct hf_space_queue *q)
{
    return q->waiters.next != &q->end_marker.node;
}

void hf_space_queue_serve(struct hf_space_queue *q, const struct hf_conn *conn)
{
    hf_list_push(&q->waiters, &q->end_marker.node);
    while (is_waiter_before_stop(q) &&
           hf_conn_has_space(conn, waiter_of_node(q->waiters.next)->bytes))
        remove_and_call_ready(waiter_of_node(q->waiters.next), HF_OK);
    HF_ASSERT(!is_waiter_before_stop(q) ||
              !hf_conn_has_space(conn, waiter_of_node(q->waiters.next)->bytes));
    hf_list_remove(&q->end_marker.node);
}

void hf_space_queue_fail(struct hf_space_queue *q, hf_status status)
{
    hf_list_push(&q->waiters, &q->end_marker.node);
    while (is_waiter_before_stop(q))
        remove_and_call_ready(waiter_of_node(q->waiters.next), status);
    hf_list_remove(&q->end_marker.node);
}
