/* A server's answers to a few requests, and the time of PING. */
/* Tests: tests/live/cli/test_bench.c. */
#include "cli/bench/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/report.h"
#include "net/base/error.h"
#include "net/base/info.h"
#include "net/loop/clock.h"
#include "net/route/slot.h"

/* ---- the connection ---- */

static void on_trace(void *ctx, const struct hf_trace *trace)
{
    struct bench_probe *p = ctx;

    if (trace->kind == HF_TRACE_CONNECTED)
        p->facts.protocol = trace->protocol;
}

int bench_probe_open(struct bench_probe *p, struct hf_loop *loop, const struct cli_common *common,
                     const char *name)
{
    struct hf_seeds seeds = {0};
    struct hf_url url = {0};
    struct hf_error err = {0};
    struct cli_requests_options options = {.url = &url,
                                           .seeds = &seeds,
                                           .client_name = "holdfast-bench",
                                           .on_trace = on_trace,
                                           .trace_ctx = p};
    hf_status status;
    int rc = cli_common_parse_url(&url, &seeds, common);

    *p = (struct bench_probe){.requests.loop = loop, .slot = hf_slot_of(name, strlen(name))};
    if (rc == CLI_CONTINUE && (status = cli_requests_open(&p->requests, &options, &err)) < 0)
        rc = cli_fail_status(status, &err);
    hf_url_wipe(&url);
    hf_seeds_wipe(&seeds);
    return rc;
}

void bench_probe_close(struct bench_probe *p)
{
    cli_requests_close(&p->requests);
}

/* ---- what the server offers ---- */

enum { INFO_SERVER, INFO_REPLICATION, WAIT, TRACKING, FACTS };

struct probed_fact {
    struct cli_query query;
    struct bench_probe *probe;
    bool is_granted;
};

static void read_version(struct bench_facts *facts, const char *text, size_t len)
{
    char number[32];

    if (hf_info_find(text, len, "valkey_version", number, sizeof number))
        (void)snprintf(facts->version, sizeof facts->version, "Valkey %s", number);
    else if (hf_info_find(text, len, "redis_version", number, sizeof number))
        (void)snprintf(facts->version, sizeof facts->version, "Redis %s", number);
}

static void read_replicas(struct bench_facts *facts, const char *text, size_t len)
{
    char number[24];

    if (hf_info_find(text, len, "connected_slaves", number, sizeof number))
        facts->replicas = strtoll(number, NULL, 10);
}

static struct probed_fact *fact_of_query(struct cli_query *q)
{
    struct probed_fact *f = HF_OWNER_OF(q, struct probed_fact, query);

    (void)snprintf(f->probe->facts.address, sizeof f->probe->facts.address, "%s",
                   hf_command_address(&q->command));
    return f;
}

static void read_server_info(struct cli_query *q, struct hf_resp_value reply)
{
    struct probed_fact *f = fact_of_query(q);
    const char *ptr;
    size_t len;

    if (hf_resp_bytes(reply, &ptr, &len) < 0)
        return;
    read_version(&f->probe->facts, ptr, len);
    read_replicas(&f->probe->facts, ptr, len);
}

static void read_granted_right(struct cli_query *q, struct hf_resp_value reply)
{
    (void)reply;
    fact_of_query(q)->is_granted = true;
}

static const struct {
    const char *words[5];
    void (*read)(struct cli_query *q, struct hf_resp_value reply);
} requests[FACTS] = {
    [INFO_SERVER] = {{"INFO", "server"}, read_server_info},
    [INFO_REPLICATION] = {{"INFO", "replication"}, read_server_info},
    [WAIT] = {{"WAIT", "0", "0"}, read_granted_right},
    [TRACKING] = {{"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"}, read_granted_right},
};

static void send_fact_request(struct bench_probe *p, struct probed_fact *f, int which)
{
    *f = (struct probed_fact){
        .probe = p, .query = {.slot = p->slot, .read_reply = requests[which].read}};
    for (int i = 0; i < 5 && requests[which].words[i]; i++)
        cli_query_add_word(&f->query, requests[which].words[i]);
    cli_requests_send(&p->requests, &f->query);
}

int bench_probe_facts(struct bench_probe *p)
{
    struct probed_fact facts[FACTS];

    p->facts.replicas = -1;
    for (int i = 0; i < FACTS; i++)
        send_fact_request(p, &facts[i], i);
    cli_requests_await(&p->requests);
    for (int i = 0; i < FACTS; i++)
        if (facts[i].query.error.status < 0 && !facts[i].query.is_refused)
            return cli_fail_status(facts[i].query.error.status, &facts[i].query.error);
    p->facts.has_wait = facts[WAIT].is_granted;
    p->facts.has_tracking = p->facts.protocol == 3 && facts[TRACKING].is_granted;
    return CLI_CONTINUE;
}

/* ---- the round trip ---- */

static void ignore_pong(struct cli_query *q, struct hf_resp_value reply)
{
    (void)q;
    (void)reply;
}

int bench_probe_ping(struct bench_probe *p, struct bench_samples *samples, int64_t end_ms)
{
    while (samples->count < samples->capacity && hf_clock_ms() < end_ms) {
        struct cli_query q = {.slot = p->slot, .read_reply = ignore_pong};
        int64_t begun_us = hf_clock_us();

        cli_query_add_word(&q, "PING");
        cli_requests_send(&p->requests, &q);
        cli_requests_await(&p->requests);
        if (q.error.status < 0)
            return cli_fail_status(q.error.status, &q.error);
        bench_samples_add(samples, hf_clock_us() - begun_us);
    }
    return CLI_CONTINUE;
}
