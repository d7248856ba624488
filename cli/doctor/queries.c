/* The requests of `holdfast doctor`. */
/* Tests: tests/test_cli_doctor.c, tests/live/cli/test_doctor.c. */
#include "cli/doctor/queries.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/url.h"
#include "net/route/cluster_view.h"

#include <stdio.h>
#include <string.h>

const struct doctor_query doctor_queries[] = {
    {TO_ALL, "INFO", .permission = MAY_INFO, .read_reply = doctor_read_lines},
    {TO_ALL, "PING", .permission = MAY_PING},

    {TO_NODE, "CONFIG GET save", .permission = MAY_CONFIG, .fact = FACT_SAVE,
     .read_reply = doctor_read_config},
    {TO_NODE, "CONFIG GET maxmemory-policy", .fact = FACT_POLICY,
     .read_reply = doctor_read_config},
    {TO_NODE, "CONFIG GET maxmemory", .fact = FACT_MAXMEMORY,
     .read_reply = doctor_read_config},
    {TO_NODE, "CONFIG GET appendfsync", .fact = FACT_FSYNC,
     .read_reply = doctor_read_config},
    {TO_NODE, "CONFIG GET min-slaves-to-write", .fact = FACT_MIN_REPLICAS,
     .read_reply = doctor_read_config},
    {TO_NODE, "CONFIG GET slave-read-only", .fact = FACT_READ_ONLY,
     .read_reply = doctor_read_config},
    {TO_NODE, "CONFIG GET timeout", .fact = FACT_IDLE_TIMEOUT,
     .read_reply = doctor_read_config},
    {TO_NODE, "CONFIG GET tcp-keepalive", .fact = FACT_KEEPALIVE,
     .read_reply = doctor_read_config},
    {TO_NODE, "CONFIG GET lua-time-limit", .fact = FACT_BUSY_MS,
     .read_reply = doctor_read_config},
    {TO_NODE, "CONFIG GET maxclients", .fact = FACT_MAXCLIENTS,
     .read_reply = doctor_read_config},
    {TO_CLUSTER_NODE, "CONFIG GET cluster-require-full-coverage",
     .fact = FACT_FULL_COVERAGE, .read_reply = doctor_read_config},
    {TO_CLUSTER_NODE, "CONFIG GET cluster-node-timeout",
     .fact = FACT_NODE_TIMEOUT, .read_reply = doctor_read_config},

    {TO_NODE, "ACL WHOAMI", .fact = FACT_ACL_USER, .read_reply = doctor_read_text},
    {TO_NODE, "ACL GETUSER USER", .read_reply = doctor_read_user},

    {TO_NODE, "EVALSHA 0000000000000000000000000000000000000000 0",
     .permission = MAY_EVALSHA},
    {TO_NODE, "EVAL return(1) 0", .permission = MAY_EVAL},
    {TO_NODE, "EXISTS KEY", .permission = MAY_EXISTS},
    {TO_NODE, "HEXISTS KEY field", .permission = MAY_HEXISTS},
    {TO_NODE, "HSET KEY field value odd", .permission = MAY_HSET},
    {TO_NODE, "PEXPIRE KEY never", .permission = MAY_PEXPIRE},
    {TO_NODE, "HSCAN KEY 0 MATCH SCRATCH", .permission = MAY_HSCAN},
    {TO_NODE, "PTTL KEY", .permission = MAY_PTTL},
    {TO_NODE, "DEL SCRATCH", .permission = MAY_DEL},
    {TO_NODE, "HGET KEY SCRATCH", .permission = MAY_HGET},
    {TO_NODE, "HLEN KEY", .permission = MAY_HLEN},
    {TO_NODE, "EVAL return(redis.pcall('exists','{'..KEYS[1]..'}:derived')) 1 SCRATCH",
     .permission = MAY_DERIVE},
    {TO_NODE, "PUBLISH SCRATCH-CHANNEL 0", .permission = MAY_PUBLISH},
    {TO_CLUSTER_NODE, "SPUBLISH SCRATCH-CHANNEL 0", .permission = MAY_SPUBLISH},
    {TO_NODE, "WAIT 0 0", .permission = MAY_WAIT},
    {TO_NODE, "CLIENT ID", .permission = MAY_CLIENT_ID},
    {TO_NODE, "CLIENT TRACKING ON OPTIN NOLOOP", .permission = MAY_TRACKING},
    {TO_NODE, "CLIENT CACHING YES", .permission = MAY_CACHING},
    {TO_NODE, "SET holdfast_label:doctor x PX 0", .permission = MAY_SET_LABEL},
    {TO_NODE, "GET holdfast_label:doctor", .permission = MAY_GET_LABEL},
    {TO_NODE, "CLIENT KILL ID 9223372036854775807", .permission = MAY_KILL},
    {TO_NODE, "ROLE", .permission = MAY_ROLE},
    {TO_ALL, "TIME", .permission = MAY_TIME},

    /* Its id, before what it says of all nodes. */
    {TO_CLUSTER_NODE, "CLUSTER MYID", .fact = FACT_ID, .read_reply = doctor_read_text},
    {TO_CLUSTER_NODE, "CLUSTER INFO", .read_reply = doctor_read_lines},
    {TO_CLUSTER_NODE, "CLUSTER SLOTS", .permission = MAY_CLUSTER_SLOTS,
     .read_reply = doctor_read_slots},
    {TO_CLUSTER_NODE, "CLUSTER NODES", .fact = FACT_FAILED_NODES,
     .read_reply = doctor_read_nodes},
    {TO_CLUSTER_NODE, "PUBSUB SHARDNUMSUB 0", .permission = MAY_SHARDNUMSUB},

    {TO_SENTINEL, "SENTINEL MYID", .fact = FACT_ID, .read_reply = doctor_read_text},
    {TO_SENTINEL, "SENTINEL MASTER MASTER", .permission = MAY_SENTINEL_MASTER,
     .fact = FACT_MASTER, .read_reply = doctor_read_master},
    {TO_SENTINEL, "SENTINEL REPLICAS MASTER", .read_reply = doctor_read_replicas},
    {TO_SENTINEL, "SENTINEL SENTINELS MASTER", .read_reply = doctor_read_sentinels},
    {TO_SENTINEL, "SENTINEL CKQUORUM MASTER", .fact = FACT_CKQUORUM,
     .read_reply = doctor_read_text},

    {TO_NODE, "SUBSCRIBE CHANNEL", .permission = MAY_SUBSCRIBE},
    {TO_CLUSTER_NODE, "SSUBSCRIBE CHANNEL", .permission = MAY_SSUBSCRIBE},
};

