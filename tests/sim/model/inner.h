/* The inside of a model server, for those who add commands to it.
 *
 * A cluster or a sentinel comes in by md_set_topology: its commands are looked
 * up before the common ones, and its `before` sees each command that is about to
 * be executed, a script's commands among them (call->script is set then). */
#ifndef SIM_INNER_H
#define SIM_INNER_H

#include "tests/sim/model/keyspace.h"

enum {
    MD_DATABASES = 16,
    MD_PASSWORD_MAX = 64,
    MD_SMALL_HASH = 128       /* hash-max-listpack-entries of 7.0 */
};

struct call;

enum command_flags {
    C_WRITE = 1,
    C_MEMORY = 2,        /* denyoom */
    C_NO_SCRIPT = 4,     /* not within one */
    C_LOADING = 8,       /* while data are loaded, too */
    C_NO_AUTH = 16,      /* before AUTH, too */
    C_BUSY = 32,         /* while a script runs, too */
    C_SUBSCRIBED = 64,   /* by a RESP2 client that subscribes, too */
    C_CHANNEL = 128,     /* argv[1..] are channels; of PUBLISH, argv[1] alone */
    C_KEYS_COUNTED = 256,/* EVAL: argv[2] says how many keys follow */
    C_ADMIN = 512        /* category @dangerous */
};

/* arity as in COMMAND: -3 is three or more, the name included. Keys: positions
 * from `first` to `last` (-1: the last argument) by `step`; first 0: none.
 * A container has `sub`, which ends in a name of NULL, and no `run`. */
struct command {
    const char *name;
    int arity;
    unsigned flags;
    int first, last, step;
    void (*run)(struct call *c);
    const struct command *sub;
    int since;                /* 62: not before Redis 6.2; 70: not before 7.0 */
};

struct script_run;

/* One command that is being executed. */
struct call {
    struct model *m;
    struct model_client *client;     /* that asked; the master's for its stream */
    const struct command *command;   /* the subcommand, if it is one */
    const struct command *container;
    const struct slice *argv;
    int argc;
    struct bytes *out;               /* where the reply goes */
    int protocol;                    /* of the reply: 2 or 3 */
    struct keyspace *db;
    struct script_run *script;       /* NULL: not within a script */
    bool changed;                    /* something, or it must replicate */
    bool has_effect;                 /* md_effect has said it in other words */
};

/* ---- clients (client.c) ---- */

struct model_client {
    struct model *m;
    struct model_client *next, *prev;
    model_write_fn *write;
    model_close_fn *close;
    void *ctx;
    int64_t id;
    char name[64];
    char lib_name[32];
    char lib_ver[32];
    struct user *user;
    bool is_authenticated;
    char password[16];        /* its first bytes */
    int protocol;
    int db;
    bool is_closing;          /* by the server, when what it says is written */
    bool is_gone;             /* the owner has hung up */
    bool is_blocked;          /* in WAIT: what follows is not executed yet */
    bool is_queued;           /* in m->ready, frozen */
    bool is_master;           /* the stream of the master */
    bool is_asking;           /* cluster: ASKING was the last command */
    bool reads_replica;       /* cluster: READONLY */
    bool is_tracking;         /* CLIENT TRACKING ON OPTIN */
    bool has_no_loop;
    bool is_caching;          /* CLIENT CACHING YES was the last command */
    struct blob **tracked;    /* keys that it has read */
    size_t tracked_n, tracked_room;
    bool is_in_multi;
    bool is_multi_bad;
    struct bytes queue;       /* commands between MULTI and EXEC, as requests */
    int queue_n;
    int channels, shard_channels;
    int64_t active_us;        /* it has sent something */
    int64_t written_to;       /* the stream's offset behind its last write */
    int64_t wait_offset;
    int64_t wait_until_us;    /* INT64_MAX: no limit */
    int64_t wait_replicas;
    struct bytes in;
    size_t in_at;             /* executed up to here */
    struct bytes out;
    struct slice *argv;       /* of the request being parsed */
    size_t argv_room;
};

/* Executes what has arrived and may be executed. */
void md_run_input(struct model_client *c);
/* Answers what WAIT awaits: `n` replicas. */
void md_unblock(struct model_client *c, int64_t n);
/* Writes what all clients have to get; frees those that are closed. */
void md_flush(struct model *m);
void md_close(struct model_client *c);
void md_free_client(struct model_client *c);

/* ---- the server (model.c) ---- */

struct channel {
    struct blob *name;
    uint64_t hash;
    bool is_shard;
    struct model_client **clients;
    size_t n, room;
};

