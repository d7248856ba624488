/* `holdfast status` and `holdfast unlock` against a real server. */
#include "tests/live/test_run_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/lock.h"
#include "tests/support/suite.h"

#define SH "sh", "-c"
#define HOLDFAST HF_BUILD "/holdfast"
#define OTHER STRANGER
#define ANOTHER "0e3814a1-e847-452b-a982-45baf93a1df2:2"

/* ---- status ---- */

START_TEST(held_lock_is_shown_with_code_0)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "status", "x", NULL);
    ck_assert_int_eq(finish(p), 0);
    (void)await_line(p, OUT, "x: held by " OTHER ", hold count 1, TTL 59.");
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

START_TEST(free_lock_is_shown_with_code_1)
{
    struct process *p = holdfast(server, "status", "x", NULL);

    ck_assert_int_eq(finish(p), 1);
    ck_assert_str_eq(await_end(p, OUT), "x: free\n");
}
END_TEST

START_TEST(quiet_status_has_only_a_code)
{
    struct process *p = holdfast(server, "status", "x", "-q", NULL);

    ck_assert_int_eq(finish(p), 1);
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

/* 0 only if all are held; trouble with one does not hide the others. */
START_TEST(of_several_locks_the_worst_counts)
{
    struct process *p;

    hold_by_other("x", 60000);
    hold_by_other("y", 60000);
    (void)server_ask(server, "RPUSH text value");
    ck_assert_int_eq(finish(holdfast(server, "status", "x", "y", NULL)), 0);
    ck_assert_int_eq(finish(holdfast(server, "status", "x", "z", NULL)), 1);
    p = holdfast(server, "status", "text", "z", "x", NULL);
    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, OUT), "z: free\nx: held by "));
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "a type that is not used for locks"));
}
END_TEST

START_TEST(json_has_a_line_for_each)
{
    struct process *p;
    const char *line;

    hold_by_other("x", 60000);
    p = holdfast(server, "status", "--json", "x", "a\"b", NULL);
    line = await_line(p, OUT, "");
    ck_assert_str_eq(member(line, "held"), "true");
    ck_assert_str_eq(member(line, "owner"), OTHER);
    ck_assert_str_eq(member(line, "hold_count"), "1");
    ck_assert_int_gt(atoi(member(line, "ttl_ms")), 50000);
    ck_assert_str_eq(await_line(p, OUT, ""),
                     "{\"name\":\"a\\\"b\",\"held\":false}");
    ck_assert_int_eq(finish(p), 1);
}
END_TEST

