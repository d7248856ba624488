/* A master is replaced by one of its replicas.
 *
 *   begin      it dies, or stops; or its replicas hear nothing of it any more
 *   half-way   the replica that has heard most is master; the others follow it
 *   end        the old one is back, or is told: it follows the new one
 *
 * Asynchronous replication loses what the new master has not heard of. An old
 * master that has neither died nor stopped serves on until the end. One that has
 * stopped executes then what it had been sent, and is told only afterwards.
 *
 * The first sentinel hears of the new master half-way, or, with IS_UNTOLD, a
 * half of half-way later; the last one as much later. A master that WAKES
 * continues a quarter of half-way after it was replaced. */
#ifndef SIM_FAILOVER_H
#define SIM_FAILOVER_H

#include "tests/sim/fault.h"

/* What `n` of FAULT_FAILOVER says. */
enum {
    FAILOVER_SERVES_ON = 1,
    FAILOVER_IS_STALE = 2,
    FAILOVER_IS_SEEN = 4, /* cluster: nodes say CLUSTERDOWN meanwhile */
    FAILOVER_IS_QUICK = 8, /* not half-way, but after an eighth of the time */
    FAILOVER_STOPS = 16, /* unless it serves on: it does not die */
    FAILOVER_OF_LOCK = 32, /* the master of the lock; otherwise, of any shard */
    FAILOVER_IS_UNTOLD = 64, /* sentinels: no sentinel knows the new master at
                                once; the first one hears of it later */
    FAILOVER_WAKES = 128, /* a master that has stopped continues before the first
                             sentinel can have heard, and is demoted in the end */
    FAILOVER_AT_ONCE = 256 /* not half-way, but after a 256th of the time */
};

/* failover - what FAULT_FAILOVER does: begins if f->is_on, otherwise ends. */
void failover(struct fault *f);

/* failover_master - whom it is about: the master of that shard now. */
struct server *failover_master(const struct fault *f);

/* failover_switch - `f->old`, which is a replica since, has a successor: a replica of it that
 *                has all its data. Returns it; NULL: there is none. */
struct server *failover_switch(struct fault *f);

#endif
