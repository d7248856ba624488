/* What the files of lock/ share: client, lock, hold and operation. Private.
 *
 *   client -> locks (by kind and name) -> holds
 *                                     -> line of waiting operations
 *
 * All of it is touched under the loop's lock only, but for what is set once. */
#ifndef HF_CLIENT_H
#define HF_CLIENT_H

#include "lock/call.h"
#include "lock/lease.h"
#include "lock/kind.h"
#include "lock/lock.h"
#include "lock/names.h"
#include "lock/reply.h"
#include "lock/wait.h"

#define CLIENT_NAME_MAX 255
/* The least number that hf_owner_thread and hf_owner_new give. Its 15 digits keep
 * an owner field within 64 bytes: a hash with a longer field costs the server
 * more. */
#define OWNER_LEAST_GIVEN (-(INT64_C(1) << 48))
#define HOLDS_SPARE_MAX 64      /* kept for the next acquire: no malloc then */

struct hf_client {
    /* Set once. */
    struct hf_loop *loop;
    bool owns_loop;
    const struct hf_mem *mem;
    int64_t request_timeout_ms;
    int64_t connect_timeout_ms;
    bool connects_once;
    int64_t watchdog_ms;
    int replicas;
    int64_t replicas_timeout_ms;
    uint32_t locks_max;
    uint32_t waiters_max;
    void (*log)(void *ctx, enum hf_log_level level, const char *line);
    void *log_ctx;
    char uuid[UUID_LEN + 1];
    char name[CLIENT_NAME_MAX + 1];

    struct hf_router *router;
    bool is_closing;            /* no new calls */
    bool is_over;               /* and we send nothing any more */
    struct hf_waiter *closer;   /* in hf_client_close, until all is quiet; or
                                   NULL */
    uint64_t finished;          /* operations, since it is closing */
    uint32_t log_lines;         /* that wait for the log callback */
    uint64_t lines_left_out;    /* since the queue of lines was last empty */
    enum hf_log_level worst_left_out;
    uint64_t serial;            /* of the last hold or question */

    struct hf_list *buckets;    /* locks, by a hash of their names */
    uint32_t buckets_room;      /* a power of two */
    uint32_t locks;
    struct hf_list handles;     /* all locks, which are in `buckets`, too */

    struct hf_list ops;         /* all under way */
    uint32_t ops_count;
    uint32_t orphans;           /* releases in the background (orphan.c), which
                                   `ops` contains */
    bool has_told_orphans;      /* the log says that there are too many */
    uint32_t untold;            /* operations that have ended, whose `done` is
                                   still to be called */
    uint64_t holds;
    struct hf_list spare_holds;
    uint32_t spare_holds_count;

    /* The watchdog (watchdog.c). */
    struct hf_list due_holds;   /* to be renewed at the end of this turn */
    struct hf_list batches;
    struct hf_turn_hook turn;
    bool renews_by_eval;        /* the server did not know the script: send its
                                   text */
    bool renews_singly;         /* a slot is on the move: renew the holds that are
                                   due now one by one */
    uint64_t renewals;
    uint64_t renewal_requests;
};

/* The plain subscription beside the sharded one: sharded=both. */
struct hf_plain_subscription {
    struct hf_subscription subscription;
    struct hf_line *line;
    bool may_be_double;         /* a sharded message came; the next plain one may
                                   be of the same release */
};

/* Who waits on one channel. Locks of one name whose kinds have the same channel
 * share it. */
struct hf_line {
    struct hf_list waiters;     /* operations, first come first */
    struct hf_wait_answers answers;
    bool is_listening;          /* subscription is added */
    bool is_waking;             /* a message is on its way (wake.c) */
    struct hf_ear ear;
    struct hf_subscription subscription;
    struct hf_plain_subscription *plain; /* or NULL */
};

struct hf_lock {
    struct hf_list by_name;     /* in a bucket */
    struct hf_list node;        /* in client->handles */
    struct hf_client *client;
    const struct hf_kind *kind;
    uint32_t refs;              /* handles, holds, operations; other locks that
                                   use its line */
    uint32_t hash;
    uint16_t slot;              /* of its name, in a cluster */
    bool is_odd;                /* its channel hashes to another slot than its
                                   name: WIRE 2.5 */
    uint32_t name_len;
    uint32_t channel_len;
    struct hf_list holds;
    struct hf_line *line;       /* its own, or that of an older lock */
    struct hf_line own_line;
    char text[];                /* name, NUL, channel (of its own line), the
                                   kind's keys */
};

