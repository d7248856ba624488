/* Refusals, as servers word them: the code is found wherever it stands, and what
 * only looks like one is none. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/net.h"
#include "net/route/refusal.h"
#include "tests/support/suite.h"

#define SCRIPT "ERR Error running script (call to f_0123456789): @user_script:4: "

static const struct {
    const char *error, *code;
    bool is;
    const char *words;
} rows[] = {
    {"READONLY You can't", "READONLY", true, "READONLY You can't"},
    {"READONLY", "READONLY", true, "READONLY"},
    {"READONLYX no", "READONLY", false, "READONLYX no"},
    {"READ", "READONLY", false, "READ"},
    {"", "READONLY", false, ""},
    {"ERR READONLY", "READONLY", false, "ERR READONLY"},
    /* Redis 7 */
    {"OOM command not allowed. script: 01, on @user_script:4.", "OOM", true,
     "OOM command not allowed."},
    {"WRONGTYPE Operation script: 01, on @user_script:4.", "WRONGTYPE", true,
     "WRONGTYPE Operation"},
    {"ERR script: none", "ERR", true, "ERR script: none"},
    {"ERR on @user_script:4.", "ERR", true, "ERR on @user_script:4."},
    /* Redis 7.2 and later: " script: " is also among the words themselves. */
    {"ERR ACL failure in script: User app has no permissions to run the 'hset' "
     "command script: 01, on @user_script:4.", "ERR", true,
     "ERR ACL failure in script: User app has no permissions to run the 'hset' "
     "command"},
    {"ERR ACL failure in script: No permissions to access a key", "ERR", true,
     "ERR ACL failure in script: No permissions to access a key"},
    /* Valkey 9 */
    {"ERR ACL failure in script: No permissions to access a channel script: on "
     "@user_script:1.", "ERR", true,
     "ERR ACL failure in script: No permissions to access a channel"},
    {"OOM command not allowed. script: on @user_script:4.", "OOM", true,
     "OOM command not allowed."},
    /* Redis 6 */
    {SCRIPT "@user_script: 4: -READONLY You can't", "READONLY", true,
     "READONLY You can't"},
    {SCRIPT "@user_script: 4: -OOM command", "OOM", true, "OOM command"},
    {SCRIPT "WRONGTYPE Operation", "WRONGTYPE", true, "WRONGTYPE Operation"},
    {"@user_script: 1: -MISCONF Redis", "MISCONF", true, "MISCONF Redis"},
    {SCRIPT "@user_script: 4: The user executing the script can't run", "The",
     true, "The user executing the script can't run"},
    /* Cut anywhere. */
    {"ERR Error running script (call to f_01", "READONLY", false, "f_01"},
    {SCRIPT, "READONLY", false, ""},
    {"@user_script:4", "READONLY", false, "4"},
    {"-", "READONLY", false, ""},
};

static struct hf_resp_value parse(const char *bytes, struct hf_resp_tape *tape)
{
    struct hf_resp_parser parser;

    hf_resp_init(&parser, NULL, 3);
    ck_assert_int_eq(hf_resp_parse(&parser, bytes, strlen(bytes), tape), HF_OK);
    return hf_resp_first(tape, bytes, 0);
}

START_TEST(refusal_is_found_within_the_error_of_a_script)
{
    struct hf_resp_node nodes[4];
    struct hf_resp_tape tape = {.nodes = nodes, .room = 4};
    struct hf_resp_value v;
    char bytes[300];
    const char *ptr;
    size_t len;

    (void)snprintf(bytes, sizeof bytes, "-%s\r\n", rows[_i].error);
    v = parse(bytes, &tape);
    ck_assert_int_eq(hf_refusal_is(v, rows[_i].code), rows[_i].is);
    hf_refusal_text(v, &ptr, &len);
    ck_assert_uint_eq(len, strlen(rows[_i].words));
    ck_assert_mem_eq(ptr, rows[_i].words, len);
}
END_TEST

/* What the ACL refuses, as six servers say it; and what is refused otherwise. */
static const struct {
    const char *error;
    bool is_by_acl;
} acl_rows[] = {
    {"NOPERM this user has no permissions to run the 'get' command", true},
    {"NOPERM No permissions to access a key", true},
    {SCRIPT "@user_script: 4: The user executing the script can't run this command "
     "or subcommand", true},
    {"@user_script: 1: The user executing the script can't access at least one of "
     "the keys mentioned in the command arguments", true},
    {"ERR The user executing the script can't publish to the channel mentioned in "
     "the command script: 01, on @user_script:1.", true},
    {"ERR ACL failure in script: User app has no permissions to run the 'hget' "
     "command script: 01, on @user_script:1.", true},
    {"ERR ACL failure in script: No permissions to access a key script: on "
     "@user_script:1.", true},
    {"ERR ACL failure in script: No permissions to access a channel", true},
    {"NOPERMX", false},
    {"ERR no script: ACL failure", false},
    {"OOM command not allowed.", false},
    {"", false},
};

START_TEST(refusal_by_the_acl_is_recognised_in_every_wording)
{
    struct hf_resp_node nodes[4];
    struct hf_resp_tape tape = {.nodes = nodes, .room = 4};
    char bytes[300];

    (void)snprintf(bytes, sizeof bytes, "-%s\r\n", acl_rows[_i].error);
    ck_assert_int_eq(hf_refusal_is_by_acl(parse(bytes, &tape)),
                     acl_rows[_i].is_by_acl);
}
END_TEST

