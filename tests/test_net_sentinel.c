/* What sentinels say, and what becomes of it: scripted peers say what real ones
 * say seldom, late, or never. Real ones: tests/live/test_sentinel.c.
 * Sources: faults S1 to S5, S10, S14; SENTINEL "Guidelines for clients". */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/error.h"
#include "net/net.h"
#include "net/route/router.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"
#include "tests/support/peer.h"
#include "tests/support/suite.h"

#define LONG_MS 10000           /* longer than anything here takes */
#define A_MOMENT_MS 100         /* for what should not happen */
#define NAME "main"
#define STEPS_MAX 60
#define TEXTS_MAX 4000

/* The library's clock goes slowly, so that a peer whom a busy machine runs late
 * is not silent: others are asked after 100 ms (round.h), and looked at after
 * 250 (discover.c). */
#define SLOWNESS 3

int64_t __real_hf_clock_us(void);
int64_t __wrap_hf_clock_us(void);
int64_t __wrap_hf_clock_ms(void);

int64_t __wrap_hf_clock_us(void)
{
    return __real_hf_clock_us() / SLOWNESS;
}

int64_t __wrap_hf_clock_ms(void)
{
    return __wrap_hf_clock_us() / 1000;
}

static struct memory memory;
static struct hf_loop *loop;
static struct hf_router *router;
static struct hf_router_options options;
static struct hf_seeds seeds;

/* ---- scripts, made when the ports are known ---- */

struct actor {
    struct peer_step steps[STEPS_MAX];
    size_t count;
    char texts[TEXTS_MAX];      /* of the steps */
    size_t used;
    struct peer *peer;
};

static struct actor first, second, one, other; /* sentinels; servers */

static void add(struct actor *a, enum peer_verb verb, const char *text)
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

static void expect(struct actor *a, const char *pattern)
{
    add(a, PEER_DO_EXPECT, pattern);
}

static void say(struct actor *a, const char *bytes)
{
    add(a, PEER_DO_SEND, bytes);
}

/* A new connection, its greeting answered. */
static void take_in(struct actor *a)
{
    add(a, PEER_DO_ACCEPT, "");
    add(a, PEER_DO_GREET, "");
}

static void go_on_stage(struct actor *a)
{
    a->peer = peer_start(a->steps);
}

static int port_of(const struct actor *a)
{
    return peer_port(a->peer);
}

/* Each that was on stage has said all that it was to say. */
static void bow(struct actor *a)
{
    if (a->peer)
        ck_assert_pstr_eq(peer_finish(a->peer), NULL);
    peer_free(a->peer);
}

/* ---- what sentinels are asked ---- */

static void be_asked(struct actor *a, const char *sentinels)
{
    expect(a, "SENTINEL SENTINELS " NAME);
    say(a, sentinels);
    expect(a, "SENTINEL GET-MASTER-ADDR-BY-NAME " NAME);
}

static void put_bulk(char *dst, size_t room, const char *text)
{
    size_t len = strlen(dst);

    (void)snprintf(dst + len, room - len, "$%zu\r\n%s\r\n", strlen(text), text);
}

static void name_master(struct actor *a, int port)
{
    char text[200] = "*2\r\n", digits[16];

    (void)snprintf(digits, sizeof digits, "%d", port);
    put_bulk(text, sizeof text, "127.0.0.1");
    put_bulk(text, sizeof text, digits);
    say(a, text);
}

/* Asked once, it names that one. */
static void name_when_asked(struct actor *a, int port)
{
    be_asked(a, "*0\r\n");
    name_master(a, port);
}

static void be_subscribed(struct actor *a)
{
    expect(a, "SUBSCRIBE +switch-master");
    say(a, ">3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n");
}

static void tell_news(struct actor *a, const char *news)
{
    char text[300] = ">3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n";

    put_bulk(text, sizeof text, news);
    say(a, text);
}

static void tell_switch(struct actor *a, const char *name, int from, int to)
{
    char news[100];

    (void)snprintf(news, sizeof news, "%s 127.0.0.1 %d 127.0.0.1 %d", name,
                   from, to);
    tell_news(a, news);
}

#define MASTER "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
#define REPLICA                                                               \
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"

static void have_role(struct actor *a, const char *role)
{
    expect(a, "ROLE");
    say(a, role);
}

/* A server that is the master from its start, and answers one command. */
static void serve(struct actor *a, const char *command, const char *reply)
{
    expect(a, command);
    say(a, reply);
}

/* ---- a router ---- */

/* Whom we asked which server is the master: their ports. */
#define QUESTIONS_MAX 100
static int questions[QUESTIONS_MAX];
static int question_count;
static int ended_port;          /* of the last request that ended */

