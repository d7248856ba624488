/* Sentinel kit. */
#include "tests/support/sentinel_kit.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/error.h"
#include "net/route/router.h"

struct fake first, second, one, other;
struct hf_router *router;
static struct hf_router_options options;
static struct hf_seeds seeds;
static int question_count;
int questions[QUERIES_MAX];
int ended_port;
struct hf_error trouble;
static bool has_trouble;
static int slowness = SLOWNESS;
int64_t probe_ms = 2 * LONG_MS;

/* The linker puts these in place of what the library calls (Makefile: --wrap). */
int64_t __real_hf_clock_us(void);
int64_t __wrap_hf_clock_us(void);
int64_t __wrap_hf_clock_ms(void);

int64_t __wrap_hf_clock_us(void)
{
    return __real_hf_clock_us() / slowness;
}

int64_t __wrap_hf_clock_ms(void)
{
    return __wrap_hf_clock_us() / 1000;
}

/* ---- scripts, made when the ports are known ---- */

void add(struct fake *a, enum peer_verb verb, const char *text)
{
    size_t len = strlen(text);
    char *copy = a->texts + a->used;

    ck_assert_uint_lt(a->count, STEPS_MAX - 1);
    ck_assert_uint_lt(a->used + len, TEXTS_MAX);
    (void)strcpy(copy, text);
    a->used += len + 1;
    a->steps[a->count++] =
        (struct peer_step){.verb = verb, .text = copy, .number = len};
}

void expect(struct fake *a, const char *pattern)
{
    add(a, PEER_DO_EXPECT, pattern);
}

void say(struct fake *a, const char *bytes)
{
    add(a, PEER_DO_SEND, bytes);
}

void take_in(struct fake *a)
{
    add(a, PEER_DO_ACCEPT, "");
    add(a, PEER_DO_HANDSHAKE, "");
}

void fake_start(struct fake *a)
{
    a->peer = peer_start(a->steps);
}

int port_of(const struct fake *a)
{
    return peer_port(a->peer);
}

static void bow(struct fake *a)
{
    if (a->peer)
        ck_assert_pstr_eq(peer_finish(a->peer), NULL);
    peer_free(a->peer);
}

/* ---- what sentinels are asked ---- */

void be_asked(struct fake *a, const char *sentinels)
{
    expect(a, "SENTINEL SENTINELS " NAME);
    say(a, sentinels);
    expect(a, "SENTINEL GET-MASTER-ADDR-BY-NAME " NAME);
}

void put_bulk(char *dst, size_t room, const char *text)
{
    size_t len = strlen(dst);

    (void)snprintf(dst + len, room - len, "$%zu\r\n%s\r\n", strlen(text), text);
}

void name_master(struct fake *a, int port)
{
    char text[200] = "*2\r\n", digits[16];

    (void)snprintf(digits, sizeof digits, "%d", port);
    put_bulk(text, sizeof text, "127.0.0.1");
    put_bulk(text, sizeof text, digits);
    say(a, text);
}

void name_when_asked(struct fake *a, int port)
{
    be_asked(a, "*0\r\n");
    name_master(a, port);
}

void be_subscribed(struct fake *a)
{
    expect(a, "SUBSCRIBE +switch-master");
    say(a, ">3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n");
}

void tell_news(struct fake *a, const char *news)
{
    char text[300] = ">3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n";

    put_bulk(text, sizeof text, news);
    say(a, text);
}

void tell_switch(struct fake *a, const char *name, int from, int to)
{
    char news[100];

    (void)snprintf(news, sizeof news, "%s 127.0.0.1 %d 127.0.0.1 %d", name,
                   from, to);
    tell_news(a, news);
}

void name_and_subscribe(struct fake *a, int port)
{
    take_in(a);
    name_when_asked(a, port);
    be_subscribed(a);
}

void switch_when_let_go(void)
{
    name_and_subscribe(&first, port_of(&one));
    add(&first, PEER_DO_WAIT, "");
    tell_switch(&first, NAME, port_of(&one), port_of(&other));
    name_when_asked(&first, port_of(&other));
    fake_start(&first);
}

void have_role(struct fake *a, const char *role)
{
    expect(a, "ROLE");
    say(a, role);
}

void serve(struct fake *a, const char *command, const char *reply)
{
    expect(a, command);
    say(a, reply);
}

/* ---- a router ---- */

static void note_question(void *ctx, const struct hf_trace *trace)
{
    (void)ctx;
    if (trace->kind == HF_TRACE_QUEUED && trace->argc == 3 &&
        trace->argv[1].len == strlen("GET-MASTER-ADDR-BY-NAME") &&
        question_count < QUERIES_MAX)
        questions[question_count++] = atoi(strrchr(trace->address, ':') + 1);
    if (trace->kind == HF_TRACE_ENDED)
        ended_port = atoi(strrchr(trace->address, ':') + 1);
}

static void on_trouble(void *ctx, enum hf_trouble about, const struct hf_error *why)
{
    (void)ctx;
    (void)about;
    trouble = *why;
    has_trouble = true;
}

