/* What a server refuses a command with, also when the command stood in a
 * script.
 *
 * Redis 7 and Valkey answer a script as they would answer the command. Before,
 * a script's error is wrapped, and what the server itself refuses once more:
 *
 *   ERR Error running script (call to f_SHA1): @user_script:4: @user_script: 4:
 *   -READONLY You can't write against a read only replica.
 *
 * Returned by the script (redis.pcall), it begins at the second
 * "@user_script".
 *
 * Redis 7 and Valkey add the place in the script, which helps no person, and is cut:
 *
 *   OOM command not allowed. script: SHA1, on @user_script:4.
 *   OOM command not allowed. script: on @user_script:4.         Valkey 9
 *
 * A refusal by the ACL is NOPERM for a command. For a script it begins with other
 * words, which differ between the versions; since Redis 7.2 it has " script: " in
 * its own words:
 *
 *   ERR ACL failure in script: No permissions to access a key script: SHA1, on ... */
/* Tests: tests/test_net_refusal.c. */
#include "net/route/refusal.h"

#include <string.h>
#include <strings.h>

#include "net/net.h"
#include "net/link/too_large.h"

struct error_text {
    const char *ptr;
    size_t len;
};

static bool skip_prefix(struct error_text *words, const char *prefix)
{
    size_t len = strlen(prefix);

    if (words->len < len || memcmp(words->ptr, prefix, len) != 0)
        return false;
    words->ptr += len;
    words->len -= len;
    return true;
}

static void skip_past_mark(struct error_text *words, const char *mark)
{
    const char *at = memmem(words->ptr, words->len, mark, strlen(mark));

    if (!at)
        return;
    words->len -= (size_t)(at - words->ptr);
    words->ptr = at;
    (void)skip_prefix(words, mark);
}

/* The last " script: " before "on @user_script:" begins the place. */
static void cut_script_position(struct error_text *words)
{
    static const char begin[] = " script: ", where[] = "on @user_script:";
    const char *end = memmem(words->ptr, words->len, where, strlen(where));
    size_t at = end ? (size_t)(end - words->ptr) : 0;

    for (; at >= strlen(begin); at--)
        if (memcmp(words->ptr + at - strlen(begin), begin, strlen(begin)) == 0) {
            words->len = at - strlen(begin);
            return;
        }
}

static struct error_text text_of_error_reply(struct hf_resp_value reply)
{
    struct error_text words = {"", 0};

    if (!reply.node || !hf_resp_is_error(reply))
        return words;
    (void)hf_resp_bytes(reply, &words.ptr, &words.len);
    if (skip_prefix(&words, "ERR Error running script (call to "))
        skip_past_mark(&words, "): ");
    while (skip_prefix(&words, "@user_script:"))
        skip_past_mark(&words, ": ");
    (void)skip_prefix(&words, "-");
    cut_script_position(&words);
    return words;
}

void hf_refusal_text(struct hf_resp_value reply, const char **ptr, size_t *len)
{
    struct error_text words = text_of_error_reply(reply);

    *ptr = words.ptr;
    *len = words.len;
}

bool hf_refusal_is(struct hf_resp_value reply, const char *code)
{
    struct error_text words = text_of_error_reply(reply);

    return skip_prefix(&words, code) && (words.len == 0 || words.ptr[0] == ' ');
}

bool hf_refusal_is_by_acl(struct hf_resp_value reply)
{
    static const char *const beginnings[] = {
        "NOPERM", "ERR ACL failure in script:",         /* 7.2, Valkey */
        "ERR The user executing the script can't",      /* 7.0 */
        "The user executing the script can't"};         /* 6 */

    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (hf_refusal_is(reply, beginnings[i]))
            return true;
    return false;
}

/* "ERR unknown command 'x'", "ERR Unknown subcommand or wrong number of arguments for 'x'",
 * "ERR Unknown PUBSUB subcommand or ...". */
bool hf_refusal_is_unknown(struct hf_resp_value reply)
{
    struct error_text words = text_of_error_reply(reply);
    size_t len = words.len < 40 ? words.len : 40;

    return (skip_prefix(&words, "ERR unknown ") || skip_prefix(&words, "ERR Unknown ")) &&
           memmem(words.ptr, len - strlen("ERR unknown "), "command", 7);
}

/* "UNBLOCKED force unblock from blocking operation, instance state changed", and the
 * connection is closed. */
bool hf_refusal_is_of_wait_at_replica(struct hf_resp_value reply)
{
    return hf_refusal_is(reply, "UNBLOCKED") ||
           hf_refusal_is(reply, "ERR WAIT cannot be used with");
}

/* Some proxies do not name the unknown command. */
static bool is_unknown_command_without_name(struct error_text words)
{
    return skip_prefix(&words, "ERR unknown command") && words.len == 0;
}

/* "ERR unknown command 'EVALSHA', with args ...", "unsupported command 'evalsha'". */
bool hf_refusal_is_of_evalsha(struct hf_resp_value reply)
{
    struct error_text words = text_of_error_reply(reply);

    return !hf_refusal_is_by_acl(reply) &&
           (is_unknown_command_without_name(words) || memmem(words.ptr, words.len, "EVALSHA", 7) ||
            memmem(words.ptr, words.len, "evalsha", 7));
}

/* "ERR command eval not support for your account", "ERR 'EVAL' command is not allowed". A script
 * may name a key or a field as it likes, so the whole word must be there, at the beginning. */
bool hf_refusal_is_of_eval(struct hf_resp_value reply)
{
    struct error_text words = text_of_error_reply(reply);
    size_t len = words.len < 40 ? words.len : 40;

    return memmem(words.ptr, len, " eval ", 6) || memmem(words.ptr, len, " EVAL ", 6) ||
           memmem(words.ptr, len, "'eval'", 6) || memmem(words.ptr, len, "'EVAL'", 6) ||
           memmem(words.ptr, len, "`eval`", 6) ||
           (words.len < 40 && words.len > 5 &&
            strncasecmp(words.ptr + words.len - 5, " eval", 5) == 0);
}

bool hf_refusal_needs_eval(struct hf_resp_value reply)
{
    return hf_refusal_is(reply, "NOSCRIPT") || hf_refusal_is_of_evalsha(reply);
}

bool hf_refusal_is_undeclared(struct hf_resp_value reply)
{
    static const char text[] = "script tried accessing undeclared key";
    struct error_text words = text_of_error_reply(reply);

    return memmem(words.ptr, words.len, text, sizeof text - 1) != NULL;
}

bool hf_refusal_is_too_large(struct hf_resp_value reply)
{
    return hf_is_too_large_reply(reply);
}
