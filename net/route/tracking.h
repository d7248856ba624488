/* Tracked keys: the server reports, by a push, that a key has changed which a tracked
 * command has read. Private to net/. [locked]
 *
 * TRACKING-1  CLIENT CACHING YES is valid for the next command only, so it precedes each
 *             tracked command in the same write.
 * TRACKING-2  Whether a server supports tracking is known once per connection: by the
 *             reply to CLIENT TRACKING in the handshake, or by an error reply to CLIENT
 *             CACHING. No error reaches the owner of a command.
 * TRACKING-3  A push without keys (FLUSHALL), a push that was too large, and a new
 *             connection mean every key of the server: with the connection the server
 *             forgets what it tracked, and pushes may have been lost with it. While no map
 *             is known, any slot may be this server's (hf_router_server_serves).
 *
 * TRACKING-4  A lost connection is made again, also without a command, if the owner is
 *             attentive (options.must_detect_switch), because until then nothing is tracked.
 *
 * TRACKING-5  Requests that replicas must confirm go over a connection of their own, because
 *             WAIT blocks it. It is tracked like the other one: the pushes about the keys that
 *             these requests have read arrive there, also while WAIT blocks it. NOLOOP is of
 *             one connection, so a write over the other one is reported: one more check.
 *
 * Source: redis.io "Client-side caching", CLIENT TRACKING, CLIENT CACHING. */
#ifndef HF_TRACKING_H
#define HF_TRACKING_H

#include "net/route/router_inner.h"

/* hf_tracking_push   - returns whether the push of this server reports keys, and passes
 *                      them on.
 * hf_tracking_invalidate_all    - any key of the server may have changed (TRACKING-3).
 * hf_tracking_link_up - the link of the server is READY.
 * hf_tracking_link_down   - it has ended, or an attempt to connect failed (TRACKING-4).
 * hf_tracking_submit - queues CLIENT CACHING YES (TRACKING-1) in `request`, whose
 *                      `done` the caller has set.
 * hf_tracking_reply  - processes the reply to it (TRACKING-2). */
bool hf_tracking_push(struct hf_router *router, const struct hf_server *server,
                      struct hf_resp_value push);
void hf_tracking_invalidate_all(struct hf_router *router, const struct hf_server *server);
void hf_tracking_link_up(struct hf_router *router, const struct hf_server *server,
                         const struct hf_link *link);
void hf_tracking_link_down(struct hf_router *router, struct hf_link *link);
hf_status hf_tracking_submit(struct hf_link *link, struct hf_request *request,
                             int64_t deadline_ms) HF_MUST_CHECK;
void hf_tracking_reply(struct hf_router *router, struct hf_link *link,
                       struct hf_resp_value reply);

/* The command as it is in the output, at most. */
#define HF_TRACKING_SIZE 48

#endif
