/* Traces: what is told when, what a line of it looks like, and that no password
 * is in any. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/link/link.h"
#include "net/net.h"
#include "net/link/trace.h"
#include "tests/support/login.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"
#include "tests/support/one_server.h"
#include "tests/support/peer.h"
#include "tests/support/server.h"
#include "tests/support/suite.h"

#define LONG_MS 10000
#define ADDRESS "[::1]:1"
#define PASSWORD "open-sesame"
#define ARGS_MAX 20

/* ---- text ---- */

struct reading {
    struct hf_resp_parser parser;
    struct hf_resp_tape tape;
    struct hf_resp_node nodes[64];
};

static struct hf_resp_value read_value(struct reading *r, const char *bytes)
{
    hf_resp_init(&r->parser, NULL, 3);
    r->tape = (struct hf_resp_tape){.nodes = r->nodes, .room = 64};
    ck_assert_int_eq(
        hf_resp_parse(&r->parser, bytes, strlen(bytes), &r->tape), HF_OK);
    return hf_resp_first(&r->tape, bytes, 0);
}

static size_t split(struct hf_resp_arg argv[ARGS_MAX], const char *words)
{
    size_t argc = 0;

    for (const char *end; *words; words = *end ? end + 1 : end) {
        end = strchrnul(words, '|');
        argv[argc++] = (struct hf_resp_arg){words, (size_t)(end - words)};
    }
    return argc;
}

static const struct {
    struct hf_trace trace;
    const char *words;            /* argv, with bars between */
    const char *reply;
    const char *text;
} lines[] = {
    {{.kind = HF_TRACE_CONNECTED, .protocol = 3}, "", "",
     " connected, RESP3"},
    {{.kind = HF_TRACE_LOST, .why = ADDRESS ": it is gone"}, "", "",
     " lost: it is gone"},
    {{.kind = HF_TRACE_LOST, .why = ADDRESS}, "", "", " lost: " ADDRESS},
    {{.kind = HF_TRACE_HANDSHAKE}, "HELLO|3", "", " > HELLO 3"},
    {{.kind = HF_TRACE_HANDSHAKE_REPLY}, "", "%1\r\n+a\r\n+b\r\n", " < (elements: 2)"},
    {{.kind = HF_TRACE_HANDSHAKE_REPLY}, "", "-ERR no\r\n", " < (error) \"ERR no\""},
    {{.kind = HF_TRACE_HANDSHAKE_REPLY, .why = "(not told)"}, "", "", " < (not told)"},
    {{.kind = HF_TRACE_QUEUED, .number = 12}, "SET|a b|\x01\xff||\"", "",
     " #12 > SET \"a b\" \\x01\\xff \"\" \""},
    {{.kind = HF_TRACE_QUEUED, .number = 1}, "1|2|3|4|5|6|7|8|9|10|11|12|13|14",
     "", " #1 > 1 2 3 4 5 6 7 8 9 10 11 12 and 2 more"},
    {{.kind = HF_TRACE_QUEUED, .number = 1},
     "EVAL|0123456789012345678901234567890123456789012345678901234567890123",
     "", " #1 > EVAL 01234567890123456789012345678901234567890123..."},
    {{.kind = HF_TRACE_ENDED, .number = 3, .latency_us = 153}, "",
     "*4\r\n+a b\r\n:-1\r\n_\r\n*2\r\n:1\r\n:2\r\n",
     " #3 < [ \"a b\" -1 (nil) (elements: 2) ] (153 us)"},
    {{.kind = HF_TRACE_ENDED, .number = 3}, "", "-ERR no\r\n",
     " #3 < (error) \"ERR no\" (0 us)"},
    {{.kind = HF_TRACE_ENDED, .number = 3, .outcome = HF_UNSENT}, "", "",
     " #3 was not sent"},
    {{.kind = HF_TRACE_ENDED, .number = 3, .outcome = HF_UNKNOWN}, "", "",
     " #3 was sent, and has no answer"},
    {{.kind = HF_TRACE_LATE, .number = 4}, "", "+ok\r\n",
     " #4 < late, dropped: ok"},
    {{.kind = HF_TRACE_PUSH}, "", ">3\r\n+message\r\n+ch\r\n$1\r\n0\r\n",
     " < push [ message ch 0 ]"},
    {{.kind = HF_TRACE_PUSH}, "",
     ">13\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n:9\r\n:10\r\n:11\r\n"
     ":12\r\n:13\r\n",
     " < push [ 1 2 3 4 5 6 7 8 9 10 11 12 ... ]"},
};

