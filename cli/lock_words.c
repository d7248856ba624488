/* A lock as programs read it. */
#include "cli/lock_words.h"

const char *cli_kind_word(enum hf_lock_kind kind)
{
    static const char *const words[] = {[HF_KIND_NONE] = "none",
                                        [HF_KIND_PLAIN] = "plain",
                                        [HF_KIND_FAIR] = "fair",
                                        [HF_KIND_READ] = "read",
                                        [HF_KIND_WRITE] = "write",
                                        [HF_KIND_MULTI] = "multi",
                                        [HF_KIND_PERMIT] = "permit",
                                        [HF_KIND_VALUE] = "value"};

    return words[kind];
}

bool cli_lock_is_counter(const struct hf_lock_info *info)
{
    return !info->is_locked && info->kind == HF_KIND_PERMIT;
}

const char *cli_lock_word(const struct hf_lock_info *info)
{
    return cli_lock_is_counter(info) ? CLI_COUNTER_WORD : cli_kind_word(info->kind);
}

/* ---- JSON ---- */

/* It comes first, for people. */
void cli_lock_put_name(struct cli_json *j, const struct cli_lock *lock)
{
    cli_json_escape_for(j, lock->name, lock->len);
    cli_json_escape_for(j, lock->info.holder, lock->info.holder_len);
    cli_json_bytes(j, "name", lock->name, lock->len);
}

void cli_lock_put_holder(struct cli_json *j, const struct cli_lock *lock)
{
    const struct hf_lock_info *info = &lock->info;
    bool is_permit = info->kind == HF_KIND_PERMIT; /* whose, nobody knows */

    if (!info->is_locked)
        return;
    cli_json_text(j, "kind", cli_kind_word(info->kind));
    if (!is_permit)
        cli_json_bytes(j, "owner", info->holder, info->holder_len);
    cli_json_integer(j, "holders", info->holders);
    if (!is_permit)
        cli_json_integer(j, "hold_count", info->hold_count);
    cli_json_integer(j, "ttl_ms", info->ttl_ms);
    if (lock->knows_available)
        cli_json_integer(j, "available", lock->available);
}

int cli_lock_json(const struct cli_lock *lock)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_lock_put_name(&j, lock);
    cli_json_bool(&j, "held", lock->info.is_locked);
    cli_lock_put_holder(&j, lock);
    if (lock->info.waiters > 0)
        cli_json_integer(&j, "waiters", lock->info.waiters);
    if (cli_lock_is_counter(&lock->info)) {
        cli_json_text(&j, "kind", CLI_COUNTER_WORD);
        cli_json_integer(&j, "count", lock->info.hold_count);
    }
    return cli_json_print(&j);
}
