/* Test vectors for a parser of RESP2 and RESP3: the file resp.txt beside this
 * header, and the ways of feeding it that make a parser answer differently: a
 * network that cuts, a buffer that ends, a neighbour in front. It knows no
 * parser; what it runs is an adapter, one function. How to write one, with an
 * example: docs/resp-vectors.md. POSIX and C11; needs nothing of holdfast. */
#ifndef VECTORS_H
#define VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- the file ---- */

/* A line of the file, in one of its protocols: a line for both makes two. */
struct vec_vector {
    char *name;
    char *verdict;         /* "accept", "reject" or "incomplete" */
    char *expected;        /* accept: the values, a line each; reject:
                              "protocol" or "limit" */
    char *bytes;
    size_t len;
    int protocol;          /* 2 or 3 */
};

struct vec_file {
    struct vec_vector *vectors;
    size_t count;
};

/* vec_read - reads a file of vectors. What is no vector ends the program with
 * code 2, and says so. vec_free - gives the memory back. */
struct vec_file vec_read(const char *path);
void vec_free(struct vec_file *f);

/* ---- the adapter ---- */

/* Bytes as they come from a socket. Behind the last one is memory that may not
 * be read. A piece may be empty. */
struct vec_piece {
    const char *ptr;
    size_t len;
};

enum vec_verdict {
    VEC_ACCEPT,            /* the last byte was the last of a value; or none */
    VEC_INCOMPLETE,        /* a value has begun and more bytes are wanted */
    VEC_PROTOCOL,          /* an error: no server may send this */
    VEC_LIMIT,             /* an error: it promises too much */
    VEC_REJECT,            /* an error, and the parser does not say which */
    VEC_FAILED             /* no answer: out of memory, for example */
};

#define VEC_UNKNOWN SIZE_MAX

/* How it ended. Of two runs of one vector, all of this must be the same. */
struct vec_answer {
    enum vec_verdict verdict;
    size_t offset;         /* of the byte in error, counted from the first of
                              the first piece; VEC_UNKNOWN without an error, or
                              if the parser does not say */
    char reason[128];      /* its words for the error, for the report; "" if it
                              has none or they depend on the pieces */
};

/* vec_adapter - makes a parser, feeds it the pieces in their order, unmakes it.
 *   pieces    to be fed all, also behind an error: a parser that comes back to
 *             life is found out by that
 *   protocol  2 or 3: what the connection speaks
 *   values    to which each value is written in the notation of the file, and a
 *             '\n' behind it, as soon as the parser gives it */
typedef struct vec_answer vec_adapter(const struct vec_piece *pieces,
                                      size_t count, int protocol,
                                      FILE *values);

/* What a file with an adapter defines, for main.c. */
struct vec_parser {
    const char *name;      /* with its version */
    vec_adapter *adapter;
};
extern const struct vec_parser vec_parser;

/* The two parts of the notation that are easily got wrong.
 *   bytes   in quotes; CR, LF and what is no plain ASCII escaped
 *   double  dbl: and the shortest text that reads back as the same number,
 *           whatever the locale */
void vec_put_bytes(FILE *out, const char *bytes, size_t len);
void vec_put_double(FILE *out, double n);

/* ---- the ways of running ---- */

#define VEC_WHY_MAX 320

/* One vector, run in one way. */
struct vec_trial {
    const struct vec_file *file;
    const struct vec_vector *vector;   /* of this file */
    vec_adapter *adapter;
    const char *want;      /* as vec_ask gave it: what may not change */
    char why[VEC_WHY_MAX]; /* written if it deviates */
};

enum vec_outcome {
    VEC_KEPT,
    VEC_DEVIATES,
    VEC_NOT_ASKED,         /* the way says nothing about this vector, or this
                              machine does not have what it needs */
    VEC_DIED               /* as vec_score finds it: crashed, or without end */
};

struct vec_way {
    const char *name;
    const char *promise;   /* what is kept */
    enum vec_outcome (*run)(struct vec_trial *t);
};

/* In the order of vec_ways. */
enum {
    VEC_WHOLE,
    VEC_BYTES,
    VEC_TWO,
    VEC_THREE,
    VEC_PAGE,
    VEC_PREFIX,
    VEC_BETWEEN,
    VEC_AFTER,
    VEC_COMMA,
    VEC_MEMORY,
    VEC_WAYS
};
extern const struct vec_way vec_ways[VEC_WAYS];

/* vec_ask - the answer to a vector fed at once, as text: the values, then how
 * it ended, a line each. The caller frees it. */
char *vec_ask(vec_adapter *adapter, const struct vec_vector *v);

/* vec_page_end - room for `len` bytes in front of a page that faults, until the
 * next call with the same `area`. At most VEC_PAGE_ROOM bytes. */
#define VEC_AREAS 3
#define VEC_PAGE_ROOM ((size_t)1 << 20)
char *vec_page_end(unsigned area, size_t len);

/* vec_address_space - bytes of it in use; 0 if this machine does not say, or if
 * far more is reserved than used, so that no limit on it makes sense. */
size_t vec_address_space(void);

/* vec_alloc - realloc that ends the program where there is no memory. */
void *vec_alloc(void *ptr, size_t size);

/* ---- the score ---- */

/* vec_score - each vector in each way, in processes of their own: a parser that
 * crashes, takes more than `seconds` or asks for all memory has deviated, and
 * the next vector is tried. Writes a line for each deviation, `name | RESP2 |
 * way | why`, and then the sums. Returns how many lines of the file deviate. */
size_t vec_score(const struct vec_file *f, const struct vec_parser *p,
                 unsigned seconds, FILE *out);

#endif
