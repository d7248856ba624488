/* Replies for tests of what reads them: written down, or a real server's.
 *
 * The notation is short, and one text gives the RESP2 and the RESP3 of it:
 *
 *     7  -7            integer
 *     'text'           bulk string
 *     +word            simple string
 *     !'text'          error
 *     nil              null
 *     [a b c]          array
 *     {key value ..}   map; in RESP2 the flat array that stands for it
 *
 * A reply's bytes and nodes are blocks of their very sizes: a sanitizer sees
 * who looks behind them. Whatever cannot be done fails the test. */
#ifndef TEST_REPLY_H
#define TEST_REPLY_H

#include "resp/resp.h"

struct server;

struct reply {
    struct hf_resp_value value;
    char *bytes;
    size_t len;
    struct hf_resp_node *nodes;
};

/* reply_write - the bytes of a notation, for free(). */
char *reply_write(const char *notation, int protocol, size_t *len);

/* reply_of       - of a notation.
 * reply_of_bytes - of RESP; false: that is not one whole value of it.
 * reply_from     - of a server that is asked `command` (words and spaces), over
 *                  TCP, after HELLO 3 if the protocol is 3.
 * reply_fini     - frees it. */
struct reply reply_of(const char *notation, int protocol);
bool reply_of_bytes(struct reply *out, const char *bytes, size_t len,
                    int protocol);
struct reply reply_from(const struct server *s, int protocol,
                        const char *command);
void reply_fini(struct reply *reply);

#endif
