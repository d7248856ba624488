/* Everything holdfast offers to programs; see lock/lock.h first. */
#include "lock/election.h"
#include "lock/latch.h"
#include "lock/lock.h"
#include "lock/multi.h"
#include "lock/quorum.h"
#include "lock/permits.h"
#include "lock/semaphore.h"
#include "lock/token.h"
