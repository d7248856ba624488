/* Credentials that a program gives to a client when it requests them. */
#ifndef HF_CREDENTIALS_H
#define HF_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A request for the user and the password of one connection. */
struct hf_credentials_query {
    size_t size;                /* of the library's struct: net/version.h */
    uint64_t id;                /* for an answer that comes later; never 0 */
    const char *address;        /* of the server: "10.0.0.5:6379". Valid during the
                                   callback */
    bool is_sentinel;
    bool was_refused;           /* the server refused the last ones: do not answer from
                                   a cache */
};

/* The answer. The library initialises the struct that the callback fills in; what the
 * program gives to hf_client_answer_credentials begins with HF_CREDENTIALS_INIT. */
struct hf_credentials {
    size_t size;                /* net/version.h */
    const char *user;           /* NULL: the one of the URL or of the options */
    const char *password;       /* the same; each 0 to HF_LOGIN_MAX bytes */
    int64_t expires_in_ms;      /* when the server will refuse them; 0: never, or it is
                                   not known; negative: they have expired, so they are
                                   not used, and the attempt to connect fails. After three
                                   quarters of this time the client requests new ones, and
                                   sends AUTH on the live connection. On a connection of
                                   RESP2 that has subscriptions, where AUTH is not allowed,
                                   it reconnects */
};

#define HF_CREDENTIALS_INIT {.size = sizeof(struct hf_credentials)}

/* What a credentials callback returns if it will answer later. */
#define HF_CREDENTIALS_LATER 1

#ifdef __cplusplus
}
#endif
#endif
