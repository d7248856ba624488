/* Steps of read-write locks, and the states they leave. */
#include "tests/support/rw_steps.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/script/scripts.h"
#include "tests/support/feed.h"
#include "tests/support/server.h"

#define UNIT_MS 100000          /* leases are so long, or twice, ... */

/* clang-format off */
const struct rw_table rw_tables[] = {
    {"readers share; the TTL is that of who stays longest", {
        {"A read 200",    "ok", "read 200, A1 A:1=200", ""},
        {"B read 100",    "ok", "read 200, A1 A:1=200, B1 B:1=100", ""},
        {"B write 100",   "no", "read 200, A1 A:1=200, B1 B:1=100", ""},
        {"A unread",      "ok", "read 100, B1 B:1=100", ""},
        {"A read 300",    "ok", "read 300, A1 A:1=300, B1 B:1=100", ""},
        {"B unread",      "ok", "read 300, A1 A:1=300", ""},
        {"A unread",      "ok", "free", "0"},
    }},
    {"each read hold has its key; the last goes first", {
        {"A read 100",    "ok", "read 100, A1 A:1=100", ""},
        {"A read 200",    "ok", "read 200, A2 A:1=100 A:2=200", ""},
        {"A read 100",    "ok", "read 200, A3 A:1=100 A:2=200 A:3=100", ""},
        {"A unread",      "ok", "read 200, A2 A:1=100 A:2=200", ""},
        {"B read 100",    "ok", "read 200, A2 A:1=100 A:2=200, B1 B:1=100", ""},
        {"A unread",      "ok", "read 100, A1 A:1=100, B1 B:1=100", ""},
        {"A unread",      "ok", "read 100, B1 B:1=100", ""},
        {"A unread",      "no", "read 100, B1 B:1=100", ""},
        {"B unread",      "ok", "free", "0"},
    }},
    {"a writer is alone; a re-entry adds its lease to the TTL", {
        {"A write 200",   "ok", "write 200, A!1", ""},
        {"B read 100",    "no", "write 200, A!1", ""},
        {"B write 100",   "no", "write 200, A!1", ""},
        {"A write 100",   "ok", "write 300, A!2", ""},
        {"B unwrite",     "no", "write 300, A!2", ""},
        {"A unwrite",     "ok", "write 100, A!1", ""},
        {"A unwrite",     "ok", "free", "1"},
    }},
    {"a writer reads, and becomes a reader", {
        {"A write 100",   "ok", "write 100, A!1", ""},
        {"A read 200",    "ok", "write 200, A!1 A1 A:1=200", ""},
        {"B read 100",    "no", "write 200, A!1 A1 A:1=200", ""},
        {"A unread",      "ok", "write 200, A!1", ""},
        {"A read 200",    "ok", "write 200, A!1 A1 A:1=200", ""},
        {"A unwrite",     "ok", "read 200, A1 A:1=200", "1|"},
        {"A unwrite",     "no", "read 200, A1 A:1=200", ""},
        {"B read 100",    "ok", "read 200, A1 A:1=200, B1 B:1=100", ""},
        {"A unread",      "ok", "read 100, B1 B:1=100", ""},
        {"B unread",      "ok", "free", "0"},
    }},
    {"a reader does not become a writer", {
        {"A read 100",    "ok", "read 100, A1 A:1=100", ""},
        {"A write 100",   "no", "read 100, A1 A:1=100", ""},
        {"A unread",      "ok", "free", "0"},
    }},
    {"the last reader that lives takes the dead ones along", {
        {"A read 100",    "ok", "read 100, A1 A:1=100", ""},
        {"B read 300",    "ok", "read 300, A1 A:1=100, B1 B:1=300", ""},
        {"A read 100",    "ok", "read 300, A2 A:1=100 A:2=100, B1 B:1=300", ""},
        {"B expire 1",    "ok", "read 300, A2 A:1=100 A:2=100, B1", ""},
        {"A unread",      "ok", "read 100, A1 A:1=100, B1", ""},
        {"A unread",      "ok", "free", "0"},
    }},
    {"a hold whose key has expired is no hold", {
        {"A read 200",    "ok", "read 200, A1 A:1=200", ""},
        {"B read 100",    "ok", "read 200, A1 A:1=200, B1 B:1=100", ""},
        {"A expire 1",    "ok", "read 200, A1, B1 B:1=100", ""},
        {"A read 300",    "ok", "read 300, A2 A:2=300, B1 B:1=100", ""},
        {"A expire 2",    "ok", "read 300, A2, B1 B:1=100", ""},
        {"B unread",      "ok", "free", "0"},
    }},
    {"force frees readers, or a writer and what it reads", {
        {"A read 100",    "ok", "read 100, A1 A:1=100", ""},
        {"B read 200",    "ok", "read 200, A1 A:1=100, B1 B:1=200", ""},
        {"A force-write", "no", "read 200, A1 A:1=100, B1 B:1=200", ""},
        {"A force-read",  "ok", "free, A:1=100, B:1=200", "0"},
        {"A force-read",  "no", "free, A:1=100, B:1=200", ""},
        {"A write 100",   "ok", "write 100, A!1 A:1=100, B:1=200", ""},
        {"A read 100",    "ok", "write 100, A!1 A1 A:1=100, B:1=200", ""},
        {"B force-read",  "no", "write 100, A!1 A1 A:1=100, B:1=200", ""},
        {"B force-write", "ok", "free, A:1=100, B:1=200", "1"},
    }},
};
/* clang-format on */
const int rw_tables_count = (int)(sizeof rw_tables / sizeof *rw_tables);


