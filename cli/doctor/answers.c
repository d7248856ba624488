/* What servers answer to `holdfast doctor`, read into facts. */
/* Tests: tests/test_cli_doctor.c. */
#include "cli/doctor/answers.h"
#include "net/base/url.h"
#include "net/base/error.h"
#include "net/base/info.h"
#include "net/base/mem.h"
#include "net/route/cluster_view.h"

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

static bool get_text_member(struct hf_resp_value v, const char *key,
                            struct text *out)
{
    struct hf_resp_value member;

    return hf_resp_map_get(v, key, strlen(key), &member) == HF_OK &&
           get_text(member, out);
}

/* Returns the text before `c` or the end; *from is set to the text after it. */
static struct text take_text_before(struct text *from, char c)
{
    const char *at = from->len ? memchr(from->ptr, c, from->len) : NULL;
    struct text head = {from->ptr, at ? (size_t)(at - from->ptr) : from->len};
    size_t used = head.len + (at != NULL);

    from->ptr += used;
    from->len -= used;
    return head;
}

static bool is_text_equal_to(struct text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.ptr, word, text.len) == 0;
}

static bool text_contains(struct text text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static bool copy_text(char *dst, size_t room, struct text text)
{
    if (text.len >= room || (text.len && memchr(text.ptr, '\0', text.len)))
        return false;
    if (text.len)
        memcpy(dst, text.ptr, text.len);
    dst[text.len] = '\0';
    return true;
}

/* Decimal digits and nothing else, of a number up to `max`. */
static bool parse_text_number(struct text text, int64_t max, int64_t *out)
{
    int64_t n = 0;

    if (text.len == 0 || text.len > 12)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        n = n * 10 + (text.ptr[i] - '0');
    }
    *out = n;
    return n <= max;
}