static void note_question(void *ctx, const struct hf_trace *trace)
{
    (void)ctx;
    if (trace->kind == HF_TRACE_QUEUED && trace->argc == 3 &&
        trace->argv[1].len == strlen("GET-MASTER-ADDR-BY-NAME") &&
        question_count < QUESTIONS_MAX)
        questions[question_count++] = atoi(strrchr(trace->address, ':') + 1);
    if (trace->kind == HF_TRACE_ENDED)
        ended_port = atoi(strrchr(trace->address, ':') + 1);
}

static struct hf_error trouble; /* told of */
static bool has_trouble;
static int64_t probe_ms = 2 * LONG_MS; /* of each; nobody waits for that */

static void on_trouble(void *ctx, const struct hf_error *why)
{
    (void)ctx;
    trouble = *why;
    has_trouble = true;
}

/* Of sentinels at these ports; 0: of one. */
static void open_router_at(int port, int second_port, int protocol)
{
    struct hf_loop_options of_loop = {.mem = &memory.hook};
    const int ports[] = {port, second_port};
    struct hf_error error;

    memset(&seeds, 0, sizeof seeds);
    seeds.topology = HF_SENTINEL;
    (void)strcpy(seeds.master, NAME);
    for (int i = 0; i < 2 && ports[i]; i++) {
        (void)strcpy(seeds.list[i].host, "127.0.0.1");
        seeds.list[seeds.count++].port = (uint16_t)ports[i];
    }
    hf_link_options_init(&options.link);
    options.seeds = &seeds;
    options.link.protocol = protocol;
    options.link.connect_timeout_ms = probe_ms;
    options.link.on_trace = note_question;
    options.on_trouble = on_trouble;
    (void)strcpy(options.link.url.host, "127.0.0.1");
    options.link.url.port = seeds.list[0].port;
    ck_assert_int_eq(hf_loop_new(&loop, &of_loop), HF_OK);
    ck_assert_int_eq(hf_router_new(&router, loop, &options, &error), HF_OK);
}

static void open_router(void)
{
    open_router_at(port_of(&first), second.peer ? port_of(&second) : 0, 3);
}

static void close_router(void)
{
    hf_loop_lock(loop);
    hf_loop_quiesce(loop);
    hf_router_free(router);
    hf_loop_resume(loop);
    hf_loop_unlock(loop);
    hf_loop_free(loop);
}

static struct hf_router_counts counts(void)
{
    struct hf_router_counts c;

    hf_loop_lock(loop);
    hf_router_counts(router, &c);
    hf_loop_unlock(loop);
    return c;
}

/* ---- commands ---- */

struct question {
    struct hf_command command;
    struct hf_resp_arg argv[2];
    bool is_done;
    char answer[HF_ERROR_TEXT_MAX]; /* or why there is none */
    enum hf_outcome outcome;
    hf_status status;
};

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

static void prepare_question(struct question *q, const char *word,
                             int64_t timeout_ms)
{
    memset(q, 0, sizeof *q);
    q->argv[0] = (struct hf_resp_arg){"ECHO", 4};
    q->argv[1] = (struct hf_resp_arg){word, strlen(word)};
    q->command.argv = q->argv;
    q->command.argc = 2;
    q->command.deadline_ms = hf_clock_ms() + timeout_ms;
    q->command.done = on_done;
}

static void send_question(struct question *q)
{
    hf_loop_lock(loop);
    ck_assert_int_eq(hf_router_send(router, &q->command), HF_OK);
    hf_loop_unlock(loop);
}

static void ask_over(struct question *q, const char *word, int64_t timeout_ms,
                     bool is_slow)
{
    prepare_question(q, word, timeout_ms);
    q->command.is_slow = is_slow;
    send_question(q);
}

static void ask(struct question *q, const char *word, int64_t timeout_ms)
{
    ask_over(q, word, timeout_ms, false);
}

static void drive_until(const bool *is_so, const char *what)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (!*is_so) {
        ck_assert_msg(local_now_ms() < end_ms, "%s does not come", what);
        hf_loop_dispatch(loop, 5);
    }
}

static void drive_for(int64_t ms)
{
    int64_t end_ms = local_now_ms() + ms;

    while (local_now_ms() < end_ms)
        hf_loop_dispatch(loop, 5);
}

/* Until the peer has been asked so often. */
static void drive_until_received(struct actor *a, size_t count)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (peer_received_count(a->peer) < count) {
        ck_assert_msg(local_now_ms() < end_ms, "no more is asked");
        hf_loop_dispatch(loop, 5);
    }
}

static void must_answer(struct question *q, const char *answer)
{
    drive_until(&q->is_done, "an answer");
    ck_assert_str_eq(q->answer, answer);
    ck_assert_int_eq(q->outcome, HF_ANSWERED);
}

