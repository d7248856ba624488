/* A master and its replicas, without sentinels: redis://a,b,c. The client queries each
 * host of the URL for its role, and uses the one that is the master. An operator, or a
 * program of theirs, promotes a replica; the client finds the promoted one.
 *
 * REPLICAS-1  The roles are queried when the client starts, after the end of a
 *             connection to the master, after READONLY or MASTERDOWN, when the master
 *             replies after a silence (doubt.h), and every options.roles_ms while the
 *             client holds a lock or has a subscription (silence.c). A command also causes
 *             a query if the last one is that old, because a call that fails at once or
 *             holds briefly, or a waiter that polls, neither holds nor subscribes. Both are
 *             for an old master that was never silent: it still renews and grants locks
 *             that its successor grants to others, and its replies do not show this.
 * REPLICAS-2  Each round queries all hosts, because an old master that returns is also a
 *             master. The master is used when every host has replied or failed. The client
 *             waits HOST_SILENT_MS for a silent host, counted from the first query without a
 *             reply, also if that was in an earlier round. It does not wait for a silent
 *             host that was a master on a connection that is still open, if the master that
 *             replies was promoted from a replica of it: of these two, REPLICAS-3 uses the
 *             promoted one. (A master that restarted has lost its connections.)
 * REPLICAS-3  Of two masters, the one that was promoted from a replica of the other one
 *             is used (lineage.h); otherwise the one with the greater replication
 *             offset; otherwise the one with more connected replicas; otherwise the
 *             first in the URL. The rule depends on the replies alone, so that all
 *             clients that receive the same replies use the same master. on_trouble is
 *             called once until there is one master again.
 * REPLICAS-4  If this client has heard the successor of a master, and the successor no
 *             longer replies, the old master is not used for REPLACED_VALID_MS. The successor may
 *             be slow, and has locks that the old master does not know. An old master that
 *             restarts has a new id. So a master that continues the same history as the
 *             successor, or was heard beside it and not used, is not used either.
 * REPLICAS-5  Only hosts of the URL are used. A replica may name another master: the error
 *             contains its address, to which the password is not sent. */
/* Tests: tests/test_net_replicas.c, tests/live/server/test_replicas.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/moment.h"
#include "net/route/announced.h"
#include "net/route/discover.h"
#include "net/route/doubt.h"
#include "net/route/lineage.h"
#include "net/route/probe.h"
#include "net/route/refusal.h"
#include "net/route/replace.h"
#include "net/route/sentinel_words.h"
#include "net/route/topology.h"

#define HOST_SILENT_MS 1000
#define NEW_QUERY_AFTER_MS 10000 /* a silence is forgotten if no query was sent for this time */
#define REPLACED_VALID_MS 30000 /* the default of the watchdog timeout: locks that are not
                                   renewed have expired */

enum { INFO, ROLE };

/* The last reply of one host. */
struct host_state {
    uint32_t last_reply_round;        /* when it came; 0: never */
    bool is_role;                     /* otherwise `failure_text` has the reason */
    struct hf_role role;
    struct hf_lineage lineage;
    struct hf_lineage master_lineage; /* `lineage` at its last reply as a master, or empty */
    int64_t last_master_reply_ms;     /* when that reply came */
    bool stayed_connected;            /* no connection to the host has ended since */
    int64_t last_query_ms;            /* the last query */
    int64_t silent_since_ms;          /* the first query since the last reply; 0: none */
    uint32_t preferred_host;          /* 1 and the index of the host used beside it; 0: none */
    char failure_text[160];           /* "HOST:PORT: why" */
};

struct hf_roles {
    struct host_state hosts[HF_SEEDS_MAX];
    bool has_reported_two_masters; /* on_trouble was called, and there are two masters
                                   since then */
};

static struct hf_server *seed_server(struct hf_router *router, uint32_t i)
{
    return hf_server_find(router, router->seeds->hosts[i].host,
                          router->seeds->hosts[i].port, false);
}

/* If the URL contains a host twice, the first one counts. */
static uint32_t seed_index_of(const struct hf_server *server)
{
    const struct hf_seeds *seeds = server->router->seeds;
    uint32_t i = hf_seeds_find(seeds, server->host, server->port);

    return i < seeds->hosts_count ? i : seeds->hosts_count - 1;
}

static struct host_state *state_of(const struct hf_server *server)
{
    return &server->router->roles->hosts[seed_index_of(server)];
}

/* The reply counts for this round, also if an earlier round sent the query. */
static void record_reply_in_round(struct hf_server *server)
{
    server->probe.last_round = server->router->discovery.round_number;
    state_of(server)->last_reply_round = server->probe.last_round;
}

