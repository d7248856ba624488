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

struct target;

struct query {
    struct hf_request request;
    struct target *target;
    const struct doctor_query *what;     /* NULL: the time */
    bool is_under_way;
};

struct target {
    struct visit *visit;
    struct doctor_server *server;
    struct hf_link *link;       /* NULL: cancelled */
    struct hf_tls_context *tls;
    bool is_connected;
    bool is_lost;               /* VISIT-2 */
    int64_t sent_us;
    struct query queries[QUERIES_MAX];
};

struct visit {
    const struct doctor_visit_plan *plan;
    struct doctor_facts *facts;
    struct doctor_query_names names;
    struct hf_loop *loop;
    struct hf_waiter waiter;
    uint32_t pending;
    uint32_t count;
    struct target *targets[DOCTOR_SERVERS_MAX];
};

/* ---- answers ---- */

static int64_t wall_us(void)
{
    struct timeval now;

    (void)gettimeofday(&now, NULL);
    return (int64_t)now.tv_sec * 1000000 + now.tv_usec;
}

/* The server read its clock between our request and its answer; we assume,
 * halfway. */
static void take_time(struct target *t, struct hf_resp_value reply)
{
    struct doctor_clock *clock = &t->server->clock;
    int64_t round_trip_us = hf_clock_us() - t->sent_us;
    int64_t us;

    if (!doctor_time_read(reply, &us) ||
        (clock->is_known && round_trip_us >= clock->round_trip_us))
        return;
    clock->is_known = true;
    clock->round_trip_us = round_trip_us;
    clock->ahead_us = us - (wall_us() - round_trip_us / 2);
}

static void take_answer(struct target *t, const struct query *query,
                        struct hf_resp_value reply)
{
    t->server->is_reached = true;
    if (!query->what)
        take_time(t, reply);
    else
        doctor_query_read(query->what, t->visit->facts, t->server, reply);
}

static void on_answer(struct hf_request *request, enum hf_outcome outcome,
                      struct hf_resp_value reply)
{
    struct query *query = HF_OWNER_OF(request, struct query, request);
    struct visit *a = query->target->visit;

    query->is_under_way = false;
    if (outcome == HF_ANSWERED)
        take_answer(query->target, query, reply);
    if (--a->pending == 0)
        hf_waiter_wake(&a->waiter);
}

/* ---- targets ---- */

static void on_trace(void *ctx, const struct hf_trace *trace)
{
    struct target *t = ctx;

    if (trace->kind != HF_TRACE_LOST && trace->kind != HF_TRACE_CONNECTED)
        return;
    t->is_lost = t->is_lost || trace->kind == HF_TRACE_LOST;
    t->is_connected = t->is_connected || trace->kind == HF_TRACE_CONNECTED;
    hf_waiter_wake(&t->visit->waiter);
}

static void url_of(struct hf_url *url, const struct visit *a,
                   const struct doctor_server *s)
{
    const struct hf_seeds *seeds = a->plan->seeds;

    *url = *a->plan->url;
    if (seeds->topology != HF_STANDALONE)
        hf_url_set_server(url, s->host, s->port, s->is_sentinel ? seeds : NULL);
}

