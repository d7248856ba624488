/* A proxy that reads RESP. See gate.h. */
#include "tests/support/gate.h"

#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "resp/resp.h"
#include "tests/support/local.h"
#include "tests/support/request.h"

#define RULES_MAX 16
#define PAIRS_MAX 64
#define BYTES_MAX (1 << 20)
#define LOOK_MS 20            /* how soon gate_stop is noticed */

/* In front of each script: a redis.call that takes only keys that the request has declared.
 * The script may write other texts into KEYS. */
#define STRICT \
    "local real = redis " \
    "local declared = {} for _, key in ipairs(KEYS) do declared[key] = true end " \
    "local function ok(name, key) " \
    "name = name:lower() " \
    "if name == 'time' or name == 'publish' or name == 'spublish' then return true end " \
    "return declared[key] end " \
    "local function why(key) " \
    "return 'ERR script tried accessing undeclared key, key: ' .. tostring(key) end " \
    "local redis = setmetatable({ " \
    "call = function(n, ...) if not ok(n, (...)) then error(why((...))) end " \
    "return real.call(n, ...) end, " \
    "pcall = function(n, ...) if not ok(n, (...)) then return {err = why((...))} end " \
    "return real.pcall(n, ...) end}, {__index = real}) "

const struct gate_rule gate_strict[] = {
    {.pattern = "EVALSHA ...",
     .answer = "-NOSCRIPT No matching script. Please use EVAL.\r\n"},
    {.pattern = "EVAL ...", .inserted = STRICT},
    {0}};

struct pair {
    struct gate *gate;
    pthread_t thread;
    int client, server;
    char in[BYTES_MAX], back[BYTES_MAX];
    size_t in_len, back_len;
    int unanswered;           /* commands at the server */
    const char *instead;      /* of the next reply; NULL: it passes */
    bool is_resp3, has_subscribed;
    bool is_raw;              /* subscribed in RESP2: everything passes */
    struct request request;
};

struct gate {
    int listener, port, server_port;
    const struct gate_rule *rules;
    pthread_t thread;
    atomic_bool is_over;
    atomic_size_t counts[RULES_MAX], accepted;
    struct pair *pairs[PAIRS_MAX];
};

