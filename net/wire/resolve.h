/* Resolves names without blocking the loop. Private to net/.
 *
 * The caller first tries hf_resolve_literal, which returns at once. A host that is not an
 * address is a name, for hf_resolve_start. */
#ifndef HF_RESOLVE_H
#define HF_RESOLVE_H

#include <sys/socket.h>

#include "net/net.h"

/* More than the addresses of any usual name. */
#define HF_ADDRESSES_MAX 16

/* Lookups of one process, including cancelled ones. A link repeats its lookup every few seconds
 * while the last one hangs, and the system's resolver may take minutes: this is enough for a
 * dozen links. */
#define HF_RESOLVE_THREADS_MAX 64

struct hf_address {
    struct sockaddr_storage storage;
    socklen_t len;
};

/* In the order in which they should be tried (RFC 6724). */
struct hf_addresses {
    struct hf_address list[HF_ADDRESSES_MAX];
    unsigned count;
};

struct hf_resolve;

/* hf_resolve_literal - returns whether `host` is an IPv4 or IPv6 address (perhaps with a zone:
 *   "%eth0"). Then sets *out to it, with `port`. Never waits. Any thread.
 *
 * hf_resolve_start - looks up the addresses of `host`, which is copied, in a thread of its own.
 *   The thread that drives the loop calls `done` once, [locked], after this call has returned:
 *   with the addresses, at least one, or with NULL and a line that says why there are none.
 *   Both are lent until `done` returns. The hf_resolve has been freed by then. HF_E_NOMEM,
 *   HF_E_SYSTEM (errno), HF_E_INVAL (`host` is too long), HF_E_LIMIT (HF_RESOLVE_THREADS_MAX).
 *   [locked]
 *
 * hf_resolve_cancel - frees the hf_resolve; `done` will not be called. Returns at once; the
 *   thread ends when the system's resolver returns, and uses only its own memory. So the code
 *   must stay loaded. NULL is allowed. [locked] */
bool hf_resolve_literal(const char *host, uint16_t port,
                        struct hf_addresses *out);
hf_status hf_resolve_start(struct hf_resolve **out, struct hf_loop *loop,
                           const char *host, uint16_t port,
                           void (*done)(void *ctx,
                                        const struct hf_addresses *found,
                                        const char *why_not),
                           void *ctx) HF_MUST_CHECK;
void hf_resolve_cancel(struct hf_resolve *resolve);

#endif
