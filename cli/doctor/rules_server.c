/* Rules that look at one server. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/rules.h"


/* ---- is it there ---- */

static enum doctor_verdict judge_lone(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    bool is_needed = !s->is_sentinel && (facts->topology == HF_STANDALONE ||
                                         s->said == SAID_MASTER);

    if (!is_needed)
        return VERDICT_NONE;
    if (s->is_reached)
        return doctor_fine(found, "it answers");
    return doctor_found(found, "%s", s->trouble);
}

static enum doctor_verdict judge_other(const struct doctor_facts *facts,
                                       const struct doctor_server *s,
                                       struct doctor_found *found)
{
    bool is_needed = !s->is_sentinel && (facts->topology == HF_STANDALONE ||
                                         s->said == SAID_MASTER);

    if (is_needed)
        return VERDICT_NONE;
    if (s->is_reached)
        return doctor_fine(found, "it answers");
    return doctor_found(found, "%s", s->trouble);
}

/* ---- which server it is ---- */

struct version {
    unsigned major, minor, patch;
};

static bool read_version(const char *text, struct version *v)
{
    *v = (struct version){0};
    return text &&
           sscanf(text, "%u.%u.%u", &v->major, &v->minor, &v->patch) >= 2;
}

static bool is_before(struct version v, unsigned major, unsigned minor,
                      unsigned patch)
{
    if (v.major != major)
        return v.major < major;
    return v.minor != minor ? v.minor < minor : v.patch < patch;
}

static enum doctor_verdict judge_old(const struct doctor_facts *facts,
                                     const struct doctor_server *s,
                                     struct doctor_found *found)
{
    struct version v;

    (void)facts;
    if (!read_version(s->fact[FACT_VERSION], &v))
        return doctor_unseen(found, "the server's version");
    if (is_before(v, 2, 8, 0))
        return doctor_found(found, "Redis %s", s->fact[FACT_VERSION]);
    if (s->fact[FACT_VALKEY])
        return doctor_fine(found, "Valkey %s", s->fact[FACT_VALKEY]);
    return doctor_fine(found, "Redis %s", s->fact[FACT_VERSION]);
}

/* CVE-2025-67733: a line of the caller's choice in the reply stream. */
static bool is_forger(struct version v)
{
    static const struct version fixed[] = {
        {7, 2, 12}, {8, 0, 7}, {8, 1, 6}, {9, 0, 3}};

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (v.major == fixed[i].major && v.minor == fixed[i].minor)
            return v.patch < fixed[i].patch;
    return is_before(v, 9, 0, 0);
}

static enum doctor_verdict judge_forger(const struct doctor_facts *facts,
                                        const struct doctor_server *s,
                                        struct doctor_found *found)
{
    struct version v;

    (void)facts;
    if (!read_version(s->fact[FACT_VALKEY], &v))
        return VERDICT_NONE;
    if (is_forger(v))
        return doctor_found(found,
                            "Valkey %s has CVE-2025-67733, unless whoever "
                            "packaged it mended that",
                            s->fact[FACT_VALKEY]);
    return doctor_fine(found, "Valkey %s forges no replies",
                       s->fact[FACT_VALKEY]);
}

static enum doctor_verdict judge_role(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    if (facts->topology != HF_STANDALONE || !s->fact[FACT_ROLE])
        return VERDICT_NONE;
    if (doctor_is_master(s))
        return doctor_fine(found, "it is a master");
    return doctor_found(found, "its role is %s", s->fact[FACT_ROLE]);
}

static enum doctor_verdict judge_kind(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    bool is_in_one = doctor_is(s, FACT_CLUSTER_ENABLED, "1");

    if (!s->fact[FACT_CLUSTER_ENABLED])
        return VERDICT_NONE;
    if (is_in_one && facts->topology != HF_CLUSTER)
        return doctor_found(found, "it is a node of a cluster, and the URL is "
                                   "not redis+cluster://");
    if (!is_in_one && facts->topology == HF_CLUSTER)
        return doctor_found(found, "it is no node of a cluster");
    return doctor_fine(found, "the URL is of its kind");
}

