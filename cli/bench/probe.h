/* What a server offers, and how long a reply of it takes: on a connection of its own, without
 * locks. */
#ifndef CLI_BENCH_PROBE_H
#define CLI_BENCH_PROBE_H

#include "cli/base/common.h"
#include "cli/base/requests.h"
#include "cli/bench/samples.h"

struct bench_facts {
    char address[300];          /* of the server of the name; "": unknown */
    char version[48];           /* "Redis 7.2.4", "Valkey 8.0.1"; "": unknown */
    int protocol;               /* of RESP; 0: unknown */
    bool has_tracking;          /* the server reports changed keys, which this user may request */
    bool has_wait;              /* this user may wait for replicas */
    int64_t replicas;           /* that are connected; -1: unknown */
};

struct bench_probe {            /* zeroed: not open */
    struct cli_requests requests;
    uint16_t slot;              /* of the name */
    struct bench_facts facts;
};

/* bench_probe_open  - connects to the server of that name. bench_probe_close - also after an
 *   error. Returns CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error.
 * bench_probe_facts - queries what the server offers. A refusal is a result. Returns as
 *   bench_probe_open.
 * bench_probe_ping  - measures the round trip of PING, one after the other, until `samples` is
 *   full or the time end_ms. Returns as bench_probe_open. */
int bench_probe_open(struct bench_probe *p, struct hf_loop *loop, const struct cli_common *common,
                     const char *name);
void bench_probe_close(struct bench_probe *p);
int bench_probe_facts(struct bench_probe *p);
int bench_probe_ping(struct bench_probe *p, struct bench_samples *samples, int64_t end_ms);

#endif
