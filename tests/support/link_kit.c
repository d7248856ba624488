/* Link kit. */
#include "tests/support/link_kit.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX 8

struct hf_link *link_;
struct hf_link_options options;
struct hf_pubsub *pubsub;
char changes[256];
char pushed[256];

void append(char *dst, size_t room, const char *text)
{
    size_t len = strlen(dst);

    (void)snprintf(dst + len, room - len, "%s", text);
}

/* ---- a link ---- */

static void on_change(void *ctx, bool is_up)
{
    (void)ctx;
    append(changes, sizeof changes, is_up ? "+" : "-");
    if (pubsub)
        hf_pubsub_link_changed(pubsub, is_up);
}

static void on_push(void *ctx, struct hf_resp_value push)
{
    struct hf_resp_value kind;
    const char *ptr;
    size_t len;

    (void)ctx;
    ck_must(hf_resp_element(push, 0, &kind) == HF_OK &&
                hf_resp_bytes(kind, &ptr, &len) == HF_OK,
            "a push has a kind");
    append(pushed, sizeof pushed, ">");
    if (pubsub)
        hf_pubsub_push(pubsub, push);
}

static void on_push_lost(void *ctx)
{
    (void)ctx;
    if (pubsub)
        hf_pubsub_push_lost(pubsub);
}

void prepare(int port)
{
    hf_link_options_init(&options);
    options.url = (struct hf_url){.kind = HF_URL_TCP, .host = "127.0.0.1"};
    options.url.port = (uint16_t)port;
    options.backoff_min_ms = 1;
    options.backoff_max_ms = 20;
    options.on_change = on_change;
    options.on_push = on_push;
    options.on_push_lost = on_push_lost;
    changes[0] = pushed[0] = '\0';
}

void open_with(const struct hf_mem *mem, bool thread)
{
    open_loop_of(mem, thread);
    lock();
    ck_assert_int_eq(hf_link_new(&link_, loop, &options), HF_OK);
    unlock();
}

void open_prepared(void)
{
    memory_init(&memory);
    open_with(&memory.hook, false);
}

void open_link(int port)
{
    prepare(port);
    open_prepared();
}

void open_pubsub(void)
{
    lock();
    ck_assert_int_eq(hf_pubsub_new(&pubsub, loop, link_), HF_OK);
    unlock();
}

void free_link(void)
{
    lock();
    hf_loop_quiesce(loop);
    hf_pubsub_free(pubsub);
    pubsub = NULL;
    hf_link_free(link_);
    hf_loop_resume(loop);
    unlock();
    free_loop();
}

void close_link(void)
{
    free_link();
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

void want(bool is_wanted)
{
    lock();
    hf_link_want(link_, is_wanted);
    unlock();
}

struct hf_error error_now(void)
{
    struct hf_error e;

    lock();
    e = *hf_link_error(link_);
    unlock();
    return e;
}

bool is_up(void)
{
    bool it_is;

    lock();
    it_is = hf_link_is_up(link_);
    unlock();
    return it_is;
}

bool is_down(void)
{
    return !is_up();
}

bool is_refused(void)
{
    bool it_is;

    lock();
    it_is = hf_link_is_refused(link_);
    unlock();
    return it_is;
}

struct hf_link_stats stats_now(void)
{
    struct hf_link_stats stats;

    lock();
    hf_link_get_stats(link_, &stats);
    unlock();
    return stats;
}

int protocol_now(void)
{
    int protocol;

    lock();
    protocol = hf_link_protocol(link_);
    unlock();
    return protocol;
}

/* ---- questions ---- */

static void take_reply(char *dst, size_t room, struct hf_resp_value v)
{
    const char *ptr;
    int64_t n;
    size_t len;

    if (hf_resp_integer(v, &n) == HF_OK)
        (void)snprintf(dst, room, "%lld", (long long)n);
    else if (hf_resp_bytes(v, &ptr, &len) == HF_OK)
        (void)snprintf(dst, room, "%s%.*s",
                       hf_resp_is_error(v) ? "(error) " : "", (int)len, ptr);
    else if (hf_resp_is_null(v))
        (void)snprintf(dst, room, "(nil)");
    else
        (void)snprintf(dst, room, "(%zu elements)", hf_resp_count(v));
}

static const char *const outcome_texts[] = {
    [HF_UNSENT] = "(unsent)", [HF_UNKNOWN] = "(unknown)"};

void ask_done(struct hf_request *request, enum hf_outcome outcome,
              struct hf_resp_value reply)
{
    struct ask *a = HF_OWNER_OF(request, struct ask, request);

    ck_must(a->text[0] == '\0', "a request ends once");
    if (outcome == HF_ANSWERED)
        take_reply(a->text, sizeof a->text, reply);
    else
        (void)strcpy(a->text, outcome_texts[outcome]);
    hf_waiter_wake(&a->waiter);
}

hf_status submit(struct ask *a, const char *words, int timeout_ms)
{
    struct hf_resp_arg argv[WORDS_MAX];
    size_t argc = 0;

    for (const char *end; *words; words = *end ? end + 1 : end) {
        end = strchrnul(words, ' ');
        argv[argc++] = (struct hf_resp_arg){words, (size_t)(end - words)};
    }
    memset(a, 0, sizeof *a);
    hf_waiter_init(&a->waiter, loop);
    a->request.done = ask_done;
    return hf_link_submit(link_, &a->request, argv, argc,
                          timeout_ms < 0 ? HF_NEVER
                                         : hf_loop_now(loop) + timeout_ms);
}

void start(struct ask *a, const char *words, int timeout_ms)
{
    hf_status rc;

    lock();
    rc = submit(a, words, timeout_ms);
    unlock();
    ck_must(rc == HF_OK, "a question is taken");
}

const char *answer(struct ask *a)
{
    lock();
    hf_loop_wait(&a->waiter); /* the lock is free after */
    return a->text;
}

const char *ask_for(int timeout_ms, const char *words)
{
    static struct ask a;

    start(&a, words, timeout_ms);
    return answer(&a);
}

const char *ask(const char *words)
{
    return ask_for(LONG_MS, words);
}

void drive_until_received(struct peer *peer, size_t count)
{
    for (int64_t end_ms = 0; peer_received_count(peer) < count;)
        drive_on(&end_ms, "the peer gets what it expects");
}

void end_with_peer(struct peer *peer)
{
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    close_link();
    peer_free(peer);
}

int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

void settle(void)
{
    int tries = 0;

    while (strcmp(ask("PING"), "PONG") != 0) /* cut behind the last reply */
        ck_assert_int_lt(++tries, 3);
}
