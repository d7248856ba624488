/* The records of lock/, and how they refer to each other: client, lock, wait queue, hold and
 * operation. Private to lock/.
 *
 *   client -> locks (by kind and name) -> holds
 *                                     -> queue of waiting operations
 *
 * They are used only with the loop's mutex held, except members that are set once. */
#ifndef HF_RECORDS_H
#define HF_RECORDS_H

#include "lock/script/call.h"
#include "lock/machine/lease.h"
#include "lock/script/kind.h"
#include "lock/lock.h"
#include "lock/script/names.h"
#include "lock/script/reply.h"
#include "lock/machine/wait.h"

#define CLIENT_NAME_MAX 255   /* bytes for CLIENT SETNAME */
/* The least number that hf_owner_thread and hf_owner_new return. Its 15 digits keep an owner
 * field within 64 bytes: a hash with a longer field needs more memory on the server. */
#define OWNER_LEAST_GIVEN (-(INT64_C(1) << 48))
#define HOLDS_SPARE_MAX 64      /* kept for the next acquire: no malloc then */

struct hf_batch;
struct hf_hold;

struct hf_client {
    /* Set once. */
    struct hf_loop *loop;
    const struct hf_mem *mem;
    bool owns_loop;
    bool connects_once;
    int replicas;
    int64_t request_timeout_ms;
    int64_t connect_timeout_ms;
    int64_t watchdog_ms;
    int64_t replicas_timeout_ms;
    char retention[HF_RESP_INTEGER_MAX + 1];    /* ms, of a lock's counter of
                                                   tokens; 0: forever */
    uint32_t locks_max;
    uint32_t waiters_max;
    void (*log)(void *ctx, enum hf_log_level level, const char *line);
    void *log_ctx;
    char uuid[UUID_LEN + 1];
    char name[CLIENT_NAME_MAX + 1];

    struct hf_router *router;
    bool is_closing;            /* no new calls */
    bool is_over;               /* and no further request is sent */
    struct hf_waiter *closer;   /* the thread in hf_client_close; or NULL */
    uint64_t finished;          /* operations that have ended since is_closing */
    uint32_t log_lines;         /* lines that wait for the log callback */
    uint64_t lines_left_out;    /* since the queue of lines was last empty */
    enum hf_log_level worst_left_out;
    uint64_t serial;            /* of the last hold or request */

    struct hf_list *buckets;    /* locks, by a hash of their names */
    uint32_t buckets_capacity;      /* a power of two */
    uint32_t locks_count;
    struct hf_list locks;       /* all locks, which are also in `buckets` */

    struct hf_list ops;         /* all pending operations */
    uint32_t ops_count;
    uint64_t ops_begun;         /* operations begun since the client was created */
    uint32_t orphans;           /* background releases (orphan.c), which `ops` contains */
    uint32_t housekeeping_ops;  /* operations that no caller requested, also in `ops` */
    bool has_told_orphans;      /* the log says that there are too many */
    int64_t next_note_ms;       /* the log reports a notification that was not sent, but
                                   not before this time */
    uint32_t untold;            /* ended operations whose `done` was not called yet */
    uint64_t holds;
    uint64_t provisional_holds;
    struct hf_list spare_holds;
    uint32_t spare_holds_count;

    /* The watchdog (watchdog.c). */
    struct hf_list due_holds;   /* are renewed at the end of this turn */
    struct hf_list batches;
    uint32_t batches_count;
    void (*leave_batch)(struct hf_batch *batch, const struct hf_hold *hold);
    struct hf_turn_hook turn;
    bool lacks_evalsha;         /* a server does not know EVALSHA (call.h) */
    struct hf_declare_state declare_state; /* keys that scripts derive */
    bool has_scattered_locks;   /* WATCHDOG-4: a call for several finds only some */
    bool renews_singly;         /* a slot moves: the holds that are due now are renewed
                                   one by one */
    uint64_t renewals;
    uint64_t renewal_requests;
    uint64_t push_checks;       /* checks that pushes caused (track.c) */
    uint64_t push_losses;       /* losses that these found */

    /* A switch of masters (switch.c). */
    struct hf_list unsure_holds;    /* must be confirmed by the server */
    struct hf_timer unsure_timer;   /* processes the next of them */
};

/* The plain subscription in addition to the sharded one: sharded=both. */
struct hf_plain_subscription {
    struct hf_subscription subscription;
    struct hf_wait_queue *line;
    bool may_be_double;         /* a sharded message arrived; the next plain one may belong
                                   to the same release */
};

/* The waiters on one channel. Locks of one name whose kinds have the same channel share
 * it: kinds that exclude each other use one channel, so comparing its text suffices. */
