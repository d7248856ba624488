/* Commands on their way to their server. Rules in router_inner.h; the diagram of a command's
 * states in command_state.h. */
/* Tests: tests/test_net_router.c, tests/test_net_router_ends.c,
 *        tests/test_net_router_maps.c. */
#include "net/route/command.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/route/preamble.h"
#include "net/route/announced.h"
#include "net/route/command_state.h"
#include "net/route/discover.h"
#include "net/route/doubt.h"
#include "net/route/replicas.h"
#include "net/route/server.h"
#include "net/route/silence.h"
#include "net/route/switched.h"
#include "net/route/verdict.h"

static const struct hf_resp_value no_reply;

static void on_reply(struct hf_request *request, enum hf_outcome outcome,
                     struct hf_resp_value reply);
static void on_wait(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply);
static void on_room(struct hf_space_waiter *room, hf_status status);
static void on_deadline(struct hf_timer *timer);

/* ---- where a command is ---- */

static struct hf_command *command_of(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_command, node);
}

static void note_sent(struct hf_command *c)
{
    if (c->request.sent_ms == HF_NEVER)
        return;
    c->sent_ms = c->request.sent_ms;
    c->stream = c->request.stream;
}

/* One that goes with it, if it is under way. */
static void cancel_companion(struct hf_request *request)
{
    if (request->done)
        (void)hf_link_cancel(request);
    request->done = NULL;
}

/* Out of wherever it is. Says whether bytes of it have left. */
static enum hf_outcome detach(struct hf_command *c)
{
    enum hf_outcome outcome = HF_UNSENT;

    hf_list_remove(&c->node);
    hf_loop_disarm(c->router->loop, &c->timer);
    if (c->state == HF_COMMAND_AWAITS_SPACE)
        hf_link_stop_awaiting_space(&c->room);
    if (c->state == HF_COMMAND_SENT) {
        note_sent(c);
        outcome = hf_link_cancel(&c->request);
    }
    if (c->state == HF_COMMAND_REPLIED)
        outcome = HF_UNKNOWN;
    cancel_companion(&c->preamble); /* ROUTE-4 */
    cancel_companion(&c->role);
    cancel_companion(&c->wait);
    hf_command_set_state(c, HF_COMMAND_IDLE);
    HF_ASSERT(hf_command_ok(c));
    return outcome;
}

static void finish_command(struct hf_command *c, enum hf_outcome outcome,
                           struct hf_resp_value reply)
{
    c->done(c, outcome, reply);
}

/* For a reason of our own, while no call of the owner's is on the stack. */
static void fail_command_later(struct hf_command *c, hf_status status)
{
    c->server = NULL;
    if (c->router->error.status != status)
        hf_error_set(&c->router->error, status, "%s: %s", c->router->address,
                     hf_net_status_text(status));
    finish_command(c, HF_UNSENT, no_reply);
}

static void pend(struct hf_command *c)
{
    c->server = NULL;
    hf_command_set_state(c, HF_COMMAND_AWAITS_MAP);
    hf_list_push(&c->router->pending, &c->node);
    if (c->deadline_ms != HF_NEVER)
        hf_loop_arm(c->router->loop, &c->timer, c->deadline_ms);
    HF_ASSERT(hf_command_ok(c));
}

/* ---- handing over ---- */

static hf_status link_of(struct hf_link **out, const struct hf_command *c)
{
    if (c->is_replicated || c->replicas)
        return hf_server_wait_link(out, c->server);
    *out = c->server->link;
    return HF_OK;
}

/* ROUTE-4: nothing is written in between. One that was not taken has no
 * `done`. */
static hf_status submit_all(struct hf_command *c, struct hf_link *link)
{
    hf_status rc;

    c->was_put_off = c->names_itself = false;
    if ((c->is_by_ask || c->is_tracked) && (rc = hf_preamble_submit(c, link)) < 0) {
        c->preamble.done = NULL;
        return rc;
    }
    rc = hf_link_submit(link, &c->request, c->argv, c->argc, c->deadline_ms);
    if (rc < 0)
        return rc;
    HF_ASSERT(!c->preamble.done || c->preamble.link == c->request.link); /* ROUTE-4 */
    HF_ASSERT(!c->is_by_ask || c->preamble.done);
    if (c->replicas && (rc = hf_replicas_query(c, link, on_wait)) < 0)
        (void)hf_link_cancel(&c->request);
    return rc;
}

