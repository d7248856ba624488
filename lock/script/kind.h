/* A kind of lock, as a row of data. Private to lock/.
 *
 * A kind consists of a file kind_NAME.c with its row, its scripts, its tests, a value of
 * enum hf_lock_kind, a line in kind.c, and names here and in mk/lists.mk. No other file
 * names a kind.
 *
 * Locks of several kinds may have one name. If their channels are also the same, they
 * exclude each other, and their waiters form one queue. */
#ifndef HF_KIND_H
#define HF_KIND_H

#include "lock/lock.h"
#include "lock/script/declare.h"
#include "lock/script/names.h"
#include "lock/script/scripts.h"

#define KIND_KEYS_MAX 3   /* a fair lock with tokens: queue, places, counter */

/* The operations on a lock, one script each. args.c fills their arguments. */
enum hf_step {
    STEP_ACQUIRE,
    STEP_RELEASE,
    STEP_RENEW,                 /* of many holds: renew.c */
    STEP_EXTEND,                /* of one hold, by its owner: by_owner.c */
    STEP_FORCE_RELEASE,
    STEP_INSPECT,
    STEP_COUNTER_ADD,           /* these seven, of what is counted: count.c */
    STEP_COUNTER_ADD_EXISTING,  /* only to a semaphore that exists */
    STEP_COUNTER_REDUCE,
    STEP_COUNTER_SET,
    STEP_COUNTER_RESIZE,
    STEP_COUNTER_DELETE,
    STEP_COUNTER_READ,
    STEP_DROP_PLACES,           /* places in a fair lock's queue: queue.c */
    STEP_RAISE_TOKEN,           /* raises the token counter: quorum_token.c. In no
                                   row: hf_kind_step */
    STEP_COUNT
};

/* The script of a step, and the arguments that it takes. */
struct hf_kind_step {
    const struct hf_script *script; /* its replies have the form of reply.h */
    uint8_t keys_count;           /* how many of `key_names` follow the name */
    uint8_t first_key;            /* the index of the first of these */
    bool only_reads_keys;         /* the script only reads them: in a cluster they are left out, and
                                     the script derives them */
    bool is_without_name;         /* only the keys, not the name */
    bool reads_key_last;          /* of a renewal: it reads its first key, which is lost with the
                                     hold, after its last write; so the server can report the loss.
                                     An acquire that is refused reads the lock's key and writes
                                     nothing; so the server can report that the lock may be free
                                     (TRACK-8) */
    bool takes_hold_key;          /* the last key is that of the hold */
    enum hf_derived derived_keys; /* the keys that its script derives */
    bool takes_queue_place;       /* how long the waiter's place in the queue is valid; 0: it has
                                     none */
    bool takes_acquire_interval;  /* if the waiter has a place: the time since its last acquire, and
                                     how to wake the head of the queue */
    bool takes_retention;         /* the TTL of the token counter, which is the last of
                                     `key_names`: each grant has a token */
    bool takes_joined_field;      /* the last argument is the owner's field on the other side, or
                                     "" */
    const char *side_name;        /* the side of a read-write lock; NULL: none */
};

struct hf_kind {
    enum hf_lock_kind id;             /* HF_KIND_NONE: it is not a lock */
    const char *noun;                 /* in messages; NULL: "lock" */
    const char *unavailable_text;     /* the message of HF_TIMEOUT; NULL: the usual one */
    bool is_reentrant;                /* an owner may acquire it again */
    const char *channel_prefix;       /* notifications use "CHANNEL:{name}": WIRE 2.2 */
    bool has_braced_channel;          /* "CHANNEL{name}" instead, for every name */
    const char *notification_payload; /* the notification: WIRE 5.2. NULL: the number of available
                                         permits */
    const char *owner_suffix;         /* follows the owner in its field */
    bool may_have_several_holders;    /* several owners may hold it */
    bool is_ownerless;                /* a grant has no owner, and no hold is kept. Without a script
                                         for STEP_RELEASE it is never released */
    bool grants_all_waiters;          /* a grant to one waiter is a grant to all */
    bool stores_only_permit_ids;        /* the server does not store its holders */
    bool has_server_queue;            /* on the server: each waiter sends its own requests, and has
                                         a channel that ends in its owner */
    bool waiters_poll;                /* waiters poll (WAIT-9) */
    bool publishes_nothing;           /* a release publishes no notification */
    bool accepts_any_holder_text; /* a holder need not have the form of an owner of
                                   Redisson or holdfast */
    const struct hf_kind *other_side; /* the other side of a read-write lock; or NULL */
    bool may_join_other_side;   /* an owner of the other side may acquire it */
    const char *hold_key;       /* the keys of a hold begin with "{name}:OWNER:HOLD_KEY"; NULL: it
                                   has none */
    const char *key_names[KIND_KEYS_MAX]; /* further keys: "KEY:{name}", or "{name}KEY" if KEY
                                             begins with ':' */
    struct hf_kind_step steps[STEP_COUNT];
};

