/* Calls of a program: their lines in the history, and by when they must end. */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#include "tests/sim/owner.h"

struct call {
    struct call *next; /* all of a program */
    struct program *program;
    struct owner *owner; /* NULL: of none (close) */
    enum history_op op;
    int64_t number;
    int64_t wait_ms, lease_ms, hold_ms, max_hold_ms, flags;
    bool is_under_way;
    char hold[HF_OWNER_TEXT_MAX]; /* that it is about; "": not known */
    char place[HF_OWNER_TEXT_MAX]; /* as which it stands in a queue; "" */
    struct hf_cancel cancel;
    struct hf_lock_info info;
    bool was_set;
    int64_t value, n; /* how many permits */
    bool is_out;      /* they are to be given back */
    bool is_part;     /* of a call of a set: when it ends is not judged */
    struct call *parts[PLAN_MEMBERS_MAX]; /* of a multi-lock's call; NULL: none */
    struct event release; /* of what it acquired, hold_ms later */
};

/* call_place - writes as which it stands in the queue of a fair lock, if that is
 *            news.
 * call_ask - writes that it is asked, and the time by which it must have ended.
 * call_cancel - writes that its caller cancels it.
 * call_end - writes how it ended. token 0: none. */
void call_place(struct call *c, const char *field, size_t len);
void call_ask(struct call *c);
void call_cancel(struct call *c);
void call_end(struct call *c, hf_status status, int64_t token);

#endif
