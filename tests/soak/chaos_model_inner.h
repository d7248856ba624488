/* What the model of servers keeps: the locks' hashes of each, as its commands change
 * them (chaos_commands.c), and what was said of them in the history (chaos_said.c).
 * Private to the model. */
#ifndef CHAOS_MODEL_INNER_H
#define CHAOS_MODEL_INNER_H

#include <stdbool.h>

#include "tests/judge/history.h"
#include "tests/soak/chaos.h"
#include "tests/soak/chaos_model.h"
#include "tests/soak/chaos_monitor.h"

#define SERVERS_MAX 16
#define FIELDS_MAX 64
#define KEYS_MAX 16             /* hold keys of one reader */
#define FIELD_ROOM HF_OWNER_TEXT_MAX
#define NEVER INT64_MAX

struct field {
    char name[FIELD_ROOM];
    int64_t count;
    bool is_set;                /* since the last line: to what it was, perhaps */
    int64_t keys_ms[KEYS_MAX];  /* hold keys: until when; 0: none */
};

/* A hash. */
struct hash {
    bool is_there;
    int64_t until_ms;           /* by the server's clock; NEVER */
    int64_t doubt_ms;           /* it may be so much earlier: MONITOR shows a command
                                   after it was executed, and a busy machine may not
                                   run the server in between */
    int count;
    struct field fields[FIELDS_MAX];
};

struct server {
    struct monitor *monitor;
    int64_t shown_ms;           /* the moment of its last line of MONITOR; 0: none */
    struct hash hashes[CHAOS_HANDLES];  /* by the first handle of the name */
    int64_t tokens[CHAOS_HANDLES];      /* the last that was given */
    bool is_known;              /* since the connection began */
    bool is_clock_still;        /* while a script runs */
    bool is_serving[CHAOS_HANDLES];     /* a master, and the lock is its */
    bool is_importing[CHAOS_HANDLES];   /* the lock's keys come from another node */
};

/* What was last said of a hold. */
struct view {
    struct history_event event;
    bool is_set;
    int64_t gone_us;            /* the hash is; a reader's hold keys may be before */
    char owner[FIELD_ROOM], hold[FIELD_ROOM];
};

struct views {
    int count;
    struct view views[FIELDS_MAX];
};

struct model {
    struct server servers[SERVERS_MAX];
    int count;
    int decides[CHAOS_HANDLES]; /* which server; -1: none has yet */
    struct views said[CHAOS_HANDLES];
    int64_t token_said[CHAOS_HANDLES];
    chaos_client_of *client_of;
    chaos_sink *sink;
    void *ctx;
    struct chaos_model_counts counts;
};

/* One script or command, while it is taken in. Its moment is that of its begin: so
 * all that follows from it, on any server, comes behind it. */
struct step {
    struct model *m;
    int server;
    int64_t us, unix_ms;
    int64_t last_ms;            /* the moment of the script's last command */
    int64_t began_ms;           /* the moment that MONITOR showed before the step, */
    int64_t before_ms;          /* and before this command */
    int64_t look_ms[CHAOS_HANDLES];     /* of a look: when it saw the lock's TTL; 0 */
    int64_t look_doubt_ms[CHAOS_HANDLES];
    bool is_client;             /* a script of ours */
    enum history_by by;
    enum history_why why;
    bool is_changed[CHAOS_HANDLES];
};

/* lock_of    - the first handle of the name; -1: no lock of ours. lock_named -
 *              likewise.
 * field_of   - of the hash, or NULL.
 * kind_of    - of the lock's field. */
int lock_of(const char *name, size_t len);
int lock_named(const char *name);
struct field *field_of(struct hash *h, const char *name, size_t len);
enum history_kind kind_of(int lock, const char *field);

/* execute - takes a command in. */
void execute(struct step *st, const struct monitor_record *r);

/* tell   - says how the server that decides has changed the lock's holds.
 * expire - says what has ended by itself until `us`: before anything of then.
 * decide - from now on the server does, of this lock.
 * reset  - its tokens begin anew behind this one. */
void tell(struct model *m, int lock, int64_t us, enum history_by by,
          enum history_why why);
void expire(struct model *m, int64_t us);
void decide(struct model *m, int lock, int server, int64_t us);
void reset(struct model *m, int lock, int64_t us, int64_t token);

#endif
