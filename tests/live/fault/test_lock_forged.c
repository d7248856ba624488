/* Answers that are not the server's: whatever a peer says in place of a true
 * answer, it never becomes a hold (faults 0.3). A
 * scripted peer lies; no server is needed. */
#include "tests/live/test_lock.h"
#include "tests/support/peer.h"

static struct hf_client *client;
static struct hf_lock *lock;
static struct peer *peer;

static void nothing(void)
{
}

static void open_client(const struct peer_step *script)
{
    peer = peer_start(script);
    client = client_to(peer_port(peer));
    lock = lock_of(client, NAME);
}

static void ck_assert_played(void)
{
    ck_assert_pstr_eq(peer_finish(peer), NULL);
}

static void close_client(void)
{
    hf_client_free(client);
    peer_free(peer);
}

static void ck_assert_no_hold(int64_t owner)
{
    char text[HF_OWNER_TEXT_MAX];

    ck_assert_str_eq(hf_lock_owner_text(lock, owner, text), "");
    ck_assert_int_eq(hf_lock_safe_ms(lock, owner), INT64_MIN);
    ck_assert_uint_eq(stats_of(client).holds, 0);
}

/* The owner field of the client's first hold, which owner 1 asks for. */
static const char *first_owner(char text[HF_OWNER_TEXT_MAX])
{
    (void)snprintf(text, HF_OWNER_TEXT_MAX, "%s:10000000001",
                   hf_client_uuid(client));
    return text;
}

/* ---- lies that do not even name us ---- */

#define OTHER "$48\r\n6e3814a1-e847-452b-a982-45baf93a1df2:10000000001\r\n"

static const struct {
    const char *bytes;
    size_t len;
} lies[] = {
#define LIE(b) {b, sizeof b - 1}
    LIE("$-1\r\n"),                     /* "you hold it", Redisson's way */
    LIE("_\r\n"),
    LIE("*-1\r\n"),
    LIE(":1\r\n"),
    LIE(":0\r\n"),
    LIE("#t\r\n"),
    LIE("+OK\r\n"),
    LIE("$2\r\nOK\r\n"),
    LIE("*0\r\n"),
    LIE("*1\r\n:1\r\n"),
    LIE("*2\r\n:1\r\n:1\r\n"),
    LIE("*2\r\n$-1\r\n:1\r\n"),
    LIE("*2\r\n$0\r\n\r\n:1\r\n"),
    LIE("*2\r\n" OTHER ":1\r\n"),       /* another's true answer */
    LIE("~2\r\n" OTHER ":1\r\n"),
    LIE("%1\r\n" OTHER ":1\r\n"),
    LIE("*2\r\n*2\r\n" OTHER ":1\r\n:1\r\n"),
    LIE("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n"),
    /* What Valkey 8.0.1 lets a script put into the stream (CVE-2025-67733). */
    LIE("-ERR user_script:1: x\r\n$-1\r\n script: y, on @user_script:1.\r\n"),
    LIE("HTTP/1.1 400 Bad Request\r\n\r\n"),
    LIE("$5\r\nab"),                    /* and then nothing, for ever */
#undef LIE
};

/* Three lies, each on a connection of its own, are enough. */
static struct peer_step three_lies[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA ..."), PEER_SEND(""),
    PEER_GONE,
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA ..."), PEER_SEND(""),
    PEER_GONE,
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA ..."), PEER_SEND(""),
    PEER_GONE,
    PEER_END,
};

static void lie(struct peer_step *script, int row)
{
    for (struct peer_step *s = script; s->verb != PEER_DO_END; s++)
        if (s->verb == PEER_DO_SEND) {
            s->text = lies[row].bytes;
            s->number = lies[row].len;
        }
}

