/* An observer of one server: after each change of a key it reads the hashes of locks, and
 * writes "held" and "freed" lines to the history. It recognises the scripts of lock/ by their
 * SHA-1, and otherwise knows only how Redisson stores a lock.
 *
 * Source: WIRE 2, 8, 10, 12. */
#ifndef SIM_OBSERVER_H
#define SIM_OBSERVER_H

#include "tests/sim/model/model.h"
#include "tests/sim/sim.h"

#define OBSERVER_HOLD_MAX 96  /* bytes of a field */
#define OBSERVER_KEY_MAX PLAN_KEY_MAX

struct observer_hold {
    char field[OBSERVER_HOLD_MAX];
    size_t len;
    int64_t count, until_us;
    int64_t since_us;           /* it was first seen */
    bool is_there;
};

/* The queue of a fair lock: its places, and what the history has about the first place. */
struct observer_queue {
    struct observer_place *places;
    size_t count, room;
    char head[OBSERVER_HOLD_MAX]; /* the first waiter; "": none */
    int64_t until_us;
};

struct observer {
    struct sim *sim;
    int64_t server;             /* its number: s1 is 1 */
    struct model *model;
    struct observer_clock {     /* the server's */
        int64_t since_us;       /* true time when it was last set, or its rate, */
        int64_t shown_us;       /* and what it showed then */
        int64_t ppm;            /* how much faster than true time it runs */
    } clock;
    enum history_why owner_why; /* the reason of a change by the server's operator */
    bool is_moving;             /* keys move to another node: a missing key is not lost */
    bool is_replaced;           /* a former master that continues beside its successor:
                                   its tokens need not be greater than others */
    struct {
        struct observer_hold *holds;
        size_t count, room, found;
        int64_t changed_us;     /* when a line of one of them was last written */
    } locks[PLAN_LOCKS_MAX];
    struct observer_queue queues[PLAN_LOCKS_MAX];
    int64_t stocks[PLAN_LOCKS_MAX]; /* the permits of the last "stock" line; or NONE */
    int64_t stocks_until_us[PLAN_LOCKS_MAX]; /* when their key expires, in that line */
    char request[OBSERVER_HOLD_MAX]; /* the request of the last counting script; "" */
    bool is_drain; /* that script takes all permits */
    uint64_t lines;             /* the number of lines about holds */
};

/* observer_init - begins to observe the model, which must outlive the observer.
 * observer_repeat - writes all holds of the server, after its "replica" line.
 * observer_behind - writes "reset" lines: the model, a new master, does not have the latest
 *                tokens of `old`.
 * observer_older_readers - writes "held" lines of readers whose own leases end earlier in the
 *                model, which is about to be a master's, than in `old`: the lock's end, which
 *                is that of the longest lease, does not show it.
 * observer_dead_readers - writes "freed" lines of readers whose leases have expired; their
 *                fields remain as long as other readers have the lock (kinds.md).
 * observer_out_key - writes the name of the key that lists the permits in use.
 * observer_keys - writes "key" lines: the keys that remain.
 * observer_places - writes "place" lines: the waiters in queues.
 * observer_places_until - returns when the last of these places ends; 0: there is none. */
void observer_init(struct observer *w, struct sim *sim, int64_t server,
                   struct model *model);
void observer_repeat(struct observer *w);
void observer_behind(struct observer *w, struct model *model, struct model *old);
void observer_older_readers(struct observer *w, struct model *model, struct model *old);
void observer_dead_readers(struct observer *w, struct model *model);
void observer_out_key(char *dst, size_t size, const char *name);
void observer_keys(struct observer *w, struct model *model);
void observer_places(struct observer *w, struct model *model);
int64_t observer_places_until(const struct observer *w, struct model *model);
void observer_free(struct observer *w);

/* observer_place_since - returns since when the queue has a place of this client; HISTORY_NEVER: it
 *                has none. */
int64_t observer_place_since(const struct observer *w, size_t lock, const char *uuid);

/* observer_holds - returns whether the lock has this field, which is a hold. */
bool observer_holds(const struct observer *w, size_t lock, const char *field);

/* observer_clock_us - returns what the server's clock shows now.
 * observer_true_us - returns the true time at which it shows that much, if it is not set
 *                meanwhile.
 * observer_set_clock - the server's clock was changed by step_us, and runs at this rate from
 *                now on: its holds end at other times. */
int64_t observer_clock_us(const struct observer *w);
int64_t observer_true_us(const struct observer *w, int64_t clock_us);
void observer_set_clock(struct observer *w, int64_t step_us, int64_t ppm);

/* observer_has_holds - returns whether the server has a hold. */
bool observer_has_holds(const struct observer *w);

/* observer_is_free - returns whether the lock had no holder since that time. */
bool observer_is_free(const struct observer *w, size_t lock, int64_t since_us);

#endif
