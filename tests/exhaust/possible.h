/* All that the server may have done by now, as far as a client can know: a tiny
 * model of one lock's key. The client sees answers alone; which of the commands
 * without one were executed, when, and in which order, it does not see. So the
 * model follows every possibility at once.
 *
 * POSSIBLE-1  A link's commands are executed in its order, at any time after
 *             they were sent.
 * POSSIBLE-2  A command on a dead link is executed at any later time, or never.
 *             If the link was killed on the server, it is executed before that
 *             or never.
 * POSSIBLE-3  Each command that is executed sets the key's TTL. The server's
 *             clock may run faster by a hundredth, and both clocks tell whole
 *             milliseconds: it lets go at its execution + lease - a hundredth of
 *             the lease - 2 ms, at the earliest. An extension sets it only if it would
 *             end earlier.
 *
 * A possibility is a set of sendings that were executed. Of those in which the
 * same ones were, the one in which the server lets go first stands for all:
 * whatever follows, it stays the first.
 *
 * Sources: REDLOCK "Safety arguments"; design 11. */
#ifndef EXHAUST_POSSIBLE_H
#define EXHAUST_POSSIBLE_H

#include <stdbool.h>
#include <stdint.h>

#define LINKS 2
#define SENDINGS_MAX 8          /* without an answer, at a time */

/* What the answer to a sending would end. */
enum sender { BY_CALL, BY_RENEWAL, BY_NOBODY };

struct sending {
    uint16_t lease_ms;
    uint8_t link;               /* LINKS: it was on a link that is dead */
    uint8_t sender;
    bool extends;               /* POSSIBLE-3 */
};

/* Times are milliseconds since the run began. */
struct possible {
    uint8_t count;
    struct sending sendings[SENDINGS_MAX]; /* in the order of sending */
    /* For each set of them (bit i: sending i was executed) when the server lets
     * go; NEVER: the lock was not granted; IMPOSSIBLE */
    uint16_t until[1 << SENDINGS_MAX];
};
#define IMPOSSIBLE 0
#define NEVER UINT16_MAX

/* possible_init    - nothing was sent.
 * possible_send    - a command leaves at `now`. False: there is no room.
 * possible_pass    - time has passed.
 * possible_answers - can the next answer on the link be for this sender? If so,
 *                    it is: what did not execute that command is impossible.
 * possible_abandon - nobody waits for the sender's answer any more.
 * possible_cut     - a link is dead, and a new one in its place.
 * possible_lets_go - the earliest moment.
 * possible_hash    - of all that can still matter. */
void possible_init(struct possible *s);
bool possible_send(struct possible *s, uint16_t now, uint8_t link,
                   enum sender sender, uint16_t lease_ms, bool extends);
void possible_pass(struct possible *s, uint16_t now);
bool possible_answers(struct possible *s, enum sender sender);
void possible_abandon(struct possible *s, enum sender sender);
void possible_cut(struct possible *s, uint8_t link, bool is_killed);
uint16_t possible_lets_go(const struct possible *s);
uint64_t possible_hash(const struct possible *s, uint64_t hash);

#endif
