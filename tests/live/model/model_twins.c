/* The real server and its model: see test_model.h. */
#include "tests/live/model/test_model.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/dice.h"
#include "tests/support/local.h"
#include "tests/support/one_clock.h"
#include "tests/support/one_server.h"

/* How long a real server may take; a busy machine needs its time. */
#define ANSWER_S 30

struct heard {
    char *p;
    size_t n, room;
    size_t at;                /* replies before it were compared */
    bool is_closed;
};

struct pair {
    int fd;
    struct model_client *client;      /* NULL: closed */
    struct heard real, model;
    char *reply;
};

static struct model *model;
static enum model_version version;
static int64_t now_us;                /* both clocks */

/* The last requests, for whoever has to understand a difference. */
#define TRAIL 6
static char trail[TRAIL][700];
static unsigned trail_at;

/* ---- both servers ---- */

static void set_clocks(int64_t unix_us)
{
    now_us = unix_us;
    server_clock_set(now_us);
    model_set_time(model, now_us);
}

/* The model forgets at once what has expired; so must the real server, which
 * would in a while. */
static void forget_expired(void)
{
    if (model_next_us(model) <= now_us)
        (void)server_ask(server, "SCAN 0 COUNT 1000");
    model_tick(model);
}

/* Before a request: often none, mostly a moment, rarely so long that keys
 * expire. */
static void let_time_pass(void)
{
    int64_t us = dice(3) == 0     ? 0
                 : dice(100) == 0 ? (int64_t)dice(400000000)
                                  : (int64_t)dice(3000);

    set_clocks(now_us + us);
    forget_expired();
}

/* "Redis server v=7.0.15 sha=..." */
bool twins_are_alike(void)
{
    const char *program = getenv("HF_TEST_SERVER");
    char command[4200], line[200] = "";
    FILE *f;

    (void)snprintf(command, sizeof command, "'%s' --version",
                   program ? program : "redis-server");
    if (!(f = popen(command, "r")))
        return false;
    if (!fgets(line, sizeof line, f))
        line[0] = '\0';
    (void)pclose(f);
    version = strstr(line, "Valkey") ? MODEL_VALKEY_9
              : strstr(line, "v=6")  ? MODEL_REDIS_6_0
                                     : MODEL_REDIS_7_0;
    return strstr(line, " v=6.0.") || strstr(line, " v=7.0.") || strstr(line, "Valkey server v=9.");
}

void twins_start(const char *password)
{
    const char *args[] = {password ? "--requirepass" : NULL, password, NULL};

    ck_assert_ptr_nonnull(server = server_start_with_clock(args));
    model = model_new(&(struct model_options){.version = version,
                                              .requirepass = password,
                                              .port = server_port(server)});
    set_clocks(INT64_C(1795214330000000));
}

void twins_stop(void)
{
    model_free(model);
    stop_server();
}

struct model *twins_model(void)
{
    return model;
}

enum model_version twins_version(void)
{
    return version;
}

/* ---- connections ---- */

static void take(struct heard *h, const char *bytes, size_t n)
{
    while (h->n + n + 1 > h->room) {
        h->room = 2 * h->room + n + 4096;
        h->p = realloc(h->p, h->room);
        ck_assert_ptr_nonnull(h->p);
    }
    memcpy(h->p + h->n, bytes, n);
    h->n += n;
    h->p[h->n] = '\0';
}

static void on_write(void *ctx, const char *bytes, size_t len)
{
    take(&((struct pair *)ctx)->model, bytes, len);
}

static void on_close(void *ctx)
{
    ((struct pair *)ctx)->model.is_closed = true;
    ((struct pair *)ctx)->client = NULL;
}

static int connect_real(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = ANSWER_S};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    (void)snprintf(a.sun_path, sizeof a.sun_path, "%s",
                   server_unix_path(server));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

struct pair *pair_open(void)
{
    struct pair *p = local_new(sizeof *p);

    p->fd = connect_real();
    p->client = model_accept(model, on_write, on_close, p);
    return p;
}

void pair_close(struct pair *p)
{
    (void)close(p->fd);
    if (p->client)
        model_hang_up(p->client);
    free(p->real.p);
    free(p->model.p);
    free(p->reply);
    free(p);
}