START_TEST(no_lie_becomes_a_hold)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err;
    hf_status rc;

    lie(three_lies, _i);
    peer = peer_start(three_lies);
    client = client_timed(peer_port(peer), 30000, 1500);
    lock = lock_of(client, NAME);
    rc = hf_lock_acquire(lock, &o, &err);
    ck_assert_msg(rc == HF_E_PROTOCOL || rc == HF_E_NOREPLY ||
                      rc == HF_E_CONNECT,
                  "%s: %s", hf_status_name(rc), err.text);
    ck_assert_ptr_nonnull(strstr(err.text, "127.0.0.1"));
    ck_assert_ptr_null(strpbrk(err.text, "\r\n"));
    ck_assert_no_hold(1);
    close_client();
}
END_TEST

START_TEST(three_forged_replies_end_the_call)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err;

    lie(three_lies, _i);
    open_client(three_lies);
    ck_assert_status(hf_lock_acquire(lock, &o, &err), HF_E_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(err.text, "does not match the request"));
    ck_assert_ptr_nonnull(strstr(err.text, NAME));
    ck_assert_played();
    ck_assert_no_hold(1);
    close_client();
}
END_TEST

/* ---- one lie, then the truth ---- */

static char truth[200];

static struct peer_step lie_and_truth[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 30000"),
    PEER_SEND(""), PEER_GONE,
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 30000"),
    PEER_WAIT, PEER_SEND(""), PEER_WAIT, PEER_END,
};

#define TRUTH_STEP 9

static void tell_truth(const char *format, const char *owner)
{
    (void)snprintf(truth, sizeof truth, format, (int)strlen(owner), owner);
    lie_and_truth[TRUTH_STEP].text = truth;
    lie_and_truth[TRUTH_STEP].number = strlen(truth);
    peer_go(peer);
}

START_TEST(after_a_forged_reply_the_request_uses_another_connection)
{
    struct hf_acquire_options o = acquire_options(1);
    char text[HF_OWNER_TEXT_MAX];
    struct call call;

    lie(lie_and_truth, _i);
    open_client(lie_and_truth);
    call_acquire(&call, lock, &o);
    ck_assert(peer_await(peer, 2));
    tell_truth("*2\r\n$%d\r\n%s\r\n:1\r\n", first_owner(text));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_uint_eq(stats_of(client).holds, 1);
    peer_go(peer);
    ck_assert_played();
    close_client();
}
END_TEST

/* ---- our name, and nonsense behind it ---- */

static const struct {
    const char *bytes;          /* behind our name, in an array */
    int count;
    hf_status status;
} halves[] = {
    {"", 1, HF_E_PROTOCOL},
    {"$1\r\nx\r\n", 2, HF_E_PROTOCOL},
    {"_\r\n", 2, HF_E_PROTOCOL},
    {"*0\r\n", 2, HF_E_PROTOCOL},
    {"$20\r\n99999999999999999999\r\n", 2, HF_E_PROTOCOL},
    {":0\r\n", 2, HF_E_PROTOCOL},
    {":2\r\n", 2, HF_E_PROTOCOL},
    {":-1\r\n", 2, HF_E_PROTOCOL},
    {":-2\r\n:30000\r\n", 3, HF_E_PROTOCOL},
    {":-1\r\n:-3\r\n", 3, HF_E_PROTOCOL},
    {":-1\r\n:-1\r\n_\r\n_\r\n", 5, HF_TIMEOUT},
    {":-1\r\n:30000\r\n*0\r\n*0\r\n", 5, HF_TIMEOUT},
    {":-1\r\n$1\r\nx\r\n*0\r\n*0\r\n", 5, HF_E_PROTOCOL},
};

static char half[300];

static struct peer_step half_truth[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA ..."), PEER_WAIT,
    {.verb = PEER_DO_SEND, .text = half, .number = 0}, PEER_WAIT, PEER_END,
};

START_TEST(our_name_alone_is_no_hold)
{
    struct hf_acquire_options o = acquire_options(1);
    char text[HF_OWNER_TEXT_MAX];
    struct call call;

    open_client(half_truth);
    o.wait_ms = 0;
    call_acquire(&call, lock, &o);
    ck_assert(peer_await(peer, 1));
    (void)snprintf(half, sizeof half, "*%d\r\n$%zu\r\n%s\r\n%s",
                   halves[_i].count, strlen(first_owner(text)), text,
                   halves[_i].bytes);
    half_truth[4].number = strlen(half);
    peer_go(peer);
    ck_assert_status(call_await(&call), halves[_i].status);
    ck_assert_str_ne(call.error.text, "");
    ck_assert_no_hold(1);
    peer_go(peer);
    close_client();
}
END_TEST

