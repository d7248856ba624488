/* Scripted nodes: the servers of a cluster that does not exist, in one thread,
 * each on a free loopback port. They say of the slots what the test says, and
 * of every command which node it came to:
 *
 *     struct nodes *nodes = nodes_start(3, answer, &test);
 *     nodes_map(nodes, (struct nodes_range[]){{0, 16383, 1}}, 1);
 *     ... a client asks them; GET a -> "node 1" ...
 *     ck_assert_int_eq(nodes_count(nodes, 1, "GET a"), 1);
 *     nodes_stop(nodes);
 *
 * Where a test wants more, `answer` is asked first, in the nodes' thread, with
 * their mutex held.
 *
 * Belongs to the process that started it. Threads: any, all of it. */
#ifndef TEST_NODES_H
#define TEST_NODES_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/support/request.h"

#define NODES_MAX 40
#define NODES_REPLY_MAX 65536

struct nodes;

struct nodes_ask {
    int node;
    int protocol;               /* 2 or 3 */
    bool is_asking;             /* ASKING came right before it, over the same
                                   connection */
    const struct request *request;
};

/* Writes RESP, ending in NUL, to `reply`: that is the answer; "": none, nor to
 * whatever comes behind it over this connection. false: the nodes' own. */
typedef bool nodes_answer(void *ctx, const struct nodes_ask *ask, char *reply);

struct nodes_range {
    int from, to, node;
};

/* nodes_start - with no slots; `answer` may be NULL.
 * nodes_stop  - takes NULL.
 * nodes_map   - what all of them say of the slots, copied.
 * nodes_epoch - and how new that is; 1 at first.
 * nodes_down  - refuses connections, and ends those it has; or no more. Is so
 *               on return.
 * nodes_pause - reads nothing any more, as a stopped process; or goes on, with
 *               what has come meanwhile. Is so on return.
 * nodes_count - commands that came to a node (-1: any), of a text, or of what
 *               begins with it ("GET ..."); handshakes are not among them. */
struct nodes *nodes_start(int count, nodes_answer *answer, void *ctx);
void nodes_stop(struct nodes *n);
int nodes_port(const struct nodes *n, int node);
void nodes_map(struct nodes *n, const struct nodes_range *ranges, int count);
void nodes_epoch(struct nodes *n, int epoch);
void nodes_down(struct nodes *n, int node, bool is_down);
void nodes_pause(struct nodes *n, int node, bool is_paused);
int nodes_count(struct nodes *n, int node, const char *pattern);

#endif
