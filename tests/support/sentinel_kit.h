/* Sentinel kit: a router behind sentinels, in the loop of loop_kit.h. Sentinels
 * and servers are fakes: scripted peers (peer.h) whose scripts are made when the
 * ports are known.
 *
 *     take_in(&one);  have_role(&one, MASTER);  serve(&one, "ECHO a", "+a\r\n");
 *     fake_start(&one);
 *     take_in(&first);  name_when_asked(&first, port_of(&one));
 *     fake_start(&first);
 *     open_router();
 *     ask_and_get("a");
 *     close_router();
 *
 * The library's clock goes slowly, so that a peer whom a busy machine runs late is
 * not silent: others are asked after 100 ms (round.h), and looked at after 250
 * (discover.h). */
#ifndef TEST_SENTINEL_KIT_H
#define TEST_SENTINEL_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include "net/route/router.h"
#include "tests/support/loop_kit.h"
#include "tests/support/peer.h"

#define SLOWNESS 3              /* of the library's clock */
#define NAME "main"             /* the master's */
#define STEPS_MAX 60
#define TEXTS_MAX 4000

/* A fixture: counted memory; at the end each fake that was started has said all
 * that it was to say. */
void set_up(void);
void tear_down(void);

/* ---- scripts ---- */

extern struct fake {
    struct peer_step steps[STEPS_MAX];
    size_t count;
    char texts[TEXTS_MAX];      /* of the steps */
    size_t used;
    struct peer *peer;
} first, second, one, other;    /* sentinels; servers */

/* add         - any step; expect, say - the common ones.
 * take_in     - a new connection, its greeting answered.
 * fake_start - begins; steps may be added no more. port_of - from then on. */
void add(struct fake *a, enum peer_verb verb, const char *text);
void expect(struct fake *a, const char *pattern);
void say(struct fake *a, const char *bytes);
void take_in(struct fake *a);
void fake_start(struct fake *a);
int port_of(const struct fake *a);

/* What a sentinel is asked, and says.
 * be_asked        - for the other sentinels, and then for the master.
 * name_master     - answers that; name_when_asked - both, without others.
 * be_subscribed   - to +switch-master. tell_news - a message of it; tell_switch -
 *                   from one port to another.
 * name_and_subscribe - takes in, names the master at that port, is subscribed to.
 * switch_when_let_go - all that `first` does: names `one`; waits for peer_go; tells
 *                   of the switch to `other`, and names that. Started. */
void be_asked(struct fake *a, const char *sentinels);
void name_master(struct fake *a, int port);
void name_when_asked(struct fake *a, int port);
void be_subscribed(struct fake *a);
void tell_news(struct fake *a, const char *news);
void tell_switch(struct fake *a, const char *name, int from, int to);
void name_and_subscribe(struct fake *a, int port);
void switch_when_let_go(void);

/* put_bulk - a bulk string behind what stands in dst. */
void put_bulk(char *dst, size_t room, const char *text);

/* What a server is asked, and says: its role, and one command. */
#define MASTER "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
#define REPLICA                                                               \
    "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:1\r\n$9\r\nconnected\r\n:0\r\n"
void have_role(struct fake *a, const char *role);
void serve(struct fake *a, const char *command, const char *reply);

/* ---- the router ---- */

extern int64_t probe_ms;        /* of each; set before it is opened */

/* open_router_at - by sentinels at these ports; second_port 0: by one.
 * open_router    - by those that were started, in RESP3.
 * open_router_among - to a master and its replicas at these ports, in RESP3; `map` may
 *                  be NULL and is consumed. */
struct hf_address_map;
void open_router_at(int port, int second_port, int protocol);
void open_router_among(const int *ports, int count, struct hf_address_map *map);
void open_router(void);
void close_router(void);
struct hf_router_counts counts(void);

/* Which sentinels were asked for the master, by port; where the last request
 * ended; the trouble that was told last. */
#define QUESTIONS_MAX 100
extern int questions[QUESTIONS_MAX];
extern int ended_port;
extern struct hf_error trouble;

/* ---- commands ---- */

struct question {
    struct hf_command command;
    struct hf_resp_arg argv[2];
    bool is_done;
    char answer[HF_ERROR_TEXT_MAX]; /* or why there is none */
    enum hf_outcome outcome;
    hf_status status;
};

/* ask         - sends ECHO word; ask_over - maybe by a connection of its own.
 * prepare_question, send_question - the same in two steps.
 * ask_and_get - and it is answered. */
void prepare_question(struct question *q, const char *word, int64_t timeout_ms);
void send_question(struct question *q);
void ask_over(struct question *q, const char *word, int64_t timeout_ms,
              bool is_replicated);
void ask(struct question *q, const char *word, int64_t timeout_ms);
void ask_and_get(const char *word);

/* Each drives until it is so.
 * must_fail            - unsent, with that status and a line that contains `part`.
 * must_tell            - the router goes on, and has told that trouble.
 * must_tell_nothing    - it has told none.
 * drive_until_received - the fake has been asked so often. */
void must_answer(struct question *q, const char *answer);
void must_fail(struct question *q, hf_status status, const char *part);
void must_tell(hf_status status, const char *part);
void must_tell_nothing(void);
void drive_until_true(const bool *is_so, const char *what);
void drive_until_received(struct fake *a, size_t count);

#endif
