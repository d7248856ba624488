/* Memory of idle objects. Rules in shrink.h. */
/* Tests: tests/live/lock/test_idle_memory.c. */
#include "lock/record/shrink.h"
#include "net/base/assert.h"

#define IDLE_MS 1000

static void on_idle_timer(struct hf_timer *timer);

void hf_shrink_init(struct hf_client *client)
{
    hf_list_init(&client->idle_objects);
    client->idle_timer = (struct hf_timer){.fire = on_idle_timer};
}

void hf_shrink_fini(struct hf_client *client)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    hf_loop_disarm(client->loop, &client->idle_timer);
}

static struct hf_shrink *longest_idle_object(const struct hf_client *client)
{
    return HF_OWNER_OF(client->idle_objects.next, struct hf_shrink, idle_node);
}

static void arm_idle_timer(struct hf_client *client)
{
    if (!hf_list_is_empty(&client->idle_objects))
        hf_loop_arm(client->loop, &client->idle_timer,
                    longest_idle_object(client)->idle_since_ms + IDLE_MS);
}

/* While objects are used all the time, the timer fires once a second. */
static void on_idle_timer(struct hf_timer *timer)
{
    struct hf_client *client = HF_OWNER_OF(timer, struct hf_client, idle_timer);
    int64_t until_ms = hf_loop_now(client->loop) - IDLE_MS;

    while (!hf_list_is_empty(&client->idle_objects) &&
           longest_idle_object(client)->idle_since_ms <= until_ms) {
        struct hf_shrink *first = longest_idle_object(client);

        HF_ASSERT(first->free_memory);
        hf_list_remove(&first->idle_node);
        first->free_memory(client, first);
    }
    arm_idle_timer(client);
}

void hf_shrink_later(struct hf_client *client, struct hf_shrink *shrink)
{
    bool was_none = hf_list_is_empty(&client->idle_objects) && !client->idle_timer.link;

    HF_ASSERT(hf_loop_is_locked(client->loop));
    HF_ASSERT(shrink->free_memory);
    hf_list_remove(&shrink->idle_node);
    shrink->idle_since_ms = hf_loop_now(client->loop);
    HF_ASSERT(hf_list_is_empty(&client->idle_objects) ||
              HF_OWNER_OF(client->idle_objects.prev, struct hf_shrink, idle_node)->idle_since_ms <=
                  shrink->idle_since_ms);
    hf_list_push(&client->idle_objects, &shrink->idle_node);
    if (was_none)
        arm_idle_timer(client);
}

void hf_shrink_cancel(struct hf_shrink *shrink)
{
    hf_list_remove(&shrink->idle_node);
}
