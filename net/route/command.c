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

static void on_request_done(struct hf_request *request, enum hf_outcome outcome,
                            struct hf_resp_value reply);
static void on_wait_reply(struct hf_request *request, enum hf_outcome outcome,
                          struct hf_resp_value reply);
static void on_output_space(struct hf_space_waiter *room, hf_status status);
static void on_deadline(struct hf_timer *timer);

/* ---- where a command is ---- */

static struct hf_command *command_of_node(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_command, node);
}

static void copy_sent_time_and_stream(struct hf_command *c)
{
    if (c->own_request.sent_ms == HF_NEVER)
        return;
    c->sent_ms = c->own_request.sent_ms;
    c->stream = c->own_request.stream;
}

/* One that goes with it, if it is under way. */
static void cancel_accompanying_request(struct hf_request *request)
{
    if (request->done)
        (void)hf_link_cancel(request);
    request->done = NULL;
}

/* Out of wherever it is. Says whether bytes of it have left. */
static enum hf_outcome detach_from_list_or_link(struct hf_command *c)
{
    enum hf_outcome outcome = HF_UNSENT;

    hf_list_remove(&c->node);
    hf_loop_disarm(c->router->loop, &c->deadline_timer);
    if (c->state == HF_COMMAND_AWAITS_SPACE)
        hf_link_stop_awaiting_space(&c->space_waiter);
    if (c->state == HF_COMMAND_SENT) {
        copy_sent_time_and_stream(c);
        outcome = hf_link_cancel(&c->own_request);
    }
    if (c->state == HF_COMMAND_REPLIED)
        outcome = HF_UNKNOWN;
    cancel_accompanying_request(&c->preamble_request); /* ROUTE-4 */
    cancel_accompanying_request(&c->replica_count_request);
    cancel_accompanying_request(&c->wait_request);
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
    if (c->router->map_error.status != status)
        hf_error_set(&c->router->map_error, status, "%s: %s", c->router->address,
                     hf_net_status_text(status));
    finish_command(c, HF_UNSENT, no_reply);
}

static void wait_for_map(struct hf_command *c)
{
    c->server = NULL;
    hf_command_set_state(c, HF_COMMAND_AWAITS_MAP);
    hf_list_push(&c->router->commands_awaiting_map, &c->node);
    if (c->deadline_ms != HF_NEVER)
        hf_loop_arm(c->router->loop, &c->deadline_timer, c->deadline_ms);
    HF_ASSERT(hf_command_ok(c));
}

/* ---- handing over ---- */

static hf_status link_for_command(struct hf_link **out, const struct hf_command *c)
{
    if (c->is_replicated || c->replicas)
        return hf_server_wait_link(out, c->server);
    *out = c->server->link;
    return HF_OK;
}

/* ROUTE-4: nothing is written in between. One that was not taken has no
 * `done`. */
static hf_status submit_with_companions(struct hf_command *c, struct hf_link *link)
{
    hf_status rc;

    c->is_error_temporary = c->was_redirected_to_itself = false;
    if ((c->was_redirected_by_ask || c->is_tracked) && (rc = hf_preamble_submit(c, link)) < 0) {
        c->preamble_request.done = NULL;
        return rc;
    }
    rc = hf_link_submit(link, &c->own_request, c->argv, c->argc, c->deadline_ms);
    if (rc < 0)
        return rc;
    HF_ASSERT(!c->preamble_request.done ||
              c->preamble_request.link == c->own_request.link); /* ROUTE-4 */
    HF_ASSERT(!c->was_redirected_by_ask || c->preamble_request.done);
    if (c->replicas && (rc = hf_replicas_query(c, link, on_wait_reply)) < 0)
        (void)hf_link_cancel(&c->own_request);
    return rc;
}

static hf_status submit_to_link(struct hf_command *c)
{
    struct hf_link *link;
    hf_status rc = link_for_command(&link, c);

    if (rc == HF_OK)
        rc = submit_with_companions(c, link);
    if (rc == HF_OK) {
        hf_command_set_state(c, HF_COMMAND_SENT);
        c->was_output_full = false;
    } else {
        cancel_accompanying_request(&c->preamble_request);
        cancel_accompanying_request(&c->replica_count_request);
    }
    return rc;
}

/* The greatest number of bytes in the output of ROLE and WAIT with two numbers. */
#define WAIT_SIZE 96

