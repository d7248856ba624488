/* Rules about several servers: replicas, clusters, sentinels. */
/* Tests: tests/test_cli_doctor.c, tests/live/cli/test_doctor.c. */
#include <inttypes.h>
#include <string.h>

#include "cli/doctor/rules.h"
#include "net/base/url.h"

/* ---- replicas ---- */

static bool has_replicas(const struct doctor_rule_on_server *c)
{
    return doctor_replica_count(c->facts, c->server) > 0;
}

static bool waits_for_replicas(const struct doctor_rule_on_server *c)
{
    return c->facts->replicas != 0;
}

/* Replicas that no lock waits for. */
static bool measure_unconfirming_replicas(const struct doctor_rule_on_server *c, int64_t *out)
{
    int64_t count = doctor_replica_count(c->facts, c->server);

    *out = waits_for_replicas(c) ? 0 : count;
    return count > 0;
}

static bool has_failovers(const struct doctor_rule_on_server *c)
{
    return waits_for_replicas(c) && c->facts->topology != HF_STANDALONE;
}

/* Without sentinels, the URL also names the replicas that are not connected. */
static int64_t count_all_replicas(const struct doctor_rule_on_server *c)
{
    int64_t connected = doctor_replica_count(c->facts, c->server), named = 0;

    for (uint32_t i = 0; i < c->facts->servers_count; i++)
        named += c->facts->servers[i]->is_seed &&
            c->facts->servers[i]->role_said_by_others != SAID_MASTER;
    return c->facts->topology == HF_REPLICATED && named > connected ? named : connected;
}

/* A master that is being replaced may keep some of its replicas for a while: these
 * confirm its locks, and another replica becomes the master. */
static enum doctor_verdict test_waits_for_all_replicas(struct doctor_rule_on_server *c)
{
    int64_t count = count_all_replicas(c);
    int64_t wanted = c->facts->replicas;

    if (count == 0)
        return VERDICT_NONE;
    if (wanted == HF_REPLICAS_MAJORITY)
        wanted = (count + 1) / 2;
    if (wanted > 0 && wanted < count)
        return doctor_verdict_found(c, "%" PRId64 " of %" PRId64
                               " replicas must have a lock", wanted, count);
    return doctor_verdict_fine(c, "all replicas must have a lock");
}

/* Only a cluster reports replicas that are disconnected. */
static enum doctor_verdict test_counts_connected_replicas(struct doctor_rule_on_server *c)
{
    if (c->facts->replicas >= 0 || (c->facts->topology != HF_SENTINEL &&
                                    c->facts->topology != HF_REPLICATED))
        return VERDICT_NONE;
    return doctor_verdict_found(c, "replicas=%s counts only replicas that are connected",
                                c->facts->replicas == HF_REPLICAS_ALL ? "all"
                                                              : "majority");
}

/* How far a replica's clock is from its master's, for certain. */
static bool measure_clock_difference_ms(const struct doctor_rule_on_server *c, int64_t *out)
{
    const struct doctor_clock *a = &c->server->clock, *b;
    int64_t us;

    if (c->server->master_index < 0)
        return false;
    b = &c->facts->servers[c->server->master_index]->clock;
    us = a->ahead_us - b->ahead_us;
    us = (us < 0 ? -us : us) - (a->round_trip_us + b->round_trip_us) / 2;
    *out = us > 0 ? us / 1000 : 0;
    return a->is_known && b->is_known;
}

#define APART_MAX_MS 1000   /* clocks with NTP differ by less */

static bool measure_great_clock_difference_ms(const struct doctor_rule_on_server *c, int64_t *out)
{
    return measure_clock_difference_ms(c, out) && *out > doctor_renewal_interval_ms(c->facts);
}

static bool measure_small_clock_difference_ms(const struct doctor_rule_on_server *c, int64_t *out)
{
    return measure_clock_difference_ms(c, out) &&
           (*out <= APART_MAX_MS || *out <= doctor_renewal_interval_ms(c->facts));
}

/* ---- a cluster ---- */

static bool measure_uncovered_slots(const struct doctor_rule_on_server *c, int64_t *out)
{
    *out = HF_SLOTS - (int64_t)c->server->cluster_view.covered_slots;
    return c->server->cluster_view.is_known;
}

