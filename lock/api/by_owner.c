/* Renews and releases a hold by its owner's text; the process that took it may be
 * gone. The client's own holds are not touched: a temporary one carries the owner's
 * text and key for one call. */
/* Tests: tests/live/lock/test_lock_by_owner.c, tests/sim/test_by_owner.c. */
#include "lock/by_owner.h"

#include <string.h>

#include "lock/api/op_request.h"
#include "lock/machine/claims.h"
#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/op.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"

/* ---- the request ---- */

static bool create_hold_of_op(struct hf_op *op)
{
    struct hf_hold *hold = op->hold = hf_hold_new(op);

    if (!hold) {
        hf_op_finish(op, HF_E_NOMEM);
        return false;
    }
    HF_ASSERT(op->named_holder_len > 0 && op->named_holder_len < HF_OWNER_TEXT_MAX);
    memcpy(hold->work->hold_field, op->named_holder, op->named_holder_len);
    hold->work->hold_field[op->named_holder_len] = '\0';
    hold->work->hold_field_len = (uint8_t)op->named_holder_len;
    hf_hold_put_key(hf_hold_key(hold), op->lock, hf_hold_field(hold));
    return true;
}

/* ---- renew ---- */

/* The time counts from before the request, as for holds of this client: the server's
 * TTL began later. */
static int64_t remaining_safe_ms(const struct hf_op *op)
{
    int64_t ttl_ms = op->answer.number;

    if (ttl_ms < 0 || ttl_ms > HF_SPAN_MAX_MS)
        return HF_SPAN_MAX_MS; /* no TTL, or a longer one than a caller may request */
    return op->call.sending.sent_ms + ttl_ms - hf_claims_drift_ms(ttl_ms) -
           hf_loop_now(op->client->loop);
}

/* The hold ends before the TTL that began with the request does, by the margin of CLAIM-3. */
static bool is_remaining_safe_ms_ok(const struct hf_op *op, int64_t ms)
{
    int64_t ttl_ms = op->answer.number;
    int64_t gone_ms = hf_loop_now(op->client->loop) - op->call.sending.sent_ms;

    return gone_ms >= 0 && (ttl_ms < 0 || ttl_ms > HF_SPAN_MAX_MS ||
                            ms + gone_ms + ttl_ms / 100 + 2 <= ttl_ms);
}

static hf_status read_renewal_answer(struct hf_op *op, struct hf_resp_value reply)
{
    if (!hf_answer_read(&op->answer, reply) ||
        op->answer.count < ANSWER_NOT_HELD)
        return hf_op_fail_unexpected_reply(op);
    return op->answer.count == ANSWER_NOT_HELD ? HF_NOT_OWNER : HF_OK;
}

static void end_renewal(struct hf_op *op, hf_status status)
{
    HF_ASSERT(status != HF_OK || op->answer.count > ANSWER_NOT_HELD);
    if (status == HF_OK && op->out_number) {
        *op->out_number = remaining_safe_ms(op);
        HF_ASSERT(is_remaining_safe_ms_ok(op, *op->out_number));
    }
    hf_hold_finish_request(op, status);
}

static void on_renewed(struct hf_call *call, hf_status status,
                       struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    end_renewal(op, status == HF_OK
                        ? read_renewal_answer(op, reply)
                        : hf_op_failure_status(op, status, call->may_have_run));
}

/* True for a renewal that succeeded: this hold is not renewed by a watchdog, so a
 * failover that loses the new lease loses it permanently. */
static bool is_renewal_reply_success(struct hf_call *call, struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    return hf_answer_read(&op->answer, reply) &&
           op->answer.count > ANSWER_NOT_HELD;
}

static void on_replicas_confirmed(struct hf_call *call, hf_status status)
{
    end_renewal(HF_OWNER_OF(call, struct hf_op, call), status);
}

static void renew_by_owner_op(struct hf_op *op)
{
    op->lease_ms = op->options.lease_ms;
    if (!create_hold_of_op(op))
        return;
    hf_op_want_replicas(op, is_renewal_reply_success, on_replicas_confirmed);
    hf_op_call_script(op, STEP_EXTEND, hf_hold_field(op->hold), hf_op_deadline(op),
                      on_renewed);
}

static const struct hf_verb verb_renew = {
    .name = "renew by owner", .start = renew_by_owner_op, .cancel = hf_hold_finish_request};

/* ---- release ----
 *
 * For most kinds this is a forced release that names the holder, and refuses locks of other
 * kinds. For a read-write lock, a forced release frees every holder, or refuses if there are
 * several readers. So the release script of the kind is called, which releases the holds of
 * one owner. */

static void start_release_by_owner(struct hf_op *op)
{
    if (create_hold_of_op(op))
        hf_verb_force_release.start(op);
}

static const struct hf_verb verb_release = {
    .name = "release by owner", .start = start_release_by_owner, .cancel = hf_hold_finish_request};

/* ---- the requests ---- */

