/* What `holdfast doctor` knows of the servers that it looked at. */
/* Tests: tests/test_cli_doctor.c. */
#include "cli/doctor/facts.h"
#include "net/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one fact. Longer ones (patterns of an ACL) are cut. */
#define FACT_MAX 256

const char *const doctor_permission_names[DOCTOR_PERMISSIONS] = {
    [MAY_NONE] = "",
    [MAY_PING] = "PING",
    [MAY_EVALSHA] = "EVALSHA",
    [MAY_EVAL] = "EVAL",
    [MAY_EXISTS] = "EXISTS",
    [MAY_HEXISTS] = "HEXISTS",
    [MAY_HSET] = "HSET",
    [MAY_PEXPIRE] = "PEXPIRE",
    [MAY_HSCAN] = "HSCAN",
    [MAY_PTTL] = "PTTL",
    [MAY_DEL] = "DEL",
    [MAY_HGET] = "HGET",
    [MAY_HLEN] = "HLEN",
    [MAY_DERIVE] = "EVAL",
    [MAY_PUBLISH] = "PUBLISH",
    [MAY_SPUBLISH] = "SPUBLISH",
    [MAY_SUBSCRIBE] = "SUBSCRIBE",
    [MAY_SSUBSCRIBE] = "SSUBSCRIBE",
    [MAY_WAIT] = "WAIT",
    [MAY_KILL] = "CLIENT KILL",
    [MAY_CLIENT_ID] = "CLIENT ID",
    [MAY_TRACKING] = "CLIENT TRACKING",
    [MAY_CACHING] = "CLIENT CACHING",
    [MAY_SET_LABEL] = "SET",
    [MAY_GET_LABEL] = "GET",
    [MAY_INFO] = "INFO",
    [MAY_CONFIG] = "CONFIG GET",
    [MAY_TIME] = "TIME",
    [MAY_ROLE] = "ROLE",
    [MAY_CLUSTER_SLOTS] = "CLUSTER SLOTS",
    [MAY_SHARDNUMSUB] = "PUBSUB SHARDNUMSUB",
    [MAY_SENTINEL_MASTER] = "SENTINEL MASTER",
};

void doctor_facts_fini(struct doctor_facts *facts)
{
    for (uint32_t i = 0; i < facts->servers_count; i++) {
        for (int f = 0; f < DOCTOR_FACTS; f++)
            free((char *)facts->servers[i]->facts[f]);
        free(facts->servers[i]);
    }
    facts->servers_count = 0;
}

static void make_address(struct doctor_server *s)
{
    const char *form = strchr(s->host, ':') ? "[%s]:%u" : "%s:%u";

    (void)snprintf(s->address, sizeof s->address, form, s->host,
                   (unsigned)s->port);
}

struct doctor_server *doctor_server_new(struct doctor_facts *facts,
                                        const char *host, uint16_t port)
{
    struct doctor_server *s;

    facts->has_more_servers = facts->has_more_servers || facts->servers_count == DOCTOR_SERVERS_MAX;
    if (facts->servers_count == DOCTOR_SERVERS_MAX || !(s = calloc(1, sizeof *s)))
        return NULL;
    (void)snprintf(s->host, sizeof s->host, "%s", host);
    s->port = port;
    s->master_index = -1;
    make_address(s);
    facts->servers[facts->servers_count++] = s;
    return s;
}

void doctor_fact_set(struct doctor_server *s, enum doctor_fact fact,
                     const char *ptr, size_t len)
{
    char quoted[FACT_MAX];

    if (!s->facts[fact])
        s->facts[fact] =
            strdup(hf_error_quote(quoted, sizeof quoted, ptr, len));
}

bool doctor_fact_number(const struct doctor_server *s, enum doctor_fact fact,
                        int64_t *out)
{
    const char *text = s->facts[fact];
    char *end;
    long long n;

    if (!text || !*text)
        return false;
    errno = 0;
    n = strtoll(text, &end, 10);
    if (errno || *end)
        return false;
    *out = n;
    return true;
}

bool doctor_fact_is(const struct doctor_server *s, enum doctor_fact fact,
                    const char *text)
{
    return s->facts[fact] && strcmp(s->facts[fact], text) == 0;
}

bool doctor_is_master(const struct doctor_server *s)
{
    if (s->is_sentinel)
        return false;
    if (s->facts[FACT_ROLE])
        return doctor_fact_is(s, FACT_ROLE, "master");
    return s->role_said_by_others != SAID_REPLICA;
}
