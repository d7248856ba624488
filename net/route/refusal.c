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
 *   OOM command not allowed. script: SHA1, on @user_script:4. */
#include <string.h>

#include "net/net.h"
#include "net/route/refusal.h"

struct words {
    const char *ptr;
    size_t len;
};

static bool skip(struct words *words, const char *prefix)
{
    size_t len = strlen(prefix);

    if (words->len < len || memcmp(words->ptr, prefix, len) != 0)
        return false;
    words->ptr += len;
    words->len -= len;
    return true;
}

static void skip_behind(struct words *words, const char *mark)
{
    const char *at = memmem(words->ptr, words->len, mark, strlen(mark));

    if (!at)
        return;
    words->len -= (size_t)(at - words->ptr);
    words->ptr = at;
    (void)skip(words, mark);
}

static void cut_place(struct words *words)
{
    static const char begin[] = " script: ", middle[] = ", on @user_script:";
    const char *at = memmem(words->ptr, words->len, begin, strlen(begin));

    if (at && memmem(at, words->len - (size_t)(at - words->ptr), middle,
                     strlen(middle)))
        words->len = (size_t)(at - words->ptr);
}

static struct words words_of(struct hf_resp_value reply)
{
    struct words words = {"", 0};

    if (!reply.node || !hf_resp_is_error(reply))
        return words;
    (void)hf_resp_bytes(reply, &words.ptr, &words.len);
    if (skip(&words, "ERR Error running script (call to "))
        skip_behind(&words, "): ");
    while (skip(&words, "@user_script:"))
        skip_behind(&words, ": ");
    (void)skip(&words, "-");
    cut_place(&words);
    return words;
}

void hf_refusal_words(struct hf_resp_value reply, const char **ptr, size_t *len)
{
    struct words words = words_of(reply);

    *ptr = words.ptr;
    *len = words.len;
}

bool hf_refusal_is(struct hf_resp_value reply, const char *code)
{
    struct words words = words_of(reply);

    return skip(&words, code) && (words.len == 0 || words.ptr[0] == ' ');
}
