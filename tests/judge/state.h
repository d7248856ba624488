/* What the judge knows at one moment of a history: parties, locks, holds, calls
 * under way. It only keeps; judge.c changes it as lines say, properties.c finds
 * fault with it. Private to the judge. */
#ifndef CHECK_STATE_H
#define CHECK_STATE_H

#include "tests/judge/judge.h"

#define PARTIES_MAX 65536       /* clients, or servers (history.h: source) */

/* A line that is remembered; line 0: none. */
struct moment {
    int64_t us;
    size_t line;
};

/* Whom a kind excludes. Plain: everybody. Read: all but readers. Write: all but the
 * same owner as a reader. Permit: others, if as many hold one as there are. */
enum hold_class { CLASS_PLAIN, CLASS_READ, CLASS_WRITE, CLASS_PERMIT,
                  CLASS_SEMAPHORE, CLASS_LATCH };

/* Why an owner may believe in what is not so, and the line that says it. */
enum excuse_reason {
    EXCUSE_NONE,
    EXCUSE_TAKEN_AWAY,          /* deleted, forced, forgot; released late, by a dead client */
    EXCUSE_FAILOVER,            /* a new master has no such hold, or ends it earlier */
    EXCUSE_OLD_MASTER,          /* granted by a server that had been replaced */
    EXCUSE_SHORTENED            /* by a peer, by hand, or late, by a dead client */
};

struct excuse {
    enum excuse_reason reason;
    struct moment at;
};

/* Faults that touch a client, a lock, or all. */
struct trouble {
    int open;                   /* that have begun, and not ended */
    struct moment last;         /* of the latest one; line 0: there was none */
};

/* Faults of one client at one server; 0: of all. Members of quorums are judged by these. */
struct spot {
    uint32_t client, server;
    struct trouble trouble;
};

struct party {
    struct history_source source;
    char id[80];                /* of a client: its holds' names begin so */
    bool is_suspended;
    struct moment stopped, went;
    bool is_replica;            /* servers */
    struct moment replaced;     /* by a new master */
    uint32_t first;             /* the server whose data it took over, directly or not,
                                   when it became a master; 0: its own */
    int64_t ppm;
    struct moment clock;        /* the last line of its clock */
    struct moment ending;       /* it has been asked to close, or to be freed */
    struct trouble trouble;
};

/* P12: what a server had of a lock while an inspection was under way. */
struct sight;

/* A client that has died, or begun again with another id. */
struct gone {
    char id[80];
    struct moment at;
};

/* One server's record of a hold. */
struct record {
    struct record *next;
    uint32_t server;
    int64_t count;
    int64_t until_us;
    struct moment last;         /* the held line that said so */
    bool is_peers;
};

/* How many permits there are, says one server. */
struct stock {
    struct stock *next;
    uint32_t server;
    int64_t n;                  /* or NONE */
    int64_t until_us;           /* then the key expires; or NONE */
    struct moment last;
    struct moment present;      /* since then it has been more than 0 */
};

/* The first waiter of a fair lock's queue at one server. */
struct head {
    struct head *next;
    uint32_t server;
    struct history_text hold;   /* empty: the queue is empty */
};

struct lock;
struct request;

struct hold {
    struct hold *next;          /* of its lock */
    struct lock *lock;
    enum hold_class class;
    struct history_text owner, name;    /* name: of this hold, or empty */

    /* Servers. */
    struct record *records;
    struct moment granted;      /* its first held line since nobody had it */
    struct moment last_held;
    int64_t last_until_us;      /* by that line, or what it was before a peer, or
                                   an operator, made it shorter */
    bool is_short;              /* one of these made it shorter than last_until_us */
    uint32_t last_server;       /* that wrote it */
    struct moment ruled;        /* its last one by a server that decided */
    uint32_t ruled_by;          /* which one */
    struct excuse excuse;       /* since that line */
    struct moment beside;       /* line 0, or that first held line, while another
                                   server had the lock for another owner */
    struct moment taken;        /* it was taken away, and no call that its owner began
                                   later has ended well */
    struct moment back;         /* the failover to a server that alone had it */
    int64_t old_master_until_us;    /* the latest end that a server gave it after
                                   it had been replaced; 0: none did */
    struct moment clock;        /* likewise: rates further apart than is assumed,
                                   or a jump */