struct hf_wait_queue {
    struct hf_list waiters;     /* operations, in order of arrival */
    struct hf_wait_answers answers;
    bool is_listening;          /* `subscription` was added */
    bool is_waking;             /* a message is pending (wake.c) */
    uint32_t locks;             /* locks that use this queue */
    struct hf_channel channel;
    struct hf_subscription subscription;
    struct hf_plain_subscription *plain; /* or NULL */
    struct hf_lock *lock;       /* the lock of the queue, or of its one waiter */
    struct hf_bytes name;       /* of the channel */
};

/* The queue of one waiter with its own channel: "CHANNEL:{name}:OWNER". */
struct hf_own_line {
    struct hf_wait_queue line;
    size_t size;                /* of this memory */
    char channel[];
};

struct hf_lock {
    struct hf_list bucket_link; /* in a bucket */
    struct hf_list client_link; /* in client->locks */
    struct hf_client *client;
    const struct hf_kind *kind;
    uint32_t refs;              /* handles, holds, operations; other locks that use its
                                   queue */
    uint32_t hash;
    uint16_t slot;              /* of its name, in a cluster */
    bool has_foreign_channel;   /* its channel has another slot than its name: WIRE 2.5 */
    uint32_t name_len;
    uint32_t channel_len;
    struct hf_list holds;
    uint32_t holds_count;
    uint32_t hold_buckets_room; /* a power of two; 0: few holds, and no buckets */
    struct hf_list *hold_buckets;   /* the holds by a hash of their owners */
    struct hf_wait_queue *line;       /* its own queue, or that of an older lock */
    struct hf_op *forgetting;   /* gathers recorded replies to delete (count.c); or NULL */
    uint32_t private_queues;         /* waiters with a queue of their own */
    struct hf_wait_queue private_queue;
    char text[];                /* name, NUL, channel of its own queue, the keys of the
                                   kind */
};

struct hf_hold {
    struct hf_list node;        /* in lock->holds, or client->spare_holds */
    struct hf_list owner_node;  /* in lock->hold_buckets, if there are any */
    struct hf_lock *lock;
    int64_t owner;
    int64_t token;              /* of the grant; < 0: its kind has none */
    struct hf_timer timer;
    struct hf_list due_node;    /* in client->due_holds */
    struct hf_list unsure_node; /* in client->unsure_holds */
    int64_t check_from_ms;      /* no check before, because of a push (TRACK-3) */
    struct hf_batch *batch;     /* the pending renewal or look that contains it */
    struct hf_op *op;           /* the operation that acts on it now */
    struct hf_list pending;     /* operations that wait for `op` */
    struct hf_op *orphan;       /* memory for its background release, if no lease would
                                   end it (ORPHAN-5); or NULL */
    bool is_looked_at;          /* due_node, batch: for a look, not a renewal */
    bool is_member;             /* of a multi-lock or a quorum */
    bool is_open;               /* provisional: a member of a set that is not complete */
    bool renews_alone;          /* WATCHDOG-4: a call for several did not find it */
    bool is_pushed;             /* a push caused a check of it, which has no reply yet */
    bool renews_by_text;        /* its server did not know the script: the next renewal
                                   sends EVAL */
    struct hf_task lost_task;
    struct hf_task renewed_task;
    void (*on_renewed)(void *ctx, struct hf_lock *lock, int64_t owner);
    void (*on_lost)(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason);
    void *ctx;

    /* Not zeroed: hf_hold_new writes it. */
    struct hf_lease lease;
    int64_t released_until_ms;  /* the safe moment when the last release began */
    bool is_free;               /* freed; `batch` still needs its memory */
    uint8_t text_len;
    char text[HF_OWNER_TEXT_MAX];
    char key[];                 /* its kind's hold_key, if that has one */
};

/* The functions of an operation. */
struct hf_verb {
    const char *name;           /* for hf_client_dump */
    void (*start)(struct hf_op *op);
    void (*resume)(struct hf_op *op);   /* after start: it is its turn to act on the hold.
                                           NULL: it never waits for a hold */
    void (*cancel)(struct hf_op *op, hf_status status);
    void (*on_line)(struct hf_op *op, enum hf_wait_event event); /* an event for the first
                                           waiter. NULL: it is never in a queue */
    bool only_waits;            /* closing ends it, unless its request was sent */
    bool is_orphan;             /* a background release (orphan.c): it may begin while the
                                   client is closing */
};

/* The greatest number of arguments of a step (args.c), as for a release: the name, the keys of
 * the kind and of the hold; the echo; count, lease, place and floor; the side; two commands
 * and a channel to publish; the joined hold. */
#define OP_ARGS_MAX (CALL_HEAD + 1 + KIND_KEYS_MAX + 1 + 1 + 4 + 1 + 3 + 1)

/* The arguments that contain the name (the name itself, the keys of the kind and of the hold,
 * the channel), and the bytes that each adds to it: a prefix, braces, an owner, a suffix. */
#define OP_NAMES_MAX (1 + KIND_KEYS_MAX + 1 + 1)
#define OP_AFFIX_MAX 160
/* The longest of the other arguments, which is the holder; and of all script texts. */
#define OP_WORD_MAX 192
#define OP_SCRIPT_MAX (16 * 1024)
/* The longest command of any kind, with what may be sent before and after it
 * (ASKING, ROLE, WAIT). */
