/* Redirections: errors in which a cluster node names the node of a slot. Pure. Private
 * to net/. */
#ifndef HF_REDIRECT_H
#define HF_REDIRECT_H

#include "net/base/endpoint.h"

/* MOVED: the slot belongs to that node; store this, and send the command there.
 * ASK: the slot is moving to that node; send this command there once, after ASKING,
 * and store nothing. */
struct hf_redirection {
    enum { HF_MOVED, HF_ASK } kind;
    uint16_t slot;
    uint16_t port;              /* never 0 */
    enum hf_host_kind host_kind;/* SAME: the host of the connection that
                                   received it; UNKNOWN: request the map instead */
    char host[HF_HOST_MAX + 1]; /* "" if not KNOWN */
};

/* hf_redirection_parse - parses the text of an error, such as
 *   "MOVED 3999 127.0.0.1:6381". The port follows the last colon; further words are
 *   ignored.
 * hf_redirection_read - parses a reply that is a simple or bulk error. An error within
 *   an array (EXEC) is not a redirection.
 * Both return false, and leave *out unchanged, if it is not a redirection.
 * Source: CLUSTER "MOVED Redirection", "ASK redirection". */
bool hf_redirection_parse(struct hf_redirection *out, const char *text,
                          size_t len);
bool hf_redirection_read(struct hf_redirection *out,
                         struct hf_resp_value reply);

#endif
