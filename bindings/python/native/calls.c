/* The callbacks of the binding: see calls.h. */
#include "calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINES_MAX 256
#define INTERVAL_S 1            /* between two looks for a signal that came before the wait */

/* ---- events ---- */

struct hfpy_events {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct hfpy_event *first, **end;
    unsigned lines;             /* of the log, in the list */
    bool is_closed;
    int users;                  /* the thread that reads it, and the client */
};

struct hfpy_events *hfpy_events_new(void)
{
    struct hfpy_events *events = calloc(1, sizeof *events);

    if (!events)
        return NULL;
    (void)pthread_mutex_init(&events->lock, NULL);
    (void)pthread_cond_init(&events->changed, NULL);
    events->end = &events->first;
    events->users = 2;
    return events;
}

static void leave(struct hfpy_events *events)
{
    if (__atomic_sub_fetch(&events->users, 1, __ATOMIC_ACQ_REL))
        return;
    (void)pthread_cond_destroy(&events->changed);
    (void)pthread_mutex_destroy(&events->lock);
    free(events);
}

static void push(struct hfpy_events *events, struct hfpy_event *event)
{
    event->next = NULL;
    (void)pthread_mutex_lock(&events->lock);
    *events->end = event;
    events->end = &event->next;
    if (event->kind == HFPY_LOGGED)
        events->lines++;
    (void)pthread_cond_signal(&events->changed);
    (void)pthread_mutex_unlock(&events->lock);
}

/* Removes the first event; NULL: the list was closed. */
static struct hfpy_event *pop(struct hfpy_events *events)
{
    struct hfpy_event *event;

    (void)pthread_mutex_lock(&events->lock);
    while (!events->first && !events->is_closed)
        (void)pthread_cond_wait(&events->changed, &events->lock);
    event = events->first;
    if (event && !(events->first = event->next))
        events->end = &events->first;
    if (event && event->kind == HFPY_LOGGED)
        events->lines--;
    (void)pthread_mutex_unlock(&events->lock);
    return event;
}

int hfpy_events_next(struct hfpy_events *events, uint64_t *number, int *level, char **line)
{
    struct hfpy_event *event;
    int kind;

    while ((event = pop(events)) && event->kind == HFPY_FREED)
        free(HF_OWNER_OF(event, struct hfpy_hold, last));
    if (!event) {
        leave(events);
        return HFPY_NOTHING;
    }
    kind = event->kind;
    *number = event->number;
    *level = event->level;
    *line = event->line;
    if (kind == HFPY_LOGGED)
        free(event);
    return kind;
}

void hfpy_line_free(char *line)
{
    free(line);
}

void hfpy_events_close(struct hfpy_events *events)
{
    (void)pthread_mutex_lock(&events->lock);
    events->is_closed = true;
    (void)pthread_cond_signal(&events->changed);
    (void)pthread_mutex_unlock(&events->lock);
    leave(events);
}

/* ---- calls ---- */

struct hfpy_call *hfpy_call_new(struct hfpy_events *events, uint64_t number)
{
    struct hfpy_call *call = calloc(1, sizeof *call);

    if (!call)
        return NULL;
    call->events = events;
    call->event.kind = HFPY_ENDED;
    call->event.number = number;
    (void)sem_init(&call->ended, 0, 0);
    hf_acquire_options_init(&call->options);
    return call;
}

void hfpy_call_free(struct hfpy_call *call)
{
    (void)sem_destroy(&call->ended);
    free(call);
}

/* The `done` of every call. */
static void ended(void *ctx, hf_status status, const struct hf_error *error)
{
    struct hfpy_call *call = ctx;

    call->status = status;
    if (status < 0)
        call->error = *error;
    if (call->events)
        push(call->events, &call->event);
    else
        (void)sem_post(&call->ended);
}