/* The steps of a lock that is a hash with its owner's hold count; the further arguments are
 * added to its acquire. AT is the index of KIND_QUEUE_KEY in its keys: a forced release looks
 * whether the lock is a fair one. */
#define KIND_QUEUE_KEY HF_QUEUE_KEY
#define KIND_INSPECT_STEP \
    {.script = &hf_script_inspect, .derived_keys = HF_DERIVES_PLACES}
#define KIND_STEPS_OF_PLAIN(AT, ...) \
    .steps = { \
        [STEP_ACQUIRE] = {.script = &hf_script_acquire, .reads_key_last = true, \
                          __VA_ARGS__}, \
        [STEP_RELEASE] = {.script = &hf_script_release}, \
        [STEP_RENEW] = {.script = &hf_script_renew, .reads_key_last = true}, \
        [STEP_EXTEND] = {.script = &hf_script_extend}, \
        [STEP_FORCE_RELEASE] = {.script = &hf_script_force_release, .keys_count = 1, \
                                .first_key = (AT), .only_reads_keys = true, \
                                .derived_keys = HF_DERIVES_QUEUE}, \
        [STEP_INSPECT] = KIND_INSPECT_STEP, \
    }

/* A kind with HF_WITH_TOKEN has its own row. It differs from the row of the kind in that its
 * acquire gets the token counter. Source: WIRE 10. */
#define KIND_TOKEN_COUNTER_KEY "redisson_lock_token"
#define KIND_ISSUES_TOKENS(KEYS) .keys_count = (KEYS), .takes_retention = true
#define KIND_READS_TOKEN_COUNTER(KEYS) \
    .steps[STEP_COUNTER_READ] = {.script = &hf_script_count_read, .keys_count = (KEYS)}

extern const struct hf_kind hf_kind_reentrant, hf_kind_nonreentrant,
    hf_kind_fenced, hf_kind_fair, hf_kind_nonreentrant_fair, hf_kind_read,
    hf_kind_write, hf_kind_spin, hf_kind_permit, hf_kind_value;
extern const struct hf_kind hf_kind_fenced_nonreentrant, hf_kind_fenced_fair,
    hf_kind_fenced_nonreentrant_fair, hf_kind_fenced_write, hf_kind_fenced_spin,
    hf_kind_fenced_value;

/* Objects that are not locks: semaphore.h, latch.h. */
extern const struct hf_kind hf_kind_semaphore, hf_kind_latch;

/* The kinds by numbers: an enum hf_lock_kind, with or without tokens, or one of these. */
enum { HF_KIND_SEMAPHORE_NUMBER = HF_KIND_VALUE + 1, HF_KIND_LATCH_NUMBER, HF_KIND_NUMBER_COUNT };

static inline unsigned hf_kind_number(const struct hf_kind *kind)
{
    if (kind->id != HF_KIND_NONE)
        return kind->id;
    return kind->grants_all_waiters ? HF_KIND_LATCH_NUMBER : HF_KIND_SEMAPHORE_NUMBER;
}

/* hf_kind_label - returns the name of the kind with this number, for programs, such as "fair";
 *   static. NULL: a client has no locks of this kind. */
const char *hf_kind_label(unsigned number);

/* hf_kind_row - returns the row of a kind. NULL: there is no such kind, or it can only be
 *   inspected, or cannot have tokens. */
const struct hf_kind *hf_kind_row(enum hf_lock_kind id);

/* hf_kind_has_waiters_channel - returns whether waiters of many may subscribe to a second channel,
 *   whose name is that of the first with KIND_WAITERS_SUFFIX (channel.h, TURN-3): a release sends
 *   the number of a crowd (TURN-2), and the waiters share one channel. */
#define KIND_WAITERS_SUFFIX ":waiters"

static inline bool hf_kind_has_waiters_channel(const struct hf_kind *kind)
{
    return kind->notification_payload && kind->channel_prefix[0] && !kind->is_ownerless &&
           !kind->has_server_queue;
}

/* hf_kind_step - returns how the kind does a step. STEP_RAISE_TOKEN exists for each kind that has
 *   tokens, with the keys that STEP_COUNTER_READ takes. */
const struct hf_kind_step *hf_kind_step(const struct hf_kind *kind,
                                        enum hf_step step);

#endif