/* A command that is sent in parts must not wait for the peer's acknowledgements. */
static void send_at_once(int fd)
{
    const int yes = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static bool put(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

static void drop(char *bytes, size_t *len, size_t n)
{
    memmove(bytes, bytes + n, *len - n);
    *len -= n;
}

static bool is_word(const struct request *r, size_t i, const char *word)
{
    return i < r->argc && r->arg[i].len == strlen(word) &&
           memcmp(r->arg[i].ptr, word, r->arg[i].len) == 0;
}

static bool is_subscription(const struct request *r)
{
    return is_word(r, 0, "SUBSCRIBE") || is_word(r, 0, "SSUBSCRIBE") ||
           is_word(r, 0, "UNSUBSCRIBE") || is_word(r, 0, "SUNSUBSCRIBE");
}

static const struct gate_rule *rule_of(struct pair *p)
{
    for (const struct gate_rule *rule = p->gate->rules; rule->pattern; rule++)
        if (request_matches(&p->request, rule->pattern) &&
            (p->has_subscribed || !rule->is_for_subscribers) &&
            (rule->times == 0 || p->gate->counts[rule - p->gate->rules] < rule->times))
            return rule;
    return NULL;
}

static bool is_forwarded(const struct gate_rule *rule)
{
    return !rule || rule->inserted || rule->is_executed;
}

static void note_forwarded(struct pair *p)
{
    const struct request *r = &p->request;

    if (is_word(r, 0, "HELLO"))
        p->is_resp3 = is_word(r, 1, "3");
    if (!is_subscription(r)) {
        p->unanswered++;
        return;
    }
    p->is_raw = !p->is_resp3;
    p->has_subscribed = is_word(r, 0, "SUBSCRIBE") || is_word(r, 0, "SSUBSCRIBE");
}

static bool put_bulk(int fd, const char *head, const char *ptr, size_t len)
{
    char size[32];

    (void)snprintf(size, sizeof size, "$%zu\r\n", strlen(head) + len);
    return put(fd, size, strlen(size)) && put(fd, head, strlen(head)) &&
           put(fd, ptr, len) && put(fd, "\r\n", 2);
}

static bool put_with(int fd, const struct request *r, const char *inserted)
{
    char size[32];
    bool is_sent;

    (void)snprintf(size, sizeof size, "*%zu\r\n", r->argc);
    is_sent = put(fd, size, strlen(size));
    for (size_t i = 0; is_sent && i < r->argc; i++)
        is_sent = put_bulk(fd, i == 1 ? inserted : "", r->arg[i].ptr, r->arg[i].len);
    return is_sent;
}

/* False: the connection is to be closed. */
static bool follow(struct pair *p, const struct gate_rule *rule)
{
    if (!rule || rule->is_executed)
        return put(p->server, p->in, p->request.len);
    if (rule->inserted)
        return put_with(p->server, &p->request, rule->inserted);
    return rule->answer && put(p->client, rule->answer, strlen(rule->answer));
}

/* Takes whole commands; one that is answered here waits for the replies before it.
 * False: the connection is to be closed. */
static bool take_commands(struct pair *p)
{
    while (p->in_len > 0) {
        const struct gate_rule *rule;

        if (p->is_raw) {
            if (!put(p->server, p->in, p->in_len))
                return false;
            p->in_len = 0;
            return true;
        }
        if (request_decode(&p->request, p->in, p->in_len) != REQUEST_WHOLE)
            return true;
        rule = rule_of(p);
        if (rule && !rule->inserted && p->unanswered > 0)
            return true;
        if (rule && rule->is_executed)
            p->instead = rule->answer;
        if (rule)
            p->gate->counts[rule - p->gate->rules]++;
        if (!follow(p, rule))
            return false;
        if (is_forwarded(rule))
            note_forwarded(p);
        drop(p->in, &p->in_len, p->request.len);
    }
    return true;
}

/* A reply that ends at `len`. */
static bool pass(struct pair *p, bool is_push, size_t len)
{
    const char *instead = is_push ? NULL : p->instead;

    if (instead)
        p->instead = NULL;
    return instead ? put(p->client, instead, strlen(instead))
                   : put(p->client, p->back, len);
}

static bool take_replies(struct pair *p)
{
    struct hf_resp_node nodes[4096];

    while (p->back_len > 0 && !p->is_raw) {
        struct hf_resp_tape tape = {.nodes = nodes, .room = 4096};
        struct hf_resp_parser parser;
        hf_status rc;
        bool is_push;

        hf_resp_init(&parser, NULL, 3);
        rc = hf_resp_parse(&parser, p->back, p->back_len, &tape);
        if (rc == HF_RESP_MORE)
            return true;
        if (rc != HF_OK)
            return false;
        is_push = hf_resp_type(hf_resp_first(&tape, p->back, 0)) == HF_RESP_PUSH;
        p->unanswered -= !is_push;
        if (!pass(p, is_push, parser.pos))
            return false;
        drop(p->back, &p->back_len, parser.pos);
    }
    if (!put(p->client, p->back, p->back_len))
        return false;
    p->back_len = 0;
    return true;
}

static bool read_from(int fd, char *bytes, size_t *len)
{
    ssize_t n = recv(fd, bytes + *len, BYTES_MAX - *len, 0);

    *len += n > 0 ? (size_t)n : 0;
    return n > 0;
}

static void *serve(void *arg)
{
    struct pair *p = arg;
    bool is_open = true;

    while (is_open && !p->gate->is_over) {
        struct pollfd fds[] = {{.fd = p->client, .events = POLLIN},
                               {.fd = p->server, .events = POLLIN}};

        if (poll(fds, 2, LOOK_MS) <= 0)
            continue;
        if (fds[0].revents)
            is_open = read_from(p->client, p->in, &p->in_len);
        if (is_open && fds[1].revents)
            is_open = read_from(p->server, p->back, &p->back_len) &&
                      take_replies(p);
        is_open = is_open && take_commands(p);
    }
    local_close(p->client);
    local_close(p->server);
    p->client = p->server = -1;
    return NULL;
}

static int connect_to(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    local_close(fd);
    return -1;
}

static void take_in(struct gate *g, int client)
{
    struct pair *p = local_new(sizeof *p);

    p->gate = g;
    p->client = client;
    p->server = connect_to(g->server_port);
    if (p->server < 0 || g->accepted == PAIRS_MAX) {
        local_reset(client);
        local_close(p->server);
        free(p);
        return;
    }
    if (pthread_create(&p->thread, NULL, serve, p) != 0)
        abort();
    send_at_once(p->client);
    send_at_once(p->server);
    g->pairs[g->accepted++] = p;
}

static void *listen_on(void *arg)
{
    struct gate *g = arg;

    while (!g->is_over) {
        struct pollfd fd = {.fd = g->listener, .events = POLLIN};
        int client;

        if (poll(&fd, 1, LOOK_MS) > 0 &&
            (client = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
            take_in(g, client);
    }
    return NULL;
}

struct gate *gate_start(int server_port, const struct gate_rule *rules)
{
    struct gate *g = local_new(sizeof *g);

    g->server_port = server_port;
    g->rules = rules;
    g->listener = local_listen(&g->port);
    ck_assert_int_ge(g->listener, 0);
    ck_assert_int_eq(pthread_create(&g->thread, NULL, listen_on, g), 0);
    return g;
}

void gate_stop(struct gate *g)
{
    if (!g)
        return;
    g->is_over = true;
    (void)pthread_join(g->thread, NULL);
    for (size_t i = 0; i < g->accepted; i++) {
        (void)pthread_join(g->pairs[i]->thread, NULL);
        free(g->pairs[i]);
    }
    (void)close(g->listener);
    free(g);
}

int gate_port(const struct gate *g)
{
    return g->port;
}

size_t gate_count(struct gate *g, size_t index)
{
    return g->counts[index];
}

size_t gate_accepted(struct gate *g)
{
    return g->accepted;
}
