/* What a link that was freed leaves to the next one to the same place: which
 * connection of ours the server may still have. What that one has not executed
 * yet must not be executed behind what is sent from now on (greet.h, KILL).
 * Private to net/. [locked] */
#ifndef HF_DEPARTED_H
#define HF_DEPARTED_H

#include "net/link/link.h"
#include "net/route/router_inner.h"

/* Which link to a server. */
struct hf_departed_place {
    const char *host;
    uint16_t port;
    bool is_wait_link;
};

/* hf_departed_note - this link is about to be freed. Kept of the latest
 *                    DEPARTED_MAX; without memory it is forgotten. Takes NULL.
 * hf_departed_take - the predecessor of a new link to that place, whose it is from
 *                    now on; id 0: there is none.
 * hf_departed_fini - forgets all. */
#define DEPARTED_MAX 32
void hf_departed_note(struct hf_router *router,
                      const struct hf_departed_place *place,
                      const struct hf_link *link);
struct hf_predecessor hf_departed_take(struct hf_router *router,
                                       const struct hf_departed_place *place);
void hf_departed_fini(struct hf_router *router);

#endif
