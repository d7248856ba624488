/* Reads hosts and ports as servers announce them: in redirections, slot maps and replies of
 * sentinels. They are not trusted: a text that is not spelled like a host is not resolved.
 * All functions are pure. Private to net/. */
#ifndef HF_ENDPOINT_H
#define HF_ENDPOINT_H

#include "net/net.h"

/* A part of a text, not followed by a NUL. */
struct hf_text {
    const char *ptr;
    size_t len;
};

enum hf_host_kind {
    HF_HOST_KNOWN,
    HF_HOST_SAME,               /* "", "0.0.0.0" or "::", which are not addresses of a
                                   server: the host that sent the reply, as the client
                                   reached it */
    HF_HOST_UNKNOWN             /* "?": the server does not know the host */
};

/* An IPv6 address, its zone and a NUL. */
#define HF_IP_MAX 64

/* The address of a server that another server announced. */
struct hf_endpoint {
    char host[HF_HOST_MAX + 1];
    uint16_t port;
};

/* hf_host_read - reads an announced host. If its kind is not KNOWN, `dst` is "". False:
 *   `text` is not a host, and *dst and *kind are unchanged. A host is an IPv6 address without
 *   brackets (with its zone after '%'), or consists of letters, digits, '.', '-' and '_', at
 *   most HF_HOST_MAX. */
bool hf_host_read(char dst[HF_HOST_MAX + 1], enum hf_host_kind *kind,
                  struct hf_text text);

/* hf_host_is_ipv6 - returns whether it is an IPv6 address, with or without a zone. */
bool hf_host_is_ipv6(const char *host);

/* hf_number_read - reads a decimal number without leading zeros, at most `most`. False: it is
 *   not one, and *out is unchanged. */
bool hf_number_read(uint32_t *out, struct hf_text text, uint32_t most);

/* hf_endpoint_read - reads a KNOWN host and a port of 1 or more. False: *out is unchanged. */
bool hf_endpoint_read(struct hf_endpoint *out, struct hf_text host,
                     struct hf_text port);

/* hf_endpoint_is_equal - returns whether both have the same text and port. */
bool hf_endpoint_is_equal(const struct hf_endpoint *a,
                         const struct hf_endpoint *b);

/* hf_text_take_word - returns the first word of *text, which may be empty, and removes it and the
 *   one space after it. */
struct hf_text hf_text_take_word(struct hf_text *text);

/* hf_text_is - returns whether it is equal to `word`, which ends in NUL. */
bool hf_text_is(struct hf_text text, const char *word);

#endif
