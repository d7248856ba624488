/* The servers' files, step by step and by time; and what servers say of themselves. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lock/script/scripts.h"
#include "tests/soak/chaos_model_inner.h"
#include "tests/soak/chaos_watch.h"
#include "tests/support/local.h"

/* A busy server is late between the line of a script and its clock. */
#define COMPARE_MS 100

/* ---- scripts ---- */

struct meaning {
    const struct hf_script *script;
    enum history_by by;
    enum history_why why;
};

/* A lock that an acquire finds free although it was held has expired. */
static const struct meaning meanings[] = {
    {&hf_script_acquire, HISTORY_BY_ACQUIRE, HISTORY_WHY_EXPIRED},
    {&hf_script_read_acquire, HISTORY_BY_ACQUIRE, HISTORY_WHY_EXPIRED},
    {&hf_script_write_acquire, HISTORY_BY_ACQUIRE, HISTORY_WHY_EXPIRED},
    {&hf_script_release, HISTORY_BY_RELEASE, HISTORY_WHY_RELEASED},
    {&hf_script_read_release, HISTORY_BY_RELEASE, HISTORY_WHY_RELEASED},
    {&hf_script_write_release, HISTORY_BY_RELEASE, HISTORY_WHY_RELEASED},
    {&hf_script_renew, HISTORY_BY_RENEW, HISTORY_WHY_EXPIRED},
    {&hf_script_read_renew, HISTORY_BY_RENEW, HISTORY_WHY_EXPIRED},
    {&hf_script_force_release, HISTORY_BY_RELEASE, HISTORY_WHY_FORCED},
    {&hf_script_rw_force_release, HISTORY_BY_RELEASE, HISTORY_WHY_FORCED},
};

static void recognise(struct step *st, const struct monitor_record *r)
{
    bool is_text = strcasecmp(r->argv[0], "eval") == 0;

    if (r->argc < 3 || (!is_text && strcasecmp(r->argv[0], "evalsha")))
        return;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strcmp(r->argv[1], is_text ? meanings[i].script->text
                                       : meanings[i].script->sha) == 0) {
            st->is_client = true;
            st->by = meanings[i].by;
            st->why = meanings[i].why;
            st->m->counts.scripts++;
        }
}

/* ---- how the locks stand ---- */

static bool is_near(int64_t a, int64_t b, int64_t doubt_ms)
{
    return a == b || (a - b < COMPARE_MS + doubt_ms && b - a < COMPARE_MS + doubt_ms);
}

/* Words of an answer; "" at its end. */
static char *next_word(char **at)
{
    char *word = *at;

    *at += strcspn(*at, " ");
    if (**at)
        *(*at)++ = '\0';
    return word;
}

/* When the look saw the TTL: where the clock runs in a script, by the lock's PTTL. */
static int64_t seen_ms(const struct step *st, int lock)
{
    return st->m->servers[st->server].is_clock_still || !st->look_ms[lock]
               ? st->unix_ms
               : st->look_ms[lock];
}

static void read_hash(struct hash *h, char **at, const struct step *st, int lock)
{
    long long ttl_ms = atoll(next_word(at));
    int count = atoi(next_word(at));

    memset(h, 0, sizeof *h);
    h->is_there = ttl_ms != -2;
    h->until_ms = ttl_ms < 0 ? NEVER : seen_ms(st, lock) + ttl_ms;
    h->doubt_ms = st->look_doubt_ms[lock];
    for (int i = 0; i < count; i++) {
        struct field *f = &h->fields[h->count < FIELDS_MAX ? h->count++ : 0];
        const char *value;
        long long left_ms;

        (void)snprintf(f->name, sizeof f->name, "%s", next_word(at));
        value = next_word(at);
        f->count = strcmp(f->name, "mode") == 0 ? 1 : atoll(value);
        left_ms = atoll(next_word(at));
        f->keys_ms[0] = left_ms > 0 ? st->unix_ms + left_ms : 0;
    }
}

