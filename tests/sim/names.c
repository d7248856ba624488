/* A resolver that does not answer, an address that changes, a name with several addresses. */
#include "tests/sim/names.h"

#include "tests/sim/effects.h"
#include "tests/sim/fault_kinds.h"
#include "tests/sim/program.h"
#include "tests/support/must.h"

#define LOOKUP_US 1000
#define CONNECTED_US 5000000 /* after the end: then every client has connected again */

struct site_names {
    struct listener *at[2], *nowhere;
    const char *ips[2];
    int now; /* the one of `at` where the server is */
};

#define NOWHERE_IP "10.0.2.1"

static const struct listener_calls nobody; /* no connection is ever accepted */

struct site_names *names_new(const struct site *site)
{
    struct site_names *n = must_alloc(sizeof *n);
    struct server *s = site->servers[0];

    *n = (struct site_names){.ips = {s->ip, "10.0.1.1"}};
    n->at[0] = s->listener;
    n->at[1] = server_listen(s, n->ips[1]);
    n->nowhere = network_listen(site->sim->world, NOWHERE_IP, SERVER_PORT, &nobody, NULL);
    listener_set_door(n->at[1], DOOR_REFUSES);
    return n;
}

struct listener *names_other(const struct site_names *n)
{
    return n->at[1];
}

static void close_connections(struct server *s)
{
    model_close_all(server_turn(s));
    server_done(s);
}

static void lead_to(struct fault *f, const char *first, const char *second)
{
    struct world *world = f->sim->world;
    const char *name = f->sim->site->servers[0]->name;

    network_forget_name(world, name);
    network_name(world, name, first);
    if (second)
        network_name(world, name, second);
}

static void move(struct fault *f, enum door closed)
{
    struct site_names *n = f->sim->site->names;

    listener_set_door(n->at[n->now], closed);
    n->now = !n->now;
    listener_set_door(n->at[n->now], DOOR_OPEN);
}

static void begin(struct fault *f)
{
    struct site_names *n = f->sim->site->names;
    enum door closed = f->planned->n & NAMES_IGNORES ? DOOR_IGNORES : DOOR_REFUSES;

    switch (NAMES_WAY(f->planned->n)) {
    case NAMES_STOP:
        network_set_names(f->sim->world, NAMES_SILENT, LOOKUP_US);
        break;
    case NAMES_MOVE:
        move(f, closed);
        lead_to(f, n->ips[n->now], NULL);
        break;
    case NAMES_LATE:
        move(f, closed);
        break;
    case NAMES_SHARE:
    case NAMES_WAYS:
        move(f, closed);
        listener_set_door(n->nowhere, closed);
        lead_to(f, NOWHERE_IP, n->ips[n->now]);
        break;
    }
    close_connections(f->sim->site->servers[0]);
}

static bool has_connected(const struct fault *f)
{
    const struct site_names *n = f->sim->site->names;

    for (size_t i = 0; i < f->sim->plan->program_count; i++)
        if (link_connection(network_link(f->sim->world,
                                         program_process(f->sim->programs[i]), n->at[n->now]),
                            1))
            return true;
    return false;
}

static void on_connected(void *ctx)
{
    const struct fault *f = ctx;
    enum names_way way = NAMES_WAY(f->planned->n);

    if ((way == NAMES_MOVE || way == NAMES_LATE) && has_connected(f))
        effects_note(f->sim, EFFECT_NAME_MOVED);
}

static void end(struct fault *f)
{
    const struct site_names *n = f->sim->site->names;

    network_set_names(f->sim->world, NAMES_FOUND, LOOKUP_US);
    lead_to(f, n->ips[n->now], NULL);
    if (network_lookups(f->sim->world)->silent > 0)
        effects_note(f->sim, EFFECT_NAME_SILENT);
    if (network_lookups(f->sim->world)->several > 0)
        effects_note(f->sim, EFFECT_NAME_SEVERAL);
    f->again = (struct event){.happen = on_connected, .ctx = f};
    world_after(f->sim->world, &f->again, CONNECTED_US);
}

void fault_names(struct fault *f)
{
    if (f->is_on)
        begin(f);
    else
        end(f);
}
