/* A plan: what a run of the simulation is to do. It is data: a deployment,
 * programs with their clocks, locks, operations and faults, each with its time.
 * It is drawn from a seed, and can be printed, read again, and shrunk: leaving
 * out an operation or a fault moves none of the others. */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lock/lock.h"

#define PLAN_PROGRAMS_MAX 24
#define PLAN_PROGRAMS_DRAWN 6 /* except in crowds */
#define PLAN_LOCKS_MAX 160
#define PLAN_LOCKS_DRAWN 4 /* and multi-locks of these */
#define PLAN_MEMBERS_MAX 7 /* of a quorum */
#define PLAN_OPS_MAX 400
#define PLAN_OPS_DRAWN 320
#define PLAN_FAULTS_MAX 32
#define PLAN_OWNERS 3 /* of each program: 1 to 3 */

/* The number of faults. */
enum plan_profile {
    PROFILE_MILD,   /* no faults, and enough time for everything: each
                    call must end with HF_OK */
    PROFILE_SINGLE, /* one fault */
    PROFILE_WILD,   /* many */
    PROFILE_CLEAR,  /* no faults, and any calls: P12 explains each failure */
    PROFILES
};

enum plan_deployment {
    DEPLOY_STANDALONE,
    DEPLOY_REPLICAS, /* a master and two replicas; a WAIT after each
                        grant */
    DEPLOY_SENTINEL,
    DEPLOY_CLUSTER, /* notifications by PUBLISH */
    DEPLOY_SHARDED, /* a cluster, notifications by SPUBLISH */
    DEPLOYMENTS_DRAWN,
    DEPLOY_INDEPENDENT = DEPLOYMENTS_DRAWN, /* `masters` independent servers,
                                               for quorums */
    DEPLOY_HOSTS, /* a master and two replicas, all in the URL, and no sentinel */
    DEPLOYMENTS
};

/* What the operations and faults are about (scenario.h). */
enum plan_scenario {
    SCENARIO_NONE, /* all at random */
    SCENARIO_UNANSWERED,
    SCENARIO_OVERTAKEN,
    SCENARIO_RENEWING,
    SCENARIO_SLOTS,
    SCENARIO_FAILOVER,
    SCENARIO_MESSAGES,
    SCENARIO_RETURNS,
    SCENARIO_CROSSING,
    SCENARIO_UNHEARD,
    SCENARIO_LATE,
    SCENARIO_FORMER,
    SCENARIO_QUEUE,
    SCENARIO_COUNTED,
    SCENARIOS_DRAWN,
    SCENARIO_REDIRECT = SCENARIOS_DRAWN, /* only in the worlds of these names */
    SCENARIO_SILENCE,
    SCENARIO_CREDENTIALS,
    SCENARIO_SWITCHOVER,
    SCENARIO_PROXY,
    SCENARIO_DISAGREE,
    SCENARIO_NAMES,
    SCENARIO_REPLACED,
    SCENARIO_OUTAGE,
    SCENARIOS
};

