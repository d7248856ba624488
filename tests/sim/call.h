/* Calls of a program: their lines in the history, and the times by which they must end. */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#include "tests/sim/owner.h"

struct call {
    struct call *next; /* in the list of all calls of a program */
    struct program *program;
    struct owner *owner; /* NULL: none (close) */
    enum history_op op;
    int64_t number;
    int64_t wait_ms, lease_ms, hold_ms, max_hold_ms, flags;
    bool is_under_way;
    int64_t asked_us; /* when it began */
    char hold[HF_OWNER_TEXT_MAX]; /* the hold of the call; "": not known */
    char place[HF_OWNER_TEXT_MAX]; /* its name in a queue; "": none */
    struct hf_cancel cancel;
    struct hf_lock_info info;
    bool was_set, was_deleted;
    bool says_exists, exists; /* of a semaphore that is inspected or changed */
    int64_t value, n; /* how many permits; value: also the latest token */
    bool is_out;      /* the permits must be released */
    bool has_lost_member; /* sets_note_lost */
    bool was_gone;    /* a release began, and no server had the hold any longer */
    bool is_part;     /* it belongs to the call of a set: its end is not judged */
    struct call *parts[PLAN_MEMBERS_MAX]; /* of a multi-lock's call; NULL: none */
    struct event release; /* releases what it acquired, after hold_ms */
};

/* call_place - writes the call's name in the queue of a fair lock, if it has changed.
 * call_ask - writes that the call begins, and the time by which it must have ended.
 * call_cancel - writes that its caller cancels it.
 * call_end - writes its result. token 0: none. */
void call_place(struct call *c, const char *field, size_t len);
void call_ask(struct call *c);
void call_cancel(struct call *c);
void call_end(struct call *c, hf_status status, int64_t token);

#endif