static void record_query(struct hf_server *server)
{
    int64_t now = hf_loop_now(server->router->loop);
    struct host_state *h = state_of(server);

    if (h->silent_since_ms == 0 || now - h->last_query_ms >= NEW_QUERY_AFTER_MS)
        h->silent_since_ms = now;
    h->last_query_ms = now;
}

static bool is_host_silent(const struct hf_router *router, const struct host_state *h)
{
    return h->silent_since_ms != 0 &&
           hf_loop_now(router->loop) - h->silent_since_ms >= HOST_SILENT_MS;
}

static bool has_host_replied(const struct hf_router *router, uint32_t i)
{
    return router->roles->hosts[i].last_reply_round == router->discovery.round_number;
}

static bool has_master_role(const struct hf_router *router, uint32_t i)
{
    const struct host_state *h = &router->roles->hosts[i];

    return has_host_replied(router, i) && h->is_role && h->role.kind == HF_ROLE_MASTER;
}

/* ---- which master (REPLICAS-3) ---- */

/* Compares two masters of which neither replaced the other (was_host_replaced). */
static bool is_better_master(const struct host_state *a, const struct host_state *b)
{
    if (a->role.offset != b->role.offset)
        return a->role.offset > b->role.offset;
    return a->role.connected_replicas > b->role.connected_replicas;
}

/* REPLICAS-4. Two masters that both reply are compared instead. The id of a master also changes
 * when its first replica connects. */
static bool was_preferred_to(const struct hf_router *router, uint32_t k, uint32_t i)
{
    const struct host_state *each = router->roles->hosts;
    const struct hf_lineage *reign = &each[k].master_lineage, *now = &each[i].lineage;

    return !has_master_role(router, k) && reign->id[0] && !hf_lineage_is_successor(now, reign) &&
           (each[i].preferred_host == k + 1 || hf_lineage_are_siblings(reign, now));
}

/* Whether another host was promoted from a replica of this one, or was preferred to it, and was
 * heard as a master less than REPLACED_VALID_MS ago (REPLICAS-3, REPLICAS-4). */
static bool was_host_replaced(const struct hf_router *router, uint32_t i)
{
    const struct host_state *each = router->roles->hosts;

    for (uint32_t k = 0; k < router->seeds->hosts_count; k++)
        if ((hf_lineage_is_successor(&each[k].master_lineage, &each[i].lineage) ||
             (k != i && was_preferred_to(router, k, i))) &&
            hf_loop_now(router->loop) - each[k].last_master_reply_ms < REPLACED_VALID_MS)
            return true;
    return false;
}

/* NULL: no host that was heard in this round is a master. */
static struct hf_server *find_best_master(struct hf_router *router)
{
    struct hf_server *best = NULL;

    for (uint32_t i = 0; i < router->seeds->hosts_count; i++) {
        struct hf_server *server = has_master_role(router, i) && !was_host_replaced(router, i)
                                       ? seed_server(router, i)
                                       : NULL;

        if (server && (!best || is_better_master(state_of(server), state_of(best))))
            best = server;
    }
    return best;
}

/* REPLICAS-2: is the silent host the former master of `best`? */
static bool was_silent_predecessor(const struct host_state *silent, const struct host_state *best)
{
    return silent->stayed_connected &&
           hf_lineage_is_successor(&best->lineage, &silent->master_lineage);
}

static bool is_choice_certain(struct hf_router *router)
{
    const struct hf_server *best = find_best_master(router);

    for (uint32_t i = 0; i < router->seeds->hosts_count; i++) {
        const struct hf_server *server = seed_server(router, i);

        if (!best || !server ||
            !(has_host_replied(router, seed_index_of(server)) ||
              is_host_silent(router, state_of(server)) ||
              was_silent_predecessor(state_of(server), state_of(best))))
            return false;
    }
    return true;
}

/* The URL may contain two names of one server. */
static bool are_same_process(const struct hf_server *a, const struct hf_server *b)
{
    const char *id = state_of(a)->lineage.id;

    return id[0] && strcmp(id, state_of(b)->lineage.id) == 0;
}

/* Returns a master that is not `best`; NULL: there is none. */
static struct hf_server *find_other_master(struct hf_router *router,
                                           const struct hf_server *best)
{
    for (uint32_t i = 0; i < router->seeds->hosts_count; i++) {
        struct hf_server *server = has_master_role(router, i) ? seed_server(router, i) : NULL;

        if (server && server != best && !are_same_process(server, best))
            return server;
    }
    return NULL;
}

