/* A lock as programs read it. */
#include "cli/lock_words.h"

#include "cli/json.h"

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

/* `name` comes first, for a person who reads it. */
int cli_lock_json(const char *name, size_t len, const struct hf_lock_info *info)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_bytes(&j, "name", name, len);
    cli_json_bool(&j, "held", info->is_locked);
    if (info->is_locked) {
        cli_json_text(&j, "kind", cli_kind_word(info->kind));
        cli_json_text(&j, "owner", info->holder);
        cli_json_integer(&j, "holders", info->holders);
        cli_json_integer(&j, "hold_count", info->hold_count);
        cli_json_integer(&j, "ttl_ms", info->ttl_ms);
    }
    return cli_json_print(&j);
}
