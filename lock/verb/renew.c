/* The watchdog: holds whose renewals are due in one turn are renewed together, at most
 * BATCH_MAX in one script call, and all calls in one write.
 *
 * In a cluster, a script call is for one slot. While the slot moves, a call for several locks
 * is refused (TRYAGAIN) as long as the node has some of them and not the others; a call for
 * one lock is not refused.
 *
 * WATCHDOG-1  A batch is sent once. The holds that it did not renew are gathered into a new
 *             batch, so that a hold that was released meanwhile is never renewed again.
 * WATCHDOG-2  A hold that is released leaves its batch. If the batch was not sent yet, it is
 *             cancelled, and the others are gathered into a new one. If it was sent, it is
 *             not cancelled, but follows no redirection, and its reply has no effect on the
 *             hold. A batch of looks is also cancelled after it was sent if one of its holds
 *             leaves it for a renewal (LEASE-6): a look changes nothing on the server.
 * WATCHDOG-3  A batch may be encoded late, and again (no connection, no space, MOVED, ASK).
 *             So its arguments remain valid until it ends, also those of a hold that was
 *             freed.
 * WATCHDOG-4  A hold that a call for several locks did not find is renewed alone before
 *             it counts as lost. A proxy (Envoy, twemproxy) that distributes locks over
 *             several servers sends a call to the server of its first key. After a lock was
 *             found only when it was renewed alone, the client renews each lock alone.
 * WATCHDOG-5  The holds that are due in one turn are sorted by slot and script (due_order.h). So
 *             they cost at most as many calls as they have slots, and one more for each
 *             BATCH_MAX of them, or for each BATCH_NAMES_MAX of their names; more only if one
 *             slot has kinds with several scripts, or holds that are renewed alone (WATCHDOG-4).
 * WATCHDOG-6  If a client has many holds in a cluster, those of one slot are renewed in one turn,
 *             whenever each was acquired (LEASE-8). So a third of the lease has at most as many
 *             calls as the slots that are in use, and one more for each BATCH_MAX holds. The
 *             slots are distributed over 16 turns. A full batch is not moved, so that many holds of
 *             one slot do not become due at once; nor is a hold of a slot that once had more
 *             than CROWDED_HOLDS in a turn (every 64th slot counts as the same). */
/* Tests: tests/live/lock/test_lock_watchdog.c, tests/live/lock/test_lock_shorter.c,
 * tests/live/server/test_less.c. */
#include "lock/verb/renew.h"

#include <assert.h>
#include <string.h>

#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/log.h"
#include "lock/record/table.h"
#include "lock/verb/due_order.h"
#include "lock/verb/track.h"
#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/route/refusal.h"

#define BATCH_MAX 100   /* locks a call, as lockWatchdogBatchSize: WIRE 6 */
/* Names in bytes: a batch is never too great for the link, nor the server kept
 * busy by long ones. One may be as long as it is. */
#define BATCH_NAMES_MAX (16u << 10)

/* WATCHDOG-6: of 4,096 holds in 16,384 slots, about every fifth shares its slot. Holds that do not
 * share it would be renewed once more for nothing. */
#define ALIGNED_FROM_HOLDS 4096

#define CROWDED_HOLDS 3200      /* WATCHDOG-6: the server needs about 16 ms for them */

/* A lock's name or key, and the key of its hold; an owner's field. */
static_assert(2 * (BATCH_NAMES_MAX + HF_LOCK_NAME_MAX) +
                      BATCH_MAX * (2 * OP_AFFIX_MAX + HF_OWNER_TEXT_MAX +
                                   3 * HF_RESP_ARG_EXTRA) +
                      OP_SCRIPT_MAX + 1024 <=
                  OP_BYTES_MAX,
              "a batch fits into the least output_max");

