/* Rules that look at one server. */
/* Tests: tests/test_cli_doctor.c, tests/live/cli/test_doctor.c. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/rules.h"
#include "net/base/error.h"
#include "net/base/url.h"

/* ---- is it there ---- */

static bool is_lock_server(const struct doctor_rule_on_server *c)
{
    return !c->server->is_sentinel && (c->facts->topology == HF_STANDALONE ||
                                       c->server->role_said_by_others == SAID_MASTER);
}

static bool is_not_lock_server(const struct doctor_rule_on_server *c)
{
    return !is_lock_server(c);
}

static enum doctor_verdict test_reached(struct doctor_rule_on_server *c)
{
    return c->server->is_reached ? doctor_verdict_fine(c, "it answers")
                                 : doctor_verdict_found(c, "%s", c->server->connect_error);
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

static bool is_version_before(struct version v, unsigned major, unsigned minor)
{
    return v.major != major ? v.major < major : v.minor < minor;
}

static enum doctor_verdict test_version(struct doctor_rule_on_server *c)
{
    const char *redis = c->server->facts[FACT_VERSION];
    const char *valkey = c->server->facts[FACT_VALKEY];
    struct version v;

    if (!read_version(redis, &v))
        return doctor_verdict_unseen(c, "the server's version");
    if (is_version_before(v, 2, 8))
        return doctor_verdict_found(c, "Redis %s", redis);
    return valkey ? doctor_verdict_fine(c, "Valkey %s", valkey)
                  : doctor_verdict_fine(c, "Redis %s", redis);
}

/* CVE-2025-67733: a line of the caller's choice in the reply stream. */
static bool forges_replies(struct version v)
{
    static const struct version fixed[] = {
        {7, 2, 12}, {8, 0, 7}, {8, 1, 6}, {9, 0, 3}};

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (v.major == fixed[i].major && v.minor == fixed[i].minor)
            return v.patch < fixed[i].patch;
    return is_version_before(v, 9, 0);
}

static enum doctor_verdict test_forged_replies(struct doctor_rule_on_server *c)
{
    const char *valkey = c->server->facts[FACT_VALKEY];
    struct version v;

    if (!read_version(valkey, &v))
        return VERDICT_NONE;
    if (forges_replies(v))
        return doctor_verdict_found(c,
                                    "Valkey %s has CVE-2025-67733, unless the "
                                    "package has the fix",
                                    valkey);
    return doctor_verdict_fine(c, "Valkey %s forges no replies", valkey);
}

static bool is_standalone(const struct doctor_rule_on_server *c)
{
    return c->facts->topology == HF_STANDALONE;
}

static enum doctor_verdict test_cluster_node(struct doctor_rule_on_server *c)
{
    bool is_node = doctor_fact_is(c->server, FACT_CLUSTER_ENABLED, "1");

    if (!c->server->facts[FACT_CLUSTER_ENABLED])
        return VERDICT_NONE;
    if (is_node == (c->facts->topology == HF_CLUSTER))
        return doctor_verdict_fine(c, "the URL has the right scheme");
    return is_node ? doctor_verdict_found(c, "it is a cluster node, but the URL is not "
                                     "redis+cluster://")
                   : doctor_verdict_found(c, "it is not a cluster node");
}

static bool measure_loading(const struct doctor_rule_on_server *c, int64_t *out)
{
    *out = doctor_fact_is(c->server, FACT_LOADING, "1") ||
           doctor_fact_is(c->server, FACT_ASYNC_LOADING, "1");
    return *out || c->server->facts[FACT_LOADING];
}

static bool has_tried_to_write(const struct doctor_rule_on_server *c)
{
    enum doctor_may is = c->server->permissions[MAY_HSET].permission;

    return is == MAY_PERMITTED || is == MAY_OTHER_ERROR;
}

static bool lacks_evalsha(const struct doctor_rule_on_server *c)
{
    return c->server->permissions[MAY_EVALSHA].permission == MAY_UNKNOWN_COMMAND;
}

static bool has_evalsha(const struct doctor_rule_on_server *c)
{
    return !lacks_evalsha(c);
}

/* Dragonfly in front, Alibaba's proxies behind. Another error has another reason, such as
 * a missing right, which other rules look at. */
static enum doctor_verdict test_derived_keys(struct doctor_rule_on_server *c)
{
    const struct doctor_answer *answer = &c->server->permissions[MAY_DERIVE];

