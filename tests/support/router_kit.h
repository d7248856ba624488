/* Router kit: a router in the loop of loop_kit.h, in a cluster of four scripted
 * nodes (nodes.h). Each answers every command with its name, so that the reply
 * says where it went:
 *
 *     begin(NULL, halves, 2);
 *     ck_assert_str_eq(ask(0), "node 0");
 *     end();
 *
 * Without an answer a command's text is "(unsent) " or "(unknown) " and why. */
#ifndef TEST_ROUTER_KIT_H
#define TEST_ROUTER_KIT_H

#include <stdbool.h>

#include "net/route/router.h"
#include "tests/support/loop_kit.h"
#include "tests/support/nodes.h"

extern struct hf_router *router;
extern struct hf_seeds seeds;
extern struct hf_router_options options;
extern struct nodes *nodes;

/* Maps: all slots at node 0, at node 1, and half of them at each. */
extern const struct nodes_range all_of_0[1], all_of_1[1], halves[2];

/* prepare     - the nodes, and the options of a router that the test opens.
 *               `answer` is asked before them; NULL: they answer as they do.
 * add_seed    - one more, at 127.0.0.1.
 * open_router - fails as hf_router_new does.
 * begin       - all of it, to nodes that say `ranges`; node 0 is the seed.
 * free_router - alone; end - fails the test, too, if a block of memory is
 * left. */
void prepare(nodes_answer *answer);
void add_seed(int port);
hf_status open_router(struct hf_error *err);
void begin(nodes_answer *answer, const struct nodes_range *ranges, int count);
void free_router(void);
void end(void);
struct hf_router_counts counts(void);

struct ask {
    struct hf_command command;
    struct hf_resp_arg argv[2];
    struct hf_waiter waiter;
    int ended;
    char text[HF_ERROR_TEXT_MAX + 16];
    char address[64];
};

/* start     - sends `GET a` to a slot; asks_once: the next ones are sent once.
 * answer_of - waits for its end; lent as long as `a`.
 * ask       - both; the text is lent until the next ask.
 * ask_again - the same; what had left when its node went is asked once more. */
extern bool asks_once;
hf_status start(struct ask *a, int slot, int timeout_ms);
const char *answer_of(struct ask *a);
const char *ask_for(int slot, int timeout_ms);
const char *ask(int slot);
const char *ask_again(int slot);
enum hf_outcome cancel(struct ask *a);

/* Drives until the node has got that command. */
void drive_until_received(int node, const char *text);

/* Answers for `begin`.
 * is_get    - is it one of our commands?
 * says      - each node answers a GET with said_by[node], in which %d is node
 *             1's port; NULL, or behind ASKING: with its name. say - sets the
 *             first two.
 * importing - node 0 redirects by ASK to node 1, which has the key and not the
 *             slot: it refuses what does not come behind ASKING. */
bool is_get(const struct nodes_ask *a);
extern const char *said_by[4];
bool says(void *ctx, const struct nodes_ask *a, char *reply);
void say(const char *of_0, const char *of_1);
bool importing(void *ctx, const struct nodes_ask *a, char *reply);

#endif
