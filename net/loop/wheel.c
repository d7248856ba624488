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

/* Buckets of the lowest level, with few timers and with many, and of each upper level. */
#define LOWEST_BUCKETS (1 << HF_WHEEL_LOW_BITS)
#define FEW_BUCKETS (1 << HF_WHEEL_FEW_BITS)
#define UPPER_BUCKETS (1 << HF_WHEEL_UP_BITS)
#define WORD_BITS 64u
#define NONE (-1)   /* no bucket */
/* The first timer of a bucket is prefetched this many buckets early, so that it is in
 * the cache by its time: expiry with 100,000 timers went from 28 to 24 ns each (1, 2
 * and 8 have the same effect). */
#define PREFETCH_MS 2
#define BUCKET_SEARCH_MAX 8 /* timers of an upper bucket that are searched for the next one */

static_assert(FEW_BUCKETS >= (int)WORD_BITS, "the lowest level fills a word");
static_assert(UPPER_BUCKETS >= (int)WORD_BITS, "an upper level fills a word");
static_assert((-1 >> 1) == -1, "times before 0 round down like all others");
static_assert(sizeof(struct hf_timer) <= 32, "performance.md, goal T3");

/* The lowest level of many timers. */
struct hf_wheel_many_buckets {
    struct hf_timer *buckets[LOWEST_BUCKETS];
    uint64_t used_bits[LOWEST_BUCKETS / WORD_BITS];
    uint64_t summary[LOWEST_BUCKETS / WORD_BITS / WORD_BITS];
};

/* ---- bits ---- */

static uint64_t bit_of_bucket(unsigned index)
{
    return UINT64_C(1) << index % WORD_BITS;
}

/* The first bit that is set at or after `from`, going around; else NONE. */
static int find_first_set_bit(const uint64_t *words, unsigned count, unsigned from)
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

static unsigned lowest_buckets_count(const struct hf_wheel *w)
{
    return 1u << w->lowest_level.bucket_bits;
}

static unsigned lowest_bucket_of(const struct hf_wheel *w, int64_t ms)
{
    return (unsigned)ms & (lowest_buckets_count(w) - 1);
}

/* The same in the lowest level, by way of its summary: four words, not 256. */
static int find_first_lowest_bucket(const struct hf_wheel *w, unsigned from)
{
    unsigned words = lowest_buckets_count(w) / WORD_BITS, word = from / WORD_BITS;
    uint64_t bits = w->lowest_level.used_bits[word] & ~(bit_of_bucket(from) - 1);
    int found;

    if (bits)
        return (int)(word * WORD_BITS) + __builtin_ctzll(bits);
    found = find_first_set_bit(w->lowest_level.summary, (words + WORD_BITS - 1) / WORD_BITS,
                               (word + 1) % words);
    if (found == NONE)
        return NONE;
    return found * (int)WORD_BITS + __builtin_ctzll(w->lowest_level.used_bits[found]);
}

static void mark_lowest_bucket_empty(struct hf_wheel *w, unsigned index)
{
    unsigned word = index / WORD_BITS;

    w->lowest_level.used_bits[word] &= ~bit_of_bucket(index);
    if (!w->lowest_level.used_bits[word])
        w->lowest_level.summary[word / WORD_BITS] &= ~bit_of_bucket(word);
}

static void mark_upper_bucket_empty(struct hf_wheel *w, int level, unsigned index)
{
    w->upper_used_bits[level][index / WORD_BITS] &= ~bit_of_bucket(index);
}

/* ---- buckets ---- */