struct hf_batch {
    struct hf_list node;
    struct hf_client *client;
    struct hf_call call;
    struct hf_error error;
    char echo[HF_OWNER_TEXT_MAX];
    char lease_text[HF_RESP_INTEGER_MAX];
    bool is_second_look;                /* WATCHDOG-4: for one hold */
    bool declares_hold_keys;            /* it lists and declares hold keys: declare.h */
    bool is_look;                       /* with lease 0, which renews nothing */
    size_t count;
    struct hf_resp_arg *argv;           /* this and the next two: after the struct */
    struct hf_hold **holds;
    bool *has_left;                     /* the hold was released meanwhile (WATCHDOG-2) */
};

/* ---- the facts ---- */

static bool is_hold_in_batch_ok(const struct hf_batch *batch, size_t i)
{
    const struct hf_hold *hold = batch->holds[i], *first = batch->holds[0];

    return hold->work->batch == batch && hf_list_is_empty(&hold->work->due_node) &&
           hold->lock->slot == first->lock->slot &&
           hold->lock->kind->steps[STEP_RENEW].script == batch->call.script &&
           hold->work->is_due_for_look == batch->is_look &&
           batch->argv[batch->call.argc - batch->count + i].ptr == hold->work->hold_field;
}

/* A call renews or looks at holds of one slot, by one script; each has its own owner. */
static bool is_batch_ok(const struct hf_batch *batch)
{
    bool is_ok = batch->count >= 1 && batch->count <= BATCH_MAX && /* WATCHDOG-4 */
                 (!batch->is_second_look || batch->count == 1);

    for (size_t i = 0; i < batch->count; i++)
        is_ok = is_ok && is_hold_in_batch_ok(batch, i);
    return is_ok && batch->call.keys_count >= batch->count;
}

/* ---- memory ---- */

/* In a large cluster most batches have one hold: each has as much memory as its holds need. */

static size_t args_of_batch(size_t count)
{
    return CALL_HEAD_ARGS + 3 * count + 1;
}

static size_t batch_size(size_t count)
{
    return sizeof(struct hf_batch) + args_of_batch(count) * sizeof(struct hf_resp_arg) +
           count * (sizeof(struct hf_hold *) + sizeof(bool));
}

static struct hf_batch *new_batch(struct hf_client *client, size_t count)
{
    struct hf_batch *batch = hf_mem_new(client->mem, batch_size(count));

    if (!batch)
        return NULL;
    batch->client = client;
    batch->count = count;
    batch->argv = (struct hf_resp_arg *)(batch + 1);
    batch->holds = (struct hf_hold **)(batch->argv + args_of_batch(count));
    batch->has_left = (bool *)(batch->holds + count);
    hf_list_push(&client->renewal_batches, &batch->node);
    client->renewal_batches_count++;
    return batch;
}

/* ---- a batch ends ---- */

static void free_batch(struct hf_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct hf_hold *hold = batch->holds[i];

        HF_ASSERT(hold->work->batch == batch);
        hold->work->batch = NULL;
        if (hold->is_freed)
            hf_hold_free_memory(hold); /* WATCHDOG-3 */
        else
            hf_hold_shrink_soon(hold);
    }
    hf_list_remove(&batch->node);
    HF_ASSERT(batch->client->renewal_batches_count > 0 && !batch->call.is_under_way);
    batch->client->renewal_batches_count--;
    hf_mem_free(batch->client->mem, batch, batch_size(batch->count));
}

static void renew_hold_without_others(struct hf_hold *hold)
{
    int64_t now = hf_loop_now(hold->lock->client->loop);

    hold->work->renews_without_others = true;
    hf_lease_retry(&hold->work->lease, now, NULL);
    if (hold->work->batch->is_look)
        hf_lease_look_early(&hold->work->lease, now);
    else
        hold->work->lease.next_renewal_ms = now;
}

/* WATCHDOG-2, LEASE-3: a hold that is released or lost has left its batch. */
static bool is_renewal_pending_in_batch(const struct hf_batch *batch, const struct hf_hold *hold)
{
    return hold->work->batch == batch && hold->work->lease.has_pending_renewal_or_look &&
           hold->work->lease.state == LEASE_HELD && !hold->is_freed;
}