struct hf_hold {
    struct hf_list node;        /* in lock->holds, or client->spare_holds */
    struct hf_lock *lock;
    int64_t owner;
    struct hf_lease lease;
    int64_t token;              /* the grant's; < 0: its kind has none */
    struct hf_timer timer;
    struct hf_list due_node;    /* in client->due_holds */
    struct hf_batch *batch;     /* the renewal under way that it is in */
    bool is_free;               /* given up; its memory lasts until `batch` ends */
    struct hf_op *op;           /* the operation that acts on it now */
    struct hf_list pending;     /* operations that wait for `op` */
    struct hf_task lost_task;
    struct hf_task renewed_task;
    void (*on_renewed)(void *ctx, struct hf_lock *lock, int64_t owner);
    void (*on_lost)(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason);
    void *ctx;
    uint32_t text_len;
    char text[HF_OWNER_TEXT_MAX];
    char key[];                 /* its kind's hold_key, if that has one */
};

/* What an operation does. */
struct hf_verb {
    void (*start)(struct hf_op *op);
    void (*resume)(struct hf_op *op);   /* after start: the hold that it stood
                                           behind is free. NULL: it stands behind
                                           none */
    void (*cancel)(struct hf_op *op, hf_status status);
    void (*on_line)(struct hf_op *op, enum hf_wait_event event); /* to the first
                                           in line. NULL: it stands in none */
    bool only_waits;            /* until its question has left: closing ends it */
    bool is_orphan;             /* in the background (orphan.c): begins also while
                                   the client is closing */
};
extern const struct hf_verb hf_verb_acquire, hf_verb_release, hf_verb_force,
    hf_verb_inspect;

#define OP_ARGS_MAX (CALL_HEAD + 1 + KIND_KEYS_MAX + 6)

/* One call of the API under way, blocking (on its caller's stack) or not. */
struct hf_op {
    struct hf_list node;        /* in client->ops */
    struct hf_list line_node;   /* in line->waiters or hold->pending */
    struct hf_list cancel_node;
    struct hf_client *client;
    struct hf_lock *lock;
    const struct hf_verb *verb;
    int64_t owner;
    int64_t count;              /* the hold count to reach */
    bool is_freeing;            /* a last release is under way (W8) */
    bool was_listening;         /* lock->is_listening when that began */
    struct hf_hold *hold;

    struct hf_call call;
    struct hf_answer answer;    /* its texts only while the reply is read */
    struct hf_resp_arg argv[OP_ARGS_MAX];
    char text[HF_OWNER_TEXT_MAX];   /* a question; the owner that an orphan's
                                       release is for; the hold that is joined */
    size_t text_len;
    char count_text[HF_RESP_INTEGER_MAX];
    char lease_text[HF_RESP_INTEGER_MAX];

    /* To acquire. */
    struct hf_acquire_options options;
    int64_t lease_ms;
    struct hf_wait wait;
    struct hf_timer timer;
    bool has_told_wait;
    struct hf_wait_notice *notice;  /* on_wait, not called yet */
    bool may_be_held;           /* an earlier question than op->call may have been
                                   granted */

    /* To inspect, and to force. */
    struct hf_lock_info *info;  /* where the answer goes */
    const char *holder;         /* who is looked for; who may hold it */
    size_t holder_len;

    /* How it ends. */
    hf_status status;
    struct hf_error *error;     /* NULL: nobody reads it */
    struct hf_waiter *waiter;   /* blocking */
    hf_done *done;              /* not blocking */
    void *done_ctx;
    struct hf_task task;
    size_t size;                /* of our own memory to free; 0: a caller's */
};