/* ---- answers that slipped ---- */

static char slipped[400];

static struct peer_step slip[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 a ..."),
    PEER_EXPECT("EVALSHA * 1 b ..."), PEER_WAIT,
    {.verb = PEER_DO_SEND, .text = slipped, .number = 0}, PEER_GONE, PEER_END,
};

/* The answer to a comes for b too, as in a stream with one answer too many: b
 * is not believed, and the connection is closed. */
START_TEST(an_answer_for_another_lock_is_no_hold)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *a, *b;
    struct call for_a, for_b;
    char text[HF_OWNER_TEXT_MAX];

    open_client(slip);
    a = lock_of(client, "a");
    b = lock_of(client, "b");
    call_acquire(&for_a, a, &o);
    call_acquire(&for_b, b, &o);
    ck_assert(peer_await(peer, 2));
    (void)first_owner(text);
    (void)snprintf(slipped, sizeof slipped,
                   "*2\r\n$%zu\r\n%s\r\n:1\r\n*2\r\n$%zu\r\n%s\r\n:1\r\n",
                   strlen(text), text, strlen(text), text);
    slip[5].number = strlen(slipped);
    peer_go(peer);
    ck_assert_status(call_await(&for_a), HF_OK);
    ck_assert_played();
    ck_assert(!call_is_done(&for_b));
    ck_assert_str_eq(hf_lock_owner_text(b, 1, text), "");
    close_client();
    ck_assert_status(call_await(&for_b), HF_E_CLOSED);
}
END_TEST

/* ---- a reply that is too large ---- */

#define LARGE 20000000          /* a client reads 16 MiB of one reply */

static char second_grant[200];

static struct peer_step large_reply[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 a ..."),
    PEER_EXPECT("EVALSHA * 1 b ..."), PEER_WAIT,
    {.verb = PEER_DO_SEND, .text = NULL, .number = 0},
    {.verb = PEER_DO_SEND, .text = second_grant, .number = 0},
    PEER_EXPECT("EVALSHA * 1 a ..."), PEER_WAIT, PEER_END,
};

/* The call is told at once, without a second request, and what it may have acquired is
 * released. The reply behind it counts, and so does the connection. */
START_TEST(a_reply_that_is_too_large_costs_its_call_alone)
{
    static char large[LARGE + 100];
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *a, *b;
    struct call for_a, for_b;
    size_t len = (size_t)sprintf(large, "*2\r\n$%d\r\n", LARGE);

    memset(large + len, 'x', LARGE);
    len += LARGE;
    len += (size_t)sprintf(large + len, "\r\n:1\r\n");
    large_reply[5].text = large;
    large_reply[5].number = len;
    open_client(large_reply);
    a = lock_of(client, "a");
    b = lock_of(client, "b");
    call_acquire(&for_a, a, &o);
    call_acquire(&for_b, b, &o);
    ck_assert(peer_await(peer, 2));
    (void)snprintf(second_grant, sizeof second_grant, "*2\r\n$48\r\n%s:10000000002\r\n"
                   ":1\r\n", hf_client_uuid(client));
    large_reply[6].number = strlen(second_grant);
    peer_go(peer);
    ck_assert_status(call_await(&for_a), HF_E_LIMIT);
    ck_assert_ptr_nonnull(strstr(for_a.error.text, "too large"));
    ck_assert_status(call_await(&for_b), HF_OK);
    ck_assert(peer_await(peer, 3)); /* the release of a */
    ck_assert_uint_eq(stats_of(client).link.losses, 0);
    ck_assert_uint_eq(stats_of(client).holds, 1);
    peer_go(peer);
    close_client();
}
END_TEST

/* ---- lies to a holder ---- */

static char granted[200];

