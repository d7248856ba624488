/* The requests of `holdfast doctor`, and the servers to which they are sent. Pure: nothing is
 * sent here.
 *
 * No request changes anything. The commands that holdfast uses are tried in a form that the
 * server refuses after it has checked the ACL and its own state: HSET with one word too many,
 * PEXPIRE with a time that is not a number. DEL and PUBLISH use names that do not exist. */
#ifndef CLI_DOCTOR_QUERIES_H
#define CLI_DOCTOR_QUERIES_H

#include "cli/doctor/answers.h"

/* The texts that replace the names in requests. */
struct doctor_query_names {
    const char *key;            /* of the lock, or the scratch name */
    const char *channel;        /* its channel */
    const char *unused_key;     /* a random name that is not used */
    const char *unused_channel;
    const char *user;           /* whose ACL counts */
    const char *master;         /* the name that sentinels have for it */
};

struct doctor_query {
    unsigned targets;           /* a sum of TO_* */
    const char *words;          /* parted by spaces */
    enum doctor_permission permission;  /* that it tries */
    enum doctor_fact fact;      /* the requested fact; FACT_NONE: several */
    doctor_reader *read_reply;  /* reads a reply that is not an error; may be NULL */
};

enum {
    TO_NODE = 1,                /* a server that has keys */
    TO_CLUSTER_NODE = 2,        /* one of a cluster */
    TO_SENTINEL = 4,
    TO_ALL = TO_NODE | TO_SENTINEL
};

#define DOCTOR_WORDS_MAX 6   /* arguments of the longest request */
extern const struct doctor_query doctor_queries[];
extern const size_t doctor_query_count;

/* Requests that subscribe come last: with RESP2 the connection cannot be used for other
 * requests after them. */
bool doctor_query_subscribes(const struct doctor_query *q);

/* doctor_query_is_for - returns whether the request is sent to this server.
 * doctor_query_put_words - writes its arguments; returns their number.
 * doctor_query_read - processes the reply, which may be an error.
 * doctor_channel - returns the channel of a lock, as Redisson names it (WIRE 2.4), for free();
 *   NULL: no memory. */
bool doctor_query_is_for(const struct doctor_query *q,
                         const struct doctor_facts *facts,
                         const struct doctor_server *s);
size_t doctor_query_put_words(const struct doctor_query *q,
                              const struct doctor_query_names *names,
                              struct hf_resp_arg argv[DOCTOR_WORDS_MAX]);
void doctor_query_read(const struct doctor_query *q,
                       struct doctor_facts *facts, struct doctor_server *s,
                       struct hf_resp_value value);
char *doctor_channel(const char *name);

#endif