    /* The client. */
    uint32_t client;            /* 0: unknown */
    int64_t tally;              /* acquires that ended well, less releases */
    int releasing;              /* releases under way */
    bool is_renewed;            /* acquired without a lease of its own */
    bool has_stray_lease;       /* an acquire with a lease had an unknown outcome, or was
                                   sent again because of a fault */
    int64_t until_us;           /* its belief; 0: none */
    int64_t greatest_until_us;  /* the latest end of its beliefs since it was acquired */
    struct moment believed;     /* the safe line that says so */
    struct moment believed_first;   /* and the one that began it */
    struct moment lost;         /* told */
    struct moment released;     /* the end of its last release, if it is certain */
    struct moment released_of_old; /* it was executed by a master that had been
                                   replaced: its successor knows nothing of it */
    struct moment unsure;       /* a call on it with an unknown outcome */
    struct moment died;         /* the client has, holding it */
    int64_t counted;            /* after quiet, says its client; or NONE */
    struct moment counted_at;

    int64_t token;              /* P8: the server's; 0: none */
    int64_t told_token;         /* and the client's */

    /* P12 (cause.h). */
    struct moment granted_by;   /* its last held line by a command of its owner */
    int64_t granted_until_us;   /* that line's end; 0: no such line */
    struct moment shortened;    /* the last line that made its end come earlier */
    int64_t lease_ms;           /* the shortest that a call has asked for since it
                                   began; 0: none */
    enum history_kind kind;     /* of the call that acquired it */
    bool is_watched, has_lease; /* acquired with lease=0; with a longer one */
    struct moment acquired;     /* the end of the call that acquired it */
    int64_t max_until_us;       /* its max_hold is over; NEVER; 0: not acquired */
    int64_t max_early_us;       /* it may be over: the client counts from the reply, which
                                   it may report later; of a set: that of a member */
    bool has_several_leases;    /* others held it by then: its end is not its own */
    bool is_of_set;             /* acquired as a member of a set */
    bool is_at_max;             /* it was told to be lost when max_hold was over */
    bool is_reported;           /* a violation of P12 names it already */
    bool is_lost_with_set;      /* the loss was that of another member of its set */
    int64_t room;               /* of a permit: the greatest number of permits that there
                                   were since it was granted */

    /* A loss that is to be told. */
    bool is_owed;               /* it is in judge.owed */
    int64_t owed_due_us;
    bool is_owed_of_set;        /* P2c: a set was taken away, and may be granted again */
    struct moment owed_since;
    bool has_successor;         /* and since then another owner was granted the lock */
    struct hold *owed_next;
};

/* A call under way. */
struct ask {
    struct ask *next, *prev;    /* of all */
    struct ask *chain;          /* in its bucket */
    struct ask *lock_next, *lock_prev;  /* of its lock, oldest first */
    uint32_t client;
    int64_t call;
    struct moment asked;
    struct moment clock;        /* the clock line that puts rates further apart
                                   than is assumed, or a jump, while it is under
                                   way: its belief is reckoned from before */
    enum history_op op;
    enum hold_class class;
    struct lock *lock;          /* or NULL */
    struct history_text owner, name;
    struct history_text place;  /* as which it stands in the server's queue */
    struct moment queued;       /* since this line; line 0: it does not */
    struct history_text set;    /* the set that it is a call of, or a part of such a call
                                   (history.h: of); or empty */
    bool is_part;               /* a part: observed, not asked */
    bool is_whole;              /* the call of the set */
    bool has_had_turn;          /* or its owner has, since then */
    bool is_fair;
    int64_t lease_ms, wait_ms;
    int64_t n;                  /* permits that it takes or gives back */
    int64_t due_us;             /* P7; NEVER */
    int64_t free_due_us;        /* P5; NEVER: the lock is not free for it */
    struct moment free_since;
    int64_t free_bound_ms;      /* and for how long it may be, then */
    int64_t token_before;       /* P8: the greatest that was told before it asked */
    struct moment token_before_at;

    /* P12 (cause.h). */
    enum history_kind kind;
    int64_t max_hold_ms;
    struct moment cancelled;
    bool was_barred;            /* at some moment since it was asked, something kept
                                   it from the lock */
    bool was_apart;             /* likewise, what it is to free or renew was not held */
    bool was_found;             /* likewise, a server had it that may have answered */
    int64_t lasted_until_us;    /* of a renewal: the latest end of the hold that it names */
    bool hears_of_bar;          /* an earlier call of its client was under way when it
                                   began, and had been kept from the lock */
    struct moment behind;       /* the end of the last release or earlier call of its owner,
                                   or earlier acquire of its client */
    struct moment freed;        /* what it is to free, since it was asked */
    struct sight *sights;       /* an inspection */
    int64_t passed;             /* later calls that were granted before it */
    bool was_missing, was_empty, was_there, was_so; /* P11: at some moment since it was asked,
                                   a server had no number; had nothing available; had a
                                   number; had that of the call */
    bool was_in_use;            /* likewise, an expirable permit was in use */
    bool is_reported;           /* a violation of P12 names it already */

