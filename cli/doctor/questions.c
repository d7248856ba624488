/* What `holdfast doctor` asks, and what the answers say. */
#include "cli/doctor/questions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

struct text {
    const char *ptr;
    size_t len;
};

static bool get_text(struct hf_resp_value v, struct text *out)
{
    return hf_resp_bytes(v, &out->ptr, &out->len) == HF_OK;
}

static bool get_member(struct hf_resp_value v, const char *key,
                       struct text *out)
{
    struct hf_resp_value member;

    return hf_resp_map_get(v, key, strlen(key), &member) == HF_OK &&
           get_text(member, out);
}

/* What stands before `c` or the end; *from goes on behind it. */
static struct text cut(struct text *from, char c)
{
    const char *at = from->len ? memchr(from->ptr, c, from->len) : NULL;
    struct text head = {from->ptr, at ? (size_t)(at - from->ptr) : from->len};
    size_t used = head.len + (at != NULL);

    from->ptr += used;
    from->len -= used;
    return head;
}

static bool is(struct text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.ptr, word, text.len) == 0;
}

static void set(struct doctor_server *s, int fact, struct text text)
{
    doctor_fact_set(s, (enum doctor_fact)fact, text.ptr, text.len);
}

static bool copy(char *dst, size_t room, struct text text)
{
    if (text.len >= room || (text.len && memchr(text.ptr, '\0', text.len)))
        return false;
    if (text.len)
        memcpy(dst, text.ptr, text.len);
    dst[text.len] = '\0';
    return true;
}

/* ---- INFO, CLUSTER INFO ---- */

static const struct {
    const char *key;
    enum doctor_fact fact;
} lines[] = {
    {"redis_version", FACT_VERSION},
    {"valkey_version", FACT_VALKEY},
    {"cluster_enabled", FACT_CLUSTER_ENABLED},
    {"loading", FACT_LOADING},
    {"async_loading", FACT_ASYNC_LOADING},
    {"role", FACT_ROLE},
    {"master_link_status", FACT_MASTER_LINK},
    {"connected_slaves", FACT_REPLICAS},
    {"used_memory", FACT_USED_MEMORY},
    {"maxmemory", FACT_MAXMEMORY},
    {"maxmemory_policy", FACT_POLICY},
    {"aof_enabled", FACT_AOF},
    {"aof_last_write_status", FACT_AOF_WRITE},
    {"connected_clients", FACT_CLIENTS},
    {"cluster_state", FACT_CLUSTER_STATE},
    {"cluster_current_epoch", FACT_EPOCH},
};

/* "slave0:ip=..,port=..,state=online,offset=..,lag=1": the worst is kept. */
static void read_replica(struct doctor_server *s, struct text line)
{
    int64_t lag, worst = -1;
    char digits[12];

    while (line.len > 0) {
        struct text field = cut(&line, ',');

        if (!is(cut(&field, '='), "lag") || !copy(digits, sizeof digits, field))
            continue;
        lag = strtoll(digits, NULL, 10);
        if (doctor_number(s, FACT_LAG, &worst) && worst >= lag)
            continue;
        free((char *)s->fact[FACT_LAG]);
        s->fact[FACT_LAG] = NULL;
        set(s, FACT_LAG, field);
    }
}

static bool names_replica(struct text key)
{
    return key.len > 5 && memcmp(key.ptr, "slave", 5) == 0 &&
           key.ptr[5] >= '0' && key.ptr[5] <= '9';
}

static void read_line(struct doctor_server *s, struct text line)
{
    struct text key;

    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    key = cut(&line, ':');
    if (names_replica(key))
        read_replica(s, line);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (is(key, lines[i].key))
            set(s, lines[i].fact, line);
}

static void read_lines(struct doctor_facts *facts, struct doctor_server *s,
                       int fact, struct hf_resp_value reply)
{
    struct text all;

    (void)facts;
    (void)fact;
    if (!get_text(reply, &all))
        return;
    while (all.len > 0)
        read_line(s, cut(&all, '\n'));
}

/* ---- single values ---- */

static void read_text(struct doctor_facts *facts, struct doctor_server *s,
                      int fact, struct hf_resp_value reply)
{
    struct text text;

    (void)facts;
    if (get_text(reply, &text))
        set(s, fact, text);
}

/* {name, value}; the name may be another than was asked for. */
static void read_config(struct doctor_facts *facts, struct doctor_server *s,
                        int fact, struct hf_resp_value reply)
{
    struct hf_resp_iter it = hf_resp_children(reply);
    struct hf_resp_value v;

    if (hf_resp_next(&it, &v) && hf_resp_next(&it, &v))
        read_text(facts, s, fact, v);
}

