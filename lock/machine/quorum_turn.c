/* Which members of a quorum are requested, and which are released. Rules in
 * quorum_turn.h. */
/* Tests: tests/test_lock_quorum_turn.c, tests/sim/test_quorum.c. */
#include "lock/machine/quorum_turn.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/moment.h"
#include "net/base/random.h"

void hf_quorum_turn_init(struct hf_quorum_turn *turn, uint32_t count)
{
    HF_ASSERT(count >= 1 && count <= HF_QUORUM_MAX);
    memset(turn, 0, sizeof *turn);
    turn->count = count;
    turn->needed = count / 2 + 1;
}

/* ---- counting ---- */

bool hf_quorum_turn_has_vote(const struct hf_quorum_turn *turn, uint32_t member)
{
    return turn->votes[member].state == VOTE_HELD &&
           !turn->votes[member].is_unwanted;
}

uint32_t hf_quorum_turn_votes(const struct hf_quorum_turn *turn)
{
    return hf_quorum_turn_held_since(turn, INT64_MAX);
}

uint32_t hf_quorum_turn_held_since(const struct hf_quorum_turn *turn, int64_t ms)
{
    uint32_t held = 0;

    for (uint32_t i = 0; i < turn->count; i++)
        held += hf_quorum_turn_has_vote(turn, i) && turn->votes[i].granted_ms < ms;
    return held;
}

static void set_vote_state(struct hf_vote *vote, enum hf_vote_state state)
{
    vote->state = state;
}

static void enter_phase(struct hf_quorum_turn *turn, enum hf_quorum_phase phase)
{
    turn->phase = phase;
}

static uint32_t count_answers(const struct hf_quorum_turn *turn, enum hf_vote_answer answer)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < turn->count; i++)
        count += turn->votes[i].answer == answer;
    return count;
}

static bool is_open(const struct hf_vote *vote)
{
    return vote->is_due || (vote->state == VOTE_REQUESTED && !vote->is_unwanted &&
                            !vote->is_in_line);
}

/* Members that may still answer yes in this round. */
static uint32_t count_open(const struct hf_quorum_turn *turn)
{
    uint32_t open = 0;

    for (uint32_t i = 0; i < turn->count; i++)
        open += is_open(&turn->votes[i]);
    return open;
}

/* ---- rounds ---- */

/* From half of it to the whole (QUORUM-3). */
static int64_t draw_patience(struct hf_quorum_turn *turn, int64_t span_ms)
{
    return span_ms - hf_random_next(&turn->random_state) % (span_ms / 2 + 1);
}

static bool is_requested_or_ours(const struct hf_vote *vote)
{
    return vote->state == VOTE_REQUESTED || vote->state == VOTE_HELD;
}

/* Requests all members that are not held or requested. */
static void request_all(struct hf_quorum_turn *turn)
{
    for (uint32_t i = 0; i < turn->count; i++) {
        struct hf_vote *vote = &turn->votes[i];

        vote->is_due = vote->is_unwanted || !is_requested_or_ours(vote);
        vote->answer = VOTE_ANSWER_NONE;
    }
}

/* At most half of the time that is left, so that a rush follows (QUORUM-4). */
static int64_t line_patience(const struct hf_quorum_turn *turn, int64_t now_ms)
{
    int64_t left_ms = turn->deadline_ms == HF_NEVER ? HF_NEVER : turn->deadline_ms - now_ms;

    return hf_min_ms(QUORUM_LINE_PATIENCE_MS,
                     hf_max_ms(left_ms / 2, QUORUM_LINE_PATIENCE_LEAST_MS));
}

static void begin_phase(struct hf_quorum_turn *turn, enum hf_quorum_phase phase, int64_t now_ms)
{
    int64_t patience_ms = phase == QUORUM_LINE ? line_patience(turn, now_ms)
                                               : QUORUM_PATIENCE_MS;

    enter_phase(turn, phase);
    turn->begun_ms = now_ms;
    HF_ASSERT(patience_ms > 0 && turn->patience_ms >= 0 && turn->random_state != 0);
    turn->until_ms = now_ms + draw_patience(turn, hf_min_ms(turn->patience_ms, patience_ms));
}

/* A rush, or a fill. */
static void begin_requests(struct hf_quorum_turn *turn, enum hf_quorum_phase phase, int64_t now_ms)
{
    begin_phase(turn, phase, now_ms);
    request_all(turn);
}

static void give_all_back(struct hf_quorum_turn *turn)
{
    for (uint32_t i = 0; i < turn->count; i++) {
        struct hf_vote *vote = &turn->votes[i];

        vote->is_unwanted = is_requested_or_ours(vote);
        vote->is_due = false;
    }
}

