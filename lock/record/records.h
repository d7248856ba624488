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
#include "lock/machine/lease_pack.h"
#include "lock/record/tally.h"
#include "lock/script/kind.h"
#include "lock/lock.h"
#include "lock/script/names.h"
#include "lock/script/reply.h"
#include "lock/machine/wait.h"
#include "net/base/assert.h"

#define CLIENT_NAME_MAX 255   /* bytes for CLIENT SETNAME */
/* The least number that hf_owner_thread and hf_owner_new return. Its 15 digits keep an owner
 * field within 64 bytes: a hash with a longer field needs more memory on the server. */
#define OWNER_GENERATED_MIN (-(INT64_C(1) << 48))
#define CHANNEL_SHORT_MAX 72    /* a channel name of at most this length is not stored, but
                                   formatted when needed */
#define KEYS_SHORT_MAX 160      /* the same for all keys of the kind */
#define HOLDS_SPARE_MAX 16      /* spare holds are kept for the next acquires, which then need
                                   no malloc */

struct hf_batch;
struct hf_client;
struct hf_hold;
struct hf_holder;
struct hf_label;
struct hf_plain_subscription;
struct hf_registration;

/* An object with memory that is freed when it has been idle (shrink.h). */
struct hf_shrink {
    struct hf_list idle_node;   /* in client->idle_objects, in order of idle_since_ms */
    int64_t idle_since_ms;
    void (*free_memory)(struct hf_client *client, struct hf_shrink *shrink);
};

struct hf_client {
    /* Set once. */
    struct hf_loop *loop;
    const struct hf_mem *mem;
    bool owns_loop;
    bool tries_connect_once;
    int replicas;
    int64_t request_timeout_ms;
    int64_t connect_timeout_ms;
    int64_t watchdog_ms;
    int64_t replicas_timeout_ms;
    char token_retention_text[HF_RESP_INTEGER_MAX + 1]; /* ms; 0: forever */
    uint32_t locks_max;
    uint32_t waiters_max;
    void (*log)(void *ctx, enum hf_log_level level, const char *line);
    void *log_ctx;
    char uuid[UUID_LEN + 1];
    char name[CLIENT_NAME_MAX + 1];

    struct hf_router *router;
    bool is_closing;                   /* no new calls */
    bool has_stopped_sending;          /* and no further request is sent */
    struct hf_waiter *closing_waiter;  /* the thread in hf_client_close; or NULL */
    uint64_t ops_finished_since_close; /* operations that have ended since is_closing */
    uint32_t log_lines_queued;         /* lines that wait for the log callback */
    uint64_t log_lines_left_out;       /* since the queue of lines was last empty */
    enum hf_log_level worst_left_out_level;
    uint64_t last_serial;              /* of the last hold or request */

    struct hf_lock **lock_buckets; /* locks, by a hash of their names */
    uint32_t lock_buckets_capacity; /* a power of two */
    uint32_t locks_count;

    struct hf_list pending_ops;      /* all pending operations */
    uint32_t ops_count;
    uint64_t ops_begun;              /* operations begun since the client was created */
    uint32_t background_releases;    /* also in `pending_ops` (orphan.c) */
    uint32_t housekeeping_ops;       /* that no caller requested, also in `pending_ops` */
    bool has_logged_orphans;         /* the log says that there are too many */
    int64_t next_put_off_log_ms;     /* the log reports a notification that was not sent, but not
                                        before this time */
    uint32_t pending_done_callbacks; /* ended operations whose `done` was not called yet */
    uint32_t pending_label_calls;    /* pending calls of label.h, also those whose `done` was not
                                        called yet */
    uint64_t holds_count;
    uint64_t provisional_holds_count;
    /* Memory for the next acquires. */
    struct hf_list spare_holds[2];      /* without and with struct hf_hold_callbacks */
    struct hf_list spare_works;         /* hf_hold_work.shrink.idle_node */
    uint32_t spare_holds_count[2];
    uint32_t spare_works_count;

    /* The watchdog (renew.c). */
    struct hf_list due_holds;   /* are renewed at the end of this turn */
    struct hf_list renewal_batches;
    uint32_t renewal_batches_count;
    void (*leave_batch)(struct hf_batch *batch, const struct hf_hold *hold);
    struct hf_turn_hook turn_end_hook;
    uint64_t aligned_from_holds; /* WATCHDOG-6: a client with fewer holds moves no renewal */
    uint64_t crowded_slots;     /* WATCHDOG-6: a bit for each 64th slot */
    bool lacks_evalsha;         /* a server does not know EVALSHA (call.h) */
    struct hf_declare_state declare_state; /* keys that scripts derive */
    bool has_locks_on_several_nodes; /* WATCHDOG-4: a call for several finds only some */
    bool renews_singly;         /* a slot moves: each hold that is due now is renewed alone */
    uint64_t renewals, renewal_requests;
    int64_t listeners_count_from_ms; /* no request for a number of listeners before (PUSHED-5) */
    uint64_t push_checks;            /* checks that pushes caused (track.c) */
    uint64_t push_losses;            /* losses that these found */
    uint64_t push_wake_requests;     /* requests of waiters that pushes caused */
    struct hf_tally tally;

