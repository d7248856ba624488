/* Words that are near to a name, and words that other programs use. */
/* Tests: tests/test_cli_options.c. */
#include "cli/base/nearest.h"

#include <string.h>

#include "net/base/word_distance.h"

#define LONG_WORD 6             /* bytes; two changes of a shorter word give an unrelated one */

/* Options, commands and actions of flock, consul lock, redis-cli and lock libraries. If a word has
 * several rows, the first one whose name exists counts. */
static const struct {
    const char *synonym, *name;
} synonyms[] = {
    {"try", "wait"},
    {"retry", "wait"},          {"blocking-timeout", "wait"},
    {"expire", "ttl"},          {"expire", "lease"},
    {"expiry", "ttl"},          {"expiry", "lease"},
    {"px", "ttl"},              {"px", "lease"},
    {"ex", "ttl"},              {"ex", "lease"},
    {"session-ttl", "ttl"},     {"lock-timeout", "ttl"},
    {"no-wait", "nonblock"},
    {"host", "url"},            {"hostname", "url"},
    {"port", "url"},            {"server", "url"},
    {"redis", "url"},           {"socket", "url"},
    {"pass", "password-file"},  {"password", "password-file"},
    {"askpass", "password-file"},
    {"semaphore", "permits"},   {"n", "permits"},
    {"lock", "run"},            {"exec", "run"},
    {"list", "ls"},             {"leader", "elect"},
    {"extend", "renew"},        {"info", "status"},
    {"await", "wait"},          {"countdown", "down"},
    {"count-down", "down"},     {"take", "acquire"},
    {"remove", "delete"},       {"create", "set"},
};

#define SYNONYMS ((int)(sizeof synonyms / sizeof *synonyms))

/* Returns a negative distance: the earlier the row, the smaller. 0: there is no such row. */
static int distance_of_synonym(const char *word, size_t len, const char *name)
{
    for (int i = 0; i < SYNONYMS; i++)
        if (strlen(synonyms[i].synonym) == len && memcmp(synonyms[i].synonym, word, len) == 0 &&
            strcmp(synonyms[i].name, name) == 0)
            return i - SYNONYMS;
    return 0;
}

void cli_nearest_try(struct cli_nearest *n, const char *word, size_t len, const char *name)
{
    int near = len >= LONG_WORD ? 2 : 1, distance;

    if (len > HF_WORD_MAX || strlen(name) > HF_WORD_MAX)
        return;
    distance = distance_of_synonym(word, len, name);
    if (distance == 0)
        distance = hf_word_distance(word, len, name, strlen(name));
    if (distance > near || (n->name && distance >= n->distance))
        return;
    n->name = name;
    n->distance = distance;
}
