/* Replicas: see replicas.h. */
/* Tests: tests/live/server/test_lock_replicas.c. */
#include "net/route/replicas.h"
#include "net/base/assert.h"
#include "net/route/sentinel_words.h"
#include "net/route/server.h"

#define REPLICAS_NOT_COUNTED UINT32_MAX /* ROLE did not say */

/* The number of replicas according to the map or to ROLE, whichever is greater. A
 * server that has lost its last replica has too few, not none that must confirm. */
static uint32_t replicas_wanted_now(const struct hf_command *c)
{
    uint32_t known = c->server->connected_replicas > c->connected_replicas
        ? c->server->connected_replicas
                                                       : c->connected_replicas;

    known = known > 1 ? known : 1;
    if (c->replicas == HF_REPLICAS_ALL)
        return known;
    return c->replicas == HF_REPLICAS_MAJORITY ? (known + 1) / 2
                                               : (uint32_t)c->replicas;
}

uint32_t hf_replicas_wanted(const struct hf_command *c)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    return c->replicas < 0 ? replicas_wanted_now(c) : c->replicas_wanted;
}

/* ---- ROLE ---- */

static void on_role_reply(struct hf_request *request, enum hf_outcome outcome,
                          struct hf_resp_value reply)
{
    struct hf_command *c = HF_OWNER_OF(request, struct hf_command, replica_count_request);
    struct hf_role role;

    c->replica_count_request.done = NULL;
    if (outcome == HF_ANSWERED && hf_role_read(&role, reply, NULL) == HF_OK &&
        role.kind == HF_ROLE_MASTER)
        c->connected_replicas = role.connected_replicas;
    else
        c->connected_replicas = REPLICAS_NOT_COUNTED;
}

static hf_status submit_role(struct hf_command *c, struct hf_link *link)
{
    static const struct hf_resp_arg role = {"ROLE", 4};
    hf_status rc;

    if (c->replicas > 0)
        return HF_OK;
    c->replica_count_request.done = on_role_reply;
    c->replica_count_request.is_acknowledged_by_push = false;
    rc = hf_link_submit(link, &c->replica_count_request, &role, 1, c->deadline_ms);
    if (rc < 0)
        c->replica_count_request.done = NULL;
    return rc;
}

/* ---- WAIT ---- */

/* WAIT may take its own time after the deadline of the command. */
static hf_status submit_wait(struct hf_command *c, struct hf_link *link,
                             hf_request_done *done)
{
    char wanted[HF_RESP_INTEGER_MAX], timeout[HF_RESP_INTEGER_MAX];
    struct hf_resp_arg argv[3] = {{"WAIT", 4}, {wanted, 0}, {timeout, 0}};
    int64_t deadline_ms = c->deadline_ms;
    hf_status rc;

    if (deadline_ms != HF_NEVER)
        deadline_ms += c->replicas_timeout_ms;
    c->replicas_wanted = replicas_wanted_now(c);
    argv[1].len = hf_resp_format_integer(wanted, c->replicas_wanted);
    argv[2].len = hf_resp_format_integer(timeout, c->replicas_timeout_ms);
    c->wait_request.done = done;
    c->wait_request.is_acknowledged_by_push = false;
    rc = hf_link_submit(link, &c->wait_request, argv, 3, deadline_ms);
    if (rc < 0)
        c->wait_request.done = NULL;
    return rc;
}

hf_status hf_replicas_query(struct hf_command *c, struct hf_link *link,
                            hf_request_done *done)
{
    hf_status rc = submit_role(c, link);

    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    return rc < 0 ? rc : submit_wait(c, link, done);
}

/* The requested number of replicas has confirmed, and more are connected than were
 * known. */
static bool has_more_replicas_than_confirmed(const struct hf_command *c, struct hf_resp_value reply)
{
    int64_t count;

    return c->replicas < 0 && c->connected_replicas != REPLICAS_NOT_COUNTED &&
           hf_resp_integer(reply, &count) == HF_OK &&
           count >= (int64_t)c->replicas_wanted && count < (int64_t)replicas_wanted_now(c);
}

bool hf_replicas_query_more(struct hf_command *c, struct hf_link *link,
                            struct hf_resp_value reply, hf_request_done *done)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    return has_more_replicas_than_confirmed(c, reply) && submit_wait(c, link, done) == HF_OK;
}
