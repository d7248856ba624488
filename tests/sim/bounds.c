/* How long what may take in a run. */
#include "tests/sim/bounds.h"

#include "tests/sim/disagree.h"
#include "tests/sim/effects.h"
#include "tests/sim/failover.h"
#include "tests/sim/outage.h"

/* P12: far more later calls than chance grants before one of six clients. A waiter of
 * a spin or value lock looks every 128 ms, and one that may not subscribe every second: a
 * client whose calls follow each other passes those of other clients until it has no
 * more. */
#define PASSED 100
#define PASSED_SPINNING 1000

/* The new master may lack the last renewal: until it has renewed the hold itself, the owner
 * believes in the renewal before that (LEASE-7). */
#define BELIEF_AFTER_SWITCH 30

#define UNTIL_USED_MS INT64_C(8640000000) /* 100 days: longer than any plan is executed */

/* How long a message takes to wake a waiter: some crossings of a slow link, and the head
 * start of other clients. Without any fault it is less than the sleep of a waiter that
 * receives no message. */
#define WAKE_MS 2000
#define WAKE_MILD_MS 300
#define CROSSINGS 24
#define CROSSINGS_OF_CROWD 200 /* a window takes a few calls */

/* The interval at which a waiter that cannot subscribe sends its request. */
#define POLL_MS 1000

/* The time without traffic after which PING is sent on the connection of a subscription. */
#define LISTEN_MS 3000

/* After these faults a client may use a dead connection, or wait for one, long after the
 * end of the fault: until PING or the kernel reports it. */
static bool is_found_out_late(int64_t kind)
{
    switch (kind) {
    case FAULT_DELAY:
    case FAULT_HOLD_BACK:
    case FAULT_HALF_OPEN:
    case FAULT_REFUSE:
    case FAULT_IGNORE:
    case FAULT_RESOLVER:
    case FAULT_FREEZE:
    case FAULT_LAG:
    case FAULT_FAILOVER:
    case FAULT_MOVE_SLOT:
    case FAULT_ACL:
    case FAULT_DENY:
    case FAULT_PASSWORD:
    case FAULT_SCANT:
    case FAULT_UNSAVED:
    case FAULT_DEMOTE:
    case FAULT_POWER:
        return true;
    default:
        return false;
    }
}

/* How long the messages of a waiter, or to it, are under way. */
static int64_t crossings_ms(const struct plan_head *h)
{
    return (h->is_crowd ? CROSSINGS_OF_CROWD : CROSSINGS) *
           (h->latency_us + h->jitter_us) / 1000;
}

/* In a scenario of messages no process is stopped and no server is down: only its faults,
 * and the time after them, delay a message. */
static bool is_of_messages(const struct plan_head *h)
{
    return h->scenario == SCENARIO_MESSAGES || h->scenario == SCENARIO_RETURNS;
}

/* Without other faults. The crossings of a request may take longer than the request
 * timeout; it is then repeated after POLL_MS. A redirected request also connects and sends
 * its script, and may take twice that time. */
static int64_t calm_ms(const struct plan_head *h)
{
    int64_t ms = crossings_ms(h) + 2 * h->lag_us / 1000;

    return ms > h->request_ms ? ms + 2 * (h->request_ms + POLL_MS) : ms;
}

/* An idle client detects the loss of its master at its next request: a command without a
 * reply for 250 ms causes a request for the map. */
#define FIND_OUT_MS 500

/* An idle connection that stays half open is detected by the first request on it; a waiter
 * repeats its request POLL_MS later. */
static int64_t meet_dead_ms(const struct plan *plan)
{
    for (size_t i = 0; i < plan->fault_count; i++)
        if (plan->faults[i].kind == FAULT_HALF_OPEN && plan->faults[i].n != 0)
            return plan->head.request_ms + POLL_MS;
    return 0;
}

/* After a failover or a move, all follow as soon as the servers agree: cluster.md. */
#define FOLLOW_MS 1500

/* A connection is replaced when it was silent for this time while a reply was due: the
 * silence of a request and of a lease (link_rival.c, LINK-8). Twice as long, where the
 * last reply was slow; and once more if the next connection is dead as well (LINK-10). A
 * renewal that had no reply is sent again a little later (hf_lease_retry). After a silence,
 * the servers that name the master are queried first. */
#define DOUBT_MS 1000 /* doubt.h; no watchdog here is shorter than three times that */
#define RETRIES 48 /* a sixteenth of the third between renewals */

/* A new password is given half a second late; connections are tried again after a second
 * at most. */
#define CREDENTIALS_MS 3000

/* Connections are replaced after pauses of 0.1 to 2 s (REPLACE-2). */
#define SWITCHOVER_MS 4000

/* A proxy has no server for 1.5 s at most, and a request is repeated after 0.24 s at most. */
#define PROXY_MS 2000