/* ---- names ---- */

static bool has_brace(const char *name)
{
    return strchr(name, '{') != NULL;
}

/* One of a few texts, so that one call may have several of them. */
static char *lend(void)
{
    static char texts[4][600];
    static int next;

    return texts[next++ % 4];
}

const char *rw_hold_key(const struct rw_party *p, int index)
{
    char *key = lend();
    int n = sprintf(key, has_brace(p->name) ? "%s:%s:rwlock_timeout"
                                            : "{%s}:%s:rwlock_timeout",
                    p->name, p->owner);

    if (index > 0)
        (void)sprintf(key + n, ":%d", index);
    return key;
}

const char *rw_channel(const char *name)
{
    char *channel = lend();

    (void)sprintf(channel, has_brace(name) ? "redisson_rwlock:%s"
                                           : "redisson_rwlock:{%s}", name);
    return channel;
}

/* ---- the scripts ---- */

const char *rw_script_load(struct server *s, const char *script)
{
    static const struct hf_script *const scripts[] = {
        &hf_script_acquire, &hf_script_read_acquire, &hf_script_read_release,
        &hf_script_read_renew, &hf_script_rw_force_release,
        &hf_script_write_acquire, &hf_script_write_release};

    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (strcmp(scripts[i]->name, script) == 0)
            return server_ask(s, "SCRIPT LOAD %s", scripts[i]->text);
    ck_abort_msg("%s: not there", script);
    return NULL;
}

/* The count or verdict behind the echo. */
static long verdict(const char *answer, const char *echo)
{
    size_t len = strlen(echo);

    ck_assert_msg(strncmp(answer, echo, len) == 0 && answer[len] == ' ',
                  "not an answer to '%s': %s", echo, answer);
    return atol(answer + len);
}

static long ask_acquire(struct rw_party *p, bool is_read, int count)
{
    const char *answer;

    answer = is_read
                 ? rw_script(p->server, "read_acquire",
                             "2 %s %s %s %d %ld %s:write", p->name,
                             rw_hold_key(p, 0), p->owner, count, p->lease_ms,
                             p->owner)
                 : rw_script(p->server, "write_acquire", "1 %s %s:write %d %ld",
                             p->name, p->owner, count, p->lease_ms);
    return is_read ? verdict(answer, p->owner)
                   : verdict(answer + strlen(p->owner), ":write");
}

static long ask_release(struct rw_party *p, bool is_read, int count)
{
    const char *answer;

    answer = is_read
                 ? rw_script(p->server, "read_release",
                             "2 %s %s %s %d %ld PUBLISH %s", p->name,
                             rw_hold_key(p, 0), p->owner, count, p->lease_ms,
                             rw_channel(p->name))
                 : rw_script(p->server, "write_release",
                             "1 %s %s:write %d %ld PUBLISH %s", p->name,
                             p->owner, count, p->lease_ms,
                             rw_channel(p->name));
    return is_read ? verdict(answer, p->owner)
                   : verdict(answer + strlen(p->owner), ":write");
}

static bool force(struct rw_party *p, const char *side)
{
    return verdict(rw_script(p->server, "rw_force_release",
                             "1 %s request %s %s PUBLISH %s", p->name, "", side,
                             rw_channel(p->name)),
                   "request") == 0;
}

