/* What the driver of make chaos and its processes that take sets share. */
#ifndef CHAOS_SETS_H
#define CHAOS_SETS_H

#include "tests/soak/chaos.h"

#define CHAOS_SETS_SERVERS 5
#define CHAOS_SETS_PERMITS 4

#define CHAOS_SETS_QUORUM "quorum:0"
#define CHAOS_SETS_MULTI "multi:0"
#define CHAOS_SETS_MEMBER "member:"
#define CHAOS_SETS_LEADER "leader:0"
#define CHAOS_SETS_SEMAPHORE "semaphore:0"
#define CHAOS_SETS_LATCH "latch:"
#define CHAOS_SETS_RUN "run:0"

/* The first argument of a command that "holdfast run" guards; then SOURCE HISTORY SEED. */
#define CHAOS_SETS_ACT "act"
/* A command may be killed so much later than it should be: the machine is busy. */
#define CHAOS_SETS_GRACE_US 150000

#endif