    /* P12 of the call of a set (cause_set.c). */
    int64_t set_wait_ms;        /* its wait: wait_ms is 0, because P5 does not know when
                                   a set is free */
    bool has_touched, has_lost; /* a fault touched one of its parts; the hold of one had
                                   been lost */
    uint64_t touched, barred, gone; /* of a quorum: which members, by their places, a fault
                                   touched; were kept from it; were lost */
    uint64_t parts;             /* and of which members it has had parts */
    bool has_refused;           /* the owner of one had another hold of its lock */
    bool has_held;              /* of a release: the owner of one had acquired its lock */
};

struct lock {
    struct lock *chain;
    uint32_t hash;
    struct history_text name;
    struct hold *holds;
    struct ask *asks, *asks_last;
    const struct hold *barring; /* the one that last barred a call: it is looked at first */
    struct trouble trouble;
    uint32_t home;              /* the server that said something of it last */
    int64_t server_token;       /* P8: the greatest granted; 0: none */
    struct moment server_token_at;
    int64_t told_token;         /* P8: the greatest that an end has told */
    struct moment told_token_at;
    struct moment reset;        /* the server forgot them */
    struct history_text head;   /* of the queue of a fair lock; or empty */
    int64_t head_until_us;      /* its place is honoured */
    uint32_t head_server;       /* that said so */
    struct head *heads;         /* of each server's own queue */
    struct stock *stocks;
    struct request *requests; /* count.h */
    struct moment disturbed;    /* the last fault that changed a number */
    struct moment halved;       /* half of the semaphore has been deleted */
    struct moment unsure_force; /* a forced release that ended without an answer */
    struct moment unsure_renewal; /* likewise of a renewal that names a hold */
    int64_t permits;            /* as it was made, wherever it is now; 0: unknown */
    int64_t set_least, set_most; /* the numbers that calls have asked to set; most 0: none */
    struct history_text set;    /* that it is a member of; or empty */
    uint32_t at_server;         /* of a member of a quorum: the server of its name; or 0 */
    unsigned place;             /* which member of its set it is: 0, 1, ... */
    struct moment freed;        /* the last line that says that a server freed it */
    bool is_set;                /* a call named it as a set: its holds follow from those of
                                   the members */
};

#define SERVER_PPM_MAX 100000

struct judge {
    struct history_header header;
    struct moment now;
    struct party *clients, *servers;
    uint32_t clients_room, servers_room;
    struct lock **locks;        /* buckets */
    struct ask **calls;         /* buckets */
    size_t locks_count, locks_room, calls_count, calls_room;
    struct ask *asks;
    struct hold *owed;
    int64_t next_due_us;        /* nothing is overdue before */
    int64_t server_ppm;         /* the largest difference of a server's rate from true time,
                                   so far; at most SERVER_PPM_MAX */
    struct trouble trouble;     /* that touches all */
    struct spot *spots;
    size_t spots_count, spots_room;
    struct moment quiet, over;
    bool is_quiet;              /* since that line nothing was asked */
    bool has_beliefs;           /* there was a safe line, */
    bool has_forces;            /* a call that releases by force */
    struct gone *gone;          /* clients with an id that have died */
    size_t gone_count, gone_room;

    struct judge_violation *violations;
    size_t violations_count, violations_room;
    struct judge_violation unjudged;    /* what nobody wants to know */
    struct judge_stats stats;
    int64_t *leads;             /* the first LEADS_MAX */
    size_t leads_room;
};

#define LEADS_MAX (1 << 20)

void *must_have(void *memory);

/* state_party - of that source; NULL: its number is out of range.
 * state_client - of that number; of an unknown one, one that does nothing.
 * state_gone  - the client with its id is no more.
 * state_gone_of - the line that says so of the client whose id begins the hold's
 *               name; line 0: none does.
 * state_lock  - of that name; made, if there is none and `makes`.
 * state_hold  - likewise, of `lock`. Without the hold's name: the one of that
 *               owner and class that is believed in, acquired or on a server.
 * state_ask   - the call of that client and number, or NULL. */
struct party *state_party(struct judge *j, struct history_source source);
struct party *state_client(const struct judge *j, uint32_t client);
void state_gone(struct judge *j, struct party *p);
struct moment state_gone_of(const struct judge *j, const struct hold *hold);
struct lock *state_lock(struct judge *j, struct history_text name, bool makes);
struct hold *state_hold(struct lock *lock, enum hold_class class,
                        struct history_text owner, struct history_text name,
                        bool makes);
