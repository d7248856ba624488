/* Queries servers for all facts that `holdfast doctor` needs.
 *
 * Rules
 * VISIT-1  Each server has one link and is queried once: all requests in one write; then TIME
 *          alone, several times; then the subscriptions.
 * VISIT-2  The first attempt to connect decides: the doctor reports servers that cannot be
 *          reached now.
 * VISIT-3  Nothing waits longer than its deadline. A round takes at most the connect timeout and
 *          the time of seven replies. There are at most four rounds: the seeds, and three times
 *          the servers that the replies of the last round named. (A sentinel may know
 *          sentinels and replicas that the seeds do not know.)
 * VISIT-4  A load balancer may lead each connection to another server. After the first round,
 *          at most CONNECTIONS_MORE connections are made to the address of a lone server, one
 *          after the other; run_id (INFO server) shows whether they lead to the same process.
 *          None begins later than a connect timeout after the first one. */
/* Tests: tests/live/cli/test_doctor.c. */
#include "cli/doctor/visit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "cli/base/report.h"
#include "cli/doctor/queries.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/random.h"
#include "net/link/link.h"
#include "net/loop/clock.h"
#include "net/wire/tls_context.h"

#define ROUNDS_MAX 4
/* VISIT-4. Of two servers, all 12 connections lead to one by chance once in 2048 times. */
#define CONNECTIONS_MORE 11
/* The reading with the shortest round trip counts. */
#define CLOCK_READINGS 5
#define QUERIES_MAX 64
/* Bytes of one reply. CLUSTER NODES of a thousand nodes has a tenth of it. */
#define REPLY_MAX (4u << 20)

struct visit_target;

struct target_query {
    struct hf_request request;
    struct visit_target *target;
    const struct doctor_query *doctor_query; /* NULL: the time */
    bool is_under_way;
};

struct visit_target {
    struct visit *visit;
    struct doctor_server *server;
    struct hf_link *link;       /* NULL: cancelled */
    struct hf_tls_context *tls;
    bool is_connected;
    bool is_connection_lost;    /* VISIT-2 */
    int64_t time_sent_us;
    struct target_query queries[QUERIES_MAX];
};

struct visit {
    const struct doctor_visit_plan *plan;
    struct doctor_facts *facts;
    struct doctor_query_names names;
    struct hf_loop *loop;
    struct hf_waiter waiter;
    uint32_t pending;
    uint32_t count;
    struct visit_target *targets[DOCTOR_SERVERS_MAX];
};

/* ---- answers ---- */

static int64_t wall_clock_us(void)
{
    struct timeval now;

    (void)gettimeofday(&now, NULL);
    return (int64_t)now.tv_sec * 1000000 + now.tv_usec;
}

/* The server read its clock between our request and its answer; we assume,
 * halfway. */
static void read_clock_reply(struct visit_target *t, struct hf_resp_value reply)
{
    struct doctor_clock *clock = &t->server->clock;
    int64_t round_trip_us = hf_clock_us() - t->time_sent_us;
    int64_t us;

    if (!doctor_time_read(reply, &us) ||
        (clock->is_known && round_trip_us >= clock->round_trip_us))
        return;
    clock->is_known = true;
    clock->round_trip_us = round_trip_us;
    clock->ahead_us = us - (wall_clock_us() - round_trip_us / 2);
}

static void read_answer(struct visit_target *t, const struct target_query *query,
                        struct hf_resp_value reply)
{
    t->server->is_reached = true;
    if (!query->doctor_query)
        read_clock_reply(t, reply);
    else
        doctor_query_read(query->doctor_query, t->visit->facts, t->server, reply);
}

static void on_query_done(struct hf_request *request, enum hf_outcome outcome,
                          struct hf_resp_value reply)
{
    struct target_query *query = HF_OWNER_OF(request, struct target_query, request);
    struct visit *a = query->target->visit;

    query->is_under_way = false;
    if (outcome == HF_ANSWERED)
        read_answer(query->target, query, reply);
    if (--a->pending == 0)
        hf_waiter_wake(&a->waiter);
}

/* ---- targets ---- */