static void set_fact(struct doctor_server *s, enum doctor_fact fact,
                     struct text text)
{
    doctor_fact_set(s, fact, text.ptr, text.len);
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
static void read_replica_lag(struct doctor_server *s, struct text line)
{
    int64_t lag, worst = -1;

    while (line.len > 0) {
        struct text field = take_text_before(&line, ',');

        if (!is_text_equal_to(take_text_before(&field, '='), "lag") ||
            !parse_text_number(field, INT64_MAX, &lag) ||
            (doctor_fact_number(s, FACT_LAG, &worst) && worst >= lag))
            continue;
        free((char *)s->facts[FACT_LAG]);
        s->facts[FACT_LAG] = NULL;
        set_fact(s, FACT_LAG, field);
    }
}

static bool is_replica_key(struct text key)
{
    return key.len > 5 && memcmp(key.ptr, "slave", 5) == 0 &&
           key.ptr[5] >= '0' && key.ptr[5] <= '9';
}

static void read_info_line(struct doctor_server *s, const struct hf_info_line *line)
{
    struct text key = {line->name, line->name_len}, value = {line->value, line->value_len};

    if (is_replica_key(key))
        read_replica_lag(s, value);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (is_text_equal_to(key, lines[i].key))
            set_fact(s, lines[i].fact, value);
}

void doctor_read_lines(const struct doctor_reply *r)
{
    struct hf_info_line line;
    struct text all;

    if (!get_text(r->reply_value, &all))
        return;
    while (hf_info_next(&all.ptr, &all.len, &line))
        read_info_line(r->server, &line);
}

/* ---- single values ---- */

void doctor_read_text(const struct doctor_reply *r)
{
    struct text text;

    if (get_text(r->reply_value, &text))
        set_fact(r->server, r->fact, text);
}

/* {name, value}; the name may differ from the requested one. */
void doctor_read_config(const struct doctor_reply *r)
{
    struct hf_resp_iter it = hf_resp_children(r->reply_value);
    struct hf_resp_value v;
    struct text text;

    if (hf_resp_next(&it, &v) && hf_resp_next(&it, &v) && get_text(v, &text))
        set_fact(r->server, r->fact, text);
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
        set_fact(s, fact, text);
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

void doctor_read_user(const struct doctor_reply *r)
{
    read_patterns(r->server, FACT_ACL_KEYS, r->reply_value, "keys");
    read_patterns(r->server, FACT_ACL_CHANNELS, r->reply_value, "channels");
}

/* ---- other servers ---- */

static bool is_server_at(const struct doctor_server *s, const char *id,
                         const char *host, uint16_t port, bool is_sentinel)
{
    return s->is_sentinel == is_sentinel &&
           ((*id && doctor_fact_is(s, FACT_ID, id)) ||
            (s->port == port && strcmp(s->host, host) == 0));
}

/* Returns the known server, or a new one. It is where the URL's map says. */
static struct doctor_server *find_or_add_server(struct doctor_facts *facts,
                                                const char *id, const char *host,
                                                uint16_t port, bool is_sentinel)
{
    struct doctor_server *s = NULL;
    struct hf_endpoint at = {.port = port};

    (void)snprintf(at.host, sizeof at.host, "%s", host);
    (void)hf_address_map_apply(facts->address_map, &at);
    for (uint32_t i = 0; i < facts->servers_count && !s; i++)
        if (is_server_at(facts->servers[i], id, at.host, at.port, is_sentinel))
            s = facts->servers[i];
    if (!s && (s = doctor_server_new(facts, at.host, at.port)))
        s->is_sentinel = is_sentinel;
    if (s)
        (void)snprintf(s->id, sizeof s->id, "%s", id);
    return s;
}

/* ---- of a cluster ---- */

/* FNV-1a. */
static uint64_t mix_hash(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    while (*text++);
    return hash;
}

static void add_slot_to_view(struct doctor_server *s,
                             const struct hf_cluster_view *view, uint16_t slot)
{
    int owner = hf_cluster_view_owner(view, slot);
    const char *id = "";

    if (owner >= 0) {
        id = hf_cluster_view_node(view, (uint32_t)owner).id;
        s->cluster_view.covered_slots++;
    }
    s->cluster_view.owners_digest = mix_hash(s->cluster_view.owners_digest, id);
    if (*id && doctor_fact_is(s, FACT_ID, id))
        s->cluster_view.claimed_slots[slot / 8] |= (uint8_t)(1 << slot % 8);
}

static void add_cluster_node(const struct doctor_reply *r, struct hf_cluster_node node)
{
    struct doctor_server *other;

    if (!node.host[0] || node.port == 0) {
        r->server->cluster_view.nodes_without_address++;
        return;
    }
    other = find_or_add_server(r->facts, node.id, node.host, node.port, false);
    if (!other)
        return;
    other->role_said_by_others = node.master ? SAID_REPLICA : SAID_MASTER;
    (void)snprintf(other->master_id, sizeof other->master_id, "%s",
                   node.master ? node.master : "");
}

void doctor_read_slots(const struct doctor_reply *r)
{
    struct doctor_server *s = r->server;
    struct hf_cluster_view *view;

    if (hf_cluster_view_read(&view, &hf_mem_libc, s->host, r->facts->is_tls,
                             r->reply_value, NULL) != HF_OK)
        return;
    s->cluster_view.is_known = true;
    for (unsigned slot = 0; slot < HF_SLOTS; slot++)
        add_slot_to_view(s, view, (uint16_t)slot);
    for (uint32_t i = 0; i < hf_cluster_view_count(view); i++)
        add_cluster_node(r, hf_cluster_view_node(view, i));
    hf_cluster_view_free(view);
}

static bool has_failed_flag(struct text flags)
{
    while (flags.len > 0) {
        struct text flag = take_text_before(&flags, ',');

        if (is_text_equal_to(flag, "fail") || is_text_equal_to(flag, "fail?"))
            return true;
    }
    return false;
}

/* "id host:port@bus[,name] flags ..." a line. */
void doctor_read_nodes(const struct doctor_reply *r)
{
    char failed[256] = "";
    struct text all;
    size_t len = 0;

    if (!get_text(r->reply_value, &all))
        return;
    while (all.len > 0) {
        struct text line = take_text_before(&all, '\n'), address;

        (void)take_text_before(&line, ' ');
        address = take_text_before(&line, ' ');
        address = take_text_before(&address, '@');
        if (!has_failed_flag(take_text_before(&line, ' ')) ||
            len + address.len + 3 > sizeof failed)
            continue;
        len += (size_t)snprintf(failed + len, sizeof failed - len, "%s%.*s",
                                len ? ", " : "", (int)address.len, address.ptr);
    }
    doctor_fact_set(r->server, r->fact, failed, len);
}

/* ---- of sentinels ---- */

/* The server that an entry is about. */
static struct doctor_server *read_sentinel_entry(struct doctor_facts *facts,
                                                 struct hf_resp_value entry,
                                                 bool is_sentinel)
{
    struct text ip, digits, runid;
    char host[256], id[72] = "";
    int64_t port;

    if (!get_text_member(entry, "ip", &ip) || !copy_text(host, sizeof host, ip) ||
        !*host || !get_text_member(entry, "port", &digits) ||
        !parse_text_number(digits, UINT16_MAX, &port) || port == 0)
        return NULL;
    if (is_sentinel && get_text_member(entry, "runid", &runid))
        (void)copy_text(id, sizeof id, runid);
    return find_or_add_server(facts, id, host, (uint16_t)port, is_sentinel);
}

void doctor_read_master(const struct doctor_reply *r)
{
    static const struct {
        const char *key;
        enum doctor_fact fact;
    } members[] = {
        {"quorum", FACT_QUORUM},
        {"num-other-sentinels", FACT_OTHER_SENTINELS},
        {"down-after-milliseconds", FACT_DOWN_AFTER},
    };
    struct doctor_server *master = read_sentinel_entry(r->facts, r->reply_value, false);
    struct text text;

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (get_text_member(r->reply_value, members[i].key, &text))
            set_fact(r->server, members[i].fact, text);
    if (!master)
        return;
    master->role_said_by_others = SAID_MASTER;
    doctor_fact_set(r->server, r->fact, master->address,
                    strlen(master->address));
}

void doctor_read_replicas(const struct doctor_reply *r)
{
    struct hf_resp_iter it = hf_resp_children(r->reply_value);
    struct doctor_server *replica;
    struct hf_resp_value entry;

    while (hf_resp_next(&it, &entry))
        if ((replica = read_sentinel_entry(r->facts, entry, false)) &&
            replica->role_said_by_others == SAID_NOTHING)
            replica->role_said_by_others = SAID_REPLICA;
}

void doctor_read_sentinels(const struct doctor_reply *r)
{
    struct hf_resp_iter it = hf_resp_children(r->reply_value);
    struct hf_resp_value entry;

    while (hf_resp_next(&it, &entry))
        (void)read_sentinel_entry(r->facts, entry, true);
}

/* ---- what an error says ---- */

/* Servers phrase a denial differently. The error has a user's name only where
 * it has a command. */
static enum doctor_may denial_kind_of_text(struct text words)
{
    if (text_contains(words, " run the "))
        return MAY_FORBIDDEN_COMMAND;
    if (text_contains(words, "channel"))
        return MAY_FORBIDDEN_CHANNEL;
    return text_contains(words, "key") ? MAY_FORBIDDEN_KEY : MAY_FORBIDDEN_COMMAND;
}

/* These errors are caused by the form of the request, so the server knows the command
 * and permits it. */
static bool is_error_that_shows_permission(struct text words)
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

/* The texts of Redis, of proxies and of managed services. */
static bool is_unknown_command_text(struct text words)
{
    static const char *const parts[] = {"ERR unknown ",  "ERR Unknown ",
                                        "nsupported command", "not support",
                                        "not available", "is not allowed"};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (text_contains(words, parts[i]))
            return true;
    return false;
}

static enum doctor_may permission_from_error(struct hf_resp_value error,
                                             struct text words)
{
    if (hf_resp_error_is(error, "NOPERM"))
        return denial_kind_of_text(words);
    if (is_unknown_command_text(words))
        return MAY_UNKNOWN_COMMAND;
    return is_error_that_shows_permission(words) ? MAY_PERMITTED : MAY_OTHER_ERROR;
}

struct doctor_answer doctor_answer_read(struct hf_resp_value reply)
{
    struct doctor_answer answer = {.permission = MAY_PERMITTED};
    struct text words = {"", 0};

    if (!hf_resp_is_error(reply))
        return answer;
    (void)get_text(reply, &words);
    answer.permission = permission_from_error(reply, words);
    (void)hf_error_quote(answer.error_text, sizeof answer.error_text, words.ptr,
                         words.len);
    return answer;
}

/* ---- TIME ---- */

#define SECONDS_MAX INT64_C(95617584000) /* the year 5000 */

static bool get_number_element(struct hf_resp_value array, size_t index, int64_t max,
                               int64_t *out)
{
    struct hf_resp_value v;
    struct text text;

    return hf_resp_element(array, index, &v) == HF_OK && get_text(v, &text) &&
           parse_text_number(text, max, out);
}

bool doctor_time_read(struct hf_resp_value reply, int64_t *us)
{
    int64_t s, rest;

    if (!get_number_element(reply, 0, SECONDS_MAX, &s) ||
        !get_number_element(reply, 1, 999999, &rest))
        return false;
    *us = s * 1000000 + rest;
    return true;
}
