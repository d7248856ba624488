/* The public calls on fencing tokens that locks do not have. */
#include "lock/token.h"

#include "lock/ask.h"
#include "lock/verbs.h"
#include "net/base/error.h"

static hf_status check(const struct hf_lock *lock, struct hf_error *err)
{
    if (lock->kind->steps[STEP_ACQUIRE].takes_retention)
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL, "this %s has no tokens",
                        hf_lock_kind_text(lock->kind->id));
}

static struct hf_ask to_read(int64_t *out)
{
    return (struct hf_ask){.verb = &hf_verb_read, .value = out};
}

hf_status hf_token_latest(struct hf_lock *lock, int64_t *out,
                          struct hf_error *err)
{
    struct hf_ask ask = to_read(out);
    hf_status rc = check(lock, err);

    return rc < 0 ? rc : hf_ask_run(lock, &ask, err);
}

hf_status hf_token_latest_async(struct hf_lock *lock, int64_t *out,
                                hf_done *done, void *ctx)
{
    struct hf_ask ask = to_read(out);
    hf_status rc = check(lock, NULL);

    return rc < 0 ? rc : hf_ask_post(lock, &ask, done, ctx);
}