static hf_status submit_to_link(struct hf_command *c)
{
    struct hf_link *link;
    hf_status rc = link_of(&link, c);

    if (rc == HF_OK)
        rc = submit_all(c, link);
    if (rc == HF_OK) {
        hf_command_set_state(c, HF_COMMAND_SENT);
        c->output_was_full = false;
    } else {
        cancel_companion(&c->preamble);
        cancel_companion(&c->role);
    }
    return rc;
}

/* The greatest number of bytes in the output of ROLE and WAIT with two numbers. */
#define WAIT_SIZE 96

static hf_status await_room(struct hf_command *c, struct hf_link *link)
{
    size_t bytes = hf_resp_command_size(c->argv, c->argc) +
                   hf_preamble_size(c) +
                   (c->replicas ? WAIT_SIZE : 0);
    hf_status rc = hf_link_await_space(link, &c->room, bytes);

    if (rc < 0)
        return rc;
    hf_command_set_state(c, HF_COMMAND_AWAITS_SPACE);
    c->output_was_full = true;
    if (c->deadline_ms != HF_NEVER)
        hf_loop_arm(c->router->loop, &c->timer, c->deadline_ms);
    return HF_OK;
}

/* The serial of its slot's master, by the map in force; 0: not known. */
static uint64_t master_of(const struct hf_command *c)
{
    struct hf_server *master = NULL;

    (void)hf_router_target(&master, c->router, c->slot); /* no memory: as NULL */
    return master ? master->serial : 0;
}

/* Behind the commands that wait for space already, unless it is urgent. */
static hf_status hand_over(struct hf_command *c, struct hf_server *server)
{
    struct hf_link *link;
    hf_status rc;

    c->server = server;
    c->master = master_of(c);
    if ((rc = link_of(&link, c)) < 0)
        return rc;
    rc = c->is_urgent || !hf_link_has_space_waiters(link) ? submit_to_link(c) : HF_E_LIMIT;
    if (rc == HF_E_LIMIT)
        rc = await_room(c, link);
    if (rc == HF_OK) {
        hf_list_push(&server->commands, &c->node);
        hf_silence_watch(c->router);
    }
    return rc;
}

static hf_status submit_or_await_map(struct hf_command *c)
{
    struct hf_server *server;
    hf_status rc = hf_router_target(&server, c->router, c->slot);

    if (rc < 0)
        return rc;
    c->is_by_ask = false;
    if (server)
        return hand_over(c, server);
    pend(c);
    hf_discover_want(c->router, NULL);
    return HF_OK;
}

static void place_again(struct hf_command *c)
{
    hf_status rc = submit_or_await_map(c);

    if (rc < 0)
        fail_command_later(c, rc);
}

hf_status hf_router_send(struct hf_router *router, struct hf_command *c)
{
    hf_status rc;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    c->router = router;
    c->server = NULL;
    c->serial = ++router->commands;
    hf_command_set_state(c, HF_COMMAND_IDLE);
    c->hops = 0;
    c->is_by_ask = false;
    c->output_was_full = false;
    c->sent_ms = HF_NEVER;
    hf_list_init(&c->node);
    hf_list_init(&c->room.node);
    c->room.ready = on_room;
    c->room.is_urgent = c->is_urgent;
    c->timer = (struct hf_timer){.fire = on_deadline};
    c->request.done = on_reply;
    c->request.is_acknowledged_by_push = false;
    c->request.sent_ms = HF_NEVER;
    c->preamble.done = c->role.done = c->wait.done = NULL;
    c->attached = 0;
    if (router->is_closing)
        return HF_E_CLOSED;
    rc = submit_or_await_map(c);
    HF_ASSERT(rc < 0 || hf_command_ok(c));
    return rc;
}

enum hf_outcome hf_router_cancel(struct hf_command *c)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop) && hf_command_ok(c));
    return detach(c);
}

/* ---- events ---- */

static void on_room(struct hf_space_waiter *room, hf_status status)
{
    struct hf_command *c = HF_OWNER_OF(room, struct hf_command, room);
    hf_status rc = HF_OK;

    hf_command_set_state(c, HF_COMMAND_IDLE);
    hf_loop_disarm(c->router->loop, &c->timer);
    if (status == HF_OK)
        rc = submit_to_link(c);
    if (rc == HF_E_LIMIT)
        rc = await_room(c, room->link);
    HF_ASSERT(status != HF_OK || rc < 0 || hf_command_ok(c));
    if (status == HF_OK && rc == HF_OK)
        return;
    hf_list_remove(&c->node);
    c->output_was_full = false;
    if (rc < 0)
        fail_command_later(c, rc);
    else /* the link was refused, and says why */
        finish_command(c, HF_UNSENT, no_reply);
}