static void begin_leave(struct hf_quorum_turn *turn, hf_status status)
{
    enter_phase(turn, QUORUM_LEAVE);
    turn->status = status;
    give_all_back(turn);
}

/* False: none answers. */
static bool choose_first(struct hf_quorum_turn *turn)
{
    for (turn->first = 0; turn->first < turn->count; turn->first++)
        if (!turn->votes[turn->first].is_unresponsive)
            return true;
    return false;
}

/* If no member replies, a rush finds out which ones reply now. */
static void stand_in_line(struct hf_quorum_turn *turn, int64_t now_ms)
{
    if (!choose_first(turn)) {
        turn->first = 0;
        begin_requests(turn, QUORUM_RUSH, now_ms);
        return;
    }
    turn->votes[turn->first].is_due = true;
    turn->votes[turn->first].answer = VOTE_ANSWER_NONE;
}

/* The acquire may still be in line since before a rush, unless it was cancelled. */
static void begin_line(struct hf_quorum_turn *turn, int64_t now_ms)
{
    struct hf_vote *first = &turn->votes[turn->first];

    begin_phase(turn, QUORUM_LINE, now_ms);
    give_all_back(turn);
    if (first->is_in_line && !first->is_cancelled)
        first->is_unwanted = false;
    else
        stand_in_line(turn, now_ms);
}

/* ---- what follows from the answers ---- */

/* Returns whether too few members can still be granted in this round; or its time has
 * passed, and other owners may be waiting for the members held. */
static bool is_blocked(const struct hf_quorum_turn *turn, int64_t now_ms)
{
    if (hf_quorum_turn_votes(turn) + count_open(turn) < turn->needed)
        return true;
    return now_ms >= turn->until_ms &&
           (turn->phase == QUORUM_FILL || count_answers(turn, VOTE_ANSWER_NO) > 0);
}

static hf_status why_not(const struct hf_quorum_turn *turn)
{
    return count_answers(turn, VOTE_ANSWER_NO) > 0 ? HF_TIMEOUT : HF_E_QUORUM;
}

/* The end of the wait may end a rush before any reply arrives, and a request of a fill
 * waits for the owner of its member. Earlier replies show why the call has waited
 * (QUORUM-8). */
static hf_status why_overdue(const struct hf_quorum_turn *turn, int64_t now_ms)
{
    bool had_its_time = turn->phase == QUORUM_RUSH &&
                        now_ms - turn->begun_ms >= QUORUM_PATIENCE_MS / 2;

    return turn->was_refused && !had_its_time ? HF_TIMEOUT : why_not(turn);
}

/* Members that gave no answer in time. */
static void note_silence(struct hf_quorum_turn *turn)
{
    for (uint32_t i = 0; i < turn->count; i++) {
        struct hf_vote *vote = &turn->votes[i];

        vote->is_unresponsive = vote->is_unresponsive || is_open(vote);
    }
}

static void after_block(struct hf_quorum_turn *turn, int64_t now_ms)
{
    if (turn->phase == QUORUM_RUSH && now_ms >= turn->until_ms)
        note_silence(turn);
    if (turn->tries_once)
        begin_leave(turn, why_not(turn));
    else if (turn->phase == QUORUM_RUSH &&
             !turn->votes[turn->first].is_in_line && choose_first(turn) &&
             hf_quorum_turn_has_vote(turn, turn->first))
        begin_requests(turn, QUORUM_FILL, now_ms);
    else
        begin_line(turn, now_ms);
}

static void go_on_requesting(struct hf_quorum_turn *turn, int64_t now_ms)
{
    if (count_answers(turn, VOTE_ANSWER_FAILED) > turn->count - turn->needed)
        begin_leave(turn, HF_E_QUORUM);
    else if (now_ms >= turn->deadline_ms)
        begin_leave(turn, why_overdue(turn, now_ms));
    else if (is_blocked(turn, now_ms))
        after_block(turn, now_ms);
}

/* QUORUM-4: the rush does not leave the line. */
static void go_on_in_line(struct hf_quorum_turn *turn, int64_t now_ms)
{
    const struct hf_vote *first = &turn->votes[turn->first];

    if (hf_quorum_turn_has_vote(turn, turn->first))
        begin_requests(turn, QUORUM_FILL, now_ms);
    else if (now_ms >= turn->deadline_ms || first->answer == VOTE_ANSWER_NO)
        begin_leave(turn, HF_TIMEOUT);
    else if (now_ms >= turn->until_ms)
        begin_requests(turn, QUORUM_RUSH, now_ms);
    else if (first->answer == VOTE_ANSWER_FAILED)
        stand_in_line(turn, now_ms);
}