static void handle_renewal_answer(struct hf_batch *batch, struct hf_hold *hold,
                                  int64_t answer)
{
    bool was_pushed = hold->has_pending_push_check;

    if (hold->work->lease.state == LEASE_LOST)
        return; /* LEASE-4: too late to report a renewal */
    if (answer <= 0 && batch->count > 1) {
        renew_hold_without_others(hold);
        return;
    }
    hold->has_pending_push_check = false;
    if (answer > 0 && batch->is_second_look)
        batch->client->has_locks_on_several_nodes = true;
    if (batch->is_look && answer > 0) {
        hf_lease_look_found_hold(&hold->work->lease, &batch->call.sending, answer,
                                 hf_loop_now(batch->client->loop));
        return;
    }
    if (answer == 1) {
        batch->client->tally.late_renewals +=
            hf_lease_is_renewal_late(&hold->work->lease, hf_loop_now(batch->client->loop));
        hf_lease_renewed(&hold->work->lease, &batch->call.sending);
        batch->client->renewals++;
        hf_hold_report_renewed(hold);
        return;
    }
    hf_lease_retry(&hold->work->lease, hf_loop_now(batch->client->loop), NULL);
    if (hf_lease_lose(&hold->work->lease,
                     answer == 0 ? HF_REASON_DELETED : HF_REASON_TAKEN)) {
        batch->client->push_losses += was_pushed;
        hf_hold_report_lost(hold);
    }
}

/* TRACK-7 */
static void handle_answer_for_hold(struct hf_batch *batch, struct hf_hold *hold, int64_t answer)
{
    handle_renewal_answer(batch, hold, answer);
    if (batch->call.was_redirected_by_ask && hold->work->lease.state == LEASE_HELD)
        hf_track_granted(hold);
}

static void handle_batch_answer(struct hf_batch *batch, struct hf_resp_value reply)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct hf_hold *hold = batch->holds[i];
        int64_t answer;

        if (batch->has_left[i])
            continue;
        HF_ASSERT(is_renewal_pending_in_batch(batch, hold));
        if (hf_reply_integer(reply, i + 1, &answer) && answer >= -1 &&
            (answer <= 1 || batch->is_look))
            handle_answer_for_hold(batch, hold, answer);
        else /* not a reply of the script: it proves nothing */
            hf_lease_retry(&hold->work->lease, hf_loop_now(batch->client->loop),
                          &batch->call.sending);
        hf_hold_rearm_timer(hold);
    }
}

static void handle_failed_batch(struct hf_batch *batch, bool may_have_run, bool is_at_once)
{
    int64_t now = hf_loop_now(batch->client->loop);

    for (size_t i = 0; i < batch->count; i++) {
        struct hf_hold *hold = batch->holds[i];

        if (batch->has_left[i])
            continue;
        HF_ASSERT(is_renewal_pending_in_batch(batch, hold));
        hold->work->renews_without_others = batch->is_second_look;
        hf_lease_retry(&hold->work->lease, now,
                      may_have_run ? &batch->call.sending : NULL);
        if (is_at_once && batch->is_look)
            hf_lease_look_early(&hold->work->lease, now);
        else if (is_at_once)
            hold->work->lease.next_renewal_ms = now;
        hf_hold_rearm_timer(hold);
    }
}

/* Marks only the holds that are still in the batch: the others may have been freed. */
static void renew_batch_by_eval(struct hf_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (!batch->has_left[i])
            batch->holds[i]->work->renews_by_eval = true;
}

/* Returns whether the batch may succeed in another way. After NOSCRIPT, the text of the
 * script is sent for these holds only, because other servers may have the script. After
 * TRYAGAIN, the client renews holds singly, because any slot may be moving. After the refusal
 * of a key that was not declared, it declares keys, and renews holds singly. */
