/* Whether a master that was silent is the master. Rules in doubt.h. */
/* Tests: tests/sim/test_switch.c, tests/live/sentinel/test_sentinel_failover.c. */
#include "net/route/doubt.h"
#include "net/base/assert.h"
#include "net/route/replace.h"
#include "net/route/server.h"
#include "net/route/switched.h"

#define DOUBT_MS 1500           /* a second between two INFO of a sentinel, and time
                                   for the answers */
#define DOUBT_REPEAT_MS 10000

/* A server that never answered has granted nothing. */
void hf_doubt_silent(struct hf_server *server, int64_t since_ms)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    if (server->silent_since_ms == 0 && server->has_answered)
        server->silent_since_ms = since_ms;
}

static bool was_silent_too_long(const struct hf_server *server)
{
    const struct hf_router *router = server->router;

    return server->silent_since_ms != 0 && router->topology->on_doubt &&
           router->options.doubt_after_ms != 0 &&
           hf_loop_now(router->loop) - server->silent_since_ms >=
               router->options.doubt_after_ms;
}

/* Ends the silence. */
static bool end_silence_and_begin_doubt(struct hf_server *server)
{
    int64_t now;
    bool is_due;

    if (server->silent_since_ms == 0)
        return false;
    now = hf_loop_now(server->router->loop);
    is_due = was_silent_too_long(server) && now >= server->next_doubt_ms;
    server->silent_since_ms = 0;
    if (!is_due)
        return false;
    server->doubt_until_ms = now + DOUBT_MS;
    server->next_doubt_ms = now + DOUBT_MS + DOUBT_REPEAT_MS;
    return true;
}

bool hf_doubt_answered(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    server->has_answered = true;
    if (!end_silence_and_begin_doubt(server)) {
        hf_switched_answered(server);
        hf_replace_note_served(server);
        return false;
    }
    server->router->topology->on_doubt(server);
    return true;
}

void hf_doubt_refused(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    if (!was_silent_too_long(server))
        server->silent_since_ms = 0;
}

void hf_doubt_confirmed(struct hf_server *server, int64_t queried_ms)
{
    const struct hf_router *router = server->router;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (queried_ms > server->silent_since_ms &&
        hf_loop_now(router->loop) - queried_ms < router->options.doubt_after_ms)
        server->silent_since_ms = 0;
}

bool hf_doubt_is_on(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    return end_silence_and_begin_doubt(server) ||
           hf_loop_now(server->router->loop) < server->doubt_until_ms;
}