/* Which kinds of handles a name has. */
enum plan_family {
    FAMILY_PLAIN,
    FAMILY_NONREENTRANT,
    FAMILY_MIXED, /* plain and non-reentrant: side 0, 1 */
    FAMILY_FENCED,
    FAMILY_READ_WRITE, /* read and write: side 0, 1 */
    FAMILY_FAIR,
    FAMILY_MIXED_FAIR, /* fair and non-reentrant fair: side 0, 1 */
    FAMILY_VALUE,      /* drawn in place of a non-reentrant one */
    FAMILY_SPIN,       /* of a plain one */
    FAMILY_MIXED_SPIN, /* of a mixed one: spin and non-reentrant: side 0, 1 */
    FAMILY_PERMIT,     /* in place of a plain or non-reentrant one */
    FAMILY_SEMAPHORE,  /* the same */
    FAMILY_LATCH,
    /* Of these, `inner` is the family on the servers. */
    FAMILY_QUORUM,
    FAMILY_MULTI,    /* of the locks in `members`; there is no such key */
    FAMILY_ELECTION, /* a candidate, or a holder of that lock: side 0, 1 */
    FAMILY_BY_OWNER, /* no name is of it: holds that outlive their clients, of names of
                        the other families */
    FAMILY_KILL,     /* nor of these: worlds of plan_worlds.c, with names of the other
                        families */
    FAMILY_REDIRECT,
    FAMILY_CROWD,
    FAMILY_SILENCE,
    FAMILY_CREDENTIALS,
    FAMILY_PUSH,
    FAMILY_HOSTS,
    FAMILY_SWITCHOVER,
    FAMILY_PROXY,
    FAMILY_DISAGREE,
    FAMILY_QUEUES,
    FAMILY_MESSAGES,
    FAMILY_NAMES,
    FAMILY_LABELS,
    FAMILY_OUTAGE,
    FAMILIES
};
#define FAMILIES_DRAWN FAMILY_VALUE

enum plan_verb {
    OP_ACQUIRE, /* when granted, released after hold_ms */
    OP_RELEASE, /* one acquisition of any operation */
    OP_FORCE,   /* `n` 1: only if its owner here holds it */
    OP_INSPECT,
    OP_CANCEL, /* this owner's calls on this lock */
    OP_CLOSE,  /* the client, which has hold_ms for its pending calls; a new
                  one follows */
    OP_FREE,   /* the same, without closing it first */
    OP_SET,    /* makes the semaphore or the latch, if there is none */
    OP_GIVE,   /* counts a latch down */
    OP_REDUCE, /* removes n permits of a semaphore, and adds them hold_ms later, if it exists */
    OP_DRAIN,  /* the same with all that are available */
    OP_DELETE, /* a semaphore or latch, or a semaphore with the name of expirable permits */
    OP_RESIZE, /* expirable permits: to n, those in use included */
    OP_AVAILABLE, /* how many expirable permits are available */
    OP_TOKEN,  /* the latest token of a lock */
    VERBS_DRAWN,
    OP_RENEW_OWNER = VERBS_DRAWN, /* by the owner's text: the hold of a client that has
                                     died, or (n odd) of another program */
    OP_RELEASE_OWNER,
    OP_LABEL, /* of a holder of the lock, is read */
    OP_EXTEND, /* this owner's hold, to lease_ms from then */
    VERBS
};

/* Of plan_head.labels. */
enum plan_labels {
    LABELS_NONE,
    LABELS_ALL,
    LABELS_SOME,  /* every other program has none */
    LABELS_DENIED /* the account may not use the keys of labels */
};

/* `n` of OP_FORCE and OP_CLOSE: not before its owner here holds the lock, or its client
 * has no call and no hold. */
#define PLAN_N_WHEN_READY 2

enum plan_flags {
    FLAG_KEEP_UNREPLICATED = 1,
    FLAG_RELEASE_IN_LOST = 2, /* on_lost releases the lost hold */
    FLAG_ACQUIRE_IN_DONE = 4, /* once more, in the callback that grants it */
    FLAG_BY_ID = 8 /* of a permit that is renewed or released by its owner's text: by its id,
                      as Redisson returns it */
};

/* Operations and faults have numbers alone, so that one table prints and reads
 * them. Zero is each one's simplest value. */
struct plan_op {
    int64_t at_ms; /* since the start, as all times here */
    int64_t verb;
    int64_t program;
    int64_t lock;
    int64_t side;
    int64_t owner;
    int64_t wait_ms; /* as in hf_acquire_options, these three */
    int64_t lease_ms;
    int64_t max_hold_ms;
    int64_t hold_ms; /* -1: until the end */
    int64_t flags;
    int64_t n;
};