static hf_status open_link(struct target *t, const struct hf_url *url,
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

static void free_target(struct target *t)
{
    hf_link_free(t->link);
    hf_tls_context_free(t->tls);
    free(t);
}

static hf_status target_new(struct target **out, struct visit *a, struct doctor_server *s,
                            struct hf_error *err)
{
    struct target *t = calloc(1, sizeof *t);
    struct hf_url url;
    hf_status rc;

    assert(doctor_query_count <= QUERIES_MAX);
    if (!t)
        return HF_E_NOMEM;
    t->visit = a;
    t->server = s;
    for (size_t i = 0; i < QUERIES_MAX; i++)
        t->queries[i] = (struct query){.request.done = on_answer, .target = t};
    url_of(&url, a, s);
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
    struct target *t;
    hf_status rc = target_new(&t, a, s, err);

    if (rc == HF_OK)
        a->targets[a->count++] = t;
    return rc;
}

/* ---- requests ---- */

static void submit_query(struct target *t, struct query *query,
                         const struct hf_resp_arg *argv, size_t argc,
                         int64_t deadline_ms)
{
    if (hf_link_submit(t->link, &query->request, argv, argc, deadline_ms) < 0)
        return; /* no memory: it was not seen */
    query->is_under_way = true;
    t->visit->pending++;
}

static void submit_question(struct target *t, size_t index,
                            int64_t deadline_ms)
{
    struct query *query = &t->queries[index];
    struct hf_resp_arg argv[DOCTOR_WORDS_MAX];

    query->what = &doctor_queries[index];
    query->request.is_acknowledged_by_push =
        doctor_query_subscribes(query->what) &&
        hf_link_protocol(t->link) == 3;
    submit_query(t, query, argv,
                 doctor_query_words(query->what, &t->visit->names, argv),
                 deadline_ms);
}

static bool is_wanted(const struct target *t, const struct doctor_query *q)
{
    return doctor_query_is_for(q, t->visit->facts, t->server) &&
           (!t->visit->plan->queries_info_alone || q->permission == MAY_INFO);
}

static void submit_questions(struct target *t, bool subscribes,
                             int64_t deadline_ms)
{
    for (size_t i = 0; i < doctor_query_count; i++)
        if (doctor_query_subscribes(&doctor_queries[i]) == subscribes &&
            is_wanted(t, &doctor_queries[i]))
            submit_question(t, i, deadline_ms);
}

static void submit_time(struct target *t, int64_t deadline_ms)
{
    static const struct hf_resp_arg argv[] = {{"TIME", 4}};
    struct query *query = &t->queries[0];

    query->what = NULL;
    query->request.is_acknowledged_by_push = false;
    t->sent_us = hf_clock_us();
    submit_query(t, query, argv, 1, deadline_ms);
}

/* Cancels requests that a lost server will not answer. */
static void give_up(struct target *t)
{
    for (size_t i = 0; i < QUERIES_MAX; i++) {
        if (!t->queries[i].is_under_way)
            continue;
        (void)hf_link_cancel(&t->queries[i].request);
        t->queries[i].is_under_way = false;
        t->visit->pending--;
    }
    (void)snprintf(t->server->trouble, sizeof t->server->trouble, "%s",
                   hf_link_error(t->link)->text);
    hf_link_free(t->link);
    t->link = NULL;
}

static void give_up_lost(struct visit *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->targets[i]->is_lost && a->targets[i]->link)
            give_up(a->targets[i]);
}

/* Waits until every request is answered, lost or late. The loop is locked
 * before and after. */
static void await_answers(struct visit *a)
{
    give_up_lost(a);
    while (a->pending > 0) {
        hf_loop_wait(&a->waiter);
        hf_waiter_init(&a->waiter, a->loop);
        hf_loop_lock(a->loop);
        give_up_lost(a);
    }
}

enum step { EVERYTHING, THE_TIME, TO_SUBSCRIBE };

static void query_all(struct visit *a, uint32_t first, enum step step,
                      int64_t timeout_ms)
{
    int64_t deadline_ms = hf_clock_ms() + timeout_ms;

    for (uint32_t i = first; i < a->count; i++) {
        struct target *t = a->targets[i];

        if (!t->link)
            continue;
        if (step == THE_TIME)
            submit_time(t, deadline_ms);
        else
            submit_questions(t, step == TO_SUBSCRIBE, deadline_ms);
    }
    await_answers(a);
}

static void note_end_of_round(struct target *t)
{
    if (!t->server->is_reached && !t->server->trouble[0])
        (void)snprintf(t->server->trouble, sizeof t->server->trouble,
                       "%s: no reply in time", t->server->address);
    if (t->link)
        t->server->protocol = hf_link_protocol(t->link);
}

/* Queries the targets from `first` on. The loop is locked. */
static void query_round(struct visit *a, uint32_t first)
{
    const struct doctor_visit_plan *plan = a->plan;

    query_all(a, first, EVERYTHING,
              plan->url->connect_timeout_ms + plan->timeout_ms);
    for (int i = 0; i < CLOCK_READINGS && !plan->queries_info_alone; i++)
        query_all(a, first, THE_TIME, plan->timeout_ms);
    for (uint32_t i = first; i < a->count; i++)
        note_end_of_round(a->targets[i]);
    if (!plan->queries_info_alone)
        query_all(a, first, TO_SUBSCRIBE, plan->timeout_ms);
}

/* ---- other servers at the same address (VISIT-4) ---- */

static void await_connected(const struct target *t)
{
    struct visit *a = t->visit;

    hf_link_want(t->link, true);
    while (!t->is_connected && !t->is_lost) {
        hf_loop_wait(&a->waiter);
        hf_waiter_init(&a->waiter, a->loop);
        hf_loop_lock(a->loop);
    }
}

static bool leads_elsewhere(const struct target *t, const struct target *first)
{
    const char *run_id = hf_link_predecessor(t->link)->run_id;
    const char *known = hf_link_predecessor(first->link)->run_id;

    return run_id[0] && known[0] && strcmp(run_id, known) != 0;
}

static void detect_several_processes(const struct target *first)
{
    struct doctor_server *server = first->server;
    int64_t end_ms = hf_clock_ms() + first->visit->plan->url->connect_timeout_ms;
    struct target *t;

    for (int i = 0; i < CONNECTIONS_MORE && first->link && !server->leads_to_several &&
                    hf_clock_ms() < end_ms;
         i++) {
        if (target_new(&t, first->visit, server, NULL) < 0)
            return; /* no memory: it was not seen */
        await_connected(t);
        server->leads_to_several = leads_elsewhere(t, first);
        free_target(t);
    }
}

