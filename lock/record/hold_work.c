/* What a hold has only while it is not idle. Rules in hold_work.h. */
/* Tests: tests/live/lock/test_idle_memory.c, tests/test_lock_lease_pack.c. */
#include "lock/record/hold_work.h"

#include <stddef.h>
#include <string.h>

#include "lock/record/shrink.h"
#include "net/base/assert.h"
#include "net/base/mem.h"

/* ---- memory ---- */

struct hf_hold_work *hf_hold_take_work(struct hf_client *client)
{
    struct hf_hold_work *work;

    HF_ASSERT(hf_loop_is_locked(client->loop));
    if (hf_list_is_empty(&client->spare_works))
        return hf_mem_new(client->mem, sizeof *work);
    work = HF_OWNER_OF(client->spare_works.next, struct hf_hold_work, shrink.idle_node);
    hf_list_remove(&work->shrink.idle_node);
    HF_ASSERT(client->spare_works_count > 0);
    client->spare_works_count--;
    return work;
}

void hf_hold_return_work(struct hf_client *client, struct hf_hold_work *work)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    HF_ASSERT(!work->acting_op && !work->batch && hf_list_is_empty(&work->waiting_ops));
    HF_ASSERT(hf_list_is_empty(&work->due_node) && hf_list_is_empty(&work->unsure_node));
    if (work->is_memory_of_release)
        return;
    if (client->spare_works_count < HOLDS_SPARE_MAX && !client->is_closing) {
        hf_list_push(&client->spare_works, &work->shrink.idle_node);
        client->spare_works_count++;
    } else {
        hf_mem_free(client->mem, work, sizeof *work);
    }
}

/* ---- idle, and not ---- */

static uint64_t serial_of_hold(const struct hf_hold *hold)
{
    return (uint64_t)hold->serial_high << 32 | hold->serial_low;
}

size_t hf_hold_put_field(const struct hf_hold *hold, char dst[HF_OWNER_TEXT_MAX])
{
    const struct hf_hold_work *work = hold->work;

    if (!work)
        return hf_owner_format(dst, hold->lock->client->uuid, hold->owner,
                               serial_of_hold(hold), hold->lock->kind->owner_suffix);
    memcpy(dst, work->hold_field, (size_t)work->hold_field_len + 1);
    return work->hold_field_len;
}

static void free_idle_work(struct hf_client *client, struct hf_shrink *s);

void hf_hold_init_work(struct hf_hold *hold, struct hf_hold_work *work)
{
    memset(work, 0, offsetof(struct hf_hold_work, lease));
    work->hold = hold;
    work->shrink.free_memory = free_idle_work;
    hf_list_init(&work->shrink.idle_node);
    hf_list_init(&work->due_node);
    hf_list_init(&work->unsure_node);
    hf_list_init(&work->waiting_ops);
}

void hf_hold_use_work(struct hf_hold *hold, struct hf_hold_work *work)
{
    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    HF_ASSERT(!hold->work && !hold->is_freed);
    hf_hold_init_work(hold, work);
    hf_lease_unpack(&work->lease, &hold->packed_lease, hold->lock->client->watchdog_ms);
    work->hold_field_len = (uint8_t)hf_hold_put_field(hold, work->hold_field);
    hold->work = work;
}

bool hf_hold_ensure_work(struct hf_hold *hold)
{
    struct hf_hold_work *work = hold->work;

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    if (work)
        return true;
    if ((work = hf_hold_take_work(hold->lock->client)))
        hf_hold_use_work(hold, work);
    return work != NULL;
}

/* The next renewal needs the result of the last one, and the next push needs the time of the
 * last check (TRACK-3). */
static bool is_work_in_use(const struct hf_hold_work *work)
{
    return work->acting_op || work->batch || work->renews_without_others || work->renews_by_eval ||
           work->push_check_from_ms > hf_loop_now(work->hold->lock->client->loop) ||
           !hf_list_is_empty(&work->waiting_ops) ||
           !hf_list_is_empty(&work->due_node) || !hf_list_is_empty(&work->unsure_node);
}

void hf_hold_drop_work(struct hf_hold *hold)
{
    struct hf_hold_work *work = hold->work;

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    if (!work)
        return;
    HF_ASSERT(work->hold == hold);
    hf_shrink_cancel(&work->shrink);
    hold->work = NULL;
    hf_hold_return_work(hold->lock->client, work);
}

void hf_hold_shrink(struct hf_hold *hold)
{
    struct hf_hold_work *work = hold->work;

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    if (work && !hf_list_is_empty(&hold->node) && !is_work_in_use(work) &&
        hf_lease_pack(&hold->packed_lease, &work->lease))
        hf_hold_drop_work(hold);
}

static void free_idle_work(struct hf_client *client, struct hf_shrink *s)
{
    (void)client;
    hf_hold_shrink(HF_OWNER_OF(s, struct hf_hold_work, shrink)->hold);
}

void hf_hold_shrink_later(struct hf_hold *hold)
{
    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    HF_ASSERT(!hold->is_freed);
    hf_shrink_later(hold->lock->client, &hold->work->shrink);
}

void hf_hold_shrink_soon(struct hf_hold *hold)
{
    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    hf_hold_shrink(hold);
    if (hold->work)
        hf_hold_shrink_later(hold);
}

const struct hf_lease *hf_hold_lease(const struct hf_hold *hold, struct hf_lease *copy)
{
    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    if (hold->work)
        return &hold->work->lease;
    hf_lease_unpack(copy, &hold->packed_lease, hold->lock->client->watchdog_ms);
    return copy;
}

struct hf_lease *hf_hold_edit_lease(struct hf_hold *hold, struct hf_lease *copy)
{
    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    if (hold->work)
        return &hold->work->lease;
    hf_lease_unpack(copy, &hold->packed_lease, hold->lock->client->watchdog_ms);
    return copy;
}

/* Its moments fit (PACK-2): the event sets them to the present or to other moments of the
 * lease. */
void hf_hold_store_lease(struct hf_hold *hold, const struct hf_lease *l)
{
    bool is_packed = hold->work || hf_lease_pack(&hold->packed_lease, l);

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    HF_ASSERT(is_packed);
    (void)is_packed;
    hf_hold_rearm_timer(hold);
}

/* ---- events ---- */

void hf_hold_rearm_timer(struct hf_hold *hold)
{
    struct hf_loop *loop = hold->lock->client->loop;
    struct hf_lease copy;
    const struct hf_lease *lease = hf_hold_lease(hold, &copy);
    int64_t next = hf_lease_next_ms(lease);

    HF_ASSERT(hf_loop_is_locked(loop));
    HF_ASSERT(next == HF_NEVER || next <= lease->claims.end_ms);
    if (next == HF_NEVER)
        hf_loop_disarm(loop, &hold->timer);
    else
        hf_loop_arm(loop, &hold->timer, next);
}

void hf_hold_renew_early(struct hf_hold *hold, int64_t at_ms)
{
    struct hf_lease copy, *lease = hf_hold_edit_lease(hold, &copy);

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    hf_lease_renew_early(lease, at_ms);
    hf_hold_store_lease(hold, lease);
}

void hf_hold_look_early(struct hf_hold *hold, int64_t at_ms)
{
    struct hf_lease copy, *lease = hf_hold_edit_lease(hold, &copy);

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    hf_lease_look_early(lease, at_ms);
    hf_hold_store_lease(hold, lease);
}
