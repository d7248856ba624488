/* A server of a run: a model that is reached through a listener of the world, with an observer.
 * (The files of tests/support with these names, such as nodes, sentinels and cluster, are about
 * real servers.) */
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
    struct server_conn *conns; /* also closed ones */
    struct event tick;
    int64_t shard; /* -1: a sentinel */
    bool is_down, is_frozen;
    bool has_been_master;
    uint64_t marks; /* bit N: fault N of plan_rare.c affects it now */
    int64_t denied; /* the command that FAULT_DENY refuses */
    struct server_feed *feed; /* from its master; NULL: it is a master */
    struct model *on_disk; /* its data when the disk took the last write; NULL: all writes
                              reach the disk */
};

#define SERVER_PORT 6379

/* server_new  - creates server number N, "serverN" at 10.0.0.N (from 256 on, 10.0.1.0).
 * server_free - accepts NULL.
 * server_listen - lets it also accept connections at this address.
 * server_turn - returns the model after setting its time to the present. Call it before each
 *               change of the model, and server_done after the change.
 * server_say  - executes a command of an operator, and ignores the reply. */
struct server *server_new(struct sim *sim, int64_t number);
void server_free(struct server *s);
struct listener *server_listen(struct server *s, const char *ip);
struct model *server_turn(struct server *s);
void server_done(struct server *s);
void server_say(struct server *s, int argc, const char *const *argv);

/* server_take_down - the process dies.
 * server_lose_power - the machine dies: no client is notified of the end of its connections.
 * server_bring_up  - restarts the server, with its data or without.
 * server_freeze    - SIGSTOP, or SIGCONT.
 * server_stop_disk - from now on no write reaches the disk, without an error.
 * server_restore   - restarts the server with the data on the disk, if it is down and still a
 *                    master; otherwise with all its data. True: locks differ from those before. */
void server_take_down(struct server *s);
void server_lose_power(struct server *s);
void server_bring_up(struct server *s, bool with_data);
void server_freeze(struct server *s, bool is_frozen);
void server_stop_disk(struct server *s);
bool server_restore(struct server *s);

/* server_set_clock - sets the clock forward by step_us, or back if it is negative.
 * server_set_rate  - from now on the clock runs faster than true time by this number of
 *                    millionths. */
void server_set_clock(struct server *s, int64_t step_us);
void server_set_rate(struct server *s, int64_t ppm);

/* server_follow   - makes it a replica of `master`, with the present data of `master`.
 * server_unfollow - makes it a replica of no server.
 * server_follows  - returns whether it is a replica of that server.
 * server_promote  - makes it a master in place of `old`, with the data that it has received.
 * server_set_lag  - sets how late it receives the writes of its master; -1: never, until this
 *                   is called again. */
void server_follow(struct server *s, struct server *master, int64_t lag_us);
void server_unfollow(struct server *s);
bool server_follows(const struct server *s, const struct server *master);
void server_promote(struct server *s, struct server *old);
void server_set_lag(struct server *s, int64_t lag_us);

#endif