    if (answer->permission == MAY_PERMITTED)
        return doctor_verdict_fine(c, "scripts may use keys that are not declared");
    if (strstr(answer->error_text, "undeclared key") ||
        strstr(answer->error_text, "bad lua script"))
        return doctor_verdict_found(c, "scripts may use declared keys only");
    return VERDICT_NONE;
}

/* ---- memory ---- */

static bool may_evict_later(const struct doctor_rule_on_server *c)
{
    int64_t maxmemory;

    return c->server->facts[FACT_POLICY] &&
           !doctor_fact_is(c->server, FACT_POLICY, "noeviction") &&
           doctor_fact_number(c->server, FACT_MAXMEMORY, &maxmemory) &&
           maxmemory == 0;
}

/* If maxmemory was not seen, there may be a limit. */
static bool may_evict_now(const struct doctor_rule_on_server *c)
{
    return !may_evict_later(c);
}

#define MEMORY "%" PRId64 " of %" PRId64 " MiB of maxmemory are used"

static enum doctor_verdict test_memory(struct doctor_rule_on_server *c)
{
    int64_t used, maxmemory;

    if (!doctor_fact_number(c->server, FACT_MAXMEMORY, &maxmemory) ||
        !doctor_fact_number(c->server, FACT_USED_MEMORY, &used))
        return doctor_verdict_unseen(c, "how much memory is used");
    if (maxmemory == 0)
        return doctor_verdict_fine(c, "maxmemory is 0: no limit");
    if (used / 9 >= maxmemory / 10)
        return doctor_verdict_found(c, MEMORY, used >> 20, maxmemory >> 20);
    return doctor_verdict_fine(c, MEMORY, used >> 20, maxmemory >> 20);
}

/* ---- what a restart leaves ---- */

static bool has_aof(const struct doctor_rule_on_server *c)
{
    return doctor_fact_is(c->server, FACT_AOF, "1");
}

static enum doctor_verdict test_persistence(struct doctor_rule_on_server *c)
{
    if (!c->server->facts[FACT_AOF])
        return doctor_verdict_unseen(c, "appendonly");
    if (has_aof(c))
        return doctor_verdict_fine(c, "appendonly is yes");
    if (doctor_fact_is(c->server, FACT_SAVE, ""))
        return doctor_verdict_found(c, "it keeps nothing on disk (appendonly no, save "
                               "\"\")");
    return doctor_verdict_found(c, "it keeps %s (appendonly no)",
                                c->server->facts[FACT_SAVE] ? "snapshots only"
                                                   : "snapshots at most");
}

/* ---- what may be done ---- */

static enum doctor_verdict test_script_calls(struct doctor_rule_on_server *c)
{
    size_t len = 0;