START_TEST(json_marks_escaped_bytes)
{
    struct process *p;

    (void)server_ask(server, "SET x %b", "a\\\0\xff", (size_t)4);
    p = holdfast(server, "status", "--json", "x", NULL);
    ck_assert_str_eq(await_line(p, OUT, ""),
                     "{\"name\":\"x\",\"escaped\":true,\"held\":true,"
                     "\"kind\":\"value\",\"owner\":"
                     "\"a\\\\\\\\\\u0000\\\\xff\",\"holders\":1,"
                     "\"hold_count\":1,\"ttl_ms\":-1}");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* What is no hash: what it may be, and what `unlock --force` says. */
static const struct {
    const char *made, *shown, *forced;
    int shown_code, forced_code;
} strings[] = {
    {"SET x " OTHER " PX 60000", "x: value lock held by " OTHER ", TTL 59.",
     "x: released; it was held by " OTHER, 0, 0},
    {"SET x text", "x: value lock held by text, no TTL",
     "perhaps not a lock; nothing is changed", 0, 125},
    {"SET x 3", "x: a number of permits, or a counter: 3",
     "it is a number of permits, or a counter", 1, 1},
    {"SET x -3", "x: a number of permits, or a counter: -3",
     "it is a number of permits, or a counter", 1, 1},
    {"SADD x text", "a type that is not used for locks", "a type that is not used for locks", 125,
     125},
};

static const char *all_words(struct process *p)
{
    static char words[2000];

    (void)snprintf(words, sizeof words, "%s", await_end(p, OUT));
    (void)snprintf(words + strlen(words), sizeof words - strlen(words), "%s",
                   await_end(p, ERR));
    return words;
}

START_TEST(key_that_is_not_a_hash_is_read_twice)
{
    struct process *p;

    (void)server_ask(server, strings[_i].made);
    p = holdfast(server, "status", "x", NULL);
    ck_assert_int_eq(finish(p), strings[_i].shown_code);
    ck_assert_ptr_nonnull(strstr(all_words(p), strings[_i].shown));
    p = holdfast(server, "unlock", "--force", "-y", "x", NULL);
    ck_assert_int_eq(finish(p), strings[_i].forced_code);
    ck_assert_ptr_nonnull(strstr(all_words(p), strings[_i].forced));
    ck_assert_int_eq(server_ask_int(server, "EXISTS x"),
                     strings[_i].forced_code != 0);
}
END_TEST

START_TEST(permits_that_are_out_are_counted)
{
    struct process *p = holdfast(server, "run", "--permits", "2", "x", SH,
                                 "echo ready; read go", NULL);
    struct process *asked;
    const char *line;

    (void)await_line(p, OUT, "ready");
    asked = holdfast(server, "status", "x", NULL);
    ck_assert_int_eq(finish(asked), 0);
    (void)await_line(asked, OUT, "x: permits in use: 1, available: 1, TTL ");
    asked = holdfast(server, "status", "--json", "x", NULL);
    line = await_line(asked, OUT, "x");
    ck_assert_str_eq(member(line, "kind"), "permit");
    ck_assert_str_eq(member(line, "available"), "1");
    asked = holdfast(server, "unlock", "--force", "-y", "x", NULL);
    ck_assert_int_eq(finish(asked), 125);
    ck_assert_ptr_nonnull(strstr(await_end(asked, ERR), "nothing is changed"));
    asked = holdfast(server, "unlock", "--owner", OTHER, "x", NULL);
    ck_assert_int_eq(finish(asked), 1);
    ck_assert_ptr_nonnull(strstr(await_end(asked, ERR), "has no permit of it"));
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* A free one may have a queue: whoever is first has died, or has yet to come. */
static const struct {
    const char *hold, *text, *json;
    int code;
} queues[] = {
    {"HSET x " OTHER " 1",
     "x: fair lock held by " OTHER ", hold count 1, waiters in its queue: 2, no TTL: "
     "it stays until it is released",
     "{\"name\":\"x\",\"held\":true,\"kind\":\"fair\",\"owner\":\"" OTHER "\","
     "\"holders\":1,\"hold_count\":1,\"ttl_ms\":-1,\"waiters\":2}", 0},
    {"HDEL x " OTHER, "x: free, waiters in its queue: 2",
     "{\"name\":\"x\",\"held\":false,\"waiters\":2}", 1},
};

START_TEST(waiters_in_a_fair_locks_queue_are_counted)
{
    struct process *p;

    (void)server_ask(server, queues[_i].hold);
    (void)server_ask(server, "RPUSH redisson_lock_queue:{x} a b");
    p = holdfast(server, "status", "x", NULL);
    ck_assert_str_eq(await_line(p, OUT, ""), queues[_i].text);
    ck_assert_int_eq(finish(p), queues[_i].code);
    p = holdfast(server, "status", "--json", "x", NULL);
    ck_assert_str_eq(await_line(p, OUT, ""), queues[_i].json);
    ck_assert_int_eq(finish(p), queues[_i].code);
}
END_TEST

START_TEST(lock_without_ttl_is_reported_as_permanent)
{
    struct process *p;

    (void)server_ask(server, "HSET x " OTHER " 2");
    p = holdfast(server, "status", "x", NULL);
    (void)await_line(p, OUT, "hold count 2, no TTL");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* What others keep in a hash is no lock, whatever it looks like. */
static const char *const no_locks[] = {
    "visits 12",
    "mode dark",
    "mode dark visits 12",
    "page:12 5",
    "\"\" 1",
    "6e3814a1-e847-452b-a982-45baf93a1df2 1",
    OTHER "x 1",
    OTHER " red",
    OTHER " 0",
    OTHER " -1",
};

START_TEST(hash_of_an_application_is_no_lock_for_any_command)
{
    static const char *const lines[][6] = {
        {"status", "x"},
        {"run", "x", "echo", "ran"},
        {"run", "-n", "x", "echo", "ran"},
        {"unlock", "x", "--owner", OTHER},
        {"unlock", "x", "--force", "-y"},
    };
    char question[200], before[400];

    (void)snprintf(question, sizeof question, "HSET x %s", no_locks[_i]);
    (void)server_ask(server, question);
    (void)snprintf(before, sizeof before, "%s", server_ask(server, "DUMP x"));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct process *p =
            holdfast(server, lines[i][0], lines[i][1], lines[i][2],
                     lines[i][3], lines[i][4], lines[i][5], NULL);

        ck_assert_int_eq(finish(p), 125);
        ck_assert_str_eq(await_end(p, OUT), "");
        ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "is not a lock"));
        ck_assert_str_eq(server_ask(server, "DUMP x"), before);
    }
}
END_TEST

