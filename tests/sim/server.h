/* A server of a run: a model behind a listener of the world, with an observer. What
 * tests/support has under this name (nodes, sentinels, cluster) is real. */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "tests/sim/observer.h"
#include "tests/sim/world/network.h"

struct server_conn;
struct server_feed;

struct server {
    struct sim *sim;
    int64_t number; /* s1 is 1 */
    char name[16], ip[16];
    uint16_t port;
    struct model *model;
    struct listener *listener;
    struct observer observer;
    struct server_conn *conns; /* all that there ever were */
    struct event tick;
    int64_t shard; /* -1: of none; a sentinel */
    bool is_down, is_frozen;
    bool has_been_master;
    uint64_t marks; /* bit N: kind N of plan_rare.c lasts there */
    int64_t denied; /* by FAULT_DENY: which command */
    struct server_feed *feed; /* of its master; NULL: it is one */
    struct model *on_disk; /* its data when the disk took the last write; NULL: all writes
                              reach the disk */
};

#define SERVER_PORT 6379

/* server_new  - number N is named "serverN", at 10.0.0.N.
 * server_free - takes NULL.
 * server_turn - the model, at the time that it is now: before anything is done to
 *               it. server_done follows, when it is done.
 * server_say  - an operator's command, whose reply nobody reads. */
struct server *server_new(struct sim *sim, int64_t number);
void server_free(struct server *s);
struct model *server_turn(struct server *s);
void server_done(struct server *s);
void server_say(struct server *s, int argc, const char *const *argv);

/* server_take_down - it dies.
 * server_lose_power - likewise, with its kernel: no client hears that it is gone.
 * server_bring_up  - it is back, with its data or without.
 * server_freeze    - as SIGSTOP; or SIGCONT.
 * server_stop_disk - from now on no write reaches the disk, and nobody notices.
 * server_restore   - it is back with what is on the disk, if it is down and decides yet;
 *                    otherwise with its data. True: writes are lost that the locks show. */
void server_take_down(struct server *s);
void server_lose_power(struct server *s);
void server_bring_up(struct server *s, bool with_data);
void server_freeze(struct server *s, bool is_frozen);
void server_stop_disk(struct server *s);
bool server_restore(struct server *s);

/* server_set_clock - forward by so much, or back. */
void server_set_clock(struct server *s, int64_t step_us);

/* server_follow   - it becomes a replica of `master`, with what that has now.
 * server_unfollow - of nobody any more.
 * server_follows  - is it a replica of that one?
 * server_promote  - it is a master, in place of `old`, with what it has heard.
 * server_set_lag  - how long news of its master takes; -1: for ever, until it
 * is set again. */
void server_follow(struct server *s, struct server *master, int64_t lag_us);
void server_unfollow(struct server *s);
bool server_follows(const struct server *s, const struct server *master);
void server_promote(struct server *s, struct server *old);
void server_set_lag(struct server *s, int64_t lag_us);

#endif