struct ask *state_ask(struct judge *j, uint32_t client, int64_t call);
struct ask *state_ask_add(struct judge *j, const struct history_event *e);
void state_ask_drop(struct judge *j, struct ask *ask);

/* state_is_set - did a call name it as a set, or is there a lock named as its member
 *              (history.h: name@sN)? */
bool state_is_set(const struct judge *j, const struct lock *lock);

/* state_record      - what `server` has of the hold, or NULL; made, if `makes`.
 * state_record_drop - it has it no more. */
struct record *state_record(struct hold *hold, uint32_t server, bool makes);
void state_record_drop(struct hold *hold, uint32_t server);

/* state_is_named - is it the hold that the call names? It may have no name except its
 *              owner's; a call without `hold` names any. */
bool state_is_named(const struct ask *ask, const struct hold *hold);

/* state_tidy - forgets the holds of a lock, and the lock, that nothing can be
 *              said of any more. */
void state_tidy(struct judge *j, struct lock *lock);
void state_free(struct judge *j);

/* state_decides - is this server's data what counts?
 * state_held    - the hold's record at a server that decides, or NULL. A permit that
 *               has lapsed is held no more, though nobody has taken it yet. */
bool state_decides(const struct judge *j, uint32_t server);
struct record *state_held(const struct judge *j, const struct hold *hold);

/* state_stock  - what `server` says of the permits; made, if there is nothing yet.
 * state_number_at - the number that `server` has, or NONE.
 * state_number_is_over - has the TTL of that number passed?
 * state_permits - how many there are at the server that decides, or NONE.
 * state_head   - the first waiter in `server`'s queue; made, if there is none yet. */
struct stock *state_stock(struct lock *lock, uint32_t server);
int64_t state_number_at(const struct lock *lock, uint32_t server);
bool state_number_is_over(const struct judge *j, const struct lock *lock, uint32_t server);
int64_t state_permits(const struct judge *j, const struct lock *lock);
struct head *state_head(struct lock *lock, uint32_t server);

/* A client that has not heard of a failover may still ask the former master, also when
 * that one has become a replica: two servers answer, each with its own data. So whatever
 * a server may have answered is looked at server by server.
 *
 * state_answers - may a client have an answer about the lock from that server? Not from
 *                 a replica that was no master before. It is the lock's home; or has a hold, a
 *                 number or a queue of the lock; or it is a former master of the home, or its
 *                 new one. */
bool state_answers(const struct judge *j, const struct lock *lock, uint32_t server);

/* state_owe   - from now on its loss is to be told, by `due_us`.
 * state_unowe - or not any more. */
void state_owe(struct judge *j, struct hold *hold, int64_t due_us);
void state_unowe(struct judge *j, struct hold *hold);

/* state_due - something falls due at `us`. */
void state_due(struct judge *j, int64_t us);

/* trouble_now   - does a fault touch the client, the lock or all?
 * trouble_since - has one, after that moment?
 * trouble_last  - the time of the latest one; NEVER_YET: there was none. */
#define NEVER_YET INT64_MIN
#define SET_MAX 64              /* members of a quorum whose faults are told apart */
bool trouble_now(const struct judge *j, uint32_t client,
                 const struct lock *lock);
bool trouble_since(const struct judge *j, uint32_t client,
                   const struct lock *lock, int64_t us);
int64_t trouble_last(const struct judge *j, uint32_t client,
                     const struct lock *lock);

/* trouble_spot - the faults of that client at that server; 0: of all. Made, if there are none.
 * trouble_of_member - has a fault touched the client's requests to that member of a quorum
 *                 since then? */
struct trouble *trouble_spot(struct judge *j, uint32_t client, uint32_t server);
bool trouble_of_member(const struct judge *j, uint32_t client, const struct lock *member,
                       int64_t since_us);

/* state_end_belief   - a belief that has ended is an excuse no longer.
 * state_is_excused   - may its owner believe in what is not so?
 * state_is_by_old_master - a server that had been replaced has granted what its
 *                      owner believes. */
void state_end_belief(const struct judge *j, struct hold *hold);
bool state_is_excused(const struct hold *hold);
bool state_is_by_old_master(const struct hold *hold);

bool text_is(struct history_text a, struct history_text b);
/* text_set - `to` becomes a copy; what it was is freed. */
void text_set(struct history_text *to, struct history_text from);
enum hold_class class_of(enum history_kind kind);

#endif