static void on_deadline(struct hf_timer *timer)
{
    struct hf_command *c = HF_OWNER_OF(timer, struct hf_command, timer);

    if (c->state == HF_COMMAND_AWAITS_MAP)
        hf_router_explain(c->router, c->slot);
    finish_command(c, detach(c), no_reply);
}

/* ---- redirections ---- */

/* At this server, whatever the map says of the slot. */
static void send_to_redirection(struct hf_command *c, const struct hf_redirection *r,
                                bool is_by_ask)
{
    struct hf_server *server;
    hf_status rc =
        hf_server_get(&server, c->router, r->host, r->port, false);

    c->is_by_ask = is_by_ask;
    if (rc == HF_OK)
        rc = hand_over(c, server);
    if (rc < 0)
        fail_command_later(c, rc);
}

static void follow_redirection(struct hf_command *c, const struct hf_redirection *r)
{
    struct hf_router *router = c->router;

    if (c->redirected)
        c->redirected(c);
    if (r->kind == HF_ASK && r->host_kind != HF_HOST_UNKNOWN) {
        router->counts.asked++;
        send_to_redirection(c, r, true);
        return;
    }
    router->counts.moved++;
    if (r->host_kind == HF_HOST_UNKNOWN) {
        pend(c);
        hf_discover_want(router, NULL);
        return;
    }
    hf_announced_note_moved(c->server, r);
    hf_router_store_moved(router, r, r->host);
    send_to_redirection(c, r, false);
}

/* Is it sent elsewhere? Then its owner does not see this error. */
static bool is_followed(struct hf_command *c, struct hf_resp_value reply)
{
    struct hf_redirection r = {0};
    enum hf_verdict verdict;

    if (c->was_put_off) /* it sends back to where this came from */
        return false;
    verdict = c->router->topology->judge(&r, reply);
    if (verdict == HF_VERDICT_REDIRECT)
        hf_announced_replace_in_redirection(c->server, &r);
    if (hf_verdict_ends_command(c, verdict, &r, reply))
        return false;
    c->hops++;
    if (verdict == HF_VERDICT_REDIRECT) {
        follow_redirection(c, &r);
        return true;
    }
    hf_router_forget_map(c->router);
    pend(c);
    return true;
}

/* ROUTE-5. A redirection may be ahead of the map, which then still names the
 * server that it named when this one was chosen. */
static bool is_from_former_master(const struct hf_command *c)
{
    uint64_t master = master_of(c);

    return master != c->server->serial && master != c->master;
}

static void on_reply(struct hf_request *request, enum hf_outcome outcome,
                     struct hf_resp_value reply)
{
    struct hf_command *c = HF_OWNER_OF(request, struct hf_command, request);
    bool is_good = outcome == HF_ANSWERED && !hf_resp_is_error(reply);

    HF_ASSERT(c->state == HF_COMMAND_SENT && hf_command_ok(c));
    note_sent(c);
    if (is_good &&
        (is_from_former_master(c) || hf_doubt_answered(c->server))) {
        outcome = HF_UNKNOWN;
        reply = no_reply;
        is_good = false;
    }
    if (is_good && c->server->has_denied)
        hf_announced_note_served(c->server, c->slot);
    if (c->wait.done && is_good) {
        hf_command_set_state(c, HF_COMMAND_REPLIED);
        c->done(c, outcome, reply);
        return;
    }
    hf_command_set_state(c, HF_COMMAND_IDLE);
    (void)detach(c); /* with an ASKING or a WAIT that is still on its way */
    if (outcome == HF_ANSWERED && hf_resp_is_error(reply)) {
        hf_doubt_refused(c->server);
        if (is_followed(c, reply))
            return;
        if (hf_resp_error_is(reply, "CLUSTERDOWN")) {
            hf_announced_forget_process(c->server);
            hf_discover_want(c->router, NULL);
        }
        hf_switched_refused(c, reply);
    }
    finish_command(c, outcome, reply);
}

static void on_wait(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct hf_command *c = HF_OWNER_OF(request, struct hf_command, wait);
    struct hf_link *link;

    HF_ASSERT((c->state == HF_COMMAND_SENT || c->state == HF_COMMAND_REPLIED) &&
              hf_command_ok(c));
    c->wait.done = NULL;
    if (c->state != HF_COMMAND_REPLIED) /* an error, or no reply: that of the command decides */
        return;
    if (is_from_former_master(c)) {
        (void)detach(c);
        finish_command(c, HF_UNKNOWN, no_reply);
        return;
    }
    if (outcome == HF_ANSWERED && link_of(&link, c) == HF_OK &&
        hf_replicas_query_more(c, link, reply, on_wait))
        return;
    (void)detach(c);
    hf_discover_want(c->router, NULL); /* replicas may have come or gone */
    c->on_replicas(c, outcome, reply, hf_replicas_wanted(c));
}