static void hear_real(struct pair *p)
{
    char buf[65536];
    ssize_t n;

    do /* with a limit, recv ends with EINTR when a stopped process continues */
        n = recv(p->fd, buf, sizeof buf, 0);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        take(&p->real, buf, (size_t)n);
        return;
    }
    if (n < 0 && errno != ECONNRESET)
        ck_abort_msg("the server does not answer: %s", trail[trail_at % TRAIL]);
    p->real.is_closed = true;
}

/* ---- replies ---- */

/* Bytes of the reply at `p`; 0: it is not whole. */
static size_t reply_len(const char *p, const char *end)
{
    const char *line = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    long n;
    size_t at;

    if (!line)
        return 0;
    n = strtol(p + 1, NULL, 10);
    at = (size_t)(line + 1 - p);
    if (*p == '$' || *p == '=' || *p == '!')
        return n < 0                                    ? at
               : (size_t)(end - p) < at + (size_t)n + 2 ? 0
                                                        : at + (size_t)n + 2;
    if (!strchr("*>~%|", *p))
        return at;
    for (n *= *p == '%' || *p == '|' ? 2 : 1; n > 0; n--) {
        size_t len = reply_len(p + at, end);

        if (len == 0)
            return 0;
        at += len;
    }
    return at;
}

static void complain(const struct pair *p, const char *why)
{
    char all[TRAIL * 710] = "";
    size_t n = 0;

    for (unsigned i = trail_at >= TRAIL ? trail_at - TRAIL + 1 : 0; i <= trail_at; i++)
        n += (size_t)snprintf(all + n, sizeof all - n, "  %s\n", trail[i % TRAIL]);
    ck_abort_msg("%s\nthe last requests:\n%sthe server:\n%.1500s\nthe model:\n"
                 "%.1500s",
                 why, all, p->real.p + p->real.at,
                 p->model.n > p->model.at ? p->model.p + p->model.at : "-");
}

static bool are_equal(const char *a, size_t n, const char *b, size_t m)
{
    return n == m && memcmp(a, b, n) == 0;
}

/* The words of one version are modelled; of others, the codes. */
static bool errors_agree(const char *a, size_t n, const char *b, size_t m)
{
    if (version == MODEL_REDIS_7_0)
        return are_equal(a, n, b, m);
    return strcspn(a, " \r") == strcspn(b, " \r") &&
           memcmp(a, b, strcspn(a, " \r")) == 0;
}

static bool agree(const char **a, const char **b);

static bool lines_agree(const char *a, size_t n, const char *b, size_t m)
{
    return *a == '-' ? errors_agree(a, n, b, m) : are_equal(a, n, b, m);
}

static bool texts_agree(const char **a, const char **b)
{
    size_t n = strtoul(*a + 1, NULL, 10), m = strtoul(*b + 1, NULL, 10);
    const char *x = strchr(*a, '\n') + 1, *y = strchr(*b, '\n') + 1;
    bool ok;

    if ((*a)[1] == '-' || (*b)[1] == '-') {
        ok = (*a)[1] == (*b)[1];
        *a = x, *b = y;
        return ok;
    }
    ok = are_equal(x, n, y, m) || (n > 4 && memcmp(x, "ERR ", 4) == 0 &&
                                   errors_agree(x, n, y, m));
    *a = x + n + 2;
    *b = y + m + 2;
    return ok;
}

static bool agree(const char **a, const char **b)
{
    const char *a_end = strchr(*a, '\n'), *b_end = strchr(*b, '\n');
    char type = **a;
    long n;

    if (**a != **b)
        return false;
    if (type == '$' || type == '=')
        return texts_agree(a, b);
    if (!strchr("*>~%", type)) {
        bool ok = lines_agree(*a, (size_t)(a_end - *a) - 1, *b,
                              (size_t)(b_end - *b) - 1);

        *a = a_end + 1;
        *b = b_end + 1;
        return ok;
    }
    n = strtol(*a + 1, NULL, 10);
    if (strtol(*b + 1, NULL, 10) != n)
        return false;
    *a = a_end + 1;
    *b = b_end + 1;
    for (n *= type == '%' ? 2 : 1; n > 0; n--)
        if (!agree(a, b))
            return false;
    return true;
}

/* ---- in any order ---- */

struct piece {
    const char *p;
    size_t n;
};

static int by_text(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    int rc = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

    return rc ? rc : (x->n > y->n) - (x->n < y->n);
}