static bool measure_nodes_without_address(const struct doctor_rule_on_server *c, int64_t *out)
{
    *out = c->server->cluster_view.nodes_without_address;
    return c->server->cluster_view.is_known;
}

static bool has_slots(const struct doctor_server *s)
{
    for (size_t i = 0; i < sizeof s->cluster_view.claimed_slots; i++)
        if (s->cluster_view.claimed_slots[i])
            return true;
    return false;
}

static bool measure_replicas(const struct doctor_rule_on_server *c, int64_t *out)
{
    *out = doctor_replica_count(c->facts, c->server);
    return doctor_in_cluster(c) && has_slots(c->server);
}

/* The first slot that both take for their own; -1: none. */
static int slot_claimed_by_both(const struct doctor_server *a,
                                const struct doctor_server *b)
{
    for (int i = 0; i < HF_SLOTS; i++)
        if (a->cluster_view.claimed_slots[i / 8] & b->cluster_view.claimed_slots[i / 8] &
            1 << i % 8)
            return i;
    return -1;
}

static bool is_same_node(const struct doctor_server *a,
                         const struct doctor_server *b)
{
    return a == b ||
           (a->facts[FACT_ID] && b->facts[FACT_ID] &&
            strcmp(a->facts[FACT_ID], b->facts[FACT_ID]) == 0);
}

static enum doctor_verdict test_owns_slots_alone(struct doctor_rule_on_server *c)
{
    if (!c->server->cluster_view.is_known || !has_slots(c->server))
        return VERDICT_NONE;
    for (uint32_t i = 0; i < c->facts->servers_count; i++) {
        const struct doctor_server *other = c->facts->servers[i];
        int slot = is_same_node(c->server, other)
                       ? -1
                       : slot_claimed_by_both(c->server, other);

        if (slot >= 0)
            return doctor_verdict_found(c, "it and %s both serve slot %d",
                                        other->address, slot);
    }
    return doctor_verdict_fine(c, "no other node serves its slots");
}

static bool has_other_view(const struct doctor_server *a,
                           const struct doctor_server *b)
{
    int64_t x, y;

    if (a->cluster_view.is_known && b->cluster_view.is_known &&
        a->cluster_view.owners_digest != b->cluster_view.owners_digest)
        return true;
    return doctor_fact_number(a, FACT_EPOCH, &x) &&
           doctor_fact_number(b, FACT_EPOCH, &y) && x != y;
}

static enum doctor_verdict test_views_agree(struct doctor_rule_on_server *c)
{
    const struct doctor_facts *facts = c->facts;
    uint32_t first = 0;

    while (first < facts->servers_count && !facts->servers[first]->cluster_view.is_known)
        first++;
    for (uint32_t i = first; i < facts->servers_count; i++)
        if (has_other_view(facts->servers[first], facts->servers[i]))
            return doctor_verdict_found(c, "%s and %s disagree about the owner of slots, or "
                                   "about the epoch",
                                        facts->servers[first]->address,
                                        facts->servers[i]->address);
    return first < facts->servers_count ? doctor_verdict_fine(c, "all nodes agree")
                                : VERDICT_NONE;
}

static bool is_cluster(const struct doctor_rule_on_server *c)
{
    return c->facts->topology == HF_CLUSTER;
}

static bool measure_masters(const struct doctor_rule_on_server *c, int64_t *out)
{
    *out = 0;
    for (uint32_t i = 0; i < c->facts->servers_count; i++)
        *out += c->facts->servers[i]->role_said_by_others == SAID_MASTER;
    return is_cluster(c) && *out > 0;
}

/* ---- sharded messages ---- */

/* How many nodes know them, and how many do not. */
static void count_nodes_knowing_sharded(const struct doctor_facts *facts, unsigned *do_know,
                                        unsigned *do_not)
{
    *do_know = *do_not = 0;
    for (uint32_t i = 0; i < facts->servers_count; i++) {
        enum doctor_may is = facts->servers[i]->permissions[MAY_SHARDNUMSUB].permission;

        *do_know += is == MAY_PERMITTED;
        *do_not += is == MAY_UNKNOWN_COMMAND || is == MAY_OTHER_ERROR;
    }
}