/* A terminal must not obey what a server says. */
START_TEST(error_about_other_data_holds_no_control_characters)
{
    struct process *p;

    (void)server_ask(server, "HSET x %b 1", "\033[2J\n", (size_t)5);
    p = holdfast(server, "status", "x", NULL);
    (void)await_line(p, ERR, "\\x1b[2J\\x0a");
    ck_assert_int_eq(finish(p), 125);
}
END_TEST

/* The kinds of Redisson: what they look like, and what is said. */
static const struct {
    const char *made[3];
    const char *shown, *kind;
    const char *refusal;        /* NULL: this owner's, to be released */
    const char *owner;
} kinds[] = {
    {{"HSET x mode read " OTHER " 1 " ANOTHER " 1"},
     "x: read lock held by " OTHER " and 1 more, hold count 1", "read",
     "2 holders", OTHER},
    {{"HSET x mode read " OTHER " 1", "PEXPIRE x 60000"},
     "x: read lock held by " OTHER ", hold count 1", "read", NULL, OTHER},
    {{"HSET x mode write " OTHER ":write 2"},
     "x: write lock held by " OTHER ":write, hold count 2", "write",
     NULL, OTHER ":write"},
    {{"HSET x mode write " OTHER ":write 1 " OTHER " 1"},
     "x: write lock held by " OTHER ":write, hold count 1", "write", NULL,
     OTHER ":write"},
    {{"HSET x " OTHER " 1", "RPUSH redisson_lock_queue:{x} " ANOTHER},
     "x: fair lock held by " OTHER ", hold count 1", "fair", NULL, OTHER},
    {{"HSET x AAAAAAAAAAAAAAAAAAAAAA " OTHER " AAAAAAAAAAAAAAAAAAAAAA:" OTHER
      ":lock_count 1"},
     "x: multi-lock held by " OTHER ", no TTL", "multi",
     "multi-lock", OTHER},
    {{"HSET x " OTHER " 1 " ANOTHER " 1"},
     "x: held by " OTHER " and 1 more, hold count 1", "plain", "2 holders",
     OTHER},
};

static void make_lock(int kind)
{
    server_ask(server, "FLUSHALL");
    for (int i = 0; i < 3 && kinds[kind].made[i]; i++)
        (void)server_ask(server, kinds[kind].made[i]);
}

static int unlock(const char *how, const char *what, const char *said)
{
    struct process *p = holdfast(server, "unlock", "x", how, what, NULL);
    int code = finish(p);

    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), said ? said : ""));
    return code;
}

START_TEST(every_kind_is_shown_and_freed_of_one_holder)
{
    bool is_freed = !kinds[_i].refusal;
    char before[600];
    struct process *p;

    make_lock(_i);
    (void)snprintf(before, sizeof before, "%s", server_ask(server, "DUMP x"));
    p = holdfast(server, "status", "x", NULL);
    (void)await_line(p, OUT, kinds[_i].shown);
    ck_assert_int_eq(finish(p), 0);
    p = holdfast(server, "status", "--json", "x", NULL);
    ck_assert_str_eq(member(await_line(p, OUT, ""), "kind"), kinds[_i].kind);
    ck_assert_int_eq(finish(p), 0);
    p = holdfast(server, "run", "-w", "50ms", "x", "true", NULL);
    ck_assert_int_eq(finish(p), 75); /* a lock it is */
    ck_assert_int_eq(unlock("--force", "-y", kinds[_i].refusal),
                     is_freed ? 0 : 125);
    if (!is_freed)
        ck_assert_str_eq(server_ask(server, "DUMP x"), before);
    make_lock(_i);
    if (is_freed)
        ck_assert_int_eq(unlock("--owner", ANOTHER, "is not released"), 1);
    ck_assert_int_eq(unlock("--owner", kinds[_i].owner, kinds[_i].refusal),
                     is_freed ? 0 : 125);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), is_freed ? "0" : "1");
}
END_TEST

