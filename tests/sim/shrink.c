/* Shrinking a plan, part by part. */
#include <stddef.h>
#include <string.h>

#include "tests/sim/shrink.h"

struct shrinking {
    struct plan *plan; /* fails */
    struct plan candidate;
    bool (*fails)(void *ctx, const struct plan *plan);
    void *ctx;
    int runs, runs_max;
};

/* Keeps the candidate if it also fails. */
static bool keeps(struct shrinking *s)
{
    if (s->runs == s->runs_max)
        return false;
    s->runs++;
    if (!s->fails(s->ctx, &s->candidate))
        return false;
    *s->plan = s->candidate;
    return true;
}

/* ---- leaving out ---- */

struct array {
    size_t offset, size, count_offset;
};
static const struct array ops = {offsetof(struct plan, ops),
                                 sizeof(struct plan_op),
                                 offsetof(struct plan, op_count)};
static const struct array faults = {offsetof(struct plan, faults),
                                    sizeof(struct plan_fault),
                                    offsetof(struct plan, fault_count)};

static size_t *count_in(struct plan *plan, const struct array *a)
{
    return (size_t *)((char *)plan + a->count_offset);
}

static void cut_out(struct plan *plan, const struct array *a, size_t from,
                    size_t n)
{
    char *array = (char *)plan + a->offset;
    size_t *count = count_in(plan, a);

    memmove(array + from * a->size, array + (from + n) * a->size,
            (*count - from - n) * a->size);
    *count -= n;
}

/* Pieces of `n`, from the end: what comes late is mostly of no account. */
static bool leave_out_pieces(struct shrinking *s, const struct array *a,
                             size_t n)
{
    bool has_shrunk = false;
    size_t end = *count_in(s->plan, a);

    while (end > 0 && s->runs < s->runs_max) {
        size_t from = end > n ? end - n : 0;

        s->candidate = *s->plan;
        cut_out(&s->candidate, a, from, end - from);
        has_shrunk = keeps(s) || has_shrunk;
        end = from;
    }
    return has_shrunk;
}

static bool leave_out(struct shrinking *s, const struct array *a)
{
    bool has_shrunk = false;

    for (size_t n = *count_in(s->plan, a); n > 0; n /= 2)
        has_shrunk = leave_out_pieces(s, a, n) || has_shrunk;
    return has_shrunk;
}

/* ---- simpler numbers ---- */

static const size_t op_numbers[] = {
    offsetof(struct plan_op, flags),       offsetof(struct plan_op, n),
    offsetof(struct plan_op, max_hold_ms), offsetof(struct plan_op, lease_ms),
    offsetof(struct plan_op, wait_ms),     offsetof(struct plan_op, hold_ms),
};
static const size_t fault_numbers[] = {
    offsetof(struct plan_fault, n),
    offsetof(struct plan_fault, for_ms),
    offsetof(struct plan_fault, connection),
};
static const size_t head_numbers[] = {
    offsetof(struct plan_head, jitter_us),
    offsetof(struct plan_head, replicas),
};

static bool try_number(struct shrinking *s, size_t offset, int64_t value)
{
    int64_t *number;

    s->candidate = *s->plan;
    number = (int64_t *)((char *)&s->candidate + offset);
    if (*number == value)
        return false;
    *number = value;
    return keeps(s);
}

static void simplify(struct shrinking *s, size_t offset)
{
    const int64_t *number = (const int64_t *)((char *)s->plan + offset);

    if (try_number(s, offset, 0))
        return;
    while (*number > 1 && try_number(s, offset, *number / 2))
        ;
}

static void simplify_each(struct shrinking *s, const struct array *a,
                          const size_t *numbers, size_t n)
{
    for (size_t i = 0; i < *count_in(s->plan, a); i++)
        for (size_t j = 0; j < n; j++)
            simplify(s, a->offset + i * a->size + numbers[j]);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void simplify_all(struct shrinking *s)
{
    for (size_t j = 0; j < COUNT(head_numbers); j++)
        simplify(s, offsetof(struct plan, head) + head_numbers[j]);
    for (size_t i = 0; i < s->plan->program_count; i++)
        simplify(s, offsetof(struct plan, programs) +
                        i * sizeof(struct plan_program) +
                        offsetof(struct plan_program, ppm));
    simplify_each(s, &faults, fault_numbers, COUNT(fault_numbers));
    simplify_each(s, &ops, op_numbers, COUNT(op_numbers));
}

/* ---- all of it ---- */

int shrink(struct plan *plan, bool (*fails)(void *ctx, const struct plan *plan),
           void *ctx, int runs_max)
{
    struct shrinking s = {
        .plan = plan, .fails = fails, .ctx = ctx, .runs_max = runs_max};
    bool has_shrunk;

    do {
        has_shrunk = leave_out(&s, &faults);
        has_shrunk = leave_out(&s, &ops) || has_shrunk;
    } while (has_shrunk && s.runs < s.runs_max);
    simplify_all(&s);
    return s.runs;
}