static hf_status begin(struct hfpy_call *call, int64_t one, int64_t two)
{
    struct hf_cancel *cancel = call->cancel.client ? &call->cancel : NULL;
    void *handle = call->handle;

    call->options.cancel = cancel;
    switch (call->what) {
    case HFPY_LOCK_ACQUIRE:
        return hf_lock_acquire_async(handle, &call->options, ended, call);
    case HFPY_LOCK_RELEASE:
        return hf_lock_release_async(handle, one, ended, call);
    case HFPY_LOCK_INSPECT:
        return hf_lock_inspect_async(handle, &call->info, ended, call);
    case HFPY_MULTI_ACQUIRE:
        return hf_multi_acquire_async(handle, &call->options, ended, call);
    case HFPY_MULTI_RELEASE:
        return hf_multi_release_async(handle, one, ended, call);
    case HFPY_QUORUM_ACQUIRE:
        return hf_quorum_acquire_async(handle, &call->options, ended, call);
    case HFPY_QUORUM_RELEASE:
        return hf_quorum_release_async(handle, one, ended, call);
    case HFPY_LOCK_RENEW:
        return hf_lock_renew_async(handle, one, two, ended, call);
    case HFPY_MULTI_RENEW:
        return hf_multi_renew_async(handle, one, two, ended, call);
    case HFPY_QUORUM_RENEW:
        return hf_quorum_renew_async(handle, one, two, ended, call);
    case HFPY_PERMITS_TRY_SET:
        return hf_permits_try_set_async(handle, one, &call->flag, ended, call);
    case HFPY_PERMITS_AVAILABLE:
        return hf_permits_available_async(handle, &call->value, ended, call);
    case HFPY_SEMAPHORE_TRY_SET:
        return hf_semaphore_try_set_permits_async(handle, one, &call->flag, ended, call);
    case HFPY_SEMAPHORE_ACQUIRE:
        return hf_semaphore_acquire_async(handle, one, two, cancel, ended, call);
    case HFPY_SEMAPHORE_RELEASE:
        return hf_semaphore_release_async(handle, one, ended, call);
    case HFPY_SEMAPHORE_AVAILABLE:
        return hf_semaphore_available_async(handle, &call->value, ended, call);
    case HFPY_LATCH_TRY_SET:
        return hf_latch_try_set_count_async(handle, one, &call->flag, ended, call);
    case HFPY_LATCH_COUNT_DOWN:
        return hf_latch_count_down_async(handle, ended, call);
    case HFPY_LATCH_AWAIT:
        return hf_latch_await_async(handle, one, cancel, ended, call);
    case HFPY_LATCH_COUNT:
        return hf_latch_count_async(handle, &call->value, ended, call);
    }
    return HF_E_INVAL;
}

hf_status hfpy_call_begin(struct hfpy_call *call, enum hfpy_what what, void *handle, int64_t one,
                          int64_t two, struct hf_client *client)
{
    hf_status status;

    call->what = what;
    call->handle = handle;
    if (client)
        hf_cancel_init(&call->cancel, client);
    call->is_begun = true;
    status = begin(call, one, two);
    if (status < 0)
        call->is_begun = false;
    return status;
}

void hfpy_call_cancel(struct hfpy_call *call)
{
    if (call->what == HFPY_QUORUM_ACQUIRE)
        hf_quorum_cancel(call->handle, call->options.owner);
    else if (call->cancel.client)
        hf_cancel_fire(&call->cancel);
}

bool hfpy_call_wait(struct hfpy_call *call, bool is_interruptible)
{
    struct timespec until;

    while (!call->has_ended) {
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += INTERVAL_S;
        call->has_ended = sem_timedwait(&call->ended, &until) == 0;
        if (is_interruptible)
            break;
    }
    return call->has_ended;
}

/* ---- holds ---- */

struct hfpy_hold *hfpy_hold_new(struct hfpy_events *events, uint64_t number)
{
    struct hfpy_hold *hold = calloc(1, sizeof *hold);

    if (!hold)
        return NULL;
    hold->events = events;
    hold->event.kind = HFPY_LOST;
    hold->event.number = number;
    hold->last.kind = HFPY_FREED;
    return hold;
}

int hfpy_hold_lost(const struct hfpy_hold *hold)
{
    return __atomic_load_n(&hold->lost, __ATOMIC_ACQUIRE);
}

void hfpy_hold_free(struct hfpy_hold *hold)
{
    if (hfpy_hold_lost(hold))
        push(hold->events, &hold->last);
    else
        free(hold);
}

void hfpy_on_lost(void *ctx, struct hf_lock *lock, int64_t owner, enum hf_lost reason)
{
    struct hfpy_hold *hold = ctx;

    (void)lock;
    (void)owner;
    if (__atomic_exchange_n(&hold->lost, (int)reason, __ATOMIC_ACQ_REL) == 0)
        push(hold->events, &hold->event);
}

/* ---- the log ---- */

static bool are_lines_full(struct hfpy_events *events)
{
    bool are_full;

    (void)pthread_mutex_lock(&events->lock);
    are_full = events->lines >= LINES_MAX;
    (void)pthread_mutex_unlock(&events->lock);
    return are_full;
}

void hfpy_on_log(void *events, enum hf_log_level level, const char *line)
{
    struct hfpy_event *event = are_lines_full(events) ? NULL : calloc(1, sizeof *event);

    if (!event || !(event->line = strdup(line))) {
        free(event);
        return;
    }
    event->kind = HFPY_LOGGED;
    event->level = (int)level;
    push(events, event);
}
