/* Replaces connections to servers that do not serve. Rules in replace.h. */
/* Tests: tests/live/server/test_one_address.c. */
#include "net/route/replace.h"

#include <string.h>

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
static bool is_quiet(const struct hf_replacement *r, int64_t now)
{
    return now - r->refused_ms >= REPLACE_QUIET_MS;
}

static void note_refusal(struct hf_replacement *r, int64_t now)
{
    if (r->since_ms == 0 || is_quiet(r, now)) {
        r->since_ms = now;
        r->pause_ms = REPLACE_MIN_MS;
    }
    r->refused_ms = now;
}

static bool is_due(struct hf_replacement *r, int64_t now, int64_t wait_ms)
{
    note_refusal(r, now);
    if (now < r->next_ms || now - r->since_ms < wait_ms)
        return false;
    r->next_ms = now + r->pause_ms;
    r->pause_ms = r->pause_ms < REPLACE_MAX_MS / 2 ? 2 * r->pause_ms
                                                   : REPLACE_MAX_MS;
    return true;
}

/* Some may be NULL: they are made when they are first needed. */
#define LINKS 3

static void links_of(struct hf_link *links[LINKS], const struct hf_server *server)
{
    links[0] = server->link;
    links[1] = server->wait_link;
    links[2] = hf_pubsub_link(server->pubsub);
}

static void replace(struct hf_server *server, const char *why, int64_t wait_ms)
{
    struct hf_link *links[LINKS];

    if (!is_due(&server->replacement, hf_loop_now(server->router->loop), wait_ms))
        return;
    links_of(links, server);
    for (int i = 0; i < LINKS; i++)
        if (links[i])
            hf_link_replace(links[i], why);
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

/* ---- another process (REPLACE-4) ---- */

static bool leads_elsewhere(const struct hf_link *link, const char *run_id)
{
    const char *has = hf_link_predecessor(link)->run_id;

    return hf_link_is_up(link) && has[0] && strcmp(has, run_id) != 0;
}

/* Returns whether the address leads to several processes at a time. Called while another
 * connection is open to another process than `run_id`. */
static bool leads_to_several(struct hf_server *server, const char *run_id)
{
    int64_t now = hf_loop_now(server->router->loop);

    if (strcmp(server->left_run_id, run_id) == 0 && now - server->left_ms < REPLACE_BACK_MS)
        server->several_until_ms = now + REPLACE_SEVERAL_MS;
    return now < server->several_until_ms;
}

static void leave(struct hf_server *server, struct hf_link *link)
{
    int64_t now = hf_loop_now(server->router->loop);

    memcpy(server->left_run_id, hf_link_predecessor(link)->run_id,
           sizeof server->left_run_id);
    server->left_ms = now;
    note_refusal(&server->replacement, now);
    hf_link_replace(link, "a new connection to this address leads to another server");
    hf_link_come_back(link, true);
}

void hf_replace_older(struct hf_server *server, const struct hf_link *fresh)
{
    const char *run_id = hf_link_predecessor(fresh)->run_id;
    struct hf_link *links[LINKS];

    links_of(links, server);
    for (int i = 0; run_id[0] && i < LINKS; i++)
        if (links[i] && links[i] != fresh && leads_elsewhere(links[i], run_id) &&
            !leads_to_several(server, run_id))
            leave(server, links[i]);
}

void hf_replace_served(struct hf_server *server)
{
    struct hf_replacement *r = &server->replacement;
    struct hf_link *links[LINKS];

    if (r->since_ms == 0 || !is_quiet(r, hf_loop_now(server->router->loop)))
        return;
    *r = (struct hf_replacement){.since_ms = 0};
    links_of(links, server);
    for (int i = 0; i < LINKS; i++)
        if (links[i])
            hf_link_serves(links[i]);
}