static hf_status wait_for_output_space(struct hf_command *c, struct hf_link *link)
{
    size_t bytes = hf_resp_command_size(c->argv, c->argc) +
                   hf_preamble_size(c) +
                   (c->replicas ? WAIT_SIZE : 0);
    hf_status rc = hf_link_await_space(link, &c->space_waiter, bytes);

    if (rc < 0)
        return rc;
    hf_command_set_state(c, HF_COMMAND_AWAITS_SPACE);
    c->was_output_full = true;
    if (c->deadline_ms != HF_NEVER)
        hf_loop_arm(c->router->loop, &c->deadline_timer, c->deadline_ms);
    return HF_OK;
}

/* The serial of its slot's master, by the map in force; 0: not known. */
static uint64_t serial_of_slot_master(const struct hf_command *c)
{
    struct hf_server *master = NULL;

    (void)hf_router_target(&master, c->router, c->slot); /* no memory: as NULL */
    return master ? master->serial : 0;
}

/* Behind the commands that wait for space already, unless it is urgent. */
static hf_status submit_to_server(struct hf_command *c, struct hf_server *server)
{
    struct hf_link *link;
    hf_status rc;

    c->server = server;
    c->slot_master_serial = serial_of_slot_master(c);
    if ((rc = link_for_command(&link, c)) < 0)
        return rc;
    rc = c->is_urgent || !hf_link_has_space_waiters(link) ? submit_to_link(c) : HF_E_LIMIT;
    if (rc == HF_E_LIMIT)
        rc = wait_for_output_space(c, link);
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
    c->was_redirected_by_ask = false;
    if (server)
        return submit_to_server(c, server);
    wait_for_map(c);
    hf_discover_want(c->router, NULL);
    return HF_OK;
}

static void submit_again_or_fail(struct hf_command *c)
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
    c->serial = ++router->last_command_serial;
    hf_command_set_state(c, HF_COMMAND_IDLE);
    c->redirections_followed = 0;
    c->was_redirected_by_ask = false;
    c->was_output_full = false;
    c->sent_ms = HF_NEVER;
    hf_list_init(&c->node);
    hf_list_init(&c->space_waiter.node);
    c->space_waiter.on_ready = on_output_space;
    c->space_waiter.is_urgent = c->is_urgent;
    c->deadline_timer = (struct hf_timer){.fire = on_deadline};
    c->own_request.done = on_request_done;
    c->own_request.is_acknowledged_by_push = false;
    c->own_request.sent_ms = HF_NEVER;
    c->preamble_request.done = c->replica_count_request.done = c->wait_request.done = NULL;
    c->connected_replicas = 0;
    if (router->is_closing)
        return HF_E_CLOSED;
    rc = submit_or_await_map(c);
    HF_ASSERT(rc < 0 || hf_command_ok(c));
    return rc;
}

enum hf_outcome hf_router_cancel(struct hf_command *c)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop) && hf_command_ok(c));
    return detach_from_list_or_link(c);
}

/* ---- events ---- */

static void on_output_space(struct hf_space_waiter *room, hf_status status)
{
    struct hf_command *c = HF_OWNER_OF(room, struct hf_command, space_waiter);
    hf_status rc = HF_OK;

    hf_command_set_state(c, HF_COMMAND_IDLE);
    hf_loop_disarm(c->router->loop, &c->deadline_timer);
    if (status == HF_OK)
        rc = submit_to_link(c);
    if (rc == HF_E_LIMIT)
        rc = wait_for_output_space(c, room->link);
    HF_ASSERT(status != HF_OK || rc < 0 || hf_command_ok(c));
    if (status == HF_OK && rc == HF_OK)
        return;
    hf_list_remove(&c->node);
    c->was_output_full = false;
    if (rc < 0)
        fail_command_later(c, rc);
    else /* the link was refused, and says why */
        finish_command(c, HF_UNSENT, no_reply);
}

static void on_deadline(struct hf_timer *timer)
{
    struct hf_command *c = HF_OWNER_OF(timer, struct hf_command, deadline_timer);

    if (c->state == HF_COMMAND_AWAITS_MAP)
        hf_router_explain(c->router, c->slot);
    finish_command(c, detach_from_list_or_link(c), no_reply);
}

/* ---- redirections ---- */

/* At this server, whatever the map says of the slot. */
static void send_to_redirection(struct hf_command *c, const struct hf_redirection *r,
                                bool is_by_ask)
{
    struct hf_server *server;
    hf_status rc =
        hf_server_get(&server, c->router, r->host, r->port, false);

    c->was_redirected_by_ask = is_by_ask;
    if (rc == HF_OK)
        rc = submit_to_server(c, server);
    if (rc < 0)
        fail_command_later(c, rc);
}

