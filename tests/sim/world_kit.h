/* What tests of the simulated world share: the world, one server of a few lines
 * (what a script calls takes the lock, renews or releases it by how many arguments
 * it has), and programs, each with a client and the lock "job". */
#ifndef SIM_WORLD_KIT_H
#define SIM_WORLD_KIT_H

#include "lock/lock.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/world.h"

#define SECOND INT64_C(1000000)
#define RTT_US (2 * LINK_DELAY_US)
#define OWNER 7
#define URL "redis://10.0.0.1:6379"

/* Between kit_begin and kit_end. */
extern struct world *world;
extern struct listener *listener;
extern unsigned kit_connections;    /* of the server, that are open */
extern unsigned kit_renewals;       /* that it has executed */

struct program {
    struct process *process;
    struct link *link;
    struct hf_client *client;
    struct hf_lock *lock;
    hf_status status; /* of the last call that ended */
    unsigned ended;
    int64_t ended_us;
    unsigned lost;
    enum hf_lost reason;
};

/* kit_begin     - a world with the server in it.
 * kit_end       - after all programs were freed: nothing of theirs may be left,
 *                 here or at the server.
 * kit_free      - likewise, where the server cannot know that they are gone.
 * kit_run       - the world, for so long.
 * program_start - its clock is `ppm` fast; its client begins at `url`. _free: its
 *                 client. _beside: one more client, in the process of `first`.
 * ask_acquire   - by OWNER; program.ended counts, when it ends. ask_release too.
 * safe_ms       - hf_lock_safe_ms of that owner. */
void kit_begin(uint64_t seed);
void kit_end(void);
void kit_free(void);
void kit_run(int64_t us);
void program_start(struct program *p, const char *name, const char *url,
                   int ppm);
void program_start_beside(struct program *p, const struct program *first,
                          const char *url);
void program_free(struct program *p);
void ask_acquire(struct program *p, int64_t wait_ms);
void ask_release(struct program *p);
int64_t safe_ms(struct program *p);

#endif