/* REPLICAS-4 */
static void mark_superseded_masters(const struct hf_server *best)
{
    struct hf_router *router = best->router;

    state_of(best)->preferred_host = 0;
    for (uint32_t i = 0; i < router->seeds->hosts_count; i++) {
        const struct hf_server *server = has_master_role(router, i) ? seed_server(router, i) : NULL;

        if (server && server != best && state_of(server)->lineage.id[0] &&
            !are_same_process(server, best))
            state_of(server)->preferred_host = seed_index_of(best) + 1;
    }
}

static void describe_master(const struct hf_server *server, char *dst, size_t room)
{
    const struct hf_role *role = &state_of(server)->role;

    (void)snprintf(dst, room, "%.120s (%" PRIu32 " replica%s, offset %" PRId64 ")",
                   hf_link_address(server->link), role->connected_replicas,
                   role->connected_replicas == 1 ? "" : "s", role->offset);
}

static void report_two_masters(const struct hf_server *used, const struct hf_server *other)
{
    struct hf_router *router = used->router;
    char one[200], two[200];
    struct hf_error note;

    describe_master(used, one, sizeof one);
    describe_master(other, two, sizeof two);
    hf_error_set(&note, HF_E_SERVER,
                 "two masters: %s is used, and not %s; make the second one a "
                 "replica (REPLICAOF)", one, two);
    if (router->options.on_trouble)
        router->options.on_trouble(router->options.ctx, HF_TROUBLE_TWO_MASTERS, &note);
}

/* DOUBT-5: the first query of the roles of all hosts. 0: one failed; -1: one was not heard. */
static int64_t first_query_of_all_ms(struct hf_router *router)
{
    int64_t ms = HF_NEVER;

    for (uint32_t i = 0; i < router->seeds->hosts_count; i++) {
        const struct hf_server *s = seed_server(router, i);

        if (!s || !has_host_replied(router, seed_index_of(s)))
            return -1;
        ms = hf_min_ms(ms, state_of(s)->is_role ? state_of(s)->last_query_ms : 0);
    }
    return ms;
}

static void check_for_two_masters(struct hf_server *used)
{
    struct hf_router *router = used->router;
    const struct hf_server *other = find_other_master(router, used);
    int64_t since_ms = first_query_of_all_ms(router);

    if (other && !router->roles->has_reported_two_masters)
        report_two_masters(used, other);
    if (other || since_ms >= 0)
        router->roles->has_reported_two_masters = other != NULL;
    if (!other)
        hf_doubt_confirmed(used, since_ms);
}

/* ---- no master ---- */

static bool is_seed_address(const struct hf_router *router, const struct hf_endpoint *at)
{
    return hf_seeds_find(router->seeds, at->host, at->port) < router->seeds->hosts_count;
}

/* A query that is pending shows nothing about a host that replied before. */
static bool has_host_no_reply(const struct hf_router *router, const struct host_state *h)
{
    return h->last_reply_round == 0 || is_host_silent(router, h);
}

static void describe_silence(const struct hf_server *server, char *dst, size_t room)
{
    struct hf_error why;

    if (hf_link_error(server->link)->status == HF_OK &&
        !is_host_silent(server->router, state_of(server))) {
        (void)snprintf(dst, room, "%s has not replied yet", hf_link_address(server->link));
        return;
    }
    hf_server_explain_silence(server, &why);
    (void)snprintf(dst, room, "%.299s", why.text);
}

/* Writes what the host last replied, or why it did not. */
static void describe_host_state(struct hf_router *router, uint32_t i, char *dst, size_t room)
{
    static const char *const kinds[] = {
        [HF_ROLE_MASTER] = "is a master",
        [HF_ROLE_SENTINEL] = "is a sentinel (redis+sentinel:// in the URL)"};
    const struct hf_server *server = seed_server(router, i);
    const struct host_state *h = server ? state_of(server) : NULL;

    if (!server) {
        (void)snprintf(dst, room, "%s:%u was not queried yet", router->seeds->hosts[i].host,
                       (unsigned)router->seeds->hosts[i].port);
    } else if (has_host_no_reply(router, h)) {
        describe_silence(server, dst, room);
    } else if (!h->is_role) {
        (void)snprintf(dst, room, "%s", h->failure_text);
    } else if (h->role.kind != HF_ROLE_REPLICA) {
        (void)snprintf(dst, room, "%s %s%s", hf_link_address(server->link),
                       kinds[h->role.kind],
                       was_host_replaced(router, i) ? " that was replaced" : "");
    } else {
        (void)snprintf(dst, room, "%s is a replica of %s:%u%s",
                       hf_link_address(server->link), h->role.master.host,
                       (unsigned)h->role.master.port,
                       is_seed_address(router, &h->role.master) ? ""
                                                          : ", which is not in the URL");
    }
}

