/* The judgements of `holdfast doctor`: scenes of facts, each a good one with
 * one thing wrong, the rule that must find it, and what it says it found; and
 * how answers are read. No server is asked. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/findings.h"
#include "cli/doctor/queries.h"
#include "net/base/url.h"
#include "tests/support/reply.h"
#include "tests/support/suite.h"

static struct doctor_facts facts;
static struct doctor_findings findings;

/* ---- a good server, a good cluster, good sentinels ---- */

static void set(struct doctor_server *s, enum doctor_fact fact,
                const char *text)
{
    free((char *)s->facts[fact]);
    s->facts[fact] = NULL;
    if (text)
        doctor_fact_set(s, fact, text, strlen(text));
}

static const struct {
    enum doctor_fact fact;
    const char *text;
} good[] = {
    {FACT_VERSION, "7.4.2"},      {FACT_CLUSTER_ENABLED, "0"},
    {FACT_LOADING, "0"},          {FACT_ROLE, "master"},
    {FACT_MASTER_LINK, "up"},     {FACT_REPLICAS, "0"},
    {FACT_USED_MEMORY, "1000000"},{FACT_MAXMEMORY, "100000000"},
    {FACT_POLICY, "noeviction"},  {FACT_AOF, "1"},
    {FACT_AOF_WRITE, "ok"},       {FACT_CLIENTS, "10"},
    {FACT_SAVE, ""},              {FACT_FSYNC, "always"},
    {FACT_MIN_REPLICAS, "1"},     {FACT_READ_ONLY, "yes"},
    {FACT_IDLE_TIMEOUT, "0"},     {FACT_KEEPALIVE, "300"},
    {FACT_BUSY_MS, "5000"},       {FACT_MAXCLIENTS, "10000"},
    {FACT_FULL_COVERAGE, "yes"},  {FACT_NODE_TIMEOUT, "5000"},
    {FACT_CLUSTER_STATE, "ok"},   {FACT_EPOCH, "7"},
    {FACT_FAILED_NODES, ""},
};

static struct doctor_server *add(uint16_t port)
{
    struct doctor_server *s = doctor_server_new(&facts, "10.0.0.1", port);

    s->is_reached = true;
    s->protocol = 3;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        set(s, good[i].fact, good[i].text);
    for (int i = 0; i < DOCTOR_PERMISSIONS; i++)
        s->permissions[i].permission = MAY_PERMITTED;
    s->clock = (struct doctor_clock){true, 1000, 500};
    return s;
}

static void lone(void)
{
    add(1)->is_seed = true;
}

/* Slots from the first to before the second. */
static void own(struct doctor_server *s, int from, int to)
{
    for (int i = from; i < to; i++)
        s->cluster_view.claimed_slots[i / 8] |= (uint8_t)(1 << i % 8);
}

static struct doctor_server *add_replica(uint16_t port, int master)
{
    struct doctor_server *s = add(port);

    s->role_said_by_others = SAID_REPLICA;
    s->master_index = master;
    set(s, FACT_ROLE, "slave");
    set(facts.servers[master], FACT_REPLICAS, "1");
    return s;
}

/* Masters 0 to 2, their replicas 3 to 5. */
static void cluster(void)
{
    char id[16];

    facts.topology = HF_CLUSTER;
    facts.replicas = 1;
    for (int i = 0; i < 3; i++) {
        struct doctor_server *s = add((uint16_t)(i + 1));

        s->role_said_by_others = SAID_MASTER;
        own(s, i * 5000, i == 2 ? HF_SLOTS : (i + 1) * 5000);
    }
    for (int i = 0; i < 3; i++)
        (void)add_replica((uint16_t)(i + 4), i);
    for (int i = 0; i < 6; i++) {
        (void)snprintf(id, sizeof id, "id%d", i);
        set(facts.servers[i], FACT_ID, id);
        set(facts.servers[i], FACT_CLUSTER_ENABLED, "1");
        facts.servers[i]->cluster_view.is_known = true;
        facts.servers[i]->cluster_view.owners_digest = 42;
        facts.servers[i]->cluster_view.covered_slots = HF_SLOTS;
    }
}

/* Master 0, its replica 1, sentinels 2 to 4. */
static void sentinels(void)
{
    facts.topology = HF_SENTINEL;
    facts.replicas = 1;
    add(1)->role_said_by_others = SAID_MASTER;
    (void)add_replica(2, 0);
    for (uint16_t i = 3; i < 6; i++) {
        struct doctor_server *s = add(i);

        s->is_sentinel = true;
        set(s, FACT_MASTER, "10.0.0.1:1");
        set(s, FACT_QUORUM, "2");
        set(s, FACT_OTHER_SENTINELS, "2");
        set(s, FACT_DOWN_AFTER, "5000");
        set(s, FACT_CKQUORUM, "OK 3 usable Sentinels");
    }
}

/* Master 0 and its replica 1, which the URL names. */
static void hosts(void)
{
    facts.topology = HF_REPLICATED;
    facts.replicas = 1;
    add(1)->role_said_by_others = SAID_MASTER;
    (void)add_replica(2, 0);
    for (uint32_t i = 0; i < facts.servers_count; i++)
        facts.servers[i]->is_seed = true;
}

static void begin(void)
{
    facts = (struct doctor_facts){.protocol = 3, .ttl_ms = 30000};
}

static void end(void)
{
    doctor_findings_fini(&findings);
    doctor_facts_fini(&facts);
}

/* ---- one thing wrong ---- */

static struct doctor_server *at(int i)
{
    return facts.servers[i];
}

static void gone(struct doctor_server *s)
{
    s->is_reached = false;
    (void)snprintf(s->connect_error, sizeof s->connect_error, "it is gone");
}

static void master_is_gone(void)
{
    gone(at(0));
}

static void replica_is_gone(void)
{
    gone(at(3));
}

static void sentinel_is_gone(void)
{
    gone(at(4));
}

static void writes_are_refused(void)
{
    at(0)->permissions[MAY_HSET].permission = MAY_OTHER_ERROR;
    (void)strcpy(at(0)->permissions[MAY_HSET].error_text, "OOM command not allowed");
}

static void keys_are_few(void)
{
    at(0)->permissions[MAY_EXISTS].permission = MAY_FORBIDDEN_KEY;
}

