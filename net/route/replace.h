/* Replaces a connection that leads to a server which does not serve now. Private
 * to net/. [locked]
 *
 * A load balancer, a virtual address, a Kubernetes service or the name of a managed
 * service leads to another server after a failover, but only for new connections.
 *
 * REPLACE-1  After READONLY, MASTERDOWN or LOADING, both connections to the server
 *            are closed; the name is resolved again, and another of its addresses
 *            is tried first (hf_link_replace). The same goes for a node of a
 *            cluster that redirects to its own address.
 * REPLACE-2  The pause between two replacements doubles, from REPLACE_MIN_MS to
 *            REPLACE_MAX_MS, until a command has a reply that is not an error.
 * REPLACE-3  A server that is loading mostly serves soon, and a plain address has
 *            no better server: its connection is replaced only after LOADING_MS. */
#ifndef HF_REPLACE_H
#define HF_REPLACE_H

#include "net/route/router.h"

struct hf_server;

#define REPLACE_MIN_MS 100
#define REPLACE_MAX_MS 2000
#define LOADING_MS 1000

/* hf_replace_cures   - may a new connection cure this error reply? Pure.
 * hf_replace_refused - a command had this error reply.
 * hf_replace         - the same, for another reason.
 * hf_replace_served  - a command had a reply that is not an error. */
bool hf_replace_cures(struct hf_resp_value error);
void hf_replace_refused(struct hf_server *server, struct hf_resp_value error);
void hf_replace(struct hf_server *server, const char *why);
void hf_replace_served(struct hf_server *server);

#endif