static enum doctor_verdict test_sharded_channels(struct doctor_rule_on_server *c)
{
    int sharded = c->facts->sharded;
    unsigned do_know, do_not;

    count_nodes_knowing_sharded(c->facts, &do_know, &do_not);
    if (do_not > 0 && sharded == HF_SHARDED_ON)
        return doctor_verdict_found(c, "sharded=on; nodes that do not support sharded "
                               "channels: %u", do_not);
    if (do_know > 0 && do_not > 0 && sharded == HF_SHARDED_AUTO)
        return doctor_verdict_found(c, "nodes that support sharded channels: %u; that do not: %u",
                                    do_know, do_not);
    if (do_know + do_not == 0)
        return VERDICT_NONE;
    return doctor_verdict_fine(c, "notifications use %s",
                               doctor_is_sharded(c->facts) ? "SPUBLISH" : "PUBLISH");
}

static bool is_sharded_switched_off(const struct doctor_rule_on_server *c)
{
    unsigned do_know, do_not;

    count_nodes_knowing_sharded(c->facts, &do_know, &do_not);
    return is_cluster(c) && c->facts->sharded == HF_SHARDED_OFF && do_know > 0;
}

/* With sharded=on or off, the client does not check this. */
static bool is_sharded_not_checked(const struct doctor_rule_on_server *c)
{
    return c->facts->sharded != HF_SHARDED_ON &&
           c->facts->sharded != HF_SHARDED_OFF &&
           c->server->permissions[MAY_SHARDNUMSUB].permission == MAY_FORBIDDEN_COMMAND;
}

/* ---- sentinels ---- */

static enum doctor_verdict test_sentinels_agree(struct doctor_rule_on_server *c)
{
    const struct doctor_server *first = NULL;

    for (uint32_t i = 0; i < c->facts->servers_count; i++) {
        const struct doctor_server *one = c->facts->servers[i];

        if (!one->is_sentinel || !one->facts[FACT_MASTER])
            continue;
        if (first && !doctor_fact_is(one, FACT_MASTER, first->facts[FACT_MASTER]))
            return doctor_verdict_found(c, "%s says %s, %s says %s", first->address,
                                        first->facts[FACT_MASTER], one->address,
                                        one->facts[FACT_MASTER]);
        first = first ? first : one;
    }
    return first ? doctor_verdict_fine(c, "all report %s", first->facts[FACT_MASTER])
                 : VERDICT_NONE;
}

/* According to the sentinel that knows the most others. */
static bool measure_sentinels(const struct doctor_rule_on_server *c, int64_t *out)
{
    int64_t others;

    *out = 0;
    for (uint32_t i = 0; i < c->facts->servers_count; i++)
        if (doctor_fact_number(c->facts->servers[i], FACT_OTHER_SENTINELS,
                               &others) &&
            others + 1 > *out)
            *out = others + 1;
    return c->facts->topology == HF_SENTINEL && *out > 0;
}

static enum doctor_verdict test_sentinel_quorum(struct doctor_rule_on_server *c)
{
    const char *words = c->server->facts[FACT_CKQUORUM];
    int64_t quorum;

    if (c->server->permissions[MAY_SENTINEL_MASTER].permission != MAY_PERMITTED)
        return VERDICT_NONE;
    if (!words)
        return doctor_verdict_unseen(c, "SENTINEL CKQUORUM");
    if (strncmp(words, "OK", 2) != 0)
        return doctor_verdict_found(c, "%s", words);
    if (doctor_fact_number(c->server, FACT_QUORUM, &quorum) && quorum < 2)
        return doctor_verdict_found(c, "its quorum is %" PRId64, quorum);
    return doctor_verdict_fine(c, "%s", words);
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strncmp(host, "localhost", 9) == 0;
}

static enum doctor_verdict test_master_not_loopback(struct doctor_rule_on_server *c)
{
    const char *master = c->server->facts[FACT_MASTER];

    if (!master || is_loopback(c->server->host))
        return VERDICT_NONE;
    if (is_loopback(master) || strncmp(master, "[::1]", 5) == 0)
        return doctor_verdict_found(c, "it watches %s, a loopback address of its own machine",
                                    master);
    return doctor_verdict_fine(c, "it reports an address that other machines can reach");
}