static void channels_are_few(void)
{
    at(0)->permissions[MAY_SUBSCRIBE].permission = MAY_FORBIDDEN_CHANNEL;
}
static void ping_is_denied(void)
{
    at(0)->permissions[MAY_PING].permission = MAY_FORBIDDEN_COMMAND;
}

static void resp2(void)
{
    at(0)->protocol = 2;
}

static void tracking_is_refused(void)
{
    facts.is_tracking = true;
    at(0)->permissions[MAY_TRACKING].permission = MAY_PERMITTED;
    at(0)->permissions[MAY_CACHING].permission = MAY_FORBIDDEN_COMMAND;
}

static void clock_is_off(void)
{
    at(0)->clock.ahead_us = -2000000;
}

static void no_acknowledgement(void)
{
    facts.replicas = 0;
}

static void two_are_asked_for(void)
{
    facts.replicas = 2;
}

static void all_are_asked_for(void)
{
    facts.replicas = HF_REPLICAS_ALL;
    set(at(1), FACT_REPLICAS, "0");
}
static void majority_is_asked_for(void)
{
    facts.replicas = HF_REPLICAS_MAJORITY;
    set(at(1), FACT_REPLICAS, "0");
}
static void there_are_two(void)
{
    set(at(0), FACT_REPLICAS, "2");
    facts.replicas = 1;
}
/* The master counts the other one. */
static void a_host_is_down(void)
{
    struct doctor_server *down = add(3);

    down->is_seed = true;
    down->is_reached = false;
    down->role_said_by_others = SAID_NOTHING;
}
static void majority_of_two_is_asked_for(void)
{
    set(at(0), FACT_REPLICAS, "2");
    facts.replicas = HF_REPLICAS_MAJORITY;
}
static void all_are_asked_of_sentinels(void)
{
    facts.replicas = HF_REPLICAS_ALL;
}
static void majority_is_asked_of_sentinels(void)
{
    facts.replicas = HF_REPLICAS_MAJORITY;
}

static void evalsha_is_renamed(void)
{
    at(0)->permissions[MAY_EVALSHA].permission = MAY_UNKNOWN_COMMAND;
}

static void wait_is_denied(void)
{
    at(0)->permissions[MAY_WAIT].permission = MAY_FORBIDDEN_COMMAND;
}

static void replica_clock_is_off(void)
{
    at(3)->clock.ahead_us = 5000000;
    at(0)->clock.ahead_us = 900000;
}
static void replica_clock_is_far_off(void)
{
    at(3)->clock.ahead_us = -10400000;
}

static void other_owner(void)
{
    own(at(1), 4999, 5000);
}

static void other_view(void)
{
    at(4)->cluster_view.owners_digest = 43;
}

static void other_epoch(void)
{
    set(at(5), FACT_EPOCH, "8");
}

static void slots_are_free(void)
{
    at(2)->cluster_view.covered_slots = HF_SLOTS - 1;
}

static void node_is_nowhere(void)
{
    at(2)->cluster_view.nodes_without_address = 1;
}

static void master_is_alone(void)
{
    at(5)->master_index = -1;
    set(at(2), FACT_REPLICAS, "0");
}

static void masters_are_two(void)
{
    at(2)->role_said_by_others = SAID_NOTHING;
}

static void one_knows_no_shards(void)
{
    at(2)->permissions[MAY_SHARDNUMSUB].permission = MAY_OTHER_ERROR;
}
static void sharded_is_forced(void)
{
    facts.sharded = HF_SHARDED_ON;
    for (int i = 0; i < 6; i++)
        at(i)->permissions[MAY_SHARDNUMSUB].permission = MAY_UNKNOWN_COMMAND;
}
static void shards_may_not_be_asked_for(void)
{
    for (int i = 0; i < 6; i++)
        at(i)->permissions[MAY_SHARDNUMSUB].permission = MAY_FORBIDDEN_COMMAND;
}
static void both_and_may_not_be_asked_for(void)
{
    shards_may_not_be_asked_for();
    facts.sharded = HF_SHARDED_BOTH;
}
static void both_and_may_not_publish_plainly(void)
{
    facts.sharded = HF_SHARDED_BOTH;
    at(1)->permissions[MAY_PUBLISH].permission = MAY_FORBIDDEN_COMMAND;
}
static void both_and_may_not_listen_plainly(void)
{
    facts.sharded = HF_SHARDED_BOTH;
    at(1)->permissions[MAY_SUBSCRIBE].permission = MAY_FORBIDDEN_COMMAND;
}

static void sharded_is_off(void)
{
    facts.sharded = HF_SHARDED_OFF;
}

static void undeclared_keys_are_refused(void)
{
    at(0)->permissions[MAY_DERIVE] = (struct doctor_answer){
        MAY_OTHER_ERROR, "ERR script tried accessing undeclared key, key: {x}:derived"};
}
static void name_is_unknown(void)
{
    at(2)->permissions[MAY_SENTINEL_MASTER].permission = MAY_OTHER_ERROR;
}
static void sentinels_are_two(void)
{
    for (int i = 2; i < 5; i++)
        set(at(i), FACT_OTHER_SENTINELS, "1");
}

static void role_is_denied(void)
{
    at(0)->permissions[MAY_ROLE].permission = MAY_FORBIDDEN_COMMAND;
}

static void master_is_none(void)
{
    set(at(0), FACT_ROLE, "slave");
}

static void replica_is_master(void)
{
    set(at(1), FACT_ROLE, "master");
}

static void host_is_master(void)
{
    set(at(1), FACT_ROLE, "master");
    at(1)->role_said_by_others = SAID_MASTER;
}
static void no_host_is_master(void)
{
    set(at(0), FACT_ROLE, "slave");
    at(0)->role_said_by_others = SAID_REPLICA;
}

static void all_hosts_count(void)
{
    facts.replicas = HF_REPLICAS_ALL;
}

static void anybody_is_believed(void)
{
    facts.is_tls = facts.is_unverified = true;
}

static void balancer_is_before_it(void)
{
    facts.servers[0]->leads_to_several = true;
}

static void list_is_cut(void)
{
    facts.has_more_servers = true;
}

static void plain_url_to_cluster(void)
{
    set(at(0), FACT_CLUSTER_ENABLED, "1");
}

/* Another fact of server `index`, a permission that is denied, or another
 * change. */
