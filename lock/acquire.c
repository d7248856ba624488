/* Acquiring: the edge around wait.c. A first acquire waits in its lock's line;
 * a re-entry goes straight to the hold; one try asks beside the line. */
#include <stdio.h>
#include <string.h>

#include "lock/client.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/random.h"

/* In one call. A server that needs more than half of the lease each time is too
 * slow for that lease. */
#define LATE_GRANTS_MAX 3
/* How often a waiter with a sharded subscription asks, since it may not hear that
 * the key has left its node: far less than a lease, and few commands. */
#define SLOT_LOOK_MS 3000

static void on_message(struct hf_subscription *s, const char *ptr, size_t len);
static void on_change(struct hf_subscription *s, bool is_live);
static void on_plain_message(struct hf_subscription *s, const char *ptr,
                             size_t len);
static void on_plain_change(struct hf_subscription *s, bool is_live);
static void on_due(struct hf_timer *timer);
static void step(struct hf_op *op, enum hf_wait_event event, int64_t ttl_ms);

/* ---- the line ---- */

static struct hf_op *first_in_line(struct hf_line *line)
{
    if (hf_list_is_empty(&line->waiters))
        return NULL;
    return HF_OWNER_OF(line->waiters.next, struct hf_op, line_node);
}

static void tell_first(struct hf_line *line, enum hf_wait_event event)
{
    struct hf_op *op = first_in_line(line);

    if (op)
        step(op, event, 0);
}

static hf_status subscribe(struct hf_line *line, struct hf_subscription *s,
                           bool is_sharded)
{
    const struct hf_lock *lock = hf_line_lock(line);
    struct hf_bytes channel = hf_lock_channel(lock);

    s->channel = channel.ptr;
    s->channel_len = channel.len;
    s->is_sharded = is_sharded;
    return hf_router_listen(lock->client->router, s, lock->slot);
}

static struct hf_client *client_of(struct hf_line *line)
{
    return hf_line_lock(line)->client;
}

static bool wants_plain(struct hf_line *line)
{
    return line->subscription.is_sharded &&
           hf_router_wakes_both(client_of(line)->router);
}

/* Without memory it is tried again with the next listen(). */
static void listen_plainly(struct hf_line *line)
{
    struct hf_plain_subscription *plain =
        hf_mem_new(client_of(line)->mem, sizeof *plain);

    if (!plain)
        return;
    plain->line = line;
    plain->subscription.on_message = on_plain_message;
    plain->subscription.on_change = on_plain_change;
    if (subscribe(line, &plain->subscription, false) == HF_OK)
        line->plain = plain;
    else
        hf_mem_free(client_of(line)->mem, plain, sizeof *plain);
}

static void listen(struct hf_line *line)
{
    if (!line->is_listening) {
        line->subscription.on_message = on_message;
        line->subscription.on_change = on_change;
        if (!hf_random(&line->ear.dice, sizeof line->ear.dice) ||
            !line->ear.dice)
            line->ear.dice = 1;
        line->is_listening =
            subscribe(line, &line->subscription,
                      hf_lock_is_sharded(hf_line_lock(line))) == HF_OK;
        line->ear.is_refused = !line->is_listening;
    }
    if (line->is_listening && !line->plain && wants_plain(line))
        listen_plainly(line);
}

void hf_acquire_stop_listening(struct hf_line *line)
{
    if (line->is_listening)
        hf_router_unlisten(&line->subscription);
    if (line->plain) {
        hf_router_unlisten(&line->plain->subscription);
        hf_mem_free(client_of(line)->mem, line->plain, sizeof *line->plain);
        line->plain = NULL;
    }
    line->is_listening = false;
    line->ear.is_live = false;
    line->ear.is_refused = false;
    hf_ear_lost(&line->ear);
}

static void heard(struct hf_line *line, const char *ptr, size_t len)
{
    if (hf_ear_heard(&line->ear, hf_loop_now(client_of(line)->loop), ptr, len))
        tell_first(line, WAIT_WOKEN);
}

static void on_message(struct hf_subscription *s, const char *ptr, size_t len)
{
    struct hf_line *line = HF_OWNER_OF(s, struct hf_line, subscription);

    if (line->plain)
        line->plain->may_be_double = true;
    heard(line, ptr, len);
}