#define MAP_MS 5000 /* the interval at which a client with subscriptions alone requests the map */

/* A client that finds no server at an announced address queries the other nodes, at once or after
 * 250 ms of silence. A node that redirects to itself is called again after pauses of up to 2 s
 * (REPLACE-2). */
#define DISAGREE_MS 4000

/* A name leads to a server again after 1.5 s at most. An attempt to connect to an address that
 * does not answer lasts for as long as the silence of a connection (LINK-10), and the next one
 * may be such. */
#define NAMES_MS 8000

/* A client notices a stopped master 250 to 500 ms after its request, and the round waits for it
 * a while. */
#define REPLACED_MS 2000
#define REPLACED_CAUSE_MS 1000 /* a call that begins later must succeed */

static int64_t silence_ms(const struct plan_head *h)
{
    int64_t ms = h->watchdog_ms / 6 < h->request_ms / 4 ? h->watchdog_ms / 6
                                                        : h->request_ms / 4;

    if (h->deployment == DEPLOY_SENTINEL && ms > DOUBT_MS * 3 / 4)
        ms = DOUBT_MS * 3 / 4;
    if (h->scenario == SCENARIO_CREDENTIALS)
        return 2 * h->credentials_ms + CREDENTIALS_MS + FOLLOW_MS;
    if (h->scenario == SCENARIO_SWITCHOVER)
        return SWITCHOVER_MS;
    if (h->scenario == SCENARIO_PROXY)
        return PROXY_MS;
    if (h->scenario == SCENARIO_DISAGREE)
        return DISAGREE_MS;
    if (h->scenario == SCENARIO_NAMES)
        return NAMES_MS;
    if (h->scenario == SCENARIO_REPLACED)
        return REPLACED_MS;
    if (h->scenario != SCENARIO_SILENCE)
        return 0;
    return 3 * (ms + (h->replicas ? h->replicas_ms : 0)) + h->watchdog_ms / RETRIES + 1 +
           (h->deployment > DEPLOY_REPLICAS ? FOLLOW_MS : 0);
}

static int64_t wake_ms(const struct plan *plan)
{
    const struct plan_head *h = &plan->head;

    if (h->is_crowd)
        return WAKE_MS;
    if (silence_ms(h) > 0)
        return WAKE_MILD_MS + 2 * crossings_ms(h) + silence_ms(h) +
               (h->scenario == SCENARIO_DISAGREE ? MAP_MS : LISTEN_MS);
    if (h->profile != PROFILE_MILD && plan_is_calm(plan))
        return WAKE_MILD_MS + calm_ms(h) + (plan_has_fault(plan, FAULT_FAILOVER) ? FIND_OUT_MS : 0);
    if (h->profile == PROFILE_MILD || is_of_messages(h))
        return WAKE_MILD_MS + crossings_ms(h) + meet_dead_ms(plan);
    return WAKE_MS;
}

/* After a failover or a move, all clients follow within 1.5 s after the servers agree
 * (cluster.md), and a waiter whose request had no reply repeats it after POLL_MS. */
static bool has_silent_failover(const struct plan *plan)
{
    for (size_t i = 0; i < plan->fault_count; i++)
        if (plan->faults[i].kind == FAULT_FAILOVER &&
            plan->faults[i].n & (FAILOVER_SERVES_ON | FAILOVER_STOPS))
            return true;
    return false;
}

static int64_t follow_ms(const struct plan *plan)
{
    return FOLLOW_MS + POLL_MS + (has_silent_failover(plan) ? MAP_MS : 0);
}

/* Refuses nothing else than to subscribe: a waiter polls meanwhile. */
static bool refuses_to_subscribe(const struct plan_fault *f)
{
    return f->kind == FAULT_ACL ||
           (f->kind == FAULT_DENY && (f->n == DENIED_SUBSCRIBE || f->n == DENIED_SSUBSCRIBE));
}

/* The connection of a subscription is replaced LISTEN_MS and a request timeout after it
 * became silent (guarantees.md, 8), the one of requests at the next poll; a connection or
 * subscription that was refused is tried again after POLL_MS. */
static int64_t settle_of_messages_ms(const struct plan *plan, int64_t look_ms)
{
    int64_t ms = 2 * plan->head.request_ms + 2 * WAKE_MS;

    for (size_t i = 0; i < plan->fault_count; i++)
        if (is_found_out_late(plan->faults[i].kind) &&
            !refuses_to_subscribe(&plan->faults[i]) &&
            plan->faults[i].kind != FAULT_REFUSE)
            return ms + look_ms + LISTEN_MS;
    return ms;
}

