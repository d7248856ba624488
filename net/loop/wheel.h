/* Timers by the hundred thousand. Pure. */
#ifndef HF_WHEEL_H
#define HF_WHEEL_H

#include "net/net.h"

/* A hierarchical timing wheel: pure, tickless; the caller says what time it
 * is. Source: WHEEL (Varghese & Lauck 1987), scheme 7.
 *
 *   lowest level   HF_WHEEL_LOW buckets of 1 ms, so that a common lease's
 *                  third and every request deadline are never moved down
 *   upper levels   HF_WHEEL_UP buckets each, every bucket as wide as the whole
 *                  level below
 * A timer further away than the top level waits in its last bucket. */
#define HF_WHEEL_LOW_BITS 14
#define HF_WHEEL_UP_BITS 8
#define HF_WHEEL_UPPER 2
struct hf_wheel {
    int64_t now_ms;           /* everything due up to here has been handed out */
    size_t count;
    struct hf_timer *low[1 << HF_WHEEL_LOW_BITS];
    uint64_t low_used[(1 << HF_WHEEL_LOW_BITS) / 64];
    uint64_t low_summary[(1 << HF_WHEEL_LOW_BITS) / 64 / 64];
    struct hf_timer *up[HF_WHEEL_UPPER][1 << HF_WHEEL_UP_BITS];
    uint64_t up_used[HF_WHEEL_UPPER][(1 << HF_WHEEL_UP_BITS) / 64];
    struct hf_timer *due;     /* handed out by hf_wheel_advance, not yet popped */
    struct hf_timer **due_end;
};

/* hf_wheel_init    - of memory that is all zeros (so untouched pages of a big
 *                    wheel cost nothing)
 * hf_wheel_arm     - `timer` (armed or not; `fire` set) becomes due at
 *                    `due_ms`; at the next advance if that is past. To a later
 *                    time than it is armed for, only the new time is noted: the
 *                    timer is moved when its old bucket comes up.
 * hf_wheel_cancel  - not armed after; an unarmed one is left alone. O(1), also
 *                    for one that is due and not yet popped.
 * hf_wheel_next_ms - when to call hf_wheel_advance next: never later than the
 *                    first timer is due, HF_NEVER if there is none. May be too
 *                    early, by a re-armed timer's old bucket or a bucket's
 *                    width.
 * hf_wheel_advance - moves to `now_ms` (earlier than before: does nothing) and
 *                    gathers what is due, in the order of due_ms; what
 *                    was armed for the past counts as due when it was armed.
 * hf_wheel_pop     - the next gathered timer, unarmed, for the caller to fire,
 *                    or NULL. A timer armed in between waits for the next
 *                    advance and cannot starve the loop.
 * Cost: O(1) each; advance in the timers due and moved, not in the time. */
void hf_wheel_init(struct hf_wheel *w, int64_t now_ms);
void hf_wheel_arm(struct hf_wheel *w, struct hf_timer *timer, int64_t due_ms);
void hf_wheel_cancel(struct hf_wheel *w, struct hf_timer *timer);
int64_t hf_wheel_next_ms(const struct hf_wheel *w);
void hf_wheel_advance(struct hf_wheel *w, int64_t now_ms);
struct hf_timer *hf_wheel_pop(struct hf_wheel *w);

#endif