#define FACT(i, f, t) .index = i, .fact = f, .text = t
#define DENIED(d) .denied = d
#define DONE(f) .change = f
static const struct {
    void (*scene)(void);
    enum doctor_severity severity;
    const char *rule, *found;
    int index, fact;
    const char *text;
    int denied;
    void (*change)(void);
} wrongs[] = {
    {lone, DOCTOR_UNSAFE, "unreachable-master",
     "it is gone", DONE(master_is_gone)},
    {cluster, DOCTOR_UNSAFE, "unreachable-master",
     "it is gone", DONE(master_is_gone)},
    {cluster, DOCTOR_WARNING, "unreachable",
     "it is gone", DONE(replica_is_gone)},
    {sentinels, DOCTOR_WARNING, "unreachable",
     "it is gone", DONE(sentinel_is_gone)},
    {lone, DOCTOR_UNSAFE, "version-old",
     "Redis 2.6.17", FACT(0, FACT_VERSION, "2.6.17")},
    {lone, DOCTOR_WARNING, "forged-replies",
     "Valkey 8.0.1 has CVE-2025-67733, unless the package has the fix",
     FACT(0, FACT_VALKEY, "8.0.1")},
    {lone, DOCTOR_WARNING, "forged-replies",
     "Valkey 7.2.11 has CVE-2025-67733, unless the package has the fix",
     FACT(0, FACT_VALKEY, "7.2.11")},
    {lone, DOCTOR_WARNING, "forged-replies",
     "Valkey 9.0.2 has CVE-2025-67733, unless the package has the fix",
     FACT(0, FACT_VALKEY, "9.0.2")},
    {lone, DOCTOR_UNSAFE, "role",
     "its role is slave", FACT(0, FACT_ROLE, "slave")},
    {lone, DOCTOR_UNSAFE, "kind",
     "it is a cluster node, but the URL is not redis+cluster://",
     DONE(plain_url_to_cluster)},
    {cluster, DOCTOR_UNSAFE, "kind",
     "it is not a cluster node", FACT(2, FACT_CLUSTER_ENABLED, "0")},
    {lone, DOCTOR_WARNING, "loading",
     "it is loading its data", FACT(0, FACT_LOADING, "1")},
    {lone, DOCTOR_WARNING, "loading",
     "it is loading its data", FACT(0, FACT_ASYNC_LOADING, "1")},
    {lone, DOCTOR_UNSAFE, "refuses",
     "it refuses to write: OOM command not allowed", DONE(writes_are_refused)},
    {lone, DOCTOR_UNSAFE, "eviction",
     "maxmemory-policy is volatile-lru", FACT(0, FACT_POLICY, "volatile-lru")},
    {lone, DOCTOR_UNSAFE, "eviction",
     "maxmemory-policy is allkeys-lfu", FACT(0, FACT_POLICY, "allkeys-lfu")},
    {cluster, DOCTOR_UNSAFE, "eviction",
     "maxmemory-policy is allkeys-lru", FACT(4, FACT_POLICY, "allkeys-lru")},
    {lone, DOCTOR_WARNING, "memory",
     "85 of 95 MiB of maxmemory are used",
     FACT(0, FACT_USED_MEMORY, "90000000")},
    {lone, DOCTOR_WARNING, "persistence",
     "it keeps nothing on disk (appendonly no, save \"\")",
     FACT(0, FACT_AOF, "0")},
    {lone, DOCTOR_NOTE, "fsync",
     "appendfsync is everysec", FACT(0, FACT_FSYNC, "everysec")},
    {lone, DOCTOR_WARNING, "aof-write",
     "the last write to the AOF failed", FACT(0, FACT_AOF_WRITE, "err")},
    {lone, DOCTOR_UNSAFE, "evalsha-denied",
     "the ACL forbids EVALSHA", DENIED(MAY_EVALSHA)},
    {lone, DOCTOR_NOTE, "evalsha-missing",
     "the server has no EVALSHA (renamed?)", DONE(evalsha_is_renamed)},
    {lone, DOCTOR_UNSAFE, "eval-denied",
     "the ACL forbids EVAL", DENIED(MAY_EVAL)},
    {lone, DOCTOR_NOTE, "undeclared-keys",
     "scripts may use declared keys only", DONE(undeclared_keys_are_refused)},
    {lone, DOCTOR_UNSAFE, "calls-denied",
     "scripts may not call EXISTS", DENIED(MAY_EXISTS)},
    {lone, DOCTOR_UNSAFE, "calls-denied",
     "scripts may not call DEL", DENIED(MAY_DEL)},
    {lone, DOCTOR_UNSAFE, "calls-denied",
     "scripts may not call HLEN", DENIED(MAY_HLEN)},
    {lone, DOCTOR_WARNING, "publish-denied",
     "the ACL forbids PUBLISH", DENIED(MAY_PUBLISH)},
    {cluster, DOCTOR_WARNING, "publish-denied",
     "the ACL forbids SPUBLISH", DENIED(MAY_SPUBLISH)},
    {lone, DOCTOR_WARNING, "subscribe-denied",
     "the ACL forbids SUBSCRIBE", DENIED(MAY_SUBSCRIBE)},
    {cluster, DOCTOR_WARNING, "subscribe-denied",
     "the ACL forbids SSUBSCRIBE", DENIED(MAY_SSUBSCRIBE)},
    {lone, DOCTOR_NOTE, "kill-left-out",
     "the ACL forbids CLIENT KILL", DENIED(MAY_KILL)},
    {lone, DOCTOR_WARNING, "kill-denied",
     "the ACL forbids CLIENT ID", DENIED(MAY_CLIENT_ID)},
    {lone, DOCTOR_NOTE, "tracking-denied", "it refuses CLIENT CACHING",
     DONE(tracking_is_refused)},
    {lone, DOCTOR_NOTE, "labels-denied", "it refuses SET of the keys holdfast_label:*",
     DENIED(MAY_SET_LABEL)},
    {lone, DOCTOR_NOTE, "labels-denied", "it refuses GET of the keys holdfast_label:*",
     DENIED(MAY_GET_LABEL)},
    {lone, DOCTOR_NOTE, "hello-denied",
     "it speaks RESP2 (HELLO does not exist)", DONE(resp2)},
    {lone, DOCTOR_WARNING, "ping-denied",
     "the ACL forbids PING", DONE(ping_is_denied)},
    {lone, DOCTOR_UNSAFE, "keys",
     "the ACL's keys do not cover every name; they are: not visible",
     DONE(keys_are_few)},
    {lone, DOCTOR_WARNING, "channels",
     "the ACL's channels do not cover that of every name; they are: not "
     "visible", DONE(channels_are_few)},
    {lone, DOCTOR_WARNING, "idle-timeout",
     "timeout is 10 s, a renewal every 10000 ms",
     FACT(0, FACT_IDLE_TIMEOUT, "10")},
    {lone, DOCTOR_NOTE, "keepalive",
     "tcp-keepalive is 0", FACT(0, FACT_KEEPALIVE, "0")},
    {lone, DOCTOR_WARNING, "clients",
     "9000 of 10000 clients are connected", FACT(0, FACT_CLIENTS, "9000")},
    {lone, DOCTOR_NOTE, "busy",
     "busy-reply-threshold is 10001 ms", FACT(0, FACT_BUSY_MS, "10001")},
    {lone, DOCTOR_NOTE, "busy",
     "busy-reply-threshold is 0 ms", FACT(0, FACT_BUSY_MS, "0")},
    {lone, DOCTOR_WARNING, "clock",
     "its clock is 2000 ms behind ours", DONE(clock_is_off)},
    {lone, DOCTOR_WARNING, "unacknowledged",
     "2 replicas, and no replicas= in the URL", FACT(0, FACT_REPLICAS, "2")},
    {cluster, DOCTOR_WARNING, "unacknowledged",
     "1 replica, and no replicas= in the URL", DONE(no_acknowledgement)},
    {cluster, DOCTOR_UNSAFE, "replicas-few",
     "1 replicas are connected, 2 must have a lock", DONE(two_are_asked_for)},
    {cluster, DOCTOR_UNSAFE, "replicas-few",
     "0 replicas are connected, 1 must have a lock", DONE(all_are_asked_for)},
    {cluster, DOCTOR_UNSAFE, "replicas-few",
     "0 replicas are connected, 1 must have a lock",
     DONE(majority_is_asked_for)},
    {sentinels, DOCTOR_WARNING, "replicas-part",
     "1 of 2 replicas must have a lock", DONE(there_are_two)},
    {sentinels, DOCTOR_NOTE, "replicas-connected",
     "replicas=all counts only replicas that are connected",
     DONE(all_are_asked_of_sentinels)},
    {sentinels, DOCTOR_WARNING, "replicas-part",
     "1 of 2 replicas must have a lock", DONE(majority_of_two_is_asked_for)},
    {sentinels, DOCTOR_NOTE, "replicas-connected",
     "replicas=majority counts only replicas that are connected",
     DONE(majority_is_asked_of_sentinels)},
    {cluster, DOCTOR_WARNING, "replicas-part",
     "1 of 2 replicas must have a lock", DONE(there_are_two)},
    {cluster, DOCTOR_WARNING, "replicas-part",
     "1 of 2 replicas must have a lock", DONE(majority_of_two_is_asked_for)},
    {cluster, DOCTOR_WARNING, "replica-lag",
     "a replica has not replied for 3 s", FACT(0, FACT_LAG, "3")},
    {sentinels, DOCTOR_UNSAFE, "wait-denied",
     "the ACL forbids WAIT", DONE(wait_is_denied)},
    {sentinels, DOCTOR_WARNING, "replica-link",
     "its connection to its master is down", FACT(1, FACT_MASTER_LINK, "down")},
    {sentinels, DOCTOR_WARNING, "replica-writable",
     "replica-read-only is no", FACT(1, FACT_READ_ONLY, "no")},
    {sentinels, DOCTOR_NOTE, "min-replicas",
     "min-replicas-to-write is 0", FACT(0, FACT_MIN_REPLICAS, "0")},
    {cluster, DOCTOR_WARNING, "clock-replica",
     "its clock is 4099 ms off its master's", DONE(replica_clock_is_off)},
    {cluster, DOCTOR_UNSAFE, "clock-replica-far",
     "its clock is 10400 ms off its master's, more than a third of the TTL",
     DONE(replica_clock_is_far_off)},
    {cluster, DOCTOR_UNSAFE, "map-denied",
     "the ACL forbids CLUSTER SLOTS", DENIED(MAY_CLUSTER_SLOTS)},
    {cluster, DOCTOR_UNSAFE, "cluster-state",
     "cluster_state is fail", FACT(1, FACT_CLUSTER_STATE, "fail")},
    {cluster, DOCTOR_UNSAFE, "uncovered",
     "1 slots have no node", DONE(slots_are_free)},
    {cluster, DOCTOR_UNSAFE, "no-address",
     "it reports 1 nodes without an address, or without a port of this kind",
     DONE(node_is_nowhere)},
    {cluster, DOCTOR_UNSAFE, "two-owners",
     "it and 10.0.0.1:2 both serve slot 4999", DONE(other_owner)},
    {cluster, DOCTOR_WARNING, "views",
     "10.0.0.1:1 and 10.0.0.1:5 disagree about the owner of slots, or about the "
     "epoch", DONE(other_view)},
    {cluster, DOCTOR_WARNING, "views",
     "10.0.0.1:1 and 10.0.0.1:6 disagree about the owner of slots, or about the "
     "epoch", DONE(other_epoch)},
    {cluster, DOCTOR_WARNING, "failed-nodes",
     "it reports these nodes as failed: 10.0.0.1:9",
     FACT(1, FACT_FAILED_NODES, "10.0.0.1:9")},
    {cluster, DOCTOR_WARNING, "no-replica",
     "no replica", DONE(master_is_alone)},
    {cluster, DOCTOR_WARNING, "few-masters",
     "2 masters", DONE(masters_are_two)},
    {cluster, DOCTOR_NOTE, "full-coverage",
     "cluster-require-full-coverage is no", FACT(1, FACT_FULL_COVERAGE, "no")},
    {cluster, DOCTOR_WARNING, "node-timeout",
     "cluster-node-timeout is 15000 ms, a renewal every 10000 ms",
     FACT(1, FACT_NODE_TIMEOUT, "15000")},
    {cluster, DOCTOR_UNSAFE, "sharded",
     "nodes that support sharded channels: 5; that do not: 1", DONE(one_knows_no_shards)},
    {cluster, DOCTOR_UNSAFE, "sharded",
     "sharded=on; nodes that do not support sharded channels: 6",
     DONE(sharded_is_forced)},
    {cluster, DOCTOR_WARNING, "publish-denied",
     "the ACL forbids PUBLISH", DONE(both_and_may_not_publish_plainly)},
    {cluster, DOCTOR_WARNING, "subscribe-denied",
     "the ACL forbids SUBSCRIBE", DONE(both_and_may_not_listen_plainly)},
    {cluster, DOCTOR_WARNING, "sharded-off",
     "sharded=off, but the nodes support sharded channels", DONE(sharded_is_off)},
    {cluster, DOCTOR_WARNING, "sharded-unseen",
     "PUBSUB SHARDNUMSUB is refused: ", DONE(shards_may_not_be_asked_for)},
    {cluster, DOCTOR_WARNING, "sharded-unseen",
     "PUBSUB SHARDNUMSUB is refused: ", DONE(both_and_may_not_be_asked_for)},
    {sentinels, DOCTOR_UNSAFE, "sentinel-name",
     "SENTINEL MASTER: ", DONE(name_is_unknown)},
    {sentinels, DOCTOR_UNSAFE, "sentinels-disagree",
     "10.0.0.1:3 says 10.0.0.1:1, 10.0.0.1:4 says 10.0.0.1:2",
     FACT(3, FACT_MASTER, "10.0.0.1:2")},
    {sentinels, DOCTOR_WARNING, "few-sentinels",
     "2 sentinels", DONE(sentinels_are_two)},
    {sentinels, DOCTOR_WARNING, "quorum",
     "its quorum is 1", FACT(2, FACT_QUORUM, "1")},
    {sentinels, DOCTOR_WARNING, "quorum",
     "NOQUORUM 1 usable", FACT(2, FACT_CKQUORUM, "NOQUORUM 1 usable")},
    {sentinels, DOCTOR_WARNING, "down-after",
     "down-after-milliseconds is 30000, a renewal every 10000 ms",
     FACT(4, FACT_DOWN_AFTER, "30000")},
    {sentinels, DOCTOR_UNSAFE, "loopback",
     "it watches 127.0.0.1:1, a loopback address of its own machine",
     FACT(2, FACT_MASTER, "127.0.0.1:1")},
    {sentinels, DOCTOR_UNSAFE, "not-master",
     "it refuses ROLE", DONE(role_is_denied)},
    {sentinels, DOCTOR_UNSAFE, "not-master",
     "sentinels report it as the master, but its role is slave",
     DONE(master_is_none)},
    {sentinels, DOCTOR_UNSAFE, "two-masters",
     "it is a master, but sentinels report another",
     DONE(replica_is_master)},
    {hosts, DOCTOR_UNSAFE, "two-masters",
     "it is a master, and so is 10.0.0.1:2", DONE(host_is_master)},
    {lone, DOCTOR_WARNING, "several-servers",
     "connections to this address lead to different servers", DONE(balancer_is_before_it)},
    {hosts, DOCTOR_UNSAFE, "no-master",
     "none of the hosts that answered is a master", DONE(no_host_is_master)},
    {hosts, DOCTOR_WARNING, "replicas-part", "1 of 2 replicas must have a lock",
     DONE(a_host_is_down)},
    {hosts, DOCTOR_NOTE, "replicas-connected",
     "replicas=all counts only replicas that are connected", DONE(all_hosts_count)},
    {lone, DOCTOR_WARNING, "certificate",
     "tls_verify=no", DONE(anybody_is_believed)},
    {cluster, DOCTOR_WARNING, "many",
     "there are more than 256 servers; the others were not checked",
     DONE(list_is_cut)},
    {lone, DOCTOR_WARNING, "unseen",
     "could not check: maxmemory-policy", FACT(0, FACT_POLICY, NULL)},
    {lone, DOCTOR_NOTE, "unseen",
     "could not check: timeout", FACT(0, FACT_IDLE_TIMEOUT, NULL)},
};
#define WRONGS (sizeof wrongs / sizeof *wrongs)