static void on_trace(void *ctx, const struct hf_trace *trace)
{
    struct visit_target *t = ctx;

    if (trace->kind != HF_TRACE_LOST && trace->kind != HF_TRACE_CONNECTED)
        return;
    t->is_connection_lost = t->is_connection_lost || trace->kind == HF_TRACE_LOST;
    t->is_connected = t->is_connected || trace->kind == HF_TRACE_CONNECTED;
    hf_waiter_wake(&t->visit->waiter);
}

static void make_url_of_server(struct hf_url *url, const struct visit *a,
                               const struct doctor_server *s)
{
    const struct hf_seeds *seeds = a->plan->seeds;

    *url = *a->plan->url;
    if (seeds->topology != HF_STANDALONE)
        hf_url_set_server(url, s->host, s->port, s->is_sentinel ? seeds : NULL);
}

static hf_status open_link(struct visit_target *t, const struct hf_url *url,
                           struct hf_error *err)
{
    struct hf_link_options options;
    hf_status rc = HF_OK;

    hf_link_options_init(&options);
    options.url = *url;
    options.client_name = "holdfast-doctor";
    options.protocol = t->visit->facts->protocol;
    options.connect_timeout_ms = t->visit->plan->url->connect_timeout_ms;
    options.silence_ms = t->visit->plan->timeout_ms;
    options.reply_max = REPLY_MAX;
    options.on_trace = on_trace;
    options.trace_ctx = t;
    if (url->kind == HF_URL_TLS)
        rc = hf_tls_context_new(&t->tls, &hf_mem_libc, hf_url_tls(url), url->host,
                                err);
    options.tls = t->tls;
    if (rc == HF_OK)
        rc = hf_link_new(&t->link, t->visit->loop, &options);
    explicit_bzero(&options.url, sizeof options.url);
    return rc;
}

static void free_target(struct visit_target *t)
{
    hf_link_free(t->link);
    hf_tls_context_free(t->tls);
    free(t);
}

static hf_status new_target(struct visit_target **out, struct visit *a, struct doctor_server *s,
                            struct hf_error *err)
{
    struct visit_target *t = calloc(1, sizeof *t);
    struct hf_url url;
    hf_status rc;

    assert(doctor_query_count <= QUERIES_MAX);
    if (!t)
        return HF_E_NOMEM;
    t->visit = a;
    t->server = s;
    for (size_t i = 0; i < QUERIES_MAX; i++)
        t->queries[i] = (struct target_query){.request.done = on_query_done, .target = t};
    make_url_of_server(&url, a, s);
    rc = open_link(t, &url, err);
    explicit_bzero(&url, sizeof url);
    if (rc < 0)
        free_target(t);
    else
        *out = t;
    return rc;
}

static hf_status add_target(struct visit *a, struct doctor_server *s, struct hf_error *err)
{
    struct visit_target *t;
    hf_status rc = new_target(&t, a, s, err);

    if (rc == HF_OK)
        a->targets[a->count++] = t;
    return rc;
}

/* ---- requests ---- */

static void submit_query(struct visit_target *t, struct target_query *query,
                         const struct hf_resp_arg *argv, size_t argc,
                         int64_t deadline_ms)
{
    if (hf_link_submit(t->link, &query->request, argv, argc, deadline_ms) < 0)
        return; /* no memory: it was not seen */
    query->is_under_way = true;
    t->visit->pending++;
}

static void submit_doctor_query(struct visit_target *t, size_t index,
                                int64_t deadline_ms)
{
    struct target_query *query = &t->queries[index];
    struct hf_resp_arg argv[DOCTOR_WORDS_MAX];

    query->doctor_query = &doctor_queries[index];
    query->request.is_acknowledged_by_push =
        doctor_query_subscribes(query->doctor_query) &&
        hf_link_protocol(t->link) == 3;
    submit_query(t, query, argv,
                 doctor_query_put_words(query->doctor_query, &t->visit->names, argv),
                 deadline_ms);
}

static bool is_query_wanted(const struct visit_target *t, const struct doctor_query *q)
{
    return doctor_query_is_for(q, t->visit->facts, t->server) &&
           (!t->visit->plan->queries_info_alone || q->permission == MAY_INFO);
}

