/* MOVED and ASK, read strictly: a client that follows a redirection sends its
 * password there. */
/* Tests: tests/test_net_redirect.c, tests/test_net_router.c. */
#include "net/route/redirect.h"

#include <string.h>

#include "net/route/slot.h"

static bool read_kind(struct hf_redirection *r, struct hf_text code)
{
    bool is_moved = hf_text_is(code, "MOVED");

    r->kind = is_moved ? HF_MOVED : HF_ASK;
    return is_moved || hf_text_is(code, "ASK");
}

/* memrchr(3) is not everywhere. */
static const char *last_colon(struct hf_text text)
{
    for (const char *p = text.ptr + text.len; p > text.ptr; p--)
        if (p[-1] == ':')
            return p - 1;
    return NULL;
}

static bool read_endpoint(struct hf_redirection *r, struct hf_text endpoint)
{
    const char *colon = last_colon(endpoint);
    struct hf_text host, port_text;
    uint32_t port;

    if (!colon)
        return false;
    host = (struct hf_text){endpoint.ptr, (size_t)(colon - endpoint.ptr)};
    port_text = (struct hf_text){colon + 1, endpoint.len - host.len - 1};
    if (!hf_number_read(&port, port_text, UINT16_MAX) || port == 0)
        return false;
    r->port = (uint16_t)port;
    return hf_host_read(r->host, &r->host_kind, host);
}

bool hf_redirection_parse(struct hf_redirection *out, const char *text,
                          size_t len)
{
    struct hf_text rest = {text, len};
    struct hf_redirection r = {0};
    uint32_t slot;

    if (!read_kind(&r, hf_text_take_word(&rest)) ||
        !hf_number_read(&slot, hf_text_take_word(&rest), HF_SLOTS - 1) ||
        !read_endpoint(&r, hf_text_take_word(&rest)))
        return false;
    r.slot = (uint16_t)slot;
    *out = r; /* last: a failure leaves *out alone */
    return true;
}

bool hf_redirection_read(struct hf_redirection *out,
                         struct hf_resp_value reply)
{
    const char *text;
    size_t len;

    return hf_resp_is_error(reply) &&
           hf_resp_bytes(reply, &text, &len) == HF_OK &&
           hf_redirection_parse(out, text, len);
}
