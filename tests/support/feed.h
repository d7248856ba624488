/* What a server tells unasked, with the time at which it arrived: MONITOR, or
 * the messages of channels. Read by a thread, so that the times are true and
 * the server's output buffer does not fill, however late the test looks.
 *
 * Belongs to the process that opened it: a thread does not survive a fork. */
#ifndef TEST_FEED_H
#define TEST_FEED_H

#include <stddef.h>
#include <stdint.h>

struct feed;
struct server;

/* More than this many unread events fail the test. */
#define FEED_EVENTS_MAX 100000

struct feed_event {
    int64_t at_ms;              /* local_now_ms, hf_clock_ms */
    const char *text;           /* as witness_text: "message channel text", or a
                                   line of MONITOR */
};

/* feed_open - `format` as in server_ask: "MONITOR", "SUBSCRIBE a b",
 * "PSUBSCRIBE __key*". On return the server has confirmed all of it. Fails the
 * test if it does not. MONITOR shows the witness's questions, too: they come
 * from "unix:".
 *
 * feed_next - the oldest unread event, lent until the next call for this feed;
 * NULL if there is none for `timeout_ms`, or the connection has ended.
 *
 * feed_await - drops events until one contains `part`, which is returned as
 * by feed_next. Fails the test after `timeout_ms`.
 *
 * feed_close - takes NULL. */
struct feed *feed_open(struct server *s, const char *format, ...);
const struct feed_event *feed_next(struct feed *f, int timeout_ms);
const struct feed_event *feed_await(struct feed *f, int timeout_ms,
                                    const char *part);
void feed_close(struct feed *f);

#endif
