/* Deadlines, in one line. See due.h. */
#include "net/link/due.h"
#include "net/loop/loop.h"

static struct hf_request *request_of(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_request, due_node);
}

static int64_t first_ms(const struct hf_due *due)
{
    return request_of(due->line.next)->deadline_ms;
}

static void tell(struct hf_due *due, struct hf_request *request)
{
    hf_due_forget(due, request);
    due->late(request);
}

static void on_own(struct hf_timer *timer)
{
    struct hf_request *request = HF_OWNER_OF(timer, struct hf_request, timer);

    tell(request->due, request);
}

/* Those whose time has come, and whom their ends bring into the line meanwhile:
 * none of those is due yet, or it has a timer of its own. */
static void on_first(struct hf_timer *timer)
{
    struct hf_due *due = HF_OWNER_OF(timer, struct hf_due, timer);
    int64_t now = hf_loop_now(due->loop);

    while (!hf_list_is_empty(&due->line) && first_ms(due) <= now)
        tell(due, request_of(due->line.next));
    if (!hf_list_is_empty(&due->line))
        hf_loop_arm(due->loop, timer, first_ms(due));
}

void hf_due_init(struct hf_due *due, struct hf_loop *loop,
                 void (*late)(struct hf_request *request))
{
    due->loop = loop;
    due->late = late;
    due->timer = (struct hf_timer){.fire = on_first};
    hf_list_init(&due->line);
}

void hf_due_fini(struct hf_due *due)
{
    hf_loop_disarm(due->loop, &due->timer);
}

static bool is_in_order(const struct hf_due *due, int64_t deadline_ms)
{
    return deadline_ms > hf_loop_now(due->loop) &&
           (hf_list_is_empty(&due->line) ||
            request_of(due->line.prev)->deadline_ms <= deadline_ms);
}

void hf_due_add(struct hf_due *due, struct hf_request *request,
                int64_t deadline_ms)
{
    request->due = due;
    request->deadline_ms = deadline_ms;
    request->timer = (struct hf_timer){.fire = on_own};
    hf_list_init(&request->due_node);
    if (deadline_ms == HF_NEVER)
        return;
    if (!is_in_order(due, deadline_ms)) {
        hf_loop_arm(due->loop, &request->timer, deadline_ms);
        return;
    }
    hf_list_push(&due->line, &request->due_node);
    if (!due->timer.link || deadline_ms < due->timer.due_ms)
        hf_loop_arm(due->loop, &due->timer, deadline_ms);
}

void hf_due_forget(struct hf_due *due, struct hf_request *request)
{
    hf_list_remove(&request->due_node);
    hf_loop_disarm(due->loop, &request->timer);
}