/* Unsent, with that status and a line that contains `part`. */
static void must_fail(struct question *q, hf_status status, const char *part)
{
    drive_until(&q->is_done, "an end");
    ck_assert_int_eq(q->outcome, HF_UNSENT);
    ck_assert_msg(strstr(q->answer, part), "%s, without: %s", q->answer, part);
    ck_assert_msg(q->status == status, "%s: %s", hf_net_status_name(q->status),
                  q->answer);
}

/* It goes on, and on_trouble was told. */
static void must_tell(hf_status status, const char *part)
{
    drive_until(&has_trouble, "trouble");
    ck_assert_msg(strstr(trouble.text, part), "%s, without: %s", trouble.text,
                  part);
    ck_assert_int_eq(trouble.status, status);
}

static void ask_and_get(const char *word)
{
    struct question q;

    ask(&q, word, LONG_MS);
    must_answer(&q, word);
}

/* ---- what it takes to be believed (S2, S3) ---- */

START_TEST(a_master_that_says_so_is_the_master)
{
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    go_on_stage(&one);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    go_on_stage(&first);
    open_router();
    ask_and_get("a");
    close_router();
}
END_TEST

/* It may have been promoted a moment later; though another sentinel is not
 * there, who might come yet. */
START_TEST(a_replica_is_asked_again)
{
    take_in(&one);
    have_role(&one, REPLICA);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    go_on_stage(&one);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    name_when_asked(&first, port_of(&one));
    go_on_stage(&first);
    open_router_at(port_of(&first), _i ? local_dead_port() : 0, 3);
    ask_and_get("a");
    close_router();
}
END_TEST

static const struct {
    const char *reply;
    const char *said;
} no_masters[] = {
    {REPLICA, "it says that it is none"},
    {"*2\r\n$8\r\nsentinel\r\n*0\r\n", "it says that it is none"},
    {"*1\r\n$6\r\nmaster\r\n", "no role that is known"},
    {"*0\r\n", "the reply has no role"},
    {"+master\r\n", "the reply is no array"},
    {"_\r\n", "the reply is no array"},
    {"-NOPERM this user has no permissions\r\n", "ROLE: NOPERM"},
    {"-LOADING Redis is loading the dataset\r\n", "ROLE: LOADING"},
};

START_TEST(who_does_not_say_so_is_not_believed)
{
    struct question q;
    char where[80];

    take_in(&one);
    have_role(&one, no_masters[_i].reply);
    go_on_stage(&one);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    go_on_stage(&first);
    open_router();
    ask(&q, "a", LONG_MS);
    must_tell(HF_E_CONNECT, no_masters[_i].said);
    (void)snprintf(where, sizeof where,
                   "sentinel 127.0.0.1:%d names the master 127.0.0.1:%d: ",
                   port_of(&first), port_of(&one));
    ck_assert_msg(strncmp(trouble.text, where, strlen(where)) == 0, "%s",
                  trouble.text);
    ck_assert(!q.is_done);
    close_router();
}
END_TEST

static const struct {
    const char *reply;
    hf_status status;
    const char *said;
} no_names[] = {
    {"_\r\n", HF_E_INVAL, "the sentinels do not know 'main'"},
    {"*-1\r\n", HF_E_INVAL, "the sentinels do not know 'main'"},
    {"$-1\r\n", HF_E_INVAL, "the sentinels do not know 'main'"},
    {"*0\r\n", HF_E_PROTOCOL, "the reply is no address"},
    {"*2\r\n$9\r\n127.0.0.1\r\n$1\r\n0\r\n", HF_E_PROTOCOL, "no address"},
    {"*2\r\n$9\r\n127.0.0.1\r\n$5\r\n65536\r\n", HF_E_PROTOCOL, "no address"},
    {"*2\r\n$0\r\n\r\n$4\r\n6379\r\n", HF_E_PROTOCOL, "no address"},
    {"*2\r\n$4\r\na\r\nb\r\n$4\r\n6379\r\n", HF_E_PROTOCOL, "no address"},
    {"+127.0.0.1 6379\r\n", HF_E_PROTOCOL, "no array"},
    {"-ERR unknown command 'SENTINEL'\r\n", HF_E_SERVER, "unknown command"},
    {"-NOPERM no permissions\r\n", HF_E_SERVER, "NOPERM"},
};

/* At once, since nothing will change it: long before the deadline. */
START_TEST(a_sentinel_that_names_nobody_is_told)
{
    struct question q;
    int64_t began_ms = local_now_ms();

    take_in(&first);
    be_asked(&first, "*0\r\n");
    say(&first, no_names[_i].reply);
    go_on_stage(&first);
    open_router();
    ask(&q, "a", 2 * LONG_MS);
    must_fail(&q, no_names[_i].status, no_names[_i].said);
    ck_assert_int_lt(local_now_ms() - began_ms, LONG_MS);
    close_router();
}
END_TEST