static enum doctor_verdict judge_loading(const struct doctor_facts *facts,
                                         const struct doctor_server *s,
                                         struct doctor_found *found)
{
    (void)facts;
    if (doctor_is(s, FACT_LOADING, "1") ||
        doctor_is(s, FACT_ASYNC_LOADING, "1"))
        return doctor_found(found, "it is loading its data");
    return s->fact[FACT_LOADING] ? doctor_fine(found, "its data is loaded")
                                 : VERDICT_NONE;
}

static enum doctor_verdict judge_state(const struct doctor_facts *facts,
                                       const struct doctor_server *s,
                                       struct doctor_found *found)
{
    const struct doctor_answer *may = &s->may[MAY_HSET];

    (void)facts;
    if (may->is == MAY_REFUSED)
        return doctor_found(found, "it refuses to write: %s", may->words);
    return may->is == MAY_DO ? doctor_fine(found, "it takes writes")
                             : VERDICT_NONE;
}

/* ---- memory ---- */

/* 0: without limit. */
static bool get_maxmemory(const struct doctor_server *s, int64_t *out)
{
    return doctor_number(s, FACT_MAXMEMORY, out);
}

static enum doctor_verdict judge_eviction(const struct doctor_facts *facts,
                                          const struct doctor_server *s,
                                          struct doctor_found *found)
{
    const char *policy = s->fact[FACT_POLICY];
    int64_t maxmemory = 1;

    (void)facts;
    (void)get_maxmemory(s, &maxmemory); /* not seen: there may be one */
    if (!policy)
        return doctor_unseen(found, "maxmemory-policy");
    if (strcmp(policy, "noeviction") == 0)
        return doctor_fine(found, "maxmemory-policy is noeviction");
    if (maxmemory == 0)
        return VERDICT_NONE;
    return doctor_found(found, "maxmemory-policy is %s", policy);
}

static enum doctor_verdict
judge_eviction_later(const struct doctor_facts *facts,
                     const struct doctor_server *s, struct doctor_found *found)
{
    const char *policy = s->fact[FACT_POLICY];
    int64_t maxmemory = 1;

    (void)facts;
    if (!policy || strcmp(policy, "noeviction") == 0 ||
        !get_maxmemory(s, &maxmemory) || maxmemory != 0)
        return VERDICT_NONE;
    return doctor_found(found,
                        "maxmemory-policy is %s, with maxmemory 0 as yet",
                        policy);
}

#define MEMORY "%" PRId64 " of %" PRId64 " MiB of maxmemory are used"

static enum doctor_verdict judge_memory(const struct doctor_facts *facts,
                                        const struct doctor_server *s,
                                        struct doctor_found *found)
{
    int64_t used, maxmemory;

    (void)facts;
    if (!get_maxmemory(s, &maxmemory) ||
        !doctor_number(s, FACT_USED_MEMORY, &used))
        return doctor_unseen(found, "how much memory is used");
    if (maxmemory == 0)
        return doctor_fine(found, "maxmemory is 0: no limit");
    if (used / 9 >= maxmemory / 10)
        return doctor_found(found, MEMORY, used >> 20, maxmemory >> 20);
    return doctor_fine(found, MEMORY, used >> 20, maxmemory >> 20);
}

/* ---- what a restart leaves ---- */

static enum doctor_verdict judge_persistence(const struct doctor_facts *facts,
                                             const struct doctor_server *s,
                                             struct doctor_found *found)
{
    (void)facts;
    if (!s->fact[FACT_AOF])
        return doctor_unseen(found, "appendonly");
    if (doctor_is(s, FACT_AOF, "1"))
        return doctor_fine(found, "appendonly is yes");
    if (doctor_is(s, FACT_SAVE, ""))
        return doctor_found(found, "it keeps nothing on disk (appendonly no, "
                                   "save \"\")");
    return doctor_found(found, "it keeps %s (appendonly no)",
                        s->fact[FACT_SAVE] ? "snapshots only"
                                           : "snapshots at most");
}

