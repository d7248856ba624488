/* Rules that look at how servers stand together: replicas, clusters,
 * sentinels. */
#include <inttypes.h>
#include <string.h>

#include "cli/doctor/rules.h"

/* ---- replicas ---- */

static enum doctor_verdict judge_acknowledged(const struct doctor_facts *facts,
                                              const struct doctor_server *s,
                                              struct doctor_found *found)
{
    int64_t count = doctor_replica_count(facts, s);

    if (count == 0)
        return VERDICT_NONE;
    if (facts->replicas != 0)
        return doctor_fine(found, "locks wait for replicas");
    return doctor_found(found, "%" PRId64 " replica%s, and no replicas= in the "
                        "URL", count, count == 1 ? "" : "s");
}

/* As routing counts them. */
static int64_t wanted_replicas(const struct doctor_facts *facts,
                               const struct doctor_server *master)
{
    int64_t known = doctor_replica_count(facts, master);

    if (facts->replicas == HF_REPLICAS_ALL)
        return known;
    return facts->replicas == HF_REPLICAS_MAJORITY ? (known + 1) / 2
                                                   : facts->replicas;
}

#define CONNECTED                                                             \
    "%" PRId64 " replicas are connected, %" PRId64 " must have a lock"

static enum doctor_verdict judge_few(const struct doctor_facts *facts,
                                     const struct doctor_server *s,
                                     struct doctor_found *found)
{
    int64_t wanted = wanted_replicas(facts, s), connected;

    if (facts->replicas == 0)
        return VERDICT_NONE;
    if (!doctor_number(s, FACT_REPLICAS, &connected))
        return doctor_unseen(found, "how many replicas are connected");
    if (connected < wanted)
        return doctor_found(found, CONNECTED, connected, wanted);
    return doctor_fine(found, CONNECTED, connected, wanted);
}

/* Replicas acknowledge once a second. */
#define LAG_MAX_S 2

static enum doctor_verdict judge_lag(const struct doctor_facts *facts,
                                     const struct doctor_server *s,
                                     struct doctor_found *found)
{
    int64_t lag_s;

    (void)facts;
    if (!doctor_number(s, FACT_LAG, &lag_s))
        return VERDICT_NONE;
    if (lag_s <= LAG_MAX_S)
        return doctor_fine(found, "its replicas keep up");
    return doctor_found(found, "a replica was not heard of for %" PRId64 " s",
                        lag_s);
}

static enum doctor_verdict judge_wait(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    if (facts->replicas == 0)
        return VERDICT_NONE;
    return doctor_may(s, MAY_WAIT, "WAIT", found);
}

static enum doctor_verdict judge_replica_link(const struct doctor_facts *facts,
                                              const struct doctor_server *s,
                                              struct doctor_found *found)
{
    (void)facts;
    if (!s->fact[FACT_MASTER_LINK])
        return doctor_unseen(found, "whether it has its master's data");
    if (doctor_is(s, FACT_MASTER_LINK, "up"))
        return doctor_fine(found, "it follows its master");
    return doctor_found(found, "its connection to its master is %s",
                        s->fact[FACT_MASTER_LINK]);
}

static enum doctor_verdict judge_read_only(const struct doctor_facts *facts,
                                           const struct doctor_server *s,
                                           struct doctor_found *found)
{
    (void)facts;
    if (!s->fact[FACT_READ_ONLY])
        return doctor_unseen(found, "replica-read-only");
    if (doctor_is(s, FACT_READ_ONLY, "yes"))
        return doctor_fine(found, "replica-read-only is yes");
    return doctor_found(found, "replica-read-only is %s",
                        s->fact[FACT_READ_ONLY]);
}

static enum doctor_verdict judge_min_replicas(const struct doctor_facts *facts,
                                              const struct doctor_server *s,
                                              struct doctor_found *found)
{
    int64_t least;

    if (doctor_replica_count(facts, s) == 0)
        return VERDICT_NONE;
    if (!doctor_number(s, FACT_MIN_REPLICAS, &least))
        return doctor_unseen(found, "min-replicas-to-write");
    if (least > 0)
        return doctor_fine(found, "min-replicas-to-write is %" PRId64, least);
    return doctor_found(found, "min-replicas-to-write is 0");
}

