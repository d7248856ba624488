/* What a client counts for its metrics (lock/metrics.h). tally_add.h counts. Private to lock/. */
#ifndef HF_TALLY_H
#define HF_TALLY_H

#include "lock/lock.h"
#include "lock/machine/wait.h"
#include "lock/script/kind.h"

/* Durations by powers of two: buckets[i] counts those of less than 2^i ms that are in no bucket
 * before; the last one has the rest. The longest is 2^26 ms, 18 hours. */
#define TALLY_POWERS 27
struct hf_tally_times {
    uint64_t sum_ms;
    uint64_t buckets[TALLY_POWERS + 1];
};

#define TALLY_REASONS (HF_REASON_CLOSED - 1)    /* those that a program can see in time */

/* Of one kind of lock. Allocated when its first acquire ends. */
struct hf_tally_kind {
    struct hf_tally_times wait_times;         /* of acquires that were granted */
    struct hf_tally_times hold_times;         /* that have ended */
    uint64_t losses_by_reason[TALLY_REASONS]; /* by enum hf_lost, from 1 on */
};

/* Every status that a call may end with. */
#define TALLY_STATUSES 20
extern const hf_status hf_tally_statuses[TALLY_STATUSES];

struct hf_tally {
    struct {
        struct hf_tally_kind *of;       /* or NULL */
        uint32_t held;                  /* at this moment */
        uint32_t waiting;               /* acquires in queues, the same */
    } by_kind[HF_KIND_NUMBER_COUNT];
    uint64_t wakes_by_cause[WAKE_COUNT];
    uint64_t failures_by_status[TALLY_STATUSES]; /* calls that ended with the status */
    uint64_t late_renewals;                      /* hf_lease_is_renewal_late */
    uint64_t failed_renewals;                    /* requests to renew */
};

#endif