/* `owner` NULL: one of several. */
static void ck_assert_side(const char *kind, const char *owner,
                           const char *holders)
{
    struct process *p = holdfast(server, "status", "--json", "x", NULL);
    const char *line = await_line(p, OUT, "");

    ck_assert_str_eq(member(line, "held"), "true");
    ck_assert_str_eq(member(line, "kind"), kind);
    if (owner)
        ck_assert_str_eq(member(line, "owner"), owner);
    ck_assert_str_eq(member(line, "holders"), holders);
    ck_assert_str_eq(member(line, "hold_count"), "1");
    ck_assert_int_gt(atoi(member(line, "ttl_ms")), 0);
    ck_assert_int_eq(finish(p), 0);
}

static struct hf_lock *take_side(struct hf_client *client,
                                 enum hf_lock_kind kind, int64_t owner)
{
    struct hf_acquire_options o;
    struct hf_lock *lock = NULL;

    hf_acquire_options_init(&o);
    o.owner = owner;
    ck_assert_int_eq(hf_lock_new_kind(&lock, client, kind, "x", 1, NULL),
                     HF_OK);
    ck_assert_int_eq(hf_lock_acquire(lock, &o, NULL), HF_OK);
    return lock;
}

START_TEST(both_sides_of_a_read_write_lock_are_shown)
{
    char url[SERVER_URL_MAX], text[HF_OWNER_TEXT_MAX];
    struct hf_lock *writes, *reads;
    struct hf_client_options o;
    struct hf_client *client;

    hf_client_options_init(&o);
    o.url = server_url(server, url);
    ck_assert_int_eq(hf_client_new(&client, &o, NULL), HF_OK);
    writes = take_side(client, HF_KIND_WRITE, 1);
    reads = take_side(client, HF_KIND_READ, 1);
    ck_assert_side("write", hf_lock_owner_text(writes, 1, text), "1");
    ck_assert_int_eq(hf_lock_release(writes, 1, NULL), HF_OK);
    ck_assert_side("read", hf_lock_owner_text(reads, 1, text), "1");
    (void)take_side(client, HF_KIND_READ, 2);
    ck_assert_side("read", NULL, "2");
    hf_client_free(client);
}
END_TEST

START_TEST(environment_names_the_server)
{
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"REDIS_URL=$U " HOLDFAST " status x;"
                            "HOLDFAST_URL=$U REDIS_URL=redis://:1 " HOLDFAST
                            " status y; HOLDFAST_URL= REDIS_URL=$U " HOLDFAST
                            " status z", NULL};
    char url[SERVER_URL_MAX];
    struct process *p;

    (void)setenv("U", server_url(server, url), 1);
    p = start(NULL, argv);
    ck_assert_str_eq(await_end(p, OUT), "x: free\ny: free\nz: free\n");
    ck_assert_int_eq(finish(p), 1);
}
END_TEST

static const char *const wrong_urls[][2] = {
    {"HOLDFAST_URL=redis://h:x " HOLDFAST " status x", "HOLDFAST_URL: the URL is wrong"},
    {"HOLDFAST_URL= REDIS_URL=redis://h?ssl=1 " HOLDFAST " status x",
     "REDIS_URL: the URL is wrong"},
    {HOLDFAST " status -u http://h x", "-u: the URL is wrong"},
    {"HOLDFAST_URL=redis://h:x " HOLDFAST " doctor", "HOLDFAST_URL: the URL is wrong"},
    {"HOLDFAST_URL=redis://h:x " HOLDFAST " status --map a=b x", "HOLDFAST_URL: the URL is wrong"},
};

START_TEST(wrong_url_is_reported_with_its_source)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)wrong_urls[_i][0], NULL};
    struct process *p = start(NULL, argv);

    (void)await_line(p, ERR, wrong_urls[_i][1]);
    ck_assert_int_eq(finish(p), 125);
}
END_TEST

/* ---- unlock ---- */

START_TEST(owner_is_compared)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "unlock", "x", "--owner", ANOTHER, NULL);
    ck_assert_int_eq(finish(p), 1);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "held by " OTHER));
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "1");
    p = holdfast(server, "unlock", "--owner", OTHER, "x", NULL);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT),
                     "x: released; it was held by " OTHER "\n");
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
    p = holdfast(server, "unlock", "--owner", OTHER, "x", NULL);
    ck_assert_int_eq(finish(p), 1);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "it is free"));
}
END_TEST