static void request_missing_members(struct hf_quorum_turn *turn, int64_t now_ms)
{
    if (now_ms < turn->until_ms)
        return;
    turn->until_ms = now_ms + turn->heal_ms;
    request_all(turn);
}

static void advance_phase(struct hf_quorum_turn *turn, int64_t now_ms)
{
    switch (turn->phase) {
    case QUORUM_RUSH:
    case QUORUM_FILL:
        if (hf_quorum_turn_votes(turn) < turn->needed)
            go_on_requesting(turn, now_ms);
        break;
    case QUORUM_LINE:
        go_on_in_line(turn, now_ms);
        break;
    case QUORUM_HELD:
        request_missing_members(turn, now_ms);
        break;
    case QUORUM_IDLE:
    case QUORUM_BROKEN:
    case QUORUM_LEAVE:
        break;
    }
}

/* ---- the next step ---- */

static int64_t wait_for(const struct hf_quorum_turn *turn, int64_t now_ms)
{
    switch (turn->phase) {
    case QUORUM_LINE:
        return turn->deadline_ms == HF_NEVER ? HF_FOREVER
                                             : hf_max_ms(turn->deadline_ms - now_ms, 0);
    case QUORUM_FILL:
        return hf_max_ms(hf_min_ms(turn->until_ms, turn->deadline_ms) - now_ms, 0);
    default:
        return 0;
    }
}

static struct hf_quorum_step request_member(struct hf_quorum_turn *turn, uint32_t member,
                                            int64_t now_ms)
{
    struct hf_vote *vote = &turn->votes[member];

    set_vote_state(vote, VOTE_REQUESTED);
    vote->is_due = false;
    vote->is_in_line = turn->phase == QUORUM_LINE;
    vote->has_little_time = turn->phase == QUORUM_FILL;
    return (struct hf_quorum_step){QUORUM_DO_REQUEST, member, wait_for(turn, now_ms)};
}

static struct hf_quorum_step cancel_request(struct hf_vote *vote, uint32_t member)
{
    HF_ASSERT(vote->state == VOTE_REQUESTED);
    vote->is_cancelled = true;
    return (struct hf_quorum_step){QUORUM_DO_CANCEL, member, 0};
}

static struct hf_quorum_step give_back(struct hf_vote *vote, uint32_t member)
{
    HF_ASSERT(vote->state == VOTE_HELD || vote->state == VOTE_LOST);
    set_vote_state(vote, VOTE_RELEASING);
    return (struct hf_quorum_step){QUORUM_DO_RELEASE, member, 0};
}

/* QUORUM-6 */
static bool is_to_go(const struct hf_quorum_turn *turn, const struct hf_vote *vote)
{
    return turn->phase != QUORUM_BROKEN && (vote->state == VOTE_LOST || vote->is_unwanted);
}

static struct hf_quorum_step step_of(struct hf_quorum_turn *turn, uint32_t member, int64_t now_ms)
{
    struct hf_vote *vote = &turn->votes[member];

    switch (vote->state) {
    case VOTE_FREE:
        if (vote->is_due)
            return request_member(turn, member, now_ms);
        break;
    case VOTE_REQUESTED:
        if (vote->is_unwanted && !vote->is_cancelled)
            return cancel_request(vote, member);
        break;
    case VOTE_HELD:
    case VOTE_LOST:
        if (is_to_go(turn, vote))
            return give_back(vote, member);
        break;
    case VOTE_RELEASING:
        break;
    }
    return (struct hf_quorum_step){QUORUM_DO_NOTHING, member, 0};
}

static bool has_most(const struct hf_quorum_turn *turn)
{
    return (turn->phase == QUORUM_RUSH || turn->phase == QUORUM_FILL) &&
           hf_quorum_turn_votes(turn) >= turn->needed;
}

static bool must_confirm(const struct hf_quorum_turn *turn, int64_t now_ms)
{
    return turn->phase == QUORUM_HELD && now_ms >= turn->confirm_ms;
}

static bool is_call_over(const struct hf_quorum_turn *turn)
{
    return turn->is_called && (turn->phase == QUORUM_HELD ||
                               (turn->phase == QUORUM_LEAVE &&
                                hf_quorum_turn_all_free(turn)));
}

static struct hf_quorum_step end_call(struct hf_quorum_turn *turn)
{
    turn->is_called = false;
    if (turn->phase == QUORUM_LEAVE)
        enter_phase(turn, QUORUM_IDLE);
    return (struct hf_quorum_step){QUORUM_DO_END, 0, 0};
}