static void submit_doctor_queries(struct visit_target *t, bool subscribes,
                                  int64_t deadline_ms)
{
    for (size_t i = 0; i < doctor_query_count; i++)
        if (doctor_query_subscribes(&doctor_queries[i]) == subscribes &&
            is_query_wanted(t, &doctor_queries[i]))
            submit_doctor_query(t, i, deadline_ms);
}

static void submit_time_query(struct visit_target *t, int64_t deadline_ms)
{
    static const struct hf_resp_arg argv[] = {{"TIME", 4}};
    struct target_query *query = &t->queries[0];

    query->doctor_query = NULL;
    query->request.is_acknowledged_by_push = false;
    t->time_sent_us = hf_clock_us();
    submit_query(t, query, argv, 1, deadline_ms);
}

/* Cancels requests that a lost server will not answer. */
static void cancel_pending_queries(struct visit_target *t)
{
    for (size_t i = 0; i < QUERIES_MAX; i++) {
        if (!t->queries[i].is_under_way)
            continue;
        (void)hf_link_cancel(&t->queries[i].request);
        t->queries[i].is_under_way = false;
        t->visit->pending--;
    }
    (void)snprintf(t->server->connect_error, sizeof t->server->connect_error, "%s",
                   hf_link_error(t->link)->text);
    hf_link_free(t->link);
    t->link = NULL;
}

static void cancel_queries_of_lost(struct visit *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->targets[i]->is_connection_lost && a->targets[i]->link)
            cancel_pending_queries(a->targets[i]);
}

/* Waits until every request is answered, lost or late. The loop is locked
 * before and after. */
static void wait_for_answers(struct visit *a)
{
    cancel_queries_of_lost(a);
    while (a->pending > 0) {
        hf_loop_wait(&a->waiter);
        hf_waiter_init(&a->waiter, a->loop);
        hf_loop_lock(a->loop);
        cancel_queries_of_lost(a);
    }
}

enum visit_step { QUERY_EVERYTHING, QUERY_TIME, QUERY_SUBSCRIPTIONS };

static void submit_step_to_all(struct visit *a, uint32_t first, enum visit_step step,
                               int64_t timeout_ms)
{
    int64_t deadline_ms = hf_clock_ms() + timeout_ms;

    for (uint32_t i = first; i < a->count; i++) {
        struct visit_target *t = a->targets[i];

        if (!t->link)
            continue;
        if (step == QUERY_TIME)
            submit_time_query(t, deadline_ms);
        else
            submit_doctor_queries(t, step == QUERY_SUBSCRIPTIONS, deadline_ms);
    }
    wait_for_answers(a);
}

static void set_error_if_not_reached(struct visit_target *t)
{
    if (!t->server->is_reached && !t->server->connect_error[0])
        (void)snprintf(t->server->connect_error, sizeof t->server->connect_error,
                       "%s: no reply in time", t->server->address);
    if (t->link)
        t->server->protocol = hf_link_protocol(t->link);
}

/* Queries the targets from `first` on. The loop is locked. */
static void query_round(struct visit *a, uint32_t first)
{
    const struct doctor_visit_plan *plan = a->plan;

    submit_step_to_all(a, first, QUERY_EVERYTHING,
                       plan->url->connect_timeout_ms + plan->timeout_ms);
    for (int i = 0; i < CLOCK_READINGS && !plan->queries_info_alone; i++)
        submit_step_to_all(a, first, QUERY_TIME, plan->timeout_ms);
    for (uint32_t i = first; i < a->count; i++)
        set_error_if_not_reached(a->targets[i]);
    if (!plan->queries_info_alone)
        submit_step_to_all(a, first, QUERY_SUBSCRIPTIONS, plan->timeout_ms);
}

/* ---- other servers at the same address (VISIT-4) ---- */

static void wait_until_connected(const struct visit_target *t)
{
    struct visit *a = t->visit;

    hf_link_want(t->link, true);
    while (!t->is_connected && !t->is_connection_lost) {
        hf_loop_wait(&a->waiter);
        hf_waiter_init(&a->waiter, a->loop);
        hf_loop_lock(a->loop);
    }
}