    struct hf_label *label;     /* label.h; NULL: it has none */
    bool is_closing_label;      /* LABEL-3 is not finished */
    struct hf_list label_requests;      /* hf_label_request.node */
    bool has_unreadable_labels; /* the server has refused the right to read them */

    /* Memory that is freed later (shrink.c). */
    struct hf_list idle_objects; /* hf_shrink.idle_node */
    struct hf_timer idle_timer;

    /* A switch of masters (switch.c). */
    struct hf_list unsure_holds;    /* must be confirmed by the server */
    struct hf_timer unsure_timer;   /* processes the next of them */
};

/* The waiters on one channel. It is allocated for the first acquire, and freed when the lock was
 * not acquired for a second (shrink.h). Locks of one name whose kinds have the same channel
 * share it: kinds that exclude each other use one channel, so comparing its text suffices. A
 * waiter with its own channel, "CHANNEL:{name}:OWNER", has a queue of its own. */
struct hf_wait_queue {
    struct hf_list waiters;     /* operations, in order of arrival */
    struct hf_wait_answers last_answers;
    bool is_listening;          /* `subscription` was added */
    uint32_t users_count;       /* operations that may wait in it */
    uint32_t locks_count;       /* locks that use this queue */
    struct hf_channel channel;
    struct hf_subscription subscription;
    struct hf_plain_subscription *plain_subscription; /* or NULL */
    struct hf_registration *registration; /* TURN-3; or NULL */
    bool is_registration_refused;
    struct hf_lock *lock;             /* one of these, or that of its one waiter */
    struct hf_holder *awaited_holder; /* holder.h; NULL: not known */
    struct hf_shrink shrink;
    size_t size;                      /* of this memory */
    size_t channel_name_len;
    char channel_name[];
};

/* The holds of a lock that has many: readers, and permits. They are found by a hash of their
 * owners, and are in no other list. */
struct hf_hold_table {
    uint32_t capacity;          /* a power of two */
    struct hf_list buckets[];
};

/* A lock takes little memory. Members that few locks need are allocated separately. */
struct hf_lock {
    struct hf_lock *next_in_bucket; /* in the bucket of client->lock_buckets */
    struct hf_client *client;
    const struct hf_kind *kind;
    struct hf_list holds;           /* if there is no table */
    struct hf_hold_table *hold_table; /* NULL: it has few holds */
    struct hf_wait_queue *wait_queue; /* NULL: no call may wait for it */
    struct hf_op *pending_reply_deletion; /* gathers replies to delete (count.c); or NULL */
    uint32_t refs;                 /* handles, holds, operations */
    uint32_t name_hash;
    uint32_t name_len;
    uint32_t holds_count;
    uint32_t private_queues_count; /* waiters with a queue of their own */
    uint16_t slot;                 /* of its name, in a cluster */
    bool has_foreign_channel : 1;   /* its channel has another slot than its name: WIRE 2.5 */
    bool shares_channel : 1;             /* a lock of another kind had the same name and channel */
    bool has_pending_wake_message : 1;   /* to its channel (wake_moved_slot.c) */
    bool has_pending_listener_count : 1; /* a request for the number of its listeners is pending */
    bool has_long_channel : 1;           /* the name of its channel is in `texts`: it is longer than
                                            CHANNEL_SHORT_MAX */
    bool has_keys : 1;                  /* the keys of its kind are in `texts`: they are longer than
                                            KEYS_SHORT_MAX, or renewals need them */
    char texts[];                        /* name, NUL, a long channel, the keys */
};

/* What a hold needs while a request about it is pending or may come. It is allocated for the
 * acquire, and freed when the hold has been idle for a second (shrink.h); then it is allocated
 * again for each renewal (hold_work.h). */
struct hf_hold_work {
    struct hf_hold *hold;
    struct hf_shrink shrink;
    struct hf_list due_node;     /* in client->due_holds */
    struct hf_list unsure_node;  /* in client->unsure_holds */
    int64_t push_check_from_ms;  /* no check before, because of a push (TRACK-3) */
    int64_t push_check_pause_ms; /* that follows the last check (TRACK-5) */
    struct hf_batch *batch;      /* the pending renewal or look that contains it */
    struct hf_op *acting_op;     /* the operation that acts on it now */
    struct hf_list waiting_ops;  /* operations that wait for `acting_op` */
    bool is_due_for_look;        /* due_node, batch: for a look, not a renewal */
    bool is_unsure_after_switch; /* unsure_node: because of a switch of masters */
    bool renews_without_others;  /* WATCHDOG-4: a call for several did not find it */
    bool renews_by_eval;         /* its server did not know the script */
    bool is_memory_of_release;   /* memory of the operation that releases the hold */

