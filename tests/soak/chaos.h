/* What the parts of make chaos share: the locks that all contend for, and the
 * lines of a history (docs/judge.md). Time is CLOCK_BOOTTIME in microseconds,
 * one clock for all processes of the machine. */
#ifndef CHAOS_H
#define CHAOS_H

#include <stdint.h>
#include <time.h>

#include "lock/lock.h"

#define CHAOS_WATCHDOG_MS 3000
#define CHAOS_REQUEST_MS 1000
#define CHAOS_REPLICAS_MS 300
#define CHAOS_WAIT_MS_MAX 2000

/* For patient processes alone. These look at a lock by themselves each third of
 * their watchdog timeout; a waiter that is not woken sleeps for so long. */
#define CHAOS_QUEUE "plain:2"
#define CHAOS_QUEUE_MS 10000
#define CHAOS_PATIENT_WATCHDOG_MS 15000
/* A waiter must have been woken so long after a release. The machine is busy. */
#define CHAOS_WAKE_MS 1500
/* The bug "belief": so much longer than the client says (HF_CHAOS_BUG). */
#define CHAOS_BELIEF_MS 300

/* A name belongs to one kind: the word before its colon. */
struct chaos_handle {
    const char *name;
    enum hf_lock_kind kind;
    const char *kind_text;
};

static const struct chaos_handle chaos_handles[] = {
    {"plain:0", HF_KIND_PLAIN, "plain"},
    {"plain:1", HF_KIND_PLAIN, "plain"},
    {CHAOS_QUEUE, HF_KIND_PLAIN, "plain"},
    {"nonreentrant:0", HF_KIND_NONREENTRANT, "nonreentrant"},
    {"fenced:0", HF_KIND_FENCED, "fenced"},
    {"fenced:1", HF_KIND_FENCED, "fenced"},
    {"rw:0", HF_KIND_READ, "read"},
    {"rw:0", HF_KIND_WRITE, "write"},
    {"rw:1", HF_KIND_READ, "read"},
    {"rw:1", HF_KIND_WRITE, "write"},
};

#define CHAOS_HANDLES (sizeof chaos_handles / sizeof *chaos_handles)

static inline int64_t chaos_now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

#endif
