/* A reply that was skipped: see too_large.h. */
/* Tests: tests/test_net_conn_skip.c. */
#include "net/link/too_large.h"

static const char text[] = "TOOLARGE the reply was too large and was skipped";

static const struct hf_resp_node node = {
    .type = HF_RESP_ERROR, .skip = 1, .as.bytes = {.length = sizeof text - 1}};

struct hf_resp_value hf_too_large_reply(void)
{
    return (struct hf_resp_value){.buf = text, .node = &node};
}

bool hf_is_too_large_reply(struct hf_resp_value reply)
{
    return reply.buf == text;
}