static void go_wrong(int i)
{
    wrongs[i].scene();
    if (wrongs[i].change)
        wrongs[i].change();
    else if (wrongs[i].denied)
        at(0)->permissions[wrongs[i].denied].permission = MAY_FORBIDDEN_COMMAND;
    else
        set(at(wrongs[i].index), (enum doctor_fact)wrongs[i].fact,
            wrongs[i].text);
}

static const struct doctor_finding *find(const char *rule)
{
    for (uint32_t i = 0; i < findings.count; i++)
        if (findings.list[i].severity != DOCTOR_FINE &&
            strcmp(findings.list[i].rule_id, rule) == 0)
            return &findings.list[i];
    return NULL;
}

START_TEST(faults_are_found)
{
    const struct doctor_finding *f;

    go_wrong(_i);
    doctor_apply_rules(&facts, &findings);
    f = find(wrongs[_i].rule);
    ck_assert_msg(f != NULL, "%s", wrongs[_i].rule);
    ck_assert_int_eq(f->severity, wrongs[_i].severity);
    ck_assert_str_eq(f->text, wrongs[_i].found);
    ck_assert(f->meaning[0] && f->advice[0]);
}
END_TEST

static void (*const scenes[])(void) = {lone, cluster, sentinels};

START_TEST(correct_settings_pass)
{
    scenes[_i]();
    doctor_apply_rules(&facts, &findings);
    ck_assert_uint_gt(findings.count_by_severity[DOCTOR_FINE], 15);
    ck_assert_msg(findings.count_by_severity[DOCTOR_FINE] == findings.count, "%s: %s",
                  findings.list[0].rule_id, findings.list[0].text);
}
END_TEST

