/* The hierarchical timing wheel: timers in buckets of time.
 *
 * A bucket *comes up* when time reaches its first millisecond. Then the lowest level hands out
 * the timers that are due, and an upper level moves its timers further down. Time goes from one
 * used bucket to the next, which a bitmap shows: an empty day costs as much as an empty
 * millisecond.
 *
 * TIMER-1  The bucket of a timer comes up no later than the timer is due, and has not come up
 *          before. So no timer is late or forgotten.
 * TIMER-2  A timer is handed out when its bucket comes up and it is due by then. So no timer is
 *          early, although re-arming to a later time leaves it in its bucket.
 * TIMER-3  The bucket of the present millisecond contains timers that were armed for the past;
 *          the present buckets of the upper levels are empty.
 * TIMER-4  The bit of a bucket is set if and only if the bucket contains a timer, so that
 *          cancelled timers wake no thread.
 * TIMER-5  Timers of one bucket of the lowest level are handed out in the order in which they
 *          entered it. So timers that were armed for the past, or for one millisecond of that
 *          level, fire in the order in which they were armed.
 *
 * Source: WHEEL (Varghese & Lauck 1987), scheme 7. */
/* Tests: tests/test_net_wheel.c. */
#include "net/loop/wheel.h"

#include <assert.h>
#include <string.h>

#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/net.h"

#define LOW (1 << HF_WHEEL_LOW_BITS)   /* buckets of the lowest level, and of each upper one */
#define FEW (1 << HF_WHEEL_FEW_BITS)
#define UP (1 << HF_WHEEL_UP_BITS)
#define WORD_BITS 64u
#define NONE (-1)   /* no bucket */
/* The first timer of a bucket is prefetched this many buckets early, so that it is in
 * the cache by its time: expiry with 100,000 timers went from 28 to 24 ns each (1, 2
 * and 8 have the same effect). */
#define PREFETCH_MS 2
#define LOOKED_AT 8   /* timers of a bucket of an upper level, when the next one is looked for */

static_assert(FEW >= (int)WORD_BITS, "the lowest level fills a word");
static_assert(UP >= (int)WORD_BITS, "an upper level fills a word");
static_assert((-1 >> 1) == -1, "times before 0 round down like all others");
static_assert(sizeof(struct hf_timer) <= 32, "performance.md, goal T3");

/* The lowest level of many timers. */
struct hf_wheel_many {
    struct hf_timer *buckets[LOW];
    uint64_t used[LOW / WORD_BITS];
    uint64_t summary[LOW / WORD_BITS / WORD_BITS];
};

/* ---- bits ---- */

static uint64_t bit_of_bucket(unsigned index)
{
    return UINT64_C(1) << index % WORD_BITS;
}

/* The first bit that is set at or after `from`, going around; else NONE. */
static int first_set(const uint64_t *words, unsigned count, unsigned from)
{
    unsigned word = from / WORD_BITS;
    uint64_t bits = words[word] & ~(bit_of_bucket(from) - 1);

    /* One word more than there are, for the bits before `from` in the first word. */
    for (unsigned i = 0; i <= count; i++) {
        if (bits)
            return (int)(word * WORD_BITS) + __builtin_ctzll(bits);
        word = (word + 1) % count;
        bits = words[word];
    }
    return NONE;
}

static unsigned low_count(const struct hf_wheel *w)
{
    return 1u << w->low.bits;
}

static unsigned low_index(const struct hf_wheel *w, int64_t ms)
{
    return (unsigned)ms & (low_count(w) - 1);
}

/* The same in the lowest level, by way of its summary: four words, not 256. */
static int first_low(const struct hf_wheel *w, unsigned from)
{
    unsigned words = low_count(w) / WORD_BITS, word = from / WORD_BITS;
    uint64_t bits = w->low.used[word] & ~(bit_of_bucket(from) - 1);
    int found;

    if (bits)
        return (int)(word * WORD_BITS) + __builtin_ctzll(bits);
    found = first_set(w->low.summary, (words + WORD_BITS - 1) / WORD_BITS,
                      (word + 1) % words);
    if (found == NONE)
        return NONE;
    return found * (int)WORD_BITS + __builtin_ctzll(w->low.used[found]);
}

