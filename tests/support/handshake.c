/* What a Redis 7 answers to a handshake. */
#include "tests/support/handshake.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool argument_is(const struct request *r, size_t i, const char *word)
{
    return i < r->argc && r->arg[i].len == strlen(word) &&
           strncasecmp(r->arg[i].ptr, word, r->arg[i].len) == 0;
}

/* Seven pairs: a map in RESP3, an array of fourteen in RESP2.
 * Source: RESP "Client handshake". */
static size_t answer_hello(struct handshake *g, const struct request *r,
                           char *dst)
{
    if (argument_is(r, 1, "3"))
        g->protocol = 3;
    else if (argument_is(r, 1, "2"))
        g->protocol = 2;
    else if (r->argc > 1)
        return (size_t)snprintf(dst, HANDSHAKE_MAX,
                                "-NOPROTO unsupported protocol version\r\n");
    return (size_t)snprintf(dst, HANDSHAKE_MAX,
                            "%s\r\n"
                            "$6\r\nserver\r\n$5\r\nredis\r\n"
                            "$7\r\nversion\r\n$6\r\n7.0.15\r\n"
                            "$5\r\nproto\r\n:%d\r\n"
                            "$2\r\nid\r\n:%u\r\n"
                            "$4\r\nmode\r\n$10\r\nstandalone\r\n"
                            "$4\r\nrole\r\n$6\r\nmaster\r\n"
                            "$7\r\nmodules\r\n*0\r\n",
                            g->protocol == 3 ? "%7" : "*14", g->protocol,
                            g->id);
}

static size_t answer_client(struct handshake *g, const struct request *r,
                            char *dst)
{
    if (argument_is(r, 1, "ID"))
        return (size_t)snprintf(dst, HANDSHAKE_MAX, ":%u\r\n", g->id);
    if (argument_is(r, 1, "KILL"))
        return (size_t)snprintf(dst, HANDSHAKE_MAX, ":1\r\n");
    return (size_t)snprintf(dst, HANDSHAKE_MAX, "+OK\r\n");
}

/* A verbatim string in RESP3, a bulk string in RESP2. */
static size_t answer_info(struct handshake *g, const struct request *r,
                          char *dst)
{
    static const char text[] = "# Server\r\nredis_version:7.0.15\r\n"
                               "run_id:" HANDSHAKE_RUN_ID "\r\n";

    (void)r;
    g->has_info = true;
    if (g->protocol == 3)
        return (size_t)snprintf(dst, HANDSHAKE_MAX, "=%zu\r\ntxt:%s\r\n",
                                sizeof text - 1 + 4, text);
    return (size_t)snprintf(dst, HANDSHAKE_MAX, "$%zu\r\n%s\r\n",
                            sizeof text - 1, text);
}

static size_t answer_ok(struct handshake *g, const struct request *r, char *dst)
{
    (void)g;
    (void)r;
    return (size_t)snprintf(dst, HANDSHAKE_MAX, "+OK\r\n");
}

/* Later, a PING is not part of the handshake. */
static size_t answer_ping(struct handshake *g, const struct request *r, char *dst)
{
    (void)r;
    return !g->answers_ping || g->has_info
               ? 0
               : (size_t)snprintf(dst, HANDSHAKE_MAX, "+PONG\r\n");
}

static const struct {
    const char *command;
    size_t (*answer)(struct handshake *g, const struct request *r, char *dst);
} answers[] = {
    {"HELLO", answer_hello}, {"AUTH", answer_ok},   {"CLIENT", answer_client},
    {"SELECT", answer_ok},   {"INFO", answer_info},
    {"PING", answer_ping},
};

size_t handshake_answer(struct handshake *g, const struct request *r,
                        char dst[HANDSHAKE_MAX])
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (argument_is(r, 0, answers[i].command))
            return answers[i].answer(g, r, dst);
    return 0;
}