/* A rule that no scene breaks is one that may never find anything. */
START_TEST(every_rule_has_a_scene_and_a_name_of_its_own)
{
    static const struct doctor_rule *const tables[] = {doctor_rules_server,
                                                       doctor_rules_topology};
    const char *seen[128];
    size_t count = 0;

    for (size_t t = 0; t < 2; t++)
        for (const struct doctor_rule *r = tables[t]; r->id; r++) {
            size_t scene = 0;

            if (strcmp(r->id, "eviction-later") == 0)
                continue; /* two facts: a test of its own */
            while (scene < WRONGS && strcmp(wrongs[scene].rule, r->id) != 0)
                scene++;
            ck_assert_msg(scene < WRONGS, "%s has no scene", r->id);
            for (size_t i = 0; i < count; i++)
                ck_assert_str_ne(seen[i], r->id);
            seen[count++] = r->id;
        }
    ck_assert_uint_gt(count, 50);
}
END_TEST

/* In braces stands what rules.h knows. */
static bool has_known_parts(const char *text)
{
    static const char *const parts[] = {"{}", "{s}", "{limit}", "{beat}",
                                        "{words}"};

    for (text = text ? strchr(text, '{') : NULL; text;
         text = strchr(text + 1, '{')) {
        size_t i = 0;

        while (i < sizeof parts / sizeof *parts &&
               strncmp(text, parts[i], strlen(parts[i])) != 0)
            i++;
        if (i == sizeof parts / sizeof *parts)
            return false;
    }
    return true;
}

