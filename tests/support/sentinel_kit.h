/* Sentinel kit: a router with sentinels, in the loop of loop_kit.h. Sentinels and servers are
 * fakes: scripted peers (peer.h), whose scripts are written when the ports are known.
 *
 *     take_in(&one);  have_role(&one, MASTER);  serve(&one, "ECHO a", "+a\r\n");
 *     fake_start(&one);
 *     take_in(&first);  name_when_asked(&first, port_of(&one));
 *     fake_start(&first);
 *     open_router();
 *     ask_and_get("a");
 *     close_router();
 *
 * The library's clock is slow, so that a peer that a busy machine delays does not count as
 * silent: the next sentinel is queried after 100 ms (round.h), and silence is checked after
 * 250 ms (discover.h). Tests that wait for none of these times use a slower one. */
#ifndef TEST_SENTINEL_KIT_H
#define TEST_SENTINEL_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include "net/route/router.h"
#include "tests/support/loop_kit.h"
#include "tests/support/peer.h"

#define SLOWNESS 3              /* the library's clock runs at a third of the real rate */
#define SLOWNESS_MAX 30         /* in which 100 ms survive a stall of two seconds */
#define NAME "main"             /* of the master */
#define STEPS_MAX 60
#define TEXTS_MAX 4000

/* A fixture with counted memory. At the end, each fake that was started must have executed its
 * whole script. set_up_slow: the clock has SLOWNESS_MAX. */
void set_up(void);
void set_up_slow(void);
void tear_down(void);

/* ---- scripts ---- */

extern struct fake {
    struct peer_step steps[STEPS_MAX];
    size_t count;
    char texts[TEXTS_MAX];      /* of the steps */
    size_t used;
    struct peer *peer;
} first, second, one, other;    /* sentinels; servers */

/* add         - adds any step. expect, say - add the most frequent ones.
 * take_in     - adds steps that accept a connection and reply to its handshake.
 * fake_start  - starts the fake; no steps may be added after that. port_of - its port, from
 *               then on. */
void add(struct fake *a, enum peer_verb verb, const char *text);
void expect(struct fake *a, const char *pattern);
void say(struct fake *a, const char *bytes);
void take_in(struct fake *a);
void fake_start(struct fake *a);
int port_of(const struct fake *a);

/* Steps of a sentinel.
 * be_asked        - is queried for the other sentinels, and then for the master.
 * name_master     - replies to the second query. name_when_asked - both queries and both
 *                   replies, without other sentinels.
 * be_subscribed   - is subscribed to +switch-master. tell_news - sends a message of it.
 *                   tell_switch - sends a message about a switch from one port to another.
 * name_and_subscribe - accepts a connection, names the master at that port, is subscribed to.
 * switch_when_let_go - the whole script of `first`, and starts it: it names `one`, waits for
 *                   peer_go, sends the message about the switch to `other`, and names that. */
void be_asked(struct fake *a, const char *sentinels);
void name_master(struct fake *a, int port);
void name_when_asked(struct fake *a, int port);
void be_subscribed(struct fake *a);
void tell_news(struct fake *a, const char *news);
void tell_switch(struct fake *a, const char *name, int from, int to);
void name_and_subscribe(struct fake *a, int port);
void switch_when_let_go(void);

/* put_bulk - appends a bulk string to dst. */
void put_bulk(char *dst, size_t room, const char *text);

/* Steps of a server: it is queried for its role, or receives a command, and replies. */
#define MASTER "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
#define REPLICA                                                               \
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"
void have_role(struct fake *a, const char *role);
void serve(struct fake *a, const char *command, const char *reply);

/* ---- the router ---- */

extern struct hf_router *router;
extern int64_t probe_ms;        /* of each sentinel; set before the router is opened */

/* open_router_at - opens a router with sentinels at these ports; second_port 0: with one.
 * open_router    - opens it with the sentinels that were started, in RESP3.
 * open_router_among - opens a router to a master and its replicas at these ports, in RESP3.
 *                  `map` may be NULL, and the router frees it. */
struct hf_address_map;
void open_router_at(int port, int second_port, int protocol);
void open_router_among(const int *ports, int count, struct hf_address_map *map);
void open_router(void);
void close_router(void);
struct hf_router_counts counts(void);

/* The ports of the sentinels that were queried for the master; the port at which the last
 * request ended; the last error that was passed to on_trouble. */
#define QUERIES_MAX 100
extern int questions[QUERIES_MAX];
extern int ended_port;
extern struct hf_error trouble;

/* ---- commands ---- */

struct question {
    struct hf_command command;
    struct hf_resp_arg argv[2];
    bool is_done;
    char answer[HF_ERROR_TEXT_MAX]; /* or the error */
    enum hf_outcome outcome;
    hf_status status;
};

/* ask         - sends ECHO word. ask_over - the same; is_replicated: as hf_command.is_replicated.
 * prepare_question, send_question - ask in two steps.
 * ask_and_get - ask, and waits for the reply. */
void prepare_question(struct question *q, const char *word, int64_t timeout_ms);
void send_question(struct question *q);
void ask_over(struct question *q, const char *word, int64_t timeout_ms,
              bool is_replicated);
void ask(struct question *q, const char *word, int64_t timeout_ms);
void ask_and_get(const char *word);

/* Each function drives the loop until its condition is true, except must_tell_nothing.
 * must_fail            - the request was not sent, and has this status and an error with `part`.
 * must_tell            - the router continues, and on_trouble was called with this error.
 * must_tell_nothing    - on_trouble was not called until now.
 * drive_until_received - the fake has received `count` requests. */
void must_answer(struct question *q, const char *answer);
void must_fail(struct question *q, hf_status status, const char *part);
void must_tell(hf_status status, const char *part);
void must_tell_nothing(void);
void drive_until_true(const bool *is_so, const char *what);
void drive_until_received(struct fake *a, size_t count);

#endif
