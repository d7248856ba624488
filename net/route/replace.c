/* Replaces connections to servers that do not serve. Rules in replace.h. */
/* Tests: tests/test_net_replace.c, tests/live/server/test_one_address.c. */
#include "net/route/replace.h"

#include <string.h>

#include "net/base/moment.h"
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
static int cure_of_error(struct hf_resp_value error)
{
    for (size_t i = 0; i < sizeof cures / sizeof *cures; i++)
        if (hf_refusal_is(error, cures[i].code))
            return (int)i;
    return -1;
}

bool hf_replace_may_help(struct hf_resp_value error)
{
    return cure_of_error(error) >= 0;
}

/* REPLACE-2 */
static bool has_refusal_series_ended(const struct hf_replacement *r, int64_t now)
{
    return now - r->last_refusal_ms >= REPLACE_QUIET_MS;
}

static void record_refusal(struct hf_replacement *r, int64_t now)
{
    if (r->first_refusal_ms == 0 || has_refusal_series_ended(r, now)) {
        r->first_refusal_ms = now;
        r->pause_ms = REPLACE_MIN_MS;
    }
    r->last_refusal_ms = now;
}

static bool is_replacement_due(struct hf_replacement *r, int64_t now, int64_t wait_ms)
{
    record_refusal(r, now);
    if (now < r->next_replacement_ms || now - r->first_refusal_ms < wait_ms)
        return false;
    r->next_replacement_ms = now + r->pause_ms;
    r->pause_ms = r->pause_ms < REPLACE_MAX_MS / 2 ? 2 * r->pause_ms
                                                   : REPLACE_MAX_MS;
    return true;
}

/* Some may be NULL: they are made when they are first needed. */
static void get_links_of_server(struct hf_link *links[SERVER_LINKS], const struct hf_server *server)
{
    links[0] = server->link;
    links[1] = server->wait_link;
    links[2] = hf_pubsub_own_link(server->pubsub);
}

static void replace_links(struct hf_server *server, const char *why, int64_t wait_ms)
{
    struct hf_link *links[SERVER_LINKS];

    if (!is_replacement_due(&server->replacement, hf_loop_now(server->router->loop), wait_ms))
        return;
    get_links_of_server(links, server);
    for (int i = 0; i < SERVER_LINKS; i++)
        if (links[i])
            hf_link_replace(links[i], why);
}

void hf_replace_on_refusal(struct hf_server *server, struct hf_resp_value error)
{
    int row = cure_of_error(error);

    if (row >= 0)
        replace_links(server, cures[row].why, cures[row].wait_ms);
}

void hf_replace_connections(struct hf_server *server, const char *why)
{
    replace_links(server, why, 0);
}

/* ---- another process (REPLACE-4) ---- */

/* The connection of `i`; NULL: it is not open, was replaced, or its server did not report the
 * process. */
static struct hf_link *open_link_with_process(const struct hf_server *server, int i)
{
    struct hf_link *links[SERVER_LINKS];

    get_links_of_server(links, server);
    return links[i] && hf_link_is_up(links[i]) &&
                   hf_link_attempt_number(links[i]) != server->replaced_attempts[i] &&
                   hf_link_predecessor(links[i])->run_id[0]
               ? links[i]
               : NULL;
}

/* NULL: none is open. */
static const struct hf_link *newest_open_link(const struct hf_server *server)
{
    const struct hf_link *newest = NULL;

    for (int i = 0; i < SERVER_LINKS; i++) {
        const struct hf_link *link = open_link_with_process(server, i);

        if (link && (!newest || hf_link_attempt_number(link) > hf_link_attempt_number(newest)))
            newest = link;
    }
    return newest;
}

/* Returns a connection to another process than the newest one's; -1: there is none. */
static int find_link_to_other_process(const struct hf_server *server)
{
    const struct hf_link *newest = newest_open_link(server);

    for (int i = 0; i < SERVER_LINKS; i++) {
        const struct hf_link *link = open_link_with_process(server, i);

        if (link && strcmp(hf_link_predecessor(link)->run_id,
                           hf_link_predecessor(newest)->run_id) != 0)
            return i;
    }
    return -1;
}

static void replace_old_connection(struct hf_server *server, int i)
{
    struct hf_link *link = open_link_with_process(server, i);

    server->replaced_attempts[i] = hf_link_attempt_number(link);
    record_refusal(&server->replacement, hf_loop_now(server->router->loop));
    hf_link_replace(link, "a new connection to this address leads to another server");
    hf_link_reconnect_once(link, true);
}

static void replace_old_connections(struct hf_server *server)
{
    for (int i; (i = find_link_to_other_process(server)) >= 0;)
        replace_old_connection(server, i);
}

static void on_replace_pause_end(struct hf_timer *timer)
{
    replace_old_connections(HF_OWNER_OF(timer, struct hf_server, replace_pause_timer));
}

static void begin_replace_pause(struct hf_server *server, int64_t now)
{
    bool is_first = server->replace_pause_ms == 0 ||
                    now - server->replace_pause_until_ms >= REPLACE_PAUSE_MAX_MS;

    server->replace_pause_ms =
        is_first ? REPLACE_PAUSE_MS
                 : hf_min_ms(2 * server->replace_pause_ms, REPLACE_PAUSE_MAX_MS);
    server->replace_pause_until_ms = now + server->replace_pause_ms;
    server->replace_pause_timer.fire = on_replace_pause_end;
    hf_loop_arm(server->router->loop, &server->replace_pause_timer, server->replace_pause_until_ms);
}

/* Notes which replaced connections are open again, also at a process that does not report its
 * run_id. Returns whether one was missing before. Subscriptions need no connection of their own
 * after RESP2: then it is not missing. */
static bool clear_reopened_replacements(struct hf_server *server)
{
    struct hf_link *links[SERVER_LINKS];
    bool was_one_missing = false;

    get_links_of_server(links, server);
    for (int i = 0; i < SERVER_LINKS; i++) {
        if (!links[i])
            server->replaced_attempts[i] = 0;
        was_one_missing = was_one_missing || server->replaced_attempts[i] != 0;
        if (links[i] && hf_link_is_up(links[i]) &&
            hf_link_attempt_number(links[i]) != server->replaced_attempts[i])
            server->replaced_attempts[i] = 0;
    }
    return was_one_missing;
}

void hf_replace_older_connections(struct hf_server *server)
{
    int64_t now = hf_loop_now(server->router->loop);
    bool was_one_missing = clear_reopened_replacements(server);

    if (now < server->replace_pause_until_ms || find_link_to_other_process(server) < 0)
        return;
    if (was_one_missing)
        begin_replace_pause(server, now);
    else
        replace_old_connections(server);
}

void hf_replace_note_served(struct hf_server *server)
{
    struct hf_replacement *r = &server->replacement;
    struct hf_link *links[SERVER_LINKS];

    if (r->first_refusal_ms == 0 || !has_refusal_series_ended(r, hf_loop_now(server->router->loop)))
        return;
    *r = (struct hf_replacement){.first_refusal_ms = 0};
    get_links_of_server(links, server);
    for (int i = 0; i < SERVER_LINKS; i++)
        if (links[i])
            hf_link_note_serving(links[i]);
}