/* How far a replica's clock is from its master's, for certain. -1: not
 * known. */
static int64_t apart_us(const struct doctor_facts *facts,
                        const struct doctor_server *replica)
{
    const struct doctor_clock *a = &replica->clock, *b;
    int64_t us;

    if (replica->master < 0)
        return -1;
    b = &facts->servers[replica->master]->clock;
    if (!a->is_known || !b->is_known)
        return -1;
    us = a->ahead_us - b->ahead_us;
    us = (us < 0 ? -us : us) - (a->round_trip_us + b->round_trip_us) / 2;
    return us > 0 ? us : 0;
}

static enum doctor_verdict judge_apart(const struct doctor_facts *facts,
                                       const struct doctor_server *s,
                                       struct doctor_found *found)
{
    int64_t ms = apart_us(facts, s) / 1000;

    if (apart_us(facts, s) < 0)
        return VERDICT_NONE;
    if (ms > 1000 && ms <= doctor_beat_ms(facts))
        return doctor_found(found, "its clock is %" PRId64 " ms off its "
                            "master's", ms);
    return ms <= 1000 ? doctor_fine(found, "its clock is its master's")
                      : VERDICT_NONE;
}

static enum doctor_verdict judge_far_apart(const struct doctor_facts *facts,
                                           const struct doctor_server *s,
                                           struct doctor_found *found)
{
    int64_t ms = apart_us(facts, s) / 1000;

    if (ms <= doctor_beat_ms(facts))
        return VERDICT_NONE;
    return doctor_found(found, "its clock is %" PRId64 " ms off its master's, "
                        "more than a third of the TTL", ms);
}

/* ---- a cluster ---- */

static bool is_cluster(const struct doctor_facts *facts)
{
    return facts->topology == HF_CLUSTER;
}

/* One that is no node of a cluster is told so by another rule. */
static bool is_node(const struct doctor_facts *facts,
                    const struct doctor_server *s)
{
    return is_cluster(facts) && !doctor_is(s, FACT_CLUSTER_ENABLED, "0");
}

static bool has_slots(const struct doctor_server *s)
{
    for (size_t i = 0; i < sizeof s->view.own; i++)
        if (s->view.own[i])
            return true;
    return false;
}

static enum doctor_verdict judge_map(const struct doctor_facts *facts,
                                     const struct doctor_server *s,
                                     struct doctor_found *found)
{
    if (!is_node(facts, s))
        return VERDICT_NONE;
    return doctor_may(s, MAY_CLUSTER_SLOTS, "CLUSTER SLOTS", found);
}

static enum doctor_verdict judge_cluster_state(const struct doctor_facts *facts,
                                               const struct doctor_server *s,
                                               struct doctor_found *found)
{
    if (!is_node(facts, s))
        return VERDICT_NONE;
    if (!s->fact[FACT_CLUSTER_STATE])
        return doctor_unseen(found, "cluster_state");
    if (doctor_is(s, FACT_CLUSTER_STATE, "ok"))
        return doctor_fine(found, "cluster_state is ok");
    return doctor_found(found, "cluster_state is %s",
                        s->fact[FACT_CLUSTER_STATE]);
}

static enum doctor_verdict judge_covered(const struct doctor_facts *facts,
                                         const struct doctor_server *s,
                                         struct doctor_found *found)
{
    (void)facts;
    if (!s->view.is_known)
        return VERDICT_NONE;
    if (s->view.covered < HF_SLOTS)
        return doctor_found(found, "%u slots have no node",
                            HF_SLOTS - (unsigned)s->view.covered);
    return doctor_fine(found, "all slots have a node");
}

static enum doctor_verdict judge_nowhere(const struct doctor_facts *facts,
                                         const struct doctor_server *s,
                                         struct doctor_found *found)
{
    (void)facts;
    if (!s->view.is_known)
        return VERDICT_NONE;
    if (s->view.nowhere > 0)
        return doctor_found(found, "it names %u nodes without an address, or "
                                   "without a port of this kind",
                            (unsigned)s->view.nowhere);
    return doctor_fine(found, "it names an address of every node");
}