START_TEST(every_row_has_what_its_test_looks_at)
{
    const struct doctor_rule *r =
        _i == 0 ? doctor_rules_server : doctor_rules_topology;

    for (; r->id; r++) {
        bool is_number = r->test == doctor_test_at_least ||
                         r->test == doctor_test_at_most ||
                         r->test == doctor_test_within || r->test == doctor_test_outside;
        bool is_shared = is_number || r->test == doctor_test_equals ||
                         r->test == doctor_test_answers || r->test == doctor_test_always;

        ck_assert(r->test && r->meaning[0] && r->advice[0]);
        ck_assert_ptr_null(strstr(r->advice, "- ")); /* a broken word */
        ck_assert_msg(is_shared == (r->found_text != NULL), "%s", r->id);
        ck_assert(has_known_parts(r->fine_text) && has_known_parts(r->found_text));
        if (r->test == doctor_test_equals)
            ck_assert(r->fact && r->good_value);
        if (is_number)
            ck_assert_msg(!r->fact != !r->measure, "%s", r->id);
        if (r->test == doctor_test_permits || r->test == doctor_test_answers)
            ck_assert(r->permissions[0] != MAY_NONE);
        if (r->scope == SCOPE_WHOLE)
            ck_assert(!r->fact && !r->permissions[0]); /* there is no server */
    }
}
END_TEST

/* ---- borders ---- */

static bool finds(const char *rule)
{
    bool is_found;

    doctor_apply_rules(&facts, &findings);
    is_found = find(rule) != NULL;
    doctor_findings_fini(&findings);
    return is_found;
}

START_TEST(eviction_needs_a_limit)
{
    lone();
    set(at(0), FACT_POLICY, "allkeys-lru");
    ck_assert(finds("eviction") && !finds("eviction-later"));
    set(at(0), FACT_MAXMEMORY, "0");
    ck_assert(!finds("eviction") && finds("eviction-later"));
    set(at(0), FACT_MAXMEMORY, NULL);
    ck_assert(finds("eviction"));
}
END_TEST

START_TEST(fixed_versions_forge_nothing)
{
    static const char *const fixed[] = {"7.2.12", "8.0.7",  "8.1.6",
                                        "9.0.3",  "9.1.0", "10.0.0"};

    lone();
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        set(at(0), FACT_VALKEY, fixed[i]);
        ck_assert_msg(!finds("forged-replies"), "%s", fixed[i]);
    }
}
END_TEST

/* What the way there and back may account for is not the clock's. */
START_TEST(slow_network_is_no_wrong_clock)
{
    lone();
    at(0)->clock = (struct doctor_clock){true, 1400000, 1000000};
    ck_assert(!finds("clock"));
    at(0)->clock.ahead_us = 1600000;
    ck_assert(finds("clock"));
}
END_TEST

START_TEST(ttl_decides_how_long_is_too_long)
{
    cluster();
    replica_clock_is_far_off();
    set(at(1), FACT_NODE_TIMEOUT, "15000");
    ck_assert(finds("clock-replica-far") && finds("node-timeout"));
    facts.ttl_ms = 60000;
    ck_assert(!finds("clock-replica-far") && !finds("node-timeout"));
    ck_assert(finds("clock-replica"));
}
END_TEST

/* However short the TTL: nobody is told to set what is set. */
START_TEST(advice_differs_from_the_current_setting)
{
    const struct doctor_finding *f;

    cluster();
    facts.ttl_ms = 1000;
    set(at(1), FACT_NODE_TIMEOUT, "5000");
    doctor_apply_rules(&facts, &findings);
    f = find("node-timeout");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_null(strstr(f->advice, "5000"));
    doctor_findings_fini(&findings);
}
END_TEST

/* "they are: : a release .." */
START_TEST(empty_list_of_channels_permits_none)
{
    const struct doctor_finding *f;

    lone();
    channels_are_few();
    set(at(0), FACT_ACL_CHANNELS, "");
    doctor_apply_rules(&facts, &findings);
    f = find("channels");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(strstr(f->text, "they are: none"));
    doctor_findings_fini(&findings);
}
END_TEST

START_TEST(same_node_twice_is_not_two_owners)
{
    cluster();
    own(add(9), 0, 5000);
    set(at(6), FACT_ID, "id0");
    at(6)->cluster_view.is_known = true;
    ck_assert(!finds("two-owners"));
}
END_TEST

START_TEST(worst_comes_first)
{
    cluster();
    other_owner();
    set(at(0), FACT_FULL_COVERAGE, "no");
    set(at(5), FACT_READ_ONLY, "no");
    doctor_apply_rules(&facts, &findings);
    ck_assert_uint_eq(findings.count_by_severity[DOCTOR_UNSAFE], 2);
    for (uint32_t i = 1; i < findings.count; i++)
        ck_assert_int_le(findings.list[i].severity,
                         findings.list[i - 1].severity);
}
END_TEST

START_TEST(server_of_which_nothing_was_seen_is_judged)
{
    for (int topology = HF_STANDALONE; topology <= HF_REPLICATED; topology++) {
        struct doctor_server *s;

        begin();
        facts.topology = topology;
        s = doctor_server_new(&facts, "::1", 1);
        s->is_reached = true;
        ck_assert_str_eq(s->address, "[::1]:1");
        ck_assert(finds("unseen"));
        s->is_sentinel = true;
        (void)finds("unseen");
        doctor_facts_fini(&facts);
    }
}
END_TEST

/* ---- answers ---- */

