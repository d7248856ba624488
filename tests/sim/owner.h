/* What one owner was told about one lock, and may believe. The book is kept by
 * what lock.h promises alone: it counts what was granted and given up, and asks
 * hf_lock_safe_ms. */
#ifndef SIM_OWNER_H
#define SIM_OWNER_H

#include "tests/sim/sim.h"

/* "uuid:number": an owner of a client, on all lines of a history. */
#define OWNER_NAME_MAX 64

/* What it acquires. */
enum owner_form { OWNER_OF_LOCK, OWNER_OF_QUORUM, OWNER_OF_MULTI, OWNER_OF_ELECTION };

struct call;
struct hf_quorum;
struct hf_multi;
struct hf_election;

struct owner {
    struct owner *next;
    struct program *program;
    struct hf_lock *lock;
    int64_t lock_index, side, number;
    enum owner_form form;
    int64_t as; /* the number by which it holds: its own, or an election's */
    struct hf_quorum *quorum; /* of its form */
    struct hf_multi *multi;
    struct hf_election *election; /* NULL: it does not stand */
    struct owner *whole; /* of a member: the owner of the set; else NULL */
    struct owner *members; /* of a set: the first; the others come next, side by side */
    int64_t server;      /* of a quorum's member; else 0 */
    struct call *standing; /* a candidate's acquire, or that of a quorum's member, which
                              is under way; NULL: none is */
    struct call *last;      /* a candidate's last acquire, whose timer is its own */
    bool leads, is_leaving;
    int64_t lease_ms;       /* of the last acquire of a set */
    int64_t max_until_us;   /* the earliest end of its max_hold, by the clock of its process;
                               0: none */
    bool is_left;           /* a quorum's member: a client that was closed may hold it,
                               for no hold of the quorum */
    bool is_at_rest;        /* a quorum's: nothing is held or asked for, nor was when it
                               was last looked at */
    int64_t hold_ms;        /* for so long it leads; -1: until the end */
    int64_t count;     /* acquisitions that are to be given up */
    int64_t releasing; /* of these, asked to be */
    bool stands_behind; /* a release, when it was asked for, behind another call */
    int64_t under_way; /* calls */
    bool is_lost;      /* it was told so */
    int64_t master;    /* that the client knew of when its last turn ended: what it
                          heard behind an answer, in the same turn, is too late */
    int64_t until_us;  /* what the history says that it believes; 0:
                          nothing */
    char name[OWNER_NAME_MAX];
    char hold[HF_OWNER_TEXT_MAX]; /* its hold, as the server knows it; "" */
};

/* owner_event    - a line of the history about it.
 * owner_look     - which hold it has.
 * owner_safe_ms  - for how long it may believe, says the library.
 * owner_text     - its hold as the server knows it; "": it has none, or is a set's.
 * owner_is_given_up - of a set: it is not held nor asked for, has been lost, or its last
 *                  release is under way.
 * owner_watch    - writes down how long it may believe, if that has changed.
 * owner_lost     - it is told that its hold is lost; is_with_set: because another member
 *                  of its set is.
 * owner_granted  - one acquisition more.
 * owner_released - a release has ended: one less, unless nothing was done.
 * owner_has_given_up - the release of all that it acquired has begun.
 * owner_count    - a "count" line, if it holds and nothing is under way. */
struct history_event owner_event(const struct owner *o, enum history_what what);
void owner_look(struct owner *o);
int64_t owner_safe_ms(const struct owner *o);
void owner_text(const struct owner *o, char dst[HF_OWNER_TEXT_MAX]);
bool owner_is_given_up(const struct owner *o);
void owner_watch(struct owner *o);
void owner_lost(struct owner *o, enum hf_lost reason, bool is_with_set);
void owner_granted(struct owner *o);
void owner_released(struct owner *o, hf_status status);
bool owner_has_given_up(const struct owner *o);
void owner_count(struct owner *o);

#endif