/* The first slot that both take for their own; -1: none. */
static int claimed_by_both(const struct doctor_server *a,
                           const struct doctor_server *b)
{
    for (int i = 0; i < HF_SLOTS; i++)
        if (a->view.own[i / 8] & b->view.own[i / 8] & 1 << i % 8)
            return i;
    return -1;
}

static bool is_same_node(const struct doctor_server *a,
                         const struct doctor_server *b)
{
    return a->fact[FACT_ID] && b->fact[FACT_ID] &&
           strcmp(a->fact[FACT_ID], b->fact[FACT_ID]) == 0;
}

static enum doctor_verdict judge_claims(const struct doctor_facts *facts,
                                        const struct doctor_server *s,
                                        struct doctor_found *found)
{
    if (!s->view.is_known || !has_slots(s))
        return VERDICT_NONE;
    for (uint32_t i = 0; i < facts->count; i++) {
        const struct doctor_server *other = facts->servers[i];
        int slot;

        if (other == s || is_same_node(s, other) ||
            (slot = claimed_by_both(s, other)) < 0)
            continue;
        return doctor_found(found, "it and %s both serve slot %d",
                            other->address, slot);
    }
    return doctor_fine(found, "nobody else serves its slots");
}

static bool sees_otherwise(const struct doctor_server *a,
                           const struct doctor_server *b)
{
    int64_t x, y;

    if (a->view.is_known && b->view.is_known &&
        a->view.digest != b->view.digest)
        return true;
    return doctor_number(a, FACT_EPOCH, &x) &&
           doctor_number(b, FACT_EPOCH, &y) && x != y;
}

static enum doctor_verdict judge_views(const struct doctor_facts *facts,
                                       const struct doctor_server *s,
                                       struct doctor_found *found)
{
    (void)s;
    uint32_t first = 0;

    if (!is_cluster(facts))
        return VERDICT_NONE;
    while (first < facts->count && !facts->servers[first]->view.is_known)
        first++;
    for (uint32_t i = first; i < facts->count; i++)
        if (sees_otherwise(facts->servers[first], facts->servers[i]))
            return doctor_found(found, "%s and %s do not agree on who serves "
                                       "what, or on the epoch",
                                facts->servers[first]->address,
                                facts->servers[i]->address);
    return first < facts->count ? doctor_fine(found, "all nodes agree")
                                : VERDICT_NONE;
}

static enum doctor_verdict judge_failed(const struct doctor_facts *facts,
                                        const struct doctor_server *s,
                                        struct doctor_found *found)
{
    if (!is_node(facts, s) || !s->fact[FACT_FAILED_NODES])
        return VERDICT_NONE;
    if (s->fact[FACT_FAILED_NODES][0])
        return doctor_found(found, "it takes these for failed: %s",
                            s->fact[FACT_FAILED_NODES]);
    return doctor_fine(found, "it takes no node for failed");
}

static enum doctor_verdict judge_alone(const struct doctor_facts *facts,
                                       const struct doctor_server *s,
                                       struct doctor_found *found)
{
    if (!is_node(facts, s) || !has_slots(s))
        return VERDICT_NONE;
    if (doctor_replica_count(facts, s) == 0)
        return doctor_found(found, "no replica");
    return doctor_fine(found, "it has a replica");
}

static enum doctor_verdict judge_masters(const struct doctor_facts *facts,
                                         const struct doctor_server *s,
                                         struct doctor_found *found)
{
    unsigned masters = 0;

    (void)s;
    if (!is_cluster(facts))
        return VERDICT_NONE;
    for (uint32_t i = 0; i < facts->count; i++)
        masters += facts->servers[i]->said == SAID_MASTER;
    if (masters == 0)
        return VERDICT_NONE;
    if (masters < 3)
        return doctor_found(found, "%u master%s", masters,
                            masters == 1 ? "" : "s");
    return doctor_fine(found, "%u masters", masters);
}

