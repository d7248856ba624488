/* Requests of `holdfast watch`, which ends at its time. */
/* Tests: tests/live/cli/test_watch.c. */
#include "cli/lock/timed.h"

#include <limits.h>
#include <string.h>

#include "cli/base/label.h"
#include "net/base/error.h"
#include "net/base/moment.h"

static void on_request_done(void *ctx, hf_status status, const struct hf_error *err)
{
    struct cli_timed *t = ctx;

    t->is_pending = false;
    t->status = status;
    if (err)
        t->error = *err;
}

static void begin_request(struct cli_timed *t)
{
    t->is_pending = true;
    t->error = (struct hf_error){0};
}

/* `rc`: of the call that began it. */
static hf_status wait_for_request(struct cli_timed *t, hf_status rc, struct hf_error *err)
{
    int64_t left_ms;

    if (rc < 0) {
        t->is_pending = false;
        return hf_error_set(err, rc, "%s", hf_status_text(rc));
    }
    while (t->is_pending && (left_ms = t->deadline_ms - hf_clock_ms()) > 0)
        hf_loop_dispatch(t->loop, (int)hf_min_ms(left_ms, INT_MAX));
    if (t->is_pending)
        return HF_CANCELLED;
    *err = t->error;
    return t->status;
}

hf_status cli_timed_inspect(struct cli_inspector *by, struct hf_lock *lock,
                            struct hf_lock_info *out, struct hf_error *err)
{
    struct cli_timed *t = HF_OWNER_OF(by, struct cli_timed, inspector);
    hf_status rc;

    if (t->is_pending)
        return HF_CANCELLED;
    begin_request(t);
    rc = hf_lock_inspect_async(lock, &t->info, on_request_done, t);
    rc = wait_for_request(t, rc, err);
    if (!t->is_pending)
        *out = t->info;
    return rc;
}

void cli_timed_label(struct cli_timed *t, struct hf_client *client,
                     const struct hf_lock_info *info, char dst[HF_LABEL_MAX + 1])
{
    struct hf_error err;
    hf_status rc;

    *dst = '\0';
    if (t->is_pending || !cli_label_is_readable(info))
        return;
    begin_request(t);
    rc = hf_label_read_async(client, info->holder, info->holder_len, t->label, on_request_done, t);
    if (wait_for_request(t, rc, &err) == HF_OK)
        (void)strcpy(dst, t->label);
}
