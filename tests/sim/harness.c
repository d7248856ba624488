/* A world that a test drives by itself: servers, processes, and what goes wrong. */
#include "tests/sim/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/judge/judge.h"
#include "tests/support/dice.h"
#include "tests/support/must.h"

#define STAYS_AWAY_US ((HARNESS_WATCHDOG_MS + 200) * 1000)

/* ---- the world ---- */

void harness_begin(struct harness *t, uint64_t seed, const char *stream, int servers)
{
    struct history_header header;

    history_header_init(&header);
    memset(t, 0, sizeof *t);
    t->plan.head.seed = (int64_t)seed;
    t->plan.head.version = (int64_t)(seed % 3);
    t->dice = dice_stream(seed, stream);
    t->sim = (struct sim){.plan = &t->plan,
                          .world = world_new(seed),
                          .judge = judge_new(&header),
                          .site = &t->site,
                          .result = &t->result};
    t->site.sim = &t->sim;
    for (int i = 0; i < servers; i++)
        t->site.servers[t->site.count++] = server_new(&t->sim, i + 1);
}

void harness_end(struct harness *t)
{
    for (size_t i = 0; i < t->site.count; i++)
        server_free(t->site.servers[i]);
    judge_free(t->sim.judge);
    world_free(t->sim.world);
    free(t->sim.permits);
}

int64_t harness_draw(struct harness *t, int64_t sides)
{
    return (int64_t)dice_of(&t->dice, (uint64_t)sides);
}

int64_t harness_now_us(const struct harness *t)
{
    return world_now_us(t->sim.world);
}

void harness_violate(struct harness *t, const char *property, int party)
{
    if (!*t->violation)
        (void)snprintf(t->violation, sizeof t->violation, "%s, party %d, %lld us",
                       property, party,
                       (long long)(harness_now_us(t) - WORLD_BEGIN_US));
}

void harness_run(struct harness *t, int64_t until_ms)
{
    world_run(t->sim.world, sim_us(until_ms));
}

void harness_granted(struct harness *t, int party)
{
    t->granted_late[party] +=
        harness_now_us(t) > sim_us(HARNESS_FAULTS_MS + HARNESS_CALM_MS);
}

void harness_check_granted(struct harness *t, int parties)
{
    for (int i = 0; i < parties; i++)
        if (t->granted_late[i] == 0)
            harness_violate(t, "P5: never granted when all was well", i);
}

void harness_check_free(struct harness *t, const char *name)
{
    for (size_t i = 0; i < t->site.count; i++)
        if (model_look(server_turn(t->site.servers[i]), 0, name, strlen(name),
                       &(struct model_key){0}))
            harness_violate(t, "P6: a key is left", (int)i);
}

/* ---- processes ---- */

struct process *harness_process(struct harness *t, int number)
{
    struct process *process;
    char name[16];

    must(t->processes_count < HARNESS_PROCESSES_MAX);
    (void)snprintf(name, sizeof name, "c%d", number);
    process = process_new(t->sim.world, name, harness_draw(t, 1000) * HARNESS_SECOND,
                          (int)harness_draw(t, 8000) - 4000);
    t->processes[t->processes_count++] = process;
    return process;
}

int64_t harness_safe_until_us(const struct process *process, int64_t safe_ms)
{
    return safe_ms > 0 ? process_true_us(process, process_clock_us(process) +
                                                      safe_ms * 1000)
                       : 0;
}

struct hf_client *harness_client(struct harness *t, struct process *process, int index)
{
    struct process *before = process_enter(process);
    struct hf_client *client;
    struct hf_client_options o;
    char url[64];

    (void)snprintf(url, sizeof url, "redis://%s:%d", t->site.servers[index]->ip,
                   SERVER_PORT);
    hf_client_options_init(&o);
    o.url = url;
    o.thread = false;
    o.watchdog_ms = HARNESS_WATCHDOG_MS;
    o.request_timeout_ms = HARNESS_REQUEST_MS;
    must(hf_client_new(&client, &o, NULL) == HF_OK);
    process_drive(process, hf_client_loop(client));
    (void)process_enter(before);
    return client;
}

/* ---- what goes wrong ---- */

enum { FREEZES, IS_DOWN, FORGETS, HOLDS_BACK, IS_REFUSED, IS_RESET, IS_SLOW,
       IS_SUSPENDED, LOSES_SCRIPTS, WHATS };

/* Faults overlap: it is down until the last of them has ended. */
static void take_down(struct harness_fault *f)
{
    struct harness_down *down = &f->harness->down[f->server->number - 1];

    down->forgets = down->forgets || f->what == FORGETS;
    if (down->faults++ == 0)
        server_take_down(f->server);
}

