/* A proxy that parses RESP, between a client and a real server. By its rules it replies to some
 * commands itself, or closes the connection at them. It passes all others to the server, and
 * replies keep their order. So a test can imitate servers that refuse some commands, with their
 * error messages.
 *
 *     static const struct gate_rule rules[] = {
 *         {"HELLO ...", "-unsupported command 'HELLO'\r\n"},
 *         {"CLIENT ...", NULL},
 *         {0}};
 *     struct gate *gate = gate_start(server_port(server), rules);
 *
 * It belongs to the process that started it, because its thread does not survive a fork. */
#ifndef TEST_GATE_H
#define TEST_GATE_H

#include <stdbool.h>
#include <stddef.h>

struct gate;

struct gate_rule {
    const char *pattern;      /* of request_matches */
    const char *answer;       /* NULL: the connection is closed */
    bool is_for_subscribers;  /* of RESP3: only on a connection that has subscribed */
    const char *inserted;     /* not NULL: the command goes to the server, with this text in
                                 front of its second word */
    size_t times;             /* how often this answer is used; 0: always */
    bool is_executed;         /* the server executes the command, and this answer replaces
                                 its reply */
};

/* The rules of a server that refuses a script's use of a key that is not one of KEYS, as
 * Dragonfly does. */
extern const struct gate_rule gate_strict[];

/* gate_start    - on a free port of 127.0.0.1. The rules are borrowed; the first that
 *                 matches is used. Fails the test if there is no port.
 * gate_stop     - closes all. Takes NULL.
 * gate_count    - commands so far that matched the index-th rule.
 * gate_accepted - connections so far. */
struct gate *gate_start(int server_port, const struct gate_rule *rules);
void gate_stop(struct gate *g);
int gate_port(const struct gate *g);
size_t gate_count(struct gate *g, size_t index);
size_t gate_accepted(struct gate *g);

#endif