/* The first answer counts: repeated, a last release finds nothing. */
static bool send(struct rw_party *p, bool is_acquire, bool is_read)
{
    int *held = is_read ? &p->reads : &p->writes;
    int count = is_acquire ? *held + 1 : *held > 0 ? *held - 1 : 0;
    long got = 0;

    for (int i = 0; i < p->times; i++) {
        long again = is_acquire ? ask_acquire(p, is_read, count)
                                : ask_release(p, is_read, count);

        got = i == 0 ? again : got;
    }
    ck_assert(got == count || got == -1);
    *held = got == count ? count : *held;
    return got == count;
}

static const char *script_acts(struct rw_party *p, const char *verb,
                               long lease_ms)
{
    bool is_acquire = *verb == 'r' || *verb == 'w';
    bool is_ok;

    p->lease_ms = is_acquire ? lease_ms : p->lease_ms;
    if (strncmp(verb, "force-", 6) == 0)
        is_ok = force(p, verb + 6);
    else
        is_ok = send(p, is_acquire, strstr(verb, "read") != NULL);
    return is_ok ? "ok" : "no";
}

struct rw_party rw_party_of(struct server *s, const char *name,
                            const char *owner, rw_act *act)
{
    struct rw_party p = {.times = 1, .act = act, .server = s, .name = name};

    ck_assert_uint_lt(strlen(owner) + strlen(":write"), sizeof p.writer);
    (void)sprintf(p.owner, "%s", owner);
    (void)sprintf(p.writer, "%s:write", owner);
    return p;
}

struct rw_party rw_party_scripts(struct server *s, const char *name,
                                 const char *owner, int times)
{
    struct rw_party p = rw_party_of(s, name, owner, script_acts);

    p.times = times;
    return p;
}

/* ---- the library ---- */

static hf_status ask_library(const struct rw_party *p, const char *verb,
                             struct hf_lock *lock, long lease_ms)
{
    struct hf_acquire_options o;

    if (strncmp(verb, "force-", 6) == 0)
        return hf_lock_force_release(lock, NULL, 0, NULL);
    if (strncmp(verb, "un", 2) == 0)
        return hf_lock_release(lock, p->thread, NULL);
    hf_acquire_options_init(&o);
    o.owner = p->thread;
    o.wait_ms = 0;
    o.lease_ms = lease_ms;
    return hf_lock_acquire(lock, &o, NULL);
}

static const char *library_acts(struct rw_party *p, const char *verb,
                                long lease_ms)
{
    bool is_read = strstr(verb, "read") != NULL;
    char text[HF_OWNER_TEXT_MAX];
    struct hf_lock *lock = NULL;
    hf_status rc;

    ck_assert_int_eq(hf_lock_new_kind(&lock, p->client,
                                      is_read ? HF_KIND_READ : HF_KIND_WRITE,
                                      p->name, strlen(p->name), NULL),
                     HF_OK);
    rc = ask_library(p, verb, lock, lease_ms);
    if (*hf_lock_owner_text(lock, p->thread, text))
        (void)strcpy(is_read ? p->owner : p->writer, text);
    hf_lock_free(lock);
    return rc == HF_OK ? "ok" : "no";
}

struct rw_party rw_party_library(struct server *s, const char *name,
                                 struct hf_client *client, int thread)
{
    struct rw_party p = rw_party_of(s, name, "nobody", library_acts);

    p.client = client;
    p.thread = thread;
    return p;
}

/* ---- the state ---- */

/* 100: from 1 ms to 100 s. */
static long rounded(long long ttl_ms)
{
    return (long)((ttl_ms + UNIT_MS - 1) / UNIT_MS * UNIT_MS / 1000);
}

/* What one of them has; how many fields and keys that are is added up. */
static char *put_player(char *to, const struct rw_party *p, char letter,
                        long long *fields, long long *keys)
{
    const char *sep = ", ";
    const char *holds;

    holds = server_ask(p->server, "HGET %s %s", p->name, p->writer);
    if (strcmp(holds, "(nil)") != 0) {
        to += sprintf(to, "%s%c!%s", sep, letter, holds);
        ++*fields;
        sep = " ";
    }
    holds = server_ask(p->server, "HGET %s %s", p->name, p->owner);
    if (strcmp(holds, "(nil)") != 0) {
        to += sprintf(to, "%s%c%s", sep, letter, holds);
        ++*fields;
        sep = " ";
    }
    for (int i = 1; i < 5; i++) {
        long long ttl_ms = server_ask_int(p->server, "PTTL %s",
                                          rw_hold_key(p, i));

        if (ttl_ms == -2)
            continue;
        to += sprintf(to, "%s%c:%d=%ld", sep, letter, i, rounded(ttl_ms));
        ++*keys;
        sep = " ";
    }
    return to;
}

