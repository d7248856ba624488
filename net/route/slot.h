/* Slots of a cluster. */
#ifndef HF_SLOT_H
#define HF_SLOT_H

#include <stddef.h>
#include <stdint.h>

/* A cluster's keys are in slots, and each slot is some node's. */
#define HF_SLOTS 16384

/* hf_slot_of - the slot of a key, any bytes: 0 to HF_SLOTS - 1. Where the key
 * has a '{' and behind it a '}', with something between, what stands between
 * the first '{' and the first '}' behind it (the hash tag) alone decides.
 * Cost: 8 bytes a step. To be kept where the key is, not asked for again.
 * Source: CLUSTER "Key distribution model", "Hash tags". */
uint16_t hf_slot_of(const void *key, size_t len);

#endif