static void lowest_level_is_empty(struct hf_wheel *w, unsigned index)
{
    unsigned word = index / WORD_BITS;

    w->low.used[word] &= ~bit_of_bucket(index);
    if (!w->low.used[word])
        w->low.summary[word / WORD_BITS] &= ~bit_of_bucket(word);
}

static void up_is_empty(struct hf_wheel *w, int level, unsigned index)
{
    w->up_used[level][index / WORD_BITS] &= ~bit_of_bucket(index);
}

/* ---- buckets ---- */

/* How many bits of a time lie below an upper level's bucket number. */
static int shift_of(const struct hf_wheel *w, int level)
{
    return (int)w->low.bits + level * HF_WHEEL_UP_BITS;
}

static void push_timer(struct hf_timer **bucket, struct hf_timer *timer)
{
    timer->next = *bucket;
    timer->link = bucket;
    if (timer->next)
        timer->next->link = &timer->next;
    *bucket = timer;
}

/* A bucket that comes up at `at_ms` contains a timer. */
static void note_bucket(struct hf_wheel *w, int64_t at_ms)
{
    if (at_ms < w->next_bucket_ms)
        w->next_bucket_ms = at_ms;
}

static void low_push(struct hf_wheel *w, struct hf_timer *timer, int64_t at_ms)
{
    unsigned index = low_index(w, at_ms);
    unsigned word = index / WORD_BITS;

    push_timer(&w->low.buckets[index], timer);
    note_bucket(w, at_ms);
    w->low.used[word] |= bit_of_bucket(index);
    w->low.summary[word / WORD_BITS] |= bit_of_bucket(word);
}

static int64_t buckets_ahead(const struct hf_wheel *w, int level,
                             int64_t due_ms)
{
    return (due_ms >> shift_of(w, level)) - (w->now_ms >> shift_of(w, level));
}

/* For a timer that is further away than the lowest level, whose bucket is
 * therefore not the present one (TIMER-3). */
static void up_push(struct hf_wheel *w, struct hf_timer *timer)
{
    int level = 0;
    int64_t ahead = buckets_ahead(w, level, timer->due_ms);
    unsigned index;

    while (ahead >= UP && level < HF_WHEEL_UPPER - 1)
        ahead = buckets_ahead(w, ++level, timer->due_ms);
    if (ahead >= UP)
        ahead = UP - 1;
    index = (unsigned)((w->now_ms >> shift_of(w, level)) + ahead) % UP;
    push_timer(&w->up[level][index], timer);
    note_bucket(w, ((w->now_ms >> shift_of(w, level)) + ahead) *
                       (INT64_C(1) << shift_of(w, level)));
    w->up_used[level][index / WORD_BITS] |= bit_of_bucket(index);
}

static void place_timer(struct hf_wheel *w, struct hf_timer *timer)
{
    int64_t at_ms = timer->due_ms > w->now_ms ? timer->due_ms : w->now_ms;

    /* Unsigned: from before 0 to HF_NEVER is further than an int64_t counts. */
    if ((uint64_t)at_ms - (uint64_t)w->now_ms < low_count(w))
        low_push(w, timer, at_ms);
    else
        up_push(w, timer);
}

/* Returns the index of `slot` among the `size` slots that begin at `first`, or a number
 * too large for that. */
static size_t index_of(struct hf_timer **slot, const void *first)
{
    return ((uintptr_t)slot - (uintptr_t)first) / sizeof *slot;
}

