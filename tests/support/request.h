/* Requests as a server reads them: arrays of bulk strings and nothing else.
 * Written to be read, as the judge of what the library's encoder sends.
 * Source: RESP "Sending commands to a Redis server". */
#ifndef TEST_REQUEST_H
#define TEST_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#define REQUEST_ARGS_MAX 1024
#define REQUEST_ARG_MAX (16u << 20)   /* bytes */

struct request {
    size_t len;                       /* bytes that it took */
    size_t argc;
    struct {
        const char *ptr;              /* into the bytes decoded */
        size_t len;
    } arg[REQUEST_ARGS_MAX];
};

enum request_state {
    REQUEST_WHOLE,                    /* *out is a request */
    REQUEST_MORE,                     /* it goes on behind `len` */
    REQUEST_BROKEN                    /* no continuation can make it one */
};

/* request_decode - the request at the beginning of `bytes`. */
enum request_state request_decode(struct request *out, const char *bytes,
                                  size_t len);

/* request_matches - compares with a pattern of words with one space between:
 * a word is an argument, byte for byte; "*" is any one argument, "" (two
 * quotes) an empty one, "..." all that are left, also none. */
bool request_matches(const struct request *r, const char *pattern);

/* request_text - the arguments with one space between, for free(): an empty
 * one as "", control characters and bytes over 126 as \xHH. */
char *request_text(const struct request *r);

#endif