const size_t doctor_query_count =
    sizeof doctor_queries / sizeof *doctor_queries;

bool doctor_query_subscribes(const struct doctor_query *q)
{
    return q->permission == MAY_SUBSCRIBE || q->permission == MAY_SSUBSCRIBE;
}

bool doctor_query_is_for(const struct doctor_query *q,
                         const struct doctor_facts *facts,
                         const struct doctor_server *s)
{
    unsigned kind = s->is_sentinel ? TO_SENTINEL : TO_NODE;

    if (kind == TO_NODE && facts->topology == HF_CLUSTER)
        kind |= TO_CLUSTER_NODE;
    if (!facts->is_tracking &&
        (q->permission == MAY_TRACKING || q->permission == MAY_CACHING))
        return false;
    return (q->targets & kind) != 0;
}

static struct hf_resp_arg argument_for_word(const char *word, size_t len,
                                            const struct doctor_query_names *names)
{
    const struct {
        const char *name, *value;
    } table[] = {
        {"KEY", names->key},
        {"CHANNEL", names->channel},
        {"SCRATCH", names->unused_key},
        {"SCRATCH-CHANNEL", names->unused_channel},
        {"USER", names->user},
        {"MASTER", names->master},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (len == strlen(table[i].name) &&
            memcmp(word, table[i].name, len) == 0)
            return (struct hf_resp_arg){table[i].value,
                                        strlen(table[i].value)};
    return (struct hf_resp_arg){word, len};
}

/* Replaces names by their values, but never the command itself. */
size_t doctor_query_put_words(const struct doctor_query *q,
                              const struct doctor_query_names *names,
                              struct hf_resp_arg argv[DOCTOR_WORDS_MAX])
{
    size_t argc = 0;
    /* "SENTINEL MASTER MASTER": the second word belongs to the command. */
    size_t literal = q->targets == TO_SENTINEL ? 2 : 1;

    for (const char *at = q->words; *at && argc < DOCTOR_WORDS_MAX; argc++) {
        size_t len = strcspn(at, " ");

        argv[argc] = argc < literal ? (struct hf_resp_arg){at, len}
                                    : argument_for_word(at, len, names);
        at += len + (at[len] == ' ');
    }
    return argc;
}

/* The reply to CKQUORUM is an error if there is no quorum. */
static bool is_reply_readable(const struct doctor_query *q,
                              struct hf_resp_value reply)
{
    return !hf_resp_is_error(reply) ||
           (q->fact == FACT_CKQUORUM && hf_resp_error_is(reply, "NOQUORUM"));
}

void doctor_query_read(const struct doctor_query *q,
                       struct doctor_facts *facts, struct doctor_server *s,
                       struct hf_resp_value value)
{
    struct doctor_reply reply = {value, q->fact, s, facts};

    if (q->permission)
        s->permissions[q->permission] = doctor_answer_read(value);
    if (q->read_reply && is_reply_readable(q, value))
        q->read_reply(&reply);
}

char *doctor_channel(const char *name)
{
    bool is_bare = strchr(name, '{') != NULL;
    char *channel;

    if (asprintf(&channel, is_bare ? "redisson_lock__channel:%s"
                                   : "redisson_lock__channel:{%s}",
                 name) < 0)
        return NULL;
    return channel;
}
