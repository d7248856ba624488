/* Redirections: errors by which a cluster's node says which node has the slot. Pure.
 * Private to net/. */
#ifndef HF_REDIRECT_H
#define HF_REDIRECT_H

#include "net/base/endpoint.h"

/* MOVED: the slot is there from now on: to be learned, and asked there.
 * ASK: the slot is on its way there: this once, behind ASKING; nothing is
 * learned from it. */
struct hf_redirection {
    enum { HF_MOVED, HF_ASK } kind;
    uint16_t slot;
    uint16_t port;              /* never 0 */
    enum hf_host_kind host_kind;/* SAME: of the connection that it came over;
                                   UNKNOWN: ask for the slot map instead */
    char host[HF_HOST_MAX + 1]; /* "" if not KNOWN */
};

/* hf_redirection_parse - the text of an error: "MOVED 3999 127.0.0.1:6381". The
 *   port is behind the last colon; words that follow are for the future.
 * hf_redirection_read  - of a reply: an error, simple or bulk, at top level.
 *   (Inside an EXEC's array it is an element, and not for us.)
 * false: it is none, an ordinary error if one, never to be followed; *out is
 * left alone.
 * Source: CLUSTER "MOVED Redirection", "ASK redirection". */
bool hf_redirection_parse(struct hf_redirection *out, const char *text,
                          size_t len);
bool hf_redirection_read(struct hf_redirection *out,
                         struct hf_resp_value reply);

#endif