/* Patterns: one string since Redis 7, an array of them before. */
static void read_patterns(struct doctor_server *s, enum doctor_fact fact,
                          struct hf_resp_value user, const char *key)
{
    struct hf_resp_value v;
    struct hf_resp_iter it;
    char joined[512];
    struct text text;
    size_t len = 0;

    if (hf_resp_map_get(user, key, strlen(key), &v) < 0)
        return;
    if (get_text(v, &text)) {
        set(s, fact, text);
        return;
    }
    it = hf_resp_children(v);
    while (hf_resp_next(&it, &v) && get_text(v, &text) &&
           text.len + 2 < sizeof joined - len) {
        if (len > 0)
            joined[len++] = ' ';
        memcpy(joined + len, text.ptr, text.len);
        len += text.len;
    }
    doctor_fact_set(s, fact, joined, len);
}

static void read_user(struct doctor_facts *facts, struct doctor_server *s,
                      int fact, struct hf_resp_value reply)
{
    (void)facts;
    (void)fact;
    read_patterns(s, FACT_ACL_KEYS, reply, "keys");
    read_patterns(s, FACT_ACL_CHANNELS, reply, "channels");
}

/* ---- others ---- */

static struct doctor_server *find(struct doctor_facts *facts, const char *id,
                                  const char *host, uint16_t port,
                                  bool is_sentinel)
{
    for (uint32_t i = 0; i < facts->count; i++) {
        struct doctor_server *s = facts->servers[i];

        if (s->is_sentinel == is_sentinel &&
            ((*id && doctor_is(s, FACT_ID, id)) ||
             (s->port == port && strcmp(s->host, host) == 0)))
            return s;
    }
    return NULL;
}

static struct doctor_server *get(struct doctor_facts *facts, const char *id,
                                 const char *host, uint16_t port,
                                 bool is_sentinel)
{
    struct doctor_server *s = find(facts, id, host, port, is_sentinel);

    if (!s && (s = doctor_server_new(facts, host, port)))
        s->is_sentinel = is_sentinel;
    if (s)
        (void)snprintf(s->id, sizeof s->id, "%s", id);
    return s;
}

/* ---- of a cluster ---- */

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    while (*text++);
    return hash;
}

static void look_at_slot(struct doctor_server *s,
                         const struct hf_cluster_view *view, uint16_t slot)
{
    int owner = hf_cluster_view_owner(view, slot);
    const char *id = "";

    if (owner >= 0) {
        id = hf_cluster_view_node(view, (uint32_t)owner).id;
        s->view.covered++;
    }
    s->view.digest = mix(s->view.digest, id);
    if (*id && doctor_is(s, FACT_ID, id))
        s->view.own[slot / 8] |= (uint8_t)(1 << slot % 8);
}

static void look_at_node(struct doctor_facts *facts, struct doctor_server *s,
                         struct hf_cluster_node node)
{
    struct doctor_server *other;

    if (!node.host[0] || node.port == 0) {
        s->view.nowhere++;
        return;
    }
    other = get(facts, node.id, node.host, node.port, false);
    if (!other)
        return;
    other->said = node.master ? SAID_REPLICA : SAID_MASTER;
    (void)snprintf(other->master_id, sizeof other->master_id, "%s",
                   node.master ? node.master : "");
}

static void read_slots(struct doctor_facts *facts, struct doctor_server *s,
                       int is_tls, struct hf_resp_value reply)
{
    struct hf_cluster_view *view;

    if (hf_cluster_view_read(&view, &hf_mem_libc, s->host, is_tls == 1, reply,
                             NULL) != HF_OK)
        return;
    s->view.is_known = true;
    for (unsigned slot = 0; slot < HF_SLOTS; slot++)
        look_at_slot(s, view, (uint16_t)slot);
    for (uint32_t i = 0; i < hf_cluster_view_count(view); i++)
        look_at_node(facts, s, hf_cluster_view_node(view, i));
    hf_cluster_view_free(view);
}

static bool says_failed(struct text flags)
{
    while (flags.len > 0) {
        struct text flag = cut(&flags, ',');

        if (is(flag, "fail") || is(flag, "fail?"))
            return true;
    }
    return false;
}