/* A plain message after a sharded one is mostly of the same release, whose turn has
 * been counted. It may be of another release: asking again is never wrong. */
static void on_plain_message(struct hf_subscription *s, const char *ptr,
                             size_t len)
{
    struct hf_plain_subscription *plain =
        HF_OWNER_OF(s, struct hf_plain_subscription, subscription);

    if (!plain->may_be_double) {
        heard(plain->line, ptr, len);
        return;
    }
    plain->may_be_double = false;
    plain->line->ear.generation++;
    tell_first(plain->line, WAIT_WOKEN);
}

static bool hears_all(struct hf_line *line)
{
    return line->subscription.is_live &&
           (!wants_plain(line) ||
            (line->plain && line->plain->subscription.is_live));
}

/* One of the line's subscriptions became live, was lost, or was refused. */
static void changed(struct hf_line *line, bool is_one_live)
{
    bool was_live = line->ear.is_live;

    line->ear.is_live = hears_all(line);
    line->ear.is_refused = !is_one_live && !was_live;
    line->ear.generation++; /* messages may have been missed */
    hf_ear_lost(&line->ear);
    if (line->ear.is_live)
        tell_first(line, WAIT_LIVE);
    else if (was_live)
        tell_first(line, WAIT_WOKEN);
    else if (!is_one_live)
        tell_first(line, WAIT_DEAF);
}

static void on_change(struct hf_subscription *s, bool is_live)
{
    changed(HF_OWNER_OF(s, struct hf_line, subscription), is_live);
}

static void on_plain_change(struct hf_subscription *s, bool is_live)
{
    changed(HF_OWNER_OF(s, struct hf_plain_subscription, subscription)->line,
            is_live);
}

void hf_acquire_next(struct hf_lock *lock)
{
    tell_first(lock->line, WAIT_DUE);
}

void hf_acquire_freeing(struct hf_op *op)
{
    op->is_freeing = true;
    op->was_listening = op->lock->line->is_listening;
    hf_ear_releases(&op->lock->line->ear);
}

/* A subscription that began or ended meanwhile counts as one that heard the
 * message: better owe one turn too few than give way to ourselves. */
void hf_acquire_freed(struct hf_op *op, int64_t heard)
{
    struct hf_line *line = op->lock->line;

    if (op->is_freeing)
        hf_ear_released(&line->ear, hf_loop_now(op->client->loop), heard,
                        op->was_listening || line->is_listening);
    op->is_freeing = false;
}

/* The next waiter is woken by its timer, not by a call from here: if ten thousand
 * waiters failed at once, each would call the next on one stack. */
static void leave_line(struct hf_op *op)
{
    struct hf_line *line = op->lock->line;
    bool was_first = first_in_line(line) == op;

    hf_list_remove(&op->line_node);
    if (hf_list_is_empty(&line->waiters))
        hf_acquire_stop_listening(line);
    else if (was_first)
        hf_loop_arm(op->client->loop, &first_in_line(line)->timer, 0);
}

/* ---- ending ---- */

/* Nobody here holds it, but the server may think so. */
static void give_up_hold(struct hf_op *op)
{
    struct hf_hold *hold = op->hold;

    op->hold = NULL;
    if (!hold)
        return;
    if (op->call.may_have_run || op->may_be_held)
        hf_release_orphan(op->lock, hold->text, hold->text_len,
                          op->lease_ms);
    op->call.may_have_run = op->may_be_held = false;
    hf_hold_free(hold);
}

/* The line goes on before our own end is told. The lock outlives both, for the
 * operation still counts as its user. */
static void end(struct hf_op *op, hf_status status)
{
    give_up_hold(op);
    hf_loop_disarm(op->client->loop, &op->timer);
    op->wait.state = WAIT_IS_DONE;
    leave_line(op);
    hf_op_finish(op, status);
}

/* ---- asking ---- */

static int64_t call_deadline(const struct hf_op *op)
{
    int64_t deadline =
        hf_loop_now(op->client->loop) + op->client->request_timeout_ms;

    if (op->options.wait_ms != 0 && op->wait.deadline_ms < deadline)
        return op->wait.deadline_ms;
    return deadline;
}