/* The kinds of faults. for_ms and n are members of struct plan_fault. */
enum plan_fault_kind {
    /* of the link from a program to a server; `to_server` is the direction, and
       `connection` the connection, 0: all of them, and the whole link */
    FAULT_DELAY,     /* each byte takes n ms longer, for for_ms */
    FAULT_HOLD_BACK, /* bytes are delayed until for_ms have passed */
    FAULT_CUT,       /* the connection ends after n more bytes */
    FAULT_RESET,     /* the connection is reset; (n 1) only at the client: the bytes
                        that it has sent arrive */
    FAULT_HALF_OPEN, /* bytes are lost for for_ms; then the connection is reset, or
                        (n 1) not */
    FAULT_REFUSE,    /* new connections are refused for for_ms; (n 1) accepted and closed */
    FAULT_IGNORE,    /* new connections are neither accepted nor refused, for for_ms */
    FAULT_RESOLVER,  /* names cannot be resolved, for for_ms */
    /* of a server */
    FAULT_FREEZE,  /* it is stopped, and continues after for_ms */
    FAULT_RESTART, /* it ends, and restarts after for_ms with its data */
    FAULT_FORGET,  /* it ends, and restarts after for_ms without its data */
    FAULT_LOADING,
    FAULT_BUSY,
    FAULT_FULL,    /* it is out of memory */
    FAULT_CROWDED, /* maxclients */
    FAULT_ACL,     /* the user may not run scripts; (n 1) not subscribe; (n 2) neither
                      CLIENT KILL nor INFO */
    FAULT_SCRIPTS, /* SCRIPT FLUSH */
    FAULT_KILL,    /* CLIENT KILL of all connections */
    FAULT_FLUSHALL,
    FAULT_LAG,       /* its replicas receive nothing, for for_ms */
    FAULT_FAILOVER,  /* the master of its shard dies, stops or continues, and a replica is
                        promoted; n: how (failover.h) */
    FAULT_MOVE_SLOT, /* the slot of `lock` moves to another master within for_ms */
    /* of a key */
    FAULT_DELETE,
    FAULT_RETYPE,  /* a string replaces it, for for_ms */
    FAULT_SHORTEN, /* its TTL becomes n ms */
    FAULT_PEER,    /* a program that behaves as Redisson acquires it, and holds it for
                      for_ms; (n 1) waits in the queue, and keeps it until it dies */
    /* of a program */
    FAULT_SUSPEND,      /* it does not run for for_ms */
    FAULT_CLOCK,        /* the rate of its clock becomes n ppm, within the assumption */
    FAULT_CLOCK_BEYOND, /* the same beyond the assumption, for for_ms */
    FAULT_MEMORY,       /* its n-th allocation from now fails */
    /* of a server; only plan_rare.c draws these and the following kinds */
    FAULT_DENY,     /* one command is refused: n, an index of effects.h */
    FAULT_PASSWORD, /* new connections need a password; (n 1) the others are killed */
    FAULT_SCANT,    /* NOREPLICAS */
    FAULT_UNSAVED,  /* MISCONF */
    FAULT_EVICT,    /* a key without permits is removed, as by maxmemory-policy */
    FAULT_OUTPUT,   /* connections with subscriptions are closed */
    FAULT_IDLE,     /* connections that were idle for n ms are closed */
    FAULT_DEMOTE,   /* a master becomes a replica, and its clients stay connected */
    /* of a program; drawn by plan_draw_rarest */
    FAULT_DIE,   /* kill -9; for_ms later it restarts */
    FAULT_STALL, /* its next write to a server, or (n 1) its next return from a callback,
                    takes for_ms: it is stopped there, in the middle of a turn */
    /* of a server; drawn by plan_draw_clocks */
    FAULT_SERVER_CLOCK, /* its clock is set forward or back by n ms */
    FAULT_SERVER_DRIFT, /* the rate of its clock becomes n ppm, within the assumption; drawn
                           by plan_draw_drift */
    /* of a server; drawn by plan_draw_power */
    FAULT_POWER, /* its writes no longer reach the disk; the power fails n ms later; for_ms
                    after the beginning it restarts with the data on the disk. If n is odd,
                    its connections are not closed then */
    FAULT_ONE_SERVER, /* of independent servers: for for_ms it seems to be the same as the n-th
                         after it; its connections are closed before and after that */
    /* only of worlds. The client must cope: the history has no line for these */
    FAULT_SWALLOW, /* a connection that had replies swallows bytes from now on, and (n 2)
                      so does the next connection: one way, or (n 1) both ways; its effect
                      is counted for_ms later */
    FAULT_ROTATE,  /* all servers get a new password, which programs receive for_ms later;
                      (n 1) all connections are also closed; (n 2) programs receive it at
                      once, and the former one ends for_ms later */
    FAULT_SWITCHOVER, /* of a server and its replicas behind one address: the master becomes
                         a replica, and its clients stay connected; a replica that has all
                         its data becomes the master; n ms later the address leads there.
                         Its effect is counted for_ms later */
    FAULT_PROXY, /* the proxy before a server replies to scripts with an error of its own: it
                    did not send them, or (n 1) it did, and lost their replies */
    FAULT_DISAGREE, /* nodes of a cluster announce wrong addresses or an old map; n: which,
                       and the bits of disagree.h */
    FAULT_NAMES, /* the name of a server cannot be resolved, or leads to another address; n:
                    how (names.h) */
    FAULT_REPLACE, /* of a master without sentinels: it stops, and a replica that has all its data
                      becomes the master at once; for_ms later it continues, as a replica */
    FAULT_KINDS
};
#define FAULT_KINDS_COMMON FAULT_DENY
#define FAULT_KINDS_RARE FAULT_DIE
#define FAULT_KINDS_RAREST FAULT_SERVER_CLOCK
#define FAULT_KINDS_OF_WORLDS FAULT_SWALLOW
#define PLAN_STEP_MAX_MS 20000