static struct peer_step lies_to_a_holder[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 600"),
    PEER_WAIT, {.verb = PEER_DO_SEND, .text = granted, .number = 0},
    PEER_EXPECT("EVALSHA * 1 order:42 600 *"), /* a renewal */
    {.verb = PEER_DO_SEND, .text = "", .number = 1}, PEER_GONE, PEER_END,
};

START_TEST(no_lie_becomes_a_renewal)
{
    struct hf_acquire_options o;
    char text[HF_OWNER_TEXT_MAX];
    struct diary diary;
    struct call call;

    lies_to_a_holder[6].text = lies[_i].bytes;
    lies_to_a_holder[6].number = lies[_i].len;
    peer = peer_start(lies_to_a_holder);
    client = client_timed(peer_port(peer), 600, 5000);
    lock = lock_of(client, NAME);
    o = diary_options(&diary, 1);
    call_acquire(&call, lock, &o);
    ck_assert(peer_await(peer, 1));
    (void)snprintf(granted, sizeof granted, "*2\r\n$%zu\r\n%s\r\n:1\r\n",
                   strlen(first_owner(text)), text);
    lies_to_a_holder[4].number = strlen(granted);
    peer_go(peer);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_unreached(&diary);
    ck_assert_uint_eq(stats_of(client).renewals, 0);
    ck_assert_int_eq(diary.renewals, 0);
    close_client();
    ck_assert_int_eq(diary.losses, 1);
}
END_TEST

static struct peer_step lies_to_a_releaser[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 30000"),
    PEER_WAIT, {.verb = PEER_DO_SEND, .text = granted, .number = 0},
    PEER_EXPECT("EVALSHA * 1 order:42 * 0 ..."), PEER_SEND(""), PEER_GONE,
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVAL * 1 order:42 * 0 ..."),
    PEER_SEND(""), PEER_GONE,
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVAL * 1 order:42 * 0 ..."),
    PEER_SEND(""), PEER_GONE,
    PEER_END,
};

/* A release that nobody believes was answered is no success, and not renewed. */
START_TEST(no_lie_becomes_a_release)
{
    struct hf_acquire_options o = acquire_options(1);
    char text[HF_OWNER_TEXT_MAX];
    struct hf_error err;
    struct call call;

    for (int i = 5; lies_to_a_releaser[i].verb != PEER_DO_END; i++)
        if (lies_to_a_releaser[i].verb == PEER_DO_SEND) {
            lies_to_a_releaser[i].text = lies[_i].bytes;
            lies_to_a_releaser[i].number = lies[_i].len;
        }
    open_client(lies_to_a_releaser);
    call_acquire(&call, lock, &o);
    ck_assert(peer_await(peer, 1));
    (void)snprintf(granted, sizeof granted, "*2\r\n$%zu\r\n%s\r\n:1\r\n",
                   strlen(first_owner(text)), text);
    lies_to_a_releaser[4].number = strlen(granted);
    peer_go(peer);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_status(hf_lock_release(lock, 1, &err), HF_E_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(err.text, "does not match the request"));
    ck_assert_played();
    ck_assert_no_hold(1);
    close_client();
}
END_TEST

/* What a release is answered, behind our name. Only what the script can say counts
 * as released, or as not ours any more. */
static const struct {
    const char *bytes;
    int count;
    hf_status status;
} releases[] = {
    {":0\r\n:0\r\n", 3, HF_OK},
    {":0\r\n:7\r\n:9\r\n", 4, HF_OK},    /* more may follow */
    {":-1\r\n:-2\r\n", 3, HF_LOST},
    {":-1\r\n:500\r\n", 3, HF_LOST},
    {"", 1, HF_E_PROTOCOL},
    {":0\r\n", 2, HF_OK},                /* and nobody was told */
    {":0\r\n:-1\r\n", 3, HF_E_PROTOCOL},
    {":5\r\n:0\r\n", 3, HF_E_PROTOCOL},
    {":1\r\n:0\r\n", 3, HF_E_PROTOCOL},
    {":-2\r\n:-2\r\n", 3, HF_E_PROTOCOL},
    {":-1\r\n", 2, HF_E_PROTOCOL},
    {":-1\r\n+OK\r\n", 3, HF_E_PROTOCOL},
    {":-1\r\n:-3\r\n", 3, HF_E_PROTOCOL},
    {"+OK\r\n", 2, HF_E_PROTOCOL},
};

