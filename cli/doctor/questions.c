/* The requests of `holdfast doctor`. */
/* Tests: tests/test_cli_doctor.c, tests/live/cli/test_doctor.c. */
#include "cli/doctor/questions.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/url.h"
#include "net/route/cluster_view.h"

#include <stdio.h>
#include <string.h>

const struct doctor_question doctor_questions[] = {
    {ASK_ALL, "INFO", .permission = MAY_INFO, .read = doctor_read_lines},
    {ASK_ALL, "PING", .permission = MAY_PING},

    {ASK_NODE, "CONFIG GET save", .permission = MAY_CONFIG, .fact = FACT_SAVE,
     .read = doctor_read_config},
    {ASK_NODE, "CONFIG GET maxmemory-policy", .fact = FACT_POLICY,
     .read = doctor_read_config},
    {ASK_NODE, "CONFIG GET maxmemory", .fact = FACT_MAXMEMORY,
     .read = doctor_read_config},
    {ASK_NODE, "CONFIG GET appendfsync", .fact = FACT_FSYNC,
     .read = doctor_read_config},
    {ASK_NODE, "CONFIG GET min-slaves-to-write", .fact = FACT_MIN_REPLICAS,
     .read = doctor_read_config},
    {ASK_NODE, "CONFIG GET slave-read-only", .fact = FACT_READ_ONLY,
     .read = doctor_read_config},
    {ASK_NODE, "CONFIG GET timeout", .fact = FACT_IDLE_TIMEOUT,
     .read = doctor_read_config},
    {ASK_NODE, "CONFIG GET tcp-keepalive", .fact = FACT_KEEPALIVE,
     .read = doctor_read_config},
    {ASK_NODE, "CONFIG GET lua-time-limit", .fact = FACT_BUSY_MS,
     .read = doctor_read_config},
    {ASK_NODE, "CONFIG GET maxclients", .fact = FACT_MAXCLIENTS,
     .read = doctor_read_config},
    {ASK_IN_CLUSTER, "CONFIG GET cluster-require-full-coverage",
     .fact = FACT_FULL_COVERAGE, .read = doctor_read_config},
    {ASK_IN_CLUSTER, "CONFIG GET cluster-node-timeout",
     .fact = FACT_NODE_TIMEOUT, .read = doctor_read_config},

    {ASK_NODE, "ACL WHOAMI", .fact = FACT_ACL_USER, .read = doctor_read_text},
    {ASK_NODE, "ACL GETUSER USER", .read = doctor_read_user},

    {ASK_NODE, "EVALSHA 0000000000000000000000000000000000000000 0",
     .permission = MAY_EVALSHA},
    {ASK_NODE, "EVAL return(1) 0", .permission = MAY_EVAL},
    {ASK_NODE, "EXISTS KEY", .permission = MAY_EXISTS},
    {ASK_NODE, "HEXISTS KEY field", .permission = MAY_HEXISTS},
    {ASK_NODE, "HSET KEY field value odd", .permission = MAY_HSET},
    {ASK_NODE, "PEXPIRE KEY never", .permission = MAY_PEXPIRE},
    {ASK_NODE, "HSCAN KEY 0 MATCH SCRATCH", .permission = MAY_HSCAN},
    {ASK_NODE, "PTTL KEY", .permission = MAY_PTTL},
    {ASK_NODE, "DEL SCRATCH", .permission = MAY_DEL},
    {ASK_NODE, "HGET KEY SCRATCH", .permission = MAY_HGET},
    {ASK_NODE, "HLEN KEY", .permission = MAY_HLEN},
    {ASK_NODE, "EVAL return(redis.pcall('exists','{'..KEYS[1]..'}:derived')) 1 SCRATCH",
     .permission = MAY_DERIVE},
    {ASK_NODE, "PUBLISH SCRATCH-CHANNEL 0", .permission = MAY_PUBLISH},
    {ASK_IN_CLUSTER, "SPUBLISH SCRATCH-CHANNEL 0", .permission = MAY_SPUBLISH},
    {ASK_NODE, "WAIT 0 0", .permission = MAY_WAIT},
    {ASK_NODE, "CLIENT ID", .permission = MAY_CLIENT_ID},
    {ASK_NODE, "CLIENT TRACKING ON OPTIN NOLOOP", .permission = MAY_TRACKING},
    {ASK_NODE, "CLIENT CACHING YES", .permission = MAY_CACHING},
    {ASK_NODE, "CLIENT KILL ID 9223372036854775807", .permission = MAY_KILL},
    {ASK_NODE, "ROLE", .permission = MAY_ROLE},
    {ASK_ALL, "TIME", .permission = MAY_TIME},

    /* Its id, before what it says of all nodes. */
    {ASK_IN_CLUSTER, "CLUSTER MYID", .fact = FACT_ID, .read = doctor_read_text},
    {ASK_IN_CLUSTER, "CLUSTER INFO", .read = doctor_read_lines},
    {ASK_IN_CLUSTER, "CLUSTER SLOTS", .permission = MAY_CLUSTER_SLOTS,
     .read = doctor_read_slots},
    {ASK_IN_CLUSTER, "CLUSTER NODES", .fact = FACT_FAILED_NODES,
     .read = doctor_read_nodes},
    {ASK_IN_CLUSTER, "PUBSUB SHARDNUMSUB 0", .permission = MAY_SHARDNUMSUB},

    {ASK_SENTINEL, "SENTINEL MYID", .fact = FACT_ID, .read = doctor_read_text},
    {ASK_SENTINEL, "SENTINEL MASTER MASTER", .permission = MAY_SENTINEL_MASTER,
     .fact = FACT_MASTER, .read = doctor_read_master},
    {ASK_SENTINEL, "SENTINEL REPLICAS MASTER", .read = doctor_read_replicas},
    {ASK_SENTINEL, "SENTINEL SENTINELS MASTER", .read = doctor_read_sentinels},
    {ASK_SENTINEL, "SENTINEL CKQUORUM MASTER", .fact = FACT_CKQUORUM,
     .read = doctor_read_text},

    {ASK_NODE, "SUBSCRIBE CHANNEL", .permission = MAY_SUBSCRIBE},
    {ASK_IN_CLUSTER, "SSUBSCRIBE CHANNEL", .permission = MAY_SSUBSCRIBE},
};

