/* More of histograms (net/net.h). */
#ifndef HF_NET_HISTOGRAM_H
#define HF_NET_HISTOGRAM_H

#include "net/net.h"

/* hf_histogram_count_below - returns how many of the numbers are less than 2^bits, exactly, because
 *   each power of two begins a bucket. bits: 3 to 32. */
uint64_t hf_histogram_count_below(const struct hf_histogram *h, unsigned bits);

#endif