/* As servers word it: Redis 6.0, 7.0, 7.4, and Valkey. */
static const struct {
    const char *error;
    int is;
} answers[] = {
    {"!'NOPERM this user has no permissions to run the 'eval' command or its "
     "subcommand'", MAY_FORBIDDEN_COMMAND},
    {"!'NOPERM User keychannel has no permissions to run the 'client|kill' "
     "command'", MAY_FORBIDDEN_COMMAND},
    {"!'NOPERM this user has no permissions to access one of the keys used as "
     "arguments'", MAY_FORBIDDEN_KEY},
    {"!'NOPERM No permissions to access a key'", MAY_FORBIDDEN_KEY},
    {"!'NOPERM No permissions to access a channel'", MAY_FORBIDDEN_CHANNEL},
    {"!'ERR unknown command `EVAL`, with args beginning with: '", MAY_UNKNOWN_COMMAND},
    {"!'ERR Unknown PUBSUB subcommand or wrong number of arguments for "
     "SHARDNUMSUB'", MAY_UNKNOWN_COMMAND},
    {"!'unsupported command 'EVALSHA''", MAY_UNKNOWN_COMMAND},
    {"!'ERR command 'EVALSHA' not support'", MAY_UNKNOWN_COMMAND},
    {"!'ERR handle request, command 'EVALSHA' is not allowed'", MAY_UNKNOWN_COMMAND},
    {"!'ERR unknown subcommand 'SHARDNUMSUB'. Try PUBSUB HELP.'", MAY_UNKNOWN_COMMAND},
    {"!'NOSCRIPT No matching script. Please use EVAL.'", MAY_PERMITTED},
    {"!'MOVED 1 127.0.0.1:1'", MAY_PERMITTED},
    {"!'ERR wrong number of arguments for 'hset' command'", MAY_PERMITTED},
    {"!'ERR value is not an integer or out of range'", MAY_PERMITTED},
    {"!'OOM command not allowed when used memory > maxmemory.'", MAY_OTHER_ERROR},
    {"!'MISCONF Errors writing to the AOF file'", MAY_OTHER_ERROR},
    {"+OK", MAY_PERMITTED},
    {"nil", MAY_PERMITTED},
};

/* An apostrophe ends a text of the notation: errors are written as RESP. */
static struct reply reply_to(const char *notation)
{
    char bytes[256];
    struct reply reply;
    size_t len = strlen(notation);

    if (notation[0] != '!')
        return reply_of(notation, 3);
    (void)snprintf(bytes, sizeof bytes, "-%.*s\r\n", (int)len - 3,
                   notation + 2);
    ck_assert(reply_of_bytes(&reply, bytes, strlen(bytes), 3));
    return reply;
}

START_TEST(answers_are_understood)
{
    struct reply reply = reply_to(answers[_i].error);

    ck_assert_int_eq(doctor_answer_read(reply.value).permission, answers[_i].is);
    reply_fini(&reply);
}
END_TEST

static const struct doctor_query *question(const char *words)
{
    for (size_t i = 0; i < doctor_query_count; i++)
        if (strcmp(doctor_queries[i].words, words) == 0)
            return &doctor_queries[i];
    ck_abort_msg("no question %s", words);
    return NULL;
}

static void answer(struct doctor_server *s, const char *words,
                   const char *notation, int protocol)
{
    struct reply reply = reply_of(notation, protocol);

    doctor_query_read(question(words), &facts, s, reply.value);
    reply_fini(&reply);
}

START_TEST(info_is_read)
{
    struct doctor_server *s = doctor_server_new(&facts, "h", 1);
    struct reply reply;
    static const char info[] =
        "# Server\r\nredis_version:7.0.15\r\nrun_id:x\r\n\r\n"
        "maxmemory_policy:allkeys-lru\r\nconnected_slaves:2\r\n"
        "slave0:ip=h,port=2,state=online,offset=5,lag=1\r\n"
        "slave1:ip=h,port=3,state=online,offset=5,lag=17\r\n"
        "slave2:ip=h,port=4,lag=\r\nrole:master";
    char bytes[512];

    (void)snprintf(bytes, sizeof bytes, "$%zu\r\n%s\r\n", strlen(info), info);
    ck_assert(reply_of_bytes(&reply, bytes, strlen(bytes), 2));
    doctor_query_read(question("INFO"), &facts, s, reply.value);
    reply_fini(&reply);
    ck_assert_str_eq(s->facts[FACT_VERSION], "7.0.15");
    ck_assert_str_eq(s->facts[FACT_POLICY], "allkeys-lru");
    ck_assert_str_eq(s->facts[FACT_LAG], "17");
    ck_assert(doctor_is_master(s));
}
END_TEST

START_TEST(settings_users_and_sentinels_are_read_in_both_protocols)
{
    struct doctor_server *s = doctor_server_new(&facts, "h", 1);

    s->is_sentinel = _i == 3;
    answer(s, "CONFIG GET timeout", "{'timeout' '7'}", _i);
    ck_assert_str_eq(s->facts[FACT_IDLE_TIMEOUT], "7");
    answer(s, "CONFIG GET tcp-keepalive", "{}", _i);
    ck_assert_ptr_null(s->facts[FACT_KEEPALIVE]);
    answer(s, "ACL GETUSER USER",
           _i == 2 ? "{'keys' ['a*' 'b*'] 'channels' ['*']}"
                   : "{'keys' 'a* b*' 'channels' '*'}", _i);
    ck_assert_str_eq(s->facts[FACT_ACL_KEYS], "a* b*");
    answer(s, "SENTINEL MASTER MASTER",
           "{'ip' '10.0.0.9' 'port' '7' 'quorum' '2'}", _i);
    ck_assert_str_eq(s->facts[FACT_MASTER], "10.0.0.9:7");
    ck_assert_str_eq(s->facts[FACT_QUORUM], "2");
    ck_assert_int_eq(facts.servers[1]->role_said_by_others, SAID_MASTER);
    answer(s, "SENTINEL REPLICAS MASTER",
           "[{'ip' '10.0.0.9' 'port' '8'} {'ip' '10.0.0.9' 'port' '99999'} 7]",
           _i);
    ck_assert_uint_eq(facts.servers_count, 3);
    ck_assert_int_eq(facts.servers[2]->role_said_by_others, SAID_REPLICA);
}
END_TEST

