/* A lock that this run takes itself, and what both kinds share. */
/* Tests: tests/live/cli/test_run_loss.c, tests/live/cli/test_run_kinds.c. */
#include "cli/run/hold.h"

#include <string.h>

#include "cli/base/report.h"

/* ---- what both kinds share ---- */

/* Each run takes a permit of its own. */
void cli_hold_init(struct cli_hold *h, struct cli_locks *locks,
                   enum hf_lock_kind wanted,
                   const struct cli_hold_events *events, void *ctx)
{
    bool is_inside = wanted != HF_KIND_PERMIT && cli_hold_is_inside(locks);

    *h = (struct cli_hold){.events = events,
                           .ctx = ctx,
                           .locks = locks,
                           .lock = locks->locks[0],
                           .wanted_kind = wanted,
                           .owner_number = hf_owner_new(),
                           .notice_io = {.fd = -1},
                           .kind = is_inside ? &cli_hold_outer
                                             : &cli_hold_own};
}

void cli_hold_fini(struct cli_hold *h)
{
    if (h->kind)
        h->kind->fini(h);
}

bool cli_hold_is_nested(const struct cli_hold *h)
{
    return h->kind == &cli_hold_outer;
}

hf_status cli_hold_acquire(struct cli_hold *h, const struct cli_hold_terms *terms)
{
    return h->kind->acquire(h, terms);
}

void cli_hold_cancel(struct cli_hold *h)
{
    h->kind->cancel(h);
}

hf_status cli_hold_release(struct cli_hold *h)
{
    return h->kind->release(h);
}

int64_t cli_hold_safe_ms(struct cli_hold *h)
{
    return h->kind->safe_ms(h);
}

void cli_hold_after_turn(struct cli_hold *h)
{
    h->kind->after_loop_turn(h);
}

bool cli_hold_holds(struct cli_hold *h, const char *name, size_t len,
                    const char *owner, int64_t *token)
{
    char text[HF_OWNER_TEXT_MAX];

    *token = h->token;
    for (size_t i = 0; !h->locks->quorum && i < h->locks->locks_count; i++) {
        size_t own_len;
        const char *own = hf_lock_name(h->locks->locks[i], &own_len);

        if (own_len == len && memcmp(own, name, len) == 0)
            return strcmp(hf_lock_owner_text(h->locks->locks[i], h->owner_number, text),
                          owner) == 0 &&
                   h->kind->safe_ms(h) > 0;
    }
    return false;
}

/* ---- the library's callbacks ---- */

static void on_wait(void *ctx, struct hf_lock *lock,
                    const struct hf_lock_info *info)
{
    struct cli_hold *h = ctx;

    h->events->on_waiting(h->ctx, lock, info);
}

static void on_renewed(void *ctx, struct hf_lock *lock, int64_t number)
{
    struct cli_hold *h = ctx;

    (void)lock;
    (void)number;
    h->events->on_renewed(h->ctx);
}

static void on_lost(void *ctx, struct hf_lock *lock, int64_t number,
                    enum hf_lost reason)
{
    struct cli_hold *h = ctx;

    (void)number;
    if (reason == HF_REASON_CLOSED)
        return; /* we closed it ourselves */
    h->events->on_lost(h->ctx, reason, lock);
}

static void on_acquired(void *ctx, hf_status status,
                        const struct hf_error *err)
{
    struct cli_hold *h = ctx;

    if (status < 0) {
        h->events->on_refused(h->ctx, status, err);
        return;
    }
    cli_locks_owner(h->locks, h->owner_number, h->owner);
    h->token = cli_locks_token(h->locks, h->owner_number);
    h->events->on_acquired(h->ctx);
}

static void on_released(void *ctx, hf_status status,
                        const struct hf_error *err)
{
    struct cli_hold *h = ctx;

    h->events->on_released(h->ctx, status, err);
}

/* ---- the kind ---- */

static hf_status own_acquire(struct cli_hold *h, const struct cli_hold_terms *terms)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.owner = h->owner_number;
    options.wait_ms = terms->wait_ms;
    options.lease_ms = terms->lease_ms;
    options.on_wait = on_wait;
    options.on_renewed = on_renewed;
    options.on_lost = on_lost;
    options.ctx = h;
    return cli_locks_acquire(h->locks, &options, on_acquired, h);
}

static void own_cancel(struct cli_hold *h)
{
    cli_locks_cancel(h->locks, h->owner_number);
}

static hf_status own_release(struct cli_hold *h)
{
    return cli_locks_release(h->locks, h->owner_number, on_released, h);
}

static int64_t own_safe_ms(struct cli_hold *h)
{
    return cli_locks_safe_ms(h->locks, h->owner_number);
}

static void own_turn(struct cli_hold *h)
{
    (void)h; /* the library's callbacks report all */
}

static void own_fini(struct cli_hold *h)
{
    (void)h; /* the rest ends with the client */
}

const struct cli_hold_kind cli_hold_own = {.acquire = own_acquire,
                                           .cancel = own_cancel,
                                           .release = own_release,
                                           .safe_ms = own_safe_ms,
                                           .after_loop_turn = own_turn,
                                           .fini = own_fini};