static void send_acquire(struct hf_op *op,
                         void (*done)(struct hf_call *, hf_status,
                                      struct hf_resp_value))
{
    hf_op_call(op, STEP_ACQUIRE, hf_hold_text(op->hold), call_deadline(op),
               done);
}

/* What the server has just granted. */
static void give_back(struct hf_op *op, hf_status status)
{
    op->call.may_have_run = true;
    end(op, status);
}

static void ask(struct hf_op *op);

/* More than half of the lease has gone by: the rest may be too short to be of use,
 * or to be renewed in time. */
static bool is_late(const struct hf_op *op, int64_t safe_ms)
{
    return safe_ms < op->lease_ms / 2;
}

/* May it ask again? Then the server sets the whole lease anew, if the lock is still
 * ours or free. Within wait_ms; a call that does not wait asks again once. */
static bool asks_anew(struct hf_op *op, int64_t now)
{
    if (op->options.wait_ms == 0)
        return op->late_grants++ == 0;
    return op->late_grants++ < LATE_GRANTS_MAX && now < op->wait.deadline_ms;
}

static void keep(struct hf_op *op)
{
    struct hf_hold *hold = op->hold;

    if (op->options.max_hold_ms > 0)
        hold->core.max_until_ms =
            hf_loop_now(op->client->loop) + op->options.max_hold_ms;
    hf_list_push(&op->lock->holds, &hold->node);
    op->hold = NULL; /* it is the lock's */
    op->client->holds++;
    hf_hold_rearm(hold);
}

/* HF_OK, or HF_UNREPLICATED and to be kept. */
static void granted(struct hf_op *op, hf_status status)
{
    struct hf_hold *hold = op->hold;
    struct hf_client *client = op->client;
    int64_t now = hf_loop_now(client->loop);
    int64_t safe_ms;

    if (client->is_closing) { /* its caller could not release it */
        give_back(op, HF_E_CLOSED);
        return;
    }
    hf_hold_granted(&hold->core, 1, &op->call.sending,
                    op->options.lease_ms == 0, (unsigned)client->serial);
    hold->token = op->answer.number;
    safe_ms = hf_hold_safe_ms(&hold->core, now);
    if (is_late(op, safe_ms) && asks_anew(op, now)) {
        op->may_be_held = true;
        ask(op);
    } else if (safe_ms <= 0) {
        give_back(op,
                  hf_error_set(op->error, HF_E_NOREPLY,
                               "%s: the answer came after the lease had ended",
                               hf_router_address(client->router)));
    } else {
        keep(op);
        end(op, status);
    }
}

static bool is_granted(struct hf_call *call, struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    return hf_answer_read(&op->answer, reply) && op->answer.count == op->count;
}

static void on_acknowledged(struct hf_call *call, hf_status status)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    if (status == HF_OK ||
        (status == HF_UNREPLICATED && op->options.keep_unreplicated))
        granted(op, status);
    else
        give_back(op, status);
}

/* ---- being refused ---- */

/* It would wait for itself. */
static hf_status refuse_owner(struct hf_op *op, const struct hf_hold *held)
{
    char name[100];

    return hf_error_set(op->error, HF_E_INVAL,
                        "lock '%s' is held by this owner already, as a %s: "
                        "that must be released first",
                        hf_error_quote(name, sizeof name, op->lock->text,
                                       op->lock->name_len),
                        hf_lock_kind_text(held->lock->kind->id));
}

/* Its owner's hold on a lock of the same name, of another kind, that nobody gives
 * up now; or NULL. */
static struct hf_hold *hold_in_the_way(const struct hf_op *op)
{
    struct hf_hold *hold = hf_hold_find_beside(op->lock, op->owner);

    return hold && hold->core.state == HOLD_HELD ? hold : NULL;
}

static hf_status say_held(struct hf_op *op, const struct hf_lock_info *info)
{
    char name[100], holder[100], left[50] = "";

    if (info->ttl_ms >= 0)
        (void)snprintf(left, sizeof left, " for another %lld ms",
                       (long long)info->ttl_ms);
    return hf_error_set(op->error, HF_TIMEOUT, "lock '%s' is held by %s%s",
                        hf_error_quote(name, sizeof name, op->lock->text,
                                       op->lock->name_len),
                        hf_error_quote(holder, sizeof holder, info->holder,
                                       info->holder_len),
                        left);
}