static long long count_hold_keys(struct server *s)
{
    const char *keys = server_ask(s, "KEYS *:rwlock_timeout*");
    long long count = 0;

    while ((keys = strstr(keys, ":rwlock_timeout")) != NULL) {
        keys++;
        count++;
    }
    return count;
}

const char *rw_state(const struct rw_party parties[2])
{
    static char text[400];
    struct server *s = parties->server;
    const char *mode = server_ask(s, "HGET %s mode", parties->name);
    long long fields = strcmp(mode, "(nil)") != 0, keys = 0;
    char *to = text;

    if (fields)
        to += sprintf(to, "%s %ld", mode,
                      rounded(server_ask_int(s, "PTTL %s", parties->name)));
    else
        to += sprintf(to, "free");
    for (int i = 0; i < 2; i++)
        to = put_player(to, &parties[i], (char)('A' + i), &fields, &keys);
    if (fields != server_ask_int(s, "HLEN %s", parties->name))
        to += sprintf(to, ", and other fields");
    if (keys != count_hold_keys(s))
        (void)sprintf(to, ", and other hold keys");
    return text;
}

/* ---- steps ---- */

/* The payloads on the channel since the last step. */
static const char *told(struct feed *feed, const struct rw_party *p)
{
    static char payloads[64];
    const struct feed_event *event;
    char *to = payloads;
    char start[600];
    size_t len;

    len = (size_t)sprintf(start, "message %s ", rw_channel(p->name));
    (void)server_ask(p->server, "PUBLISH %s fence", rw_channel(p->name));
    *to = '\0';
    for (;;) {
        event = feed_next(feed, 10000);
        ck_assert_ptr_nonnull(event);
        ck_assert_msg(strncmp(event->text, start, len) == 0, "%s", event->text);
        if (strcmp(event->text + len, "fence") == 0)
            return payloads;
        ck_assert_uint_lt(strlen(payloads), sizeof payloads - 8);
        to += sprintf(to, "%.4s", event->text + len);
    }
}

static const char *take(const struct rw_step *step, struct rw_party *p)
{
    char verb[20];
    long amount = 0;

    ck_assert_int_ge(sscanf(step->does, "%*c %19s %ld", verb, &amount), 1);
    if (strcmp(verb, "expire") == 0)
        return server_ask_int(p->server, "DEL %s",
                              rw_hold_key(p, (int)amount)) == 1
                   ? "ok"
                   : "no";
    return p->act(p, verb, amount * 1000);
}

/* Repeated, a last release finds nothing, and publishes all the same. */
static bool tells_match(const struct rw_step *step, const struct rw_party *p,
                        const char *payloads)
{
    size_t ours = strcspn(step->tells, "|");
    const char *redissons = step->tells + ours + (step->tells[ours] == '|');

    if (p->is_redisson && step->tells[ours])
        return strcmp(payloads, redissons) == 0;
    return p->times > 1 ? *payloads == (ours ? *step->tells : '\0')
                        : strlen(payloads) == ours &&
                              memcmp(payloads, step->tells, ours) == 0;
}

static void run_step(const struct rw_table *table, const struct rw_step *step,
                     struct rw_party parties[2], struct feed *feed)
{
    struct rw_party *p = &parties[step->does[0] - 'A'];
    const char *answer = take(step, p), *payloads;

    ck_assert_msg(strcmp(answer, step->answer) == 0, "%s: %s: %s", table->what,
                  step->does, answer);
    ck_assert_msg(strcmp(rw_state(parties), step->state) == 0,
                  "%s: after %s: %s, not %s", table->what, step->does,
                  rw_state(parties), step->state);
    payloads = told(feed, p);
    ck_assert_msg(tells_match(step, p, payloads), "%s: %s publishes '%s'",
                  table->what, step->does, payloads);
    if (strstr(step->does, "force") && *answer == 'o')
        for (int i = 0; i < 2; i++)
            parties[i].reads = parties[i].writes = 0;
}

void rw_run(const struct rw_table *table, struct rw_party parties[2])
{
    struct feed *feed;

    (void)server_ask(parties->server, "FLUSHALL");
    feed = feed_open(parties->server, "SUBSCRIBE %s",
                     rw_channel(parties->name));
    for (int i = 0; i < RW_STEPS_MAX && table->steps[i].does; i++)
        run_step(table, &table->steps[i], parties, feed);
    feed_close(feed);
}