static enum doctor_verdict judge_fsync(const struct doctor_facts *facts,
                                       const struct doctor_server *s,
                                       struct doctor_found *found)
{
    const char *fsync = s->fact[FACT_FSYNC];

    (void)facts;
    if (!doctor_is(s, FACT_AOF, "1"))
        return VERDICT_NONE;
    if (!fsync)
        return doctor_unseen(found, "appendfsync");
    if (strcmp(fsync, "always") == 0)
        return doctor_fine(found, "appendfsync is always");
    return doctor_found(found, "appendfsync is %s", fsync);
}

static enum doctor_verdict judge_aof_write(const struct doctor_facts *facts,
                                           const struct doctor_server *s,
                                           struct doctor_found *found)
{
    (void)facts;
    if (!doctor_is(s, FACT_AOF, "1") || !s->fact[FACT_AOF_WRITE])
        return VERDICT_NONE;
    if (doctor_is(s, FACT_AOF_WRITE, "ok"))
        return doctor_fine(found, "the last write to the AOF went well");
    return doctor_found(found, "the last write to the AOF failed");
}

/* ---- what may be done ---- */

static enum doctor_verdict judge_evalsha(const struct doctor_facts *facts,
                                         const struct doctor_server *s,
                                         struct doctor_found *found)
{
    (void)facts;
    return doctor_may(s, MAY_EVALSHA, "EVALSHA", found);
}

static enum doctor_verdict judge_eval(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    (void)facts;
    return doctor_may(s, MAY_EVAL, "EVAL", found);
}

/* What the scripts call: a word each, from MAY_EXISTS on. */
static const char *const calls[] = {"EXISTS", "HEXISTS", "HSET", "PEXPIRE",
                                    "HSCAN",  "PTTL",    "DEL",  "HGET",
                                    "HLEN"};

static enum doctor_verdict judge_calls(const struct doctor_facts *facts,
                                       const struct doctor_server *s,
                                       struct doctor_found *found)
{
    size_t len = 0;

    (void)facts;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int is = s->may[MAY_EXISTS + i].is;

        if (is == MAY_NOT_SEEN)
            return doctor_unseen(found, "what scripts may call");
        if (is == MAY_NO_COMMAND || is == MAY_UNKNOWN)
            len += (size_t)snprintf(found->text + len,
                                    sizeof found->text - len, "%s%s",
                                    len ? ", " : "there is no ", calls[i]);
    }
    if (len > 0)
        return VERDICT_FOUND;
    return doctor_fine(found, "scripts may call what they need");
}

static enum doctor_verdict judge_publish(const struct doctor_facts *facts,
                                         const struct doctor_server *s,
                                         struct doctor_found *found)
{
    enum doctor_verdict verdict = VERDICT_FINE;

    if (doctor_is_sharded(facts))
        verdict = doctor_may(s, MAY_SPUBLISH, "SPUBLISH", found);
    if (verdict == VERDICT_FINE && doctor_is_plain(facts))
        verdict = doctor_may(s, MAY_PUBLISH, "PUBLISH", found);
    return verdict;
}

static enum doctor_verdict judge_subscribe(const struct doctor_facts *facts,
                                           const struct doctor_server *s,
                                           struct doctor_found *found)
{
    enum doctor_verdict verdict = VERDICT_FINE;

    if (doctor_is_sharded(facts))
        verdict = doctor_may(s, MAY_SSUBSCRIBE, "SSUBSCRIBE", found);
    if (verdict == VERDICT_FINE && doctor_is_plain(facts))
        verdict = doctor_may(s, MAY_SUBSCRIBE, "SUBSCRIBE", found);
    return verdict;
}

static enum doctor_verdict judge_kill(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    static const struct {
        enum doctor_deed deed;
        const char *what;
    } needed[] = {{MAY_CLIENT_ID, "CLIENT ID"},
                  {MAY_KILL, "CLIENT KILL"},
                  {MAY_INFO, "INFO"}};

    (void)facts;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        enum doctor_verdict verdict =
            doctor_may(s, needed[i].deed, needed[i].what, found);

        if (verdict != VERDICT_FINE)
            return verdict;
    }
    return doctor_fine(found, "a lost connection can be ended by the next");
}

