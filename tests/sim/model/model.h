/* A Redis or Valkey server as a plain computation: bytes in, bytes out. It has
 * no socket, no clock and no thread, so that a simulation decides when bytes
 * arrive and what time it is. Lua scripts are run as they stand, by liblua5.1.
 * tests/live/model/test_model.c compares it with real servers.
 *
 * The owner calls model_set_time() before any other function that executes
 * something. No function here may be called from a callback.
 *
 * Threads: one for all models of a process (they share the interpreter).
 * Memory: malloc; a model that gets none aborts.
 * inner.h is for those who add commands: a cluster, a sentinel. */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct model_client;

/* Whose words the server uses, and which commands it knows. */
enum model_version { MODEL_REDIS_6_0, MODEL_REDIS_7_0, MODEL_VALKEY_9 };

struct model_options {
    enum model_version version;
    const char *host;         /* what it calls itself; copied */
    int port;
    const char *requirepass;  /* of the user `default`; NULL: none; copied */
    uint64_t seed;            /* of run_id and of the order of large hashes */
    int maxclients;           /* 0: 10000 */
    int64_t expiry_cycle_us;  /* expired keys that nobody touches are deleted at
                                 multiples of it; 0: 100 ms, as by `hz 10` */
    bool pushes_twice;        /* what a push of CLIENT TRACKING says */
};

/* model_new - an empty master that serves. model_free takes NULL, and calls
 * nobody back. */
struct model *model_new(const struct model_options *o);
void model_free(struct model *m);

/* model_set_time - the server's clock, Unix time in us; it may jump.
 * model_now_us   - what it was set to last.
 * model_next_us  - when the server acts by itself next; INT64_MAX: never.
 * model_tick     - acts: active expiry, WAIT that times out, the end of CLIENT
 *                  PAUSE. Harmless when nothing is due. */
void model_set_time(struct model *m, int64_t unix_us);
int64_t model_now_us(const struct model *m);
int64_t model_next_us(const struct model *m);
void model_tick(struct model *m);

/* ---- connections ---- */

typedef void model_write_fn(void *ctx, const char *bytes, size_t len);
typedef void model_close_fn(void *ctx);

/* model_accept - a connection. `write` gets what the server sends, `close` is
 *     called when the server closes the connection, after the last `write`; then
 *     the client is gone. Either may be called before model_accept returns (too
 *     many clients): then NULL is returned.
 * model_feed - bytes as they arrive. Whole commands are executed in order.
 * model_hang_up - the peer has closed. What it sent before is executed still, if
 *     the server is frozen: when it continues. The client is gone for the owner;
 *     `close` is not called.
 * model_reset - the peer has reset: what was not read yet is dropped. */
struct model_client *model_accept(struct model *m, model_write_fn *write,
                                  model_close_fn *close, void *ctx);
void model_feed(struct model_client *c, const void *bytes, size_t len);
void model_hang_up(struct model_client *c);
void model_reset(struct model_client *c);

/* ---- watching ---- */

enum model_cause {
    MODEL_BY_COMMAND,
    MODEL_BY_SCRIPT,
    MODEL_BY_EXPIRY,      /* active, or because a command came upon the key */
    MODEL_BY_FLUSH,
    MODEL_BY_REPLICATION, /* the master's effect, or its data */
    MODEL_BY_OWNER        /* model_restart without data, model_delete */
};

struct model_change {
    int db;
    const char *key;          /* lent until the callback returns */
    size_t len;
    enum model_cause cause;
    const char *command;      /* in lower case: "del"; "" by expiry and owner */
    const char *sha;          /* of the script; NULL if it was none */
    int64_t client;           /* its id; 0: the server itself */
};

struct model_text {
    const char *p;
    size_t n;
};

/* A script that was called; a text that it has not is empty. */
struct model_script {
    const char *sha;
    struct model_text key, args[2];   /* the first ones */
    size_t keys;
};

/* A command that was replied to with an error, also within a script. */
struct model_error {
    const char *container;    /* "client" of CLIENT KILL; NULL: none */
    const char *command;      /* "" if there is no such command */
    const char *text;         /* "NOPERM this user ..." */
    bool is_refusal;          /* by the ACL */
};

/* Called in the server's order. A command or a script is told when it is over,
 * once for each key; expiry at once. The key is then looked up by model_look.
 * on_script is called after a script, whether it has changed something or not. */
struct model_observer {
    void *ctx;
    void (*on_change)(void *ctx, struct model *m, const struct model_change *);
    void (*on_publish)(void *ctx, struct model *m, const char *channel,
                       size_t len, const char *payload, size_t payload_len,
                       int receivers);
    void (*on_script)(void *ctx, struct model *m, const struct model_script *);
    void (*on_error)(void *ctx, struct model *m, const struct model_error *);
};

void model_observe(struct model *m, const struct model_observer *observer);

enum model_type {
    MODEL_NONE,
    MODEL_STRING,
    MODEL_HASH,
    MODEL_LIST,
    MODEL_ZSET,
    MODEL_SET
};

/* A key as it is stored, expired or not. Texts are lent until the next command. */
struct model_key {
    struct model_text name;
    enum model_type type;
    int64_t expires_ms;       /* Unix time; -1: never */
    bool is_expired;          /* no command would see it */
    size_t count;             /* fields, members, elements; 1 of a string */
    const void *parts;        /* for model_part */
};