/* How many bits of a time lie below an upper level's bucket number. */
static int shift_of_level(const struct hf_wheel *w, int level)
{
    return (int)w->lowest_level.bucket_bits + level * HF_WHEEL_UP_BITS;
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
static void lower_next_bucket_ms(struct hf_wheel *w, int64_t at_ms)
{
    if (at_ms < w->next_bucket_ms)
        w->next_bucket_ms = at_ms;
}

static void push_to_lowest(struct hf_wheel *w, struct hf_timer *timer, int64_t at_ms)
{
    unsigned index = lowest_bucket_of(w, at_ms);
    unsigned word = index / WORD_BITS;

    push_timer(&w->lowest_level.buckets[index], timer);
    lower_next_bucket_ms(w, at_ms);
    w->lowest_level.used_bits[word] |= bit_of_bucket(index);
    w->lowest_level.summary[word / WORD_BITS] |= bit_of_bucket(word);
}

static int64_t buckets_ahead(const struct hf_wheel *w, int level,
                             int64_t due_ms)
{
    return (due_ms >> shift_of_level(w, level)) - (w->now_ms >> shift_of_level(w, level));
}

/* For a timer that is further away than the lowest level, whose bucket is
 * therefore not the present one (TIMER-3). */
static void push_to_upper(struct hf_wheel *w, struct hf_timer *timer)
{
    int level = 0;
    int64_t ahead = buckets_ahead(w, level, timer->due_ms);
    unsigned index;

    while (ahead >= UPPER_BUCKETS && level < HF_WHEEL_UPPER - 1)
        ahead = buckets_ahead(w, ++level, timer->due_ms);
    if (ahead >= UPPER_BUCKETS)
        ahead = UPPER_BUCKETS - 1;
    index = (unsigned)((w->now_ms >> shift_of_level(w, level)) + ahead) % UPPER_BUCKETS;
    push_timer(&w->upper_buckets[level][index], timer);
    lower_next_bucket_ms(w, ((w->now_ms >> shift_of_level(w, level)) + ahead) *
                       (INT64_C(1) << shift_of_level(w, level)));
    w->upper_used_bits[level][index / WORD_BITS] |= bit_of_bucket(index);
}

static void place_timer(struct hf_wheel *w, struct hf_timer *timer)
{
    int64_t at_ms = timer->due_ms > w->now_ms ? timer->due_ms : w->now_ms;

    /* Unsigned: from before 0 to HF_NEVER is further than an int64_t counts. */
    if ((uint64_t)at_ms - (uint64_t)w->now_ms < lowest_buckets_count(w))
        push_to_lowest(w, timer, at_ms);
    else
        push_to_upper(w, timer);
}

/* Returns the index of `slot` among the `size` slots that begin at `first`, or a number
 * too large for that. */
static size_t index_among_slots(struct hf_timer **slot, const void *first)
{
    return ((uintptr_t)slot - (uintptr_t)first) / sizeof *slot;
}

/* A bucket of an upper level is empty: it may have been the next one. */
static void handle_empty_upper_bucket(struct hf_wheel *w, int level, unsigned index)
{
    int64_t present = w->now_ms >> shift_of_level(w, level);
    int64_t ahead = (index - (unsigned)present) % UPPER_BUCKETS;

    mark_upper_bucket_empty(w, level, index);
    if (present + ahead <= w->next_due_ms >> shift_of_level(w, level))
        w->is_next_known = false;
}

static void handle_empty_lowest_bucket(struct hf_wheel *w, unsigned index)
{
    int64_t ahead = lowest_bucket_of(w, (int64_t)index - lowest_bucket_of(w, w->now_ms));

    mark_lowest_bucket_empty(w, index);
    if (w->now_ms + ahead <= w->next_due_ms)
        w->is_next_known = false;
}

/* The list that ended behind `link` is shorter now, or empty. */
static void update_shortened_list(struct hf_wheel *w, struct hf_timer *timer)
{
    size_t low = index_among_slots(timer->link, w->lowest_level.buckets);
    size_t up = index_among_slots(timer->link, w->upper_buckets);

    if (w->due_tail == &timer->next)
        w->due_tail = timer->link;
    else if (low < lowest_buckets_count(w))
        handle_empty_lowest_bucket(w, (unsigned)low);
    else if (up < (size_t)HF_WHEEL_UPPER * UPPER_BUCKETS)
        handle_empty_upper_bucket(w, (int)(up / UPPER_BUCKETS), (unsigned)(up % UPPER_BUCKETS));
}

static void unlink_timer(struct hf_wheel *w, struct hf_timer *timer)
{
    HF_ASSERT(*timer->link == timer && (!timer->next || timer->next->link == &timer->next));
    *timer->link = timer->next;
    if (timer->next)
        timer->next->link = timer->link;
    else
        update_shortened_list(w, timer);
    timer->link = NULL;
}

/* ---- init, fini ---- */

static struct hf_wheel_low lowest_level_of_few(struct hf_wheel *w)
{
    return (struct hf_wheel_low){HF_WHEEL_FEW_BITS, w->few_buckets, w->few_used_bits,
                                 w->few_summary};
}

void hf_wheel_init(struct hf_wheel *w, const struct hf_mem *mem, int64_t now_ms)
{
    w->now_ms = now_ms;
    w->mem = mem;
    w->many_from_count = HF_WHEEL_MANY;
    w->lowest_level = lowest_level_of_few(w);
    w->due_tail = &w->due_timers;
}

void hf_wheel_fini(struct hf_wheel *w)
{
    hf_mem_free(w->mem, w->many_buckets, sizeof *w->many_buckets);
    w->many_buckets = NULL;
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

static struct hf_timer *remove_all_timers(struct hf_wheel *w)
{
    struct hf_timer *list = NULL;

    for (unsigned i = 0; i < lowest_buckets_count(w); i++)
        move_all_timers(&list, &w->lowest_level.buckets[i]);
    for (int level = 0; level < HF_WHEEL_UPPER; level++)
        for (int i = 0; i < UPPER_BUCKETS; i++)
            move_all_timers(&list, &w->upper_buckets[level][i]);
    memset(w->upper_used_bits, 0, sizeof w->upper_used_bits);
    return list;
}

/* The upper levels are wider from now on, so all timers are placed anew. */
static void widen_lowest_level(struct hf_wheel *w)
{
    struct hf_timer *next, *list;

    if (!(w->many_buckets = hf_mem_new(w->mem, sizeof *w->many_buckets)))
        return;
    w->is_next_known = false;
    list = remove_all_timers(w);
    w->lowest_level = (struct hf_wheel_low){HF_WHEEL_LOW_BITS, w->many_buckets->buckets,
                                            w->many_buckets->used_bits,
                                            w->many_buckets->summary};
    for (struct hf_timer *t = list; t; t = next) {
        next = t->next;
        place_timer(w, t);
    }
}

/* ---- arm, cancel ---- */

/* A timer that is armed and not past is in a bucket: only such a timer may stay in its
 * place. One that is past may have been handed out already. */
static bool may_stay_in_bucket(const struct hf_wheel *w, const struct hf_timer *timer,
                               int64_t due_ms)
{
    return timer->due_ms > w->now_ms && due_ms >= timer->due_ms;
}

void hf_wheel_arm(struct hf_wheel *w, struct hf_timer *timer, int64_t due_ms)
{
    if (timer->link) {
        if (may_stay_in_bucket(w, timer, due_ms)) {
            timer->due_ms = due_ms;
            return;
        }
        hf_wheel_cancel(w, timer);
    }
    timer->due_ms = due_ms;
    place_timer(w, timer);
    if (due_ms < w->next_due_ms)
        w->next_due_ms = due_ms;
    if (++w->timers_count >= w->many_from_count && !w->many_buckets)
        widen_lowest_level(w);
}

void hf_wheel_cancel(struct hf_wheel *w, struct hf_timer *timer)
{
    if (!timer->link)
        return;
    HF_ASSERT(w->timers_count > 0);
    unlink_timer(w, timer);
    w->timers_count--;
    if (timer->due_ms <= w->next_due_ms)
        w->is_next_known = false;
}

/* ---- time ---- */

static bool find_next_lowest_bucket(const struct hf_wheel *w, int64_t *at_ms)
{
    unsigned present = lowest_bucket_of(w, w->now_ms);
    int index = find_first_lowest_bucket(w, present);

    if (index == NONE)
        return false;
    *at_ms = w->now_ms + lowest_bucket_of(w, (int64_t)index - present);
    return true;
}

static bool find_next_upper_bucket(const struct hf_wheel *w, int level, int64_t *at_ms)
{
    int64_t present = w->now_ms >> shift_of_level(w, level);
    unsigned here = (unsigned)present % UPPER_BUCKETS;
    int index = find_first_set_bit(w->upper_used_bits[level], UPPER_BUCKETS / WORD_BITS, here);

    if (index == NONE)
        return false;
    *at_ms = (present + ((unsigned)index - here) % UPPER_BUCKETS) *
             (INT64_C(1) << shift_of_level(w, level));
    return true;
}

/* Returns when the next bucket that contains a timer comes up. Those of the upper
 * levels come up when the lowest level has gone round, so mostly they are not checked.
 * */
static bool find_next_bucket(const struct hf_wheel *w, int64_t *at_ms)
{
    bool is_any = find_next_lowest_bucket(w, at_ms);
    int64_t up_ms;

    if (is_any && *at_ms >> shift_of_level(w, 0) == w->now_ms >> shift_of_level(w, 0))
        return true;
    for (int level = 0; level < HF_WHEEL_UPPER; level++) {
        if (!find_next_upper_bucket(w, level, &up_ms) || (is_any && *at_ms <= up_ms))
            continue;
        *at_ms = up_ms;
        is_any = true;
    }
    return is_any;
}

/* When a timer of this bucket of an upper level, or a later bucket, may be due. A bucket with
 * few timers is looked through, so that no thread wakes only to move them down. */
static int64_t first_due_in_upper_bucket_ms(const struct hf_wheel *w, int level, int64_t at_ms)
{
    int64_t width_ms = INT64_C(1) << shift_of_level(w, level);
    unsigned index = (unsigned)(at_ms >> shift_of_level(w, level)) % UPPER_BUCKETS;
    int64_t due_ms = at_ms > HF_NEVER - width_ms ? at_ms : at_ms + width_ms;
    int left = BUCKET_SEARCH_MAX;

    for (const struct hf_timer *t = w->upper_buckets[level][index]; t; t = t->next) {
        if (left-- == 0)
            return at_ms;
        if (t->due_ms < due_ms)
            due_ms = t->due_ms;
    }
    return due_ms > at_ms ? due_ms : at_ms;
}

static int64_t first_due_ms(const struct hf_wheel *w)
{
    int64_t next_ms = HF_NEVER, at_ms;

    if (find_next_lowest_bucket(w, &next_ms) &&
        next_ms >> shift_of_level(w, 0) == w->now_ms >> shift_of_level(w, 0))
        return next_ms;
    for (int level = 0; level < HF_WHEEL_UPPER; level++) {
        if (!find_next_upper_bucket(w, level, &at_ms) || at_ms >= next_ms)
            continue;
        at_ms = first_due_in_upper_bucket_ms(w, level, at_ms);
        if (at_ms < next_ms)
            next_ms = at_ms;
    }
    return next_ms;
}

int64_t hf_wheel_next_ms(const struct hf_wheel *w)
{
    if (w->due_timers)
        return w->now_ms;
    if (!w->is_next_known)
        return first_due_ms(w);
    return w->next_due_ms > w->now_ms ? w->next_due_ms : w->now_ms;
}

static void update_next_times(struct hf_wheel *w)
{
    if (!find_next_bucket(w, &w->next_bucket_ms))
        w->next_bucket_ms = HF_NEVER;
    w->next_due_ms = first_due_ms(w);
    w->is_next_known = true;
}

static struct hf_timer *take_all_from_bucket(struct hf_timer **bucket)
{
    struct hf_timer *list = *bucket;

    *bucket = NULL;
    return list;
}

/* What a bucket of an upper level holds is moved down. */
static void move_upper_bucket_down(struct hf_wheel *w, int level)
{
    unsigned index = (unsigned)(w->now_ms >> shift_of_level(w, level)) % UPPER_BUCKETS;
    struct hf_timer *next;

    mark_upper_bucket_empty(w, level, index);
    for (struct hf_timer *t = take_all_from_bucket(&w->upper_buckets[level][index]); t; t = next) {
        next = t->next;
        __builtin_prefetch(next);
        place_timer(w, t);
    }
}

/* Before the timers of its bucket that were handed out already: a bucket begins with the
 * timer that entered it last (TIMER-5). `first` is where they begin. */
static void add_to_due_list(struct hf_wheel *w, struct hf_timer **first, struct hf_timer *timer)
{
    HF_ASSERT(timer->due_ms <= w->now_ms); /* TIMER-2 */
    if (!*first)
        w->due_tail = &timer->next;
    push_timer(first, timer);
}

static void hand_out_lowest_bucket(struct hf_wheel *w)
{
    unsigned index = lowest_bucket_of(w, w->now_ms);
    struct hf_timer *next, **first = w->due_tail;

    HF_ASSERT(!w->lowest_level.buckets[index] == /* TIMER-4 */
              !(w->lowest_level.used_bits[index / WORD_BITS] & bit_of_bucket(index)));
    __builtin_prefetch(
        w->lowest_level.buckets[(index + PREFETCH_MS) & (lowest_buckets_count(w) - 1)]);
    mark_lowest_bucket_empty(w, index);
    for (struct hf_timer *t = take_all_from_bucket(&w->lowest_level.buckets[index]); t; t = next) {
        next = t->next;
        if (t->due_ms <= w->now_ms)
            add_to_due_list(w, first, t);
        else
            place_timer(w, t); /* it was re-armed to a later time (TIMER-2) */
    }
}

static bool begins_bucket_of_level(const struct hf_wheel *w, int level)
{
    return ((uint64_t)w->now_ms & ((UINT64_C(1) << shift_of_level(w, level)) - 1)) == 0;
}

/* The upper levels are processed in any order: a timer that moves down never lands in a
 * present bucket of theirs (TIMER-3). The lowest level is last, for timers that are due
 * at once. */
static void process_present_buckets(struct hf_wheel *w)
{
    for (int level = 0; level < HF_WHEEL_UPPER; level++)
        if (begins_bucket_of_level(w, level))
            move_upper_bucket_down(w, level);
    hand_out_lowest_bucket(w);
}

void hf_wheel_advance(struct hf_wheel *w, int64_t now_ms)
{
    int64_t at_ms;

    if (w->is_next_known && now_ms < w->next_bucket_ms) { /* nothing comes up */
        if (now_ms > w->now_ms)
            w->now_ms = now_ms;
        return;
    }
    while (find_next_bucket(w, &at_ms) && at_ms <= now_ms) {
        HF_ASSERT(at_ms >= w->now_ms);
        w->now_ms = at_ms;
        process_present_buckets(w);
    }
    if (now_ms > w->now_ms)
        w->now_ms = now_ms;
    update_next_times(w);
}

struct hf_timer *hf_wheel_pop(struct hf_wheel *w)
{
    struct hf_timer *timer = w->due_timers;

    if (timer)
        hf_wheel_cancel(w, timer);
    return timer;
}