static enum doctor_verdict judge_hello(const struct doctor_facts *facts,
                                       const struct doctor_server *s,
                                       struct doctor_found *found)
{
    if (facts->protocol != 3 || s->protocol == 0)
        return VERDICT_NONE;
    if (s->protocol == 3)
        return doctor_fine(found, "it speaks RESP3");
    return doctor_found(found, "it speaks RESP2 (HELLO is not there)");
}

static enum doctor_verdict judge_ping(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    (void)facts;
    return doctor_may(s, MAY_PING, "PING", found);
}

/* The patterns, if they could be seen; the server may list none. */
static const char *patterns(const struct doctor_server *s,
                            enum doctor_fact fact)
{
    if (!s->fact[fact])
        return "not to be seen";
    return *s->fact[fact] ? s->fact[fact] : "none";
}

static enum doctor_verdict judge_keys(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    const char *name = facts->name ? facts->name : "every name";
    bool is_denied = false;
    char quoted[128];

    for (int i = MAY_EXISTS; i <= MAY_HLEN; i++)
        is_denied = is_denied || (i != MAY_DEL && s->may[i].is == MAY_NO_KEY);
    (void)hf_error_quote(quoted, sizeof quoted, name, strlen(name));
    if (is_denied)
        return doctor_found(found, "the ACL's keys do not cover %s; they are: "
                                   "%s", quoted, patterns(s, FACT_ACL_KEYS));
    if (s->may[MAY_EXISTS].is != MAY_DO)
        return VERDICT_NONE;
    return doctor_fine(found, "the ACL's keys cover %s", quoted);
}

static enum doctor_verdict judge_channels(const struct doctor_facts *facts,
                                          const struct doctor_server *s,
                                          struct doctor_found *found)
{
    enum doctor_deed deed =
        doctor_is_sharded(facts) ? MAY_SSUBSCRIBE : MAY_SUBSCRIBE;
    const char *name = facts->name ? facts->name : "every name";
    char quoted[128];

    (void)hf_error_quote(quoted, sizeof quoted, name, strlen(name));
    if (s->may[deed].is == MAY_NO_CHANNEL)
        return doctor_found(found,
                            "the ACL's channels do not cover that of %s; they "
                            "are: %s",
                            quoted, patterns(s, FACT_ACL_CHANNELS));
    if (s->may[deed].is != MAY_DO)
        return VERDICT_NONE;
    return doctor_fine(found, "the ACL's channels cover that of %s", quoted);
}

/* ---- connections and time ---- */

static enum doctor_verdict judge_idle(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    int64_t timeout_s;

    if (!doctor_number(s, FACT_IDLE_TIMEOUT, &timeout_s))
        return doctor_unseen(found, "timeout");
    if (timeout_s == 0 || timeout_s > doctor_beat_ms(facts) / 1000)
        return doctor_fine(found, "timeout is %" PRId64 " s", timeout_s);
    return doctor_found(found, "timeout is %" PRId64 " s, a renewal every %"
                        PRId64 " ms", timeout_s, doctor_beat_ms(facts));
}

static enum doctor_verdict judge_keepalive(const struct doctor_facts *facts,
                                           const struct doctor_server *s,
                                           struct doctor_found *found)
{
    int64_t keepalive_s;

    (void)facts;
    if (!doctor_number(s, FACT_KEEPALIVE, &keepalive_s))
        return doctor_unseen(found, "tcp-keepalive");
    if (keepalive_s > 0)
        return doctor_fine(found, "tcp-keepalive is %" PRId64 " s",
                           keepalive_s);
    return doctor_found(found, "tcp-keepalive is 0");
}

#define CLIENTS "%" PRId64 " of %" PRId64 " clients are connected"

static enum doctor_verdict judge_clients(const struct doctor_facts *facts,
                                         const struct doctor_server *s,
                                         struct doctor_found *found)
{
    int64_t clients, maxclients;