struct hf_quorum_step hf_quorum_turn_next(struct hf_quorum_turn *turn, int64_t now_ms)
{
    struct hf_quorum_step step = {QUORUM_DO_NOTHING, 0, 0};

    HF_ASSERT(hf_quorum_turn_ok(turn));
    advance_phase(turn, now_ms);
    if (has_most(turn))
        return (struct hf_quorum_step){QUORUM_DO_CHECK_SAFE, 0, 0};
    HF_ASSERT(hf_quorum_turn_ok(turn));
    if (must_confirm(turn, now_ms)) {
        turn->confirm_ms = HF_NEVER;
        return (struct hf_quorum_step){QUORUM_DO_CONFIRM, 0, 0};
    }
    for (uint32_t i = 0; i < turn->count && step.action == QUORUM_DO_NOTHING; i++)
        step = step_of(turn, i, now_ms);
    HF_ASSERT(step.wait_ms >= 0 ? step.wait_ms <= hf_max_ms(turn->deadline_ms - now_ms, 0)
                                : turn->deadline_ms == HF_NEVER);
    return step.action == QUORUM_DO_NOTHING && is_call_over(turn) ? end_call(turn) : step;
}

int64_t hf_quorum_turn_due(const struct hf_quorum_turn *turn)
{
    switch (turn->phase) {
    case QUORUM_RUSH:
        return count_answers(turn, VOTE_ANSWER_NO) > 0
                   ? hf_min_ms(turn->until_ms, turn->deadline_ms)
                   : turn->deadline_ms;
    case QUORUM_LINE:
    case QUORUM_FILL:
        return hf_min_ms(turn->until_ms, turn->deadline_ms);
    case QUORUM_HELD:
        return hf_min_ms(turn->until_ms, turn->confirm_ms);
    default:
        return HF_NEVER;
    }
}

/* ---- events ---- */

void hf_quorum_turn_acquire(struct hf_quorum_turn *turn, int64_t now_ms,
                            const struct hf_quorum_request *request)
{
    HF_ASSERT(turn->phase == QUORUM_IDLE && hf_quorum_turn_ok(turn));
    for (uint32_t i = 0; i < turn->count; i++)
        turn->votes[i] = (struct hf_vote){.state = VOTE_FREE};
    turn->first = turn->late = turn->lost = 0;
    turn->granted_ms = INT64_MIN;
    turn->confirm_ms = HF_NEVER;
    turn->was_refused = false;
    turn->is_called = true;
    turn->tries_once = request->wait_ms == 0;
    turn->deadline_ms = request->wait_ms > 0 ? now_ms + request->wait_ms : HF_NEVER;
    turn->patience_ms = request->lease_ms > 0 ? request->lease_ms / 4 : HF_NEVER;
    turn->heal_ms = request->heal_ms;
    turn->random_state = request->random_state ? request->random_state : 1;
    begin_requests(turn, QUORUM_RUSH, now_ms);
    HF_ASSERT(turn->deadline_ms >= now_ms && hf_quorum_turn_ok(turn));
}

