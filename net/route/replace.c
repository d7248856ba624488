/* Replaces connections to servers that do not serve. Rules in replace.h. */
#include "net/route/replace.h"
#include "net/route/refusal.h"
#include "net/route/server.h"

static const struct {
    const char *code;
    const char *why;
    int64_t wait_ms;
} cures[] = {
    {"READONLY", "this server is a replica", 0},
    {"MASTERDOWN", "this server is a replica without its master", 0},
    {"LOADING", "this server is still loading its data", LOADING_MS},
};

/* The row of an error reply; -1: none. */
static int row_of(struct hf_resp_value error)
{
    for (size_t i = 0; i < sizeof cures / sizeof *cures; i++)
        if (hf_refusal_is(error, cures[i].code))
            return (int)i;
    return -1;
}

bool hf_replace_cures(struct hf_resp_value error)
{
    return row_of(error) >= 0;
}

/* REPLACE-2 */
static bool is_due(struct hf_replacement *r, int64_t now, int64_t wait_ms)
{
    if (r->since_ms == 0) {
        r->since_ms = now;
        r->pause_ms = REPLACE_MIN_MS;
    }
    if (now < r->next_ms || now - r->since_ms < wait_ms)
        return false;
    r->next_ms = now + r->pause_ms;
    r->pause_ms = r->pause_ms < REPLACE_MAX_MS / 2 ? 2 * r->pause_ms
                                                   : REPLACE_MAX_MS;
    return true;
}

static void replace(struct hf_server *server, const char *why, int64_t wait_ms)
{
    if (!is_due(&server->replacement, hf_loop_now(server->router->loop), wait_ms))
        return;
    hf_link_replace(server->link, why);
    if (server->wait_link)
        hf_link_replace(server->wait_link, why);
}

void hf_replace_refused(struct hf_server *server, struct hf_resp_value error)
{
    int row = row_of(error);

    if (row >= 0)
        replace(server, cures[row].why, cures[row].wait_ms);
}

void hf_replace(struct hf_server *server, const char *why)
{
    replace(server, why, 0);
}

void hf_replace_served(struct hf_server *server)
{
    if (server->replacement.since_ms == 0)
        return;
    server->replacement = (struct hf_replacement){.since_ms = 0};
    hf_link_serves(server->link);
    if (server->wait_link)
        hf_link_serves(server->wait_link);
}