START_TEST(waiters_wake)
{
    struct process *waiting;

    hold_by_other("x", 60000);
    waiting = holdfast(server, "run", "--status-fd", "3", "x", "true", NULL);
    (void)await_line(waiting, STATUS, "\"waiting\"");
    ck_assert_int_eq(
        finish(holdfast(server, "unlock", "-q", "x", "--force", "-y", NULL)),
        0);
    ck_assert_int_eq(finish(waiting), 0);
}
END_TEST

START_TEST(force_needs_a_terminal_or_yes)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "unlock", "x", "--force", NULL);
    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "add -y"));
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "1");
    p = holdfast(server, "unlock", "x", "--force", "--yes", "--json", NULL);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), "{\"name\":\"x\",\"released\":true,"
                                        "\"owner\":\"" OTHER "\"}\n");
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
    p = holdfast(server, "unlock", "\xff", "--force", "--yes", "--json", NULL);
    ck_assert_int_eq(finish(p), 1);
    ck_assert_str_eq(await_end(p, OUT), "{\"name\":\"\\\\xff\",\"escaped\":true,"
                                        "\"released\":false}\n");
}
END_TEST

static const struct {
    const char *answer;
    int code;
    const char *left;
} answers[] = {{"y\n", 0, "0"},   {"Yes\n", 0, "0"}, {"n\n", 1, "1"},
               {"\n", 1, "1"},    {"\004", 1, "1"}};

START_TEST(force_needs_confirmation_on_a_terminal)
{
    char *argv[] = {(char *)HOLDFAST, (char *)"unlock", (char *)"x",
                    (char *)"--force", NULL};
    struct process *p;

    hold_by_other("x", 60000);
    p = start_on_terminal(server, argv);
    (void)await_line(p, OUT, "x is held by " OTHER ", hold count 1");
    say(p, answers[_i].answer);
    ck_assert_int_eq(finish(p), answers[_i].code);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), answers[_i].left);
}
END_TEST

/* A script's "$UNSET", a holder that no Redisson writes. */
static const char *const no_owners[] = {"", "me", "me:1", ":1",
                                        OTHER "0123456789012345678901234567890",
                                        OTHER ":reader"};

START_TEST(unlock_refuses_an_invalid_owner)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "unlock", "x", "--owner", no_owners[_i], NULL);
    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "invalid owner"));
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "1");
}
END_TEST

/* A string that no holder has written. */
static const struct {
    size_t len;
    const char *said;
} odd_strings[] = {
    {0, "is an empty string, which is not a lock"},
    {192, "is a string of more than 191 bytes"},
};

START_TEST(unlock_reports_which_strings_are_not_locks)
{
    char text[200];

    memset(text, 'x', sizeof text);
    (void)server_ask(server, "SET x %b EX 60", text, odd_strings[_i].len);
    ck_assert_int_eq(unlock("--force", "-y", odd_strings[_i].said), 125);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "1");
}
END_TEST

START_TEST(unlock_takes_an_owner_as_status_shows_it)
{
    (void)server_ask(server, "SET x %s EX 60", "a\\b\xff");
    ck_assert_int_eq(unlock("--owner", "a\\x5cb\\xfe", "is not released"), 1);
    ck_assert_int_eq(unlock("--owner", "a\\x5cb\\xff\\x00", "is not released"), 1);
    ck_assert_int_eq(unlock("--owner", "a\\x5cb\\xff", NULL), 0);
}
END_TEST

/* ---- status, ls and unlock agree on every string ---- */

#define A190 \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A_LOCK "value lock held by "
#define NO_LOCK "which is not a lock"

/* `owner`: as status shows it, for unlock --owner; NULL: it shows none. `listed`: the
 * kind that ls prints; "": it lists nothing. */
