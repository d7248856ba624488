/* Router kit. */
#include "tests/support/router_kit.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

struct hf_router *router;
struct hf_seeds seeds;
struct hf_router_options options;
struct nodes *nodes;
bool asks_once;
const char *said_by[4];

const struct nodes_range all_of_0[1] = {{0, 16383, 0}};
const struct nodes_range all_of_1[1] = {{0, 16383, 1}};
const struct nodes_range halves[2] = {{0, 8191, 0}, {8192, 16383, 1}};

/* ---- a router ---- */

void add_seed(int port)
{
    (void)strcpy(seeds.hosts[seeds.hosts_count].host, "127.0.0.1");
    seeds.hosts[seeds.hosts_count++].port = (uint16_t)port;
}

void prepare(nodes_answer *answer)
{
    nodes = nodes_start(4, answer, NULL);
    memset(&seeds, 0, sizeof seeds);
    seeds.topology = HF_CLUSTER;
    options = (struct hf_router_options){.seeds = &seeds};
    hf_link_options_init(&options.link);
    options.link.connect_timeout_ms = LONG_MS;
    options.link.silence_ms = LONG_MS;
    options.link.backoff_min_ms = 1;
    options.link.backoff_max_ms = 20;
    memory_init(&memory);
}

hf_status open_router(struct hf_error *err)
{
    open_loop_of(&memory.hook, false);
    return hf_router_new(&router, loop, &options, err);
}

void begin(nodes_answer *answer, const struct nodes_range *ranges,
                  int count)
{
    struct hf_error err;

    prepare(answer);
    nodes_map(nodes, ranges, count);
    add_seed(nodes_port(nodes, 0));
    ck_assert_int_eq(open_router(&err), HF_OK);
}

void free_router(void)
{
    lock();
    hf_loop_quiesce(loop);
    hf_router_free(router);
    hf_loop_resume(loop);
    unlock();
    free_loop();
}

void end(void)
{
    free_router();
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    nodes_stop(nodes);
}

struct hf_router_counts counts(void)
{
    struct hf_router_counts now;

    lock();
    hf_router_get_counts(router, &now);
    unlock();
    return now;
}

/* ---- commands ---- */

static void on_done(struct hf_command *c, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    static const char *const outcomes[] = {
        [HF_UNSENT] = "(unsent)", [HF_UNKNOWN] = "(unknown)"};
    struct ask *a = HF_OWNER_OF(c, struct ask, command);
    const char *ptr = "";
    size_t len = 0;

    ck_must(a->ended++ == 0, "a command ends once");
    (void)snprintf(a->address, sizeof a->address, "%s",
                   hf_command_address(c));
    if (outcome == HF_ANSWERED) {
        (void)hf_resp_bytes(reply, &ptr, &len);
        (void)snprintf(a->text, sizeof a->text, "%.*s", (int)len, ptr);
    } else {
        (void)snprintf(a->text, sizeof a->text, "%s %s", outcomes[outcome],
                       hf_command_error(c)->text);
    }
    hf_waiter_wake(&a->waiter);
}

hf_status start(struct ask *a, int slot, int timeout_ms)
{
    hf_status rc;

    memset(a, 0, sizeof *a);
    a->command.is_never_retried = asks_once;
    a->argv[0] = (struct hf_resp_arg){"GET", 3};
    a->argv[1] = (struct hf_resp_arg){"a", 1};
    a->command.argv = a->argv;
    a->command.argc = 2;
    a->command.slot = (uint16_t)slot;
    a->command.done = on_done;
    lock();
    hf_waiter_init(&a->waiter, loop);
    a->command.deadline_ms = hf_loop_now(loop) + timeout_ms;
    rc = hf_router_send(router, &a->command);
    unlock();
    return rc;
}

const char *answer_of(struct ask *a)
{
    lock();
    hf_loop_wait(&a->waiter);
    return a->text;
}

const char *ask_for(int slot, int timeout_ms)
{
    static struct ask a;

    ck_must(start(&a, slot, timeout_ms) == HF_OK, "a command is taken");
    return answer_of(&a);
}

const char *ask(int slot)
{
    return ask_for(slot, LONG_MS);
}

const char *ask_again(int slot)
{
    const char *text = ask(slot);

    return strncmp(text, "(unknown)", 9) == 0 ? ask(slot) : text;
}

enum hf_outcome cancel(struct ask *a)
{
    enum hf_outcome outcome;

    lock();
    outcome = hf_router_cancel(&a->command);
    unlock();
    return outcome;
}

void drive_until_received(int node, const char *text)
{
    for (int64_t end_ms = 0; nodes_count(nodes, node, text) == 0;)
        drive_on(&end_ms, text);
}

/* ---- what nodes answer ---- */

bool is_get(const struct nodes_ask *a)
{
    return request_matches(a->request, "GET ...");
}

bool says(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!is_get(a) || !said_by[a->node] || a->is_asking)
        return false;
    (void)sprintf(reply, said_by[a->node], nodes_port(nodes, 1));
    return true;
}

void say(const char *of_0, const char *of_1)
{
    memset(said_by, 0, sizeof said_by);
    said_by[0] = of_0;
    said_by[1] = of_1;
}

/* Node 1 has the key, but not the slot. */
bool importing(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!is_get(a) || (a->node == 1 && a->is_asking))
        return false;
    (void)sprintf(reply,
                  a->node == 0 ? "-ASK 5 127.0.0.1:%d\r\n"
                               : "-ERR a command without ASKING\r\n",
                  nodes_port(nodes, 1));
    return true;
}