/* "id host:port@bus[,name] flags ..." a line. */
static void read_nodes(struct doctor_facts *facts, struct doctor_server *s,
                       int fact, struct hf_resp_value reply)
{
    char failed[256] = "";
    struct text all;
    size_t len = 0;

    (void)facts;
    if (!get_text(reply, &all))
        return;
    while (all.len > 0) {
        struct text line = cut(&all, '\n'), address;

        (void)cut(&line, ' ');
        address = cut(&line, ' ');
        address = cut(&address, '@');
        if (!says_failed(cut(&line, ' ')) ||
            len + address.len + 3 > sizeof failed)
            continue;
        len += (size_t)snprintf(failed + len, sizeof failed - len, "%s%.*s",
                                len ? ", " : "", (int)address.len, address.ptr);
    }
    doctor_fact_set(s, (enum doctor_fact)fact, failed, len);
}

/* ---- of sentinels ---- */

static bool get_endpoint(struct hf_resp_value entry, char host[256],
                         uint16_t *port)
{
    struct text ip, digits;
    char number[8], *end;
    unsigned long n;

    if (!get_member(entry, "ip", &ip) || !get_member(entry, "port", &digits) ||
        !copy(host, 256, ip) || !*host || !copy(number, sizeof number, digits))
        return false;
    n = strtoul(number, &end, 10);
    if (*end || n == 0 || n > UINT16_MAX)
        return false;
    *port = (uint16_t)n;
    return true;
}

static const struct {
    const char *key;
    enum doctor_fact fact;
} members[] = {
    {"quorum", FACT_QUORUM},
    {"num-other-sentinels", FACT_OTHER_SENTINELS},
    {"down-after-milliseconds", FACT_DOWN_AFTER},
};

static void read_master(struct doctor_facts *facts, struct doctor_server *s,
                        int fact, struct hf_resp_value reply)
{
    struct doctor_server *master;
    char host[256];
    struct text text;
    uint16_t port;

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (get_member(reply, members[i].key, &text))
            set(s, members[i].fact, text);
    if (!get_endpoint(reply, host, &port) ||
        !(master = get(facts, "", host, port, false)))
        return;
    master->said = SAID_MASTER;
    doctor_fact_set(s, (enum doctor_fact)fact, master->address,
                    strlen(master->address));
}

static void read_replicas(struct doctor_facts *facts, struct doctor_server *s,
                          int fact, struct hf_resp_value reply)
{
    struct hf_resp_iter it = hf_resp_children(reply);
    struct doctor_server *replica;
    struct hf_resp_value entry;
    char host[256];
    uint16_t port;

    (void)s;
    (void)fact;
    while (hf_resp_next(&it, &entry))
        if (get_endpoint(entry, host, &port) &&
            (replica = get(facts, "", host, port, false)) &&
            replica->said == SAID_NOTHING)
            replica->said = SAID_REPLICA;
}

static void read_sentinels(struct doctor_facts *facts, struct doctor_server *s,
                           int fact, struct hf_resp_value reply)
{
    struct hf_resp_iter it = hf_resp_children(reply);
    struct hf_resp_value entry;
    struct text text;
    char host[256], id[72];
    uint16_t port;

    (void)s;
    (void)fact;
    while (hf_resp_next(&it, &entry))
        if (get_endpoint(entry, host, &port))
            (void)get(facts,
                      get_member(entry, "runid", &text) &&
                              copy(id, sizeof id, text)
                          ? id
                          : "",
                      host, port, true);
}

/* ---- what an error says ---- */