    (void)facts;
    if (!doctor_number(s, FACT_CLIENTS, &clients) ||
        !doctor_number(s, FACT_MAXCLIENTS, &maxclients))
        return doctor_unseen(found, "maxclients");
    if (clients >= maxclients / 10 * 9)
        return doctor_found(found, CLIENTS, clients, maxclients);
    return doctor_fine(found, CLIENTS, clients, maxclients);
}

static enum doctor_verdict judge_busy(const struct doctor_facts *facts,
                                      const struct doctor_server *s,
                                      struct doctor_found *found)
{
    int64_t busy_ms;

    if (!doctor_number(s, FACT_BUSY_MS, &busy_ms))
        return doctor_unseen(found, "busy-reply-threshold");
    if (busy_ms > 0 && busy_ms <= doctor_beat_ms(facts))
        return doctor_fine(found, "busy-reply-threshold is %" PRId64 " ms",
                           busy_ms);
    return doctor_found(found, "busy-reply-threshold is %" PRId64 " ms",
                        busy_ms);
}

static enum doctor_verdict judge_our_clock(const struct doctor_facts *facts,
                                           const struct doctor_server *s,
                                           struct doctor_found *found)
{
    const struct doctor_clock *clock = &s->clock;
    int64_t off_us = clock->ahead_us < 0 ? -clock->ahead_us : clock->ahead_us;

    (void)facts;
    if (!clock->is_known)
        return doctor_unseen(found, "its clock");
    if (off_us - clock->round_trip_us / 2 > 1000000)
        return doctor_found(found, "its clock is %" PRId64 " ms %s ours",
                            off_us / 1000,
                            clock->ahead_us < 0 ? "behind" : "ahead of");
    return doctor_fine(found, "its clock is ours, to %" PRId64 " ms",
                       (off_us + clock->round_trip_us / 2) / 1000 + 1);
}

/* ---- the table ---- */