static bool leads_to_other_process(const struct visit_target *t, const struct visit_target *first)
{
    const char *run_id = hf_link_predecessor(t->link)->run_id;
    const char *known = hf_link_predecessor(first->link)->run_id;

    return run_id[0] && known[0] && strcmp(run_id, known) != 0;
}

static void detect_several_processes(const struct visit_target *first)
{
    struct doctor_server *server = first->server;
    int64_t end_ms = hf_clock_ms() + first->visit->plan->url->connect_timeout_ms;
    struct visit_target *t;

    for (int i = 0; i < CONNECTIONS_MORE && first->link && !server->leads_to_several &&
                    hf_clock_ms() < end_ms;
         i++) {
        if (new_target(&t, first->visit, server, NULL) < 0)
            return; /* no memory: it was not seen */
        wait_until_connected(t);
        server->leads_to_several = leads_to_other_process(t, first);
        free_target(t);
    }
}

/* ---- which nodes there are ---- */

/* The map of a cluster, or a sentinel, may name a server by another address than the
 * one that was queried. */
static bool is_visited_at_other_address(const struct visit *a,
                                        const struct doctor_server *s)
{
    for (uint32_t i = 0; i < a->count; i++) {
        struct doctor_server *visited = a->targets[i]->server;

        if (!s->id[0] || visited->is_sentinel != s->is_sentinel ||
            !doctor_fact_is(visited, FACT_ID, s->id))
            continue;
        memcpy(visited->id, s->id, sizeof s->id);
        memcpy(visited->master_id, s->master_id, sizeof s->master_id);
        visited->role_said_by_others = s->role_said_by_others;
        return true;
    }
    return false;
}

static void remove_server(struct doctor_facts *facts, uint32_t index)
{
    struct doctor_server *s = facts->servers[index];

    for (int i = 0; i < DOCTOR_FACTS; i++)
        free((char *)s->facts[i]);
    free(s);
    facts->servers_count--;
    memmove(&facts->servers[index], &facts->servers[index + 1],
            (facts->servers_count - index) * sizeof *facts->servers);
}

/* Adds targets for servers that have none yet: the n-th target is of the n-th
 * server. */
static hf_status add_targets(struct visit *a, struct hf_error *err)
{
    struct doctor_facts *facts = a->facts;
    hf_status rc = HF_OK;

    while (a->count < facts->servers_count && rc == HF_OK) {
        struct doctor_server *s = facts->servers[a->count];

        if (is_visited_at_other_address(a, s)) {
            remove_server(facts, a->count);
            continue;
        }
        cli_verbose("querying %s", s->address);
        rc = add_target(a, s, err);
    }
    return rc;
}

static void add_standalone_server(struct visit *a)
{
    const struct hf_url *url = a->plan->url;
    struct doctor_server *s =
        doctor_server_new(a->facts, url->host, url->port);

    if (!s)
        return;
    s->is_seed = true;
    (void)hf_url_address(url, s->address, sizeof s->address);
}

static void add_servers_of_url(struct visit *a)
{
    const struct hf_seeds *seeds = a->plan->seeds;

    for (uint32_t i = 0; i < seeds->hosts_count; i++) {
        struct doctor_server *s = doctor_server_new(
            a->facts, seeds->hosts[i].host, seeds->hosts[i].port);

        if (!s)
            return;
        s->is_seed = true;
        s->is_sentinel = seeds->topology == HF_SENTINEL;
    }
}

/* ---- whose replica is whose ---- */

/* In a cluster, ids show the master. Otherwise there is usually one master; of two, the first
 * one counts. */
static bool is_master_of(const struct doctor_facts *facts,
                         const struct doctor_server *master,
                         const struct doctor_server *replica)
{
    if (facts->topology != HF_CLUSTER)
        return master->role_said_by_others == SAID_MASTER;
    return replica->master_id[0] &&
           (strcmp(master->id, replica->master_id) == 0 ||
            doctor_fact_is(master, FACT_ID, replica->master_id));
}