/* model_look  - false (and type MODEL_NONE) if there is no such key.
 * model_at    - the index-th part of a key: field and value of a hash, element
 *               (value), member and score as text (in a static buffer), or a
 *               string's value. False if there is none.
 * model_part  - the same of a key that was looked up, until the next command.
 * model_field - the value of one field of a hash.
 * model_each_key - in the order in which they were made. */
bool model_look(struct model *m, int db, const char *key, size_t len,
                struct model_key *out);
bool model_at(struct model *m, int db, const char *key, size_t len,
              size_t index, struct model_text *name, struct model_text *value);
bool model_part(const struct model_key *key, size_t index, struct model_text *name,
                struct model_text *value);
bool model_field(struct model *m, int db, const char *key, size_t len,
                 const char *field, struct model_text *value);
void model_each_key(struct model *m, int db,
                    void (*fn)(void *ctx, const struct model_key *key),
                    void *ctx);
size_t model_key_count(const struct model *m, int db);
uint64_t model_commands_done(const struct model *m);

/* model_stray_askings - how often ASKING was followed, on its connection, by a command without
 *                keys: it belongs to a command that was sent elsewhere. */
uint64_t model_stray_askings(const struct model *m);

/* ---- faults ---- */

/* model_freeze  - SIGSTOP: bytes are taken, nothing is executed. model_continue
 *                 executes what has arrived, at the time that is set then.
 * model_restart - all connections are closed, scripts forgotten, a new run_id.
 *                 Without `with_data` all keys are gone, too. Links of
 *                 replication end.
 * model_seem   - INFO reports the run_id of `other`, as if both were one server; NULL: its
 *                 own again.
 * model_close_all - closes all connections, as a server that ends.
 * model_copy    - a master takes over the data of another model, and nothing else of it:
 *                 with model_restart, a server that begins with older data.
 * model_forget_scripts - SCRIPT FLUSH.
 * model_delete  - an operator's DEL, as a command; false: there was no such key.
 * The others are states that last until they are set again:
 * loading    LOADING to what needs data
 * busy       a script runs: BUSY to almost all
 * full       maxmemory is reached: OOM to commands that need memory
 * hide       a command is unknown, as by rename-command; borrowed; NULL: none
 * scant      min-replicas-to-write is not met: NOREPLICAS to commands that write
 * unsaved    the last save failed: MISCONF to commands that write, and to PING
 * proxy      it replies to scripts with an error of its own
 * maxclients connections beyond so many are turned away */
void model_freeze(struct model *m);
void model_continue(struct model *m);
void model_restart(struct model *m, bool with_data);
void model_copy(struct model *m, const struct model *from);
void model_seem(struct model *m, const struct model *other);
void model_close_all(struct model *m);
void model_forget_scripts(struct model *m);
bool model_delete(struct model *m, int db, const char *key, size_t len);
void model_set_loading(struct model *m, bool is_loading);
void model_set_busy(struct model *m, bool is_busy);
void model_set_full(struct model *m, bool is_full);
void model_hide(struct model *m, const char *command);
void model_set_scant(struct model *m, bool is_scant);
void model_set_unsaved(struct model *m, bool is_unsaved);
enum model_proxy { MODEL_PROXY_SENDS, MODEL_PROXY_SENDS_NOTHING, MODEL_PROXY_LOSES_REPLIES };
void model_set_proxy(struct model *m, enum model_proxy proxy);
void model_set_maxclients(struct model *m, int maxclients);

/* model_close_listeners - closes the connections that have subscribed, as beyond
 *                 client-output-buffer-limit.
 * model_close_idle - closes those that have sent nothing for so long and have not
 *                 subscribed, as by `timeout`.
 * model_close_logins - those that logged in with this password last. All return how
 *                 many. */
int model_close_listeners(struct model *m);
int model_close_idle(struct model *m, int64_t idle_us);
int model_close_logins(struct model *m, const char *password);

/* model_acl - "SETUSER app reset on >secret ~* &* +@all", as by ACL. Connections
 * of a user that is deleted or loses its password stay, as on a real server.
 * False: the rule is refused. */
bool model_acl(struct model *m, const char *words);

/* ---- replication ---- */

struct model_link;

typedef void model_stream_fn(void *ctx, const char *bytes, size_t len);

/* model_follow - makes `replica` a replica of `master`: it takes over the
 *     master's data now, and from now on `stream` gets the master's effects
 *     (commands, not scripts; those of one script between MULTI and EXEC). The
 *     owner brings them to the replica by model_apply, whenever it likes, in
 *     order, cut anywhere.
 * model_apply  - the replica executes what is whole.
 * model_offset - bytes of its master's stream that a replica has executed; the
 *     owner brings that number to the master by model_ack, which answers WAIT.
 * model_unfollow - the link is cut. The replica remains one, with its data.
 * model_promote  - the replica becomes a master (and is unfollowed).
 * model_demote   - a master becomes a replica of nobody: READONLY. WAIT that is pending
 *                  there is replied to with UNBLOCKED, and its connection is closed. */
struct model_link *model_follow(struct model *replica, struct model *master,
                                model_stream_fn *stream, void *ctx);
void model_apply(struct model *replica, const char *bytes, size_t len);
int64_t model_offset(const struct model *replica);
void model_ack(struct model_link *link, int64_t offset);
void model_unfollow(struct model_link *link);
void model_promote(struct model *m);
void model_demote(struct model *m);
bool model_is_master(const struct model *m);

#endif
