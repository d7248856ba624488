/* The public calls on a lock: each is an operation, waited for or not. */
/* Tests: tests/live/lock/test_lock.c, tests/live/lock/test_lock_calls.c. */
#include <stdatomic.h>
#include <string.h>

#include "lock/api/op_request.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/hold_work.h"
#include "lock/record/table.h"
#include "lock/scope.h"
#include "lock/verb/verbs.h"
#include "net/base/error.h"
#include "net/base/sized.h"

/* ---- owners ----
 *
 * Threads' numbers are odd, the others even. Each is given once in the life of
 * the process. The kernel's thread id would not do: it is given again, and a
 * new thread would re-enter what a dead one holds. */

static _Atomic int64_t threads_given, others_given;

int64_t hf_owner_thread(void)
{
    static _Thread_local int64_t number;

    if (number == 0)
        number = -1 - 2 * atomic_fetch_add(&threads_given, 1);
    return number;
}

int64_t hf_owner_new(void)
{
    return -2 - 2 * atomic_fetch_add(&others_given, 1);
}

static bool is_generated_owner(int64_t owner)
{
    return owner >= OWNER_GENERATED_MIN && owner < 0;
}

static bool is_owner_of_thread(int64_t owner)
{
    return is_generated_owner(owner) && owner % 2 != 0;
}

static bool was_owner_generated(int64_t owner)
{
    return owner >= -2 * atomic_load(owner % 2 != 0 ? &threads_given
                                                    : &others_given);
}

static hf_status check_owner(int64_t owner, struct hf_error *err)
{
    if (owner == 0)
        return hf_error_set(err, HF_E_INVAL,
                            "owner is 0: call hf_acquire_options_init(), or set "
                            "options.owner");
    if (is_generated_owner(owner) && !was_owner_generated(owner))
        return hf_error_set(err, HF_E_INVAL,
                            "owner %lld: the numbers from -2^48 to -1 are reserved for "
                            "hf_owner_thread() and hf_owner_new(), which have not "
                            "returned this one", (long long)owner);
    return HF_OK;
}

/* ---- handles ---- */

hf_status hf_lock_new_kind(struct hf_lock **out, struct hf_client *client,
                           enum hf_lock_kind kind, const void *name, size_t len,
                           struct hf_error *err)
{
    const struct hf_kind *row = hf_kind_row(kind);

    if (!row && !hf_loop_forked(client->loop))
        return hf_error_set(err, HF_E_INVAL, "a %s %s",
                            hf_lock_kind_text(kind),
                            kind & HF_WITH_TOKEN ? "has no token"
                                                 : "cannot be acquired");
    return hf_handle_new(out, client, row, name, len, err);
}

hf_status hf_lock_new(struct hf_lock **out, struct hf_client *client,
                      const void *name, size_t len, struct hf_error *err)
{
    return hf_handle_new(out, client, &hf_kind_reentrant, name, len, err);
}

void hf_lock_free(struct hf_lock *lock)
{
    struct hf_loop *loop;

    if (!lock || hf_loop_forked(lock->client->loop))
        return;
    loop = lock->client->loop;
    hf_loop_lock(loop);
    hf_lock_unref(lock);
    hf_loop_unlock(loop);
}

const char *hf_lock_name(const struct hf_lock *lock, size_t *len)
{
    if (len)
        *len = lock->name_len;
    return lock->texts;
}

/* ---- acquire ---- */

static const struct hf_sized options_size = HF_SIZED(hf_acquire_options, lease_ms);

void hf_acquire_options_init_sized(struct hf_acquire_options *options, size_t size)
{
    const struct hf_acquire_options defaults = HF_ACQUIRE_OPTIONS_INIT;

    hf_sized_write(options, size, &defaults, sizeof defaults);
    options->size = size;
}

hf_status hf_acquire_options_read(struct hf_acquire_options *to,
                                  const struct hf_acquire_options *from,
                                  struct hf_error *err)
{
    hf_acquire_options_init(to);
    return from ? hf_sized_read(to, &options_size, from, err) : HF_OK;
}

hf_status hf_acquire_options_check(const struct hf_acquire_options *o,
                                   struct hf_error *err)
{
    hf_status rc = check_owner(o->owner, err);

    if (rc < 0)
        return rc;
    if ((rc = hf_op_check_wait(o->wait_ms, err)) < 0)
        return rc;
    if (o->lease_ms < 0 || o->lease_ms > HF_SPAN_MAX_MS || o->max_hold_ms < 0 ||
        o->max_hold_ms > HF_SPAN_MAX_MS)
        return hf_error_set(err, HF_E_INVAL,
                            "a lease or max_hold_ms is 0 to %lld ms",
                            (long long)HF_SPAN_MAX_MS);
    return HF_OK;
}

hf_status hf_acquire_options_check_async(const struct hf_acquire_options *o)
{
    if (is_owner_of_thread(o->owner))
        return HF_E_INVAL; /* two tasks of one thread would be one owner */
    return hf_acquire_options_check(o, NULL);
}

