/* What the files of this folder share. Private to it. */
#ifndef SIM_WORLD_INNER_H
#define SIM_WORLD_INNER_H

#include "tests/sim/world/fiber.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/world.h"
#include "tests/support/dice.h"
#include "tests/support/must.h"

/* ---- descriptors (handles.c) ---- */

/* Beside HF_READ and HF_WRITE: an error. The poller is told of it whatever it asked
 * for. */
enum { IS_BROKEN = 4 };

/* What the library takes for a descriptor. */
struct handle {
    int fd;
    struct poller *poller;      /* that watches it; NULL: none */
    int (*ready)(const struct handle *handle);
};

/* handle_open    - gives it the smallest number that is free.
 * handle_close   - takes it back; nobody watches it any more.
 * handle_of      - the one that is open under `fd`.
 * handle_changed - its `ready` may say something new: its poller looks. */
void handle_open(struct handle *handle, int (*ready)(const struct handle *));
void handle_close(struct handle *handle);
struct handle *handle_of(int fd);
void handle_changed(struct handle *handle);

/* ---- pollers (sim_poller.c) ---- */

struct poller {
    struct handle handle;       /* what hf_loop_fd says */
    struct process *process;
    struct hf_loop *loop;       /* that the world drives; NULL: a blocked call */
    struct hf_list node;        /* of its process */
    struct hf_list queued;      /* of world.ready */
    struct watch {
        struct handle *handle;
        int events;
        uint32_t key;
    } *watches;
    uint32_t count;
    uint32_t room;
    uint32_t waits;
    struct event due;           /* its timer, or the end of its wait */
    int64_t due_clock_us;
    bool is_due;
    bool is_called;
    bool is_waiting;            /* a blocked call sleeps in it, */
    struct fiber *fiber;        /* which is this one's; NULL: the world's caller's */
};

/* poller_is_ready  - has its loop something to do?
 * poller_may_go_on - does the call that sleeps in it?
 * poller_arm       - it is due when its process' clock says so.
 * poller_forget    - no poller watches the handle any longer: closing a descriptor
 *                    takes it out of the kernel's set. A forked child closes some
 *                    that it may not take out. */
bool poller_is_ready(const struct poller *poller);
bool poller_may_go_on(const struct poller *poller);
void poller_arm(struct poller *poller, int64_t clock_us);
void poller_forget(struct handle *handle);

/* ---- processes (process.c) ---- */

struct process {
    struct world *world;
    struct hf_list node;
    struct hf_list pollers;
    char name[32];
    uint64_t dice;
    bool is_suspended;
    bool is_dead;
    bool is_child;
    int ppm;
    int64_t since_us;           /* true time when its rate was last set, */
    int64_t clock_us;           /* and what its clock showed then */
    void (*before_write)(void *ctx);
    void *before_write_ctx;
    void (*on_turn)(void *ctx);
    void *on_turn_ctx;
};

/* ---- the world ---- */

/* Of the resolver, for an address. */
struct name_query {
    struct hf_list node; /* while the resolver is silent */
    struct event answer;
};

/* What is known of the network (network.c). */
struct network {
    struct hf_list listeners;
    struct hf_list links;
    struct hf_list names;
    uint64_t dice;
    enum names names_are;
    int64_t names_delay_us;
    struct hf_list silent_queries;
    struct network_lookups lookups;
    void (*tap)(void *ctx, const struct network_news *news);
    void *tap_ctx;
};

struct world {
    uint64_t seed;
    int64_t now_us;
    uint64_t serial;
    struct event **heap;        /* from 1; the root is the next */
    uint32_t heap_count;
    uint32_t heap_room;
    struct hf_list ready;       /* pollers whose loops have something to do */
    struct hf_list processes;
    struct process *current;
    bool is_stopped;
    struct world_counts counts;
    uint64_t steps_at_once;     /* events and turns, without one of time */
    struct handle **handles;
    uint32_t handles_room;
    unsigned handles_open;
    struct network network;
};

/* The one that there is. */
extern struct world *the_world;

/* world_step    - the next turn or event; false: nothing will ever happen.
 * world_queue   - the poller's loop gets its turn.
 * process_had_turn - calls what process_on_turn has set.
 * process_is_on - it runs: not suspended, not dead.
 * process_owns  - fails if what belongs to the parent is touched by a child. */
bool world_step(struct world *world, int64_t until_us);
void world_queue(struct poller *poller);
static inline void process_had_turn(const struct process *p)
{
    if (p->on_turn)
        p->on_turn(p->on_turn_ctx);
}
static inline void process_owns(const struct process *p)
{
    must(!p || !p->is_child);
}
static inline bool process_is_on(const struct process *p)
{
    return !p->is_suspended && !p->is_dead;
}

/* must_grow - an array with room for one more than `count`. */
void must_grow(void *ptr, uint32_t *room, size_t size, size_t count);

void network_init(struct world *world);
void network_fini(struct world *world);

/* network_query  - the resolver is asked; `answer` happens when it has answered.
 * network_lookup - the addresses of a name; returns how many. */
void network_query(struct world *world, struct name_query *query);
size_t network_lookup(struct world *world, const char *name,
                      const char *ips[], size_t room);

#endif
