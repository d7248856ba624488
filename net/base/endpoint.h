/* Hosts and ports as servers announce them: in redirections, slot maps and the
 * answers of sentinels. Never trusted: what is not spelled like a host is not
 * looked up. Private to net/. */
#ifndef HF_ENDPOINT_H
#define HF_ENDPOINT_H

#include "net/net.h"

/* Some of a text; no NUL behind it. */
struct hf_text {
    const char *ptr;
    size_t len;
};

enum hf_host_kind {
    HF_HOST_KNOWN,
    HF_HOST_SAME,               /* said as "": the host that was asked */
    HF_HOST_UNKNOWN             /* said as "?": the server does not know it */
};

/* An IPv6 address, its zone and a NUL. */
#define HF_IP_MAX 64

/* Where a server is, as another one says. */
struct hf_endpoint {
    char host[HF_HOST_MAX + 1];
    uint16_t port;
};

/* hf_host_read - a host as announced. `dst` is "" if it is not KNOWN.
 *   false: it is none. A host is an IPv6 address without brackets (its zone
 *   behind '%'), or letters, digits, '.', '-' and '_', HF_HOST_MAX at most.
 *   *dst and *kind are left alone then.
 * hf_host_is_ipv6 - is it an IPv6 address, with or without a zone?
 * hf_number_read - `text` is digits, without a zero in front: a number up to
 *   `most`. *out is left alone if not. */
bool hf_host_read(char dst[HF_HOST_MAX + 1], enum hf_host_kind *kind,
                  struct hf_text text);
bool hf_host_is_ipv6(const char *host);
bool hf_number_read(uint32_t *out, struct hf_text text, uint32_t most);

/* hf_endpoint_read - a host that is KNOWN, and a port from 1. *out is left
 *   alone if not. hf_endpoint_is_equal - is it the same, letter by letter? */
bool hf_endpoint_read(struct hf_endpoint *out, struct hf_text host,
                     struct hf_text port);
bool hf_endpoint_is_equal(const struct hf_endpoint *a,
                         const struct hf_endpoint *b);

/* hf_text_word - takes the first word off *text, and the one space behind it.
 *   A word may be empty. */
struct hf_text hf_text_word(struct hf_text *text);

/* hf_text_is - is it equal to `word`, which ends in NUL? */
bool hf_text_is(struct hf_text text, const char *word);

#endif