#define PLAN_ACL_SUBSCRIBE 1
#define PLAN_ACL_KILL 2
#define PLAN_SWALLOW_BOTH 1
#define PLAN_SWALLOW_NEXT 2

struct plan_fault {
    int64_t at_ms;
    int64_t kind;
    int64_t program;
    int64_t server;
    int64_t lock;
    int64_t to_server;
    int64_t connection;
    int64_t n;
    int64_t for_ms;
};

struct plan_program {
    int64_t offset_ms; /* of its clock */
    int64_t ppm;       /* its rate, within what is assumed */
};

struct plan_lock {
    int64_t family;
    int64_t name; /* an index: plan_lock_name */
    int64_t permits; /* of a semaphore; what a latch counts from */
    int64_t has_tokens; /* HF_WITH_TOKEN; not its readers */
    int64_t inner;      /* the family of a quorum's members, of an election's lock */
    int64_t members;    /* of a multi-lock: bit n is lock n */
};

struct plan_head {
    int64_t seed; /* of the dice of the world; a uint64_t */
    int64_t profile;
    int64_t scenario;
    int64_t deployment;
    int64_t version; /* of the servers: an index */
    int64_t protocol;
    int64_t masters;
    int64_t length_ms; /* operations and faults begin before that */
    int64_t latency_us;
    int64_t jitter_us;
    int64_t lag_us;      /* from a master to its replicas */
    int64_t is_deaf; /* it may not subscribe */
    int64_t wakes_both; /* sharded=both in the URL of every other program of a
                           sharded cluster; all else publishes and listens in
                           the plain way alone (1), or in the sharded one (2) */
    int64_t tracks; /* tracking=on in every URL; 2: servers send each push twice */
    int64_t has_long_leases;
    int64_t keeps_alive; /* a proxy answers keepalives: no kernel finds a
                            connection dead */
    int64_t piece_max; /* the longest piece in which bytes arrive; 0: as they
                          were written */
    int64_t watchdog_ms;
    int64_t request_ms; /* request_timeout_ms */
    int64_t replicas;   /* as in hf_client_options */
    int64_t replicas_ms;
    int64_t retains_tokens; /* token_retention_ms: the loss of a counter has no effect */
    int64_t is_crowd;       /* hundreds of calls at one moment (plan_crowd.c) */
    int64_t window;         /* bytes that a connection to a server takes before it
                               reads; 0: a megabyte */
    int64_t output_max;     /* as in hf_client_options; 0: the default */
    int64_t idle_check_ms;  /* the same */
    int64_t has_passwords;  /* of servers, which programs get by their callbacks */
    int64_t aligns_renewals; /* WATCHDOG-6 with few holds */
    int64_t credentials_ms; /* after this time */
    int64_t labels; /* which programs have one: enum plan_labels */
    int64_t nat; /* nodes announce addresses that are mapped by the URL (1) or by a
                    callback (2) */
};