/* A bucket of an upper level is empty: it may have been the next one. */
static void up_ends(struct hf_wheel *w, int level, unsigned index)
{
    int64_t present = w->now_ms >> shift_of(w, level);
    int64_t ahead = (index - (unsigned)present) % UP;

    up_is_empty(w, level, index);
    if (present + ahead <= w->next_due_ms >> shift_of(w, level))
        w->is_next_known = false;
}

static void low_ends(struct hf_wheel *w, unsigned index)
{
    int64_t ahead = low_index(w, (int64_t)index - low_index(w, w->now_ms));

    lowest_level_is_empty(w, index);
    if (w->now_ms + ahead <= w->next_due_ms)
        w->is_next_known = false;
}

/* The list that ended behind `link` is shorter now, or empty. */
static void list_end_moved(struct hf_wheel *w, struct hf_timer *timer)
{
    size_t low = index_of(timer->link, w->low.buckets);
    size_t up = index_of(timer->link, w->up);

    if (w->due_tail == &timer->next)
        w->due_tail = timer->link;
    else if (low < low_count(w))
        low_ends(w, (unsigned)low);
    else if (up < (size_t)HF_WHEEL_UPPER * UP)
        up_ends(w, (int)(up / UP), (unsigned)(up % UP));
}

static void unlink_timer(struct hf_wheel *w, struct hf_timer *timer)
{
    HF_ASSERT(*timer->link == timer && (!timer->next || timer->next->link == &timer->next));
    *timer->link = timer->next;
    if (timer->next)
        timer->next->link = timer->link;
    else
        list_end_moved(w, timer);
    timer->link = NULL;
}

/* ---- init, fini ---- */

static struct hf_wheel_low low_of_few(struct hf_wheel *w)
{
    return (struct hf_wheel_low){HF_WHEEL_FEW_BITS, w->few, w->few_used, w->few_summary};
}

void hf_wheel_init(struct hf_wheel *w, const struct hf_mem *mem, int64_t now_ms)
{
    w->now_ms = now_ms;
    w->mem = mem;
    w->many_from = HF_WHEEL_MANY;
    w->low = low_of_few(w);
    w->due_tail = &w->due;
}

void hf_wheel_fini(struct hf_wheel *w)
{
    hf_mem_free(w->mem, w->many, sizeof *w->many);
    w->many = NULL;
}

/* ---- many timers ---- */

/* Moves all timers of a bucket to the list. */
static void move_all_timers(struct hf_timer **list, struct hf_timer **bucket)
{
    struct hf_timer *next;

    for (struct hf_timer *t = *bucket; t; t = next) {
        next = t->next;
        t->next = *list;
        *list = t;
    }
    *bucket = NULL;
}

static struct hf_timer *gather_all(struct hf_wheel *w)
{
    struct hf_timer *list = NULL;

    for (unsigned i = 0; i < low_count(w); i++)
        move_all_timers(&list, &w->low.buckets[i]);
    for (int level = 0; level < HF_WHEEL_UPPER; level++)
        for (int i = 0; i < UP; i++)
            move_all_timers(&list, &w->up[level][i]);
    memset(w->up_used, 0, sizeof w->up_used);
    return list;
}

/* The upper levels are wider from now on, so all timers are placed anew. */
static void become_many(struct hf_wheel *w)
{
    struct hf_timer *next, *list;

    if (!(w->many = hf_mem_new(w->mem, sizeof *w->many)))
        return;
    w->is_next_known = false;
    list = gather_all(w);
    w->low = (struct hf_wheel_low){HF_WHEEL_LOW_BITS, w->many->buckets, w->many->used,
                                   w->many->summary};
    for (struct hf_timer *t = list; t; t = next) {
        next = t->next;
        place_timer(w, t);
    }
}

/* ---- arm, cancel ---- */

/* A timer that is armed and not past is in a bucket: only such a timer may stay in its
 * place. One that is past may have been handed out already. */
