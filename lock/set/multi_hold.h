/* The records of a multi-lock: its members, and a hold for each owner. Private to lock/.
 *
 * [mutex]: the caller holds multi->mutex. */
#ifndef HF_MULTI_HOLD_H
#define HF_MULTI_HOLD_H

#include <pthread.h>

#include "lock/multi.h"

/* A hold of one owner, or its pending acquire. It is the ctx of the members' callbacks, and
 * is kept until the multi-lock is freed: a callback that has begun may still run when all
 * members are released. */
struct hf_multi_hold {
    struct hf_list node;        /* in multi->holds */
    struct hf_multi *multi;
    int64_t owner;              /* 0: unused; the next owner gets it */
    uint64_t hold_count;        /* the hold count */
    bool has_pending_call;      /* a call is pending */
    bool was_loss_reported;     /* a member was lost, and on_lost was called */
    struct hf_acquire_options options;  /* of the first acquire: its callbacks */
};

struct hf_multi {
    const struct hf_mem *mem;
    pthread_mutex_t mutex;        /* of the holds. Lock it before the mutex of a loop */
    struct hf_list holds;
    bool has_members_of_one_name; /* two members of different clients have one name */
    uint32_t count;
    struct hf_lock *members[];    /* in the order in which they are acquired */
};

/* hf_multi_find_hold - returns the hold of this owner, or NULL. Owner 0: an unused hold.
 *   [mutex] */
struct hf_multi_hold *hf_multi_find_hold(const struct hf_multi *multi,
                                         int64_t owner);

/* hf_multi_add_hold - returns the hold of this owner, or an unused one, or allocates one.
 *   NULL: no memory. [mutex] */
struct hf_multi_hold *hf_multi_add_hold(struct hf_multi *multi, int64_t owner);

/* hf_multi_leave_hold - its call has ended. The hold becomes unused if it holds nothing.
 *   [mutex] */
void hf_multi_leave_hold(struct hf_multi_hold *hold);

/* hf_multi_min_safe_ms - returns the least hf_lock_safe_ms of the members; INT64_MIN: one
 *   of them is lost. [mutex] */
int64_t hf_multi_min_safe_ms(const struct hf_multi *multi, int64_t owner);

/* hf_multi_is_safe_for_half_lease - returns whether each member is safe for half of lease_ms; where
 *   the watchdog renews the member, half of its timeout is enough. [mutex] */
bool hf_multi_is_safe_for_half_lease(const struct hf_multi *multi, int64_t owner, int64_t lease_ms);

/* hf_multi_commit - the owner has all members: they are no longer provisional. [mutex] */
void hf_multi_commit(const struct hf_multi *multi, int64_t owner);

/* hf_multi_name_member - writes an error that names a member: "member 'b': WHY". */
void hf_multi_name_member(struct hf_error *err, const struct hf_multi *multi, uint32_t member,
                          hf_status status, const char *why);

/* hf_multi_forked - returns whether this process is a fork of the process that created the
 *   multi-lock. Then a thread that does not exist here may hold the mutex. */
bool hf_multi_forked(const struct hf_multi *multi);

/* hf_multi_set_callbacks - sets the callbacks of a member's acquire: they call those that the
 *   caller of the multi-lock gave (hold->options). */
void hf_multi_set_callbacks(struct hf_multi_hold *hold,
                            struct hf_acquire_options *member);

#endif