struct plan {
    struct plan_head head;
    size_t program_count, lock_count, op_count, fault_count;
    struct plan_program programs[PLAN_PROGRAMS_MAX];
    struct plan_lock locks[PLAN_LOCKS_MAX];
    struct plan_op ops[PLAN_OPS_MAX]; /* by time, as are the faults */
    struct plan_fault faults[PLAN_FAULTS_MAX];
};

/* plan_draw - draws the plan of a seed, which is the same each time. */
void plan_draw(struct plan *plan, uint64_t seed);

/* plan_draw_rare - adds faults from FAULT_DENY on. This function and the next four each use
 *                    their own random stream.
 * plan_draw_rarest - adds faults from FAULT_DIE on.
 * plan_draw_deaths - adds FAULT_DIE of owners of sets.
 * plan_draw_clocks, plan_draw_drift, plan_draw_power - add FAULT_SERVER_CLOCK,
 *                FAULT_SERVER_DRIFT, FAULT_POWER.
 * plan_add_fault   - adds a fault of this kind, near an operation or a fault. */
void plan_draw_rare(struct plan *plan, uint64_t seed);
void plan_draw_rarest(struct plan *plan, uint64_t seed);
void plan_draw_deaths(struct plan *plan, uint64_t seed);
void plan_draw_drift(struct plan *plan, uint64_t seed);
void plan_draw_clocks(struct plan *plan, uint64_t seed);
void plan_draw_power(struct plan *plan, uint64_t seed);
void plan_add_fault(struct plan *plan, int64_t kind, uint64_t *dice);

/* plan_is_clear  - draws whether the plan of this seed, unless it is mild, is PROFILE_CLEAR.
 * plan_mild_last - adds to a mild plan, after all else was drawn. */
bool plan_is_clear(uint64_t seed);
void plan_mild_last(struct plan *plan, uint64_t seed);

/* plan_world_head - sets the profile and the scenario of a world, if one is selected with
 *                   --family.
 * plan_world_last - draws its faults, after all others; before the names get their families. */
void plan_world_head(struct plan_head *head, uint64_t seed);
void plan_world_last(struct plan *plan, uint64_t seed);

/* plan_crowd_head, _last - the same for the world `crowd`. */
void plan_crowd_head(struct plan_head *head, uint64_t *dice);
void plan_crowd_last(struct plan *plan, uint64_t *dice);

/* plan_only - selects a family: in plans that are drawn from now on, all names are of this
 *             family, except those of scenarios of queues. "read-write" is also accepted for
 *             "read_write". False: it is not the name of a selectable family.
 * plan_only_number - the same by number; -1: all families. plan_only_is returns the number.
 * plan_is_selectable - returns false for families that are two kinds under one name. */
bool plan_only(const char *family);
void plan_only_number(int64_t family);
int64_t plan_only_is(void);
bool plan_is_selectable(int64_t family);

/* plan_print - writes the plan as text, a line for each part, without members that are 0.
 * plan_read  - reads the output of plan_print; false, after a line to stderr, if it is not a
 *              plan. */