static enum doctor_verdict judge_coverage(const struct doctor_facts *facts,
                                          const struct doctor_server *s,
                                          struct doctor_found *found)
{
    if (!is_node(facts, s))
        return VERDICT_NONE;
    if (!s->fact[FACT_FULL_COVERAGE])
        return doctor_unseen(found, "cluster-require-full-coverage");
    if (doctor_is(s, FACT_FULL_COVERAGE, "yes"))
        return doctor_fine(found, "cluster-require-full-coverage is yes");
    return doctor_found(found, "cluster-require-full-coverage is %s",
                        s->fact[FACT_FULL_COVERAGE]);
}

static enum doctor_verdict judge_node_timeout(const struct doctor_facts *facts,
                                              const struct doctor_server *s,
                                              struct doctor_found *found)
{
    int64_t ms;

    if (!is_node(facts, s))
        return VERDICT_NONE;
    if (!doctor_number(s, FACT_NODE_TIMEOUT, &ms))
        return doctor_unseen(found, "cluster-node-timeout");
    if (ms <= doctor_beat_ms(facts))
        return doctor_fine(found, "cluster-node-timeout is %" PRId64 " ms", ms);
    return doctor_found(found, "cluster-node-timeout is %" PRId64 " ms, a "
                        "renewal every %" PRId64 " ms", ms,
                        doctor_beat_ms(facts));
}

/* How many nodes know sharded messages, and how many do not. */
static void count_sharded(const struct doctor_facts *facts, unsigned *do_know,
                          unsigned *do_not)
{
    *do_know = *do_not = 0;
    for (uint32_t i = 0; i < facts->count; i++) {
        int is = facts->servers[i]->may[MAY_SHARDNUMSUB].is;

        *do_know += is == MAY_DO;
        *do_not += is == MAY_UNKNOWN || is == MAY_REFUSED;
    }
}

static enum doctor_verdict judge_sharded(const struct doctor_facts *facts,
                                         const struct doctor_server *s,
                                         struct doctor_found *found)
{
    unsigned do_know, do_not;

    (void)s;
    if (!is_cluster(facts))
        return VERDICT_NONE;
    count_sharded(facts, &do_know, &do_not);
    if (do_not > 0 && facts->sharded == HF_SHARDED_ON)
        return doctor_found(found, "sharded=on, and %u nodes know no sharded "
                                   "messages", do_not);
    if (do_know > 0 && do_not > 0 && facts->sharded == HF_SHARDED_AUTO)
        return doctor_found(found, "%u nodes know sharded messages, %u do not",
                            do_know, do_not);
    if (do_know + do_not == 0)
        return VERDICT_NONE;
    return doctor_fine(found, "messages go by %s",
                       doctor_is_sharded(facts) ? "SPUBLISH" : "PUBLISH");
}

static enum doctor_verdict judge_sharded_off(const struct doctor_facts *facts,
                                             const struct doctor_server *s,
                                             struct doctor_found *found)
{
    unsigned do_know, do_not;

    (void)s;
    if (!is_cluster(facts) || facts->sharded != HF_SHARDED_OFF)
        return VERDICT_NONE;
    count_sharded(facts, &do_know, &do_not);
    if (do_know == 0)
        return VERDICT_NONE;
    return doctor_found(found, "sharded=off, and the nodes know sharded "
                               "messages");
}

static enum doctor_verdict judge_sharded_unseen(const struct doctor_facts *facts,
                                                const struct doctor_server *s,
                                                struct doctor_found *found)
{
    const struct doctor_answer *may = &s->may[MAY_SHARDNUMSUB];

    if (facts->sharded == HF_SHARDED_ON || facts->sharded == HF_SHARDED_OFF ||
        may->is != MAY_NO_COMMAND)
        return VERDICT_NONE;
    return doctor_found(found, "PUBSUB SHARDNUMSUB is refused: %s", may->words);
}

/* ---- sentinels ---- */

static enum doctor_verdict judge_name(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    const struct doctor_answer *may = &s->may[MAY_SENTINEL_MASTER];

    (void)facts;
    if (may->is == MAY_NOT_SEEN)
        return doctor_unseen(found, "SENTINEL MASTER");
    if (may->is != MAY_DO)
        return doctor_found(found, "SENTINEL MASTER: %s", may->words);
    return doctor_fine(found, "it watches the master");
}