    /* Not zeroed: written when the memory is taken. */
    struct hf_lease lease;
    int64_t released_until_ms;  /* the safe moment when the last release began */
    uint32_t due_key;           /* of the order of client->due_holds: due_order.h */
    uint8_t hold_field_len;
    char hold_field[HF_OWNER_TEXT_MAX]; /* the field of the hold in the hash of the lock */
};

/* Members that few holds need: callbacks, a token, or memory for a release. */
struct hf_hold_callbacks {
    struct hf_task lost_task;
    struct hf_task renewed_task;
    void (*on_renewed)(void *ctx, struct hf_lock *lock, int64_t owner);
    void (*on_lost)(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason);
    void *ctx;
    int64_t token;                    /* of the grant; <= 0: its kind has none */
    struct hf_op *background_release; /* memory for its background release, if no lease would end it
                                         (ORPHAN-5); or NULL */
};

struct hf_hold {
    struct hf_list node;        /* in lock->holds or its table, or client->spare_holds */
    struct hf_lock *lock;
    int64_t owner;
    struct hf_timer timer;
    struct hf_hold_work *work;  /* NULL: the hold is idle */
    struct hf_lease_packed packed_lease; /* while it is idle */
    uint32_t serial_low;             /* of its field: hf_owner_format; the low 32 bits */
    uint8_t serial_high;
    bool has_callbacks : 1;          /* struct hf_hold_callbacks follows; after it the key of the
                                        hold, if its kind has hold_key */
    bool is_member : 1;              /* of a multi-lock or a quorum */
    bool is_provisional : 1;         /* a member of a set that is not complete */
    bool has_pending_push_check : 1; /* a push caused a check of it, which has no reply yet */
    bool is_freed : 1;               /* freed; `batch` still needs its memory */
};

/* The functions of an operation. */
struct hf_verb {
    const char *name;           /* for hf_client_dump */
    void (*start)(struct hf_op *op);
    void (*resume)(struct hf_op *op);   /* after start: it is its turn to act on the hold.
                                           NULL: it never waits for a hold */
    void (*cancel)(struct hf_op *op, hf_status status);
    void (*on_wait_event)(struct hf_op *op, enum hf_wait_event event); /* an event for the first
                                           waiter. NULL: it is never in a queue */
    void (*on_queue_registered)(const struct hf_op *op); /* the first waiter's queue has registered
                                                            (TURN-3). NULL: nothing is done */
    enum hf_step change_step;   /* of a change of a count: count.c */
    bool ends_at_close;         /* closing ends it, unless its request was sent */
    bool is_background_release; /* a background release (orphan.c): it may begin while the client is
                                   closing */
};

/* The greatest number of arguments of a step (args.c), as for a release: the name, the keys of
 * the kind and of the hold; the echo; count, lease, place and floor; the side; two commands
 * and a channel to publish; the joined hold. */
