/* Hosts and ports as servers announce them. */
/* Tests: tests/test_net_redirect.c, tests/test_net_slot_map.c,
 *        tests/test_net_sentinel_words.c. */
#include "net/base/endpoint.h"

#include <arpa/inet.h>
#include <string.h>

/* ---- text ---- */

struct hf_text hf_text_take_word(struct hf_text *text)
{
    const char *space = text->len ? memchr(text->ptr, ' ', text->len) : NULL;
    struct hf_text word = *text;

    if (!space) {
        text->ptr += text->len;
        text->len = 0;
        return word;
    }
    word.len = (size_t)(space - text->ptr);
    text->ptr += word.len + 1;
    text->len -= word.len + 1;
    return word;
}

bool hf_text_is(struct hf_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.ptr, word, text.len) == 0;
}

bool hf_number_read(uint32_t *out, struct hf_text text, uint32_t most)
{
    uint64_t n = 0;

    if (text.len == 0 || (text.len > 1 && text.ptr[0] == '0'))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(text.ptr[i] - '0');
        if (n > most)
            return false;
    }
    *out = (uint32_t)n;
    return true;
}

/* ---- hosts ---- */

bool hf_host_is_ipv6(const char *host)
{
    size_t len = strcspn(host, "%");
    char address[INET6_ADDRSTRLEN];
    struct in6_addr ignored;

    if (len >= sizeof address || (host[len] == '%' && !host[len + 1]))
        return false;
    memcpy(address, host, len);
    address[len] = '\0';
    return inet_pton(AF_INET6, address, &ignored) == 1;
}

/* No locale has a say in it. */
static bool is_host_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

static bool is_host_text(const char *host)
{
    const char *p = host;

    while (is_host_name_char(*p))
        p++;
    if (!*p)
        return true;
    for (; *p; p++)
        if (!is_host_name_char(*p) && *p != ':' && *p != '%')
            return false;
    return hf_host_is_ipv6(host);
}

bool hf_host_read(char dst[HF_HOST_MAX + 1], enum hf_host_kind *kind,
                  struct hf_text text)
{
    char host[HF_HOST_MAX + 1] = "";
    bool is_same = text.len == 0 || hf_text_is(text, "0.0.0.0") || hf_text_is(text, "::");
    bool is_known = !is_same && !hf_text_is(text, "?");

    if (text.len > HF_HOST_MAX)
        return false;
    if (is_known) {
        memcpy(host, text.ptr, text.len);
        host[text.len] = '\0';
        if (strlen(host) != text.len || !is_host_text(host))
            return false;
    }
    strcpy(dst, host);
    *kind = is_known ? HF_HOST_KNOWN : is_same ? HF_HOST_SAME : HF_HOST_UNKNOWN;
    return true;
}

bool hf_endpoint_read(struct hf_endpoint *out, struct hf_text host,
                     struct hf_text port)
{
    struct hf_endpoint a = {0};
    enum hf_host_kind kind;
    uint32_t number;

    if (!hf_host_read(a.host, &kind, host) || kind != HF_HOST_KNOWN ||
        !hf_number_read(&number, port, UINT16_MAX) || number == 0)
        return false;
    a.port = (uint16_t)number;
    *out = a; /* last: a failure leaves *out alone */
    return true;
}

bool hf_endpoint_is_equal(const struct hf_endpoint *a,
                         const struct hf_endpoint *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}
