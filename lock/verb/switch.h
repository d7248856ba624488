/* A switch of masters: what a client does with its holds when another server
 * decides about them. Private to lock/. [locked]
 *
 * SWITCH-1  Every hold whose slot is served by another server now is unsure: a request is
 *           sent to the new server at once. A hold that the watchdog renews is renewed, any
 *           other one is looked at (LEASE-6).
 * SWITCH-2  Unsure holds are taken in portions, so that many of them are not one
 *           burst: PORTION holds, then a pause, which is longer while many
 *           batches have no answer. */
#ifndef HF_SWITCH_H
#define HF_SWITCH_H

#include "lock/record/records.h"

/* hf_switch_add_unsure_hold - adds a hold to the unsure ones (also track.c). */
void hf_switch_add_unsure_hold(struct hf_client *client, struct hf_hold *hold);

/* hf_switch_init - no hold is unsure. */
void hf_switch_init(struct hf_client *client);

/* hf_switch_fini - ends the work on unsure holds. */
void hf_switch_fini(struct hf_client *client);

/* hf_switch_on_switched - processes a switch (hf_router_options.on_switched). */
void hf_switch_on_switched(void *client, const struct hf_switched *which);

/* hf_switch_is_attentive - returns whether there is a hold, or with tracking=on a waiter that a
 *   push may wake (TRACK-8). */
bool hf_switch_is_attentive(void *client);

#endif