static bool may_stay(const struct hf_wheel *w, const struct hf_timer *timer,
                     int64_t due_ms)
{
    return timer->due_ms > w->now_ms && due_ms >= timer->due_ms;
}

void hf_wheel_arm(struct hf_wheel *w, struct hf_timer *timer, int64_t due_ms)
{
    if (timer->link) {
        if (may_stay(w, timer, due_ms)) {
            timer->due_ms = due_ms;
            return;
        }
        hf_wheel_cancel(w, timer);
    }
    timer->due_ms = due_ms;
    place_timer(w, timer);
    if (due_ms < w->next_due_ms)
        w->next_due_ms = due_ms;
    if (++w->count >= w->many_from && !w->many)
        become_many(w);
}

void hf_wheel_cancel(struct hf_wheel *w, struct hf_timer *timer)
{
    if (!timer->link)
        return;
    HF_ASSERT(w->count > 0);
    unlink_timer(w, timer);
    w->count--;
    if (timer->due_ms <= w->next_due_ms)
        w->is_next_known = false;
}

/* ---- time ---- */

static bool low_next(const struct hf_wheel *w, int64_t *at_ms)
{
    unsigned present = low_index(w, w->now_ms);
    int index = first_low(w, present);

    if (index == NONE)
        return false;
    *at_ms = w->now_ms + low_index(w, (int64_t)index - present);
    return true;
}

static bool up_next(const struct hf_wheel *w, int level, int64_t *at_ms)
{
    int64_t present = w->now_ms >> shift_of(w, level);
    unsigned here = (unsigned)present % UP;
    int index = first_set(w->up_used[level], UP / WORD_BITS, here);

    if (index == NONE)
        return false;
    *at_ms = (present + ((unsigned)index - here) % UP) *
             (INT64_C(1) << shift_of(w, level));
    return true;
}

/* Returns when the next bucket that contains a timer comes up. Those of the upper
 * levels come up when the lowest level has gone round, so mostly they are not checked.
 * */
static bool next_bucket(const struct hf_wheel *w, int64_t *at_ms)
{
    bool is_any = low_next(w, at_ms);
    int64_t up_ms;

    if (is_any && *at_ms >> shift_of(w, 0) == w->now_ms >> shift_of(w, 0))
        return true;
    for (int level = 0; level < HF_WHEEL_UPPER; level++) {
        if (!up_next(w, level, &up_ms) || (is_any && *at_ms <= up_ms))
            continue;
        *at_ms = up_ms;
        is_any = true;
    }
    return is_any;
}

/* When a timer of this bucket of an upper level, or a later bucket, may be due. A bucket with
 * few timers is looked through, so that no thread wakes only to move them down. */
static int64_t up_due_ms(const struct hf_wheel *w, int level, int64_t at_ms)
{
    int64_t width_ms = INT64_C(1) << shift_of(w, level);
    unsigned index = (unsigned)(at_ms >> shift_of(w, level)) % UP;
    int64_t due_ms = at_ms > HF_NEVER - width_ms ? at_ms : at_ms + width_ms;
    int left = LOOKED_AT;

    for (const struct hf_timer *t = w->up[level][index]; t; t = t->next) {
        if (left-- == 0)
            return at_ms;
        if (t->due_ms < due_ms)
            due_ms = t->due_ms;
    }
    return due_ms > at_ms ? due_ms : at_ms;
}

static int64_t next_due_ms(const struct hf_wheel *w)
{
    int64_t next_ms = HF_NEVER, at_ms;

    if (low_next(w, &next_ms) &&
        next_ms >> shift_of(w, 0) == w->now_ms >> shift_of(w, 0))
        return next_ms;
    for (int level = 0; level < HF_WHEEL_UPPER; level++) {
        if (!up_next(w, level, &at_ms) || at_ms >= next_ms)
            continue;
        at_ms = up_due_ms(w, level, at_ms);
        if (at_ms < next_ms)
            next_ms = at_ms;
    }
    return next_ms;
}