/* ---- the map changes ---- */

static bool is_link_up(const struct hf_command *c)
{
    struct hf_link *link;

    return link_of(&link, c) == HF_OK && hf_link_is_up(link);
}

/* A node that takes in its first slot is in no map yet: what ASK has sent there
 * is well there. */
static bool will_answer(const struct hf_command *c)
{
    return (c->server->is_target || c->is_by_ask) && is_link_up(c);
}

/* Each is out of the list then. Those that come meanwhile are not looked at. */
static void for_each(struct hf_list *commands,
                     void (*act)(struct hf_command *c))
{
    struct hf_list list;

    hf_list_init(&list);
    hf_list_join(&list, commands);
    while (!hf_list_is_empty(&list)) {
        struct hf_command *c = command_of(list.next);

        hf_list_remove(&c->node);
        act(c);
    }
}

/* ROUTE-2, ROUTE-3. */
static void reroute(struct hf_command *c)
{
    struct hf_router *router = c->router;
    struct hf_server *target = NULL;

    (void)hf_router_target(&target, router, c->slot); /* no memory: it stays */
    if (!target || target == c->server || will_answer(c)) {
        hf_list_push(&c->server->commands, &c->node);
        return;
    }
    if (detach(c) == HF_UNKNOWN) {
        finish_command(c, HF_UNKNOWN, no_reply);
        return;
    }
    router->counts.resent++;
    place_again(c);
}

void hf_commands_reroute(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    for_each(&server->commands, reroute);
}

static void resume(struct hf_command *c)
{
    (void)detach(c);
    place_again(c);
}

void hf_commands_send_pending(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    for_each(&router->pending, resume);
}

static void end_unsent(struct hf_command *c)
{
    (void)detach(c);
    finish_command(c, HF_UNSENT, no_reply);
}

void hf_commands_fail_pending(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    for_each(&router->pending, end_unsent);
}

static void end_pending_once(struct hf_command *c)
{
    if (c->is_never_retried)
        end_unsent(c);
    else
        hf_list_push(&c->router->pending, &c->node);
}

void hf_commands_fail_pending_never_retried(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    for_each(&router->pending, end_pending_once);
}

static void fail_if_never_retried(struct hf_command *c)
{
    if (c->is_never_retried && !is_link_up(c))
        end_unsent(c);
    else
        hf_list_push(&c->server->commands, &c->node);
}

void hf_commands_fail_never_retried(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    for_each(&server->commands, fail_if_never_retried);
}

static void end_probe(struct hf_command *c)
{
    static const struct hf_resp_node null = {.type = HF_RESP_NULL};

    if (c->is_probe && !c->is_replicated && !hf_command_is_sent(c)) {
        (void)detach(c);
        finish_command(c, HF_ANSWERED, (struct hf_resp_value){.node = &null});
    } else {
        hf_list_push(&c->server->commands, &c->node);
    }
}

void hf_commands_end_probes(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    for_each(&server->commands, end_probe);
}

/* A command that was not sent waits for the new map. A command that was sent waits for
 * its reply or for the end of its connection. */
static void bring_back(struct hf_command *c)
{
    if (hf_command_is_sent(c)) {
        hf_list_push(&c->server->commands, &c->node);
        return;
    }
    (void)detach(c);
    c->router->counts.resent++;
    pend(c);
}

void hf_commands_requeue_unsent(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    for_each(&server->commands, bring_back);
}

/* ---- requests ---- */

void hf_command_stop_redirects(struct hf_command *c)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    c->hops = HOPS_STOPPED;
}

void hf_command_condemn(struct hf_command *c, const char *why)
{
    struct hf_link *link;

    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    if (c->server && link_of(&link, c) == HF_OK)
        hf_link_condemn(link, why);
}

const char *hf_command_address(const struct hf_command *c)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    return c->server ? hf_link_address(c->server->link) : c->router->address;
}

const struct hf_error *hf_command_error(const struct hf_command *c)
{
    struct hf_link *link;

    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    return c->server && link_of(&link, c) == HF_OK ? hf_link_error(link)
                                                   : &c->router->error;
}
