/* A replica replaces its master.
 *
 *   begin      the master dies or stops, or its replicas no longer receive its writes
 *   half-way   the replica that has most of the data becomes master; the others follow it
 *   end        the former master restarts, or becomes a replica: it follows the new one
 *
 * Asynchronous replication loses the writes that the new master has not received. A former
 * master that neither died nor stopped continues as a master until the end. A stopped one
 * first executes the commands that it received, and then becomes a replica.
 *
 * The first sentinel learns of the new master half-way (with IS_UNTOLD, half as long after
 * that), and the last sentinel the same time later. A master that WAKES continues a quarter of
 * half-way after it was replaced. */
#ifndef SIM_FAILOVER_H
#define SIM_FAILOVER_H

#include "tests/sim/fault.h"

/* The bits of `n` of FAULT_FAILOVER. */
enum {
    FAILOVER_SERVES_ON = 1,
    FAILOVER_IS_STALE = 2,
    FAILOVER_IS_SEEN = 4, /* cluster: nodes reply CLUSTERDOWN meanwhile */
    FAILOVER_IS_QUICK = 8, /* not half-way, but after an eighth of the time */
    FAILOVER_STOPS = 16, /* unless it serves on: it does not die */
    FAILOVER_OF_LOCK = 32, /* the master of the lock; otherwise, of any shard */
    FAILOVER_IS_UNTOLD = 64, /* sentinels: no sentinel knows the new master at
                                once; the first one learns of it later */
    FAILOVER_WAKES = 128, /* a master that has stopped continues before the first
                             sentinel learns of it, and is demoted at the end */
    FAILOVER_AT_ONCE = 256 /* not half-way, but after a 256th of the time */
};

/* failover - begins FAULT_FAILOVER if f->is_on, otherwise ends it. */
void failover(struct fault *f);

/* failover_master - returns the present master of the shard. */
struct server *failover_master(const struct fault *f);

/* failover_switch - returns the successor of `f->old`, which is now a replica: a replica of it
 *                that has all its data; NULL: there is none. */
struct server *failover_switch(struct fault *f);

/* failover_replace - begins or ends FAULT_REPLACE. */
void failover_replace(struct fault *f);

#endif