static void follow_redirection(struct hf_command *c, const struct hf_redirection *r)
{
    struct hf_router *router = c->router;

    if (c->on_redirected)
        c->on_redirected(c);
    if (r->kind == HF_ASK && r->host_kind != HF_HOST_UNKNOWN) {
        router->counts.asked++;
        send_to_redirection(c, r, true);
        return;
    }
    router->counts.moved++;
    if (r->host_kind == HF_HOST_UNKNOWN) {
        wait_for_map(c);
        hf_discover_want(router, NULL);
        return;
    }
    hf_announced_note_moved(c->server, r);
    hf_router_store_moved(router, r, r->host);
    send_to_redirection(c, r, false);
}

/* Is it sent elsewhere? Then its owner does not see this error. */
static bool is_redirection_followed(struct hf_command *c, struct hf_resp_value reply)
{
    struct hf_redirection r = {0};
    enum hf_verdict verdict;

    if (c->is_error_temporary) /* it sends back to where this came from */
        return false;
    verdict = c->router->topology->classify_error_reply(&r, reply);
    if (verdict == HF_VERDICT_REDIRECT)
        hf_announced_replace_in_redirection(c->server, &r);
    if (hf_verdict_ends_command(c, verdict, &r, reply))
        return false;
    c->redirections_followed++;
    if (verdict == HF_VERDICT_REDIRECT) {
        follow_redirection(c, &r);
        return true;
    }
    hf_router_forget_map(c->router);
    wait_for_map(c);
    return true;
}

/* ROUTE-5. A redirection may be ahead of the map, which then still names the
 * server that it named when this one was chosen. */
static bool was_redirected_by_former_master(const struct hf_command *c)
{
    uint64_t master = serial_of_slot_master(c);

    return master != c->server->serial && master != c->slot_master_serial;
}

static void on_request_done(struct hf_request *request, enum hf_outcome outcome,
                            struct hf_resp_value reply)
{
    struct hf_command *c = HF_OWNER_OF(request, struct hf_command, own_request);
    bool is_good = outcome == HF_ANSWERED && !hf_resp_is_error(reply);

    HF_ASSERT(c->state == HF_COMMAND_SENT && hf_command_ok(c));
    copy_sent_time_and_stream(c);
    if (is_good &&
        (was_redirected_by_former_master(c) || hf_doubt_answered(c->server))) {
        outcome = HF_UNKNOWN;
        reply = no_reply;
        is_good = false;
    }
    if (is_good && c->server->has_denied_slots)
        hf_announced_note_served(c->server, c->slot);
    if (c->wait_request.done && is_good) {
        hf_command_set_state(c, HF_COMMAND_REPLIED);
        c->done(c, outcome, reply);
        return;
    }
    hf_command_set_state(c, HF_COMMAND_IDLE);
    (void)detach_from_list_or_link(c); /* with an ASKING or a WAIT that is still on its way */
    if (outcome == HF_ANSWERED && hf_resp_is_error(reply)) {
        hf_doubt_refused(c->server);
        if (is_redirection_followed(c, reply))
            return;
        if (hf_resp_error_is(reply, "CLUSTERDOWN")) {
            hf_announced_forget_process(c->server);
            hf_discover_want(c->router, NULL);
        }
        hf_switched_refused(c, reply);
    }
    finish_command(c, outcome, reply);
}

static void on_wait_reply(struct hf_request *request, enum hf_outcome outcome,
                          struct hf_resp_value reply)
{
    struct hf_command *c = HF_OWNER_OF(request, struct hf_command, wait_request);
    struct hf_link *link;

    HF_ASSERT((c->state == HF_COMMAND_SENT || c->state == HF_COMMAND_REPLIED) &&
              hf_command_ok(c));
    c->wait_request.done = NULL;
    if (c->state != HF_COMMAND_REPLIED) /* an error, or no reply: that of the command decides */
        return;
    if (was_redirected_by_former_master(c)) {
        (void)detach_from_list_or_link(c);
        finish_command(c, HF_UNKNOWN, no_reply);
        return;
    }
    if (outcome == HF_ANSWERED && link_for_command(&link, c) == HF_OK &&
        hf_replicas_query_more(c, link, reply, on_wait_reply))
        return;
    (void)detach_from_list_or_link(c);
    hf_discover_want(c->router, NULL); /* replicas may have come or gone */
    c->on_replicas(c, outcome, reply, hf_replicas_wanted(c));
}

