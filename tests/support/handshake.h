/* What a server answers to a handshake: HELLO, AUTH, CLIENT, SELECT, INFO. */
#ifndef TEST_HANDSHAKE_H
#define TEST_HANDSHAKE_H

#include "tests/support/request.h"

#define HANDSHAKE_MAX 512
#define HANDSHAKE_RUN_ID "0123456789abcdef0123456789abcdef01234567"

struct handshake {
    bool answers_ping;                /* until it has answered INFO */
    bool has_info;
    int protocol;                     /* 2 or 3; HELLO changes it */
    unsigned id;                      /* the connection's, as HELLO tells it */
};

/* handshake_answer - writes the reply to a handshake command, and no NUL behind
 * it. Returns its length, or 0 if the command is no part of a handshake. */
size_t handshake_answer(struct handshake *g, const struct request *r,
                        char dst[HANDSHAKE_MAX]);

#endif