#define OP_ARGS_MAX (CALL_HEAD_ARGS + 1 + KIND_KEYS_MAX + 1 + 1 + 4 + 1 + 3 + 1)

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
    struct hf_list node;        /* in client->pending_ops */
    struct hf_list queue_node;  /* in line->waiters or work->waiting_ops */
    uint64_t begin_number;      /* client->ops_begun when it began */
    struct hf_list cancel_node;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_wait_queue *queue;    /* in which it may wait; NULL: it does not wait */
    const struct hf_verb *verb;
    int64_t owner;
    int64_t wanted_hold_count;  /* the hold count to reach */
    int64_t permits;            /* the number of permits, for a kind without owners */
    int64_t *out_number;        /* receives the number of the reply; or NULL */
    bool *out_flag;               /* receives whether it was done; or NULL */
    uint64_t client_ops_begun_when_sent; /* client->ops_begun when it last sent its request */
    bool has_own_queue;             /* that queue is this operation's alone */
    bool is_queued;                 /* it is in that queue, and counted (tally_add.h) */
    bool begins_despite_limits;     /* no caller would repeat it: it begins even if waiters_max is
                                       reached or the client is closing */
    bool is_member;                 /* its grant is provisional: a multi-lock may release it */
    int replica_confirmations;      /* of a background release, by replicas (ORPHAN-6) */
    bool is_last_release_pending;   /* a last release is pending (TURN-1) */
    bool is_release_counted;        /* the queue counts that release (TURN-1) */
    bool was_listening_at_release;  /* line->is_listening when that began */
    bool has_waited_before_reentry; /* a re-entry: it waited before its owner had a hold */
    bool has_posted_on_wait;        /* on_wait was posted */
    bool has_logged_refusal;        /* a temporary refusal was logged since its last reply */
    struct hf_hold *hold;
    struct hf_hold_work *spare_work;    /* memory for the release of an idle hold; or NULL */
    struct hf_answer answer;    /* its texts are valid only while the reply is read */
    size_t joined_len;          /* of text; 0: no hold is joined */

    /* To acquire. */
    struct hf_acquire_options options;
    int64_t began_ms;           /* 0: a re-entry, or another verb */
    int64_t lease_ms;
    struct hf_timer timer;
    struct hf_posted_on_wait *posted_on_wait; /* on_wait, not called yet */
    bool was_last_reply_error;     /* a background release: its last reply was an error */
    bool may_earlier_request_hold; /* a request before op->call may have been granted */
    bool was_last_grant_late;      /* the last reply was a grant with too little of its lease
                                      left */
    bool may_be_queued;             /* it may be in the queue on the server */
    int64_t queue_place_valid_ms; /* how long its place there is valid without a request (FAIR-2);
                                     0: it has none */
    int64_t acquire_interval_ms;  /* between its last two acquires */
    int64_t ttl_ms;               /* of what it creates; 0: none */
    size_t last_named_holder_len; /* of last_named_holder; 0: no reply has named a holder */
    int64_t hold_created_ms;      /* when `hold` was created, and with it the name of the request
                                     that the server records */

    /* To inspect, and to force. */
    struct hf_lock_info *out_info; /* receives the result */
    size_t info_size;              /* of it: net/base/sized.h */
    const char *named_holder;      /* inspect: whose count is read; force: the only holder to
                                      free */
    size_t named_holder_len;

    /* Its end. */
    hf_status status;
    struct hf_error *error;            /* NULL: not needed */
    struct hf_waiter *blocking_waiter; /* blocking */
    hf_done *done;                     /* not blocking */
    void *done_ctx;
    size_t allocated_size;             /* of our own memory to free; 0: a caller's */

    /* Not zeroed from call.sending on: written before it is read. */
    struct hf_call call;
    struct hf_wait wait;        /* to acquire */
    struct hf_task done_task;   /* that calls `done` */
    struct hf_resp_arg argv[OP_ARGS_MAX];
    union {                     /* by verb */
        char request_id[HF_OWNER_TEXT_MAX];  /* that the reply begins with */
        char orphan[HF_OWNER_TEXT_MAX];     /* whose hold is released */
        char joined[HF_OWNER_TEXT_MAX];     /* the owner's field on the other
                                               side */
    } text;
    char last_named_holder[HF_OWNER_TEXT_MAX]; /* the holder that the last reply named; for
                                                  hf_client_dump */
    char count_text[HF_RESP_INTEGER_MAX], ttl_text[HF_RESP_INTEGER_MAX];
    char lease_text[HF_RESP_INTEGER_MAX];
    char queue_place_text[HF_RESP_INTEGER_MAX], silence_floor_text[HF_RESP_INTEGER_MAX];
    char acquire_interval_text[HF_RESP_INTEGER_MAX];
    char channel_text[CHANNEL_SHORT_MAX];
    char keys_text[KEYS_SHORT_MAX];
};

/* hf_op_orphan_key - returns the key of the hold of an orphan, which follows the operation in
 *   memory. */
static inline char *hf_op_orphan_key(const struct hf_op *op)
{
    return (char *)(op + 1);
}

/* hf_hold_field - returns the field of a hold in the hash of the lock. The hold is not idle. */
static inline struct hf_bytes hf_hold_field(const struct hf_hold *hold)
{
    HF_ASSERT(hold->work && hold->work->hold_field_len > 0);
    return (struct hf_bytes){hold->work->hold_field, hold->work->hold_field_len};
}

/* hf_hold_callbacks - returns the callbacks of a hold, or NULL. */
static inline struct hf_hold_callbacks *hf_hold_callbacks(const struct hf_hold *hold)
{
    return hold->has_callbacks ? (struct hf_hold_callbacks *)(hold + 1) : NULL;
}

/* hf_hold_key - returns the key of a hold whose kind has hold_key. */
static inline char *hf_hold_key(const struct hf_hold *hold)
{
    return (char *)(hold + 1) + (hold->has_callbacks ? sizeof(struct hf_hold_callbacks) : 0);
}

/* hf_hold_orphan_memory - returns where the memory for its background release is; NULL: there is
 *   none. */
static inline struct hf_op **hf_hold_orphan_memory(const struct hf_hold *hold)
{
    return hold->has_callbacks ? &hf_hold_callbacks(hold)->background_release : NULL;
}

#endif