/* See above. All may be NULL. */
struct topology {
    void *ctx;
    const struct command *commands;   /* ends in a name of NULL */
    bool has_only_these;              /* a sentinel */
    /* before - the command has passed all checks but those of a script's and
     * is about to run. Return true if it must not: the reply was given (an
     * error). */
    bool (*before)(void *ctx, struct call *c);
    /* info - appends lines to a section of INFO. */
    void (*info)(void *ctx, const char *section, struct bytes *out);
    /* published - by a client or a script; then replicas are not told, for
     * that is the bus' business. */
    void (*published)(void *ctx, struct slice channel, struct slice payload,
                      bool is_shard);
    const char *mode;                 /* in HELLO and INFO: "cluster" */
};

struct change {
    int db;
    size_t at, n;             /* of m->changed_names */
    enum model_cause cause;
    const char *command;
};

struct model {
    struct model_options options;
    char host[64];
    char run_id[41];
    const struct model *seems; /* whose run_id INFO reports; NULL: its own */
    uint64_t seed;            /* for run ids of later starts */
    char replication_id[41], former_id[41]; /* master_replid, master_replid2; "": none */
    uint64_t replication_seed;
    bool has_backlog;         /* it has had a replica or a master: its offset counts */
    int64_t now_us;
    int64_t now_ms;           /* of the command that is being executed */
    struct keyspace dbs[MD_DATABASES];
    struct model_client clients;      /* head of a ring */
    int client_count;
    int64_t next_client_id;
    struct channel *channels;
    size_t channel_n, channel_room;
    struct model_observer observer;
    struct change *changes;           /* of the command under way */
    size_t change_n, change_room;
    struct bytes changed_names;
    const char *script_sha;           /* of the script under way */
    int64_t current_client;           /* that changed the keys */
    struct topology topology;
    struct user *users;
    struct hash scripts;              /* shas that are known, and their texts */
    struct hash config;               /* CONFIG SET */
    struct bytes scratch;
    struct model_client *current;     /* whose command is under way */
    struct bytes to_self;             /* messages behind its reply (Valkey) */
    bool is_frozen, is_loading, is_busy, is_full, is_scant, is_unsaved;
    enum model_proxy proxy;
    const char *hidden;               /* a command; NULL: none */
    struct model_client **ready;      /* frozen: clients with input, in order */
    size_t ready_n, ready_room;
    uint64_t commands;
    uint64_t stray_askings;   /* followed by a command without keys */
    int64_t started_us;
    int64_t paused_until_us;          /* CLIENT PAUSE */
    bool pauses_writes_only;
    /* replication.c */
    bool is_replica;
    struct model *master;             /* while linked */
    struct model_link *links;         /* to replicas */
    struct model_client *stream;      /* of the master */
    int64_t offset;                   /* of the stream given, or executed */
    int64_t unexecuted;               /* bytes of the stream, arrived so far */
    struct bytes effects;             /* of the command under way */
    int effect_n;
    int effect_db;                    /* SELECTed in the stream; -1: none yet */
};

void md_set_topology(struct model *m, const struct topology *t);

/* ---- executing (call.c) ---- */

/* md_execute - one request of a client: looks it up, checks it, runs it,
 *     replicates, tells the observer.
 * md_call_inner - one command of a script. The reply goes to c->out, which may
 *     be an error. False: it was refused, and not run. */
void md_execute(struct model_client *client, const struct slice *argv, int argc);
bool md_call_inner(struct call *c);
/* What stands between MULTI and EXEC. */
void md_execute_queue(struct model_client *client, const struct bytes *queue);

/* The command of that name; NULL: there is none. *container: of a subcommand. */
const struct command *md_command(const struct model *m,
                                 const struct slice *argv, int argc,
                                 const struct command **container);

/* The index of the i-th key of a request; -1: there are no more. */
int md_key_position(const struct command *cmd, const struct slice *argv,
                    int argc, int i);

/* ---- what commands use ---- */

/* md_lookup   - a key that is not expired; one that is, is deleted first.
 * md_typed    - the same; if it has another type: replies WRONGTYPE, *ok false.
 * md_typed_or_make - and makes it.
 * md_delete_key - removes it, and says that it has changed.
 * md_touched  - the value of a key has changed: observer, replicas.
 * md_drop_if_empty - as Redis deletes what has no elements. */
struct entry *md_lookup(struct call *c, struct slice key);
struct entry *md_typed(struct call *c, struct slice key, enum model_type type,
                       bool *ok);
