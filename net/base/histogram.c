/* Histograms: log-linear, of a fixed size (net.h). The leading one bit of a number
 * shows its power of two, the two bits after it the quarter. */
/* Tests: tests/test_net_histogram.c. */
#include "net/base/histogram.h"

#include <assert.h>

#include "net/base/assert.h"

#define BUCKETS_PER_DOUBLING_BITS 2 /* four buckets for each power of two */
#define BUCKETS_PER_DOUBLING (1u << BUCKETS_PER_DOUBLING_BITS)

static_assert(HF_HISTOGRAM_BUCKETS ==
                  (32 - BUCKETS_PER_DOUBLING_BITS) * BUCKETS_PER_DOUBLING + BUCKETS_PER_DOUBLING,
              "32 bits, the lowest three of which have a bucket a number");

/* Returns how many low bits do not count. None below 8: there `| QUARTERS` replaces the
 * leading one bit. */
static unsigned count_dropped_bits(uint32_t number)
{
    return 31u - (unsigned)__builtin_clz(number | BUCKETS_PER_DOUBLING) - BUCKETS_PER_DOUBLING_BITS;
}

static unsigned bucket_of_number(uint32_t number)
{
    unsigned dropped = count_dropped_bits(number);

    return dropped * BUCKETS_PER_DOUBLING + (number >> dropped);
}

/* The greatest number that it holds. */
static uint64_t greatest_number_of_bucket(unsigned bucket)
{
    unsigned dropped;

    if (bucket < 2 * BUCKETS_PER_DOUBLING)
        return bucket;
    dropped = bucket / BUCKETS_PER_DOUBLING - 1;
    return ((uint64_t)(bucket - dropped * BUCKETS_PER_DOUBLING + 1) << dropped) - 1;
}

void hf_histogram_add(struct hf_histogram *h, uint64_t number)
{
    number = number < UINT32_MAX ? number : UINT32_MAX;
    h->count++;
    h->sum += number;
    h->max = h->max > number ? h->max : number;
    h->buckets[bucket_of_number((uint32_t)number)]++;
}

void hf_histogram_merge(struct hf_histogram *to,
                        const struct hf_histogram *from)
{
    to->count += from->count;
    to->sum += from->sum;
    to->max = to->max > from->max ? to->max : from->max;
    for (unsigned i = 0; i < HF_HISTOGRAM_BUCKETS; i++)
        to->buckets[i] += from->buckets[i];
}

/* How many of them that is, at least one. */
static uint64_t rank_of_quantile(const struct hf_histogram *h, double q)
{
    double exact = q * (double)h->count;
    uint64_t rank;

    if (!(exact > 1)) /* also true for NaN */
        return 1;
    if (exact >= (double)h->count)
        return h->count;
    rank = (uint64_t)exact;
    return rank + ((double)rank < exact);
}

uint64_t hf_histogram_quantile(const struct hf_histogram *h, double q)
{
    uint64_t rank, seen = 0, end;
    unsigned i = 0;

    if (h->count == 0)
        return 0;
    rank = rank_of_quantile(h, q);
    while ((seen += h->buckets[i]) < rank)
        i++;
    end = greatest_number_of_bucket(i);
    return end < h->max ? end : h->max;
}

uint64_t hf_histogram_count_below(const struct hf_histogram *h, unsigned bits)
{
    uint64_t count = 0;

    HF_ASSERT(bits > BUCKETS_PER_DOUBLING_BITS && bits <= 32);
    for (unsigned i = 0; i < (bits - 1) * BUCKETS_PER_DOUBLING; i++)
        count += h->buckets[i];
    return count;
}