static enum doctor_verdict judge_masters_agree(const struct doctor_facts *facts,
                                               const struct doctor_server *s,
                                               struct doctor_found *found)
{
    const struct doctor_server *first = NULL;

    (void)s;
    for (uint32_t i = 0; i < facts->count; i++) {
        const struct doctor_server *one = facts->servers[i];

        if (!one->is_sentinel || !one->fact[FACT_MASTER])
            continue;
        if (first && !doctor_is(one, FACT_MASTER, first->fact[FACT_MASTER]))
            return doctor_found(found, "%s says %s, %s says %s", first->address,
                                first->fact[FACT_MASTER], one->address,
                                one->fact[FACT_MASTER]);
        first = first ? first : one;
    }
    return first ? doctor_fine(found, "all name %s", first->fact[FACT_MASTER])
                 : VERDICT_NONE;
}

static enum doctor_verdict judge_count(const struct doctor_facts *facts,
                                       const struct doctor_server *s,
                                       struct doctor_found *found)
{
    int64_t most = 0, others;

    (void)s;
    if (facts->topology != HF_SENTINEL)
        return VERDICT_NONE;
    for (uint32_t i = 0; i < facts->count; i++)
        if (doctor_number(facts->servers[i], FACT_OTHER_SENTINELS, &others) &&
            others + 1 > most)
            most = others + 1;
    if (most == 0)
        return VERDICT_NONE;
    if (most < 3)
        return doctor_found(found, "%" PRId64 " sentinel%s", most,
                            most == 1 ? "" : "s");
    return doctor_fine(found, "%" PRId64 " sentinels", most);
}

static enum doctor_verdict judge_quorum(const struct doctor_facts *facts,
                                        const struct doctor_server *s,
                                        struct doctor_found *found)
{
    const char *words = s->fact[FACT_CKQUORUM];
    int64_t quorum;

    (void)facts;
    if (s->may[MAY_SENTINEL_MASTER].is != MAY_DO)
        return VERDICT_NONE;
    if (!words)
        return doctor_unseen(found, "SENTINEL CKQUORUM");
    if (strncmp(words, "OK", 2) != 0)
        return doctor_found(found, "%s", words);
    if (doctor_number(s, FACT_QUORUM, &quorum) && quorum < 2)
        return doctor_found(found, "its quorum is %" PRId64, quorum);
    return doctor_fine(found, "%s", words);
}

static enum doctor_verdict judge_down_after(const struct doctor_facts *facts,
                                            const struct doctor_server *s,
                                            struct doctor_found *found)
{
    int64_t ms;

    if (!doctor_number(s, FACT_DOWN_AFTER, &ms))
        return VERDICT_NONE;
    if (ms <= doctor_beat_ms(facts))
        return doctor_fine(found, "down-after-milliseconds is %" PRId64, ms);
    return doctor_found(found, "down-after-milliseconds is %" PRId64 ", a "
                        "renewal every %" PRId64 " ms", ms,
                        doctor_beat_ms(facts));
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strncmp(host, "localhost", 9) == 0;
}

static enum doctor_verdict judge_loopback(const struct doctor_facts *facts,
                                          const struct doctor_server *s,
                                          struct doctor_found *found)
{
    const char *master = s->fact[FACT_MASTER];

    (void)facts;
    if (!master || is_loopback(s->host))
        return VERDICT_NONE;
    if (is_loopback(master) || strncmp(master, "[::1]", 5) == 0)
        return doctor_found(found, "it watches %s, its own machine's loopback",
                            master);
    return doctor_fine(found, "it names an address that others can reach");
}

static enum doctor_verdict judge_true_master(const struct doctor_facts *facts,
                                             const struct doctor_server *s,
                                             struct doctor_found *found)
{
    if (facts->topology != HF_SENTINEL || s->said != SAID_MASTER)
        return VERDICT_NONE;
    if (s->may[MAY_ROLE].is == MAY_NO_COMMAND ||
        s->may[MAY_ROLE].is == MAY_UNKNOWN)
        return doctor_found(found, "it does not answer ROLE");
    if (!doctor_is_master(s))
        return doctor_found(found, "sentinels name it the master, and its role "
                                   "is %s", s->fact[FACT_ROLE]);
    return doctor_fine(found, "it is the master, as sentinels say");
}