START_TEST(a_master_that_refuses_the_password_is_told)
{
    struct question q;

    add(&one, PEER_DO_ACCEPT, "");
    expect(&one, "HELLO ...");
    say(&one, "-WRONGPASS invalid username-password pair\r\n");
    go_on_stage(&one);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    go_on_stage(&first);
    open_router();
    ask(&q, "a", 2 * LONG_MS);
    must_fail(&q, HF_E_AUTH, "WRONGPASS");
    close_router();
}
END_TEST

/* ---- whom to ask (S1) ---- */

/* A good one is found though the first says nothing, or names one that says
 * nothing. */
START_TEST(the_silence_of_one_holds_nobody_up)
{
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO a", "+a\r\n");
    go_on_stage(&other);
    take_in(&first);
    be_asked(&first, "*0\r\n");
    if (_i == 1) {
        take_in(&one);
        go_on_stage(&one);
        name_master(&first, port_of(&one));
    }
    go_on_stage(&first);
    take_in(&second);
    name_when_asked(&second, port_of(&other));
    go_on_stage(&second);
    open_router();
    ask_and_get("a");
    close_router();
}
END_TEST

/* The second one helped: it alone is asked when the master is lost. */
START_TEST(who_helped_is_asked_first)
{
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    add(&one, PEER_DO_WAIT, "");
    add(&one, PEER_DO_CLOSE, "");
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO b", "+b\r\n");
    go_on_stage(&one);
    take_in(&first);
    be_asked(&first, "*0\r\n");
    say(&first, "_\r\n");
    be_subscribed(&first);
    go_on_stage(&first);
    take_in(&second);
    name_when_asked(&second, port_of(&one));
    be_subscribed(&second);
    name_when_asked(&second, port_of(&one));
    go_on_stage(&second);
    open_router();
    ask_and_get("a");
    peer_go(one.peer);
    drive_until_received(&second, 5);
    ask_and_get("b");
    ck_assert_int_eq(questions[2], port_of(&second)); /* behind the first two */
    close_router();
}
END_TEST

/* What one says is worth more than that the other is not there. */
START_TEST(what_one_says_is_told_of_all)
{
    struct question q;

    take_in(&first);
    be_asked(&first, "*0\r\n");
    say(&first, "_\r\n");
    go_on_stage(&first);
    open_router_at(local_dead_port(), port_of(&first), 3);
    ask(&q, "a", LONG_MS);
    must_tell(HF_E_INVAL, "do not know");
    ck_assert(!q.is_done); /* the other might know */
    close_router();
}
END_TEST

/* Nor does the other's end, in a later round, before that has heard anything. */
START_TEST(what_one_said_is_told_until_it_says_something_else)
{
    struct question patient, q;
    int port = local_dead_port();

    take_in(&first);
    for (int i = 0; i < 3; i++) {
        be_asked(&first, "*0\r\n");
        if (i < 2)
            say(&first, "_\r\n");
    }
    add(&first, PEER_DO_WAIT, "");
    go_on_stage(&first);
    probe_ms = 1500; /* the third question comes after 900 */
    open_router_at(port, port_of(&first), 3);
    ask(&patient, "a", LONG_MS);
    while (ended_port != port)
        hf_loop_dispatch(loop, 5);
    ask(&q, "b", A_MOMENT_MS);
    must_fail(&q, HF_E_INVAL, "do not know");
    peer_go(first.peer);
    close_router();
}
END_TEST

/* Nor that it does not let us in. */
START_TEST(what_one_says_is_told_of_all_that_refuse)
{
    struct question q;

    take_in(&first);
    be_asked(&first, "*0\r\n");
    say(&first, "_\r\n");
    go_on_stage(&first);
    add(&second, PEER_DO_ACCEPT, "");
    expect(&second, "HELLO ...");
    say(&second, "-WRONGPASS invalid username-password pair\r\n");
    go_on_stage(&second);
    open_router();
    ask(&q, "a", 2 * LONG_MS);
    must_fail(&q, HF_E_INVAL, "do not know");
    close_router();
}
END_TEST

