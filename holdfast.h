/* Everything holdfast offers to programs; see lock/lock.h, and lock/multi.h. */
#include "lock/latch.h"
#include "lock/lock.h"
#include "lock/multi.h"
#include "lock/permits.h"
#include "lock/semaphore.h"