/* ---- which nodes there are ---- */

/* The map of a cluster, or a sentinel, may name a server by another address than the
 * one that was queried. */
static bool is_known_otherwise(const struct visit *a,
                               const struct doctor_server *s)
{
    for (uint32_t i = 0; i < a->count; i++) {
        struct doctor_server *visited = a->targets[i]->server;

        if (!s->id[0] || visited->is_sentinel != s->is_sentinel ||
            !doctor_fact_is(visited, FACT_ID, s->id))
            continue;
        memcpy(visited->id, s->id, sizeof s->id);
        memcpy(visited->master_id, s->master_id, sizeof s->master_id);
        visited->said = s->said;
        return true;
    }
    return false;
}

static void drop_server(struct doctor_facts *facts, uint32_t index)
{
    struct doctor_server *s = facts->servers[index];

    for (int i = 0; i < DOCTOR_FACTS; i++)
        free((char *)s->fact[i]);
    free(s);
    facts->count--;
    memmove(&facts->servers[index], &facts->servers[index + 1],
            (facts->count - index) * sizeof *facts->servers);
}

/* Adds targets for servers that have none yet: the n-th target is of the n-th
 * server. */
static hf_status add_targets(struct visit *a, struct hf_error *err)
{
    struct doctor_facts *facts = a->facts;
    hf_status rc = HF_OK;

    while (a->count < facts->count && rc == HF_OK) {
        struct doctor_server *s = facts->servers[a->count];

        if (is_known_otherwise(a, s)) {
            drop_server(facts, a->count);
            continue;
        }
        cli_verbose("querying %s", s->address);
        rc = add_target(a, s, err);
    }
    return rc;
}

static void add_lone(struct visit *a)
{
    const struct hf_url *url = a->plan->url;
    struct doctor_server *s =
        doctor_server_new(a->facts, url->host, url->port);

    if (!s)
        return;
    s->is_seed = true;
    (void)hf_url_address(url, s->address, sizeof s->address);
}

static void add_seeds(struct visit *a)
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
        return master->said == SAID_MASTER;
    return replica->master_id[0] &&
           (strcmp(master->id, replica->master_id) == 0 ||
            doctor_fact_is(master, FACT_ID, replica->master_id));
}

/* Without sentinels, the role of each host is the one that it reports itself. */
static void take_roles(struct doctor_facts *facts)
{
    for (uint32_t i = 0; i < facts->count; i++) {
        struct doctor_server *s = facts->servers[i];

        if (s->fact[FACT_ROLE])
            s->said = doctor_is_master(s) ? SAID_MASTER : SAID_REPLICA;
    }
}

static void find_masters(struct doctor_facts *facts)
{
    if (facts->topology == HF_REPLICATED)
        take_roles(facts);
    for (uint32_t i = 0; i < facts->count; i++) {
        struct doctor_server *s = facts->servers[i];

        if (s->is_sentinel || s->said != SAID_REPLICA)
            continue;
        for (uint32_t j = 0; j < facts->count && s->master < 0; j++)
            if (j != i && !facts->servers[j]->is_sentinel &&
                is_master_of(facts, facts->servers[j], s))
                s->master = (int)j;
    }
}

/* ---- all of it ---- */

struct scratch {
    char name[64];
    char *lock_channel;         /* of the lock that the user names */
    char *scratch_channel;
};

static bool choose_names(struct visit *a, struct scratch *scratch)
{
    const struct doctor_visit_plan *plan = a->plan;
    uint64_t random;

    (void)hf_random_bytes(&random, sizeof random);
    (void)snprintf(scratch->name, sizeof scratch->name,
                   "holdfast:doctor:%016" PRIx64, random);
    scratch->scratch_channel = doctor_channel(scratch->name);
    scratch->lock_channel =
        doctor_channel(a->facts->name ? a->facts->name : scratch->name);
    a->names = (struct doctor_query_names){
        .key = a->facts->name ? a->facts->name : scratch->name,
        .channel = scratch->lock_channel,
        .scratch = scratch->name,
        .scratch_channel = scratch->scratch_channel,
        .user = plan->url->login && plan->url->login->user[0] ? plan->url->login->user
                                                              : "default",
        .master = plan->seeds->master,
    };
    return scratch->lock_channel && scratch->scratch_channel;
}

static hf_status query_rounds(struct visit *a, struct hf_error *err)
{
    hf_status rc = HF_OK;
    uint32_t first = 0;

    if (a->plan->seeds->topology == HF_STANDALONE)
        add_lone(a);
    else
        add_seeds(a);
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
    struct scratch scratch = {0};
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
    free(scratch.scratch_channel);
    free(a);
    return rc;
}
