/* Detects that another server serves a slot. Private to net/. [locked]
 *
 * SWITCHED-1  A slot is reported when the server that a map names for it is not the
 *             server of the last map that named one. The first map reports
 *             nothing.
 * SWITCHED-2  It is reported as sudden if the former server replied until then, and is not the
 *             same node of a cluster (by its id) at another address.
 * SWITCHED-3  A server that the URL names (standalone) is reported, for all slots,
 *             when it refuses a write because it is a replica, and again when it
 *             answers after that (the connection is replaced: replace.h).
 * SWITCHED-4  While the owner is attentive (options.must_detect_switch), a master whose
 *             connection has ended is a reason to request the map repeatedly, for
 *             DETECT_SWITCH_MS. A later failover is detected by the next command. */
#ifndef HF_SWITCHED_H
#define HF_SWITCHED_H

#include "net/route/router_inner.h"

/* hf_switched_forget   - removes the map in force from the router, and keeps it for the
 *                        comparison with the next one.
 * hf_switched_by_map   - `map` is about to replace the map in force.
 * hf_switched_by_moved - this server is about to replace the server of this slot.
 * hf_switched_refused  - the reply to a command was this error.
 * hf_switched_answered - the reply to a command was not an error.
 * hf_switched_lost     - the connection to the server has ended.
 * hf_switched_is_awaited - returns whether the map must be requested again (SWITCHED-4).
 * hf_switched_fini     - frees what is kept, when the router is freed. */
void hf_switched_forget(struct hf_router *router);
void hf_switched_by_map(struct hf_router *router, const struct hf_slot_map *map);
void hf_switched_by_moved(struct hf_router *router, uint16_t slot,
                          const char *host, uint16_t port);
void hf_switched_refused(struct hf_command *command, struct hf_resp_value error);
void hf_switched_answered(struct hf_server *server);
void hf_switched_lost(struct hf_server *server);
bool hf_switched_is_awaited(const struct hf_router *router);
void hf_switched_fini(struct hf_router *router);

#endif
