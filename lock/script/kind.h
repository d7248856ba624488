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
#include "lock/script/scripts.h"

#define KIND_KEYS_MAX 3

/* The operations on a lock, one script each. args.c fills their arguments. */
enum hf_step {
    STEP_ACQUIRE,
    STEP_RELEASE,
    STEP_RENEW,                 /* of many holds: watchdog.c */
    STEP_EXTEND,                /* of one hold, by its owner: by_owner.c */
    STEP_FORCE,
    STEP_INSPECT,
    STEP_ADD,                   /* these three, of what is counted: count.c */
    STEP_SET,
    STEP_READ,
    STEP_DROP,                  /* places in a fair lock's queue: queue.c */
    STEP_RAISE,                 /* the counter of tokens: quorum_token.c. In no
                                   row: hf_kind_step */
    STEPS
};

struct hf_kind_step {
    const struct hf_script *script; /* answers in the form of reply.h */
    uint8_t keys;               /* behind the name it takes so many `keys` */
    bool is_without_name;       /* the keys alone, not the name */
    bool takes_hold_key;        /* and, as the last key, the hold's own */
    bool takes_place;           /* how long the waiter's place in the queue is
                                   kept for it; 0: it takes none */
    bool takes_silence;         /* if the waiter has a place: for how long it has
                                   sent nothing, and how to wake the head */
    bool takes_retention;       /* of the counter, which is the last of `keys`:
                                   each grant has a token */
    bool takes_joined;          /* as its last argument the owner's field on the
                                   other side, or "" */
    const char *side;           /* the side that it means; NULL: none */
};

struct hf_kind {
    enum hf_lock_kind id;       /* HF_KIND_NONE: it is no lock */
    const char *noun;           /* in messages; NULL: "lock" */
    const char *unavailable;    /* what a wait that is over says; or NULL */
    bool reenters;              /* an owner may acquire again what it holds */
    const char *channel;        /* "CHANNEL:{name}" wakes waiters: WIRE 2.2 */
    bool has_braced_channel;    /* "CHANNEL{name}" instead, whatever the name */
    const char *payload;        /* the message that wakes them: WIRE 5.2.
                                   NULL: how many are available */
    const char *owner_suffix;   /* behind the owner, in its field */
    bool is_shared;             /* owners hold it together */
    bool is_ownerless;          /* what is granted is nobody's: no hold is kept
                                   of it. Without a script for STEP_RELEASE
                                   there is nothing to give back */
    bool opens_for_all;         /* a grant is one to all waiters */
    bool has_nameless_holders;  /* the server cannot say who they are */
    bool waiters_queue;         /* on the server: each waiter asks for itself,
                                   and has a channel: its owner behind it */
    bool spins;                 /* waiters do not rely on messages (WAIT-9) */
    bool tells_nobody;          /* nor does a release publish any */
    bool any_text_holds;        /* a holder need not be written as an owner of
                                   Redisson's or of ours is */
    const struct hf_kind *other;    /* the other side of such a lock, or NULL */
    bool joins_other;           /* an owner of the other side may take it */
    const char *hold_key;       /* the keys of a hold begin with
                                   "{name}:OWNER:HOLD_KEY"; NULL: it has none */
    const char *keys[KIND_KEYS_MAX];    /* further keys: "KEY:{name}"; of one
                                           that begins with ':', "{name}KEY" */
    struct hf_kind_step steps[STEPS];
};

/* The steps of a lock that is for the server a hash with its owner's hold count;
 * and what else is said of its acquire. */
#define KIND_STEPS_OF_PLAIN(...) \
    .steps = { \
        [STEP_ACQUIRE] = {.script = &hf_script_acquire, __VA_ARGS__}, \
        [STEP_RELEASE] = {.script = &hf_script_release}, \
        [STEP_RENEW] = {.script = &hf_script_renew}, \
        [STEP_EXTEND] = {.script = &hf_script_extend}, \
        [STEP_FORCE] = {.script = &hf_script_force_release}, \
        [STEP_INSPECT] = {.script = &hf_script_inspect}, \
    }

/* HF_WITH_TOKEN: a row of its own, which differs from the kind's in that its
 * acquire is given the counter of the tokens. Source: WIRE 10. */
#define KIND_COUNTER "redisson_lock_token"
#define KIND_NUMBERS(KEYS) .keys = (KEYS), .takes_retention = true
#define KIND_READS_COUNTER(KEYS) \
    .steps[STEP_READ] = {.script = &hf_script_count_read, .keys = (KEYS)}

extern const struct hf_kind hf_kind_reentrant, hf_kind_nonreentrant,
    hf_kind_fenced, hf_kind_fair, hf_kind_nonreentrant_fair, hf_kind_read,
    hf_kind_write, hf_kind_spin, hf_kind_permit, hf_kind_value;
extern const struct hf_kind hf_kind_fenced_nonreentrant, hf_kind_fenced_fair,
    hf_kind_fenced_nonreentrant_fair, hf_kind_fenced_write, hf_kind_fenced_spin,
    hf_kind_fenced_value;

/* Objects that are not locks: semaphore.h, latch.h. */
extern const struct hf_kind hf_kind_semaphore, hf_kind_latch;

/* hf_kind_step - how the kind does a step. STEP_RAISE is of each kind that has
 *                tokens, with the keys that STEP_READ takes.
 * hf_kind_row - NULL: locks of this kind are only looked at, or have no token. */
const struct hf_kind *hf_kind_row(enum hf_lock_kind id);
const struct hf_kind_step *hf_kind_step(const struct hf_kind *kind,
                                        enum hf_step step);

#endif