/* The sides of a read-write lock have fields of their own. */
static bool is_valid_owner_text(const struct hf_kind *kind, const char *owner,
                          size_t len)
{
    if (!owner || len < 1 || len >= HF_OWNER_TEXT_MAX)
        return false;
    if (kind->accepts_any_holder_text ||
        (kind->id == HF_KIND_PERMIT && hf_permit_id_ok(owner, len)))
        return true;
    return hf_owner_ok(owner, len) &&
           (!kind->other_side || hf_owner_has_suffix(owner, len, kind->owner_suffix));
}

static bool is_of_this_client(const struct hf_client *client, const char *owner,
                    size_t len)
{
    return len > UUID_LEN && memcmp(owner, client->uuid, UUID_LEN) == 0;
}

static hf_status fail_invalid_owner(const struct hf_kind *kind, const char *quoted,
                                    struct hf_error *err)
{
    if (kind->accepts_any_holder_text)
        return hf_error_set(err, HF_E_INVAL,
                            "invalid owner '%s': here, a value lock's owner has 1 to %d "
                            "bytes", quoted, HF_OWNER_TEXT_MAX - 1);
    return hf_error_set(err, HF_E_INVAL,
                        "invalid owner '%s': an owner of a %s is written "
                        "\"uuid:number%s\"%s", quoted,
                        hf_lock_kind_text(kind->id), kind->owner_suffix,
                        kind->id == HF_KIND_PERMIT
                            ? "; a permit's id has 32 hexadecimal digits" : "");
}

static hf_status check_owner(const struct hf_lock *lock, const char *owner,
                             size_t len, struct hf_error *err)
{
    char quoted[100];

    (void)hf_error_quote(quoted, sizeof quoted, owner ? owner : "",
                         owner ? len : 0);
    if (!is_valid_owner_text(lock->kind, owner, len))
        return fail_invalid_owner(lock->kind, quoted, err);
    if (is_of_this_client(lock->client, owner, len))
        return hf_error_set(err, HF_E_INVAL,
                            "'%s' is an owner of this client, which renews it "
                            "itself: use hf_lock_release", quoted);
    return HF_OK;
}

static hf_status check_renewal_arguments(const struct hf_lock *lock, const char *owner,
                                         size_t len, int64_t lease_ms,
                                         struct hf_error *err)
{
    hf_status rc = check_owner(lock, owner, len, err);

    return rc < 0 ? rc : hf_op_check_lease(lease_ms, err);
}

static struct hf_op_request make_renew_request(const char *owner, size_t len,
                                               const struct hf_acquire_options *options,
                                               int64_t *safe_ms)
{
    return (struct hf_op_request){.verb = &verb_renew,
                                  .options = options,
                                  .out_number = safe_ms,
                                  .holder = owner,
                                  .holder_len = len};
}

static struct hf_op_request make_release_request(const char *owner, size_t len)
{
    return (struct hf_op_request){
        .verb = &verb_release, .holder = owner, .holder_len = len};
}

/* ---- the public calls ---- */

hf_status hf_renew_by_owner(struct hf_lock *lock, const char *owner, size_t len,
                            int64_t lease_ms, int64_t *safe_ms,
                            struct hf_error *err)
{
    struct hf_acquire_options options = {.lease_ms = lease_ms};
    struct hf_op_request request = make_renew_request(owner, len, &options, safe_ms);
    hf_status rc = check_renewal_arguments(lock, owner, len, lease_ms, err);

    return rc < 0 ? rc : hf_op_run(lock, &request, err);
}

hf_status hf_renew_by_owner_async(struct hf_lock *lock, const char *owner,
                                  size_t len, int64_t lease_ms, int64_t *safe_ms,
                                  hf_done *done, void *ctx)
{
    struct hf_acquire_options options = {.lease_ms = lease_ms};
    struct hf_op_request request = make_renew_request(owner, len, &options, safe_ms);
    hf_status rc = check_renewal_arguments(lock, owner, len, lease_ms, NULL);

    return rc < 0 ? rc : hf_op_submit(lock, &request, done, ctx);
}

hf_status hf_release_by_owner(struct hf_lock *lock, const char *owner,
                              size_t len, struct hf_error *err)
{
    struct hf_op_request request = make_release_request(owner, len);
    hf_status rc = check_owner(lock, owner, len, err);

    if (rc < 0)
        return rc;
    return lock->kind->other_side ? hf_op_run(lock, &request, err)
                             : hf_lock_force_release(lock, owner, len, err);
}

hf_status hf_release_by_owner_async(struct hf_lock *lock, const char *owner,
                                    size_t len, hf_done *done, void *ctx)
{
    struct hf_op_request request = make_release_request(owner, len);
    hf_status rc = check_owner(lock, owner, len, NULL);

    if (rc < 0)
        return rc;
    return lock->kind->other_side
               ? hf_op_submit(lock, &request, done, ctx)
               : hf_lock_force_release_async(lock, owner, len, done, ctx);
}
