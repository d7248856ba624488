/* Multi-locks, for the calls on them (multi_call.c): the members, and what each
 * owner has. Private to lock/. */
#ifndef HF_MULTI_HOLD_H
#define HF_MULTI_HOLD_H

#include <pthread.h>

#include "lock/multi.h"

/* What one owner has, or is about to. The ctx of its members' callbacks: kept
 * until the multi-lock is freed, for one that has begun may still run when all
 * is released. */
struct hf_multi_hold {
    struct hf_list node;        /* in multi->holds */
    struct hf_multi *multi;
    int64_t owner;              /* 0: nobody's; free for the next */
    uint64_t count;             /* how often it is held */
    bool is_busy;               /* a call is under way */
    bool is_lost;               /* and that was told */
    struct hf_acquire_options wanted;   /* of the first acquire: its callbacks */
};

struct hf_multi {
    const struct hf_mem *mem;
    pthread_mutex_t mutex;      /* of the holds. Taken before a loop's lock */
    struct hf_list holds;
    bool has_namesakes;         /* two members have one name, and two clients */
    uint32_t count;
    struct hf_lock *members[];  /* in the order in which they are taken */
};

/* hf_multi_find_hold   - the owner's, or NULL; of 0: one that is nobody's.
 * hf_multi_add_hold    - the owner's, or one that is nobody's, or a new one.
 *                        NULL: no memory.
 * hf_multi_leave_hold  - its call has ended; it is nobody's if it holds nothing.
 * hf_multi_all_safe_ms - the least of the members; INT64_MIN: one is lost.
 * hf_multi_settle      - the owner has all members.
 * All: [mutex] */
struct hf_multi_hold *hf_multi_find_hold(const struct hf_multi *multi,
                                         int64_t owner);
struct hf_multi_hold *hf_multi_add_hold(struct hf_multi *multi, int64_t owner);
void hf_multi_leave_hold(struct hf_multi_hold *hold);
int64_t hf_multi_all_safe_ms(const struct hf_multi *multi, int64_t owner);
void hf_multi_settle(const struct hf_multi *multi, int64_t owner);

/* hf_multi_forked - this is a child of the process that made it: the mutex may be
 * held by a thread that is not here. */
bool hf_multi_forked(const struct hf_multi *multi);

/* hf_multi_listen - the members' callbacks tell the hold, and it those that are
 * wanted. */
void hf_multi_listen(struct hf_multi_hold *hold,
                     struct hf_acquire_options *member);

#endif
