/* Remembers the connections of freed links, for the next link to the same address. The
 * server may still have such a connection, and must not execute its pending commands
 * after those of the next one (handshake.h, KILL). Private to net/. [locked] */
#ifndef HF_CLOSED_CONNECTIONS_H
#define HF_CLOSED_CONNECTIONS_H

#include "net/link/link.h"
#include "net/route/router_inner.h"

/* Identifies a link to a server. */
struct hf_closed_connection_key {
    const char *host;
    uint16_t port;
    bool is_wait_link;
};

/* The connections that are remembered; older ones are forgotten. */
#define CLOSED_CONNECTIONS_MAX 32

/* hf_closed_connection_note - the link, which may be NULL, is about to be freed. Without memory its
 *                    connection is forgotten.
 * hf_closed_connection_take - returns and forgets the connection of the last link to that address,
 *                    the predecessor of a new link; id 0: there is none.
 * hf_closed_connections_fini - forgets all connections. */
void hf_closed_connection_note(struct hf_router *router,
                               const struct hf_closed_connection_key *place,
                               const struct hf_link *link);
struct hf_predecessor hf_closed_connection_take(struct hf_router *router,
                                                const struct hf_closed_connection_key *place);
void hf_closed_connections_fini(struct hf_router *router);

#endif