/* The round is not over: what keeps it is told. */
START_TEST(a_deadline_that_comes_early_is_explained)
{
    struct question patient, q;
    char where[80];

    take_in(&first);
    be_asked(&first, "*0\r\n");
    if (_i == 1) {
        take_in(&one);
        expect(&one, "ROLE");
        go_on_stage(&one);
        name_master(&first, port_of(&one));
    }
    go_on_stage(&first);
    open_router();
    ask(&patient, "b", LONG_MS);
    drive_until_received(_i ? &one : &first, _i ? 1 : 2);
    ask(&q, "a", A_MOMENT_MS);
    must_fail(&q, HF_E_CONNECT, "no answer in time");
    (void)snprintf(where, sizeof where, "127.0.0.1:%d: no answer in time",
                   port_of(_i ? &one : &first));
    ck_assert_ptr_nonnull(strstr(q.answer, where));
    close_router();
}
END_TEST

/* Row 0: no sentinel is there. Row 1: the master that one names is not. */
START_TEST(a_command_that_is_sent_once_ends_with_the_first_round)
{
    int dead = local_dead_port();
    struct question q;
    char said[160];

    (void)snprintf(said, sizeof said, "127.0.0.1:%d: cannot connect", dead);
    if (_i == 1) {
        take_in(&first);
        name_when_asked(&first, dead);
        go_on_stage(&first);
        (void)snprintf(said, sizeof said,
                       "sentinel 127.0.0.1:%d names the master 127.0.0.1:%d: "
                       "cannot connect: Connection refused",
                       port_of(&first), dead);
    }
    open_router_at(_i ? port_of(&first) : local_dead_port(), dead, 3);
    prepare_question(&q, "a", 2 * LONG_MS); /* longer than must_fail waits */
    q.command.is_once = true;
    send_question(&q);
    must_fail(&q, HF_E_CONNECT, said);
    close_router();
}
END_TEST

/* ---- how many (S14) ---- */

static void list_of(char *dst, size_t room, int count, int port)
{
    int len = snprintf(dst, room, "*%d\r\n", count);

    for (int i = 0; i < count; i++)
        len += snprintf(dst + len, room - (size_t)len,
                        "*4\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n"
                        "$4\r\nport\r\n$5\r\n%d\r\n",
                        port + i);
}

/* More than there is room for. */
START_TEST(there_is_a_limit_to_those_who_are_asked)
{
    char list[3000];

    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    go_on_stage(&one);
    take_in(&first);
    list_of(list, sizeof list, 31, 10001);
    be_asked(&first, list);
    name_master(&first, port_of(&one));
    go_on_stage(&first);
    open_router();
    ask_and_get("a");
    ck_assert_uint_eq(counts().servers, HF_SEEDS_MAX + 1);
    close_router();
}
END_TEST

static void serve_until_told(struct actor *a, const char *command,
                             const char *reply)
{
    take_in(a);
    have_role(a, MASTER);
    serve(a, command, reply);
    add(a, PEER_DO_WAIT, "");
    add(a, PEER_DO_CLOSE, "");
}

/* Sentinels that have moved: the old ones do not take up the room. The second
 * one is known by the second list alone, and by then the first is silent. */
START_TEST(those_who_are_named_now_are_asked)
{
    char list[3000];

    serve_until_told(&one, "ECHO a", "+a\r\n");
    serve_until_told(&one, "ECHO b", "+b\r\n");
    go_on_stage(&one);
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO c", "+c\r\n");
    go_on_stage(&other);
    take_in(&second);
    be_subscribed(&second);
    name_when_asked(&second, port_of(&other));
    go_on_stage(&second);
    take_in(&first);
    list_of(list, sizeof list, 31, 10001);
    be_asked(&first, list);
    name_master(&first, port_of(&one));
    be_subscribed(&first);
    list_of(list, sizeof list, 1, port_of(&second));
    be_asked(&first, list);
    name_master(&first, port_of(&one));
    go_on_stage(&first);
    open_router_at(port_of(&first), 0, 3);
    ask_and_get("a");
    drive_until_received(&first, 3);
    peer_go(one.peer);
    drive_until_received(&first, 5);
    ask_and_get("b");
    drive_until_received(&second, 1);
    peer_go(one.peer);
    drive_until_received(&second, 3);
    ask_and_get("c");
    close_router();
}
END_TEST

/* ---- news (S5) ---- */

/* `one` serves "a", `other` what comes after it; the first tells. */
static void two_masters(void)
{
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    go_on_stage(&one);
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO b", "+b\r\n");
    go_on_stage(&other);
}

