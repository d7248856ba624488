/* What the servers did, as lines of a history (tests/judge/history.h), from what
 * watches have written (chaos_watch.h).
 *
 * Each server's hashes of locks are kept as its commands change them, and compared
 * with what the server itself says of them. The lines are of one source, "s1": the
 * service as a whole. Of each lock the server decides that has executed a client's
 * command on it last, or has become its master since; where that one does not have
 * what the one before it had, the service forgot it. */
#ifndef CHAOS_MODEL_H
#define CHAOS_MODEL_H

#include <stddef.h>
#include <stdint.h>

/* The client of a UUID, by its number; 0: of none. */
typedef unsigned chaos_client_of(void *ctx, const char *uuid);

/* A line, with LF. */
typedef void chaos_sink(void *ctx, int64_t us, const char *line, size_t len);

struct chaos_model_counts {
    unsigned long scripts;      /* of locks, that were executed */
    unsigned long compared;     /* answers of servers */
    unsigned long wrong;        /* of these, not what was expected: the model's
                                   fault, or a change that MONITOR does not show */
};

/* chaos_model_run - takes in `count` watches' files. Says on stdout what was
 * wrong, where and when. */
struct chaos_model_counts chaos_model_run(const char *const *paths, int count,
                                          chaos_client_of *client_of,
                                          chaos_sink *sink, void *ctx);

#endif
