/* One client with one lock: lease.c, driven as lock/ drives it (acquire.c,
 * reentry.c, release.c, renew.c, extend.c), beside all that the server may have done.
 * Each step ends the program if a promise is broken:
 *
 * PROMISE-1  While the hold is believed, the server cannot have let go.
 * PROMISE-2  A loss is told, once, before the server can have let go; after it
 *            nothing is believed and nothing is renewed. That the server may
 *            still have the lock is said (hf_lease_may_remain).
 * PROMISE-3  After the last release was handed out nothing is believed and
 *            nothing is renewed. */
#ifndef EXHAUST_CLIENT_H
#define EXHAUST_CLIENT_H

#include "lock/machine/lease.h"
#include "tests/exhaust/possible.h"

/* Times are START + milliseconds. A watchdog's lease, one shorter, one longer. */
#define START INT64_C(1000000)
#define WATCHDOG_MS 3000
#define SHORT_MS 1000
#define LONG_MS 4000
/* Between two moments at which something happens; not a divisor of a third. */
#define STEP_MS 700

#define UNSENT LINKS            /* a place: still in the client's queue */

enum phase { ACQUIRING, HOLDING, OVER };

enum verb { ACQUIRE, REENTER, RELEASE_ONE, EXTEND };

/* A command under way: a call, or the renewal. */
struct command {
    bool is_under_way;
    bool is_sent;
    uint8_t verb;
    uint8_t link;               /* where it was sent last */
    uint16_t lease_ms;
    struct hf_sending how;
};

struct client {
    enum phase phase;
    uint16_t now;               /* milliseconds since START */
    uint8_t count;              /* acquisitions */
    uint16_t acquire_ms;        /* the lease of the first acquire */
    struct command commands[CLAIM_BY_COUNT];
    struct hf_lease lease;
    uint8_t streams;            /* numbers given so far */
    uint8_t stream[LINKS];
    struct possible server;
};

/* Each answers whether the step is possible; if not, the client is not to be
 * used any more.
 *
 * client_init    - nothing is under way; its first acquire will have this lease.
 * client_call    - a call is handed out, to a link or UNSENT.
 * client_send    - what was UNSENT is sent.
 * client_answer  - a command is answered: it was executed.
 * client_give_up - a command's call ends without an answer.
 * client_cut     - a link dies. is_killed: its successor knows that the server
 *                  is rid of it. is_repeated: a call that was on it waits to be
 *                  sent again; else it ends. A renewal always ends.
 * client_release - the last release is handed out. OVER.
 * client_wait    - until the timer fires. *renews: it hands out a renewal,
 *                  which client_renew then puts in its place.
 * client_dawdle  - STEP_MS pass, whatever the timer says. *renews: as above. */
void client_init(struct client *c, uint16_t lease_ms);
bool client_call(struct client *c, enum verb verb, uint16_t lease_ms,
                 uint8_t place);
bool client_send(struct client *c, enum hf_claim_by by, uint8_t link);
bool client_answer(struct client *c, enum hf_claim_by by);
bool client_give_up(struct client *c, enum hf_claim_by by);
bool client_cut(struct client *c, uint8_t link, bool is_killed,
                bool is_repeated);
bool client_release(struct client *c);
bool client_wait(struct client *c, bool *renews);
bool client_dawdle(struct client *c, bool *renews);
bool client_renew(struct client *c, uint8_t place);

/* client_check - the promises, in this state.
 * client_hash  - of all that can still matter. */
void client_check(const struct client *c);
uint64_t client_hash(const struct client *c);

#endif
