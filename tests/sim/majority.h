/* What a quorum has on its servers, as lines of the history. A member on server N is
 * a lock of its own there, "name@sN". The quorum "name" is held, by a server of the
 * history that does not exist, while one owner has it on most of the servers; until the
 * end that most of these reach. A program has a client for each server; in the history
 * all its owners have the UUID of the first one. */
#ifndef SIM_MAJORITY_H
#define SIM_MAJORITY_H

#include "tests/sim/sim.h"

#define MAJORITY_SERVER 1000 /* its number in the history */
#define MAJORITY_NAME_MAX (PLAN_KEY_MAX + 8)

struct majority;

/* majority_new   - NULL, if the plan has no independent servers. _free takes NULL.
 * majority_alias - this client's holds are those of the program whose first client is
 *                  `first`.
 * majority_first - changes the UUID that `text` begins with, in place, if it is an
 *                  alias.
 * majority_name  - what a lock is called in the history, as a member at that server;
 *                  elsewhere its name. In `dst`, of MAJORITY_NAME_MAX bytes.
 * majority_forget - an owner does not count this member, which it released or lost, or whose
 *                  call ended without it. What was or will be taken away from it is not an excuse any longer.
 * majority_request - an owner requests this member again, and counts it from its grant on.
 * majority_end   - the program with this UUID ends: what its requests are granted from now on counts
 *                  for none of its quorums.
 * majority_see   - takes in a line that was written, and writes what follows from it. */
struct majority *majority_new(const struct plan *plan);
void majority_free(struct majority *m);
void majority_alias(struct sim *sim, const char *uuid, const char *first);
void majority_first(const struct sim *sim, char *text);
const char *majority_name(const struct sim *sim, int64_t lock, int64_t server,
                          char dst[MAJORITY_NAME_MAX]);
void majority_forget(struct sim *sim, int64_t lock, const char *owner,
                     int64_t server);
void majority_request(struct sim *sim, int64_t lock, const char *owner, int64_t server);
void majority_end(struct sim *sim, const char *uuid);
void majority_see(struct sim *sim, const struct history_event *event);

#endif