void hf_quorum_turn_release(struct hf_quorum_turn *turn)
{
    HF_ASSERT(turn->phase == QUORUM_HELD || turn->phase == QUORUM_BROKEN);
    turn->is_called = true;
    begin_leave(turn, HF_OK);
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

void hf_quorum_turn_cancel(struct hf_quorum_turn *turn, hf_status status)
{
    if (turn->phase == QUORUM_RUSH || turn->phase == QUORUM_LINE ||
        turn->phase == QUORUM_FILL)
        begin_leave(turn, status);
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

void hf_quorum_turn_safe_checked(struct hf_quorum_turn *turn, bool are_safe, int64_t now_ms)
{
    HF_ASSERT(hf_quorum_turn_ok(turn));
    if (are_safe) {
        enter_phase(turn, QUORUM_HELD);
        turn->status = HF_OK;
        turn->until_ms = turn->heal_ms == HF_NEVER ? HF_NEVER : now_ms + turn->heal_ms;
    } else if (turn->late++ >= (turn->tries_once ? 1 : QUORUM_LATE_MAX)) {
        begin_leave(turn, HF_E_NOREPLY);
    } else if (now_ms < turn->deadline_ms) {
        give_all_back(turn);
        begin_requests(turn, QUORUM_RUSH, now_ms);
    } else {
        begin_leave(turn, HF_TIMEOUT);
    }
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

/* A request of a fill has a short time of its own: no reply within that time is
 * silence, and the next rush finds out whether the server has failed. */
static enum hf_vote_answer answer_of(const struct hf_vote *vote, hf_status status)
{
    if (status == HF_TIMEOUT)
        return VOTE_ANSWER_NO;
    return vote->has_little_time && (status == HF_E_NOREPLY || status == HF_E_CONNECT)
               ? VOTE_ANSWER_NONE
               : VOTE_ANSWER_FAILED;
}

/* The end of a request that was cancelled shows nothing about the lock. HF_TIMEOUT
 * always means that a server replied, also after a cancel. */
static void member_refused(struct hf_quorum_turn *turn, struct hf_vote *vote, hf_status status)
{
    set_vote_state(vote, VOTE_FREE);
    if (!vote->is_unwanted)
        vote->answer = answer_of(vote, status);
    vote->is_unresponsive = status != HF_TIMEOUT &&
                    (vote->is_unresponsive || vote->answer == VOTE_ANSWER_FAILED);
    turn->was_refused = turn->was_refused || status == HF_TIMEOUT;
    vote->is_unwanted = false;
}

/* QUORUM-10. Without renewals a loss is noticed only when a lease ends. */
static void confirm_soon(struct hf_quorum_turn *turn, int64_t now_ms)
{
    turn->granted_ms = now_ms;
    if (turn->heal_ms != HF_NEVER)
        turn->confirm_ms = hf_min_ms(turn->confirm_ms,
                                     now_ms + hf_min_ms(QUORUM_CONFIRM_MS, turn->heal_ms / 4));
}

void hf_quorum_turn_request_ended(struct hf_quorum_turn *turn, uint32_t member,
                                  hf_status status, int64_t now_ms)
{
    struct hf_vote *vote = &turn->votes[member];

    HF_ASSERT(member < turn->count && vote->state == VOTE_REQUESTED && hf_quorum_turn_ok(turn));
    vote->is_cancelled = vote->is_in_line = false;
    if (status != HF_OK) {
        member_refused(turn, vote, status);
        HF_ASSERT(hf_quorum_turn_ok(turn));
        return;
    }
    set_vote_state(vote, VOTE_HELD);
    vote->is_unresponsive = false;
    vote->granted_ms = turn->phase == QUORUM_HELD ? now_ms : INT64_MIN;
    if (turn->phase == QUORUM_HELD)
        confirm_soon(turn, now_ms);
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

void hf_quorum_turn_release_ended(struct hf_quorum_turn *turn, uint32_t member)
{
    struct hf_vote *vote = &turn->votes[member];

    HF_ASSERT(vote->state == VOTE_RELEASING && hf_quorum_turn_ok(turn));
    set_vote_state(vote, VOTE_FREE);
    vote->is_unwanted = false;
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

static void stop_requests(struct hf_quorum_turn *turn)
{
    for (uint32_t i = 0; i < turn->count; i++) {
        turn->votes[i].is_due = false;
        turn->votes[i].is_unwanted = turn->votes[i].state == VOTE_REQUESTED;
    }
}

static void fail_vote(struct hf_vote *vote)
{
    set_vote_state(vote, VOTE_LOST);
    if (!vote->is_unwanted)
        vote->answer = VOTE_ANSWER_FAILED;
}

void hf_quorum_turn_unusable(struct hf_quorum_turn *turn, uint32_t member)
{
    HF_ASSERT(turn->phase != QUORUM_HELD && turn->phase != QUORUM_BROKEN);
    if (turn->votes[member].state == VOTE_HELD)
        fail_vote(&turn->votes[member]);
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

/* QUORUM-12 */
static void request_again(struct hf_quorum_turn *turn, struct hf_vote *vote)
{
    if ((turn->phase != QUORUM_RUSH && turn->phase != QUORUM_FILL) || vote->is_unwanted ||
        turn->lost++ >= QUORUM_LATE_MAX)
        return;
    vote->answer = VOTE_ANSWER_NONE;
    vote->is_due = true;
}

bool hf_quorum_turn_lost(struct hf_quorum_turn *turn, uint32_t member, int64_t held_ms)
{
    struct hf_vote *vote = &turn->votes[member];

    HF_ASSERT(hf_quorum_turn_ok(turn));
    if (vote->state != VOTE_HELD)
        return false;
    fail_vote(vote);
    request_again(turn, vote);
    if (turn->phase != QUORUM_HELD ||
        hf_quorum_turn_held_since(turn, held_ms) >= turn->needed)
        return false;
    enter_phase(turn, QUORUM_BROKEN);
    stop_requests(turn);
    HF_ASSERT(hf_quorum_turn_ok(turn));
    return true;
}
