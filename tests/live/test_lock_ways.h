/* The ways of using a client: in RESP3 and RESP2, with a thread of its own or
 * in a loop that only the test drives. */
#ifndef TEST_LIVE_LOCK_WAYS_H
#define TEST_LIVE_LOCK_WAYS_H

#include "tests/live/test_lock.h"

struct way {
    int protocol;
    bool thread;
};

static const struct way ways[] = {{3, true}, {2, true}, {3, false}, {2, false}};

static inline void way_options(struct hf_client_options *o, char *url, int port,
                               const struct way *way)
{
    client_options(o, url, port);
    o->protocol = way->protocol;
    o->thread = way->thread;
}

#endif