static bool retries_batch_differently(struct hf_batch *batch, struct hf_resp_value reply)
{
    bool declares_next = !batch->declares_hold_keys && hf_refusal_is_undeclared(reply) &&
                         batch->call.derived_keys != HF_DERIVES_NONE;
    bool is_parted = batch->count > 1 && hf_resp_error_is(reply, "TRYAGAIN");
    bool lacks_script =
        !batch->call.sends_eval && hf_refusal_needs_eval(reply);

    if (lacks_script)
        renew_batch_by_eval(batch);
    batch->client->renews_singly = batch->client->renews_singly || is_parted;
    return lacks_script || is_parted || declares_next;
}

static void on_batch_answered(struct hf_call *call, hf_status status,
                              struct hf_resp_value reply)
{
    struct hf_batch *batch = HF_OWNER_OF(call, struct hf_batch, call);
    struct hf_client *client = batch->client;

    if (status == HF_OK && hf_resp_count(reply) == batch->count + 1) {
        handle_batch_answer(batch, reply);
    } else if (status == HF_E_SERVER && reply.node &&
               retries_batch_differently(batch, reply)) {
        handle_failed_batch(batch, hf_refusal_is_undeclared(reply), true);
    } else {
        client->tally.failed_renewals += !batch->is_look;
        hf_client_log(client, HF_LOG_WARNING, "renewal failed: %s",
                      status < 0 ? batch->error.text
                                 : "unexpected script reply");
        handle_failed_batch(batch, call->may_have_run || status >= HF_OK ||
                          status == HF_E_SERVER, /* half of the script */
                            false);
    }
    free_batch(batch);
}

/* ---- a batch begins ---- */

static const struct hf_kind_step *renewal_step_of_hold(const struct hf_hold *hold)
{
    return &hold->lock->kind->steps[STEP_RENEW];
}

static bool fits_in_batch_of(const struct hf_hold *hold, const struct hf_hold *first)
{
    return !hold->work->renews_without_others && !first->work->renews_without_others &&
           hold->lock->slot == first->lock->slot &&
           hold->work->is_due_for_look == first->work->is_due_for_look &&
           renewal_step_of_hold(hold)->script == renewal_step_of_hold(first)->script;
}

static struct hf_resp_arg *put_keys_of_hold(struct hf_resp_arg *at,
                                            const struct hf_hold *hold)
{
    const struct hf_lock *lock = hold->lock;
    const char *key = lock->kind->key_names[0];

    *at++ = renewal_step_of_hold(hold)->is_without_name
                ? (struct hf_resp_arg){hf_lock_keys(lock, NULL),
                                       hf_key_size(key, lock->texts,
                                                   lock->name_len)}
                : (struct hf_resp_arg){lock->texts, lock->name_len};
    if (renewal_step_of_hold(hold)->takes_hold_key)
        *at++ = (struct hf_resp_arg){
            hf_hold_key(hold), hf_hold_key_len(lock, hold->work->hold_field_len)};
    return at;
}

static struct hf_hold *hold_of_due_node(const struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_hold_work, due_node)->hold;
}

/* The holds at the head of client->due_holds that one call renews. */
static size_t count_holds_of_next_batch(const struct hf_client *client)
{
    bool is_single = client->renews_singly || client->has_locks_on_several_nodes ||
                     client->declare_state.must_declare;
    const struct hf_list *due = &client->due_holds;
    const struct hf_hold *first = hold_of_due_node(due->next);
    size_t n = 0, names = 0, max = is_single ? 1 : BATCH_MAX;

    for (const struct hf_list *node = due->next;
         node != due && n < max && names < BATCH_NAMES_MAX; node = node->next) {
        if (n > 0 && !fits_in_batch_of(hold_of_due_node(node), first))
            break;
        names += hold_of_due_node(node)->lock->name_len;
        n++;
    }
    HF_ASSERT(n > 0 && n <= BATCH_MAX);
    return n;
}