/* Elements of an array, or pairs of a map, sorted. */
static size_t pieces_of(const char *p, const char *end, struct piece *out,
                        size_t room)
{
    size_t n = strtoul(p + 1, NULL, 10);
    int each = *p == '%' ? 2 : 1;

    ck_assert_uint_le(n, room);
    p = strchr(p, '\n') + 1;
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct piece){p, 0};
        for (int k = 0; k < each; k++)
            p += reply_len(p, end);
        out[i].n = (size_t)(p - out[i].p);
    }
    qsort(out, n, sizeof *out, by_text);
    return n;
}

static bool agree_in_any_order(const char *a, const char *a_end, const char *b,
                               const char *b_end)
{
    struct piece x[2048], y[2048];
    size_t n, m;

    if (*a != *b || !strchr("*%~", *a))
        return *a == *b && agree(&a, &b);
    n = pieces_of(a, a_end, x, 2048);
    m = pieces_of(b, b_end, y, 2048);
    for (size_t i = 0; i < n && n == m; i++)
        if (by_text(&x[i], &y[i]) != 0)
            return false;
    return n == m;
}

/* ---- asking ---- */

enum how { EXACTLY, IN_ANY_ORDER, BY_TYPE };

static void compare_one(struct pair *p, enum how how)
{
    struct heard *r = &p->real, *m = &p->model;
    size_t n, k;
    bool ok;

    while (!r->is_closed && reply_len(r->p + r->at, r->p + r->n) == 0)
        hear_real(p);
    n = reply_len(r->p + r->at, r->p + r->n);
    k = reply_len(m->p + m->at, m->p + m->n);
    if (n == 0 || k == 0) {
        if (n != k)
            complain(p, "only one of them answers");
        return;
    }
    const char *a = r->p + r->at, *b = m->p + m->at;

    free(p->reply);
    p->reply = strndup(a, n);
    ok = how == IN_ANY_ORDER ? agree_in_any_order(a, a + n, b, b + k)
         : how == BY_TYPE    ? *a == *b
                             : agree(&a, &b);
    if (!ok)
        complain(p, "they differ");
    r->at += n;
    m->at += k;
}

static void drop_heard(struct heard *h)
{
    if (h->at < h->n)
        return;
    h->at = h->n = 0;
}

static void note(const char *bytes, size_t len)
{
    char *text = trail[++trail_at % TRAIL];
    size_t n = 0;

    for (size_t i = 0; i < len && n < sizeof trail[0] - 4; i++)
        if (bytes[i] != '\r')
            text[n++] = bytes[i] == '\n' ? ' ' : bytes[i];
    text[n] = '\0';
}

static void send_both(struct pair *p, const char *bytes, size_t len)
{
    note(bytes, len);
    for (size_t at = 0; at < len && !p->real.is_closed;) {
        ssize_t n = send(p->fd, bytes + at, len - at, MSG_NOSIGNAL);

        p->real.is_closed = n <= 0;
        at += n > 0 ? (size_t)n : 0;
    }
    if (p->client)
        model_feed(p->client, bytes, len);
}

static void ask_as(struct pair *p, const char *bytes, size_t len, int replies,
                   enum how how)
{
    drop_heard(&p->real);
    drop_heard(&p->model);
    let_time_pass();
    send_both(p, bytes, len);
    for (int i = 0; i < replies; i++)
        compare_one(p, how);
}

static void ask_words(struct pair *p, const struct words *w, enum how how)
{
    static char request[1 << 16];
    size_t n = (size_t)sprintf(request, "*%d\r\n", w->count);

    for (int i = 0; i < w->count; i++) {
        ck_assert_uint_lt(n + w->n[i] + 32, sizeof request);
        n += (size_t)sprintf(request + n, "$%zu\r\n", w->n[i]);
        memcpy(request + n, w->p[i], w->n[i]);
        n += w->n[i];
        memcpy(request + n, "\r\n", 2);
        n += 2;
    }
    ask_as(p, request, n, 1, how);
}

void pair_ask(struct pair *p, const struct words *w)
{
    ask_words(p, w, EXACTLY);
}

void pair_ask_any(struct pair *p, const struct words *w)
{
    ask_words(p, w, IN_ANY_ORDER);
}

void pair_ask_type(struct pair *p, const struct words *w)
{
    ask_words(p, w, BY_TYPE);
}

