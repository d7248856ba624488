/* Histograms: log-linear, of a fixed size (net.h). The leading one bit of a number
 * shows its power of two, the two bits after it the quarter. */
/* Tests: tests/test_net_histogram.c. */
#include "net/base/histogram.h"

#include <assert.h>

#include "net/base/assert.h"

#define QUARTERS_BITS 2   /* four buckets for each power of two */
#define QUARTERS (1u << QUARTERS_BITS)

static_assert(HF_HISTOGRAM_BUCKETS ==
                  (32 - QUARTERS_BITS) * QUARTERS + QUARTERS,
              "32 bits, the lowest three of which have a bucket a number");

/* Returns how many low bits do not count. None below 8: there `| QUARTERS` replaces the
 * leading one bit. */
static unsigned dropped_bits(uint32_t number)
{
    return 31u - (unsigned)__builtin_clz(number | QUARTERS) - QUARTERS_BITS;
}

static unsigned bucket_of(uint32_t number)
{
    unsigned dropped = dropped_bits(number);

    return dropped * QUARTERS + (number >> dropped);
}

/* The greatest number that it holds. */
static uint64_t bucket_end(unsigned bucket)
{
    unsigned dropped;

    if (bucket < 2 * QUARTERS)
        return bucket;
    dropped = bucket / QUARTERS - 1;
    return ((uint64_t)(bucket - dropped * QUARTERS + 1) << dropped) - 1;
}

void hf_histogram_add(struct hf_histogram *h, uint64_t number)
{
    number = number < UINT32_MAX ? number : UINT32_MAX;
    h->count++;
    h->sum += number;
    h->max = h->max > number ? h->max : number;
    h->buckets[bucket_of((uint32_t)number)]++;
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
static uint64_t rank_of(const struct hf_histogram *h, double q)
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
    rank = rank_of(h, q);
    while ((seen += h->buckets[i]) < rank)
        i++;
    end = bucket_end(i);
    return end < h->max ? end : h->max;
}

uint64_t hf_histogram_count_below(const struct hf_histogram *h, unsigned bits)
{
    uint64_t count = 0;

    HF_ASSERT(bits > QUARTERS_BITS && bits <= 32);
    for (unsigned i = 0; i < (bits - 1) * QUARTERS; i++)
        count += h->buckets[i];
    return count;
}