static void bring_up(struct harness_fault *f)
{
    struct harness_down *down = &f->harness->down[f->server->number - 1];

    if (--down->faults > 0)
        return;
    server_bring_up(f->server, !down->forgets);
    down->forgets = false;
}

static void begin_fault(struct harness_fault *f)
{
    static const struct link_shape slow = {.delay_us = 400000};

    switch (f->what) {
    case FREEZES:
        server_freeze(f->server, true);
        break;
    case IS_DOWN:
    case FORGETS:
        take_down(f);
        break;
    case HOLDS_BACK:
        link_hold(f->link, f->way, true);
        break;
    case IS_REFUSED:
        link_set_door(f->link, DOOR_IGNORES);
        link_reset(f->link);
        break;
    case IS_RESET:
        link_drop(f->link);
        break;
    case IS_SLOW:
        link_set_shape(f->link, f->way, &slow);
        break;
    case IS_SUSPENDED:
        process_suspend(f->process);
        break;
    default:
        model_forget_scripts(server_turn(f->server));
        server_done(f->server);
    }
}

static void end_fault(struct harness_fault *f)
{
    static const struct link_shape usual = {.delay_us = LINK_DELAY_US};

    switch (f->what) {
    case FREEZES:
        server_freeze(f->server, false);
        break;
    case IS_DOWN:
    case FORGETS:
        bring_up(f);
        break;
    case HOLDS_BACK:
        link_hold(f->link, f->way, false);
        break;
    case IS_REFUSED:
        link_set_door(f->link, DOOR_OPEN);
        break;
    case IS_SLOW:
        link_set_shape(f->link, f->way, &usual);
        break;
    case IS_SUSPENDED:
        process_resume(f->process);
        break;
    default:
        break;
    }
}

static void on_fault(void *ctx)
{
    struct harness_fault *f = ctx;

    if (f->is_over) {
        end_fault(f);
        return;
    }
    f->is_over = true;
    begin_fault(f);
    world_after(f->harness->sim.world, &f->event, f->for_us);
}

static int draw_what(struct harness *t, enum harness_forgetting forgetting)
{
    int what;

    do
        what = (int)harness_draw(t, WHATS);
    while (what == FORGETS && forgetting == HARNESS_KEEPS);
    return what;
}

static void draw_fault(struct harness *t, struct harness_fault *f,
                       enum harness_forgetting forgetting)
{
    *f = (struct harness_fault){.harness = t,
                                .event = {.happen = on_fault, .ctx = f}};
    f->what = draw_what(t, forgetting);
    f->process = t->processes[harness_draw(t, (int64_t)t->processes_count)];
    f->server = t->site.servers[harness_draw(t, (int64_t)t->site.count)];
    f->link = network_link(t->sim.world, f->process, f->server->listener);
    f->way = harness_draw(t, 2) ? TO_SERVER : TO_CLIENT;
    f->for_us = 1000 * (harness_draw(t, 3) ? harness_draw(t, 500)
                                         : harness_draw(t, 8000)) + 1000;
    if (f->what == FORGETS)
        f->for_us = forgetting == HARNESS_FORGETS_AT_ONCE ? 1000 : STAYS_AWAY_US;
    world_at(t->sim.world, &f->event, sim_us(harness_draw(t, HARNESS_FAULTS_MS)));
}

void harness_faults(struct harness *t, enum harness_forgetting forgetting)
{
    int64_t count = harness_draw(t, HARNESS_FAULTS_MAX + 1);

    for (int64_t i = 0; i < count; i++)
        draw_fault(t, &t->faults[i], forgetting);
}

/* ---- which worlds ---- */

static void read_seeds(const char *variable, long long *from, long long *to)
{
    const char *wanted = getenv(variable);

    *from = 1;
    *to = HARNESS_SEEDS;
    if (wanted && sscanf(wanted, "%lld..%lld", from, to) != 2)
        ck_abort_msg("%s is A..B, not %s", variable, wanted);
}

long long harness_run_seeds(struct harness *t, const char *variable,
                            void (*one)(uint64_t seed, enum harness_forgetting forgetting),
                            enum harness_forgetting forgetting)
{
    long long from, to;

    read_seeds(variable, &from, &to);
    for (long long seed = from; seed <= to; seed++) {
        one((uint64_t)seed, forgetting);
        ck_assert_msg(*t->violation == '\0', "seed %lld: %s", seed, t->violation);
    }
    return to - from + 1;
}

TCase *harness_case(Suite *suite, const char *name, const char *variable)
{
    TCase *c = tcase_create(name);

    tcase_set_timeout(c, getenv(variable) ? 3600 : 60);
    suite_add_tcase(suite, c);
    return c;
}
