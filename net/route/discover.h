/* Discovery: queries the servers for the map. Private to net/. [locked] */
#ifndef HF_DISCOVER_H
#define HF_DISCOVER_H

#include "net/route/discovery.h"

/* hf_discover_init - initialises router->discovery. `events` is borrowed. */
void hf_discover_init(struct hf_router *router,
                      const struct hf_discovery_events *events);

/* hf_discover_fini - ends discovery: no server is queried after it. */
void hf_discover_fini(struct hf_router *router);

/* hf_discover_want - requests the map soon, first from `hint` (NULL: any server). Several
 *   calls cause one round, and rounds have a pause between them. */
void hf_discover_want(struct hf_router *router, struct hf_server *hint);

/* hf_discover_restart - requests the map at once, from `hint` first, even during a round,
 *   because the map has just changed. */
void hf_discover_restart(struct hf_router *router, struct hf_server *hint);

/* hf_discover_note_moved - a MOVED has named the server of this slot. */
void hf_discover_note_moved(struct hf_router *router, uint16_t slot);

/* hf_discover_explain - writes to router->map_error why there is no map yet, unless it has a
 *   reason already. */
void hf_discover_explain(struct hf_router *router);

/* hf_discover_report_trouble - reports router->map_error to on_trouble, once in an outage. An
 *   outage may begin with a map whose master is away. */
void hf_discover_report_trouble(struct hf_router *router);

/* hf_discover_found - a probe has ended with a map, which is taken. */
void hf_discover_found(struct hf_server *server, struct hf_slot_map *map);

/* hf_discover_failed - a probe has ended without a usable reply. `is_final`: a retry would
 *   fail in the same way. */
void hf_discover_failed(struct hf_server *server, bool is_final,
                        const struct hf_error *why);

/* hf_discover_unreached - an attempt of the server's main link to connect failed. The topology
 *   may end the probe of this server (on_unreached). If a command that is sent once waits for
 *   the map, all probes that await this server end. */
void hf_discover_unreached(struct hf_server *server);

/* hf_discover_forget_server - the server is about to be freed. */
void hf_discover_forget_server(struct hf_server *server);

/* hf_discover_seeds_changed - the seeds that were added to those of the URL have changed. */
void hf_discover_seeds_changed(struct hf_router *router);

#endif
