/* The numbers of one or several clients, added up. Private to lock/. */
#ifndef HF_METRICS_SUM_H
#define HF_METRICS_SUM_H

#include "lock/record/records.h"

struct hf_metrics_sum {
    struct hf_tally_kind tally_by_kind[HF_KIND_NUMBER_COUNT];
    bool is_kind_used[HF_KIND_NUMBER_COUNT]; /* something of this kind was counted */
    uint64_t held_by_kind[HF_KIND_NUMBER_COUNT];
    uint64_t waiting_by_kind[HF_KIND_NUMBER_COUNT];
    uint64_t wakes[WAKE_COUNT];
    uint64_t failures_by_status[TALLY_STATUSES];
    uint64_t oldest_wait_ms;    /* how long the oldest waiter has waited; 0: there is none */
    uint64_t late_renewals;
    uint64_t failed_renewals;
    uint64_t renewals;          /* this and the following: struct hf_client_stats */
    uint64_t renewal_requests;
    uint64_t orphans;
    uint64_t push_checks;
    uint64_t push_losses;
    uint64_t key_pushes;        /* its `pushes` */
    uint64_t connections;       /* open at this moment */
    uint64_t servers;
    struct hf_link_stats link_stats;
    struct hf_router_counts router_counts;
};

/* hf_metrics_sum_add - adds the numbers of a client. [locked] */
void hf_metrics_sum_add(struct hf_metrics_sum *sum, const struct hf_client *client);

#endif
