/* The sentinels of a run: servers that know who is master, each of them from a
 * moment of its own. */
#ifndef SIM_SENTINELS_H
#define SIM_SENTINELS_H

#include "tests/sim/server.h"

#define SENTINELS 3
#define SENTINEL_MASTER_NAME "locks"

struct sentinels;

/* sentinels_new  - makes these servers, which are new, sentinels of `master`.
 * sentinels_free - after the servers were freed. Takes NULL.
 * sentinels_tell - there is a new master: the first sentinel knows after
 *                  `first_us`, the last one after `last_us`. One that is frozen or down
 *                  learns of it afterwards. */
struct sentinels *sentinels_new(struct server *const servers[SENTINELS],
                                const struct server *master);
void sentinels_free(struct sentinels *group);
void sentinels_tell(struct sentinels *group, const struct server *master,
                    int64_t first_us, int64_t last_us);

#endif