/* ---- the map changes ---- */

static bool is_link_up(const struct hf_command *c)
{
    struct hf_link *link;

    return link_for_command(&link, c) == HF_OK && hf_link_is_up(link);
}

/* A node that takes in its first slot is in no map yet: what ASK has sent there
 * is well there. */
static bool is_server_still_right(const struct hf_command *c)
{
    return (c->server->serves_slots || c->was_redirected_by_ask) && is_link_up(c);
}

/* Each is out of the list then. Those that come meanwhile are not looked at. */
static void detach_and_call_for_each(struct hf_list *commands,
                                     void (*act)(struct hf_command *c))
{
    struct hf_list list;

    hf_list_init(&list);
    hf_list_join(&list, commands);
    while (!hf_list_is_empty(&list)) {
        struct hf_command *c = command_of_node(list.next);

        hf_list_remove(&c->node);
        act(c);
    }
}

/* ROUTE-2, ROUTE-3. */
static void reroute_if_server_wrong(struct hf_command *c)
{
    struct hf_router *router = c->router;
    struct hf_server *target = NULL;

    (void)hf_router_target(&target, router, c->slot); /* no memory: it stays */
    if (!target || target == c->server || is_server_still_right(c)) {
        hf_list_push(&c->server->commands, &c->node);
        return;
    }
    if (detach_from_list_or_link(c) == HF_UNKNOWN) {
        finish_command(c, HF_UNKNOWN, no_reply);
        return;
    }
    router->counts.resent++;
    submit_again_or_fail(c);
}

void hf_commands_reroute(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    detach_and_call_for_each(&server->commands, reroute_if_server_wrong);
}

static void resubmit_command(struct hf_command *c)
{
    (void)detach_from_list_or_link(c);
    submit_again_or_fail(c);
}

void hf_commands_send_pending(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    detach_and_call_for_each(&router->commands_awaiting_map, resubmit_command);
}

static void end_command_unsent(struct hf_command *c)
{
    (void)detach_from_list_or_link(c);
    finish_command(c, HF_UNSENT, no_reply);
}

void hf_commands_fail_pending(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    detach_and_call_for_each(&router->commands_awaiting_map, end_command_unsent);
}

static void end_if_never_retried(struct hf_command *c)
{
    if (c->is_never_retried)
        end_command_unsent(c);
    else
        hf_list_push(&c->router->commands_awaiting_map, &c->node);
}

void hf_commands_fail_pending_never_retried(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    detach_and_call_for_each(&router->commands_awaiting_map, end_if_never_retried);
}

static void end_if_never_retried_and_link_down(struct hf_command *c)
{
    if (c->is_never_retried && !is_link_up(c))
        end_command_unsent(c);
    else
        hf_list_push(&c->server->commands, &c->node);
}

void hf_commands_fail_never_retried(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    detach_and_call_for_each(&server->commands, end_if_never_retried_and_link_down);
}

static void end_probe_as_answered(struct hf_command *c)
{
    static const struct hf_resp_node null = {.type = HF_RESP_NULL};

    if (c->is_probe && !c->is_replicated && !hf_command_is_sent(c)) {
        (void)detach_from_list_or_link(c);
        finish_command(c, HF_ANSWERED, (struct hf_resp_value){.node = &null});
    } else {
        hf_list_push(&c->server->commands, &c->node);
    }
}

void hf_commands_end_probes(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    detach_and_call_for_each(&server->commands, end_probe_as_answered);
}

/* A command that was not sent waits for the new map. A command that was sent waits for
 * its reply or for the end of its connection. */
static void make_unsent_wait_for_map(struct hf_command *c)
{
    if (hf_command_is_sent(c)) {
        hf_list_push(&c->server->commands, &c->node);
        return;
    }
    (void)detach_from_list_or_link(c);
    c->router->counts.resent++;
    wait_for_map(c);
}

void hf_commands_requeue_unsent(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    detach_and_call_for_each(&server->commands, make_unsent_wait_for_map);
}

/* ---- requests ---- */

void hf_command_stop_redirects(struct hf_command *c)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    c->redirections_followed = HOPS_STOPPED;
}

void hf_command_condemn(struct hf_command *c, const char *why)
{
    struct hf_link *link;

    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    if (c->server && link_for_command(&link, c) == HF_OK)
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
    return c->server && link_for_command(&link, c) == HF_OK ? hf_link_error(link)
                                                   : &c->router->map_error;
}
