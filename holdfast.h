/* Everything holdfast offers to programs; see lock/lock.h. */
#include "lock/lock.h"