/* Without sentinels, the role of each host is the one that it reports itself. */
static void use_reported_roles(struct doctor_facts *facts)
{
    for (uint32_t i = 0; i < facts->servers_count; i++) {
        struct doctor_server *s = facts->servers[i];

        if (s->facts[FACT_ROLE])
            s->role_said_by_others = doctor_is_master(s) ? SAID_MASTER : SAID_REPLICA;
    }
}

static void find_masters(struct doctor_facts *facts)
{
    if (facts->topology == HF_REPLICATED)
        use_reported_roles(facts);
    for (uint32_t i = 0; i < facts->servers_count; i++) {
        struct doctor_server *s = facts->servers[i];

        if (s->is_sentinel || s->role_said_by_others != SAID_REPLICA)
            continue;
        for (uint32_t j = 0; j < facts->servers_count && s->master_index < 0; j++)
            if (j != i && !facts->servers[j]->is_sentinel &&
                is_master_of(facts, facts->servers[j], s))
                s->master_index = (int)j;
    }
}

/* ---- all of it ---- */

struct scratch_names {
    char unused_name[64];
    char *lock_channel;         /* of the lock that the user names */
    char *unused_channel;
};

static bool choose_names(struct visit *a, struct scratch_names *scratch)
{
    const struct doctor_visit_plan *plan = a->plan;
    uint64_t random;

    (void)hf_random_bytes(&random, sizeof random);
    (void)snprintf(scratch->unused_name, sizeof scratch->unused_name,
                   "holdfast:doctor:%016" PRIx64, random);
    scratch->unused_channel = doctor_channel(scratch->unused_name);
    scratch->lock_channel =
        doctor_channel(a->facts->name ? a->facts->name : scratch->unused_name);
    a->names = (struct doctor_query_names){
        .key = a->facts->name ? a->facts->name : scratch->unused_name,
        .channel = scratch->lock_channel,
        .unused_key = scratch->unused_name,
        .unused_channel = scratch->unused_channel,
        .user = plan->url->login && plan->url->login->user[0] ? plan->url->login->user
                                                              : "default",
        .master = plan->seeds->master,
    };
    return scratch->lock_channel && scratch->unused_channel;
}

static hf_status query_rounds(struct visit *a, struct hf_error *err)
{
    hf_status rc = HF_OK;
    uint32_t first = 0;

    if (a->plan->seeds->topology == HF_STANDALONE)
        add_standalone_server(a);
    else
        add_servers_of_url(a);
    hf_loop_lock(a->loop);
    for (int i = 0; i < ROUNDS_MAX && rc == HF_OK; i++) {
        rc = add_targets(a, err);
        if (rc < 0 || first == a->count)
            break;
        query_round(a, first);
        first = a->count;
    }
    if (rc == HF_OK && a->facts->topology == HF_STANDALONE && a->count > 0 &&
        !a->plan->queries_info_alone)
        detect_several_processes(a->targets[0]);
    while (a->count > 0)
        free_target(a->targets[--a->count]);
    hf_loop_unlock(a->loop);
    find_masters(a->facts);
    return rc;
}

hf_status doctor_visit(struct doctor_facts *facts, const struct doctor_visit_plan *plan,
                       struct hf_error *err)
{
    const struct hf_loop_options options = {.size = sizeof options, .thread = false};
    struct visit *a = calloc(1, sizeof *a);
    struct scratch_names scratch = {0};
    hf_status rc = HF_E_NOMEM;

    if (!a)
        return hf_error_set(err, rc, "out of memory");
    a->plan = plan;
    a->facts = facts;
    if (choose_names(a, &scratch) &&
        (rc = hf_loop_new(&a->loop, &options)) == HF_OK) {
        hf_waiter_init(&a->waiter, a->loop);
        rc = query_rounds(a, err);
    }
    if (rc < 0 && (!err || err->status == HF_OK))
        (void)hf_error_status(err, rc, "cannot make an event loop");
    hf_loop_free(a->loop);
    free(scratch.lock_channel);
    free(scratch.unused_channel);
    free(a);
    return rc;
}