int64_t hf_wheel_next_ms(const struct hf_wheel *w)
{
    if (w->due)
        return w->now_ms;
    if (!w->is_next_known)
        return next_due_ms(w);
    return w->next_due_ms > w->now_ms ? w->next_due_ms : w->now_ms;
}

static void find_next(struct hf_wheel *w)
{
    if (!next_bucket(w, &w->next_bucket_ms))
        w->next_bucket_ms = HF_NEVER;
    w->next_due_ms = next_due_ms(w);
    w->is_next_known = true;
}

static struct hf_timer *empty_bucket(struct hf_timer **bucket)
{
    struct hf_timer *list = *bucket;

    *bucket = NULL;
    return list;
}

/* What a bucket of an upper level holds is moved down. */
static void up_come_up(struct hf_wheel *w, int level)
{
    unsigned index = (unsigned)(w->now_ms >> shift_of(w, level)) % UP;
    struct hf_timer *next;

    up_is_empty(w, level, index);
    for (struct hf_timer *t = empty_bucket(&w->up[level][index]); t; t = next) {
        next = t->next;
        __builtin_prefetch(next);
        place_timer(w, t);
    }
}

/* Before the timers of its bucket that were handed out already: a bucket begins with the
 * timer that entered it last (TIMER-5). `first` is where they begin. */
static void hand_out(struct hf_wheel *w, struct hf_timer **first, struct hf_timer *timer)
{
    HF_ASSERT(timer->due_ms <= w->now_ms); /* TIMER-2 */
    if (!*first)
        w->due_tail = &timer->next;
    push_timer(first, timer);
}

static void low_come_up(struct hf_wheel *w)
{
    unsigned index = low_index(w, w->now_ms);
    struct hf_timer *next, **first = w->due_tail;

    HF_ASSERT(!w->low.buckets[index] == /* TIMER-4 */
              !(w->low.used[index / WORD_BITS] & bit_of_bucket(index)));
    __builtin_prefetch(w->low.buckets[(index + PREFETCH_MS) & (low_count(w) - 1)]);
    lowest_level_is_empty(w, index);
    for (struct hf_timer *t = empty_bucket(&w->low.buckets[index]); t; t = next) {
        next = t->next;
        if (t->due_ms <= w->now_ms)
            hand_out(w, first, t);
        else
            place_timer(w, t); /* it was re-armed to a later time (TIMER-2) */
    }
}

static bool is_first_of_bucket(const struct hf_wheel *w, int level)
{
    return ((uint64_t)w->now_ms & ((UINT64_C(1) << shift_of(w, level)) - 1)) == 0;
}

/* The upper levels are processed in any order: a timer that moves down never lands in a
 * present bucket of theirs (TIMER-3). The lowest level is last, for timers that are due
 * at once. */
static void come_up(struct hf_wheel *w)
{
    for (int level = 0; level < HF_WHEEL_UPPER; level++)
        if (is_first_of_bucket(w, level))
            up_come_up(w, level);
    low_come_up(w);
}

void hf_wheel_advance(struct hf_wheel *w, int64_t now_ms)
{
    int64_t at_ms;

    if (w->is_next_known && now_ms < w->next_bucket_ms) { /* nothing comes up */
        if (now_ms > w->now_ms)
            w->now_ms = now_ms;
        return;
    }
    while (next_bucket(w, &at_ms) && at_ms <= now_ms) {
        HF_ASSERT(at_ms >= w->now_ms);
        w->now_ms = at_ms;
        come_up(w);
    }
    if (now_ms > w->now_ms)
        w->now_ms = now_ms;
    find_next(w);
}

struct hf_timer *hf_wheel_pop(struct hf_wheel *w)
{
    struct hf_timer *timer = w->due;

    if (timer)
        hf_wheel_cancel(w, timer);
    return timer;
}
