/* Objects that are counted and have no owner: semaphores and latches. Private to the judge.
 *
 * Each call sends one request to the server, or several, one after the other. The client's
 * `wait` line and the server's `stock` lines name each request. So the judge knows by how much
 * each request has changed the number, and applies P11 (properties.h). */
#ifndef CHECK_COUNT_H
#define CHECK_COUNT_H

#include "tests/judge/state.h"

struct request {
    struct request *next;      /* of its lock */
    struct history_text name;
    uint32_t client;
    int64_t call;
    enum history_op op;
    bool is_latch;
    int64_t n;
    int64_t net;                /* by so much it has changed the number */
    int64_t times;              /* and so often */
    int64_t wanted;             /* by how much it should have, in the end; or NONE */
    bool is_unsure;             /* a fault has changed what it did */
    bool is_left;               /* its client is no more: nobody undoes it */
    bool is_past;               /* the semaphore was deleted since it was asked */
    struct moment asked, last;
};

/* count_is_of   - is the call about something that is counted?
 * count_is_named - does a `wait` line name its request, and a `stock` line what that did?
 *                 Likewise of a call that sets or deletes the number of expirable permits.
 * count_asked   - the call asks this from now on.
 * count_stock   - a server says how many there are, before the state changes.
 * count_of_permits - a server says that a request has set, or deleted, the number of
 *                 expirable permits.
 * count_of_set  - it says that a call has set a number.
 * count_meet    - what servers have of the number may have changed: a call may meet it.
 * count_meets   - likewise, of each call of the lock.
 * count_ended   - the call has ended. `is_done`: well; `is_nothing`: it says that
 *                 nothing was done.
 * count_gone    - the client is no more: what it had not settled nobody does.
 * count_disturbed - a fault may have undone what the lock's requests did. With
 *                 lock NULL: all locks'.
 * count_rest    - all is quiet.
 * count_is_free - at the server that decides: is there so much; has the latch opened?
 * count_is_free_at - the same at this server, which may have no number of it. A number that has
 *                 expired counts as 0, although a replica keeps it.
 * count_free    - forgets the lock's requests. */
bool count_is_of(const struct ask *ask);
bool count_is_named(const struct ask *ask);
void count_asked(const struct ask *ask, struct history_text name);
void count_stock(struct judge *j, struct lock *lock, const struct stock *stock,
                 const struct history_event *e);
void count_of_permits(struct judge *j, struct lock *lock, const struct stock *stock,
                      const struct history_event *e);
void count_of_set(struct judge *j, const struct lock *lock, const struct stock *stock,
                  const struct history_event *e);
void count_meet(const struct judge *j, struct ask *ask);
void count_meets(const struct judge *j, struct lock *lock);
void count_ended(struct judge *j, struct ask *ask, const struct history_event *e,
                 bool is_done, bool is_nothing);
void count_gone(struct judge *j, uint32_t client);
void count_disturbed(struct judge *j, struct lock *lock);
void count_rest(struct judge *j);
bool count_is_free(const struct judge *j, const struct ask *ask);
bool count_is_free_at(const struct judge *j, const struct ask *ask, uint32_t server);
void count_free(struct lock *lock);

#endif
