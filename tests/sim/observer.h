/* An observer of one server: it turns changes of keys into lines of the history,
 * held and freed, by what stands in the hashes of locks. It knows the scripts
 * of lock/ by their SHA-1, and otherwise only how Redisson spells a lock.
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
    bool is_there;
};

/* The queue of a fair lock: who stands in it, and what was written of its first. */
struct observer_queue {
    struct observer_place *places;
    size_t count, room;
    char head[OBSERVER_HOLD_MAX]; /* "": nobody */
    int64_t until_us;
};

struct observer {
    struct sim *sim;
    int64_t server;             /* its number: s1 is 1 */
    struct model *model;
    int64_t ahead_us;           /* of true time: the server's clock */
    enum history_why owner_why; /* what a change by the server's owner means */
    bool is_moving;             /* keys go to another node: nothing is forgotten */
    bool is_replaced;           /* a master that serves on beside its successor:
                                   tokens of its grants are not above others */
    struct {
        struct observer_hold *holds;
        size_t count, room, found;
        int64_t changed_us;     /* the last time that one was written */
    } locks[PLAN_LOCKS_MAX];
    struct observer_queue queues[PLAN_LOCKS_MAX];
    int64_t stocks[PLAN_LOCKS_MAX]; /* permits, written last; or NONE */
    int64_t stocks_until_us[PLAN_LOCKS_MAX]; /* likewise, their key's end */
    char question[OBSERVER_HOLD_MAX]; /* of the last script that counts; "" */
    uint64_t lines;             /* about holds, so far */
};

/* observer_init - observes the model, which must outlive it.
 * observer_repeat - all that the server has, behind its "replica" line.
 * observer_behind - "reset" lines: the model, a new master, has not heard of all
 *                tokens that `old` gave.
 * observer_dead_readers - "freed" lines of readers whose leases are over, and whose
 *                fields stay as long as other readers have the lock (kinds.md).
 * observer_out_key - the key that says which permits of a semaphore are out.
 * observer_keys - "key" lines: what is left.
 * observer_places - "place" lines: who stands in queues.
 * observer_places_until - until when the last of these is honoured; 0: nobody
 *                stands there. */
void observer_init(struct observer *w, struct sim *sim, int64_t server,
                   struct model *model);
void observer_repeat(struct observer *w);
void observer_behind(struct observer *w, struct model *model, struct model *old);
void observer_dead_readers(struct observer *w, struct model *model);
void observer_out_key(char *dst, size_t size, const char *name);
void observer_keys(struct observer *w, struct model *model);
void observer_places(struct observer *w, struct model *model);
int64_t observer_places_until(const struct observer *w, struct model *model);
void observer_free(struct observer *w);

/* observer_holds - is there this hold, by a field of the lock? */
bool observer_holds(const struct observer *w, size_t lock, const char *field);

/* observer_set_clock - the server's clock is set: its holds end at another time. */
void observer_set_clock(struct observer *w, int64_t step_us);

/* observer_has_holds - has anybody a lock there? */
bool observer_has_holds(const struct observer *w);

/* observer_is_free - has nobody held the lock since that time? */
bool observer_is_free(const struct observer *w, size_t lock, int64_t since_us);

#endif