START_TEST(line_is_for_a_person)
{
    struct hf_trace trace = lines[_i].trace;
    struct hf_resp_arg argv[ARGS_MAX];
    char text[HF_TRACE_TEXT_MAX];
    struct reading reading;

    trace.address = ADDRESS;
    trace.argc = split(argv, lines[_i].words);
    trace.argv = argv;
    if (lines[_i].reply[0])
        trace.reply = read_value(&reading, lines[_i].reply);
    ck_assert_ptr_eq(hf_trace_text(text, &trace), text);
    ck_assert(strncmp(text, ADDRESS, strlen(ADDRESS)) == 0);
    ck_assert_str_eq(text + strlen(ADDRESS), lines[_i].text);
}
END_TEST

/* Twelve arguments of four characters a byte do not fit: whatever the length,
 * the line ends, and in dots if something is missing. */
START_TEST(line_is_cut_where_it_is_full)
{
    static char bytes[100], address[600];
    struct hf_resp_arg argv[ARGS_MAX];
    struct hf_trace trace = {.kind = HF_TRACE_QUEUED,
                             .address = address,
                             .argv = argv,
                             .argc = ARGS_MAX};
    struct {
        char text[HF_TRACE_TEXT_MAX];
        char behind;
    } dst;

    (void)memset(bytes, '\x01', sizeof bytes);
    for (size_t len = 0; len < sizeof address - 1; len++) {
        for (size_t i = 0; i < ARGS_MAX; i++)
            argv[i] = (struct hf_resp_arg){bytes, len % sizeof bytes};
        dst.behind = 'x';
        (void)hf_trace_text(dst.text, &trace);
        ck_assert_int_eq(dst.behind, 'x');
        ck_assert_uint_lt(strlen(dst.text), HF_TRACE_TEXT_MAX);
        if (len % sizeof bytes > 20)
            ck_assert_str_eq(dst.text + strlen(dst.text) - 3, "...");
        address[len] = 'a';
    }
}
END_TEST

/* ---- secrets ---- */

static const struct {
    const char *words;
    const char *masked;           /* "": there is nothing to hide */
} secrets[] = {
    {"AUTH|pw", "AUTH|(secret)"},
    {"auth|me|pw", "auth|me|(secret)"},
    {"AUTH|AUTH", "AUTH|(secret)"},
    {"AUTH", "AUTH"},
    {"HELLO|3|AUTH|me|pw", "HELLO|3|AUTH|me|(secret)"},
    {"HELLO|3|AUTH|AUTH|pw", "HELLO|3|AUTH|AUTH|(secret)"},
    {"hello|3|SETNAME|a|auth|me|pw", "hello|3|SETNAME|a|auth|me|(secret)"},
    {"HELLO|AUTH|me|pw", "HELLO|AUTH|me|(secret)"},
    {"HELLO|3", "HELLO|3"},
    {"HELLO", "HELLO"},
    {"ECHO|AUTH|me|pw", ""},
    {"AUTHOR|pw", ""},
    {"", ""},
};

START_TEST(passwords_are_replaced)
{
    struct hf_resp_arg argv[ARGS_MAX], masked[TRACE_MASKED_MAX];
    char text[200] = "";
    size_t argc = split(argv, secrets[_i].words);

    if (argc == 0)
        argv[argc++] = (struct hf_resp_arg){"", 0};
    argc = hf_trace_mask(masked, argv, argc);
    for (size_t i = 0; i < argc; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                       "%s%.*s", i ? "|" : "", (int)masked[i].len,
                       (const char *)masked[i].ptr);
    ck_assert_str_eq(text, secrets[_i].masked);
}
END_TEST

/* ---- what a link tells ---- */

static struct memory memory;
static struct hf_loop *loop;
static struct hf_link *link_;
static struct hf_link_options options;
static char told[8192];           /* all lines, the address cut off */

static void ck_assert_clean(const char *ptr, size_t len)
{
    ck_assert_ptr_null(memmem(ptr, len, PASSWORD, strlen(PASSWORD)));
}

