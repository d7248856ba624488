/* Read-write locks as steps that two owners take, and the state of the server
 * that each step must leave: what WIRE 12 promises, whoever takes the step. The
 * same tables are run by holdfast's scripts alone, by Redisson alone, and by
 * both together.
 *
 * Leases are multiples of 100 s, and a TTL is shown as what it was set to if that
 * was less than 100 s ago: states can be compared as texts. */
#ifndef TEST_RW_STEPS_H
#define TEST_RW_STEPS_H

#include <stdbool.h>

#include "lock/lock.h"

struct server;

/* Verbs: read, write (one try, for so many seconds); unread, unwrite (one hold
 * less, a failure is "no"); force-read, force-write; and, done by the table:
 * expire (that hold key of the owner is deleted).
 * Answers: "ok" or "no".
 * States:  "free" or the mode; the lock's TTL; then of each owner its write holds
 *          (A!2), its read holds (A2), and its hold keys with their TTL (A:1=100).
 * `tells`: the payloads that are published; "1|": by ours 1, by Redisson none. */
struct rw_step {
    const char *does;           /* "A read 100" */
    const char *answer;
    const char *state;
    const char *tells;
};

#define RW_STEPS_MAX 12

struct rw_table {
    const char *what;
    struct rw_step steps[RW_STEPS_MAX];
};

extern const struct rw_table rw_tables[];
extern const int rw_tables_count;

/* One who takes steps. `act` returns "ok" or "no". */
struct rw_party {
    char owner[HF_OWNER_TEXT_MAX];      /* the field of its read holds */
    char writer[HF_OWNER_TEXT_MAX];     /* of its write holds */
    bool is_redisson;
    int times;                  /* how often each request is sent; 1 or more */
    const char *(*act)(struct rw_party *p, const char *verb, long lease_ms);
    struct server *server;
    const char *name;           /* the lock's */
    struct hf_client *client;   /* of the library */
    int thread;                 /* of a Redisson; of the library, its owner */
    int reads, writes;          /* of the scripts: the client's own counts */
    long lease_ms;              /* of the last acquire */
};

/* rw_party_of      - one with this owner, that acts so.
 * rw_party_scripts - one that calls lock/script/lua/ by EVALSHA, `times` times each.
 * rw_party_library - one that is the owner `thread` of a client. Each of its
 *                     holds has a field of its own.
 * rw_run           - all steps of a table, from an empty server; parties[0] is A.
 * rw_state          - see above; lent until the next call.
 * rw_hold_key       - the key of read hold `index`; 0: what all of them begin
 *                     with. Lent until the 4th call after.
 * rw_channel        - of the lock, lent likewise. */
typedef const char *rw_act(struct rw_party *p, const char *verb, long lease_ms);
struct rw_party rw_party_of(struct server *s, const char *name,
                            const char *owner, rw_act *act);
struct rw_party rw_party_scripts(struct server *s, const char *name,
                                 const char *owner, int times);
struct rw_party rw_party_library(struct server *s, const char *name,
                                 struct hf_client *client, int thread);
void rw_run(const struct rw_table *table, struct rw_party parties[2]);
const char *rw_state(const struct rw_party parties[2]);
const char *rw_hold_key(const struct rw_party *p, int index);
const char *rw_channel(const char *name);

/* EVALSHA of lock/script/lua/`script`.lua: number of keys, keys, arguments; as
 * server_ask. */
#define rw_script(s, script, format, ...)                                     \
    server_ask(s, "EVALSHA %s " format, rw_script_load(s, script), __VA_ARGS__)
const char *rw_script_load(struct server *s, const char *script);

#endif