#define OP_BYTES_MAX                                                           \
    (OP_NAMES_MAX * (HF_LOCK_NAME_MAX + OP_AFFIX_MAX) + OP_SCRIPT_MAX +        \
     OP_ARGS_MAX * (OP_WORD_MAX + HF_RESP_ARG_EXTRA) + 1024)

/* One pending call of the API, blocking (on the stack of its caller) or not. */
struct hf_op {
    struct hf_list node;        /* in client->ops */
    struct hf_list line_node;   /* in line->waiters or hold->pending */
    uint64_t came;              /* client->ops_begun when it began */
    struct hf_list cancel_node;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_own_line *private_queue;   /* NULL: it waits in lock->line */
    const struct hf_verb *verb;
    int64_t owner;
    int64_t count;              /* the hold count to reach */
    int64_t permits;            /* the number of permits, for a kind without owners */
    int64_t *value;             /* receives the number of the reply; or NULL */
    bool *out_flag;               /* receives whether it was done; or NULL */
    uint64_t asked_when;        /* client->ops_begun when it last sent its request */
    bool must_begin;            /* no caller would repeat it: it begins even if
                                   waiters_max is reached or the client is closing */
    bool is_member;             /* its grant is provisional: a multi-lock may release it */
    int confirmations;          /* how often replicas had to confirm this background
                                   release (ORPHAN-6) */
    bool is_freeing;            /* a last release is pending (TURN-1) */
    bool was_listening;         /* line->is_listening when that began */
    bool has_told_wait;         /* on_wait was posted */
    struct hf_hold *hold;
    struct hf_answer answer;    /* its texts are valid only while the reply is read */
    size_t text_len;            /* of text; 0: no hold is joined */

    /* To acquire. */
    struct hf_acquire_options options;
    int64_t lease_ms;
    struct hf_timer timer;
    struct hf_wait_notice *notice;  /* on_wait, not called yet */
    bool may_be_held;           /* a request before op->call may have been granted */
    bool may_be_queued;             /* it may be in the queue on the server */
    int64_t place_ms;           /* how long its place there is valid without a request
                                   (FAIR-2); 0: it has none */
    int64_t silence_ms;         /* between its last two acquires */
    int64_t named_ms;           /* when `hold` was created, and with it the name of the
                                   request that the server records */

    /* To inspect, and to force. */
    struct hf_lock_info *info;  /* receives the result */
    const char *holder;         /* inspect: whose count is read; force: the only holder to
                                   free */
    size_t holder_len;

    /* Its end. */
    hf_status status;
    struct hf_error *error;     /* NULL: not needed */
    struct hf_waiter *waiter;   /* blocking */
    hf_done *done;              /* not blocking */
    void *done_ctx;
    size_t size;                /* of our own memory to free; 0: a caller's */

    /* Not zeroed from call.sending on: written before it is read. */
    struct hf_call call;
    struct hf_wait wait;        /* to acquire */
    struct hf_task task;        /* that calls `done` */
    struct hf_resp_arg argv[OP_ARGS_MAX];
    union {                     /* by verb */
        char question[HF_OWNER_TEXT_MAX];   /* that the reply begins with */
        char orphan[HF_OWNER_TEXT_MAX];     /* whose hold is released */
        char joined[HF_OWNER_TEXT_MAX];     /* the owner's field on the other
                                               side */
    } text;
    char count_text[HF_RESP_INTEGER_MAX];
    char lease_text[HF_RESP_INTEGER_MAX];
    char place_text[HF_RESP_INTEGER_MAX], floor_text[HF_RESP_INTEGER_MAX];
    char silence_text[HF_RESP_INTEGER_MAX];
};

/* hf_op_orphan_key - returns the key of the hold of an orphan, which follows the operation in
 *   memory. */
static inline char *hf_op_orphan_key(const struct hf_op *op)
{
    return (char *)(op + 1);
}

/* hf_lock_channel - returns the channel of the lock, without the owner of a waiter's own
 *   channel. */
static inline struct hf_bytes hf_lock_channel(const struct hf_lock *lock)
{
    return lock->line->name;
}

/* hf_op_line - returns the queue in which it waits. */
static inline struct hf_wait_queue *hf_op_line(const struct hf_op *op)
{
    return op->private_queue ? &op->private_queue->line : op->lock->line;
}

/* hf_lock_keys - returns the texts of kind->keys, one after the other. */
static inline const char *hf_lock_keys(const struct hf_lock *lock)
{
    return lock->text + lock->name_len + 1 + lock->channel_len;
}

/* hf_hold_text - returns the field of the hold in the hash of the lock. */
static inline struct hf_bytes hf_hold_text(const struct hf_hold *hold)
{
    return (struct hf_bytes){hold->text, hold->text_len};
}

#endif