/* hf_client_log - one line, later, with the lock free. */
void hf_client_log(struct hf_client *client, enum hf_log_level level,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- table.c: locks by kind and name ---- */

hf_status hf_table_init(struct hf_client *client) HF_MUST_CHECK;
void hf_table_fini(struct hf_client *client);
hf_status hf_lock_find_or_add(struct hf_lock **out, struct hf_client *client,
                              const struct hf_kind *kind, const char *name,
                              size_t len) HF_MUST_CHECK;
void hf_lock_ref(struct hf_lock *lock);
void hf_lock_unref(struct hf_lock *lock);

/* hf_lock_next_of_name - the locks of its name, itself included: the first one
 *   behind `after`; NULL: the first of all. NULL: there is none. */
struct hf_lock *hf_lock_next_of_name(const struct hf_lock *lock,
                                     const struct hf_lock *after);

/* hf_lock_is_sharded - do the waiters listen by SSUBSCRIBE? */
bool hf_lock_is_sharded(const struct hf_lock *lock);

/* hf_line_lock - the lock whose own line it is. */
static inline struct hf_lock *hf_line_lock(struct hf_line *line)
{
    return HF_OWNER_OF(line, struct hf_lock, own_line);
}

static inline struct hf_bytes hf_lock_channel(const struct hf_lock *lock)
{
    const struct hf_lock *of = hf_line_lock(lock->line);

    return (struct hf_bytes){of->text + of->name_len + 1, of->channel_len};
}

/* The texts of kind->keys, one behind the other. */
static inline const char *hf_lock_keys(const struct hf_lock *lock)
{
    return lock->text + lock->name_len + 1 + lock->channel_len;
}

/* ---- args.c ---- */

/* hf_op_put_args - fills in op->argv behind CALL_HEAD: keys, `echo` and what the
 *                  step takes. Returns how long it is then. */
size_t hf_op_put_args(struct hf_op *op, enum hf_step step,
                      struct hf_bytes echo);

/* ---- op.c: operations, whatever their kind ---- */

/* hf_op_begin  - counts it in; HF_E_LIMIT, HF_E_CLOSED.
 * hf_op_new_background - one that nobody waits for, begun; it frees itself. Behind
 *                it are `room` bytes. NULL: no memory, or hf_op_begin refused it.
 * hf_op_finish - tells whoever asked; the operation is gone after. error, if
 *                any, is filled already.
 * hf_op_call   - calls the script of the lock's kind. `echo`: what its reply begins
 *                with. A failure to start is told to `done`. */
hf_status hf_op_begin(struct hf_op *op) HF_MUST_CHECK;
struct hf_op *hf_op_new_background(struct hf_lock *lock,
                                   const struct hf_verb *verb, size_t room)
    HF_MUST_CHECK;
void hf_op_finish(struct hf_op *op, hf_status status);
void hf_op_call(struct hf_op *op, enum hf_step step, struct hf_bytes echo,
                int64_t deadline_ms,
                void (*done)(struct hf_call *, hf_status, struct hf_resp_value));

/* hf_op_cancel - ends it with `status`, whatever it waits for. True: the server
 * may have done what was asked. */
bool hf_op_cancel(struct hf_op *op, hf_status status);

/* hf_op_deadline - of a call that is sent now: not after the end of the wait.
 * hf_op_arm_due  - op->timer fires at op->wait.due_ms. */
int64_t hf_op_deadline(const struct hf_op *op);
void hf_op_arm_due(struct hf_op *op);

/* hf_op_read_answer - reads it into op->answer: done, with op->count, or not held.
 * False: the script cannot give that. */
bool hf_op_read_answer(struct hf_op *op, struct hf_resp_value reply);

/* hf_op_odd_reply - for a reply that begins with our echo, but that the script
 * cannot give: fills the error, returns HF_E_PROTOCOL. What the server has done is
 * unknown. */
hf_status hf_op_odd_reply(struct hf_op *op);

/* ---- line.c: who waits on one channel ---- */

/* hf_line_first        - the only one that asks (W1); NULL: nobody waits.
 * hf_line_behind_first - NULL: there is none. The line is not empty.
 * hf_line_enter        - at its end. True: it is the first.
 * hf_line_leave        - also of one that stands in none. The next one asks; a line
 *                        that is empty then ends its subscriptions.
 * hf_line_wake_first   - this client may have released the lock: the first in line
 *                        asks (W6).
 * hf_line_listen, hf_line_stop_listening - its subscriptions.
 * hf_line_freeing      - a call that may free the lock is about to be sent.
 * hf_line_freed        - that call has ended. `heard`: how many subscribers its
 *                        message had; < 0: unknown. A second call does nothing. */
struct hf_op *hf_line_first(const struct hf_line *line);
struct hf_op *hf_line_behind_first(const struct hf_line *line);
bool hf_line_enter(struct hf_op *op);
void hf_line_leave(struct hf_op *op);
void hf_line_wake_first(struct hf_line *line);
void hf_line_listen(struct hf_line *line);
void hf_line_stop_listening(struct hf_line *line);
void hf_line_freeing(struct hf_op *op);
void hf_line_freed(struct hf_op *op, int64_t heard);

/* hf_reentry_start  - `op` acquires what its owner holds.
 * hf_reentry_cancel - it acts on that hold now, and ends.
 * hf_reentry_refuse - fills the error: it would wait for its own owner. */
void hf_reentry_start(struct hf_op *op, struct hf_hold *held);
void hf_reentry_cancel(struct hf_op *op, hf_status status);
hf_status hf_reentry_refuse(struct hf_op *op, const struct hf_hold *held);

/* hf_notice_wait   - on_wait will be called, once an operation.
 * hf_notice_forget - it is not called any more, unless it has begun. */
void hf_notice_wait(struct hf_op *op, const struct hf_lock_info *info);
void hf_notice_forget(struct hf_op *op);

/* hf_info_read   - fills holder, hold_count and kind from the field of the lock's
 *                  hash that `answer` names. HF_KIND_NONE: no lock has such a
 *                  field.
 * hf_info_refuse - HF_E_SERVER: the hash is not a lock's. */
void hf_info_read(struct hf_lock_info *info, const struct hf_answer *answer);
hf_status hf_info_refuse(struct hf_error *err, const struct hf_lock *lock,
                         const struct hf_lock_info *info);

/* hf_wake_source - `op` may have freed its lock. If it was sent by ASK, the waiters
 *                  that listen at the slot's owner are woken, too. */
void hf_wake_source(const struct hf_op *op);

/* ---- orphan.c: grants that the server may have made and we do not hold ---- */

/* hf_release_orphan - releases owner `text` on `lock` in the background; its lease
 *                     was `lease_ms`.
 * hf_release_ghost  - an acquire was refused, as `answer` says: releases the holder
 *                     if it has our UUID and this client has no record of it
 *                     (ORPHAN-3). */
void hf_release_orphan(struct hf_lock *lock, const char *text, size_t len,
                       int64_t lease_ms);
void hf_release_ghost(struct hf_lock *lock, const struct hf_answer *answer);

/* ---- hold.c: our record of what we hold ---- */

struct hf_hold *hf_hold_find(struct hf_lock *lock, int64_t owner);
/* hf_hold_find_beside - on another lock with the same line.
 * hf_hold_to_join     - on the other side, which this kind joins; or NULL.
 * hf_hold_text        - its field in the lock's hash.
 * hf_hold_key_len     - of the key of an owner's hold; 0: the kind has none. */
struct hf_hold *hf_hold_find_beside(struct hf_lock *lock, int64_t owner);
struct hf_hold *hf_hold_to_join(struct hf_lock *lock, int64_t owner);
static inline struct hf_bytes hf_hold_text(const struct hf_hold *hold)
{
    return (struct hf_bytes){hold->text, hold->text_len};
}

size_t hf_hold_key_len(const struct hf_lock *lock, size_t owner_len);
void hf_hold_put_key(char *dst, const struct hf_lock *lock,
                     struct hf_bytes owner);

struct hf_hold *hf_hold_new(struct hf_op *op) HF_MUST_CHECK;
void hf_hold_free(struct hf_hold *hold);
void hf_hold_rearm(struct hf_hold *hold);
void hf_hold_tell_lost(struct hf_hold *hold);
void hf_hold_tell_renewed(struct hf_hold *hold);

/* hf_hold_enter - is `op` the one that may act on the hold now? If not, it is
 *                 started again when the others have left.
 * hf_hold_leave - the next one. May free the hold if nothing is left of it.
 * hf_hold_drop  - its memory, once no renewal points at it. */
bool hf_hold_enter(struct hf_hold *hold, struct hf_op *op);
void hf_hold_leave(struct hf_hold *hold, bool is_gone);
void hf_hold_drop(struct hf_hold *hold);

/* hf_client_note_quiet - something has ended: if that was all that the closer waits
 * for, it is woken. */
void hf_client_note_quiet(struct hf_client *client);

/* ---- watchdog.c ---- */

void hf_watchdog_init(struct hf_client *client);
void hf_watchdog_fini(struct hf_client *client);
/* hf_watchdog_renew  - renews the hold at the end of this turn.
 * hf_watchdog_forget - the hold is given up: no renewal of it will be sent, and
 *                      the answer to one that was sent is ignored. */
void hf_watchdog_renew(struct hf_hold *hold);
void hf_watchdog_forget(struct hf_hold *hold);

#endif
