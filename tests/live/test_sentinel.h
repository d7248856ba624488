/* What the tests with real sentinels share: URLs that name them, clients that
 * note whom they ask. */
#ifndef TEST_LIVE_SENTINEL_H
#define TEST_LIVE_SENTINEL_H

#include "tests/live/test_lock.h"
#include "tests/support/sentinels.h"

#define REPLICAS 2
#define SENTINELS 3
#define URL_ROOM 512

static struct sentinels *sentinels;

/* ---- where ---- */

/* "redis+sentinel://127.0.0.1:a,127.0.0.1:b/NAME", of `count` ports. */
static inline void url_of_ports(char url[URL_ROOM], const int *ports, int count,
                                const char *name)
{
    int len = snprintf(url, URL_ROOM, "redis+sentinel://");

    for (int i = 0; i < count; i++)
        len += snprintf(url + len, URL_ROOM - (size_t)len, "%s127.0.0.1:%d",
                        i ? "," : "", ports[i]);
    (void)snprintf(url + len, URL_ROOM - (size_t)len, "/%s", name);
}

/* Of the first `count` sentinels. */
static inline char *url_of(char url[URL_ROOM], int count)
{
    int ports[SENTINELS_MAX];

    for (int i = 0; i < count; i++)
        ports[i] = server_port(sentinels_sentinel(sentinels, i));
    url_of_ports(url, ports, count, SENTINELS_NAME);
    return url;
}

static inline struct server *master_now(void)
{
    return sentinels_server(sentinels, sentinels_master(sentinels));
}

/* ---- clients that note whom they ask ---- */

struct watch {
    struct note note;
    int asked;                  /* times that a sentinel was asked */
    int refused;                /* READONLY seen */
};

/* Without a lock of the test's: the loop's is held. */
static inline void watch_trace(void *ctx, const struct hf_trace *trace)
{
    struct watch *w = ctx;

    if (trace->kind == HF_TRACE_QUEUED && trace->argc > 1 &&
        trace->argv[1].len == strlen("GET-MASTER-ADDR-BY-NAME"))
        note_add(&w->note, &w->asked);
    if (trace->kind == HF_TRACE_ENDED && trace->outcome == HF_ANSWERED &&
        hf_resp_error_is(trace->reply, "READONLY"))
        note_add(&w->note, &w->refused);
}

static inline struct hf_client_options sentinel_options(const char *url,
                                                        int protocol)
{
    struct hf_client_options o;

    hf_client_options_init(&o);
    o.url = url;
    o.protocol = protocol;
    return o;
}

static inline void watch_with(struct hf_client_options *o, struct watch *w)
{
    memset(w, 0, sizeof *w);
    note_init(&w->note);
    o->trace = watch_trace;
    o->trace_ctx = w;
}

/* A client of the first `count` sentinels. */
static inline struct hf_client *client_of(int count, int protocol)
{
    char url[URL_ROOM];
    struct hf_client_options o =
        sentinel_options(url_of(url, count), protocol);

    return client_with(&o);
}

#endif
