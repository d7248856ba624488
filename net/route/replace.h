/* Replaces a connection that leads to a server which does not serve now. Private
 * to net/. [locked]
 *
 * After a failover, new connections to the address of a load balancer, a Kubernetes
 * service or a managed service lead to another server. Open connections still lead to
 * the old one.
 *
 * REPLACE-1  After READONLY, MASTERDOWN or LOADING, the client closes all its
 *            connections to the server, resolves the name again, and first tries
 *            another address of the name (hf_link_replace). It does the same if a
 *            node of a cluster redirects to its own address.
 * REPLACE-2  The pause between two replacements doubles, from REPLACE_MIN_MS to
 *            REPLACE_MAX_MS. It begins again after REPLACE_QUIET_MS without such a
 *            refusal. Replies that are not errors do not shorten it: a replica also
 *            answers requests that only read.
 * REPLACE-3  A server that replies LOADING usually serves soon. Its connections are
 *            replaced only after LOADING_MS.
 * REPLACE-4  If open connections to one address lead to different processes (run_id of INFO
 *            server), those whose attempts began earlier than the last one are replaced, and
 *            connect again at once: a former master refuses neither a subscription nor a poll
 *            that only reads. The order in which handshakes ended does not count: a slow one
 *            may have begun before a failover. If the processes differ again before all replaced
 *            connections that are still needed are open again, the address leads to several
 *            processes at a time, however long a handshake takes. Then this rule pauses, and
 *            the connections are compared again after the pause. It begins with
 *            REPLACE_PAUSE_MS, doubles to REPLACE_PAUSE_MAX_MS, and begins again if that time
 *            has passed since the last one. */
#ifndef HF_REPLACE_H
#define HF_REPLACE_H

#include "net/route/router.h"

struct hf_server;

#define REPLACE_MIN_MS 100   /* these three: REPLACE-2 */
#define REPLACE_MAX_MS 2000
#define REPLACE_QUIET_MS 4000
#define LOADING_MS 1000   /* REPLACE-3 */
#define REPLACE_PAUSE_MS 2000 /* these two: REPLACE-4 */
#define REPLACE_PAUSE_MAX_MS 60000

/* hf_replace_may_help   - true if a new connection may cure this error reply. Pure.
 * hf_replace_on_refusal - a command received this error reply.
 * hf_replace_connections         - replaces the connections for another reason.
 * hf_replace_note_served  - a command received a reply that is not an error.
 * hf_replace_older_connections   - a connection was opened: REPLACE-4. */
bool hf_replace_may_help(struct hf_resp_value error);
void hf_replace_on_refusal(struct hf_server *server, struct hf_resp_value error);
void hf_replace_connections(struct hf_server *server, const char *why);
void hf_replace_note_served(struct hf_server *server);
void hf_replace_older_connections(struct hf_server *server);

#endif