static bool is_master_named_by_sentinel(const struct doctor_rule_on_server *c)
{
    return c->facts->topology == HF_SENTINEL &&
           c->server->role_said_by_others == SAID_MASTER;
}

static enum doctor_verdict test_named_master_role(struct doctor_rule_on_server *c)
{
    if (doctor_is_refused(c->server, MAY_ROLE))
        return doctor_verdict_found(c, "it refuses ROLE");
    if (!doctor_is_master(c->server))
        return doctor_verdict_found(c, "sentinels report it as the master, but its role is "
                               "%s",
                                    c->server->facts[FACT_ROLE]);
    return doctor_verdict_fine(c, "it is the master that sentinels report");
}

static const struct doctor_server *find_another_master(const struct doctor_rule_on_server *c)
{
    for (uint32_t i = 0; i < c->facts->servers_count; i++)
        if (c->facts->servers[i] != c->server &&
            c->facts->servers[i]->role_said_by_others == SAID_MASTER)
            return c->facts->servers[i];
    return NULL;
}

static enum doctor_verdict test_only_master(struct doctor_rule_on_server *c)
{
    const struct doctor_server *other = find_another_master(c);

    if (c->facts->topology == HF_SENTINEL && c->server->role_said_by_others != SAID_MASTER)
        return doctor_verdict_found(c, "it is a master, but sentinels report another");
    if (c->facts->topology != HF_REPLICATED)
        return VERDICT_NONE;
    return other ? doctor_verdict_found(c, "it is a master, and so is %s", other->address)
                 : doctor_verdict_fine(c, "it is the only master of the URL");
}

/* ---- hosts without sentinels ---- */

static enum doctor_verdict test_has_master(struct doctor_rule_on_server *c)
{
    bool is_any_seen = false;

    for (uint32_t i = 0; i < c->facts->servers_count; i++) {
        is_any_seen = is_any_seen || c->facts->servers[i]->role_said_by_others != SAID_NOTHING;
        if (c->facts->servers[i]->role_said_by_others == SAID_MASTER)
            return doctor_verdict_fine(c, "%s is a master", c->facts->servers[i]->address);
    }
    return is_any_seen ? doctor_verdict_found(c, "none of the hosts that answered is a master")
                       : doctor_verdict_unseen(c, "the roles (INFO)");
}

static bool is_replicated_topology(const struct doctor_rule_on_server *c)
{
    return c->facts->topology == HF_REPLICATED;
}

/* ---- all of it ---- */

static bool measure_unverified_tls(const struct doctor_rule_on_server *c, int64_t *out)
{
    *out = c->facts->is_unverified;
    return c->facts->is_tls;
}

static bool has_more_servers(const struct doctor_rule_on_server *c)
{
    return c->facts->has_more_servers;
}

/* ---- the table ---- */

/* A replica acknowledges once a second. */
#define LAG_MAX_S 2
/* From this number on, more than half remain when one fails. */
#define WAITS_FOR_MAJORITY 3