void plan_print(const struct plan *plan, FILE *to);
bool plan_read(struct plan *plan, FILE *from);

/* plan_family   - of the lock on the servers.
 * plan_has_fault - is there a fault of this kind?
 * plan_is_set   - is it a quorum, a multi-lock or an election?
 * plan_is_cluster - are locks in slots there?
 * plan_kind     - the kind of the handle that an operation uses; _of_handle: with
 *                 the flag for tokens.
 * plan_lock_name - the lock's name (plan_names.c).
 * plan_name_has_two_slots - is its channel in another slot than its key?
 * plan_may_have_two_keys - may its scripts name more keys than one here? In a
 *                 cluster these must be in one slot (docs/kinds.md).
 * plan_rename   - gives some locks unusual names, or two locks names that share
 *                 a channel.
 * plan_needs_two_keys - is it a lock whose scripts have more keys than one?
 * plan_has_queue - is it a fair lock?
 * plan_is_counted - is it a semaphore or a latch, which have no holders?
 * plan_has_permits - is it one of these, or a semaphore of expirable permits?
 * plan_*_name   - words of the text. */
#define PLAN_NAMES_DRAWN 8 /* plan_rename gives the others */
#define PLAN_NAME_LONGEST 24 /* of 1,000 bytes */
#define PLAN_NAMES_MANY 25   /* from here on: names with one hash tag */
#define PLAN_NAMES (PLAN_NAMES_MANY + PLAN_LOCKS_MAX)
#define PLAN_KEY_MAX 1536 /* bytes of any key or channel of such a name */
#define PLAN_KIND_SEMAPHORE ((enum hf_lock_kind)(HF_KIND_VALUE + 1))
#define PLAN_KIND_LATCH ((enum hf_lock_kind)(HF_KIND_VALUE + 2))
#define PLAN_KINDS (HF_KIND_VALUE + 3)
int64_t plan_family(const struct plan *plan, int64_t lock);
bool plan_has_fault(const struct plan *plan, int64_t kind);
bool plan_is_set(const struct plan *plan, int64_t lock);
bool plan_is_cluster(int64_t deployment);
enum hf_lock_kind plan_kind(const struct plan *plan, int64_t lock,
                            int64_t side);
enum hf_lock_kind plan_kind_of_handle(const struct plan *plan, int64_t lock,
                                      int64_t side);
bool plan_needs_two_keys(const struct plan *plan, int64_t lock);
bool plan_has_queue(const struct plan *plan, int64_t lock);
bool plan_is_counted(const struct plan *plan, int64_t lock);
bool plan_has_permits(const struct plan *plan, int64_t lock);
const char *plan_lock_name(const struct plan *plan, int64_t lock);
bool plan_name_has_two_slots(const struct plan *plan, int64_t lock);
bool plan_may_have_two_keys(const struct plan *plan, int64_t lock);
void plan_rename(struct plan *plan, uint64_t seed);
const char *plan_fault_name(int64_t kind);
const char *plan_verb_name(int64_t verb);
const char *plan_family_name(int64_t family);
const char *plan_deployment_name(int64_t deployment);

/* plan_has_sides - has a lock of this family two sides?
 * plan_can_be    - does this fault make sense there?
 * plan_lasts     - does it last for for_ms, or is it done at once?
 * plan_fault_world - the family of plans in which it happens; -1: any.
 * plan_kinds_of  - which faults plans of this family (-1: of all families) have so often that a
 *                  run of 3,000 seeds must meet them.
 * plan_is_calm   - do links, programs and keys stay undisturbed? Slots move,
 *                  masters are replaced, servers stop, and nothing else. */
bool plan_has_sides(int64_t family);
bool plan_lasts(int64_t kind);
int64_t plan_fault_world(int64_t kind);
void plan_kinds_of(int64_t family, bool can_have[FAULT_KINDS]);
bool plan_is_calm(const struct plan *plan);
bool plan_can_be(int64_t kind, int64_t deployment);

#endif
