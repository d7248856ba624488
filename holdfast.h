/* All public headers of holdfast. Read lock/lock.h first. */
#ifndef HF_HOLDFAST_H
#define HF_HOLDFAST_H

#include "lock/by_owner.h"
#include "lock/dump.h"
#include "lock/election.h"
#include "lock/label.h"
#include "lock/latch.h"
#include "lock/lock.h"
#include "lock/metrics.h"
#include "lock/multi.h"
#include "lock/quorum.h"
#include "lock/permits.h"
#include "lock/queue.h"
#include "lock/renew.h"
#include "lock/scope.h"
#include "lock/semaphore.h"
#include "lock/token.h"

#ifdef __cplusplus
/* HF_KIND_FAIR | HF_WITH_TOKEN is a kind in C++, as in C. */
inline hf_lock_kind operator|(hf_lock_kind kind, hf_lock_kind flag)
{
    return static_cast<hf_lock_kind>(static_cast<int>(kind) | static_cast<int>(flag));
}
#endif

#endif