/* Is it a hash of another program? To wait for it would be in vain. An empty
 * answer proves nothing: in a large hash, HSCAN may return no field at first. */
static bool is_other_data(const struct hf_lock_info *info)
{
    return info->kind == HF_KIND_NONE &&
           (info->holder_len > 0 || info->hold_count != 0);
}

static void refused(struct hf_op *op)
{
    struct hf_lock_info info = {
        .is_locked = true, .ttl_ms = op->answer.number, .holders = 1};

    if (op->client->is_closing) {
        end(op, HF_E_CLOSED);
        return;
    }
    if (hf_hold_find(op->lock, op->owner) || hold_in_the_way(op)) {
        ask(op); /* by another call of our own: now it is a re-entry */
        return;
    }
    hf_info_read(&info, &op->answer);
    if (is_other_data(&info)) {
        end(op, hf_info_refuse(op->error, op->lock, &info));
        return;
    }
    hf_release_ghost(op->lock, &op->answer);
    if (op->options.wait_ms != 0) {
        hf_notice_wait(op, &info);
        step(op, WAIT_REFUSED, info.ttl_ms);
        return;
    }
    end(op, say_held(op, &info));
}

/* ---- the answer ---- */

/* While waiting, an unreachable server is not an error yet (W7). */
static bool waits_on(const struct hf_op *op)
{
    return op->options.wait_ms != 0 && op->lock->line->was_heard &&
           op->call.is_passing && !op->client->is_closing;
}

/* A question that the end of the wait cuts short, before it could well be
 * answered, is no trouble of the server's. */
static bool was_cut_short(const struct hf_op *op, hf_status status)
{
    int64_t now = hf_loop_now(op->client->loop);

    return status != HF_E_SERVER && /* which is an answer */
           now >= op->wait.deadline_ms &&
           now - op->asked_ms < WAIT_POLL_MS / 2;
}

/* Those behind it would be refused likewise, an attempt to connect after the
 * other, and less and less often. */
static void refuse_line(struct hf_op *op, hf_status status)
{
    struct hf_line *line = op->lock->line;

    while (first_in_line(line) == op && op->line_node.next != &line->waiters) {
        struct hf_op *behind =
            HF_OWNER_OF(op->line_node.next, struct hf_op, line_node);

        if (op->error)
            hf_error_set(behind->error, status, "%s", op->error->text);
        end(behind, status);
    }
}

static void failed(struct hf_op *op, hf_status status)
{
    if (waits_on(op)) {
        if (op->lock->line->trouble < 0 || !was_cut_short(op, status))
            op->lock->line->trouble = status;
        step(op, WAIT_UNANSWERED, 0);
        return;
    }
    if (status == HF_E_AUTH || status == HF_E_TLS)
        refuse_line(op, status);
    end(op, status);
}

static void on_answer(struct hf_call *call, hf_status status,
                      struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    if (status < 0) {
        failed(op, status);
        return;
    }
    if (!hf_op_read_answer(op, reply)) {
        failed(op, hf_op_odd_reply(op));
        return;
    }
    op->lock->line->trouble = HF_OK;
    op->lock->line->was_heard = true;
    if (op->answer.count == op->count)
        granted(op, HF_OK);
    else
        refused(op);
}

/* What became of the last question of this wait, so that the next one may be
 * asked. */
static void settle_question(struct hf_op *op)
{
    op->may_be_held = op->may_be_held || op->call.may_have_run;
    if (op->call.may_have_run)
        hf_hold_unknown(&op->hold->core, &op->call.sending);
    else
        hf_hold_refused(&op->hold->core);
}

static void enter_hold(struct hf_op *op, struct hf_hold *held);

/* The record is made before we ask, so that a grant cannot find no memory; one
 * number serves all the tries of one wait. Should the same owner have acquired
 * meanwhile by another call, this one becomes a re-entry. */
