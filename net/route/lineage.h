/* The ids of a server's replication history: which of two masters was promoted from a
 * replica of the other one. Pure. Private to net/.
 *
 * Redis gives a new id to a replica that it promotes, and keeps the id of its former
 * master as master_replid2; 40 zeros: it has none. A master that restarts has a new id,
 * and the old one as master_replid2 if it was stored in an RDB file (Redis 7).
 * Source: redis.io "Replication", "Replication ID explained". */
#ifndef HF_LINEAGE_H
#define HF_LINEAGE_H

#include <stdbool.h>

#include "resp/resp.h"

#define HF_LINEAGE_MAX 64   /* ids of Redis and Valkey have 40 bytes */

struct hf_lineage {
    char id[HF_LINEAGE_MAX];        /* master_replid; "": unknown */
    char former_id[HF_LINEAGE_MAX]; /* master_replid2; "": unknown */
};

/* hf_lineage_read     - parses the reply to INFO replication. A field that the reply does
 *                       not contain is ""; both are if it is an error.
 * hf_lineage_is_successor - returns whether `a` was promoted from a replica of `b`.
 * hf_lineage_are_siblings - returns whether both continue the history of one master: each
 *                       is that master after a restart, or was promoted from its
 *                       replica. */
void hf_lineage_read(struct hf_lineage *out, struct hf_resp_value reply);
bool hf_lineage_is_successor(const struct hf_lineage *a, const struct hf_lineage *b);
bool hf_lineage_are_siblings(const struct hf_lineage *a, const struct hf_lineage *b);

#endif