    for (int i = MAY_EXISTS; i <= MAY_HLEN; i++) {
        if (c->server->permissions[i].permission == MAY_NOT_ANSWERED)
            return doctor_verdict_unseen(c, "what scripts may call");
        if (doctor_is_refused(c->server, (enum doctor_permission)i))
            len += (size_t)snprintf(c->value_text + len, sizeof c->value_text - len, "%s%s",
                                    len ? ", " : "scripts may not call ",
                                    doctor_permission_names[i]);
    }
    return len > 0 ? VERDICT_FOUND
                   : doctor_verdict_fine(c, "scripts may call what they need");
}

/* Without tracking=on, there is nothing to report. */
static enum doctor_verdict test_tracking(struct doctor_rule_on_server *c)
{
    if (!c->facts->is_tracking)
        return VERDICT_NONE;
    if (c->server->protocol == 2)
        return doctor_verdict_found(c, "the connection uses RESP2");
    for (int i = MAY_TRACKING; i <= MAY_CACHING; i++) {
        if (c->server->permissions[i].permission == MAY_NOT_ANSWERED)
            return doctor_verdict_unseen(c, doctor_permission_names[i]);
        if (c->server->permissions[i].permission != MAY_PERMITTED)
            return doctor_verdict_found(c, "it refuses %s", doctor_permission_names[i]);
    }
    return doctor_verdict_fine(c, "with tracking, it reports the loss of a held lock at once");
}

static enum doctor_verdict test_labels(struct doctor_rule_on_server *c)
{
    for (int i = MAY_SET_LABEL; i <= MAY_GET_LABEL; i++) {
        if (c->server->permissions[i].permission == MAY_NOT_ANSWERED)
            return VERDICT_NONE;
        if (doctor_is_refused(c->server, (enum doctor_permission)i) ||
            c->server->permissions[i].permission == MAY_FORBIDDEN_KEY)
            return doctor_verdict_found(c, "it refuses %s of the keys holdfast_label:*",
                                        doctor_permission_names[i]);
    }
    return doctor_verdict_fine(c, "labels of holders can be written and read");
}

static bool measure_protocol(const struct doctor_rule_on_server *c, int64_t *out)
{
    *out = c->server->protocol;
    return c->facts->protocol == 3 && *out > 0;
}

/* The lock that the ACL was tried with. */
static const char *quote_name(const struct doctor_rule_on_server *c, char quoted[128])
{
    const char *name = c->facts->name ? c->facts->name : "every name";

    return hf_error_quote(quoted, 128, name, strlen(name));
}

/* Returns the patterns for a message. The server may list none. */
static const char *acl_patterns(const struct doctor_rule_on_server *c, enum doctor_fact fact)
{
    const char *text = c->server->facts[fact];

    if (!text)
        return "not visible";
    return *text ? text : "none";
}

static bool has_denied_key(const struct doctor_server *s)
{
    for (int i = MAY_EXISTS; i <= MAY_HLEN; i++)
        if (i != MAY_DEL && s->permissions[i].permission == MAY_FORBIDDEN_KEY)
            return true;
    return false;
}

static enum doctor_verdict test_key_patterns(struct doctor_rule_on_server *c)
{
    char quoted[128];

    if (has_denied_key(c->server))
        return doctor_verdict_found(c, "the ACL's keys do not cover %s; they are: %s",
                                    quote_name(c, quoted), acl_patterns(c, FACT_ACL_KEYS));
    if (c->server->permissions[MAY_EXISTS].permission != MAY_PERMITTED)
        return VERDICT_NONE;
    return doctor_verdict_fine(c, "the ACL's keys cover %s", quote_name(c, quoted));
}

static enum doctor_verdict test_channel_patterns(struct doctor_rule_on_server *c)
{
    int permission =
        doctor_is_sharded(c->facts) ? MAY_SSUBSCRIBE : MAY_SUBSCRIBE;
    enum doctor_may is = c->server->permissions[permission].permission;
    char quoted[128];

    if (is == MAY_FORBIDDEN_CHANNEL)
        return doctor_verdict_found(c,
                                    "the ACL's channels do not cover that of %s; they "
                                    "are: %s",
                                    quote_name(c, quoted),
                                    acl_patterns(c, FACT_ACL_CHANNELS));
    if (is != MAY_PERMITTED)
        return VERDICT_NONE;
    return doctor_verdict_fine(c, "the ACL's channels cover that of %s",
                               quote_name(c, quoted));
}

/* ---- connections and time ---- */

#define CLIENTS_FREE_MIN "%" PRId64 " of %" PRId64 " clients are connected"

static enum doctor_verdict test_connections(struct doctor_rule_on_server *c)
{
    int64_t clients, maxclients;

    if (!doctor_fact_number(c->server, FACT_CLIENTS, &clients) ||
        !doctor_fact_number(c->server, FACT_MAXCLIENTS, &maxclients))
        return doctor_verdict_unseen(c, "maxclients");
    if (clients >= maxclients / 10 * 9)
        return doctor_verdict_found(c, CLIENTS_FREE_MIN, clients, maxclients);
    return doctor_verdict_fine(c, CLIENTS_FREE_MIN, clients, maxclients);
}

static enum doctor_verdict test_clock(struct doctor_rule_on_server *c)
{
    const struct doctor_clock *clock = &c->server->clock;
    int64_t off_us = clock->ahead_us < 0 ? -clock->ahead_us : clock->ahead_us;

