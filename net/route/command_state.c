/* The state of a command, and the facts that hold in each state. Diagram in command_state.h. */
/* Tests: tests/test_net_router.c, tests/test_net_router_ends.c. */
#include "net/route/command_state.h"

#include "net/base/assert.h"
#include "net/route/router_inner.h"

void hf_command_set_state(struct hf_command *c, enum hf_command_state state)
{
    c->state = (uint8_t)state;
}

static bool is_timer_armed(const struct hf_command *c)
{
    return c->deadline_timer.link != NULL;
}

bool hf_command_ok(const struct hf_command *c)
{
    bool is_listed = !hf_list_is_empty(&c->node);

    switch ((enum hf_command_state)c->state) {
    case HF_COMMAND_IDLE:
        return !is_listed && !is_timer_armed(c);
    case HF_COMMAND_AWAITS_MAP:
        return is_listed && !c->server && (is_timer_armed(c) || c->deadline_ms == HF_NEVER);
    case HF_COMMAND_AWAITS_SPACE:
        return is_listed && c->server && !hf_list_is_empty(&c->space_waiter.node);
    case HF_COMMAND_SENT:
        return is_listed && c->server && !is_timer_armed(c);
    case HF_COMMAND_REPLIED:
        return is_listed && c->server && c->wait_request.done;
    }
    return false;
}

bool hf_command_is_sent(const struct hf_command *c)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    return c->state == HF_COMMAND_REPLIED ||
           (c->state == HF_COMMAND_SENT && c->own_request.sent_ms != HF_NEVER);
}

bool hf_command_awaits_replicas(const struct hf_command *c)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    return c->state == HF_COMMAND_REPLIED;
}

void hf_command_forget_server(struct hf_command *c)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    c->server = NULL;
}