START_TEST(news_are_followed_at_once)
{
    bool is_resp2 = _i == 1;

    two_masters();
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    if (is_resp2) {
        take_in(&first); /* a connection for messages */
        expect(&first, "SUBSCRIBE +switch-master");
        say(&first, "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n");
        add(&first, PEER_DO_WAIT, "");
        say(&first, "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n");
        {
            char news[200] = "", text[100];

            (void)snprintf(text, sizeof text,
                           NAME " 127.0.0.1 %d 127.0.0.1 %d", port_of(&one),
                           port_of(&other));
            put_bulk(news, sizeof news, text);
            say(&first, news);
        }
        first.steps[first.count++] = (struct peer_step)PEER_TURN_TO(1);
    } else {
        be_subscribed(&first);
        add(&first, PEER_DO_WAIT, "");
        tell_switch(&first, NAME, port_of(&one), port_of(&other));
    }
    name_when_asked(&first, port_of(&other));
    go_on_stage(&first);
    open_router_at(port_of(&first), 0, is_resp2 ? 2 : 3);
    ask_and_get("a");
    drive_until_received(&first, 3);
    peer_go(first.peer);
    drive_until_received(&other, 1);
    ask_and_get("b");
    ck_assert_uint_eq(counts().maps, 2);
    close_router();
}
END_TEST

/* The first one is behind the times. */
START_TEST(who_tells_is_asked)
{
    two_masters();
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    be_subscribed(&first);
    go_on_stage(&first);
    take_in(&second);
    be_subscribed(&second);
    add(&second, PEER_DO_WAIT, "");
    tell_switch(&second, NAME, port_of(&one), port_of(&other));
    name_when_asked(&second, port_of(&other));
    go_on_stage(&second);
    open_router();
    ask_and_get("a");
    drive_until_received(&second, 1);
    peer_go(second.peer);
    drive_until_received(&other, 1);
    ask_and_get("b");
    ck_assert_int_eq(questions[1], port_of(&second));
    close_router();
}
END_TEST

/* Of another master, of where we are already, of nothing at all. */
static const char *const no_news[] = {
    "other 127.0.0.1 1 127.0.0.1 2",
    "",
    NAME,
    NAME " 127.0.0.1 1 127.0.0.1 0",
    NAME " 127.0.0.1 1 127.0.0.1 2 3",
    NAME "  127.0.0.1 1 127.0.0.1",
};

START_TEST(what_is_no_news_is_not_followed)
{
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    serve(&one, "ECHO b", "+b\r\n");
    go_on_stage(&one);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    be_subscribed(&first);
    for (int i = 0; i < ROWS(no_news); i++)
        tell_news(&first, no_news[i]);
    tell_switch(&first, NAME, 1, port_of(&one));
    go_on_stage(&first);
    open_router();
    ask_and_get("a");
    ck_assert_pstr_eq(peer_finish(first.peer), NULL);
    drive_for(A_MOMENT_MS);
    ck_assert_uint_eq(counts().refreshes, 1);
    ask_and_get("b");
    close_router();
}
END_TEST

/* What comes behind the news does not go to the old master, though nobody has
 * confirmed the new one yet. */
START_TEST(nothing_is_sent_behind_the_news)
{
    struct question q;

    two_masters();
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    be_subscribed(&first);
    add(&first, PEER_DO_WAIT, "");
    tell_switch(&first, NAME, port_of(&one), port_of(&other));
    be_asked(&first, "*0\r\n");
    add(&first, PEER_DO_WAIT, "");
    name_master(&first, port_of(&other));
    go_on_stage(&first);
    open_router();
    ask_and_get("a");
    peer_go(first.peer);
    drive_until_received(&first, 5);
    ask(&q, "b", LONG_MS);
    drive_for(20);
    ck_assert(!q.is_done);
    peer_go(first.peer);
    must_answer(&q, "b");
    close_router();
}
END_TEST

/* ROUTE-3: the silence of the old master need not be waited for. */
START_TEST(what_an_old_master_has_not_answered_is_unknown)
{
    struct question q;

    take_in(&one);
    have_role(&one, MASTER);
    expect(&one, "ECHO a");
    go_on_stage(&one);
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO b", "+b\r\n");
    go_on_stage(&other);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    be_subscribed(&first);
    add(&first, PEER_DO_WAIT, "");
    tell_switch(&first, NAME, port_of(&one), port_of(&other));
    name_when_asked(&first, port_of(&other));
    go_on_stage(&first);
    open_router();
    ask(&q, "a", 2 * LONG_MS);
    drive_until_received(&one, 2);
    peer_go(first.peer);
    drive_until(&q.is_done, "an end");
    ck_assert_int_eq(q.outcome, HF_UNKNOWN);
    ask_and_get("b");
    close_router();
}
END_TEST

/* ROUTE-5: a master that was stopped and replaced continues, and answers what it was
 * sent. Nobody has confirmed the new one yet. */