const struct doctor_rule doctor_rules_topology[] = {
    {"unacknowledged", DOCTOR_WARNING, SCOPE_MASTER, doctor_test_at_most,
     .measure = measure_unconfirming_replicas, .limit = 0,
     .fine_text = "locks wait for replicas",
     .found_text = "{} replica{s}, and no replicas= in the URL",
     .meaning = "a failover may lose a lock that was just acquired, and another client "
                "acquires it",
     .advice = "set replicas=N in the URL, where N is the number of its replicas"},
    {"replicas-part", DOCTOR_WARNING, SCOPE_MASTER, test_waits_for_all_replicas, has_failovers,
     .meaning = "a master that is being replaced may keep a replica that confirms its "
                "locks: a failover to another replica loses them",
     .advice = "set replicas=N in the URL, where N is the number of its replicas"},
    {"replicas-few", DOCTOR_UNSAFE, SCOPE_MASTER, doctor_test_at_least, waits_for_replicas,
     .fact = FACT_REPLICAS, .limit = LIMIT_REPLICAS,
     .found_text = "{} replicas are connected, {limit} must have a lock",
     .unseen_text = "how many replicas are connected",
     .meaning = "no lock can be acquired: too few replicas confirm it",
     .advice = "start the replicas, or require fewer"},
    {"replicas-connected", DOCTOR_NOTE, SCOPE_MASTER, test_counts_connected_replicas, has_replicas,
     .meaning = "a master that is being replaced has fewer of them, and may grant a "
                "lock that its successor does not have",
     .advice = "set replicas=N in the URL, where N is the number of its replicas"},
    {"replica-lag", DOCTOR_WARNING, SCOPE_MASTER, doctor_test_at_most,
     .fact = FACT_LAG, .limit = LAG_MAX_S,
     .fine_text = "its replicas keep up",
     .found_text = "a replica has not replied for {} s",
     .meaning = "a failover to it loses locks; with replicas= they cannot be acquired",
     .advice = "check that replica's machine and the network"},
    {"wait-denied", DOCTOR_UNSAFE, SCOPE_MASTER, doctor_test_permits, waits_for_replicas,
     .permissions = {MAY_WAIT},
     .meaning = "no lock can be acquired with replicas=",
     .advice = "permit it: +wait"},
    {"replica-link", DOCTOR_WARNING, SCOPE_REPLICA, doctor_test_equals,
     .fact = FACT_MASTER_LINK, .good_value = "up",
     .fine_text = "it follows its master",
     .found_text = "its connection to its master is {}",
     .unseen_text = "whether it has its master's data",
     .meaning = "a failover to it loses held locks",
     .advice = "check its log and the network"},
    {"replica-writable", DOCTOR_WARNING, SCOPE_REPLICA, doctor_test_equals,
     .fact = FACT_READ_ONLY, .good_value = "yes",
     .found_text = "replica-read-only is {}", .unseen_text = "replica-read-only",
     .meaning = "a lock that is acquired there does not exclude other clients",
     .advice = "set replica-read-only yes"},
    {"min-replicas", DOCTOR_NOTE, SCOPE_MASTER, doctor_test_at_least, has_replicas,
     .fact = FACT_MIN_REPLICAS, .limit = 1,
     .found_text = "min-replicas-to-write is {}", .unseen_text = "min-replicas-to-write",
     .meaning = "a master that is disconnected from its replicas continues to grant "
                "locks, until it notices that it was replaced",
     .advice = "set min-replicas-to-write 1 and min-replicas-max-lag 10 to "
               "shorten that"},
    {"clock-replica", DOCTOR_WARNING, SCOPE_REPLICA, doctor_test_at_most,
     .measure = measure_small_clock_difference_ms, .limit = APART_MAX_MS,
     .fine_text = "its clock equals its master's",
     .found_text = "its clock is {} ms off its master's",
     .meaning = "a TTL is copied as a point in time (since 7.0): after a "
                "failover leases end that much early or late",
     .advice = "synchronise all clocks by NTP"},
    {"clock-replica-far", DOCTOR_UNSAFE, SCOPE_REPLICA, doctor_test_always,
     .measure = measure_great_clock_difference_ms,
     .found_text = "its clock is {} ms off its master's, more than a third of the "
              "TTL",
     .meaning = "after a failover, a lease ends while its holder relies on it, or the "
                "lease of a dead holder stays",
     .advice = "synchronise all clocks by NTP"},
    {"map-denied", DOCTOR_UNSAFE, SCOPE_NODE, doctor_test_permits, doctor_in_cluster,
     .permissions = {MAY_CLUSTER_SLOTS},
     .meaning = "holdfast cannot find the node of a lock",
     .advice = "permit it: +cluster|slots +cluster|info"},
    {"cluster-state", DOCTOR_UNSAFE, SCOPE_NODE, doctor_test_equals, doctor_in_cluster,
     .fact = FACT_CLUSTER_STATE, .good_value = "ok",
     .found_text = "cluster_state is {}", .unseen_text = "cluster_state",
     .meaning = "it neither grants nor renews locks",
     .advice = "see CLUSTER INFO and CLUSTER NODES"},
    {"uncovered", DOCTOR_UNSAFE, SCOPE_NODE, doctor_test_at_most,
     .measure = measure_uncovered_slots, .limit = 0,
     .fine_text = "all slots have a node", .found_text = "{} slots have no node",
     .meaning = "locks in these slots cannot be acquired",
     .advice = "assign them (redis-cli --cluster fix), or restart their node"},
    {"no-address", DOCTOR_UNSAFE, SCOPE_NODE, doctor_test_at_most,
     .measure = measure_nodes_without_address, .limit = 0,
     .fine_text = "it reports an address of every node",
     .found_text = "it reports {} nodes without an address, or without a port of this kind",
     .meaning = "no client can connect to them",
     .advice = "set cluster-announce-ip, cluster-announce-hostname or "
               "cluster-announce-tls-port there"},
    {"two-owners", DOCTOR_UNSAFE, SCOPE_NODE, test_owns_slots_alone,
     .meaning = "both grant the same locks",
     .advice = "compare CLUSTER NODES of both; one is disconnected, or was configured "
               "manually"},
    {"views", DOCTOR_WARNING, SCOPE_WHOLE, test_views_agree, is_cluster,
     .meaning = "a failover or slot migration is in progress, or a node is "
                "disconnected; requests are redirected meanwhile",
     .advice = "run doctor again in a minute; then compare CLUSTER NODES of both"},
    {"failed-nodes", DOCTOR_WARNING, SCOPE_NODE, doctor_test_equals, doctor_in_cluster,
     .fact = FACT_FAILED_NODES, .good_value = "",
     .fine_text = "it reports no failed node",
     .found_text = "it reports these nodes as failed: {}",
     .meaning = "their slots have failed over, or are not served",
     .advice = "restart them, or remove them (CLUSTER FORGET)"},
    {"no-replica", DOCTOR_WARNING, SCOPE_MASTER, doctor_test_at_least,
     .measure = measure_replicas, .limit = 1,
     .fine_text = "it has a replica", .found_text = "no replica",
     .meaning = "if it fails, its locks are unavailable until it restarts",
     .advice = "add a replica"},
    {"few-masters", DOCTOR_WARNING, SCOPE_WHOLE, doctor_test_at_least,
     .measure = measure_masters, .limit = WAITS_FOR_MAJORITY,
     .found_text = "{} master{s}",
     .meaning = "without the failed master there is no majority, so no failover",
     .advice = "use three masters or more"},
    {"full-coverage", DOCTOR_NOTE, SCOPE_NODE, doctor_test_equals, doctor_in_cluster,
     .fact = FACT_FULL_COVERAGE, .good_value = "yes",
     .found_text = "cluster-require-full-coverage is {}",
     .unseen_text = "cluster-require-full-coverage",
     .meaning = "when slots are not served, only the locks of other slots are available",
     .advice = "nothing, if this is intended"},
    {"node-timeout", DOCTOR_WARNING, SCOPE_NODE, doctor_test_at_most, doctor_in_cluster,
     .fact = FACT_NODE_TIMEOUT, .limit = LIMIT_RENEWAL_MS,
     .fine_text = "cluster-node-timeout is {} ms",
     .found_text = "cluster-node-timeout is {} ms, a renewal every {beat} ms",
     .unseen_text = "cluster-node-timeout",
     .meaning = "a failover takes longer than the time between renewals, and holders "
                "may lose their locks",
     .advice = "use a TTL of more than three times that, or set a shorter "
               "cluster-node-timeout"},
    {"sharded", DOCTOR_UNSAFE, SCOPE_WHOLE, test_sharded_channels, is_cluster,
     .meaning = "a release deletes the lock and fails, or wakes no waiter",
     .advice = "use Redis 7 or Valkey on all nodes; until then, set sharded=off in "
               "every client"},
    {"sharded-off", DOCTOR_WARNING, SCOPE_WHOLE, doctor_test_always, is_sharded_switched_off,
     .found_text = "sharded=off, but the nodes support sharded channels",
     .meaning = "Redisson uses them by default: neither wakes the other's waiters, "
                "which wait until a TTL expires",
     .advice = "use sharded=auto, or set Redisson's shardedSubscriptionMode "
               "to OFF"},
    {"sharded-unseen", DOCTOR_WARNING, SCOPE_MASTER, doctor_test_answers,
     is_sharded_not_checked, .permissions = {MAY_SHARDNUMSUB},
     .found_text = "PUBSUB SHARDNUMSUB is refused: {words}",
     .meaning = "holdfast then uses plain channels; if other clients use sharded "
                "channels, neither wakes the other's waiters, which wait until a TTL "
                "expires",
     .advice = "permit +pubsub|shardnumsub, or set sharded=on"},
    {"sentinel-name", DOCTOR_UNSAFE, SCOPE_SENTINEL, doctor_test_answers,
     .permissions = {MAY_SENTINEL_MASTER},
     .fine_text = "it watches the master", .found_text = "SENTINEL MASTER: {words}",
     .unseen_text = "SENTINEL MASTER",
     .meaning = "holdfast cannot find the master through it",
     .advice = "check the name in the URL, and the sentinel's ACL"},
    {"sentinels-disagree", DOCTOR_UNSAFE, SCOPE_WHOLE, test_sentinels_agree,
     .meaning = "some clients acquire locks on one master, some on another",
     .advice = "if a failover is in progress, run doctor again in a minute; otherwise "
               "send SENTINEL RESET to the wrong ones"},
    {"few-sentinels", DOCTOR_WARNING, SCOPE_WHOLE, doctor_test_at_least,
     .measure = measure_sentinels, .limit = WAITS_FOR_MAJORITY,
     .found_text = "{} sentinel{s}",
     .meaning = "if one fails, there is no majority, so no failover",
     .advice = "use three sentinels or more, on separate machines"},
    {"quorum", DOCTOR_WARNING, SCOPE_SENTINEL, test_sentinel_quorum,
     .meaning = "a failover does not happen when it is needed, or happens when it is "
                "not",
     .advice = "start sentinels, or set the quorum to more than half of them"},
    {"down-after", DOCTOR_WARNING, SCOPE_SENTINEL, doctor_test_at_most,
     .fact = FACT_DOWN_AFTER, .limit = LIMIT_RENEWAL_MS,
     .fine_text = "down-after-milliseconds is {}",
     .found_text = "down-after-milliseconds is {}, a renewal every {beat} ms",
     .meaning = "a failover takes longer than the time between renewals, and holders "
                "may lose their locks",
     .advice = "use SENTINEL SET NAME down-after-milliseconds 5000, or a longer TTL"},
    {"loopback", DOCTOR_UNSAFE, SCOPE_SENTINEL, test_master_not_loopback,
     .meaning = "clients on other machines find no master, or another one",
     .advice = "let it watch an address that all machines can reach"},
    {"not-master", DOCTOR_UNSAFE, SCOPE_NODE, test_named_master_role, is_master_named_by_sentinel,
     .meaning = "no lock can be acquired until sentinels report the right master",
     .advice = "if a failover is in progress, run doctor again in a minute; permit "
               "+role"},
    {"two-masters", DOCTOR_UNSAFE, SCOPE_MASTER, test_only_master,
     .meaning = "clients that use one of them acquire locks that others hold",
     .advice = "make the old one a replica (REPLICAOF), not the one that clients use, which "
               "'holdfast -v' names; sentinels should do this within about 10 s"},
    {"no-master", DOCTOR_UNSAFE, SCOPE_WHOLE, test_has_master, is_replicated_topology,
     .meaning = "no lock can be acquired until one of them is",
     .advice = "add the master to the URL; if it is lost, promote a replica (REPLICAOF NO "
               "ONE), but not while the master may only be unreachable from here"},
    {"certificate", DOCTOR_WARNING, SCOPE_WHOLE, doctor_test_at_most,
     .measure = measure_unverified_tls, .limit = 0,
     .fine_text = "certificates are checked", .found_text = "tls_verify=no",
     .meaning = "an attacker between client and server can read and change everything, "
                "including locks",
     .advice = "use tls_ca=FILE instead of tls_verify=no"},
    {"many", DOCTOR_WARNING, SCOPE_WHOLE, doctor_test_always, has_more_servers,
     .limit = DOCTOR_SERVERS_MAX,
     .found_text = "there are more than {limit} servers; the others were not checked",
     .meaning = "problems of the others are not known",
     .advice = "check some of the nodes individually, with redis://"},
    {0},
};