static char released[2][200];

static struct peer_step granted_and_released[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 30000"),
    PEER_WAIT, {.verb = PEER_DO_SEND},
    PEER_EXPECT("EVALSHA * 1 order:42 * 0 ..."), {.verb = PEER_DO_SEND},
    PEER_WAIT, PEER_END,
};

/* What begins with our name. */
static void say(struct peer_step *step, char room[200], const char *name,
                int count, const char *rest)
{
    step->number = (size_t)snprintf(room, 200, "*%d\r\n$%zu\r\n%s\r\n%s", count,
                                    strlen(name), name, rest);
    step->text = room;
}

START_TEST(release_ends_with_the_status_that_its_reply_means)
{
    struct hf_acquire_options o = acquire_options(1);
    char text[HF_OWNER_TEXT_MAX];
    struct hf_error err;
    struct call call;

    open_client(granted_and_released);
    call_acquire(&call, lock, &o);
    ck_assert(peer_await(peer, 1));
    say(&granted_and_released[4], released[0], first_owner(text), 2, ":1\r\n");
    say(&granted_and_released[6], released[1], text, releases[_i].count,
        releases[_i].bytes);
    peer_go(peer);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_status(hf_lock_release(lock, 1, &err), releases[_i].status);
    ck_assert_int_eq(err.status, releases[_i].status);
    ck_assert_no_hold(1);
    peer_go(peer);
    close_client();
}
END_TEST

/* ---- a server that never knows the script ---- */

static struct peer_step knows_no_script[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 30000"),
    PEER_SEND("-NOSCRIPT No matching script. Please use EVAL.\r\n"),
    PEER_EXPECT("EVAL * 1 order:42 * 1 30000"),
    PEER_SEND("-NOSCRIPT No matching script. Please use EVAL.\r\n"),
    PEER_EXPECT("EVALSHA * 1 other * 1 30000"), PEER_WAIT, PEER_END,
};

/* Nothing but the next call is asked. */
START_TEST(script_text_is_sent_once_though_the_server_denies_to_know_it)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err;
    struct call call;

    open_client(knows_no_script);
    ck_assert_status(hf_lock_acquire(lock, &o, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "NOSCRIPT"));
    ck_assert_ptr_nonnull(strstr(err.text, NAME));
    call_acquire(&call, lock_of(client, "other"), &o);
    ck_assert(peer_await(peer, 3));
    peer_go(peer);
    ck_assert_played();
    close_client();
    ck_assert_status(call_await(&call), HF_E_CLOSED);
}
END_TEST

/* A renewal is sent as text at once, and after that as any other: with a rest. */
static struct peer_step renews_no_script[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 4500"),
    PEER_WAIT, {.verb = PEER_DO_SEND},
    PEER_EXPECT("EVALSHA * 1 order:42 4500 *"), PEER_SEND("-NOSCRIPT No.\r\n"),
    PEER_EXPECT("EVAL * 1 order:42 4500 *"), PEER_SEND("-NOSCRIPT No.\r\n"),
    PEER_EXPECT("EVALSHA * 1 order:42 4500 *"), PEER_WAIT, PEER_END,
};

START_TEST(a_renewal_is_sent_as_text_once)
{
    struct hf_acquire_options o = acquire_options(1);
    char text[HF_OWNER_TEXT_MAX];
    struct call call;

    peer = peer_start(renews_no_script);
    client = client_timed(peer_port(peer), 4500, 5000);
    lock = lock_of(client, NAME);
    call_acquire(&call, lock, &o);
    ck_assert(peer_await(peer, 1));
    say(&renews_no_script[4], released[0], first_owner(text), 2, ":1\r\n");
    peer_go(peer);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert(peer_await(peer, 4));
    peer_go(peer);
    ck_assert_played();
    close_client();
}
END_TEST