/* The user must change something; no host will become reachable by itself. */
static bool is_refusal_status(hf_status status)
{
    return status == HF_E_AUTH || status == HF_E_TLS || status == HF_E_PROTOCOL;
}

/* Returns the status that the links of all hosts have, except those that replied their role, or a
 * refusal while no master was ever found; HF_E_CONNECT if they differ. */
static hf_status common_status_of_hosts(struct hf_router *router)
{
    hf_status status = HF_OK, refusal = HF_OK;
    bool is_mixed = false;

    for (uint32_t i = 0; i < router->seeds->hosts_count; i++) {
        const struct hf_server *server = seed_server(router, i);
        hf_status one = server ? hf_link_error(server->link)->status : HF_OK;

        if (one == HF_OK && server && state_of(server)->is_role)
            continue;
        is_mixed = is_mixed || one == HF_OK || (status != HF_OK && one != status);
        status = one;
        refusal = is_refusal_status(one) ? one : refusal;
    }
    if (is_mixed && router->was_map_known)
        return HF_E_CONNECT;
    if (is_mixed || status == HF_OK)
        return refusal != HF_OK ? refusal : HF_E_CONNECT;
    return status;
}

static void explain_pending_query(const struct hf_server *server, struct hf_error *out)
{
    struct hf_router *router = server->router;
    char text[HF_ERROR_TEXT_MAX], one[608]; /* two host names in one */
    size_t len = 0;

    for (uint32_t i = 0; i < router->seeds->hosts_count && len < sizeof text; i++) {
        describe_host_state(router, i, one, sizeof one);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i ? "; " : "", one);
    }
    hf_error_set(out, common_status_of_hosts(router), "%s: %s",
                 find_best_master(router) ? "not every host replied" : "found no master", text);
}

/* ---- the roles ---- */

static void fail_without_memory(struct hf_server *server)
{
    struct hf_error why;

    hf_error_set(&why, HF_E_NOMEM, "%s: %s", server->router->address,
                 hf_net_status_text(HF_E_NOMEM));
    hf_discover_failed(server, false, &why);
}

/* Reports the best master so far to discovery, which waits for the other hosts; without a
 * master, reports the failure. */
static void report_best_master(struct hf_server *server, bool is_final)
{
    struct hf_server *best = find_best_master(server->router);
    struct hf_slot_map *map;
    struct hf_error why;

    if (!best) {
        explain_pending_query(server, &why);
        hf_discover_failed(server, is_final, &why);
        return;
    }
    server->router->map_error.status = HF_OK; /* an earlier reply of this round found no master */
    mark_superseded_masters(best);
    check_for_two_masters(best);
    map = hf_slot_map_of_one(best->router->mem, best->host, best->port);
    if (map)
        hf_discover_found(server, map);
    else
        fail_without_memory(server);
}

static void record_mastership(const struct hf_server *server, struct host_state *h)
{
    static const struct hf_lineage none;
    bool reigns = h->role.kind == HF_ROLE_MASTER;

    if (!reigns)
        h->preferred_host = 0;
    h->master_lineage = reigns ? h->lineage : none;
    h->last_master_reply_ms = hf_loop_now(server->router->loop);
    h->stayed_connected = reigns;
    if (h->role.kind == HF_ROLE_REPLICA)
        hf_announced_replace(server->router, &h->role.master);
}

static void record_role_reply(struct hf_server *server, struct hf_resp_value reply)
{
    struct host_state *h = state_of(server);
    struct hf_error why;

    h->silent_since_ms = 0;
    h->is_role = hf_role_read(&h->role, reply, &why) == HF_OK;
    if (!h->is_role)
        (void)snprintf(h->failure_text, sizeof h->failure_text, "%.80s: %.70s",
                       hf_link_address(server->link), why.text);
    else
        record_mastership(server, h);
}

static void record_silence(struct hf_server *server)
{
    struct host_state *h = state_of(server);
    struct hf_error why;

    hf_server_explain_silence(server, &why);
    h->is_role = false;
    (void)snprintf(h->failure_text, sizeof h->failure_text, "%.150s", why.text);
}