START_TEST(what_an_old_master_answers_behind_the_news_is_unknown)
{
    struct question q;

    take_in(&one);
    have_role(&one, MASTER);
    expect(&one, "ECHO a");
    add(&one, PEER_DO_WAIT, "");
    say(&one, "+a\r\n");
    go_on_stage(&one);
    take_in(&other);
    expect(&other, "ROLE");
    add(&other, PEER_DO_WAIT, "");
    say(&other, MASTER);
    serve(&other, "ECHO b", "+b\r\n");
    go_on_stage(&other);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    be_subscribed(&first);
    add(&first, PEER_DO_WAIT, "");
    tell_switch(&first, NAME, port_of(&one), port_of(&other));
    name_when_asked(&first, port_of(&other));
    go_on_stage(&first);
    open_router();
    ask(&q, "a", 2 * LONG_MS);
    drive_until_received(&one, 2);
    peer_go(first.peer);
    drive_until_received(&other, 1);
    peer_go(one.peer);
    drive_until(&q.is_done, "an end");
    ck_assert_int_eq(q.outcome, HF_UNKNOWN);
    peer_go(other.peer);
    ask_and_get("b");
    close_router();
}
END_TEST

static bool is_acknowledged;
static enum hf_outcome of_wait;

static void on_acknowledged(struct hf_command *command, enum hf_outcome outcome,
                            struct hf_resp_value reply, uint32_t wanted)
{
    (void)command;
    (void)reply;
    (void)wanted;
    of_wait = outcome;
    is_acknowledged = true;
}

/* ROUTE-5: the same of WAIT. The replicas that an old master counts follow the new one
 * soon, and lose what they have. */
START_TEST(what_an_old_master_says_of_its_replicas_is_unknown)
{
    struct question q;

    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    take_in(&one); /* the slow connection */
    expect(&one, "ECHO b");
    expect(&one, "WAIT 1 100");
    say(&one, "+b\r\n");
    add(&one, PEER_DO_WAIT, "");
    say(&one, ":1\r\n");
    go_on_stage(&one);
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO c", "+c\r\n");
    go_on_stage(&other);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    be_subscribed(&first);
    add(&first, PEER_DO_WAIT, "");
    tell_switch(&first, NAME, port_of(&one), port_of(&other));
    name_when_asked(&first, port_of(&other));
    go_on_stage(&first);
    open_router();
    ask_and_get("a");
    prepare_question(&q, "b", LONG_MS);
    q.command.replicas = 1;
    q.command.replicas_timeout_ms = 100;
    q.command.acknowledged = on_acknowledged;
    is_acknowledged = false;
    send_question(&q);
    must_answer(&q, "b");
    peer_go(first.peer);
    drive_until_received(&other, 1);
    ask_and_get("c");
    peer_go(one.peer);
    drive_until(&is_acknowledged, "an end");
    ck_assert_int_eq(of_wait, HF_UNKNOWN);
    close_router();
}
END_TEST

/* It may have missed some while it was away. */
START_TEST(a_sentinel_that_comes_back_is_asked)
{
    two_masters();
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    be_subscribed(&first);
    add(&first, PEER_DO_WAIT, "");
    add(&first, PEER_DO_CLOSE, "");
    take_in(&first);
    be_subscribed(&first);
    name_when_asked(&first, port_of(&other));
    go_on_stage(&first);
    open_router();
    ask_and_get("a");
    drive_until_received(&first, 3);
    drive_for(20); /* the confirmation */
    peer_go(first.peer);
    while (counts().maps < 2)
        drive_for(5);
    ask_and_get("b");
    close_router();
}
END_TEST

/* ---- a master that is none any more (S10) ---- */

static const char readonly[] =
    "-READONLY You can't write against a read only replica.\r\n";

START_TEST(a_command_that_meets_a_replica_goes_to_the_master)
{
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", readonly);
    go_on_stage(&one);
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO a", "+a\r\n");
    go_on_stage(&other);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    be_subscribed(&first);
    name_when_asked(&first, port_of(&other));
    go_on_stage(&first);
    open_router();
    ask_and_get("a");
    close_router();
}
END_TEST

/* One that contradicts itself for good is not asked for ever. */
START_TEST(a_command_goes_to_the_master_so_often_and_no_more)
{
    struct question q;

    take_in(&one);
    take_in(&first);
    for (int i = 0; i < 6; i++) {
        have_role(&one, MASTER);
        serve(&one, "ECHO a", readonly);
    }
    go_on_stage(&one);
    for (int i = 0; i < 6; i++) {
        name_when_asked(&first, port_of(&one));
        if (i == 0)
            be_subscribed(&first);
    }
    go_on_stage(&first);
    open_router();
    ask(&q, "a", LONG_MS);
    drive_until(&q.is_done, "an answer");
    ck_assert_int_eq(q.outcome, HF_ANSWERED);
    ck_assert_ptr_nonnull(strstr(q.answer, "READONLY"));
    close_router();
}
END_TEST

/* ---- a second connection to it ---- */