    if (!clock->is_known)
        return doctor_verdict_unseen(c, "its clock");
    if (off_us - clock->round_trip_us / 2 > 1000000)
        return doctor_verdict_found(c, "its clock is %" PRId64 " ms %s ours",
                                    off_us / 1000,
                                    clock->ahead_us < 0 ? "behind" : "ahead of");
    return doctor_verdict_fine(c, "its clock is ours, to %" PRId64 " ms",
                               (off_us + clock->round_trip_us / 2) / 1000 + 1);
}

static bool leads_to_several_processes(const struct doctor_rule_on_server *c)
{
    return c->server->leads_to_several;
}

/* ---- the table ---- */

const struct doctor_rule doctor_rules_server[] = {
    {"unreachable-master", DOCTOR_UNSAFE, SCOPE_ANY, test_reached, is_lock_server,
     .meaning = "its locks cannot be acquired, renewed or released from here",
     .advice = "check the address, the network, the user and the password"},
    {"unreachable", DOCTOR_WARNING, SCOPE_ANY, test_reached, is_not_lock_server,
     .meaning = "its state is unknown, and a failover may depend on it",
     .advice = "check the address, the network, the user and the password"},
    {"version-old", DOCTOR_UNSAFE, SCOPE_NODE, test_version,
     .meaning = "it cannot run the scripts of locks",
     .advice = "use Redis 5 or later, or Valkey"},
    {"forged-replies", DOCTOR_WARNING, SCOPE_NODE, test_forged_replies,
     .meaning = "a client that can run scripts can forge replies; holdfast detects "
                "this and reconnects, but another client may accept one as a grant",
     .advice = "use Valkey 7.2.12, 8.0.7, 8.1.6, 9.0.3 or later"},
    {"role", DOCTOR_UNSAFE, SCOPE_NODE, doctor_test_equals, is_standalone,
     .fact = FACT_ROLE, .good_value = "master", .fine_text = "it is a master",
     .found_text = "its role is {}",
     .meaning = "a replica refuses writes, so no lock can be acquired",
     .advice = "use the master's address, those of the master and its replicas "
               "(redis://a,b), or sentinels"},
    {"kind", DOCTOR_UNSAFE, SCOPE_NODE, test_cluster_node,
     .meaning = "locks and notifications are on other nodes",
     .advice = "use redis+cluster:// for a cluster, and only for one"},
    {"loading", DOCTOR_WARNING, SCOPE_NODE, doctor_test_at_most,
     .measure = measure_loading, .limit = 0, .fine_text = "its data is loaded",
     .found_text = "it is loading its data",
     .meaning = "no lock can be acquired until it has loaded",
     .advice = "wait, and run doctor again"},
    {"refuses", DOCTOR_UNSAFE, SCOPE_MASTER, doctor_test_answers, has_tried_to_write,
     .permissions = {MAY_HSET}, .fine_text = "it accepts writes",
     .found_text = "it refuses to write: {words}",
     .meaning = "no lock can be acquired or renewed",
     .advice = "correct what the error names: memory, disk, replicas"},
    {"eviction", DOCTOR_UNSAFE, SCOPE_NODE, doctor_test_equals, may_evict_now,
     .fact = FACT_POLICY, .good_value = "noeviction",
     .found_text = "maxmemory-policy is {}", .unseen_text = "maxmemory-policy",
     .meaning = "when memory is full, a held lock can be deleted, and another client "
                "acquires it",
     .advice = "set maxmemory-policy noeviction, or use a separate server for locks"},
    {"eviction-later", DOCTOR_WARNING, SCOPE_NODE, doctor_test_always, may_evict_later,
     .fact = FACT_POLICY,
     .found_text = "maxmemory-policy is {}, with maxmemory 0 now",
     .meaning = "once there is a limit, held locks can be deleted",
     .advice = "set maxmemory-policy noeviction"},
    {"memory", DOCTOR_WARNING, SCOPE_NODE, test_memory,
     .meaning = "when it is full, no lock can be acquired",
     .advice = "raise maxmemory, or free memory"},
    {"persistence", DOCTOR_WARNING, SCOPE_NODE, test_persistence,
     .meaning = "a restart loses held locks, and other clients acquire them",
     .advice = "set appendonly yes, or after each stop wait for more than a TTL before "
               "the start"},
    {"fsync", DOCTOR_NOTE, SCOPE_NODE, doctor_test_equals, has_aof, .fact = FACT_FSYNC,
     .good_value = "always", .found_text = "appendfsync is {}", .unseen_text = "appendfsync",
     .meaning = "a crash of the machine loses the locks of the last second (everysec) or "
                "of about 30 seconds (no)",
     .advice = "set appendfsync always if that matters"},
    {"aof-write", DOCTOR_WARNING, SCOPE_NODE, doctor_test_equals, has_aof,
     .fact = FACT_AOF_WRITE, .good_value = "ok",
     .fine_text = "the last write to the AOF succeeded",
     .found_text = "the last write to the AOF failed",
     .meaning = "it refuses writes, or loses locks at a restart",
     .advice = "check its disk"},
    {"evalsha-missing", DOCTOR_NOTE, SCOPE_NODE, doctor_test_permits, lacks_evalsha,
     .permissions = {MAY_EVALSHA},
     .meaning = "each call sends the text of its script (EVAL), some KB",
     .advice = "do not rename EVALSHA"},
    {"evalsha-denied", DOCTOR_UNSAFE, SCOPE_NODE, doctor_test_permits, has_evalsha,
     .permissions = {MAY_EVALSHA}, .meaning = "no lock can be acquired or released",
     .advice = "permit it: +evalsha"},
    {"eval-denied", DOCTOR_UNSAFE, SCOPE_NODE, doctor_test_permits, .permissions = {MAY_EVAL},
     .meaning = "no lock can be acquired until its script is cached, such as after "
                "each restart",
     .advice = "permit it: +eval"},
    {"undeclared-keys", DOCTOR_NOTE, SCOPE_NODE, test_derived_keys,
     .meaning = "each acquire, renewal and release of a read lock, and each release of a "
                "write lock, needs two requests instead of one",
     .advice = "start Dragonfly with --default_lua_flags=allow-undeclared-keys; Alibaba "
               "Cloud: script_check_enable"},
    {"calls-denied", DOCTOR_UNSAFE, SCOPE_NODE, test_script_calls,
     .meaning = "the scripts of locks fail in the middle",
     .advice = "permit all of these: +exists +hexists +hset +pexpire +hscan "
               "+pttl +del +hget +hlen"},
    {"publish-denied", DOCTOR_WARNING, SCOPE_MASTER, doctor_test_permits,
     .permissions = {MAY_SPUBLISH, MAY_PUBLISH},
     .meaning = "a release notifies no waiter: a waiter acquires the lock only when it "
                "polls, up to a third of the TTL later",
     .advice = "permit it: +publish, and in a cluster +spublish"},
    {"subscribe-denied", DOCTOR_WARNING, SCOPE_MASTER, doctor_test_permits,
     .permissions = {MAY_SSUBSCRIBE, MAY_SUBSCRIBE},
     .meaning = "no release wakes a waiter: waiters poll once a second",
     .advice = "permit it: +subscribe, and in a cluster +ssubscribe"},
    {"kill-denied", DOCTOR_WARNING, SCOPE_MASTER, doctor_test_permits,
     .permissions = {MAY_CLIENT_ID, MAY_INFO},
     .fine_text = "it reports the ids of connections",
     .meaning = "a lost connection cannot be closed on the server, even where CLIENT "
                "KILL is permitted; each connection writes an entry in ACL LOG",
     .advice = "permit them: +client|id +info (CLIENT ID exists since 5.0)"},
    {"kill-left-out", DOCTOR_NOTE, SCOPE_MASTER, doctor_test_permits,
     .permissions = {MAY_KILL},
     .fine_text = "a lost connection can be closed by the next",
     .meaning = "a request of a lost connection may be executed after requests of the "
                "next; a lock acquired in this way stays held until its lease expires, or "
                "until it blocks the same client, which then releases it",
     .advice = "leave it, or permit +client|kill, which lets the user close the "
               "connections of every other user"},
    {"tracking-denied", DOCTOR_NOTE, SCOPE_MASTER, test_tracking,
     .meaning = "tracking=on has no effect: a loss is detected at the next renewal, and "
                "a waiter that gets no notification polls",
     .advice = "use RESP3 (Redis 6 or later, no protocol=2 in the URL), and permit "
               "+client|tracking +client|caching"},
    {"labels-denied", DOCTOR_NOTE, SCOPE_MASTER, test_labels,
     .meaning = "status, watch and waiters do not show who a holder is",
     .advice = "permit +set +get +del and ~holdfast_label:* (doctor --acl --for label), or "
               "turn labels off: HOLDFAST_LABEL="},
    {"hello-denied", DOCTOR_NOTE, SCOPE_NODE, doctor_test_at_least,
     .measure = measure_protocol, .limit = 3, .fine_text = "it speaks RESP3",
     .found_text = "it speaks RESP2 (HELLO does not exist)",
     .meaning = "each client needs a second connection, for notifications",
     .advice = "do not rename HELLO; it exists since 6.0"},
    {"ping-denied", DOCTOR_WARNING, SCOPE_NODE, doctor_test_permits, .permissions = {MAY_PING},
     .meaning = "holdfast cannot check that the server is reachable, and refuses to "
                "start",
     .advice = "permit it: +ping"},
    {"keys", DOCTOR_UNSAFE, SCOPE_NODE, test_key_patterns,
     .meaning = "locks with these names cannot be acquired",
     .advice = "add a pattern for their keys: ~NAME"},
    {"channels", DOCTOR_WARNING, SCOPE_MASTER, test_channel_patterns,
     .meaning = "a release of such a lock notifies no waiter: a waiter acquires it only "
                "when it polls, up to a third of the TTL later",
     .advice = "add a pattern for their channels: &redisson_lock__channel:*"},
    {"idle-timeout", DOCTOR_WARNING, SCOPE_NODE, doctor_test_outside,
     .fact = FACT_IDLE_TIMEOUT, .limit = LIMIT_RENEWAL_S,
     .fine_text = "timeout is {} s",
     .found_text = "timeout is {} s, a renewal every {beat} ms", .unseen_text = "timeout",
     .meaning = "the server closes a holder's connection between renewals, so that "
                "each renewal must reconnect",
     .advice = "set timeout 0, or more than a third of the TTL"},
    {"keepalive", DOCTOR_NOTE, SCOPE_NODE, doctor_test_at_least, .fact = FACT_KEEPALIVE,
     .limit = 1, .fine_text = "tcp-keepalive is {} s", .found_text = "tcp-keepalive is 0",
     .unseen_text = "tcp-keepalive",
     .meaning = "connections of dead machines stay open, until maxclients is reached",
     .advice = "set tcp-keepalive 300"},
    {"clients", DOCTOR_WARNING, SCOPE_NODE, test_connections,
     .meaning = "when maxclients is reached, a client that reconnects is refused, and "
                "its locks are lost",
     .advice = "raise maxclients, or find the clients with many connections"},
    {"busy", DOCTOR_NOTE, SCOPE_NODE, doctor_test_within, .fact = FACT_BUSY_MS,
     .limit = LIMIT_RENEWAL_MS, .found_text = "busy-reply-threshold is {} ms",
     .unseen_text = "busy-reply-threshold",
     .meaning = "an endless script is not reported before locks are lost",
     .advice = "set busy-reply-threshold (lua-time-limit before 7.0) to less "
               "than a third of the TTL"},
    {"clock", DOCTOR_WARNING, SCOPE_NODE, test_clock,
     .meaning = "plain locks are not affected, because only the server measures a TTL; "
                "Redisson's fair locks and expirable permits compare its clock with "
                "their own; and a correction of the clock ends leases early or late",
     .advice = "synchronise all clocks by NTP, slewed and not stepped"},
    {"several-servers", DOCTOR_WARNING, SCOPE_NODE, doctor_test_always, leads_to_several_processes,
     .found_text = "connections to this address lead to different servers",
     .meaning = "if two of them are masters, two clients can hold one lock; a replica refuses "
                "requests, which are then repeated",
     .advice = "let the load balancer lead only to the master, or name a master and its "
               "replicas: redis://a,b,c"},
    {0},
};