void pair_send(struct pair *p, const char *bytes, size_t len, int replies)
{
    ask_as(p, bytes, len, replies, EXACTLY);
}

void pair_must_agree_on_end(struct pair *p)
{
    if (p->model.is_closed)
        while (!p->real.is_closed)
            hear_real(p);
    ck_assert_msg(p->real.is_closed == p->model.is_closed,
                  "only the server has closed after: %s", trail[trail_at % TRAIL]);
}

const char *pair_reply(const struct pair *p)
{
    return p->reply ? p->reply : "";
}

static struct words words_of(char *text)
{
    struct words w = {.count = 0};

    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        w.p[w.count] = word;
        w.n[w.count] = strlen(word);
        w.count++;
    }
    return w;
}

static void ask_text(struct pair *p, const char *text, enum how how)
{
    char *copy = local_copy(text);
    struct words w = words_of(copy);

    ask_words(p, &w, how);
    free(copy);
}

void ask(struct pair *p, const char *text)
{
    ask_text(p, text, EXACTLY);
}

void ask_type(struct pair *p, const char *text)
{
    ask_text(p, text, BY_TYPE);
}

#define REDIS_BUSY                                                            \
    "(error) BUSY Redis is busy running a script. You can only call SCRIPT "  \
    "KILL or SHUTDOWN NOSAVE."
#define VALKEY_BUSY                                                           \
    "(error) BUSY Valkey is busy running a script. You can only call SCRIPT " \
    "KILL or SHUTDOWN NOSAVE."

void server_run_for_ever(void)
{
    static const char script[] = "EVAL \"while true do end\" 0\r\n";
    int fd = connect_real();

    server_clock_set(0); /* Redis 6.0 measures scripts by it */
    ck_assert_int_eq(send(fd, script, sizeof script - 1, MSG_NOSIGNAL),
                     (ssize_t)sizeof script - 1);
    server_await(server, ANSWER_S * 1000,
                 version == MODEL_VALKEY_9 ? VALKEY_BUSY : REDIS_BUSY,
                 "PING");
    (void)close(fd);
}

/* ---- keys ---- */

static void ask_key(struct pair *p, const char *format, const char *key,
                    enum how how)
{
    char request[700], head[32];
    size_t n = strlen(key);
    int words = 2;

    for (const char *c = strchr(format, ' '); c && (c = strchr(c + 1, ' '));)
        words++;
    (void)snprintf(head, sizeof head, "%.*s", (int)strcspn(format, " "),
                   format);
    n = (size_t)snprintf(request, sizeof request,
                         "*%d\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", words,
                         strlen(head), head, n, key);
    for (const char *w = strchr(format, ' '); w && (w = strchr(w + 1, ' '));) {
        size_t len = strcspn(w + 1, " ");

        n += (size_t)snprintf(request + n, sizeof request - n,
                              "$%zu\r\n%.*s\r\n", len, (int)len, w + 1);
    }
    ask_as(p, request, n, 1, how);
}

static void compare_key(struct pair *p, const char *key)
{
    static const struct {
        const char *type, *read;
        enum how how;
    } readers[] = {
        {"+string", "GET K", EXACTLY},
        {"+hash", "HGETALL K", IN_ANY_ORDER},
        {"+list", "LRANGE K 0 -1", EXACTLY},
        {"+zset", "ZRANGE K 0 -1 WITHSCORES", EXACTLY},
    };

    ask_key(p, "TYPE K", key, EXACTLY);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (strncmp(pair_reply(p), readers[i].type, strlen(readers[i].type)) ==
            0) {
            ask_key(p, readers[i].read, key, readers[i].how);
            break;
        }
    ask_key(p, "PTTL K", key, EXACTLY);
}

/* The names are those of the model, for KEYS has said that they are the same. */
void pair_compare_keys(struct pair *p)
{
    char all[] = "KEYS *", *names, *at, *line;
    struct words w = words_of(all);

    pair_ask_any(p, &w);
    names = strdup(pair_reply(p));
    for (at = names; (at = strstr(at, "\r\n$")) != NULL;) {
        size_t n = strtoul(at + 3, &line, 10);
        char key[256];

        (void)snprintf(key, sizeof key, "%.*s", (int)n, line + 2);
        compare_key(p, key);
        at = line + 2 + n;
    }
    free(names);
}
