/* A witness of one server: it turns changes of keys into lines of the history,
 * held and freed, by what stands in the hashes of locks. It knows the scripts
 * of lock/ by their SHA-1, and otherwise only how Redisson spells a lock.
 *
 * Source: WIRE 2, 8, 10, 12. */
#ifndef SIM_WITNESS_H
#define SIM_WITNESS_H

#include "tests/sim/model/model.h"
#include "tests/sim/sim.h"

#define WITNESS_HOLD_MAX 96  /* bytes of a field */
#define WITNESS_KEY_MAX PLAN_KEY_MAX

struct witness_hold {
    char field[WITNESS_HOLD_MAX];
    size_t len;
    int64_t count, until_us;
    bool is_there;
};

/* The queue of a fair lock: who stands in it, and what was written of its first. */
struct witness_queue {
    struct witness_place *places;
    size_t count, room;
    char head[WITNESS_HOLD_MAX]; /* "": nobody */
    int64_t until_us;
};

struct witness {
    struct sim *sim;
    int64_t server;             /* its number: s1 is 1 */
    struct model *model;
    int64_t ahead_us;           /* of true time: the server's clock */
    enum history_why owner_why; /* what a change by the server's owner means */
    bool is_moving;             /* keys go to another node: nothing is forgotten */
    bool is_replaced;           /* a master that serves on beside its successor:
                                   tokens of its grants are not above others */
    struct {
        struct witness_hold *holds;
        size_t count, room, found;
        int64_t changed_us;     /* the last time that one was written */
    } locks[PLAN_LOCKS_MAX];
    struct witness_queue queues[PLAN_LOCKS_MAX];
    int64_t stocks[PLAN_LOCKS_MAX]; /* permits, written last; or NONE */
    int64_t stocks_until_us[PLAN_LOCKS_MAX]; /* likewise, their key's end */
    char question[WITNESS_HOLD_MAX]; /* of the last script that counts; "" */
    uint64_t lines;             /* about holds, so far */
};

/* witness_init - observes the model, which must outlive it.
 * witness_repeat - all that the server has, behind its "replica" line.
 * witness_behind - "reset" lines: the model, a new master, has not heard of all
 *                tokens that `old` gave.
 * witness_dead_readers - "freed" lines of readers whose leases are over, and whose
 *                fields stay as long as other readers have the lock (kinds.md).
 * witness_out_key - the key that says which permits of a semaphore are out.
 * witness_keys - "key" lines: what is left.
 * witness_places - "place" lines: who stands in queues.
 * witness_places_until - until when the last of these is honoured; 0: nobody
 *                stands there. */
void witness_init(struct witness *w, struct sim *sim, int64_t server,
                  struct model *model);
void witness_repeat(struct witness *w);
void witness_behind(struct witness *w, struct model *model, struct model *old);
void witness_dead_readers(struct witness *w, struct model *model);
void witness_out_key(char *dst, size_t size, const char *name);
void witness_keys(struct witness *w, struct model *model);
void witness_places(struct witness *w, struct model *model);
int64_t witness_places_until(const struct witness *w, struct model *model);
void witness_free(struct witness *w);

/* witness_holds - is there this hold, by a field of the lock? */
bool witness_holds(const struct witness *w, size_t lock, const char *field);

/* witness_set_clock - the server's clock is set: its holds end at another time. */
void witness_set_clock(struct witness *w, int64_t step_us);

/* witness_has_holds - has anybody a lock there? */
bool witness_has_holds(const struct witness *w);

/* witness_is_free - has nobody held the lock since that time? */
bool witness_is_free(const struct witness *w, size_t lock, int64_t since_us);

#endif