hf_status hf_lock_acquire(struct hf_lock *lock,
                          const struct hf_acquire_options *options,
                          struct hf_error *err)
{
    struct hf_acquire_options o;
    hf_status rc;

    if ((rc = hf_acquire_options_read(&o, options, err)) < 0 ||
        (rc = hf_acquire_options_check(&o, err)) < 0)
        return rc;
    return hf_op_run(lock,
                     &(struct hf_op_request){.verb = &hf_verb_acquire,
                                             .owner = o.owner,
                                             .options = &o}, err);
}

hf_status hf_lock_acquire_async(struct hf_lock *lock,
                                const struct hf_acquire_options *options,
                                hf_done *done, void *ctx)
{
    struct hf_acquire_options o;
    hf_status rc;

    if (hf_loop_forked(lock->client->loop))
        return HF_E_FORKED;
    if ((rc = hf_acquire_options_read(&o, options, NULL)) < 0 ||
        (rc = hf_acquire_options_check_async(&o)) < 0)
        return rc;
    return hf_op_submit(lock,
                        &(struct hf_op_request){.verb = &hf_verb_acquire,
                                                .owner = o.owner,
                                                .options = &o}, done, ctx);
}

void hf_cancel_init(struct hf_cancel *cancel, struct hf_client *client)
{
    cancel->client = client;
    cancel->is_fired = false;
    hf_list_init(&cancel->waits);
}

static void cancel_op(struct hf_op *op)
{
    op->verb->cancel(op, HF_CANCELLED);
}

void hf_cancel_fire(struct hf_cancel *cancel)
{
    struct hf_loop *loop = cancel->client->loop;

    if (hf_loop_forked(loop))
        return;
    hf_loop_lock(loop);
    cancel->is_fired = true;
    while (!hf_list_is_empty(&cancel->waits))
        cancel_op(HF_OWNER_OF(cancel->waits.next, struct hf_op, cancel_node));
    hf_loop_unlock(loop);
}

/* ---- release ---- */

hf_status hf_lock_release(struct hf_lock *lock, int64_t owner,
                          struct hf_error *err)
{
    return hf_op_run(lock,
                     &(struct hf_op_request){.verb = &hf_verb_release,
                                             .owner = owner}, err);
}

hf_status hf_lock_release_async(struct hf_lock *lock, int64_t owner,
                                hf_done *done, void *ctx)
{
    return hf_op_submit(lock,
                        &(struct hf_op_request){.verb = &hf_verb_release,
                                                .owner = owner}, done, ctx);
}

#define HOLDER_MAX (sizeof(((struct hf_lock_info *)0)->holder) - 1)

static bool is_holder_text_valid(const struct hf_kind *kind, const char *text, size_t len)
{
    return kind->accepts_any_holder_text ? len > 0 && len <= HOLDER_MAX
                                : hf_owner_ok(text, len) ||
                                      (kind->id == HF_KIND_PERMIT && hf_permit_id_ok(text, len));
}

/* An invalid holder is an error: it must not release the lock of any holder. */
static hf_status check_holder(const struct hf_lock *lock, const char *holder,
                              size_t len, struct hf_error *err)
{
    char quoted[100];

    if (!holder || is_holder_text_valid(lock->kind, holder, len))
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL,
                        lock->kind->accepts_any_holder_text
                            ? "invalid owner '%s': a value lock's owner has 1 to 191 "
                              "bytes"
                            : "invalid owner '%s': an owner is written \"uuid:number\"",
                        hf_error_quote(quoted, sizeof quoted, holder, len));
}

hf_status hf_lock_force_release(struct hf_lock *lock, const char *holder,
                                size_t len, struct hf_error *err)
{
    hf_status rc = check_holder(lock, holder, len, err);

    if (rc < 0)
        return rc;
    return hf_op_run(lock,
                     &(struct hf_op_request){.verb = &hf_verb_force_release,
                                             .holder = holder,
                                             .holder_len = holder ? len : 0}, err);
}

hf_status hf_lock_force_release_async(struct hf_lock *lock, const char *holder,
                                      size_t len, hf_done *done, void *ctx)
{
    hf_status rc;

    if (hf_loop_forked(lock->client->loop))
        return HF_E_FORKED;
    if ((rc = check_holder(lock, holder, len, NULL)) < 0)
        return rc;
    return hf_op_submit(lock,
                        &(struct hf_op_request){.verb = &hf_verb_force_release,
                                                .holder = holder,
                                                .holder_len = holder ? len : 0}, done,
                        ctx);
}

/* ---- the state of a lock ---- */

hf_status hf_lock_inspect_sized(struct hf_lock *lock, struct hf_lock_info *out, size_t size,
                                struct hf_error *err)
{
    return hf_op_run(lock,
                     &(struct hf_op_request){.verb = &hf_verb_inspect,
                                             .out_info = out,
                                             .info_size = size}, err);
}