/* That of commands which wait for replicas. Who comes back to a master over it
 * asks first who that is, and whether it is one, as over any other; though the
 * first connection is still there, and nobody else is silent. */
START_TEST(a_slow_connection_that_is_lost_makes_us_ask_who_is_the_master)
{
    struct question q;
    char lost[60];

    take_in(&one);
    have_role(&one, MASTER);
    take_in(&one);
    serve(&one, "ECHO a", "+a\r\n");
    add(&one, PEER_DO_WAIT, "");
    add(&one, PEER_DO_CLOSE, "");
    go_on_stage(&one);
    take_in(&other);
    have_role(&other, MASTER);
    take_in(&other);
    serve(&other, "ECHO b", "+b\r\n");
    go_on_stage(&other);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    be_subscribed(&first);
    name_when_asked(&first, port_of(&other));
    go_on_stage(&first);
    open_router();
    ask_over(&q, "a", LONG_MS, true);
    must_answer(&q, "a");
    peer_go(one.peer);
    (void)snprintf(lost, sizeof lost, "connection lost: 127.0.0.1:%d: ",
                   port_of(&one));
    must_tell(HF_E_CONNECT, lost);
    drive_until_received(&first, 5);
    ask_over(&q, "b", LONG_MS, true);
    must_answer(&q, "b");
    ck_assert_uint_eq(counts().maps, 2);
    close_router();
}
END_TEST

/* ---- its end ---- */

/* While sentinels, or the master, are being asked: nothing is left. */
START_TEST(it_can_be_freed_at_any_time)
{
    struct question q;

    if (_i > 0) {
        take_in(&first);
        be_asked(&first, "*0\r\n");
    }
    if (_i > 1) {
        take_in(&one);
        expect(&one, "ROLE");
        go_on_stage(&one);
        name_master(&first, port_of(&one));
    }
    go_on_stage(&first);
    open_router();
    ask(&q, "a", LONG_MS);
    if (_i == 1)
        drive_until_received(&first, 2);
    if (_i == 2)
        drive_until_received(&one, 1);
    close_router();
    ck_assert(q.is_done);
    ck_assert_int_eq(q.outcome, HF_UNSENT);
}
END_TEST

/* ---- */

static void set_up(void)
{
    memory_init(&memory);
}

static void tear_down(void)
{
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    bow(&first);
    bow(&second);
    bow(&one);
    bow(&other);
}

static Suite *suite(void)
{
    Suite *s = suite_create("net_sentinel");
    TCase *c = tcase_create("sentinel");

    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, a_master_that_says_so_is_the_master);
    tcase_add_loop_test(c, a_replica_is_asked_again, 0, 2);
    tcase_add_loop_test(c, who_does_not_say_so_is_not_believed,
                        0, ROWS(no_masters));
    tcase_add_loop_test(c, a_sentinel_that_names_nobody_is_told, 0,
                        ROWS(no_names));
    tcase_add_test(c, a_master_that_refuses_the_password_is_told);
    tcase_add_loop_test(c, the_silence_of_one_holds_nobody_up, 0, 2);
    tcase_add_test(c, who_helped_is_asked_first);
    tcase_add_test(c, what_one_says_is_told_of_all);
    tcase_add_test(c, what_one_said_is_told_until_it_says_something_else);
    tcase_add_test(c, what_one_says_is_told_of_all_that_refuse);
    tcase_add_loop_test(c, a_deadline_that_comes_early_is_explained, 0, 2);
    tcase_add_loop_test(
        c, a_command_that_is_sent_once_ends_with_the_first_round, 0, 2);
    tcase_add_test(c, there_is_a_limit_to_those_who_are_asked);
    tcase_add_test(c, those_who_are_named_now_are_asked);
    tcase_add_loop_test(c, news_are_followed_at_once, 0, 2);
    tcase_add_test(c, who_tells_is_asked);
    tcase_add_test(c, what_is_no_news_is_not_followed);
    tcase_add_test(c, nothing_is_sent_behind_the_news);
    tcase_add_test(c, what_an_old_master_has_not_answered_is_unknown);
    tcase_add_test(c, what_an_old_master_answers_behind_the_news_is_unknown);
    tcase_add_test(c, what_an_old_master_says_of_its_replicas_is_unknown);
    tcase_add_test(c, a_sentinel_that_comes_back_is_asked);
    tcase_add_test(c, a_command_that_meets_a_replica_goes_to_the_master);
    tcase_add_test(c, a_command_goes_to_the_master_so_often_and_no_more);
    tcase_add_test(
        c, a_slow_connection_that_is_lost_makes_us_ask_who_is_the_master);
    tcase_add_loop_test(c, it_can_be_freed_at_any_time, 0, 3);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return suite_run(suite());
}