static const struct {
    const char *text;
    size_t len;
    bool has_ttl;
    const char *shown, *listed, *owner;
    int shown_code, forced_code;
} texts[] = {
    {"text", 4, true, A_LOCK "text", "value", "text", 0, 0},
    {"text", 4, false, A_LOCK "text, no TTL", "", "text", 0, 125},
    {"", 0, true, "an empty string, " NO_LOCK, "", NULL, 125, 125},
    {"", 0, false, "an empty string, " NO_LOCK, "", NULL, 125, 125},
    {"a\0b", 3, true, A_LOCK "a\\x00b", "value", "a\\x00b", 0, 0},
    {"\0", 1, true, A_LOCK "\\x00", "value", "\\x00", 0, 0},
    {"\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17", 16, true, A_LOCK "\\x00\\x01", "value",
     "\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08\\x09\\x0a\\x0b\\x0c\\x0d\\x0e\\x0f",
     0, 0},
    {"a\nb\x1b[1m", 7, true, A_LOCK "a\\x0ab\\x1b[1m", "value", "a\\x0ab\\x1b[1m",
     0, 0},
    {"7", 1, true, A_LOCK "7", "value", "7", 0, 0},
    {"7", 1, false, "a number of permits, or a counter: 7", "counter", NULL, 1, 1},
    {"07", 2, false, A_LOCK "07, no TTL", "", "07", 0, 125},
    {A190 "b", 191, true, A_LOCK "aaa", "value", A190 "b", 0, 0},
    {A190 "bc", 192, true, "a string of more than 191 bytes, " NO_LOCK, "", NULL, 125,
     125},
    {A190 "bc", 192, false, "a string of more than 191 bytes, " NO_LOCK, "", NULL, 125,
     125},
};

static void set_text(int i)
{
    (void)server_ask(server, "FLUSHALL");
    (void)server_ask(server, texts[i].has_ttl ? "SET x %b EX 60" : "SET x %b",
                     texts[i].text, texts[i].len);
}

START_TEST(status_ls_and_unlock_agree_on_every_string)
{
    struct process *p;
    char words[2000];

    set_text(_i);
    p = holdfast(server, "status", "x", NULL);
    ck_assert_int_eq(finish(p), texts[_i].shown_code);
    (void)snprintf(words, sizeof words, "%s", all_words(p));
    ck_assert_msg(strstr(words, texts[_i].shown) != NULL, "%s", words);
    p = holdfast(server, "ls", "--kind=value", "--kind=counter", "--json", NULL);
    ck_assert_int_eq(finish(p), 0);
    if (texts[_i].listed[0])
        ck_assert_str_eq(member(await_end(p, OUT), "kind"), texts[_i].listed);
    else
        ck_assert_ptr_null(strstr(await_end(p, OUT), "\"name\":\"x\""));
    p = holdfast(server, "unlock", "x", "--force", "-y", NULL);
    ck_assert_int_eq(finish(p), texts[_i].forced_code);
    ck_assert_int_eq(server_ask_int(server, "EXISTS x"), texts[_i].forced_code != 0);
    if (texts[_i].shown_code == 125)
        ck_assert_ptr_nonnull(strstr(await_end(p, ERR), texts[_i].shown));
}
END_TEST

START_TEST(unlock_takes_every_owner_that_status_shows)
{
    struct process *p;

    set_text(_i);
    p = holdfast(server, "unlock", "x", "--owner",
                 texts[_i].owner ? texts[_i].owner : "a", NULL);
    ck_assert_int_eq(finish(p), texts[_i].owner ? 0 : texts[_i].forced_code);
    ck_assert_int_eq(server_ask_int(server, "EXISTS x"), texts[_i].owner == NULL);
}
END_TEST

/* Its transactions and negative thread numbers are Redisson's, too. */
static const char *const owners[] = {
    OTHER, "6E3814A1-E847-452B-A982-45BAF93A1DF2:-9223372036854775808",
    OTHER ":0123456789abcdef0123456789abcdef"};