static void add_seeds(const int *ports, int count)
{
    memset(&seeds, 0, sizeof seeds);
    for (int i = 0; i < count && ports[i]; i++) {
        (void)strcpy(seeds.hosts[i].host, "127.0.0.1");
        seeds.hosts[seeds.hosts_count++].port = (uint16_t)ports[i];
    }
}

static void open_router_of_seeds(int protocol)
{
    struct hf_error error;

    has_trouble = false;
    hf_link_options_init(&options.link);
    options.seeds = &seeds;
    options.link.protocol = protocol;
    options.link.connect_timeout_ms = probe_ms;
    options.link.on_trace = note_question;
    options.on_trouble = on_trouble;
    (void)strcpy(options.link.url.host, "127.0.0.1");
    options.link.url.port = seeds.hosts[0].port;
    open_loop_of(&memory.hook, false);
    ck_assert_int_eq(hf_router_new(&router, loop, &options, &error), HF_OK);
}

void open_router_at(int port, int second_port, int protocol)
{
    const int ports[] = {port, second_port};

    add_seeds(ports, 2);
    seeds.topology = HF_SENTINEL;
    (void)strcpy(seeds.master, NAME);
    open_router_of_seeds(protocol);
}

void open_router_among(const int *ports, int count, struct hf_address_map *map)
{
    add_seeds(ports, count);
    seeds.topology = HF_REPLICATED;
    seeds.address_map = map;
    open_router_of_seeds(3);
    hf_address_map_unref(map);
    seeds.address_map = NULL;
}

void open_router(void)
{
    open_router_at(port_of(&first), second.peer ? port_of(&second) : 0, 3);
}

void close_router(void)
{
    lock();
    hf_loop_quiesce(loop);
    hf_router_free(router);
    hf_loop_resume(loop);
    unlock();
    free_loop();
}

struct hf_router_counts counts(void)
{
    struct hf_router_counts c;

    lock();
    hf_router_get_counts(router, &c);
    unlock();
    return c;
}

/* ---- commands ---- */

static void on_done(struct hf_command *command, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct question *q = HF_OWNER_OF(command, struct question, command);
    const struct hf_error *why = hf_command_error(command);
    const char *ptr = why->text;
    size_t len = strlen(ptr);

    if (outcome == HF_ANSWERED)
        (void)hf_resp_bytes(reply, &ptr, &len);
    (void)snprintf(q->answer, sizeof q->answer, "%.*s", (int)len, ptr);
    q->outcome = outcome;
    q->status = why->status;
    q->is_done = true;
}

void prepare_question(struct question *q, const char *word, int64_t timeout_ms)
{
    memset(q, 0, sizeof *q);
    q->argv[0] = (struct hf_resp_arg){"ECHO", 4};
    q->argv[1] = (struct hf_resp_arg){word, strlen(word)};
    q->command.argv = q->argv;
    q->command.argc = 2;
    q->command.deadline_ms = hf_clock_ms() + timeout_ms;
    q->command.done = on_done;
}

void send_question(struct question *q)
{
    lock();
    ck_assert_int_eq(hf_router_send(router, &q->command), HF_OK);
    unlock();
}

void ask_over(struct question *q, const char *word, int64_t timeout_ms,
              bool is_replicated)
{
    prepare_question(q, word, timeout_ms);
    q->command.is_replicated = is_replicated;
    send_question(q);
}

void ask(struct question *q, const char *word, int64_t timeout_ms)
{
    ask_over(q, word, timeout_ms, false);
}

void drive_until_true(const bool *is_so, const char *what)
{
    for (int64_t end_ms = 0; !*is_so;)
        drive_on(&end_ms, what);
}

void drive_until_received(struct fake *a, size_t count)
{
    for (int64_t end_ms = 0; peer_received_count(a->peer) < count;)
        drive_on(&end_ms, "a question to this one");
}

void must_answer(struct question *q, const char *answer)
{
    drive_until_true(&q->is_done, "an answer");
    ck_assert_str_eq(q->answer, answer);
    ck_assert_int_eq(q->outcome, HF_ANSWERED);
}

void must_fail(struct question *q, hf_status status, const char *part)
{
    drive_until_true(&q->is_done, "an end");
    ck_assert_int_eq(q->outcome, HF_UNSENT);
    ck_assert_msg(strstr(q->answer, part), "%s, without: %s", q->answer, part);
    ck_assert_msg(q->status == status, "%s: %s", hf_net_status_name(q->status),
                  q->answer);
}

void must_tell(hf_status status, const char *part)
{
    drive_until_true(&has_trouble, "trouble");
    ck_assert_msg(strstr(trouble.text, part), "%s, without: %s", trouble.text,
                  part);
    ck_assert_int_eq(trouble.status, status);
}

void must_tell_nothing(void)
{
    ck_assert_msg(!has_trouble, "%s", trouble.text);
}

void ask_and_get(const char *word)
{
    struct question q;

    ask(&q, word, LONG_MS);
    must_answer(&q, word);
}

static void set_up_with(int its_slowness)
{
    slowness = its_slowness;
    memory_init(&memory);
}

void set_up(void)
{
    set_up_with(SLOWNESS);
}

void set_up_slow(void)
{
    set_up_with(SLOWNESS_MAX);
}

void tear_down(void)
{
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    bow(&first);
    bow(&second);
    bow(&one);
    bow(&other);
}
