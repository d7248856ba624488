/* Asking the servers for the map. Private to net/. [locked] */
#ifndef HF_DISCOVER_H
#define HF_DISCOVER_H

#include "net/route/discovery.h"

/* hf_discover_init     - nothing is known. `events` is borrowed.
 * hf_discover_fini     - nobody is asked any more.
 * hf_discover_want     - the map is to be asked for, soon; `hint` first (NULL:
 *                        no server). Coalesced, and not too often.
 * hf_discover_restart  - at once, `hint` first, whatever is under way: the map
 *                        has just changed.
 * hf_discover_learned  - a MOVED has named the server of this slot.
 * hf_discover_explain  - router->error says why it takes so long, if it says
 *                        nothing yet.
 *
 * hf_discover_found    - an answer: a map, which is taken. The probe is over.
 * hf_discover_failed   - no answer, or a useless one; `is_final`: the next
 *                        would be the same. The probe is over.
 * hf_discover_unreached - an attempt to connect to the server failed. Probes
 *                        that wait for it are over, if a command that is sent
 *                        once waits for the map; else they wait for the next
 *                        attempt.
 * hf_discover_dropped  - this server is being freed.
 * hf_discover_new_seeds - the seeds behind those of the URL have changed. */
void hf_discover_init(struct hf_router *router,
                      const struct hf_discovery_events *events);
void hf_discover_fini(struct hf_router *router);
void hf_discover_want(struct hf_router *router, struct hf_server *hint);
void hf_discover_restart(struct hf_router *router, struct hf_server *hint);
void hf_discover_learned(struct hf_router *router, uint16_t slot);
void hf_discover_explain(struct hf_router *router);
void hf_discover_found(struct hf_server *server, struct hf_slot_map *map);
void hf_discover_failed(struct hf_server *server, bool is_final,
                        const struct hf_error *why);
void hf_discover_unreached(struct hf_server *server);
void hf_discover_dropped(struct hf_server *server);
void hf_discover_new_seeds(struct hf_router *router);

#endif
