/* Ids of replication histories: see lineage.h. */
/* Tests: tests/test_net_replicas.c, tests/live/server/test_replicas.c. */
#include "net/route/lineage.h"

#include <string.h>

#include "net/base/endpoint.h"

/* Copies the value of a field; "" if the field is missing, or longer than an id. */
static void read_id_field(char dst[HF_LINEAGE_MAX], struct hf_text info, const char *name)
{
    const char *end = info.ptr + info.len;
    const char *at = memmem(info.ptr, info.len, name, strlen(name));
    size_t len = 0;

    dst[0] = '\0';
    if (!at)
        return;
    at += strlen(name);
    while (at + len < end && at[len] > ' ')
        len++;
    if (len >= HF_LINEAGE_MAX)
        return;
    memcpy(dst, at, len);
    dst[len] = '\0';
}

void hf_lineage_read(struct hf_lineage *out, struct hf_resp_value reply)
{
    struct hf_text info = {"", 0};

    if (hf_resp_is_error(reply) || hf_resp_bytes(reply, &info.ptr, &info.len) < 0)
        info = (struct hf_text){"", 0};
    read_id_field(out->id, info, "master_replid:");
    read_id_field(out->former_id, info, "master_replid2:");
}

bool hf_lineage_is_successor(const struct hf_lineage *a, const struct hf_lineage *b)
{
    return b->id[0] && strcmp(a->former_id, b->id) == 0;
}

bool hf_lineage_are_siblings(const struct hf_lineage *a, const struct hf_lineage *b)
{
    return a->former_id[strspn(a->former_id, "0")] != '\0' &&
           strcmp(a->former_id, b->former_id) == 0 && strcmp(a->id, b->id) != 0;
}
