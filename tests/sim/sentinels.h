/* The sentinels of a run: servers that name the master. Each of them learns of a new master at
 * a time of its own. */
#ifndef SIM_SENTINELS_H
#define SIM_SENTINELS_H

#include "tests/sim/server.h"

#define SENTINELS 3
#define SENTINEL_MASTER_NAME "locks"

struct sentinels;

/* sentinels_new  - makes these new servers sentinels of `master`.
 * sentinels_free - is called after the servers were freed. Accepts NULL.
 * sentinels_tell - there is a new master: the first sentinel learns of it after first_us, the
 *                  last one after last_us; a sentinel that is frozen or down, when it runs
 *                  again. */
struct sentinels *sentinels_new(struct server *const servers[SENTINELS],
                                const struct server *master);
void sentinels_free(struct sentinels *group);
void sentinels_tell(struct sentinels *group, const struct server *master,
                    int64_t first_us, int64_t last_us);

#endif