static bool is_same(const struct hash *ours, const struct hash *theirs,
                    int64_t unix_ms)
{
    bool is_there = ours->is_there && ours->until_ms >= unix_ms;
    int64_t doubt_ms = ours->doubt_ms + theirs->doubt_ms;

    if (!is_there || !theirs->is_there)
        return is_there == theirs->is_there ||
               is_near(is_there ? ours->until_ms : theirs->until_ms, unix_ms,
                       doubt_ms);
    for (int i = 0; i < theirs->count; i++) {
        const struct field *f = &theirs->fields[i];
        const struct field *mine =
            field_of((struct hash *)ours, f->name, strlen(f->name));

        if (!mine || mine->count != f->count)
            return false;
    }
    return is_near(ours->until_ms, theirs->until_ms, doubt_ms);
}

/* Of a master that has become a replica. */
static void hand_over(struct step *st, int lock)
{
    struct model *m = st->m;

    for (int i = 0; m->decides[lock] == st->server && i < m->count; i++)
        if (m->servers[i].is_serving[lock])
            decide(m, lock, i, st->us);
}

static bool another_serves(const struct step *st, int lock)
{
    for (int i = 0; i < st->m->count; i++)
        if (i != st->server && st->m->servers[i].is_serving[lock])
            return true;
    return false;
}

/* Known since its connection began, or nobody else serves. A master that comes back
 * calls itself master until sentinels, or the cluster, make it the replica of the one
 * that serves in its place. */
static bool may_decide(const struct step *st, int lock)
{
    return st->m->servers[st->server].is_known || !another_serves(st, lock);
}

/* As the difference is read: times are relative to the look. */
static void print_hash(const char *whose, const struct hash *h, int64_t token,
                       int64_t unix_ms)
{
    (void)printf("  %s: %s, ends in %" PRId64 " ms, token %" PRId64, whose,
                 h->is_there ? "there" : "not there",
                 h->until_ms == NEVER ? -1 : h->until_ms - unix_ms, token);
    for (int i = 0; i < h->count; i++)
        (void)printf(", %s=%lld", h->fields[i].name, (long long)h->fields[i].count);
    (void)putchar('\n');
}

/* What `lock` is in the server's own words replaces what we think of it. */
static void take_over(struct step *st, int lock, const struct hash *theirs,
                      int64_t token, bool is_serving)
{
    struct server *s = &st->m->servers[st->server];
    bool was_right = is_same(&s->hashes[lock], theirs, st->unix_ms) &&
                     s->tokens[lock] == token;
    bool was_serving = s->is_serving[lock];
    struct hash expected = s->hashes[lock];
    int64_t expected_token = s->tokens[lock];

    s->is_serving[lock] = is_serving;
    s->is_importing[lock] = s->is_importing[lock] && !is_serving;
    if (!was_right) {
        s->hashes[lock] = *theirs;
        s->tokens[lock] = token;
        st->is_changed[lock] = true;
        st->why = HISTORY_WHY_FORGOT;
        st->by = HISTORY_BY_REPLICATION;
    }
    if (s->is_known && was_serving && is_serving &&
        st->m->decides[lock] == st->server) {
        st->m->counts.compared++;
        st->m->counts.wrong += !was_right;
        if (!was_right) {
            (void)printf("model: %" PRId64 " server %d, %s is not as expected "
                         "(the look took %" PRId64 " ms)\n",
                         st->us, st->server + 1, chaos_handles[lock].name,
                         st->last_ms > st->unix_ms ? st->last_ms - st->unix_ms : 0);
            print_hash("expected", &expected, expected_token, st->unix_ms);
            print_hash("reported", theirs, token, st->unix_ms);
        }
    }
    if (is_serving && !was_serving && may_decide(st, lock))
        decide(st->m, lock, st->server, st->us);
    if (!is_serving)
        hand_over(st, lock);
}

static void forget_lock(struct server *s, int lock)
{
    s->hashes[lock].is_there = false;
    s->hashes[lock].count = 0;
    s->tokens[lock] = 0;
}

static void compare(struct step *st, const char *stands)
{
    char *text = local_new(strcspn(stands, "\r") + 1), *at = text;
    struct hash theirs;
    bool is_master;

    memcpy(text, stands, strcspn(stands, "\r"));
    (void)next_word(&at);
    is_master = strcmp(next_word(&at), "master") == 0;
    st->m->servers[st->server].is_clock_still = *next_word(&at) == 's';
    while (*at) {
        int lock = lock_named(next_word(&at));
        int64_t token = atoll(next_word(&at));
        bool is_other = *at == 'x', is_down = *at == 'd';

        ck_assert_int_ge(lock, 0);
        read_hash(&theirs, &at, st, lock);
        if (is_down)
            continue;
        if (!is_other) {
            take_over(st, lock, &theirs, token, is_master);
            continue;
        }
        st->m->servers[st->server].is_serving[lock] = false;
        if (st->m->decides[lock] != st->server &&
            !st->m->servers[st->server].is_importing[lock])
            forget_lock(&st->m->servers[st->server], lock);
    }
    st->m->servers[st->server].is_known = true;
    free(text);
}