/* Latencies are of no interest: "(.. us)". */
static void note(void *ctx, const struct hf_trace *trace)
{
    char text[HF_TRACE_TEXT_MAX];
    size_t len = strlen(told), skip = strlen(trace->address) + 1;
    const char *ptr;
    size_t size;
    char *us = strstr(hf_trace_text(text, trace), " us)");

    ck_assert_uint_eq(trace->size, sizeof *trace);
    ck_assert_ptr_eq(ctx, &told);
    if (us)
        strcpy(strrchr(text, '(') + 1, "us)");
    (void)snprintf(told + len, sizeof told - len, "%s\n", text + skip);
    /* The parts as such, too, which a line cuts. */
    for (size_t i = 0; i < trace->argc; i++)
        ck_assert_clean(trace->argv[i].ptr, trace->argv[i].len);
    if (trace->reply.node && hf_resp_bytes(trace->reply, &ptr, &size) == HF_OK)
        ck_assert_clean(ptr, size);
}

static void prepare(int port)
{
    hf_link_options_init(&options);
    options.url = (struct hf_url){
        .kind = HF_URL_TCP, .host = "127.0.0.1", .port = (uint16_t)port};
    options.backoff_min_ms = 1;
    options.backoff_max_ms = 20;
    options.on_trace = note;
    options.trace_ctx = &told;
    told[0] = '\0';
}

static void open_link(void)
{
    struct hf_loop_options of_loop = {.size = sizeof of_loop, .mem = &memory.hook};

    memory_init(&memory);
    ck_assert_int_eq(hf_loop_new(&loop, &of_loop), HF_OK);
    hf_loop_lock(loop);
    ck_assert_int_eq(hf_link_new(&link_, loop, &options), HF_OK);
    hf_loop_unlock(loop);
}

static void close_link(void)
{
    hf_loop_lock(loop);
    hf_loop_quiesce(loop);
    hf_link_free(link_);
    hf_loop_resume(loop);
    hf_loop_unlock(loop);
    hf_loop_free(loop);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

struct ask {
    struct hf_request request;
    struct hf_waiter waiter;
    enum hf_outcome outcome;
};

static void on_done(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct ask *a = HF_OWNER_OF(request, struct ask, request);

    (void)reply;
    a->outcome = outcome;
    hf_waiter_wake(&a->waiter);
}

static enum hf_outcome ask_for(int timeout_ms, const char *words)
{
    struct ask a = {.request.done = on_done};
    struct hf_resp_arg argv[ARGS_MAX];
    size_t argc = split(argv, words);

    hf_loop_lock(loop);
    hf_waiter_init(&a.waiter, loop);
    ck_assert_int_eq(hf_link_submit(link_, &a.request, argv, argc,
                                    hf_loop_now(loop) + timeout_ms),
                     HF_OK);
    hf_loop_wait(&a.waiter);
    return a.outcome;
}

static enum hf_outcome ask(const char *words)
{
    return ask_for(LONG_MS, words);
}

#define HANDSHAKE                                                              \
    "> HELLO 3\n"                                                             \
    "> INFO server\n"                                                         \
    "> CLIENT SETINFO LIB-NAME holdfast\n"                                    \
    "> CLIENT SETINFO LIB-VER " HF_VERSION "\n"                               \
    "< (elements: 14)\n"                                                       \
    "< OK\n"                                                                  \
    "< OK\n"

/* The server's own words, that may be any. */
static void cut_lines_with(const char *part)
{
    for (char *at; (at = strstr(told, part));) {
        char *begin = at, *end = strchr(at, '\n') + 1;

        while (begin > told && begin[-1] != '\n')
            begin--;
        memmove(begin, end, strlen(end) + 1);
    }
}

START_TEST(each_step_is_reported)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"),
        PEER_SEND(">1\r\n+news\r\n$1\r\na\r\n"), PEER_EXPECT("ECHO b"),
        PEER_WAIT, PEER_SEND("+late\r\n"), PEER_EXPECT("ECHO c"),
        PEER_SEND("+c\r\n"), PEER_EXPECT("ECHO d"), PEER_CLOSE, PEER_END};
    struct peer *peer = peer_start(script);

    prepare(peer_port(peer));
    open_link();
    ck_assert_int_eq(ask("ECHO|a"), HF_ANSWERED);
    ck_assert_int_eq(ask_for(50, "ECHO|b"), HF_UNKNOWN);
    peer_go(peer);
    ck_assert_int_eq(ask("ECHO|c"), HF_ANSWERED);
    ck_assert_int_eq(ask("ECHO|d"), HF_UNKNOWN);
    cut_lines_with("# Server");
    ck_assert_str_eq(told,
                     "#1 > ECHO a\n" HANDSHAKE "connected, RESP3\n"
                     "< push [ news ]\n"
                     "#1 < a (us)\n"
                     "#2 > ECHO b\n"
                     "#2 was sent, and has no answer\n"
                     "#3 > ECHO c\n"
                     "#2 < late, dropped: late\n"
                     "#3 < c (us)\n"
                     "#4 > ECHO d\n"
                     "lost: the server closed the connection\n"
                     "#4 was sent, and has no answer\n");
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    close_link();
    peer_free(peer);
}
END_TEST

