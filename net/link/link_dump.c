/* A link as text. */
/* Tests: tests/live/lock/test_dump.c. */
#include <inttypes.h>

#include "net/base/dump.h"
#include "net/link/link_inner.h"

static const char *const states[] = {
    [HF_LINK_IDLE] = "idle",
    [HF_LINK_ASKING] = "awaits credentials",
    [HF_LINK_DIALING] = "connects",
    [HF_LINK_SECURING] = "in the TLS handshake",
    [HF_LINK_GREETING] = "in the Redis handshake",
    [HF_LINK_READY] = "ready",
    [HF_LINK_BACKOFF] = "waits before the next attempt",
};

void hf_link_dump(const struct hf_link *link, struct hf_dump *dump, int depth,
                  const char *what)
{
    const struct hf_conn *c = &link->conn;
    char heard[HF_DUMP_TIME_MAX], due[HF_DUMP_TIME_MAX];

    hf_dump_line(dump, depth,
                 "%s to %s: %s, RESP%d, stream %" PRIu64 ", %" PRIu64
                 " requests in flight, %" PRIu64 " queued, %zu bytes to send, "
                 "last byte or first request %s, next timer %s",
                 what, link->address, states[link->state], link->protocol, c->stream,
                 c->unsent - c->first, c->last - c->unsent, c->out_end - c->out_start,
                 hf_dump_time(dump, heard,
                              link->quiet_since_ms ? link->quiet_since_ms : HF_NEVER),
                 hf_dump_time(dump, due,
                              link->timer.link ? link->timer.due_ms : HF_NEVER));
    if (link->state != HF_LINK_READY && link->error.status != HF_OK)
        hf_dump_line(dump, depth + 1, "last error: %s", link->error.text);
    if (link->rival)
        hf_link_dump(link->rival, dump, depth + 1, "second connection");
}
