/* What the locks of a kind need from the server's ACL: read from the kinds' rows and
 * from the scripts themselves, so that a rule made of it fits what runs. For
 * `holdfast doctor --acl`; not installed. */
#ifndef HF_RIGHTS_H
#define HF_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

enum hf_rights {
    HF_RIGHTS_PLAIN,
    HF_RIGHTS_FAIR,
    HF_RIGHTS_READ_WRITE,       /* both sides */
    HF_RIGHTS_TOKEN,            /* fencing tokens, of any kind */
    HF_RIGHTS_RETENTION,        /* fencing tokens with token_retention_ms */
    HF_RIGHTS_VALUE,
    HF_RIGHTS_PERMIT,
    HF_RIGHTS_SEMAPHORE,
    HF_RIGHTS_LATCH,
    HF_RIGHTS_LOOK_STRING,      /* inspecting a string: a value lock, or permits */
    HF_RIGHTS_LOOK_PERMIT       /* inspecting permits */
};

/* A key or a channel of a lock, as names.h spells it: "PREFIX:{name}REST"; without
 * the colon if `prefix` is "", or if it is braced: "PREFIX{name}" even if the name
 * has a brace. */
struct hf_rights_pattern {
    const char *prefix;
    const char *rest;
    bool is_braced;
};

/* hf_rights_name_size, hf_rights_name_put - measure and write the key or channel of a name, without
 *   `rest` and without a NUL. */
size_t hf_rights_name_size(const struct hf_rights_pattern *pattern, const char *name,
                           size_t len);
void hf_rights_name_put(char *dst, const struct hf_rights_pattern *pattern, const char *name,
                        size_t len);

/* hf_rights_commands - calls `each` with every command of the scripts and of
 *   nothing else, in lower case; perhaps repeatedly.
 * hf_rights_keys     - the patterns of keys beside the name itself; how many.
 * hf_rights_channels - the patterns of channels; how many. Patterns are static. */
#define HF_RIGHTS_PATTERNS_MAX 8
void hf_rights_commands(enum hf_rights of,
                        void (*each)(void *ctx, const char *command, size_t len),
                        void *ctx);
size_t hf_rights_keys(enum hf_rights of,
                      struct hf_rights_pattern out[HF_RIGHTS_PATTERNS_MAX]);
size_t hf_rights_channels(enum hf_rights of,
                          struct hf_rights_pattern out[HF_RIGHTS_PATTERNS_MAX]);

#endif