START_TEST(unsent_request_is_traced_as_unsent)
{
    prepare(local_dead_port());
    options.backoff_min_ms = options.backoff_max_ms = LONG_MS;
    open_link();
    ck_assert_int_eq(ask_for(50, "ECHO|a"), HF_UNSENT);
    close_link();
    ck_assert_ptr_nonnull(strstr(told, "#1 > ECHO a\nlost: "));
    ck_assert_ptr_nonnull(strstr(told, "\n#1 was not sent\n"));
}
END_TEST

/* ---- no password, ever ---- */

static const struct {
    const char *args[7];          /* of the server */
    int protocol;
    const char *user;
    const char *password;
    bool is_in;
} doors[] = {
    {{"--requirepass", PASSWORD}, 3, "", PASSWORD, true},
    {{"--requirepass", PASSWORD}, 2, "", PASSWORD, true},
    {{"--requirepass", PASSWORD}, 3, "default", PASSWORD, true},
    {{"--requirepass", PASSWORD}, 2, "default", PASSWORD, true},
    {{NULL}, 3, "me", PASSWORD, true},
    {{NULL}, 2, "me", PASSWORD, true},
    /* Refused: the server's words are told, too. */
    {{NULL}, 3, "me", "not-" PASSWORD, false},
    {{NULL}, 2, "me", "not-" PASSWORD, false},
    /* Commands that it does not know: it repeats their arguments. */
    {{"--rename-command", "HELLO", "HALLO"}, 3, "", PASSWORD, false},
    {{"--rename-command", "AUTH", "GATE"}, 2, "me", PASSWORD, false},
    {{"--rename-command", "HELLO", "HALLO", "--rename-command", "AUTH",
      "GATE"}, 3, "me", PASSWORD, false},
};

START_TEST(no_line_holds_the_password)
{
    start_server_with(doors[_i].args);
    if (strcmp(doors[_i].user, "me") == 0)
        (void)server_ask(server, "ACL SETUSER me on >" PASSWORD " ~* +@all");
    prepare(server_port(server));
    options.protocol = doors[_i].protocol;
    options.url.login = login_of(doors[_i].user, doors[_i].password);
    options.connect_timeout_ms = 1000;
    open_link();
    ck_assert_int_eq(ask_for(1000, "AUTH|me|" PASSWORD),
                     doors[_i].is_in ? HF_ANSWERED : HF_UNSENT);
    ck_assert_int_eq(ask_for(1000, "HELLO|2|AUTH|me|" PASSWORD),
                     doors[_i].is_in ? HF_ANSWERED : HF_UNSENT);
    close_link();
    ck_assert_ptr_nonnull(strstr(told, "(secret)"));
    ck_assert_msg(!strstr(told, PASSWORD), "%s", told);
    stop_server();
}
END_TEST

/* ---- */

static TCase *add_case(Suite *s, const char *name)
{
    TCase *c = tcase_create(name);

    tcase_set_timeout(c, 60);
    suite_add_tcase(s, c);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net, trace");
    TCase *c = add_case(s, "text");

    tcase_add_loop_test(c, line_is_for_a_person, 0, ROWS(lines));
    tcase_add_test(c, line_is_cut_where_it_is_full);
    tcase_add_loop_test(c, passwords_are_replaced, 0, ROWS(secrets));
    c = add_case(s, "link");
    tcase_add_test(c, each_step_is_reported);
    tcase_add_test(c, unsent_request_is_traced_as_unsent);
    if (server_is_installed())
        tcase_add_loop_test(c, no_line_holds_the_password, 0, ROWS(doors));
    else
        (void)printf("skipped: no_line_holds_the_password (no server)\n");
    return suite_run(s);
}
