/* Hundreds of thousands of timers. A plain computation. */
#ifndef HF_WHEEL_H
#define HF_WHEEL_H

#include "net/net.h"

/* A hierarchical timing wheel without ticks; the caller passes the time. Source: WHEEL (Varghese
 * & Lauck 1987), scheme 7.
 *
 *   lowest level   buckets of 1 ms: 2^HF_WHEEL_FEW_BITS in 2 KiB, or, from HF_WHEEL_MANY timers
 *                  on, 2^HF_WHEEL_LOW_BITS in 130 KiB. In the latter a third of a common lease
 *                  and all deadlines of requests fit, and are never moved down
 *   upper levels   2^HF_WHEEL_UP_BITS buckets each, and each bucket is as wide as the whole
 *                  level below
 * A timer that is later than the top level is in its last bucket. */
#define HF_WHEEL_FEW_BITS 8
#define HF_WHEEL_LOW_BITS 14
#define HF_WHEEL_MANY 4096
#define HF_WHEEL_UP_BITS 8
#define HF_WHEEL_UPPER 2

struct hf_wheel_low {
    unsigned bucket_bits;     /* there are 2^bits buckets */
    struct hf_timer **buckets;
    uint64_t *used_bits;      /* a bit for each bucket */
    uint64_t *summary;        /* a bit for each word of `used_bits` */
};

struct hf_wheel {
    int64_t now_ms;           /* timers due until then have been handed out */
    size_t timers_count;
    const struct hf_mem *mem;
    size_t many_from_count;   /* HF_WHEEL_MANY */
    bool is_next_known;       /* the next two are set; each may be too early, and not too late */
    int64_t next_bucket_ms;   /* when the next bucket that contains a timer comes up */
    int64_t next_due_ms;      /* hf_wheel_next_ms */
    struct hf_wheel_low lowest_level;
    struct hf_wheel_many_buckets *many_buckets; /* NULL: there were few timers until now */
    struct hf_timer *few_buckets[1 << HF_WHEEL_FEW_BITS];
    uint64_t few_used_bits[(1 << HF_WHEEL_FEW_BITS) / 64];
    uint64_t few_summary[1];
    struct hf_timer *upper_buckets[HF_WHEEL_UPPER][1 << HF_WHEEL_UP_BITS];
    uint64_t upper_used_bits[HF_WHEEL_UPPER][(1 << HF_WHEEL_UP_BITS) / 64];
    struct hf_timer *due_timers; /* handed out by hf_wheel_advance, not yet popped */
    struct hf_timer **due_tail;
};

/* hf_wheel_init    - initializes memory that consists of zeros.
 * hf_wheel_fini    - frees what the wheel has allocated. The timers are not touched.
 * hf_wheel_arm     - arms `timer`, whose `fire` is set, for `due_ms`; for the next advance if
 *                    that has passed. If the timer is armed for an earlier time, only the new
 *                    time is noted, and the timer is moved when its old bucket is reached.
 *                    Without memory for the lowest level of many timers, the one of few stays.
 * hf_wheel_cancel  - disarms a timer. One that is not armed is allowed.
 * hf_wheel_next_ms - returns when to call hf_wheel_advance next; HF_NEVER if there is no timer.
 *                    It is never later than the first timer, but may be earlier, because of
 *                    the old bucket of a timer or the width of a bucket.
 * hf_wheel_advance - moves to `now_ms` and collects the timers that are due, in the order of
 *                    due_ms. A timer that was armed for the past counts as due when it was
 *                    armed, and comes after those that were armed for the past before it. An
 *                    earlier time than before does nothing.
 * hf_wheel_pop     - disarms and returns the next collected timer, which the caller fires; NULL
 *                    if there is none. A timer that is armed meanwhile waits for the next
 *                    advance, so it cannot occupy the loop.
 * Each call costs O(1); hf_wheel_advance costs O(timers that are due or moved). */
void hf_wheel_init(struct hf_wheel *w, const struct hf_mem *mem, int64_t now_ms);
void hf_wheel_fini(struct hf_wheel *w);
void hf_wheel_arm(struct hf_wheel *w, struct hf_timer *timer, int64_t due_ms);
void hf_wheel_cancel(struct hf_wheel *w, struct hf_timer *timer);
int64_t hf_wheel_next_ms(const struct hf_wheel *w);
void hf_wheel_advance(struct hf_wheel *w, int64_t now_ms);
struct hf_timer *hf_wheel_pop(struct hf_wheel *w);

#endif