hf_status hf_lock_inspect_async_sized(struct hf_lock *lock, struct hf_lock_info *out,
                                      size_t size, hf_done *done, void *ctx)
{
    return hf_op_submit(lock,
                        &(struct hf_op_request){.verb = &hf_verb_inspect,
                                                .out_info = out,
                                                .info_size = size}, done, ctx);
}

hf_status hf_lock_is_locked(struct hf_lock *lock, bool *out,
                            struct hf_error *err)
{
    struct hf_lock_info info;
    hf_status rc = hf_lock_inspect(lock, &info, err);

    if (rc == HF_OK)
        *out = info.is_locked;
    return rc;
}

hf_status hf_lock_remaining_ms(struct hf_lock *lock, int64_t *out,
                               struct hf_error *err)
{
    struct hf_lock_info info;
    hf_status rc = hf_lock_inspect(lock, &info, err);

    if (rc == HF_OK)
        *out = info.ttl_ms;
    return rc;
}

hf_status hf_lock_hold_count(struct hf_lock *lock, int64_t owner, int64_t *out,
                             struct hf_error *err)
{
    char text[HF_OWNER_TEXT_MAX];
    struct hf_lock_info info;
    int64_t count;
    hf_status rc;

    if (hf_loop_forked(lock->client->loop))
        return hf_fail_forked(err);
    if (!*hf_lock_owner_text(lock, owner, text)) {
        *out = 0;
        return HF_OK;
    }
    rc = hf_op_run(lock,
                   &(struct hf_op_request){.verb = &hf_verb_inspect,
                                           .out_info = &info,
                                           .info_size = sizeof info,
                                           .holder = text,
                                           .holder_len = strlen(text),
                                           .out_count = &count}, err);
    if (rc == HF_OK)
        *out = count;
    return rc;
}

hf_status hf_lock_is_held_by(struct hf_lock *lock, int64_t owner, bool *out,
                             struct hf_error *err)
{
    int64_t count;
    hf_status rc = hf_lock_hold_count(lock, owner, &count, err);

    if (rc == HF_OK)
        *out = count > 0;
    return rc;
}

int64_t hf_lock_safe_ms(struct hf_lock *lock, int64_t owner)
{
    struct hf_loop *loop = lock->client->loop;
    int64_t safe = INT64_MIN;
    struct hf_lease copy;
    struct hf_hold *hold;

    if (hf_loop_forked(loop))
        return safe;
    hf_loop_lock(loop);
    if ((hold = hf_hold_find(lock, owner)))
        safe = hf_lease_safe_ms(hf_hold_lease(hold, &copy), hf_loop_now(loop));
    hf_loop_unlock(loop);
    return safe;
}

int64_t hf_lock_token(struct hf_lock *lock, int64_t owner)
{
    struct hf_loop *loop = lock->client->loop;
    struct hf_hold *hold;
    int64_t token = 0;

    if (hf_loop_forked(loop))
        return 0;
    hf_loop_lock(loop);
    if ((hold = hf_hold_find(lock, owner)) && hold->has_callbacks &&
        hf_hold_callbacks(hold)->token > 0)
        token = hf_hold_callbacks(hold)->token;
    hf_loop_unlock(loop);
    return token;
}

char *hf_lock_owner_text(struct hf_lock *lock, int64_t owner,
                         char dst[HF_OWNER_TEXT_MAX])
{
    struct hf_loop *loop = lock->client->loop;
    struct hf_hold *hold;

    dst[0] = '\0';
    if (hf_loop_forked(loop))
        return dst;
    hf_loop_lock(loop);
    if ((hold = hf_hold_find(lock, owner)))
        (void)hf_hold_put_field(hold, dst);
    hf_loop_unlock(loop);
    return dst;
}

/* ---- scoped ---- */

static const struct hf_sized scope_size = HF_SIZED(hf_scope, body);

hf_status hf_lock_with(struct hf_lock *lock,
                       const struct hf_acquire_options *options,
                       const struct hf_scope *given, int *result,
                       struct hf_error *err)
{
    struct hf_acquire_options o;
    struct hf_scope scope = {.size = sizeof scope};
    hf_status rc;
    int answer = 0;

    if ((rc = hf_acquire_options_read(&o, options, err)) < 0 ||
        (rc = hf_sized_read(&scope, &scope_size, given, err)) < 0)
        return rc;
    if (!scope.body)
        return hf_error_set(err, HF_E_INVAL, "the scope has no body");
    if (o.keep_unreplicated)
        return hf_error_set(err, HF_E_INVAL,
                            "keep_unreplicated would leave the scope with a "
                            "lock that nobody releases");
    if ((rc = hf_lock_acquire(lock, &o, err)) < 0)
        return rc;
    if (!scope.on_acquire || scope.on_acquire(scope.ctx, lock))
        answer = scope.body(scope.ctx, lock);
    if (result)
        *result = answer;
    rc = hf_lock_release(lock, o.owner, err);
    if (scope.on_exit)
        scope.on_exit(scope.ctx, lock, rc);
    return rc;
}