/* Whether another query would fail in the same way. */
static bool is_failure_permanent(const struct hf_server *server, enum hf_outcome outcome,
                                 struct hf_resp_value reply)
{
    if (outcome != HF_ANSWERED)
        return hf_link_is_refused(server->link);
    return hf_refusal_is_by_acl(reply) || hf_refusal_is(reply, "ERR");
}

/* Ends a silence as the reply to a command does (DOUBT-1): there may have been no command. */
static void end_silence_for_late_reply(struct hf_server *server, const struct hf_request *request)
{
    int64_t now = hf_loop_now(server->router->loop);

    if (server->serves_slots && request->sent_ms != HF_NEVER &&
        now - request->sent_ms >= server->router->options.doubt_after_ms)
        hf_doubt_silent(server, request->sent_ms);
}

static void on_role_reply(struct hf_request *request, enum hf_outcome outcome,
                          struct hf_resp_value reply)
{
    struct hf_server *server = hf_probe_request_ended(request, ROLE);

    record_reply_in_round(server);
    end_silence_for_late_reply(server, request);
    if (outcome == HF_ANSWERED)
        record_role_reply(server, reply);
    else
        record_silence(server);
    report_best_master(server, is_failure_permanent(server, outcome, reply));
}

/* A host that is down must not delay the others. */
static void on_unreached(struct hf_server *server)
{
    hf_probe_cancel(server);
    record_reply_in_round(server);
    record_silence(server);
    report_best_master(server, false);
}

/* The server may refuse INFO. The lineage is then unknown, and the offsets decide. */
static void on_info_reply(struct hf_request *request, enum hf_outcome outcome,
                          struct hf_resp_value reply)
{
    struct hf_server *server = hf_probe_request_ended(request, INFO);
    struct host_state *h = state_of(server);

    if (outcome == HF_ANSWERED)
        hf_lineage_read(&h->lineage, reply);
    else
        h->lineage = (struct hf_lineage){.id = ""};
}

static hf_status query_role(struct hf_server *server, int64_t deadline_ms)
{
    static const struct hf_resp_arg info[] = {{"INFO", 4}, {"replication", 11}};
    static const struct hf_resp_arg role = {"ROLE", 4};
    hf_status rc;

    if ((rc = hf_probe_send(server, INFO, server->link, info, 2, deadline_ms,
                            on_info_reply)) == HF_OK)
        rc = hf_probe_send(server, ROLE, server->link, &role, 1, deadline_ms, on_role_reply);
    if (rc < 0)
        hf_probe_cancel(server);
    else
        record_query(server);
    return rc;
}

/* ---- the table ---- */

static void describe_replicas(const struct hf_router *router, char *dst, size_t room)
{
    hf_seeds_describe(router->seeds, "master among", dst, room);
}

static hf_status start_replicas(struct hf_router *router, struct hf_error *err)
{
    router->roles = hf_mem_new(router->mem, sizeof *router->roles);
    return router->roles ? HF_OK : hf_error_set(err, HF_E_NOMEM, "out of memory");
}

static void free_roles(struct hf_router *router)
{
    hf_mem_free(router->mem, router->roles, sizeof *router->roles);
}

static const struct hf_server *awaited_server(const struct hf_server *server)
{
    return server;
}

static void on_link_down(struct hf_server *server)
{
    state_of(server)->stayed_connected = false;
    if (server->serves_slots)
        hf_router_forget_map(server->router);
}

/* Another host may have been promoted meanwhile, and knows it. */
static void on_doubt(struct hf_server *server)
{
    if (!server->serves_slots)
        return;
    hf_router_forget_map(server->router);
    hf_discover_restart(server->router, NULL);
}

static enum hf_verdict classify_error_reply(struct hf_redirection *out, struct hf_resp_value reply)
{
    (void)out;
    if (hf_refusal_is(reply, "READONLY") || hf_refusal_is(reply, "MASTERDOWN"))
        return HF_VERDICT_DEMOTED;
    return hf_replace_may_help(reply) ? HF_VERDICT_RECONNECT : HF_VERDICT_RESULT;
}

const struct hf_topology hf_topology_replicas = {
    .queries_nodes = true,
    .collect_replies_ms = HOST_SILENT_MS,
    .is_choice_certain = is_choice_certain,
    .describe = describe_replicas,
    .start = start_replicas,
    .free_state = free_roles,
    .query_server = query_role,
    .explain_pending_query = explain_pending_query,
    .server_awaited = awaited_server,
    .on_unreached = on_unreached,
    .on_link_down = on_link_down,
    .on_doubt = on_doubt,
    .classify_error_reply = classify_error_reply,
};
