/* CLUSTER INFO: lines of name, colon, value. */
/* Tests: tests/test_net_slot_map.c. */
#include <string.h>

#include "net/route/slot_map.h"

static struct hf_text remove_first_line(struct hf_text *rest)
{
    const char *end = memchr(rest->ptr, '\n', rest->len);
    struct hf_text line = *rest;

    if (end)
        line.len = (size_t)(end - rest->ptr);
    rest->ptr += line.len + (end != NULL);
    rest->len -= line.len + (end != NULL);
    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* If the line has this name: its value. */
static bool read_value_of_name(struct hf_text line, const char *name,
                               struct hf_text *value)
{
    size_t len = strlen(name);

    if (line.len <= len || line.ptr[len] != ':' ||
        memcmp(line.ptr, name, len) != 0)
        return false;
    *value = (struct hf_text){line.ptr + len + 1, line.len - len - 1};
    return true;
}

static bool read_epoch(uint64_t *out, struct hf_text text)
{
    uint64_t n = 0;

    if (text.len == 0 || text.len > 19) /* fewer digits than UINT64_MAX has */
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    *out = n;
    return true;
}

/* What must be there. */
struct found_fields {
    bool state;
    bool epoch;
};

static void read_info_line(struct hf_cluster_info *info, struct found_fields *found,
                           struct hf_text line)
{
    struct hf_text value;

    if (read_value_of_name(line, "cluster_state", &value)) {
        info->is_ok = hf_text_is(value, "ok");
        found->state = true;
    } else if (read_value_of_name(line, "cluster_current_epoch", &value)) {
        found->epoch = read_epoch(&info->current_epoch, value);
    } else if (read_value_of_name(line, "cluster_my_epoch", &value)) {
        (void)read_epoch(&info->my_epoch, value);
    } else if (read_value_of_name(line, "cluster_known_nodes", &value)) {
        (void)hf_number_read(&info->known_nodes, value, UINT32_MAX);
    } else if (read_value_of_name(line, "cluster_size", &value)) {
        (void)hf_number_read(&info->masters_with_slots, value, UINT32_MAX);
    }
}

bool hf_cluster_info_read(struct hf_cluster_info *out,
                          struct hf_resp_value reply)
{
    struct hf_cluster_info info = {0};
    struct found_fields found = {0};
    struct hf_text rest;

    if (hf_resp_is_error(reply) ||
        hf_resp_bytes(reply, &rest.ptr, &rest.len) < 0)
        return false;
    while (rest.len > 0)
        read_info_line(&info, &found, remove_first_line(&rest));
    if (!found.state || !found.epoch)
        return false;
    *out = info;
    return true;
}
