/* A world in which the library runs as it is, and time is a number.
 *
 * Everything of resp/, net/ and lock/ is linked as it is but for six files that
 * touch the system: clock.c, poller_*.c, wake_pipe.c, socket.c, resolve.c and
 * random.c. The files sim_*.c of this folder stand in for them. One thread; no
 * real time passes; the same seed gives the same run, whatever the machine does.
 *
 * WORLD-1  True time is in microseconds and stands still while code runs. It
 *          jumps to the next event when nothing is ready.
 * WORLD-2  Events happen in the order of their times, and at one time in the
 *          order in which they were armed.
 * WORLD-3  A process is a program with a clock of its own. The library is called
 *          only inside of a process (process_enter); clients are made with
 *          `thread` = false, and their loops are driven by the world
 *          (process_drive).
 * WORLD-4  A loop is dispatched, with a timeout of 0, when a descriptor of it is
 *          ready or its timer is due: one turn, then the next loop's. A process
 *          that is suspended is not dispatched: what arrives waits for it.
 * WORLD-5  A call that blocks waits in the poller, and all others go on. The call
 *          itself takes the turns of its loop; the world still dispatches that,
 *          for its callbacks. At most one call blocks for each loop at a time: a
 *          second one would sleep on a real semaphore, and so would one that a
 *          callback makes meanwhile. Within process_call, many may block at a
 *          time, each on a stack of its own. Elsewhere, as in a callback, the
 *          call runs the world until it can go on; such calls nest, and the inner
 *          one ends first. Several threads of one client: sim_threads.h.
 *
 * What goes over the network, and what goes wrong there, is in network.h. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "net/net.h"

/* When a world begins: any number but 0, for that is what a time that nobody
 * set looks like. */
#define WORLD_BEGIN_US INT64_C(1000000000)

struct world;

/* world_new  - at most one at a time: a clock has no argument to name it by.
 * world_free - after all clients in it were freed. Takes NULL.
 * world_seed - streams of random numbers: dice_stream(world_seed(w), "plan").
 *              The world's own are called "network" and "process NAME N": the
 *              N-th of that name.
 * world_handles - descriptors of the library that are open now: 0 when all
 *              clients are gone. */
struct world *world_new(uint64_t seed);
void world_free(struct world *world);
uint64_t world_seed(const struct world *world);
int64_t world_now_us(const struct world *world);
unsigned world_handles(const struct world *world);

/* ---- events ---- */

/* Something that is going to happen, once: a field of what it belongs to.
 * Its owner sets `happen` and `ctx`; all else is zero at first.
 * It runs in no process. */
struct event {
    void (*happen)(void *ctx);
    void *ctx;
    int64_t at_us;
    uint64_t serial;
    uint32_t place;             /* 0: it is not armed */
};

/* world_at     - arms it, or moves it if it is armed; never before now.
 * world_after  - likewise, so long from now.
 * world_cancel - takes an armed one back; leaves others alone. */
void world_at(struct world *world, struct event *event, int64_t at_us);
void world_after(struct world *world, struct event *event, int64_t us);
void world_cancel(struct world *world, struct event *event);

/* world_run  - until true time is `until_us`, or world_stop.
 * world_stop - the world_run that is under way returns when this step is done.
 * world_counts - what there was to do so far. */
struct world_counts {
    uint64_t events;
    uint64_t turns;             /* of all loops */
};
void world_run(struct world *world, int64_t until_us);
void world_stop(struct world *world);
struct world_counts world_counts(const struct world *world);

/* ---- processes ---- */

struct process;

/* process_new - one that runs; its name is copied, and names its random bytes.
 *   offset_us  what its clock shows when true time is WORLD_BEGIN_US
 *   ppm        how much faster its clock runs: parts of a million
 * It lives until world_free. */
struct process *process_new(struct world *world, const char *name,
                            int64_t offset_us, int ppm);
const char *process_name(const struct process *process);

/* process_enter - from here on the code of this process runs; NULL: of none.
 *                 Returns the one before, to be entered again at the end. */
struct process *process_enter(struct process *process);

/* process_drive - from here on the world dispatches the loop, which was made in
 *                 this process. Ends by itself when the loop is freed. */
void process_drive(struct process *process, struct hf_loop *loop);

/* process_call - calls `fn` in this process, as a thread of it. Returns when it
 *                has returned, or when it blocks (WORLD-5): then the world goes on
 *                with it as soon as what it waits for is there. Not within
 *                another process_call. */
void process_call(struct process *process, void (*fn)(void *ctx), void *ctx);

/* process_on_turn - `fn` is called in this process after each turn of a loop of
 *                   it that the world drives, also where a blocked call took the
 *                   turn. It may call what does not block. */
void process_on_turn(struct process *process, void (*fn)(void *ctx), void *ctx);

/* process_has_turns - another loop of it has a turn at this moment: it has not read what has
 *                     arrived for it, for example while the process was suspended. */
bool process_has_turns(const struct process *process);

/* process_before_write - `fn` is called once, in this process, before the next bytes that
 * it writes to a connection; it may run the world. NULL: it is not called. */
void process_before_write(struct process *process, void (*fn)(void *ctx), void *ctx);

/* process_clock_us - what its clock shows.
 * process_true_us  - the first moment at which its clock shows that much, if its
 *                    rate stays what it is.
 * process_set_rate - from now on. Its timers move with it. */
int64_t process_clock_us(const struct process *process);
int64_t process_true_us(const struct process *process, int64_t clock_us);
void process_set_rate(struct process *process, int ppm);

/* process_suspend - runs no more until process_resume; its clock goes on. What
 *                   it had asked for happens all the same.
 * process_die     - as kill -9: its connections are closed, it never runs again.
 *                   Its clients are freed as ever, inside of it, to give memory
 *                   back: that reaches nobody. */
void process_suspend(struct process *process);
void process_resume(struct process *process);
bool process_is_suspended(const struct process *process);
void process_die(struct process *process);
bool process_is_dead(const struct process *process);

/* process_fork   - from here on its code is that of a child that was forked now:
 *                  its loops are the parent's, and whatever touches their pollers
 *                  or a socket ends the program. To be called in a callback.
 * process_unfork - it is the parent again, to free what it has. */
void process_fork(struct process *process);
void process_unfork(struct process *process);

#endif
