/* A sentinel: a model that answers what clients of Redis Sentinel ask. What it
 * knows, its owner tells it: it watches nobody, and agrees with nobody.
 *
 * Source: redis.io "High availability with Redis Sentinel". */
#ifndef SIM_SENTINEL_H
#define SIM_SENTINEL_H

#include "tests/sim/model/model.h"

struct sentinel;

/* sentinel_new  - makes `m`, which is new, a sentinel of the master `name` at
 *     host:port. Texts are copied. sentinel_free, after model_free; takes NULL.
 * sentinel_meet - it knows one more sentinel: a model of its own.
 * sentinel_tell - the master is at host:port from now on: it answers so, and
 *     publishes +switch-master. Not while it is frozen. */
struct sentinel *sentinel_new(struct model *m, const char *name,
                              const char *host, int port);
void sentinel_free(struct sentinel *s);
void sentinel_meet(struct sentinel *s, const struct model *other);
void sentinel_tell(struct sentinel *s, const char *host, int port);

#endif
