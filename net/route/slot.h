/* Slots of a cluster. */
#ifndef HF_SLOT_H
#define HF_SLOT_H

#include <stddef.h>
#include <stdint.h>

/* The slots of a cluster's keys. Each slot belongs to a node. */
#define HF_SLOTS 16384

/* hf_slot_of - returns the slot of a key of any bytes: 0 to HF_SLOTS - 1. If there is text
 * between the first '{' and the first '}' after it, only this text, the hash tag, decides
 * the slot. Cost: it reads 8 bytes in each step; store the slot with the key.
 * Source: CLUSTER "Key distribution model", "Hash tags". */
uint16_t hf_slot_of(const void *key, size_t len);

#endif