/* EVAL may succeed where EVALSHA is not there. */
static const struct {
    const char *error;
    bool wants_text, is_of_evalsha;
} text_rows[] = {
    {"NOSCRIPT No matching script. Please use EVAL.", true, false},
    {"ERR unknown command 'EVALSHA', with args beginning with: '01' '1'", true, true},
    {"ERR unknown command `evalsha`, with args", true, true},
    {"unsupported command 'EVALSHA'", true, true},
    {"ERR unknown command", true, true},
    {"ERR unknown command 'HSET'", false, false},
    {"ERR command 'evalsha' not support", true, true},
    {"ERR handle request, command 'EVALSHA' is not allowed", true, true},
    {"NOPERM this user has no permissions to run the 'evalsha' command", false, false},
    {"ERR unknown command 'EVAL', with args beginning with: 'return 1'", false, false},
    {"OOM command not allowed.", false, false},
    {"", false, false},
};

START_TEST(evalsha_that_is_not_there_is_recognised)
{
    struct hf_resp_node nodes[4];
    struct hf_resp_tape tape = {.nodes = nodes, .room = 4};
    struct hf_resp_value v;
    char bytes[300];

    (void)snprintf(bytes, sizeof bytes, "-%s\r\n", text_rows[_i].error);
    v = parse(bytes, &tape);
    ck_assert_int_eq(hf_refusal_needs_eval(v), text_rows[_i].wants_text);
    ck_assert_int_eq(hf_refusal_is_of_evalsha(v), text_rows[_i].is_of_evalsha);
}
END_TEST

/* Services that do not permit scripts. A name in a message is not EVAL. */
static const struct {
    const char *error;
    bool is;
} eval_rows[] = {
    {"ERR command eval not support for your account", true},
    {"ERR 'EVAL' command is not allowed", true},
    {"ERR unsupported command EVAL", true},
    {"ERR unsupported command `eval`", true},
    {"ERR max requests limit exceeded. Limit: 500000, Usage: 500000", false},
    {"ERR the evaluation of this key ended", false},
    {"", false},
};

START_TEST(eval_that_is_not_permitted_is_recognised)
{
    struct hf_resp_node nodes[4];
    struct hf_resp_tape tape = {.nodes = nodes, .room = 4};
    char bytes[300];

    (void)snprintf(bytes, sizeof bytes, "-%s\r\n", eval_rows[_i].error);
    ck_assert_int_eq(hf_refusal_is_of_eval(parse(bytes, &tape)), eval_rows[_i].is);
}
END_TEST

/* A command or subcommand that the server does not know: Redis 6.0, 7.0, 7.4, Valkey. */
static const struct {
    const char *error;
    bool is;
} unknown_rows[] = {
    {"ERR unknown command 'PUBSUB', with args beginning with: 'NUMSUB' ", true},
    {"ERR unknown command `PUBSUB`, with args beginning with: `NUMSUB`, ", true},
    {"ERR unknown subcommand 'SHARDNUMSUB'. Try PUBSUB HELP.", true},
    {"ERR Unknown PUBSUB subcommand or wrong number of arguments for 'SHARDNUMSUB'", true},
    {"ERR Unknown subcommand or wrong number of arguments for 'SHARDNUMSUB'. Try PUBSUB HELP.",
     true},
    {"ERR unknown command", true},
    {"ERR unknown ", false},
    {"ERR unknown node, no node serves this slot; the command was not sent", false},
    {"LOADING Redis is loading the dataset in memory", false},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL", false},
    {"NOPERM this user has no permissions to run the 'pubsub' command", false},
    {"", false},
};

START_TEST(command_that_is_not_known_is_recognised)
{
    struct hf_resp_node nodes[4];
    struct hf_resp_tape tape = {.nodes = nodes, .room = 4};
    char bytes[300];

    (void)snprintf(bytes, sizeof bytes, "-%s\r\n", unknown_rows[_i].error);
    ck_assert_int_eq(hf_refusal_is_unknown(parse(bytes, &tape)), unknown_rows[_i].is);
}
END_TEST

START_TEST(simple_string_is_no_refusal)
{
    struct hf_resp_node nodes[4];
    struct hf_resp_tape tape = {.nodes = nodes, .room = 4};

    ck_assert(!hf_refusal_is(parse("+READONLY\r\n", &tape), "READONLY"));
}
END_TEST

/* As of a command whose connection was refused. */
START_TEST(no_reply_is_no_refusal)
{
    ck_assert(!hf_refusal_is((struct hf_resp_value){0}, "OOM"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/refusal");
    TCase *c = tcase_create("words");

    tcase_add_loop_test(c, refusal_is_found_within_the_error_of_a_script, 0,
                        (int)(sizeof rows / sizeof *rows));
    tcase_add_loop_test(c, refusal_by_the_acl_is_recognised_in_every_wording, 0,
                        (int)(sizeof acl_rows / sizeof *acl_rows));
    tcase_add_loop_test(c, eval_that_is_not_permitted_is_recognised, 0,
                        (int)(sizeof eval_rows / sizeof *eval_rows));
    tcase_add_loop_test(c, evalsha_that_is_not_there_is_recognised, 0,
                        (int)(sizeof text_rows / sizeof *text_rows));
    tcase_add_loop_test(c, eval_that_is_not_permitted_is_recognised, 0,
                        (int)(sizeof eval_rows / sizeof *eval_rows));
    tcase_add_loop_test(c, command_that_is_not_known_is_recognised, 0,
                        (int)(sizeof unknown_rows / sizeof *unknown_rows));
    tcase_add_test(c, simple_string_is_no_refusal);
    tcase_add_test(c, no_reply_is_no_refusal);
    suite_add_tcase(s, c);
    return suite_run(s);
}