struct entry *md_typed_or_make(struct call *c, struct slice key,
                               enum model_type type);
void md_delete_key(struct call *c, struct entry *e);
void md_touched(struct call *c, struct slice key);
void md_drop_if_empty(struct call *c, struct entry *e);

/* md_effect - replicas are to execute this instead of the command. */
void md_effect(struct call *c, const struct slice *argv, int argc);
void md_effect_words(struct call *c, const char *verb, struct slice key,
                     const char *a, const char *b);

/* md_int_arg, md_double_arg - or replies an error, and false. */
bool md_int_arg(struct call *c, int i, int64_t *out);
bool md_double_arg(struct call *c, int i, double *out);

/* ---- replies (reply.c) ---- */

void md_ok(struct call *c);
void md_simple(struct call *c, const char *text);
void md_int(struct call *c, int64_t n);
void md_bulk(struct call *c, struct slice s);
void md_bulk_text(struct call *c, const char *text);
void md_null(struct call *c);
void md_null_array(struct call *c);
void md_array(struct call *c, size_t n);
void md_map(struct call *c, size_t pairs);
void md_set_of(struct call *c, size_t n);
void md_real(struct call *c, double d);
/* "WRONGTYPE ..." or "ERR ...", without "-". Line ends become spaces. */
void md_error(struct call *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* md_refusal - the same, because of the ACL. */
void md_refusal(struct call *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void md_wrong_type(struct call *c);
void md_syntax(struct call *c);
/* A message, or a confirmation of a subscription: ">" in RESP3. */
void md_push(struct bytes *out, int protocol, int n);
void md_put_bulk(struct bytes *out, struct slice s);
void md_put_int(struct bytes *out, int64_t n);
/* A request as a client sends it. */
void md_put_request(struct bytes *out, const struct slice *argv, int argc);
/* As Redis prints scores. */
size_t md_format_double(char buf[40], double d);

/* ---- the rest ---- */

void md_delete_expired(struct model *m, int db, struct entry *e);
bool md_is_expired(const struct model *m, const struct entry *e);
void md_changed(struct model *m, int db, struct slice key,
                enum model_cause cause, const char *command);
void md_tell_changes(struct model *m);

/* connection.c: "7.0.15" */
const char *md_version(const struct model *m);

/* pubsub.c */
int md_publish(struct model *m, struct slice channel, struct slice payload,
               bool is_shard);
void md_unsubscribe_all(struct model_client *c);
/* Ends all subscriptions of a sharded channel for which `gone` says so; each
 * client is told by `sunsubscribe`. */
void md_drop_shard_channels(struct model *m,
                            bool (*gone)(void *ctx, struct slice channel),
                            void *ctx);

/* tracking.c
 * md_track_reads    - the client is told when what this command has read changes.
 * md_invalidate     - the key has changed, by the current client if is_own.
 * md_invalidate_all - all keys have.
 * md_untrack        - the client is told nothing any more. */
void md_track_reads(struct call *c);
void md_invalidate(struct model *m, struct slice key, bool is_own);
void md_invalidate_all(struct model *m);
void md_untrack(struct model_client *c);
void md_run_tracking(struct call *c);
void md_run_caching(struct call *c);

/* replication.c */
void md_send_effects(struct model *m);
void md_replication_free(struct model *m);
void md_check_waits(struct model *m);
int64_t md_replicas_at(const struct model *m, int64_t offset);
void md_put_role(struct call *c);
void md_put_replication_info(const struct model *m, struct bytes *out);
void md_new_history(struct model *m);

/* acl.c */
struct user *md_user(const struct model *m, struct slice name);
bool md_password_fits(const struct user *u, struct slice password);
bool md_user_is_open(const struct user *u);   /* nopass */
const char *md_user_name(const struct user *u);
/* NULL: permitted; else what is refused: "command", "key" or "channel". */
const char *md_refused(const struct call *c);
void md_acl_init(struct model *m, const char *password);
void md_acl_free(struct model *m);

/* lua.c */
/* Has this script written already? Then it may go on when memory is full. */
bool md_script_has_written(const struct script_run *s);
void md_eval(struct call *c, struct slice text, const char *sha);
bool md_script_compiles(struct call *c, struct slice text, const char *sha);

/* The tables of commands, each ending in a name of NULL. */
extern const struct command md_string_commands[], md_key_commands[],
    md_hash_commands[], md_list_commands[], md_zset_commands[],
    md_connection_commands[], md_pubsub_commands[], md_script_commands[],
    md_server_commands[], md_acl_commands[];

#endif