START_TEST(every_owner_of_a_plain_lock_can_be_named)
{
    struct process *p;

    (void)server_ask(server, "HSET x %s 1", owners[_i]);
    p = holdfast(server, "unlock", "x", "--owner", owners[_i], NULL);
    ck_assert_int_eq(finish(p), 0);
    (void)server_ask(server, "HSET x %s 1", owners[_i]);
    p = holdfast(server, "unlock", "x", "--force", "-y", NULL);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

/* Longer than what can be shown, or with a NUL: no Redisson writes it. */
START_TEST(holder_with_an_unprintable_name_is_left_alone)
{
    char holder[400];
    size_t len = _i ? strlen(OTHER) + 2 : sizeof holder;

    memset(holder, '1', sizeof holder);
    memcpy(holder, OTHER, strlen(OTHER));
    if (_i)
        holder[strlen(OTHER)] = '\0';
    (void)server_ask(server, "HSET x %b 1", holder, len);
    ck_assert_int_eq(
        finish(holdfast(server, "unlock", "x", "--force", "-y", NULL)), 125);
    ck_assert_int_eq(
        finish(holdfast(server, "unlock", "x", "--owner", OTHER, NULL)), 125);
    ck_assert_str_eq(server_ask(server, "HLEN x"), "1");
}
END_TEST

static const char *const mistakes[][4] = {
    {"--owner", "o", NULL, "NAME is required"},
    {"x", NULL, NULL, "--owner OWNER"},
    {"x", "y", NULL, "unexpected argument 'y'"},
    {"x", "--owner", NULL, "needs a value"},
    {"x", "--force", "--owner=o", "either --owner"},
};

/* Nobody reads standard error: the code tells. */
static char *const unheard[][6] = {
    {(char *)HOLDFAST, (char *)"status", (char *)"-u", (char *)"redis://[::1]:1",
     (char *)"x"},
    {(char *)HOLDFAST, (char *)"unlock", (char *)"x"},
    {(char *)HOLDFAST, (char *)"run"},
    {(char *)HOLDFAST, (char *)"doctor", (char *)"-v", (char *)"-u",
     (char *)"no"},
    {(char *)HOLDFAST, (char *)"nothing"},
};

START_TEST(full_standard_error_does_not_block_forever)
{
    for (int is_socket = 0; is_socket < 2; is_socket++)
        ck_assert_int_eq(
            finish(start_deaf(server, unheard[_i], is_socket == 1)), 125);
}
END_TEST

START_TEST(usage_errors_are_reported)
{
    struct process *p = holdfast(server, "unlock", mistakes[_i][0],
                                 mistakes[_i][1], mistakes[_i][2], NULL);

    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), mistakes[_i][3]));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast status, unlock");
    TCase *status = run_case(s, "status");
    TCase *unlock = run_case(s, "unlock");

    tcase_add_test(status, held_lock_is_shown_with_code_0);
    tcase_add_test(status, free_lock_is_shown_with_code_1);
    tcase_add_test(status, quiet_status_has_only_a_code);
    tcase_add_test(status, of_several_locks_the_worst_counts);
    tcase_add_test(status, json_has_a_line_for_each);
    tcase_add_test(status, json_marks_escaped_bytes);
    tcase_add_loop_test(status, key_that_is_not_a_hash_is_read_twice, 0, ROWS(strings));
    tcase_add_loop_test(status, waiters_in_a_fair_locks_queue_are_counted, 0,
                        ROWS(queues));
    tcase_add_test(status, permits_that_are_out_are_counted);
    tcase_add_test(status, lock_without_ttl_is_reported_as_permanent);
    tcase_add_loop_test(status, hash_of_an_application_is_no_lock_for_any_command,
                        0, ROWS(no_locks));
    tcase_add_test(status, error_about_other_data_holds_no_control_characters);
    tcase_add_test(status, both_sides_of_a_read_write_lock_are_shown);
    tcase_add_loop_test(status, every_kind_is_shown_and_freed_of_one_holder, 0,
                        ROWS(kinds));
    tcase_add_test(status, environment_names_the_server);
    tcase_add_loop_test(status, wrong_url_is_reported_with_its_source, 0, ROWS(wrong_urls));
    tcase_add_test(unlock, owner_is_compared);
    tcase_add_test(unlock, waiters_wake);
    tcase_add_test(unlock, force_needs_a_terminal_or_yes);
    tcase_add_loop_test(unlock, force_needs_confirmation_on_a_terminal, 0, 5);
    tcase_add_loop_test(unlock, unlock_reports_which_strings_are_not_locks, 0,
                        ROWS(odd_strings));
    tcase_add_test(unlock, unlock_takes_an_owner_as_status_shows_it);
    tcase_add_loop_test(unlock, status_ls_and_unlock_agree_on_every_string, 0,
                        (int)(sizeof texts / sizeof *texts));
    tcase_add_loop_test(unlock, unlock_takes_every_owner_that_status_shows, 0,
                        (int)(sizeof texts / sizeof *texts));
    tcase_add_loop_test(unlock, unlock_refuses_an_invalid_owner, 0,
                        ROWS(no_owners));
    tcase_add_loop_test(unlock, every_owner_of_a_plain_lock_can_be_named, 0,
                        ROWS(owners));
    tcase_add_loop_test(unlock, holder_with_an_unprintable_name_is_left_alone, 0,
                        2);
    tcase_add_loop_test(unlock, usage_errors_are_reported, 0, 5);
    tcase_add_loop_test(unlock, full_standard_error_does_not_block_forever, 0,
                        5);
    return run_suite(s);
}