static const struct {
    const char *reply;
    int64_t us;                 /* -1: that is no time */
} times[] = {
    {"*2\r\n$10\r\n1790000000\r\n$6\r\n999999\r\n",
     INT64_C(1790000000999999)},
    {"*2\r\n$11\r\n95617584000\r\n$1\r\n0\r\n",
     INT64_C(95617584000000000)},
    {"*2\r\n$11\r\n95617584001\r\n$1\r\n0\r\n", -1},
    {"*2\r\n$19\r\n9223372036854775807\r\n$1\r\n0\r\n", -1},
    {"*2\r\n$20\r\n-9223372036854775808\r\n$1\r\n0\r\n", -1},
    {"*2\r\n$10\r\n1790000000\r\n$7\r\n1000000\r\n", -1},
    {"*2\r\n$1\r\nx\r\n$1\r\n0\r\n", -1},
    {"*2\r\n$0\r\n\r\n$1\r\n0\r\n", -1},
    {"*1\r\n$1\r\n1\r\n", -1},
    {"-ERR no\r\n", -1},
};

START_TEST(times_are_read_and_nothing_overflows)
{
    struct reply reply;
    int64_t us = -1;

    ck_assert(
        reply_of_bytes(&reply, times[_i].reply, strlen(times[_i].reply), 2));
    ck_assert(doctor_time_read(reply.value, &us) == (times[_i].us >= 0));
    if (times[_i].us >= 0)
        ck_assert_int_eq(us, times[_i].us);
    reply_fini(&reply);
}
END_TEST

START_TEST(failed_nodes_are_read)
{
    struct doctor_server *s = doctor_server_new(&facts, "h", 1);

    answer(s, "CLUSTER NODES",
           "'a 10.0.0.1:1@2 myself,master - 0 0 1 connected 0-5\n"
           "b 10.0.0.2:1@2,name slave,fail a 0 0 1 connected\n"
           "c 10.0.0.3:1@2 master,fail? - 0 0 1 connected\n"
           "d 10.0.0.4:1@2 failed - 0 0 1\n'", 3);
    ck_assert_str_eq(s->facts[FACT_FAILED_NODES], "10.0.0.2:1, 10.0.0.3:1");
}
END_TEST

/* What cannot be an answer leaves no trace, and no crash. */
START_TEST(odd_answers_are_nothing)
{
    static const char *const odd[] = {
        "nil", "7", "[]", "{}", "'x'", "[[[]]]", "['ip' 'h' 'port']",
        "[{'ip' '' 'port' '1'} {'ip' 7 'port' 8}]", "{'keys' [7 nil]}"};
    struct doctor_server *s = doctor_server_new(&facts, "h", 1);

    for (size_t q = 0; q < doctor_query_count; q++)
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
            struct reply reply = reply_of(odd[i], 2 + _i);

            doctor_query_read(&doctor_queries[q], &facts, s, reply.value);
            reply_fini(&reply);
        }
    ck_assert_uint_eq(facts.servers_count, 1);
    ck_assert_ptr_null(s->facts[FACT_VERSION]);
}
END_TEST

START_TEST(names_are_part_of_requests)
{
    const struct doctor_query_names names = {.key = "k y", .channel = "c",
                                             .unused_key = "s", .unused_channel = "sc",
                                             .user = "KEY", .master = "m"};
    struct hf_resp_arg argv[DOCTOR_WORDS_MAX];

    ck_assert_uint_eq(doctor_query_put_words(question("EXISTS KEY"), &names,
                                             argv), 2);
    ck_assert_uint_eq(argv[1].len, 3);
    ck_assert_uint_eq(doctor_query_put_words(question("SENTINEL MASTER MASTER"),
                                             &names, argv), 3);
    ck_assert_int_eq(memcmp(argv[1].ptr, "MASTER", 6), 0);
    ck_assert_uint_eq(argv[2].len, 1);
    for (size_t i = 0; i < doctor_query_count; i++)
        ck_assert_uint_le(doctor_query_put_words(&doctor_queries[i], &names,
                                                 argv), DOCTOR_WORDS_MAX);
}
END_TEST

START_TEST(channels_are_redissons)
{
    char *plain = doctor_channel("order:42"), *tagged = doctor_channel("a{b}c");

    ck_assert_str_eq(plain, "redisson_lock__channel:{order:42}");
    ck_assert_str_eq(tagged, "redisson_lock__channel:a{b}c");
    free(plain);
    free(tagged);
}
END_TEST

START_TEST(number_of_servers_is_limited)
{
    for (int i = 0; i <= DOCTOR_SERVERS_MAX; i++)
        (void)doctor_server_new(&facts, "h", (uint16_t)(i + 1));
    ck_assert_uint_eq(facts.servers_count, DOCTOR_SERVERS_MAX);
    ck_assert(facts.has_more_servers);
}
END_TEST

/* ---- all of it ---- */

static TCase *case_of(Suite *s, const char *name)
{
    TCase *c = tcase_create(name);

    tcase_add_checked_fixture(c, begin, end);
    suite_add_tcase(s, c);
    return c;
}

int main(void)
{
    Suite *s = suite_create("cli_doctor");
    TCase *c = case_of(s, "rules");

    tcase_add_loop_test(c, faults_are_found, 0, WRONGS);
    tcase_add_loop_test(c, correct_settings_pass, 0,
                        sizeof scenes / sizeof *scenes);
    tcase_add_test(c, every_rule_has_a_scene_and_a_name_of_its_own);
    tcase_add_loop_test(c, every_row_has_what_its_test_looks_at, 0, 2);
    tcase_add_test(c, eviction_needs_a_limit);
    tcase_add_test(c, fixed_versions_forge_nothing);
    tcase_add_test(c, slow_network_is_no_wrong_clock);
    tcase_add_test(c, ttl_decides_how_long_is_too_long);
    tcase_add_test(c, advice_differs_from_the_current_setting);
    tcase_add_test(c, empty_list_of_channels_permits_none);
    tcase_add_test(c, same_node_twice_is_not_two_owners);
    tcase_add_test(c, worst_comes_first);
    tcase_add_test(c, server_of_which_nothing_was_seen_is_judged);

    c = case_of(s, "answers");
    tcase_add_loop_test(c, answers_are_understood, 0,
                        sizeof answers / sizeof *answers);
    tcase_add_test(c, info_is_read);
    tcase_add_loop_test(c, times_are_read_and_nothing_overflows, 0,
                        sizeof times / sizeof *times);
    tcase_add_loop_test(
        c, settings_users_and_sentinels_are_read_in_both_protocols, 2, 4);
    tcase_add_test(c, failed_nodes_are_read);
    tcase_add_loop_test(c, odd_answers_are_nothing, 0, 2);
    tcase_add_test(c, names_are_part_of_requests);
    tcase_add_test(c, channels_are_redissons);
    tcase_add_test(c, number_of_servers_is_limited);

    return suite_run(s);
}
