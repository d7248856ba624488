/* The ACL that each kind needs. See rights.h. */
/* Tests: tests/live/server/test_lock_acl.c. */
#include "lock/rights.h"

#include <string.h>

#include "lock/script/kind.h"
#include "lock/script/names.h"

/* ---- which rows and scripts ---- */

#define ROWS_MAX 2   /* two sides of a read-write lock */
#define SCRIPTS_MAX 2

/* Commands in `excepted_commands` are called only if a further key or argument is given, which
 * these do not give. */
static const struct rights_row {
    const struct hf_kind *kinds_with_all_steps[ROWS_MAX]; /* all their steps, keys and channels */
    const struct hf_kind *kinds_to_inspect[ROWS_MAX];     /* STEP_INSPECT alone, and keys */
    const char *commands;
    const char *excepted_commands;
    const char *key;                                      /* a prefix, beside those of rows */
} table[] = {
    /* force_release.lua changes a queue that is named, and a fair lock names it. */
    [HF_RIGHTS_PLAIN] = {.kinds_with_all_steps = {&hf_kind_reentrant},
                         .excepted_commands = "zrem lpop zadd lrange zrange"},
    [HF_RIGHTS_FAIR] = {.kinds_with_all_steps = {&hf_kind_fair}},
    [HF_RIGHTS_READ_WRITE] = {.kinds_with_all_steps = {&hf_kind_read, &hf_kind_write}},
    /* A counter that stays does not begin at the server's clock. */
    [HF_RIGHTS_TOKEN] = {.commands = hf_token_commands, .excepted_commands = "time set",
                         .key = KIND_TOKEN_COUNTER_KEY},
    [HF_RIGHTS_RETENTION] = {.commands = hf_token_commands, .key = KIND_TOKEN_COUNTER_KEY},
    [HF_RIGHTS_VALUE] = {.kinds_with_all_steps = {&hf_kind_value}},
    [HF_RIGHTS_PERMIT] = {.kinds_with_all_steps = {&hf_kind_permit}},
    [HF_RIGHTS_SEMAPHORE] = {.kinds_with_all_steps = {&hf_kind_semaphore}},
    [HF_RIGHTS_LATCH] = {.kinds_with_all_steps = {&hf_kind_latch}},
    [HF_RIGHTS_LOOK_STRING] = {.kinds_to_inspect = {&hf_kind_value, &hf_kind_permit}},
    [HF_RIGHTS_LOOK_PERMIT] = {.kinds_to_inspect = {&hf_kind_permit}},
};

/* ---- commands ---- */

struct command_sink {
    void (*call_for_each)(void *ctx, const char *command, size_t len);
    void *ctx;
    const char *excepted_commands;
};

static bool has_word(const char *words, const char *word, size_t len)
{
    while (words && *words) {
        size_t n = strcspn(words, " ");

        if (n == len && memcmp(words, word, len) == 0)
            return true;
        words += n + (words[n] == ' ');
    }
    return false;
}

static void put_commands(const struct command_sink *sink, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");

        if (!has_word(sink->excepted_commands, words, n))
            sink->call_for_each(sink->ctx, words, n);
        words += n + (words[n] == ' ');
    }
}

static void put_commands_of_step(const struct command_sink *sink, const struct hf_kind *row,
                                 int step)
{
    if (row && row->steps[step].script)
        put_commands(sink, row->steps[step].script->called_commands);
}

void hf_rights_commands(enum hf_rights of,
                        void (*each)(void *ctx, const char *command, size_t len),
                        void *ctx)
{
    const struct rights_row *needs = &table[of];
    const struct command_sink sink = {each, ctx, needs->excepted_commands};

    for (int i = 0; i < ROWS_MAX; i++) {
        for (int step = 0; step < STEP_COUNT; step++)
            put_commands_of_step(&sink, needs->kinds_with_all_steps[i], step);
        put_commands_of_step(&sink, needs->kinds_to_inspect[i], STEP_INSPECT);
    }
    if (needs->commands)
        put_commands(&sink, needs->commands);
}

