/* Confirmations: see subscribe_push.h. */
/* Tests: tests/test_net_conn.c. */
#include "net/link/subscribe_push.h"

#include <string.h>
#include <strings.h>

#include "net/base/mem.h"

static size_t size_in_bytes(size_t kind_len, size_t channel_len)
{
    return sizeof(struct hf_subscribe_push) + kind_len + channel_len;
}

static bool is_same_text(struct hf_resp_arg a, struct hf_resp_arg b)
{
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

struct hf_subscribe_push *hf_subscribe_push_new(const struct hf_mem *mem,
                                                struct hf_request *request,
                                                const struct hf_resp_arg *argv,
                                                size_t argc)
{
    struct hf_resp_arg channel =
        argc > 1 ? argv[1] : (struct hf_resp_arg){"", 0};
    struct hf_subscribe_push *x =
        hf_mem_new(mem, size_in_bytes(argv[0].len, channel.len));

    if (!x)
        return NULL;
    x->request = request;
    x->pushes_awaited = argc > 2 && is_same_text(argv[1], argv[2]) ? 2 : 1;
    x->kind_len = (uint32_t)argv[0].len;
    x->channel_len = (uint32_t)channel.len;
    memcpy(x->kind_and_channel, argv[0].ptr, argv[0].len);
    memcpy(x->kind_and_channel + x->kind_len, channel.ptr, channel.len);
    return x;
}

void hf_subscribe_push_free(const struct hf_mem *mem, struct hf_subscribe_push *x)
{
    hf_mem_free(mem, x, size_in_bytes(x->kind_len, x->channel_len));
}

bool hf_subscribe_push_matches(const struct hf_subscribe_push *x,
                               struct hf_resp_value push)
{
    struct hf_resp_value kind, channel;
    const char *ptr;
    size_t len;

    return hf_resp_element(push, 0, &kind) == HF_OK &&
           hf_resp_element(push, 1, &channel) == HF_OK &&
           hf_resp_bytes(kind, &ptr, &len) == HF_OK && len == x->kind_len &&
           strncasecmp(ptr, x->kind_and_channel, len) == 0 &&
           hf_resp_is_text(channel, x->kind_and_channel + x->kind_len, x->channel_len);
}