const size_t doctor_question_count =
    sizeof doctor_questions / sizeof *doctor_questions;

bool doctor_question_subscribes(const struct doctor_question *q)
{
    return q->permission == MAY_SUBSCRIBE || q->permission == MAY_SSUBSCRIBE;
}

bool doctor_question_is_for(const struct doctor_question *q,
                            const struct doctor_facts *facts,
                            const struct doctor_server *s)
{
    unsigned kind = s->is_sentinel ? ASK_SENTINEL : ASK_NODE;

    if (kind == ASK_NODE && facts->topology == HF_CLUSTER)
        kind |= ASK_IN_CLUSTER;
    if (!facts->is_tracking &&
        (q->permission == MAY_TRACKING || q->permission == MAY_CACHING))
        return false;
    return (q->who & kind) != 0;
}

static struct hf_resp_arg argument(const char *word, size_t len,
                                   const struct doctor_names *names)
{
    const struct {
        const char *name, *value;
    } table[] = {
        {"KEY", names->key},
        {"CHANNEL", names->channel},
        {"SCRATCH", names->scratch},
        {"SCRATCH-CHANNEL", names->scratch_channel},
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
size_t doctor_question_words(const struct doctor_question *q,
                             const struct doctor_names *names,
                             struct hf_resp_arg argv[DOCTOR_WORDS_MAX])
{
    size_t argc = 0;
    /* "SENTINEL MASTER MASTER": the second word belongs to the command. */
    size_t literal = q->who == ASK_SENTINEL ? 2 : 1;

    for (const char *at = q->words; *at && argc < DOCTOR_WORDS_MAX; argc++) {
        size_t len = strcspn(at, " ");

        argv[argc] = argc < literal ? (struct hf_resp_arg){at, len}
                                    : argument(at, len, names);
        at += len + (at[len] == ' ');
    }
    return argc;
}

/* CKQUORUM answers with an error when there is no quorum. */
static bool is_wanted(const struct doctor_question *q,
                      struct hf_resp_value reply)
{
    return !hf_resp_is_error(reply) ||
           (q->fact == FACT_CKQUORUM && hf_resp_error_is(reply, "NOQUORUM"));
}

void doctor_question_read(const struct doctor_question *q,
                          struct doctor_facts *facts, struct doctor_server *s,
                          struct hf_resp_value value)
{
    struct doctor_reply reply = {value, q->fact, s, facts};

    if (q->permission)
        s->may[q->permission] = doctor_answer_read(value);
    if (q->read && is_wanted(q, value))
        q->read(&reply);
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