const struct doctor_rule doctor_rules_server[] = {
    {"unreachable-master", DOCTOR_UNSAFE, OF_ANY, judge_lone,
     "no lock that it serves can be taken, renewed or released from "
     "here",
     "see to the address, the network, the user and the password"},
    {"unreachable", DOCTOR_WARNING, OF_ANY, judge_other,
     "nothing is known of it, and a failover may depend on it",
     "see to the address, the network, the user and the password"},
    {"version-old", DOCTOR_UNSAFE, OF_NODE, judge_old,
     "it cannot run the scripts of locks",
     "use Redis 5 or later, or Valkey"},
    {"forged-replies", DOCTOR_WARNING, OF_NODE, judge_forger,
     "whoever may run scripts can forge replies; holdfast notices and "
     "reconnects, another client may take one for a grant",
     "use Valkey 7.2.12, 8.0.7, 8.1.6, 9.0.3 or later"},
    {"role", DOCTOR_UNSAFE, OF_NODE, judge_role,
     "a replica refuses to write, so no lock can be taken",
     "give the master's address, or sentinels"},
    {"kind", DOCTOR_UNSAFE, OF_NODE, judge_kind,
     "locks are on other nodes, and waiters are told elsewhere",
     "use redis+cluster:// for a cluster, and only for one"},
    {"loading", DOCTOR_WARNING, OF_NODE, judge_loading,
     "no lock can be taken until it has loaded",
     "wait, and ask again"},
    {"refuses", DOCTOR_UNSAFE, OF_MASTER, judge_state,
     "no lock can be taken or renewed",
     "see to what its words name: memory, disk, replicas"},
    {"eviction", DOCTOR_UNSAFE, OF_NODE, judge_eviction,
     "when memory is full a lock is deleted while it is held, and "
     "another takes it",
     "set maxmemory-policy noeviction, or use a server of their own "
     "for locks"},
    {"eviction-later", DOCTOR_WARNING, OF_NODE, judge_eviction_later,
     "once there is a limit, locks that are held will be deleted",
     "set maxmemory-policy noeviction"},
    {"memory", DOCTOR_WARNING, OF_NODE, judge_memory,
     "when it is full, no lock can be taken",
     "raise maxmemory, or free some"},
    {"persistence", DOCTOR_WARNING, OF_NODE, judge_persistence,
     "a restart forgets locks that are held, and others take them",
     "set appendonly yes, or let it stay down for longer than a TTL"},
    {"fsync", DOCTOR_NOTE, OF_NODE, judge_fsync,
     "a crash of the machine, not of the server alone, forgets the "
     "locks of the last moments",
     "set appendfsync always if that matters"},
    {"aof-write", DOCTOR_WARNING, OF_NODE, judge_aof_write,
     "it refuses writes, or forgets locks at a restart",
     "see to its disk"},
    {"evalsha-denied", DOCTOR_UNSAFE, OF_NODE, judge_evalsha,
     "no lock can be taken or released",
     "permit it: +evalsha"},
    {"eval-denied", DOCTOR_UNSAFE, OF_NODE, judge_eval,
     "no lock can be taken where its script is not known yet, as after "
     "each restart",
     "permit it: +eval"},
    {"calls-denied", DOCTOR_UNSAFE, OF_NODE, judge_calls,
     "the scripts of locks end in an error halfway",
     "permit all of these: +exists +hexists +hset +pexpire +hscan "
     "+pttl +del +hget +hlen"},
    {"publish-denied", DOCTOR_UNSAFE, OF_MASTER, judge_publish,
     "a release deletes the lock, ends in an error, and wakes nobody",
     "permit it: +publish, in a cluster +spublish too"},
    {"subscribe-denied", DOCTOR_WARNING, OF_MASTER, judge_subscribe,
     "nobody is woken by a release: who waits gets the lock only when "
     "its TTL is over",
     "permit it: +subscribe, in a cluster +ssubscribe too"},
    {"kill-denied", DOCTOR_WARNING, OF_MASTER, judge_kill,
     "a request of a lost connection may be done after its "
     "successor's; each hold has a number of its own against that, and "
     "what is left ends with its TTL",
     "permit them: +client|id +client|kill +info (CLIENT ID is there "
     "since 5.0)"},
    {"hello-denied", DOCTOR_NOTE, OF_NODE, judge_hello,
     "each client needs a second connection, for messages",
     "do not rename HELLO; it is there since 6.0"},
    {"ping-denied", DOCTOR_WARNING, OF_NODE, judge_ping,
     "holdfast cannot make sure that the server is there, and refuses "
     "to start",
     "permit it: +ping"},
    {"keys", DOCTOR_UNSAFE, OF_NODE, judge_keys,
     "locks of such names cannot be taken",
     "add a pattern for their keys: ~NAME"},
    {"channels", DOCTOR_UNSAFE, OF_MASTER, judge_channels,
     "a release of such a lock ends in an error, and wakes nobody",
     "add a pattern for their channels: &redisson_lock__channel:*"},
    {"idle-timeout", DOCTOR_WARNING, OF_NODE, judge_idle,
     "a holder's connection is cut between renewals, so that each "
     "begins with a new one",
     "set timeout 0, or more than a third of the TTL"},
    {"keepalive", DOCTOR_NOTE, OF_NODE, judge_keepalive,
     "connections of machines that died stay, until there are "
     "maxclients",
     "set tcp-keepalive 300"},
    {"clients", DOCTOR_WARNING, OF_NODE, judge_clients,
     "when there are maxclients, whoever reconnects is refused, and "
     "its locks are lost",
     "raise maxclients, or find out who they are"},
    {"busy", DOCTOR_NOTE, OF_NODE, judge_busy,
     "a script that does not end is not noticed before locks are lost",
     "set busy-reply-threshold 5000 (lua-time-limit before 7.0)"},
    {"clock", DOCTOR_WARNING, OF_NODE, judge_our_clock,
     "plain locks do not mind, for the server alone counts a TTL; "
     "Redisson's fair locks and expiring permits compare its clock "
     "with their own; and a clock that is off may be set, which ends "
     "leases early or late",
     "keep all clocks by NTP, slewed and not stepped"},
    {0},
};