/* ---- answers of another shape to a holder ---- */

static struct peer_step renewed_by_nobody[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 4500"),
    PEER_WAIT, {.verb = PEER_DO_SEND},
    PEER_EXPECT("EVALSHA * 1 order:42 4500 *"), {.verb = PEER_DO_SEND},
    PEER_EXPECT("EVALSHA * 1 order:42 4500 *"), PEER_WAIT, PEER_END,
};

/* It proves neither that the lock is kept nor that it is gone. */
START_TEST(an_odd_answer_to_a_renewal_proves_nothing)
{
    struct hf_acquire_options o;
    char text[HF_OWNER_TEXT_MAX];
    struct diary diary;
    struct call call;

    peer = peer_start(renewed_by_nobody);
    client = client_timed(peer_port(peer), 4500, 5000);
    lock = lock_of(client, NAME);
    o = diary_options(&diary, 1);
    call_acquire(&call, lock, &o);
    ck_assert(peer_await(peer, 1));
    say(&renewed_by_nobody[4], released[0], first_owner(text), 2, ":1\r\n");
    say(&renewed_by_nobody[6], released[1], text, 2, ":5\r\n");
    peer_go(peer);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_unreached(&diary);
    ck_assert_int_eq(note_read(&diary.note, &diary.renewals), 0);
    peer_go(peer);
    ck_assert_played();
    close_client();
}
END_TEST

static struct peer_step reentered_oddly[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA * 1 order:42 * 1 30000"),
    PEER_WAIT, {.verb = PEER_DO_SEND},
    PEER_EXPECT("EVALSHA * 1 order:42 * 2 30000"), {.verb = PEER_DO_SEND},
    PEER_WAIT, PEER_END,
};

START_TEST(an_odd_answer_to_a_reentry_loses_nothing)
{
    struct hf_acquire_options o = acquire_options(1);
    char text[HF_OWNER_TEXT_MAX];
    struct call call;

    open_client(reentered_oddly);
    call_acquire(&call, lock, &o);
    ck_assert(peer_await(peer, 1));
    say(&reentered_oddly[4], released[0], first_owner(text), 2, ":1\r\n");
    say(&reentered_oddly[6], released[1], text, 2, ":5\r\n");
    peer_go(peer);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_status(hf_lock_acquire(lock, &o, NULL), HF_E_PROTOCOL);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    peer_go(peer);
    ck_assert_played();
    close_client();
}
END_TEST

/* ---- */

/* The lies that are whole RESP values of one piece. */
#define WHOLE_LIES (COUNT(lies) - 3)

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "acquire", nothing, nothing);

    tcase_add_loop_test(c, no_lie_becomes_a_hold, 0, COUNT(lies));
    tcase_add_loop_test(c, three_forged_replies_end_the_call, 0,
                        WHOLE_LIES);
    tcase_add_loop_test(c, after_a_forged_reply_the_request_uses_another_connection, 0,
                        WHOLE_LIES);
    tcase_add_loop_test(c, our_name_alone_is_no_hold, 0, COUNT(halves));
    tcase_add_test(c, an_answer_for_another_lock_is_no_hold);
    tcase_add_test(c, a_reply_that_is_too_large_costs_its_call_alone);

    c = live_case(s, "a holder", nothing, nothing);
    tcase_add_loop_test(c, no_lie_becomes_a_renewal, 0, WHOLE_LIES);
    tcase_add_loop_test(c, no_lie_becomes_a_release, 0, WHOLE_LIES);
    tcase_add_loop_test(c, release_ends_with_the_status_that_its_reply_means, 0,
                        COUNT(releases));
    tcase_add_test(c, an_odd_answer_to_a_renewal_proves_nothing);
    tcase_add_test(c, an_odd_answer_to_a_reentry_loses_nothing);

    c = live_case(s, "scripts", nothing, nothing);
    tcase_add_test(c, script_text_is_sent_once_though_the_server_denies_to_know_it);
    tcase_add_test(c, a_renewal_is_sent_as_text_once);
}

int main(void)
{
    return live_main("lock, forged", add_cases);
}