static bool has(struct text text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* Servers word it differently. A user's name stands only where a command
 * does. */
static int denied(struct text words)
{
    if (has(words, " run the "))
        return MAY_NO_COMMAND;
    if (has(words, "channel"))
        return MAY_NO_CHANNEL;
    return has(words, "key") ? MAY_NO_KEY : MAY_NO_COMMAND;
}

/* These come of how the question was put, or say that the command is known. */
static bool is_expected(struct text words)
{
    static const char *const expected[] = {
        "NOSCRIPT", "MOVED ", "ASK ", "TRYAGAIN",
        "ERR wrong number", "ERR value is not", "ERR No such client",
        "CROSSSLOT"};

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (words.len >= strlen(expected[i]) &&
            memcmp(words.ptr, expected[i], strlen(expected[i])) == 0)
            return true;
    return false;
}

static int kind_of(struct hf_resp_value error, struct text words)
{
    if (hf_resp_error_is(error, "NOPERM"))
        return denied(words);
    if (has(words, "ERR unknown ") || has(words, "ERR Unknown "))
        return MAY_UNKNOWN;
    return is_expected(words) ? MAY_DO : MAY_REFUSED;
}

struct doctor_answer doctor_answer_read(struct hf_resp_value reply)
{
    struct doctor_answer answer = {.is = MAY_DO};
    struct text words = {"", 0};

    if (!hf_resp_is_error(reply))
        return answer;
    (void)get_text(reply, &words);
    answer.is = kind_of(reply, words);
    (void)hf_error_quote(answer.words, sizeof answer.words, words.ptr,
                         words.len);
    return answer;
}

/* ---- the questions ---- */

#define NONE (-1)
#define IS_TLS (-2)             /* in place of a fact: over what is asked */

const struct doctor_question doctor_questions[] = {
    {ASK_ALL, MAY_INFO, NONE, read_lines, "INFO"},
    {ASK_ALL, MAY_PING, NONE, NULL, "PING"},

    {ASK_NODE, MAY_CONFIG, FACT_SAVE, read_config, "CONFIG GET save"},
    {ASK_NODE, NONE, FACT_POLICY, read_config, "CONFIG GET maxmemory-policy"},
    {ASK_NODE, NONE, FACT_MAXMEMORY, read_config, "CONFIG GET maxmemory"},
    {ASK_NODE, NONE, FACT_FSYNC, read_config, "CONFIG GET appendfsync"},
    {ASK_NODE, NONE, FACT_MIN_REPLICAS, read_config,
     "CONFIG GET min-slaves-to-write"},
    {ASK_NODE, NONE, FACT_READ_ONLY, read_config, "CONFIG GET slave-read-only"},
    {ASK_NODE, NONE, FACT_IDLE_TIMEOUT, read_config, "CONFIG GET timeout"},
    {ASK_NODE, NONE, FACT_KEEPALIVE, read_config, "CONFIG GET tcp-keepalive"},
    {ASK_NODE, NONE, FACT_BUSY_MS, read_config, "CONFIG GET lua-time-limit"},
    {ASK_NODE, NONE, FACT_MAXCLIENTS, read_config, "CONFIG GET maxclients"},
    {ASK_IN_CLUSTER, NONE, FACT_FULL_COVERAGE, read_config,
     "CONFIG GET cluster-require-full-coverage"},
    {ASK_IN_CLUSTER, NONE, FACT_NODE_TIMEOUT, read_config,
     "CONFIG GET cluster-node-timeout"},

    {ASK_NODE, NONE, FACT_ACL_USER, read_text, "ACL WHOAMI"},
    {ASK_NODE, NONE, NONE, read_user, "ACL GETUSER USER"},

    {ASK_NODE, MAY_EVALSHA, NONE, NULL,
     "EVALSHA 0000000000000000000000000000000000000000 0"},
    {ASK_NODE, MAY_EVAL, NONE, NULL, "EVAL return(1) 0"},
    {ASK_NODE, MAY_EXISTS, NONE, NULL, "EXISTS KEY"},
    {ASK_NODE, MAY_HEXISTS, NONE, NULL, "HEXISTS KEY field"},
    {ASK_NODE, MAY_HSET, NONE, NULL, "HSET KEY field value odd"},
    {ASK_NODE, MAY_PEXPIRE, NONE, NULL, "PEXPIRE KEY never"},
    {ASK_NODE, MAY_HSCAN, NONE, NULL, "HSCAN KEY 0"},
    {ASK_NODE, MAY_PTTL, NONE, NULL, "PTTL KEY"},
    {ASK_NODE, MAY_DEL, NONE, NULL, "DEL SCRATCH"},
    {ASK_NODE, MAY_HGET, NONE, NULL, "HGET KEY field"},
    {ASK_NODE, MAY_HLEN, NONE, NULL, "HLEN KEY"},
    {ASK_NODE, MAY_PUBLISH, NONE, NULL, "PUBLISH SCRATCH-CHANNEL 0"},
    {ASK_IN_CLUSTER, MAY_SPUBLISH, NONE, NULL, "SPUBLISH SCRATCH-CHANNEL 0"},
    {ASK_NODE, MAY_WAIT, NONE, NULL, "WAIT 0 0"},
    {ASK_NODE, MAY_CLIENT_ID, NONE, NULL, "CLIENT ID"},
    {ASK_NODE, MAY_KILL, NONE, NULL, "CLIENT KILL ID 9223372036854775807"},
    {ASK_NODE, MAY_ROLE, NONE, NULL, "ROLE"},
    {ASK_ALL, MAY_TIME, NONE, NULL, "TIME"},

    /* Who it is, before what it says of all. */
    {ASK_IN_CLUSTER, NONE, FACT_ID, read_text, "CLUSTER MYID"},
    {ASK_IN_CLUSTER, NONE, NONE, read_lines, "CLUSTER INFO"},
    {ASK_IN_CLUSTER, MAY_CLUSTER_SLOTS, IS_TLS, read_slots, "CLUSTER SLOTS"},
    {ASK_IN_CLUSTER, NONE, FACT_FAILED_NODES, read_nodes, "CLUSTER NODES"},
    {ASK_IN_CLUSTER, MAY_SHARDNUMSUB, NONE, NULL, "PUBSUB SHARDNUMSUB 0"},

    {ASK_SENTINEL, NONE, FACT_ID, read_text, "SENTINEL MYID"},
    {ASK_SENTINEL, MAY_SENTINEL_MASTER, FACT_MASTER, read_master,
     "SENTINEL MASTER MASTER"},
    {ASK_SENTINEL, NONE, NONE, read_replicas, "SENTINEL REPLICAS MASTER"},
    {ASK_SENTINEL, NONE, NONE, read_sentinels, "SENTINEL SENTINELS MASTER"},
    {ASK_SENTINEL, NONE, FACT_CKQUORUM, read_text, "SENTINEL CKQUORUM MASTER"},

    {ASK_NODE, MAY_SUBSCRIBE, NONE, NULL, "SUBSCRIBE CHANNEL"},
    {ASK_IN_CLUSTER, MAY_SSUBSCRIBE, NONE, NULL, "SSUBSCRIBE CHANNEL"},
};

const size_t doctor_question_count =
    sizeof doctor_questions / sizeof *doctor_questions;

bool doctor_question_subscribes(const struct doctor_question *q)
{
    return q->deed == MAY_SUBSCRIBE || q->deed == MAY_SSUBSCRIBE;
}

bool doctor_question_is_for(const struct doctor_question *q,
                            const struct doctor_facts *facts,
                            const struct doctor_server *s)
{
    unsigned kind = s->is_sentinel ? ASK_SENTINEL : ASK_NODE;

    if (kind == ASK_NODE && facts->topology == HF_CLUSTER)
        kind |= ASK_IN_CLUSTER;
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

/* The first word is a command, also where it is spelled like a name. */
size_t doctor_question_words(const struct doctor_question *q,
                             const struct doctor_names *names,
                             struct hf_resp_arg argv[DOCTOR_WORDS_MAX])
{
    size_t argc = 0;
    /* "SENTINEL MASTER MASTER": the second word is one of Redis, too. */
    size_t literal = q->who == ASK_SENTINEL ? 2 : 1;

    for (const char *at = q->words; *at && argc < DOCTOR_WORDS_MAX; argc++) {
        size_t len = strcspn(at, " ");

        argv[argc] = argc < literal ? (struct hf_resp_arg){at, len}
                                    : argument(at, len, names);
        at += len + (at[len] == ' ');
    }
    return argc;
}

/* The words of CKQUORUM's error are what it was asked for. */
static bool is_wanted(const struct doctor_question *q,
                      struct hf_resp_value reply)
{
    return !hf_resp_is_error(reply) ||
           (q->fact == FACT_CKQUORUM && hf_resp_error_is(reply, "NOQUORUM"));
}

#define SECONDS_MAX INT64_C(95617584000) /* the year 5000 */

/* Decimal digits, of a number up to `max`. */
static bool get_number(struct hf_resp_value array, size_t index, int64_t max,
                       int64_t *out)
{
    struct hf_resp_value v;
    size_t len;
    const char *ptr;

    if (hf_resp_element(array, index, &v) < 0 ||
        hf_resp_bytes(v, &ptr, &len) < 0 || len == 0 || len > 12)
        return false;
    *out = 0;
    for (size_t i = 0; i < len; i++) {
        if (ptr[i] < '0' || ptr[i] > '9')
            return false;
        *out = *out * 10 + (ptr[i] - '0');
    }
    return *out <= max;
}

bool doctor_time_read(struct hf_resp_value reply, int64_t *us)
{
    int64_t s, rest;

    if (!get_number(reply, 0, SECONDS_MAX, &s) ||
        !get_number(reply, 1, 999999, &rest))
        return false;
    *us = s * 1000000 + rest;
    return true;
}

void doctor_question_read(const struct doctor_question *q,
                          struct doctor_facts *facts, struct doctor_server *s,
                          struct hf_resp_value reply)
{
    if (q->deed >= 0)
        s->may[q->deed] = doctor_answer_read(reply);
    if (q->read && is_wanted(q, reply))
        q->read(facts, s, q->fact == IS_TLS ? facts->is_tls : q->fact, reply);
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