static enum doctor_verdict judge_two_masters(const struct doctor_facts *facts,
                                             const struct doctor_server *s,
                                             struct doctor_found *found)
{
    if (facts->topology != HF_SENTINEL || s->said == SAID_MASTER)
        return VERDICT_NONE;
    return doctor_found(found, "it takes itself for a master, and sentinels "
                               "name another");
}

/* ---- all of it ---- */

static enum doctor_verdict judge_certificate(const struct doctor_facts *facts,
                                             const struct doctor_server *s,
                                             struct doctor_found *found)
{
    (void)s;
    if (!facts->is_tls)
        return VERDICT_NONE;
    if (facts->is_unverified)
        return doctor_found(found, "tls_verify=no");
    return doctor_fine(found, "certificates are checked");
}

static enum doctor_verdict judge_size(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    (void)s;
    if (!facts->is_cut)
        return VERDICT_NONE;
    return doctor_found(found,
                        "there are more than %d servers; the others were not "
                        "looked at",
                        DOCTOR_SERVERS_MAX);
}

/* ---- the table ---- */

const struct doctor_rule doctor_rules_topology[] = {
    {"unacknowledged", DOCTOR_WARNING, OF_MASTER, judge_acknowledged,
     "a failover may forget a lock that was just taken, and another "
     "takes it",
     "give replicas=majority (or a number) in the URL"},
    {"replicas-few", DOCTOR_UNSAFE, OF_MASTER, judge_few,
     "every lock is given back again: too few replicas have it",
     "start the replicas, or ask for fewer"},
    {"replica-lag", DOCTOR_WARNING, OF_MASTER, judge_lag,
     "a failover to it forgets locks; with replicas= they are given back",
     "see to that replica's machine and the network"},
    {"wait-denied", DOCTOR_UNSAFE, OF_MASTER, judge_wait,
     "no lock can be taken with replicas=",
     "permit it: +wait"},
    {"replica-link", DOCTOR_WARNING, OF_REPLICA, judge_replica_link,
     "after a failover to it, locks that are held are forgotten",
     "see to its log and the network"},
    {"replica-writable", DOCTOR_WARNING, OF_REPLICA, judge_read_only,
     "a lock taken there is nobody else's lock",
     "set replica-read-only yes"},
    {"min-replicas", DOCTOR_NOTE, OF_MASTER, judge_min_replicas,
     "a master that is cut off from its replicas goes on giving locks, "
     "until it is found out",
     "set min-replicas-to-write 1 and min-replicas-max-lag 10 to "
     "shorten that"},
    {"clock-replica", DOCTOR_WARNING, OF_REPLICA, judge_apart,
     "a TTL is copied as a point in time (since 7.0): after a failover "
     "leases end that much early or late",
     "keep all clocks by NTP"},
    {"clock-replica-far", DOCTOR_UNSAFE, OF_REPLICA, judge_far_apart,
     "after a failover a lease ends while its holder relies on it, or "
     "a dead one's stays",
     "keep all clocks by NTP"},
    {"map-denied", DOCTOR_UNSAFE, OF_NODE, judge_map,
     "holdfast cannot find out which node serves a lock",
     "permit it: +cluster|slots +cluster|info"},
    {"cluster-state", DOCTOR_UNSAFE, OF_NODE, judge_cluster_state,
     "it takes and renews no lock",
     "see CLUSTER INFO and CLUSTER NODES"},
    {"uncovered", DOCTOR_UNSAFE, OF_NODE, judge_covered,
     "locks of these slots cannot be taken",
     "assign them (redis-cli --cluster fix), or bring their node back"},
    {"no-address", DOCTOR_UNSAFE, OF_NODE, judge_nowhere,
     "no client can go to them",
     "set cluster-announce-ip, cluster-announce-hostname or cluster- "
     "announce-tls-port there"},
    {"two-owners", DOCTOR_UNSAFE, OF_NODE, judge_claims,
     "both grant the same locks",
     "see CLUSTER NODES of both; one of them is cut off, or was "
     "configured by hand"},
    {"views", DOCTOR_WARNING, OF_ALL, judge_views,
     "a failover or a moved slot is under way, or a node is cut off; "
     "requests are redirected meanwhile",
     "ask again in a minute; then see CLUSTER NODES of both"},
    {"failed-nodes", DOCTOR_WARNING, OF_NODE, judge_failed,
     "what they served has failed over, or is not served",
     "bring them back, or forget them"},
    {"no-replica", DOCTOR_WARNING, OF_MASTER, judge_alone,
     "if it fails, its locks cannot be had until it is back",
     "give it a replica"},
    {"few-masters", DOCTOR_WARNING, OF_ALL, judge_masters,
     "there is no majority without the one that fails, so no failover",
     "use three masters or more"},
    {"full-coverage", DOCTOR_NOTE, OF_NODE, judge_coverage,
     "when slots are not served, the others go on: some locks can be "
     "had, others not",
     "nothing, if that is meant"},
    {"node-timeout", DOCTOR_WARNING, OF_NODE, judge_node_timeout,
     "a failover takes longer than from one renewal to the next, and "
     "may cost holders their locks",
     "use a TTL of more than three times that, or set a shorter "
     "cluster-node-timeout"},
    {"sharded", DOCTOR_UNSAFE, OF_ALL, judge_sharded,
     "a release deletes the lock and ends in an error, or wakes nobody",
     "use Redis 7 or Valkey on all nodes; until then sharded=off, in "
     "every client"},
    {"sharded-off", DOCTOR_WARNING, OF_ALL, judge_sharded_off,
     "Redisson uses them by default: then neither wakes the other, and "
     "waits end with a TTL",
     "use sharded=auto, or set Redisson's shardedSubscriptionMode to "
     "OFF"},
    {"sharded-unseen", DOCTOR_WARNING, OF_MASTER, judge_sharded_unseen,
     "messages are taken to be plain; where others' are sharded, neither wakes "
     "the other, and waits end with a TTL",
     "give this user +pubsub|shardnumsub, or say sharded=on"},
    {"sentinel-name", DOCTOR_UNSAFE, OF_SENTINEL, judge_name,
     "holdfast does not find the master by it",
     "see to the name in the URL, and to the sentinel's ACL"},
    {"sentinels-disagree", DOCTOR_UNSAFE, OF_ALL, judge_masters_agree,
     "some clients take locks from one master, some from another",
     "a failover is under way: ask again in a minute; else SENTINEL "
     "RESET of the wrong ones"},
    {"few-sentinels", DOCTOR_WARNING, OF_ALL, judge_count,
     "without one of them there is no majority, so no failover",
     "use three sentinels or more, on machines of their own"},
    {"quorum", DOCTOR_WARNING, OF_SENTINEL, judge_quorum,
     "there is no failover when it is needed, or one when it is not",
     "start sentinels, or set the quorum to more than half of them"},
    {"down-after", DOCTOR_WARNING, OF_SENTINEL, judge_down_after,
     "a failover takes longer than from one renewal to the next, and "
     "may cost holders their locks",
     "SENTINEL SET NAME down-after-milliseconds 5000, or use a longer "
     "TTL"},
    {"loopback", DOCTOR_UNSAFE, OF_SENTINEL, judge_loopback,
     "clients on other machines find no master, or another one",
     "let it watch an address that everybody can reach"},
    {"not-master", DOCTOR_UNSAFE, OF_NODE, judge_true_master,
     "no lock can be taken until sentinels name the master",
     "a failover is under way: ask again in a minute; permit +role"},
    {"two-masters", DOCTOR_UNSAFE, OF_MASTER, judge_two_masters,
     "who still asks it takes locks that others hold",
     "it should be made a replica within some 10 s; if not, REPLICAOF "
     "by hand"},
    {"certificate", DOCTOR_WARNING, OF_ALL, judge_certificate,
     "whoever sits in between can read and change everything, locks "
     "too",
     "give tls_ca=FILE in place of tls_verify=no"},
    {"many", DOCTOR_WARNING, OF_ALL, judge_size,
     "what is wrong with them is not known",
     "ask some of the nodes by themselves, with redis://"},
    {0},
};
