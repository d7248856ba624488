/* Names to addresses without blocking the loop. Private to net/.
 *
 * First ask hf_resolve_literal, which answers at once; what it does not know is
 * a name, for hf_resolve_start. */
#ifndef HF_RESOLVE_H
#define HF_RESOLVE_H

#include <sys/socket.h>

#include "net/net.h"

/* More servers than anyone puts behind one name. */
#define HF_ADDRESSES_MAX 16

/* Lookups of one process, abandoned ones included. A link asks again every few
 * seconds while the last lookup still hangs, which may take the system's
 * resolver minutes: enough for a dozen links at that. */
#define HF_RESOLVE_THREADS_MAX 64

struct hf_address {
    struct sockaddr_storage storage;
    socklen_t len;
};

/* In the order in which they are to be tried (RFC 6724). */
struct hf_addresses {
    struct hf_address list[HF_ADDRESSES_MAX];
    unsigned count;
};

struct hf_resolve;

/* hf_resolve_literal - is `host` an IPv4 or IPv6 address (with zone: "%eth0")?
 *   Then *out is it, with `port`. Never waits, asks nobody. Any thread.
 *
 * hf_resolve_start - asks for the addresses of `host`, which is copied, in a
 *   thread of its own. `done` is called [locked], once, by the thread that drives
 *   the loop, and never from here: with the addresses, at least one, or with NULL
 *   and a line that says why not; both are lent until it returns. The resolve
 *   is gone by then. HF_E_NOMEM, HF_E_SYSTEM (errno), HF_E_INVAL (`host` is too
 *   long), HF_E_LIMIT (HF_RESOLVE_THREADS_MAX). [locked]
 *
 * hf_resolve_cancel - `done` will not be called. Returns at once; the thread
 *   ends when the system's resolver lets it, and touches nothing of ours but
 *   its own memory. So the code must stay loaded. Takes NULL. [locked] */
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
