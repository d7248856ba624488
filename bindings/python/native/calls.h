/* What the library calls back: C alone, so that its thread never waits for Python's lock (the
 * GIL), and a busy interpreter delays no renewal. Each callback stores its result, and wakes the
 * thread that waits for the call, or appends an event to the client's list, which a thread of
 * Python reads. */
#ifndef CALLS_H
#define CALLS_H

#include <semaphore.h>

#include "holdfast_include.h"

/* What an event is about. */
enum hfpy_kind { HFPY_NOTHING, HFPY_ENDED, HFPY_LOST, HFPY_LOGGED, HFPY_FREED };

struct hfpy_event {
    struct hfpy_event *next;
    int kind;
    uint64_t number;            /* of the call or hold, as Python counts them */
    int level;                  /* HFPY_LOGGED: enum hf_log_level, and the line */
    char *line;
};

/* The events of one client. */
struct hfpy_events;

/* hfpy_events_new - returns an empty list, or NULL. */
struct hfpy_events *hfpy_events_new(void);

/* hfpy_events_next - waits for the oldest event and returns its kind, its number and, for
 *   HFPY_LOGGED, its level and line (free with hfpy_line_free). HFPY_NOTHING: the list was
 *   closed and has no event left; do not use it any longer. One thread calls it. */
int hfpy_events_next(struct hfpy_events *events, uint64_t *number, int *level, char **line);
void hfpy_line_free(char *line);

/* hfpy_events_close - ends the list: no event follows. It is freed when its end was read. */
void hfpy_events_close(struct hfpy_events *events);

/* What a call does, and its numbers. */
enum hfpy_what {
    HFPY_LOCK_ACQUIRE,          /* options */
    HFPY_LOCK_RELEASE,          /* owner */
    HFPY_LOCK_INSPECT,
    HFPY_MULTI_ACQUIRE,         /* options */
    HFPY_MULTI_RELEASE,         /* owner */
    HFPY_QUORUM_ACQUIRE,        /* options */
    HFPY_QUORUM_RELEASE,        /* owner */
    HFPY_PERMITS_TRY_SET,       /* permits */
    HFPY_PERMITS_AVAILABLE,
    HFPY_SEMAPHORE_TRY_SET,     /* permits */
    HFPY_SEMAPHORE_ACQUIRE,     /* permits, wait_ms */
    HFPY_SEMAPHORE_RELEASE,     /* permits */
    HFPY_SEMAPHORE_AVAILABLE,
    HFPY_LATCH_TRY_SET,         /* count */
    HFPY_LATCH_COUNT_DOWN,
    HFPY_LATCH_AWAIT,           /* wait_ms */
    HFPY_LATCH_COUNT,
    HFPY_LOCK_RENEW,            /* owner, lease_ms: these three */
    HFPY_MULTI_RENEW,
    HFPY_QUORUM_RENEW
};

/* One call. It is allocated in C, because the library may write to it until it has ended, also
 * while the interpreter ends. */
struct hfpy_call {
    hf_status status;
    struct hf_error error;
    bool flag;                  /* where the library writes the result of the call */
    int64_t value;
    struct hf_lock_info info;

    bool is_begun;              /* the library has it, or had it */
    bool has_ended;             /* known to the thread that waits */
    enum hfpy_what what;
    void *handle;
    struct hf_acquire_options options;
    struct hf_cancel cancel;    /* cancel.client is NULL: not used */
    struct hfpy_events *events; /* NULL: a thread waits in hfpy_call_wait */
    sem_t ended;
    struct hfpy_event event;
};

/* hfpy_call_new - returns a call whose end is an event with this number; events NULL: whose end
 *   a thread awaits. NULL: no memory. */
struct hfpy_call *hfpy_call_new(struct hfpy_events *events, uint64_t number);

/* hfpy_call_free - frees the call. If it has begun, it must have ended. */
void hfpy_call_free(struct hfpy_call *call);

/* hfpy_call_begin - starts the call: `what` on this handle, with at most two numbers, or with
 *   call->options. client: NULL, or the one whose calls hfpy_call_cancel may cancel. A negative
 *   status: nothing was begun. */
hf_status hfpy_call_begin(struct hfpy_call *call, enum hfpy_what what, void *handle, int64_t one,
                          int64_t two, struct hf_client *client);

/* hfpy_call_cancel - ends a wait early, if the call is one and still waits. */
void hfpy_call_cancel(struct hfpy_call *call);

/* hfpy_call_wait - waits for the end of the call: returns whether it has ended. With
 *   is_interruptible it returns after a signal, and after a second: a signal may have come
 *   just before the wait. */
bool hfpy_call_wait(struct hfpy_call *call, bool is_interruptible);

/* One hold: whether it is lost. Allocated in C, for the same reason. */
struct hfpy_hold {
    int lost;                   /* enum hf_lost; 0: not lost */
    struct hfpy_events *events;
    struct hfpy_event event;    /* HFPY_LOST */
    struct hfpy_event last;     /* HFPY_FREED */
};

struct hfpy_hold *hfpy_hold_new(struct hfpy_events *events, uint64_t number);

/* hfpy_hold_free - frees the hold, for which no on_lost follows; after its event was read. */
void hfpy_hold_free(struct hfpy_hold *hold);

/* hfpy_hold_lost - returns why the hold was lost, or 0. */
int hfpy_hold_lost(const struct hfpy_hold *hold);

/* hfpy_on_lost - the on_lost of every hold; `hold` is its struct hfpy_hold. */
void hfpy_on_lost(void *hold, struct hf_lock *lock, int64_t owner, enum hf_lost reason);

/* hfpy_on_log - the log of every client; `events` is its list. While 256 lines were not read,
 *   further ones are dropped. */
void hfpy_on_log(void *events, enum hf_log_level level, const char *line);

#endif