static void fill_batch_with_due_holds(struct hf_batch *batch)
{
    struct hf_client *client = batch->client;
    struct hf_resp_arg *at = batch->argv + CALL_HEAD_ARGS;

    for (size_t i = 0; i < batch->count; i++) {
        struct hf_hold *hold = hold_of_due_node(client->due_holds.next);

        HF_ASSERT(hold->work->lease.has_pending_renewal_or_look && !hold->work->batch);
        hf_list_remove(&hold->work->due_node);
        batch->holds[i] = hold;
        hold->work->batch = batch;
        batch->call.sends_eval = batch->call.sends_eval || hold->work->renews_by_eval;
        hold->work->renews_by_eval = false;
        at = put_keys_of_hold(at, hold);
    }
    batch->is_second_look = batch->holds[0]->work->renews_without_others;
    batch->holds[0]->work->renews_without_others = false;
    batch->is_look = batch->holds[0]->work->is_due_for_look;
    batch->declares_hold_keys = client->declare_state.must_declare;
    batch->call.keys_count = (size_t)(at - batch->argv) - CALL_HEAD_ARGS;
    *at++ = (struct hf_resp_arg){
        batch->lease_text,
        hf_resp_format_integer(batch->lease_text,
                               batch->is_look ? 0 : client->watchdog_ms)};
    for (size_t i = 0; i < batch->count; i++)
        *at++ = (struct hf_resp_arg){batch->holds[i]->work->hold_field,
                                     batch->holds[i]->work->hold_field_len};
    batch->call.argc = (size_t)(at - batch->argv);
}

static uint64_t bit_of_slot(uint16_t slot)
{
    return UINT64_C(1) << slot % 64;
}

/* WATCHDOG-6. Without a cluster each slot is 0; the holds of slot 0 of a cluster are not moved. */
static void align_holds_of_batch(struct hf_batch *batch)
{
    const struct hf_client *client = batch->client;
    uint16_t slot = batch->holds[0]->lock->slot;

    if (batch->is_look || slot == 0 || batch->count == BATCH_MAX ||
        (client->crowded_slots & bit_of_slot(slot)) != 0 ||
        client->holds_count < client->aligned_from_holds)
        return;
    for (size_t i = 0; i < batch->count; i++)
        hf_lease_align(&batch->holds[i]->work->lease, hf_loop_now(client->loop), slot);
}

static void fill_call_of_batch(struct hf_batch *batch)
{
    struct hf_hold *first = batch->holds[0];
    struct hf_call *call = &batch->call;

    memcpy(batch->echo, first->work->hold_field, first->work->hold_field_len);
    call->script = renewal_step_of_hold(first)->script;
    call->lacks_evalsha = &batch->client->lacks_evalsha;
    call->derived_keys = renewal_step_of_hold(first)->derived_keys;
    call->declare_state = &batch->client->declare_state;
    call->argv = batch->argv;
    call->slot = first->lock->slot;
    call->expected_echo = batch->echo;
    call->expected_echo_len = first->work->hold_field_len;
    call->is_tracked = renewal_step_of_hold(first)->reads_key_last;
    call->is_never_retried = true; /* WATCHDOG-1 */
    call->is_urgent = true; /* it cannot come later */
    call->error = &batch->error;
    call->done = on_batch_answered;
}

/* A third of the lease at most: by then the next renewal is due. */
static int64_t batch_deadline_ms(struct hf_client *client)
{
    int64_t third = client->watchdog_ms / 3;

    return hf_loop_now(client->loop) + (third < client->request_timeout_ms
                                            ? third
                                            : client->request_timeout_ms);
}

static void send_batch(struct hf_batch *batch)
{
    struct hf_client *client = batch->client;
    hf_status rc;

    fill_batch_with_due_holds(batch);
    align_holds_of_batch(batch);
    fill_call_of_batch(batch);
    HF_ASSERT(is_batch_ok(batch));
    client->renewal_requests++;
    rc = hf_call_start(&batch->call, client->loop, client->router,
                       batch_deadline_ms(client));
    if (rc < 0) {
        handle_failed_batch(batch, false, false);
        free_batch(batch);
    }
}