static void ask(struct hf_op *op)
{
    struct hf_hold *held = hf_hold_find(op->lock, op->owner);
    struct hf_hold *beside;

    hf_loop_disarm(op->client->loop, &op->timer);
    if (held) {
        give_up_hold(op);
        leave_line(op);
        enter_hold(op, held);
        return;
    }
    if ((beside = hold_in_the_way(op))) {
        end(op, refuse_owner(op, beside));
        return;
    }
    if (!op->hold && !(op->hold = hf_hold_new(op))) {
        end(op, HF_E_NOMEM);
        return;
    }
    op->count = 1;
    op->asked_ms = hf_loop_now(op->client->loop);
    settle_question(op);
    hf_hold_ask(&op->hold->core, op->asked_ms, op->lease_ms);
    op->call.replicas = op->client->replicas;
    op->call.replicas_timeout_ms = op->client->replicas_timeout_ms;
    op->call.is_for_replicas = is_granted;
    op->call.acknowledged = on_acknowledged;
    send_acquire(op, on_answer);
}

/* ---- waiting ---- */

static void give_up(struct hf_op *op)
{
    hf_status trouble = op->lock->line->trouble;

    end(op, trouble < 0 ? trouble : HF_TIMEOUT);
}

static void arm_due(struct hf_op *op)
{
    if (op->wait.due_ms == HF_NEVER)
        hf_loop_disarm(op->client->loop, &op->timer);
    else
        hf_loop_arm(op->client->loop, &op->timer, op->wait.due_ms);
}

/* While a slot is on the move and the key is already at the target, a release
 * publishes there, and a sharded subscription at the source hears nothing. If our
 * own question was sent by ASK, we know that this is so; but the key may also leave
 * while we sleep. */
static int64_t longest_sleep(const struct hf_op *op)
{
    int64_t ms = op->client->watchdog_ms / 3;
    int64_t cap_ms = hf_command_is_by_ask(&op->call.command) ? WAIT_POLL_MS
                                                             : SLOT_LOOK_MS;

    return op->lock->line->subscription.is_sharded && cap_ms < ms ? cap_ms : ms;
}

static void step(struct hf_op *op, enum hf_wait_event event, int64_t ttl_ms)
{
    int64_t now = hf_loop_now(op->client->loop);

    switch (hf_wait_step(&op->wait, event, now, &op->lock->line->ear, ttl_ms,
                         longest_sleep(op))) {
    case WAIT_ASK:
        ask(op);
        break;
    case WAIT_SUBSCRIBE:
        listen(op->lock->line);
        if (op->lock->line->ear.is_refused)
            step(op, WAIT_DEAF, ttl_ms);
        else
            arm_due(op);
        break;
    case WAIT_SLEEP:
        arm_due(op);
        break;
    case WAIT_GIVE_UP:
        give_up(op);
        break;
    case WAIT_NOTHING:
        break;
    }
}

static void on_due(struct hf_timer *timer)
{
    step(HF_OWNER_OF(timer, struct hf_op, timer), WAIT_DUE, 0);
}

/* ---- re-entry ---- */

static void end_reentry(struct hf_op *op, hf_status status)
{
    struct hf_hold *hold = op->hold;

    op->hold = NULL;
    hf_list_remove(&op->cancel_node);
    hf_hold_leave(hold, false);
    hf_op_finish(op, status);
}

/* The error says what to do: a loop that only tries again would get this answer at
 * once, for ever. */
static void end_lost(struct hf_op *op)
{
    char name[100];

    (void)hf_error_set(op->error, HF_LOST,
                       "lock '%s' was lost: %s; give it up with "
                       "hf_lock_release as often as it was acquired, then "
                       "acquire it again",
                       hf_error_quote(name, sizeof name, op->lock->text,
                                      op->lock->name_len),
                       hf_lost_text(op->hold->core.reason));
    end_reentry(op, HF_LOST);
}

/* The re-entry has no answer. For the count it does not matter whether the server
 * executes it, for the next call sends its own count; but the lease may be shorter
 * now. */
static void settle_reentry(struct hf_op *op)
{
    if (op->call.may_have_run)
        hf_hold_unknown(&op->hold->core, &op->call.sending);
    else
        hf_hold_refused(&op->hold->core);
    hf_hold_rearm(op->hold);
}

