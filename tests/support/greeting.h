/* What a server answers to a handshake: HELLO, AUTH, CLIENT, SELECT, INFO. */
#ifndef TEST_GREETING_H
#define TEST_GREETING_H

#include "tests/support/request.h"

#define GREETING_MAX 512
#define GREETING_RUN_ID "0123456789abcdef0123456789abcdef01234567"

struct greeting {
    bool answers_ping;                /* until it has answered INFO */
    bool has_info;
    int protocol;                     /* 2 or 3; HELLO changes it */
    unsigned id;                      /* the connection's, as HELLO tells it */
};

/* greeting_answer - writes the reply to a handshake command, and no NUL behind
 * it. Returns its length, or 0 if the command is no part of a handshake. */
size_t greeting_answer(struct greeting *g, const struct request *r,
                       char dst[GREETING_MAX]);

#endif