/* ---- steps ---- */

static void forget_server(struct server *s)
{
    s->is_known = false;
    memset(s->is_serving, 0, sizeof s->is_serving);
}

/* Of a look: the moment of the lock's PTTL. */
static void note_look(struct step *st, const struct monitor_record *r)
{
    int lock = r->argc == 2 && strcasecmp(r->argv[0], "pttl") == 0
                   ? lock_named(r->argv[1])
                   : -1;

    if (lock < 0)
        return;
    st->look_ms[lock] = r->unix_ms;
    st->look_doubt_ms[lock] = r->unix_ms - st->before_ms;
}

/* The commands that the script has called follow it at once. */
static void take_calls(struct step *st, struct monitor *monitor)
{
    struct monitor_record *r;

    while ((r = monitor_peek(monitor)) && r->is_lua) {
        execute(st, r);
        note_look(st, r);
        st->last_ms = st->before_ms = r->unix_ms;
        monitor_pop(monitor);
    }
}

static void finish(struct step *st)
{
    struct model *m = st->m;

    for (int i = 0; i < (int)CHAOS_HANDLES; i++) {
        if (!st->is_changed[i])
            continue;
        if (st->is_client)
            decide(m, i, st->server, st->us);
        if (m->decides[i] == st->server)
            tell(m, i, st->us, st->by, st->why);
    }
}

static void take_step(struct model *m, int server)
{
    struct monitor *monitor = m->servers[server].monitor;
    struct monitor_record *r = monitor_peek(monitor);
    struct step st = {.m = m,
                      .server = server,
                      .us = r->us,
                      .unix_ms = r->unix_ms,
                      .last_ms = r->unix_ms,
                      .began_ms = m->servers[server].shown_ms,
                      .by = HISTORY_BY_OPERATOR,
                      .why = HISTORY_WHY_DELETED};
    const char *stands = NULL;

    if (st.began_ms == 0 || st.began_ms > st.unix_ms)
        st.began_ms = st.unix_ms;
    st.before_ms = st.began_ms;
    expire(m, r->us);
    if (r->argc == 0)
        forget_server(&m->servers[server]);
    else
        recognise(&st, r);
    if (r->argc > 3 && strcmp(r->argv[1], chaos_watch_script) == 0)
        stands = monitor_stands(monitor, strtoul(r->argv[3], NULL, 10));
    else if (r->argc > 0 && !r->is_lua && !st.is_client)
        execute(&st, r);
    monitor_pop(monitor);
    st.before_ms = st.unix_ms;
    take_calls(&st, monitor);
    m->servers[server].shown_ms = st.last_ms;
    if (stands && st.last_ms - st.unix_ms < COMPARE_MS) /* not suspended in it */
        compare(&st, stands);
    finish(&st);
}

/* The server that comes next, by time; -1: all are at their end. */
static int next_server(struct model *m)
{
    int next = -1;

    for (int i = 0; i < m->count; i++) {
        const struct monitor_record *r = monitor_peek(m->servers[i].monitor);

        if (r && (next < 0 ||
                  r->us < monitor_peek(m->servers[next].monitor)->us))
            next = i;
    }
    return next;
}

struct chaos_model_counts chaos_model_run(const char *const *paths, int count,
                                          chaos_client_of *client_of,
                                          chaos_sink *sink, void *ctx)
{
    struct model *m = local_new(sizeof *m);
    struct chaos_model_counts counts;
    int server;

    m->count = count;
    m->client_of = client_of;
    m->sink = sink;
    m->ctx = ctx;
    memset(m->decides, -1, sizeof m->decides);
    for (int i = 0; i < count; i++)
        m->servers[i].monitor = monitor_open(paths[i]);
    while ((server = next_server(m)) >= 0)
        take_step(m, server);
    for (int i = 0; i < count; i++)
        monitor_close(m->servers[i].monitor);
    counts = m->counts;
    free(m);
    return counts;
}