static int64_t settle_ms(const struct plan *plan, int64_t look_ms)
{
    const struct plan_head *h = &plan->head;

    if (plan_is_calm(plan))
        return follow_ms(plan) + calm_ms(h);
    if (is_of_messages(h))
        return settle_of_messages_ms(plan, look_ms);
    for (size_t i = 0; i < plan->fault_count; i++)
        if (is_found_out_late(plan->faults[i].kind))
            return 2 * look_ms + BOUNDS_SETTLE_MS;
    return 2 * h->request_ms + 2 * WAKE_MS;
}


/* P12: a call that no fault affects and that does not wait for a holder ends within this
 * time. */
static int64_t answer_ms(const struct plan_head *h)
{
    return 50 + crossings_ms(h) + silence_ms(h) +
           (h->replicas != 0 ? BOUNDS_WAITS * h->replicas_ms : 0);
}

/* A client that does not know the master and queries a stopped server first queries the
 * next one after this time (round.h). */
#define STAGGER_MS 100

static int64_t round_ms(const struct plan *plan)
{
    int64_t ms = 0;

    for (size_t i = 0; i < plan->fault_count && plan->head.deployment > DEPLOY_REPLICAS; i++)
        if (plan->faults[i].kind == FAULT_FREEZE)
            ms += STAGGER_MS;
    return ms;
}

/* P12: how long after a fault a call may fail because of it. A connection that is
 * half open for good is detected by the first request. */
static int64_t cause_ms(const struct plan *plan)
{
    const struct plan_head *h = &plan->head;

    if (h->scenario == SCENARIO_REPLACED)
        return REPLACED_CAUSE_MS;
    if (answer_ms(h) > h->request_ms) /* calls fail because links are slow */
        return HISTORY_NONE;
    return meet_dead_ms(plan) > 0 ? UNTIL_USED_MS
                                  : 2 * h->request_ms + 2 * POLL_MS;
}

/* An acquire that waits for replicas delays the later ones on its connection, which may
 * be a dozen (lock.h): then no wait for a lock has a bound. */
static bool are_replicas_slow(const struct plan_head *h)
{
    return h->replicas != 0 && h->lag_us > 1000 * WAKE_MS / BOUNDS_WAITS;
}

/* The crossings of a handshake: connect, PING, HELLO, CLIENT, KILL. If the connect timeout
 * is shorter, a client may never connect. */
#define CROSSINGS_OF_HANDSHAKE 10

bool bounds_is_handshake_slow(const struct plan_head *h)
{
    return CROSSINGS_OF_HANDSHAKE * (h->latency_us + h->jitter_us) / 1000 > h->request_ms;
}

static bool has_spinners(const struct plan *plan)
{
    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++) {
        int64_t family = plan_family(plan, i);

        if (family == FAMILY_SPIN || family == FAMILY_MIXED_SPIN || family == FAMILY_VALUE)
            return true;
    }
    return false;
}

/* The same for a slot that moves, perhaps just after the grant; or seems to move, because another
 * node was named. */
#define BELIEF_AFTER_MOVE 1

static bool moves_slots(const struct plan *plan)
{
    for (size_t i = 0; i < plan->fault_count; i++) {
        const struct plan_fault *f = &plan->faults[i];

        if (f->kind == FAULT_DISAGREE &&
            (f->n & DISAGREE_MOVES || DISAGREE_WAY(f->n) == DISAGREE_OTHER_NODE ||
             DISAGREE_WAY(f->n) >= DISAGREE_OLD_MAP))
            return true;
    }
    return false;
}

/* The other bounds are those of guarantees.md: a waiter polls at each third of the
 * watchdog timeout, and each second without a subscription; a loss is reported at the next
 * renewal. Each of these requests takes at most the request timeout. */
struct history_header bounds_of(const struct plan *plan)
{
    const struct plan_head *h = &plan->head;
    struct history_header b;

    history_header_init(&b);
    b.look_ms = h->watchdog_ms / 3 + 2 * h->request_ms + 1000;
    b.wake_ms = are_replicas_slow(h) || bounds_is_handshake_slow(h)
                    ? HISTORY_NONE
                    : wake_ms(plan) + (h->is_deaf ? POLL_MS : 0);
    b.settle_ms = settle_ms(plan, b.look_ms);
    b.tell_ms = h->watchdog_ms / 3 + 2 * h->request_ms + 1000;
    b.slack_ms = 2;
    b.cause_ms = cause_ms(plan);
    b.answer_ms = answer_ms(h) + round_ms(plan);
    b.belief = h->scenario == SCENARIO_SWITCHOVER ? BELIEF_AFTER_SWITCH
               : moves_slots(plan)                ? BELIEF_AFTER_MOVE
                                                  : 95;
    b.passed = has_spinners(plan) || h->is_deaf || h->is_crowd ? PASSED_SPINNING : PASSED;
    b.repeat_ms = REPEATED_MS;
    if (b.cause_ms == HISTORY_NONE)
        b.judged &= ~(1u << 12);
    return b;
}

