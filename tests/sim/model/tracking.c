/* CLIENT TRACKING with OPTIN: keys that a client has read, and is told when they change.
 * Source: tracking.c of Redis 7.0. */
#include "tests/sim/model/inner.h"

#include <stdlib.h>

static ptrdiff_t find(const struct model_client *c, struct slice key)
{
    for (size_t i = 0; i < c->tracked_n; i++)
        if (md_same(md_slice(c->tracked[i]), key))
            return (ptrdiff_t)i;
    return -1;
}

static void forget(struct model_client *c, size_t at)
{
    free(c->tracked[at]);
    c->tracked[at] = c->tracked[--c->tracked_n];
}

void md_untrack(struct model_client *c)
{
    while (c->tracked_n > 0)
        forget(c, c->tracked_n - 1);
    free(c->tracked);
    c->tracked = NULL;
    c->tracked_room = 0;
    c->is_tracking = c->is_caching = c->has_no_loop = false;
}

/* By a command of the client, or one that its script calls. */
void md_track_reads(struct call *c)
{
    struct model_client *client = c->client;
    int at;

    if (!client->is_tracking || !client->is_caching ||
        c->command->flags & (C_WRITE | C_KEYS_COUNTED))
        return;
    for (int i = 0; (at = md_key_position(c->command, c->argv, c->argc, i)) > 0; i++) {
        if (find(client, c->argv[at]) >= 0)
            continue;
        client->tracked = md_grow(client->tracked, client->tracked_n,
                                  &client->tracked_room, sizeof *client->tracked);
        client->tracked[client->tracked_n++] = md_blob(c->argv[at]);
    }
}

/* Twice if the model is to: what a client must bear. */
static void push(struct model_client *c, const struct slice *key)
{
    for (int i = 0; c->protocol == 3 && i <= c->m->options.pushes_twice; i++) {
        md_push(&c->out, 3, 2);
        md_put_bulk(&c->out, md_text("invalidate"));
        if (key)
            md_add_text(&c->out, "*1\r\n");
        else
            md_add_text(&c->out, "_\r\n");
        if (key)
            md_put_bulk(&c->out, *key);
    }
}

void md_invalidate(struct model *m, struct slice key, bool is_own)
{
    for (struct model_client *c = m->clients.next; c != &m->clients; c = c->next) {
        ptrdiff_t at = c->is_tracking ? find(c, key) : -1;

        if (at < 0)
            continue;
        if (!is_own || !c->has_no_loop || c != m->current)
            push(c, &key);
        forget(c, (size_t)at);
    }
}

void md_invalidate_all(struct model *m)
{
    for (struct model_client *c = m->clients.next; c != &m->clients; c = c->next) {
        if (!c->is_tracking)
            continue;
        while (c->tracked_n > 0)
            forget(c, c->tracked_n - 1);
        push(c, NULL);
    }
}

void md_run_tracking(struct call *c)
{
    bool has_opt_in = false, has_no_loop = false;

    for (int i = 3; i < c->argc; i++) {
        has_opt_in = has_opt_in || md_is(c->argv[i], "optin");
        has_no_loop = has_no_loop || md_is(c->argv[i], "noloop");
    }
    md_untrack(c->client);
    c->client->is_tracking = md_is(c->argv[2], "on");
    c->client->has_no_loop = has_no_loop;
    if (c->client->is_tracking && !has_opt_in) {
        md_untrack(c->client);
        md_error(c, "ERR the model tracks with OPTIN alone");
    } else {
        md_ok(c);
    }
}

void md_run_caching(struct call *c)
{
    if (!c->client->is_tracking) {
        md_error(c, "ERR CLIENT CACHING can be called only when the client is in tracking "
                    "mode with OPTIN or OPTOUT mode enabled");
    } else if (!md_is(c->argv[2], "yes")) {
        md_syntax(c);
    } else {
        c->client->is_caching = true;
        md_ok(c);
    }
}