static void on_reentry(struct hf_call *call, hf_status status,
                       struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);
    struct hf_hold *hold = op->hold;

    if (status == HF_OK && !hf_op_read_answer(op, reply))
        status = hf_op_odd_reply(op);
    if (status < 0) {
        call->may_have_run = call->may_have_run ||
                             status == HF_E_SERVER; /* half of the script */
        settle_reentry(op);
        end_reentry(op, status);
        return;
    }
    if (hold->core.state == HOLD_LOST) { /* while we asked: it was told */
        end_lost(op);
        return;
    }
    if (op->answer.count == op->count) {
        hf_hold_granted(&hold->core, op->count, &call->sending,
                        op->options.lease_ms == 0, 0);
        hf_hold_rearm(hold);
        end_reentry(op, HF_OK);
        return;
    }
    if (hf_hold_lose(&hold->core,
                     op->answer.number == -2 ? HF_LOST_DELETED : HF_LOST_TAKEN))
        hf_hold_tell_lost(hold);
    end_lost(op);
}

static void reenter(struct hf_op *op)
{
    hf_loop_disarm(op->client->loop, &op->timer);
    if (op->hold->core.state == HOLD_LOST) {
        end_lost(op);
        return;
    }
    if (!op->lock->kind->reenters) {
        end_reentry(op, refuse_owner(op, op->hold));
        return;
    }
    op->count = op->hold->core.count + 1;
    op->call.replicas = 0;
    hf_hold_ask(&op->hold->core, hf_loop_now(op->client->loop), op->lease_ms);
    hf_hold_rearm(op->hold);
    send_acquire(op, on_reentry);
}

/* Behind another call on the same hold it waits no longer than it may. */
static void enter_hold(struct hf_op *op, struct hf_hold *held)
{
    hf_wait_init(&op->wait, op->wait.deadline_ms); /* it asks nothing of its own */
    if (hf_hold_enter(held, op)) {
        reenter(op);
    } else {
        op->wait.due_ms = call_deadline(op);
        if (op->options.wait_ms != 0)
            op->wait.due_ms = op->wait.deadline_ms;
        arm_due(op);
    }
}

/* ---- start, cancel ---- */

static void join(struct hf_op *op)
{
    struct hf_hold *held = hf_hold_find(op->lock, op->owner);
    struct hf_line *line = op->lock->line;
    bool was_alone = hf_list_is_empty(&line->waiters);

    hf_loop_disarm(op->client->loop, &op->timer);
    op->timer.fire = on_due;
    if (held) {
        enter_hold(op, held);
        return;
    }
    if (op->options.wait_ms == 0 || hold_in_the_way(op)) {
        ask(op);
        return;
    }
    hf_list_push(&line->waiters, &op->line_node);
    if (was_alone) {
        line->was_heard = false;
        line->trouble = HF_OK;
        step(op, WAIT_DUE, 0);
    } else {
        arm_due(op);
    }
}

static void start(struct hf_op *op)
{
    const struct hf_acquire_options *o = &op->options;
    int64_t now = hf_loop_now(op->client->loop);

    op->lease_ms = o->lease_ms > 0 ? o->lease_ms : op->client->watchdog_ms;
    hf_wait_init(&op->wait, o->wait_ms < 0 ? HF_NEVER : now + o->wait_ms);
    if (o->cancel && o->cancel->is_fired) {
        hf_op_finish(op, HF_CANCELLED);
        return;
    }
    if (o->cancel)
        hf_list_push(&o->cancel->waits, &op->cancel_node);
    join(op);
}

/* Wherever it stands: in a line, in a hold's queue, or with a question asked. */
static void cancel(struct hf_op *op, hf_status status)
{
    struct hf_hold *held = hf_hold_find(op->lock, op->owner);

    hf_call_cancel(&op->call);
    hf_loop_disarm(op->client->loop, &op->timer);
    if (held && held->op == op) {
        settle_reentry(op);
        end_reentry(op, status);
        return;
    }
    end(op, status);
}

const struct hf_verb hf_verb_acquire = {
    .start = start, .resume = join, .cancel = cancel, .only_waits = true};
