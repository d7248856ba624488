/* The lock of a command: requested, held, lost, released. There are two kinds: a lock
 * of this run (hold_own.c), and the lock of an outer run on the same name
 * (hold_outer.c). */
#ifndef CLI_RUN_HOLD_H
#define CLI_RUN_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/run/proof.h"
#include "cli/run/locks.h"

/* Variables of the command's environment that describe its lock. */
#define CLI_ENV_NAME "HOLDFAST_NAME"
#define CLI_ENV_OWNER "HOLDFAST_OWNER"
#define CLI_ENV_FD "HOLDFAST_FD"
#define CLI_ENV_TOKEN "HOLDFAST_TOKEN"  /* of a fenced lock */
#define CLI_ENV_OUTER "HOLDFAST_OUTER"  /* all runs around it */

/* Callbacks, called by hf_loop_dispatch without the loop's lock. `err` lives
 * until they return. */
struct cli_hold_events {
    void (*on_waiting)(void *ctx, struct hf_lock *lock, const struct hf_lock_info *info);
    void (*on_acquired)(void *ctx);
    void (*on_refused)(void *ctx, hf_status status, const struct hf_error *err);
    void (*on_renewed)(void *ctx);
    /* `lock`: the one that was lost; NULL: an outer run's. */
    void (*on_lost)(void *ctx, enum hf_lost reason, const struct hf_lock *lock);
    void (*on_released)(void *ctx, hf_status status, const struct hf_error *err);
};

struct cli_hold_terms {
    int64_t wait_ms;
    int64_t lease_ms;
};

struct cli_hold;
struct cli_hold_kind {
    hf_status (*acquire)(struct cli_hold *h, const struct cli_hold_terms *terms);
    void (*cancel)(struct cli_hold *h);
    hf_status (*release)(struct cli_hold *h);
    int64_t (*safe_ms)(struct cli_hold *h);
    void (*after_loop_turn)(struct cli_hold *h);
    void (*fini)(struct cli_hold *h);
};

struct cli_hold {
    const struct cli_hold_kind *kind;
    const struct cli_hold_events *events;
    void *ctx;
    struct cli_locks *locks;
    struct hf_lock *lock;           /* the first of them */
    enum hf_lock_kind wanted_kind;  /* its kind */
    int64_t token;                  /* of a fenced lock, while it is held; or 0 */
    char owner[HF_OWNER_TEXT_MAX];  /* as the server has it; "": not held */

    /* For a lock of this run. */
    int64_t owner_number;

    /* For the lock of an outer run. */
    struct hf_lock_info inspected_info; /* being queried */
    struct cli_hold_terms terms;        /* used if this is not a nested run */
    struct hf_io notice_io;             /* HOLDFAST_FD; fd -1: there is none */
    bool has_unreported_notice;         /* seen, and not yet reported */
    struct cli_proof proof;             /* that the outer run holds it */
    bool is_proving;
};

/* cli_hold_init - in a nested run, the hold is that of the outer run, otherwise our own. `locks`,
 *                 which are of kind `wanted`, are borrowed.
 * cli_hold_fini - call it before the client and the loop are freed.
 * cli_hold_is_nested - returns whether it is the hold of an outer run. Known after the acquire.
 * cli_hold_is_innermost - for a nested run, returns whether HOLDFAST_OWNER is that of the outer
 *                 hold. Otherwise there is a run on another lock between the two.
 * cli_hold_new_outer_list - returns CLI_ENV_OUTER for a command that runs under this hold, with
 *                 `fd` as its notice and that address of its proof server (proof.h), for free().
 *                 NULL: no memory.
 * cli_hold_holds  - does as cli_proof_holds, for a hold of our own.
 *
 * cli_hold_acquire - requests the lock. `on_acquired` or `on_refused` follows, unless it fails
 *   here.
 * cli_hold_cancel  - cancels that. `on_refused` follows soon, or `on_acquired`, if that was first.
 * cli_hold_release - releases it. `on_released` follows, unless it fails here.
 * cli_hold_safe_ms - does as hf_lock_safe_ms.
 * cli_hold_after_turn    - reports recorded events. Call it after each hf_loop_dispatch. */
void cli_hold_init(struct cli_hold *h, struct cli_locks *locks,
                   enum hf_lock_kind wanted,
                   const struct cli_hold_events *events, void *ctx);
void cli_hold_fini(struct cli_hold *h);
bool cli_hold_is_nested(const struct cli_hold *h);
bool cli_hold_is_innermost(const struct cli_hold *h);
char *cli_hold_new_outer_list(const struct cli_hold *h, int fd, const char *address);
bool cli_hold_holds(struct cli_hold *h, const char *name, size_t len,
                    const char *owner, int64_t *token);
hf_status cli_hold_acquire(struct cli_hold *h, const struct cli_hold_terms *terms);
void cli_hold_cancel(struct cli_hold *h);
hf_status cli_hold_release(struct cli_hold *h);
int64_t cli_hold_safe_ms(struct cli_hold *h);
void cli_hold_after_turn(struct cli_hold *h);

/* The two kinds. cli_hold_is_inside - returns whether the environment has an outer run
 * on one of the names, or an invalid list of runs. */
extern const struct cli_hold_kind cli_hold_own;
extern const struct cli_hold_kind cli_hold_outer;
bool cli_hold_is_inside(const struct cli_locks *locks);

#endif