/* There is no memory for a batch: all holds that are due retry soon. */
static void retry_all_due_holds(struct hf_client *client)
{
    int64_t now = hf_loop_now(client->loop);

    while (!hf_list_is_empty(&client->due_holds)) {
        struct hf_hold *hold = hold_of_due_node(client->due_holds.next);

        HF_ASSERT(hold->work->lease.has_pending_renewal_or_look && !hold->work->batch);
        hf_list_remove(&hold->work->due_node);
        hf_lease_retry(&hold->work->lease, now, NULL);
        hf_hold_rearm_timer(hold);
    }
}

/* Holds of the slot of the next batch that were or are renewed in this turn. */
struct slot_count {
    uint16_t slot;
    size_t holds;
};

static void count_holds_of_slot(struct hf_client *client, struct slot_count *count, size_t holds)
{
    uint16_t slot = hold_of_due_node(client->due_holds.next)->lock->slot;

    if (client->holds_count < client->aligned_from_holds)
        client->crowded_slots = 0;
    count->holds = slot == count->slot ? count->holds + holds : holds;
    count->slot = slot;
    if (count->holds > CROWDED_HOLDS)
        client->crowded_slots |= bit_of_slot(slot); /* WATCHDOG-6 */
}

static void on_turn_end(struct hf_turn_hook *turn)
{
    struct hf_client *client = HF_OWNER_OF(turn, struct hf_client, turn_end_hook);
    struct slot_count of_slot = {0};

    hf_due_holds_sort(&client->due_holds);
    while (!hf_list_is_empty(&client->due_holds)) {
        size_t count = count_holds_of_next_batch(client);
        struct hf_batch *batch = new_batch(client, count);

        if (!batch) {
            retry_all_due_holds(client);
            return;
        }
        count_holds_of_slot(client, &of_slot, count);
        send_batch(batch);
    }
    client->renews_singly = false;
}

/* ---- a hold is released ---- */

/* WATCHDOG-2. No byte of it has left, and none will; or it is a look. */
static void dissolve_batch(struct hf_batch *batch)
{
    struct hf_client *client = batch->client;

    hf_call_cancel(&batch->call);
    for (size_t i = 0; i < batch->count; i++)
        if (!batch->has_left[i]) {
            HF_ASSERT(is_renewal_pending_in_batch(batch, batch->holds[i])); /* WATCHDOG-1 */
            batch->holds[i]->work->renews_by_eval = batch->call.sends_eval;
            hf_list_push(&client->due_holds, &batch->holds[i]->work->due_node);
        }
    free_batch(batch);
    hf_loop_at_turn_end(client->loop, &client->turn_end_hook);
}

static bool may_cancel_batch(const struct hf_batch *batch, const struct hf_hold *hold)
{
    bool is_replaced = batch->is_look && hold->work->lease.state == LEASE_HELD;

    return batch->call.is_under_way && (is_replaced || !hf_call_is_sent(&batch->call));
}

static void remove_hold_from_batch(struct hf_batch *batch, const struct hf_hold *hold)
{
    HF_ASSERT(hold->work->batch == batch);
    for (size_t i = 0; i < batch->count; i++)
        if (batch->holds[i] == hold)
            batch->has_left[i] = true;
    if (may_cancel_batch(batch, hold))
        dissolve_batch(batch);
    else if (batch->call.is_under_way)
        hf_command_stop_redirects(&batch->call.command);
}

/* ---- init, fini ---- */

void hf_watchdog_init(struct hf_client *client)
{
    hf_list_init(&client->due_holds);
    hf_list_init(&client->renewal_batches);
    hf_turn_hook_init(&client->turn_end_hook, on_turn_end);
    client->leave_batch = remove_hold_from_batch;
    client->aligned_from_holds = ALIGNED_FROM_HOLDS;
}

void hf_watchdog_fini(struct hf_client *client)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    while (!hf_list_is_empty(&client->renewal_batches)) {
        struct hf_batch *batch =
            HF_OWNER_OF(client->renewal_batches.next, struct hf_batch, node);

        hf_call_cancel(&batch->call);
        free_batch(batch);
    }
    HF_ASSERT(client->renewal_batches_count == 0);
    hf_loop_cancel_turn_end(client->loop, &client->turn_end_hook);
}
