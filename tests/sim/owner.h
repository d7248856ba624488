/* One owner of one lock: the results of its calls, and what it may believe. The record uses
 * only the contract of lock.h: it counts grants and releases, and calls hf_lock_safe_ms. */
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
    struct hf_election *election; /* NULL: it is not a candidate */
    struct owner *whole; /* of a member: the owner of the set; else NULL */
    struct owner *members; /* of a set: the first; the others come next, side by side */
    int64_t server;      /* of a quorum's member; else 0 */
    struct call *standing; /* the pending acquire of a candidate or of a quorum's member;
                              NULL: none */
    struct call *last;      /* a candidate's last acquire, whose timer is its own */
    bool leads, is_leaving;
    int64_t lease_ms;       /* of the last acquire of a set */
    int64_t max_until_us;   /* the earliest end of its max_hold, by the clock of its process;
                               0: none */
    bool is_left;           /* a quorum's member: a client that was closed may hold it,
                               for no hold of the quorum */
    bool is_at_rest;        /* a quorum's: nothing is held or requested now, nor was at
                               the last look */
    int64_t hold_ms;        /* how long it leads; -1: until the end */
    int64_t count;     /* acquisitions that must be released */
    int64_t releasing; /* those whose release was requested */
    bool stands_behind; /* its release was requested while another call was pending */
    int64_t under_way; /* calls */
    int64_t extending; /* those of them that extend its hold */
    bool is_lost;      /* its loss was reported */
    int64_t master;    /* known to the client when its last turn ended, */
    int64_t master_us; /* at this time, */
    int64_t former_master; /* and when the last turn of an earlier moment ended: what it reads
                              after a reply, in the same turn, is too late */
    int64_t until_us;  /* the belief that the history records; 0: none */
    char name[OWNER_NAME_MAX];
    char hold[HF_OWNER_TEXT_MAX]; /* its hold, as the server knows it; "" */
};

/* owner_event    - a line of the history about it.
 * owner_look     - which hold it has.
 * owner_safe_ms  - for how long it may believe, according to the library.
 * owner_text     - its hold as the server knows it; "": it has none, or is a set's.
 * owner_is_given_up - a set is neither held nor requested, is lost, or its last release is
 *                  pending.
 * owner_watch_master - looks which server its client takes for the master.
 * owner_master   - the server that its client took for the master when a reply was read that
 *                  is reported now.
 * owner_watch    - records how long it may believe, if that has changed.
 * owner_lost     - the loss of its hold was reported; is_with_set: because another member
 *                  of its set was lost.
 * owner_granted  - counts one acquisition.
 * owner_released - a release has ended: counts it, unless nothing was done.
 * owner_has_given_up - the release of all that it acquired has begun.
 * owner_count    - writes a "count" line, if it holds and no call is pending. */
struct history_event owner_event(const struct owner *o, enum history_what what);
void owner_look(struct owner *o);
int64_t owner_safe_ms(const struct owner *o);
void owner_text(const struct owner *o, char dst[HF_OWNER_TEXT_MAX]);
bool owner_is_given_up(const struct owner *o);
void owner_watch_master(struct owner *o);
int64_t owner_master(const struct owner *o);
void owner_watch(struct owner *o);
void owner_lost(struct owner *o, enum hf_lost reason, bool is_with_set);
void owner_granted(struct owner *o);
void owner_released(struct owner *o, hf_status status);
bool owner_has_given_up(const struct owner *o);
void owner_count(struct owner *o);

#endif