/* ---- keys and channels ---- */

static bool is_same_pattern(const struct hf_rights_pattern *a,
                            const struct hf_rights_pattern *b)
{
    return strcmp(a->prefix, b->prefix) == 0 && strcmp(a->rest, b->rest) == 0;
}

static size_t add_pattern(struct hf_rights_pattern *out, size_t count,
                          struct hf_rights_pattern pattern)
{
    for (size_t i = 0; i < count; i++)
        if (is_same_pattern(&out[i], &pattern))
            return count;
    if (count < HF_RIGHTS_PATTERNS_MAX)
        out[count++] = pattern;
    return count;
}

/* "KEY:{name}"; a key that begins with ':' and those of holds begin with "{name}:". */
static struct hf_rights_pattern pattern_of_key(const char *key)
{
    if (key[0] == ':')
        return (struct hf_rights_pattern){"", ":*", false};
    return (struct hf_rights_pattern){key, "", false};
}

static size_t add_key_patterns(struct hf_rights_pattern *out, size_t count,
                               const struct hf_kind *row)
{
    for (int i = 0; row && i < KIND_KEYS_MAX && row->key_names[i]; i++)
        count = add_pattern(out, count, pattern_of_key(row->key_names[i]));
    if (row && row->hold_key)
        count = add_pattern(out, count, pattern_of_key(":"));
    return count;
}

size_t hf_rights_keys(enum hf_rights of,
                      struct hf_rights_pattern out[HF_RIGHTS_PATTERNS_MAX])
{
    const struct rights_row *needs = &table[of];
    size_t count = 0;

    for (int i = 0; i < ROWS_MAX; i++) {
        count = add_key_patterns(out, count, needs->kinds_with_all_steps[i]);
        count = add_key_patterns(out, count, needs->kinds_to_inspect[i]);
    }
    return needs->key ? add_pattern(out, count, pattern_of_key(needs->key)) : count;
}

/* A waiter that queues has a channel of its own: the lock's, ":" and its owner. Others may
 * register. */
static size_t add_channel_patterns(struct hf_rights_pattern *out, size_t count,
                                   const struct hf_kind *row)
{
    struct hf_rights_pattern pattern = {row->channel_prefix, "", row->has_braced_channel};

    if (!row->channel_prefix[0])
        return count;
    count = add_pattern(out, count, pattern);
    pattern.rest = row->has_server_queue ? ":*" : KIND_WAITERS_SUFFIX;
    return row->has_server_queue || hf_kind_has_waiters_channel(row)
               ? add_pattern(out, count, pattern)
               : count;
}

size_t hf_rights_channels(enum hf_rights of,
                          struct hf_rights_pattern out[HF_RIGHTS_PATTERNS_MAX])
{
    size_t count = 0;

    for (int i = 0; i < ROWS_MAX; i++)
        if (table[of].kinds_with_all_steps[i])
            count = add_channel_patterns(out, count, table[of].kinds_with_all_steps[i]);
    return count;
}

/* ---- names ---- */

size_t hf_rights_name_size(const struct hf_rights_pattern *pattern, const char *name,
                           size_t len)
{
    if (pattern->is_braced)
        return hf_braced_size(pattern->prefix, len);
    return *pattern->prefix ? hf_prefixed_size(pattern->prefix, name, len)
                            : hf_tagged_size(name, len);
}

void hf_rights_name_put(char *dst, const struct hf_rights_pattern *pattern, const char *name,
                        size_t len)
{
    if (pattern->is_braced)
        hf_braced_put(dst, pattern->prefix, name, len);
    else if (*pattern->prefix)
        hf_prefixed_put(dst, pattern->prefix, name, len);
    else
        hf_tagged_put(dst, name, len);
}
