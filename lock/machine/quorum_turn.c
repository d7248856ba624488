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
    turn->votes_needed = count / 2 + 1;
}

/* ---- counting ---- */

bool hf_quorum_turn_has_vote(const struct hf_quorum_turn *turn, uint32_t member)
{
    return turn->votes[member].state == VOTE_HELD &&
           !turn->votes[member].must_be_released;
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

static uint32_t count_votes_with_answer(const struct hf_quorum_turn *turn,
                                        enum hf_vote_answer answer)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < turn->count; i++)
        count += turn->votes[i].answer == answer;
    return count;
}

static bool may_still_be_granted(const struct hf_vote *vote)
{
    return vote->must_be_requested || (vote->state == VOTE_REQUESTED && !vote->must_be_released &&
                                       !vote->waits_in_line);
}

/* Members that may still answer yes in this round. */
static uint32_t count_grants_possible(const struct hf_quorum_turn *turn)
{
    uint32_t open = 0;

    for (uint32_t i = 0; i < turn->count; i++)
        open += may_still_be_granted(&turn->votes[i]);
    return open;
}

/* ---- rounds ---- */

/* From half of it to the whole (QUORUM-3). */
static int64_t draw_patience(struct hf_quorum_turn *turn, int64_t span_ms)
{
    return span_ms - hf_random_next(&turn->random_state) % (span_ms / 2 + 1);
}

static bool is_member_requested_or_held(const struct hf_vote *vote)
{
    return vote->state == VOTE_REQUESTED || vote->state == VOTE_HELD;
}

/* Requests all members that are not held or requested. */
static void request_all(struct hf_quorum_turn *turn)
{
    for (uint32_t i = 0; i < turn->count; i++) {
        struct hf_vote *vote = &turn->votes[i];

        vote->must_be_requested = vote->must_be_released || !is_member_requested_or_held(vote);
        vote->answer = VOTE_ANSWER_NONE;
    }
}

/* At most half of the time that is left, so that a rush follows (QUORUM-4). */
static int64_t patience_in_line_ms(const struct hf_quorum_turn *turn, int64_t now_ms)
{
    int64_t left_ms = turn->deadline_ms == HF_NEVER ? HF_NEVER : turn->deadline_ms - now_ms;

    return hf_min_ms(QUORUM_LINE_PATIENCE_MS,
                     hf_max_ms(left_ms / 2, QUORUM_LINE_PATIENCE_LEAST_MS));
}

static void begin_phase(struct hf_quorum_turn *turn, enum hf_quorum_phase phase, int64_t now_ms)
{
    int64_t patience_ms = phase == QUORUM_LINE ? patience_in_line_ms(turn, now_ms)
                                               : QUORUM_PATIENCE_MS;

    enter_phase(turn, phase);
    turn->phase_begun_ms = now_ms;
    HF_ASSERT(patience_ms > 0 && turn->patience_max_ms >= 0 && turn->random_state != 0);
    turn->phase_until_ms = now_ms + draw_patience(turn,
                                                  hf_min_ms(turn->patience_max_ms, patience_ms));
}

/* A rush, or a fill. */
static void begin_phase_with_requests(struct hf_quorum_turn *turn, enum hf_quorum_phase phase,
                                      int64_t now_ms)
{
    begin_phase(turn, phase, now_ms);
    request_all(turn);
}

static void mark_all_for_release(struct hf_quorum_turn *turn)
{
    for (uint32_t i = 0; i < turn->count; i++) {
        struct hf_vote *vote = &turn->votes[i];

        vote->must_be_released = is_member_requested_or_held(vote);
        vote->must_be_requested = false;
    }
}

static void begin_leave_phase(struct hf_quorum_turn *turn, hf_status status)
{
    enter_phase(turn, QUORUM_LEAVE);
    turn->status = status;
    mark_all_for_release(turn);
}

/* False: none answers. */
static bool choose_first_responsive_member(struct hf_quorum_turn *turn)
{
    for (turn->first_member = 0; turn->first_member < turn->count; turn->first_member++)
        if (!turn->votes[turn->first_member].is_unresponsive)
            return true;
    return false;
}

/* If no member replies, a rush finds out which ones reply now. */
static void enter_line_of_first_member(struct hf_quorum_turn *turn, int64_t now_ms)
{
    if (!choose_first_responsive_member(turn)) {
        turn->first_member = 0;
        begin_phase_with_requests(turn, QUORUM_RUSH, now_ms);
        return;
    }
    turn->votes[turn->first_member].must_be_requested = true;
    turn->votes[turn->first_member].answer = VOTE_ANSWER_NONE;
}

/* The acquire may still be in line since before a rush, unless it was cancelled. */
static void begin_line_phase(struct hf_quorum_turn *turn, int64_t now_ms)
{
    struct hf_vote *first = &turn->votes[turn->first_member];

    begin_phase(turn, QUORUM_LINE, now_ms);
    mark_all_for_release(turn);
    if (first->waits_in_line && !first->is_request_cancelled)
        first->must_be_released = false;
    else
        enter_line_of_first_member(turn, now_ms);
}

/* ---- what follows from the answers ---- */

/* Returns whether too few members can still be granted in this round; or its time has
 * passed, and other owners may be waiting for the members held. */
static bool is_majority_blocked(const struct hf_quorum_turn *turn, int64_t now_ms)
{
    if (hf_quorum_turn_votes(turn) + count_grants_possible(turn) < turn->votes_needed)
        return true;
    return now_ms >= turn->phase_until_ms &&
           (turn->phase == QUORUM_FILL || count_votes_with_answer(turn, VOTE_ANSWER_NO) > 0);
}

static hf_status status_of_blocked_call(const struct hf_quorum_turn *turn)
{
    return count_votes_with_answer(turn, VOTE_ANSWER_NO) > 0 ? HF_TIMEOUT : HF_E_QUORUM;
}

/* The end of the wait may end a rush before any reply arrives, and a request of a fill
 * waits for the owner of its member. Earlier replies show why the call has waited
 * (QUORUM-8). */
static hf_status status_of_overdue_call(const struct hf_quorum_turn *turn, int64_t now_ms)
{
    bool had_its_time = turn->phase == QUORUM_RUSH &&
                        now_ms - turn->phase_begun_ms >= QUORUM_PATIENCE_MS / 2;

    return turn->was_refused && !had_its_time ? HF_TIMEOUT : status_of_blocked_call(turn);
}

/* Members that gave no answer in time. */
static void mark_silent_members(struct hf_quorum_turn *turn)
{
    for (uint32_t i = 0; i < turn->count; i++) {
        struct hf_vote *vote = &turn->votes[i];

        vote->is_unresponsive = vote->is_unresponsive || may_still_be_granted(vote);
    }
}

static void continue_after_block(struct hf_quorum_turn *turn, int64_t now_ms)
{
    if (turn->phase == QUORUM_RUSH && now_ms >= turn->phase_until_ms)
        mark_silent_members(turn);
    if (turn->tries_once)
        begin_leave_phase(turn, status_of_blocked_call(turn));
    else if (turn->phase == QUORUM_RUSH &&
             !turn->votes[turn->first_member].waits_in_line &&
             choose_first_responsive_member(turn) &&
             hf_quorum_turn_has_vote(turn, turn->first_member))
        begin_phase_with_requests(turn, QUORUM_FILL, now_ms);
    else
        begin_line_phase(turn, now_ms);
}

static void continue_rush_or_fill(struct hf_quorum_turn *turn, int64_t now_ms)
{
    if (count_votes_with_answer(turn, VOTE_ANSWER_FAILED) > turn->count - turn->votes_needed)
        begin_leave_phase(turn, HF_E_QUORUM);
    else if (now_ms >= turn->deadline_ms)
        begin_leave_phase(turn, status_of_overdue_call(turn, now_ms));
    else if (is_majority_blocked(turn, now_ms))
        continue_after_block(turn, now_ms);
}

/* QUORUM-4: the rush does not leave the line. */
static void continue_in_line(struct hf_quorum_turn *turn, int64_t now_ms)
{
    const struct hf_vote *first = &turn->votes[turn->first_member];

    if (hf_quorum_turn_has_vote(turn, turn->first_member))
        begin_phase_with_requests(turn, QUORUM_FILL, now_ms);
    else if (now_ms >= turn->deadline_ms || first->answer == VOTE_ANSWER_NO)
        begin_leave_phase(turn, HF_TIMEOUT);
    else if (now_ms >= turn->phase_until_ms)
        begin_phase_with_requests(turn, QUORUM_RUSH, now_ms);
    else if (first->answer == VOTE_ANSWER_FAILED)
        enter_line_of_first_member(turn, now_ms);
}

static void request_missing_members_if_due(struct hf_quorum_turn *turn, int64_t now_ms)
{
    if (now_ms < turn->phase_until_ms)
        return;
    turn->phase_until_ms = now_ms + turn->heal_interval_ms;
    request_all(turn);
}

static void advance_phase(struct hf_quorum_turn *turn, int64_t now_ms)
{
    switch (turn->phase) {
    case QUORUM_RUSH:
    case QUORUM_FILL:
        if (hf_quorum_turn_votes(turn) < turn->votes_needed)
            continue_rush_or_fill(turn, now_ms);
        break;
    case QUORUM_LINE:
        continue_in_line(turn, now_ms);
        break;
    case QUORUM_HELD:
        request_missing_members_if_due(turn, now_ms);
        break;
    case QUORUM_IDLE:
    case QUORUM_BROKEN:
    case QUORUM_LEAVE:
        break;
    }
}

/* ---- the next step ---- */

static int64_t request_wait_ms(const struct hf_quorum_turn *turn, int64_t now_ms)
{
    switch (turn->phase) {
    case QUORUM_LINE:
        return turn->deadline_ms == HF_NEVER ? HF_FOREVER
                                             : hf_max_ms(turn->deadline_ms - now_ms, 0);
    case QUORUM_FILL:
        return hf_max_ms(hf_min_ms(turn->phase_until_ms, turn->deadline_ms) - now_ms, 0);
    default:
        return 0;
    }
}

static struct hf_quorum_step request_member(struct hf_quorum_turn *turn, uint32_t member,
                                            int64_t now_ms)
{
    struct hf_vote *vote = &turn->votes[member];

    set_vote_state(vote, VOTE_REQUESTED);
    vote->must_be_requested = false;
    vote->waits_in_line = turn->phase == QUORUM_LINE;
    vote->has_short_wait = turn->phase == QUORUM_FILL;
    return (struct hf_quorum_step){QUORUM_DO_REQUEST, member, request_wait_ms(turn, now_ms)};
}

static struct hf_quorum_step cancel_member_request(struct hf_vote *vote, uint32_t member)
{
    HF_ASSERT(vote->state == VOTE_REQUESTED);
    vote->is_request_cancelled = true;
    return (struct hf_quorum_step){QUORUM_DO_CANCEL, member, 0};
}

static struct hf_quorum_step release_member(struct hf_vote *vote, uint32_t member)
{
    HF_ASSERT(vote->state == VOTE_HELD || vote->state == VOTE_LOST);
    set_vote_state(vote, VOTE_RELEASING);
    return (struct hf_quorum_step){QUORUM_DO_RELEASE, member, 0};
}

/* QUORUM-6 */
static bool must_release_member(const struct hf_quorum_turn *turn, const struct hf_vote *vote)
{
    return turn->phase != QUORUM_BROKEN && (vote->state == VOTE_LOST || vote->must_be_released);
}

static struct hf_quorum_step next_step_for_member(struct hf_quorum_turn *turn, uint32_t member,
                                                  int64_t now_ms)
{
    struct hf_vote *vote = &turn->votes[member];

    switch (vote->state) {
    case VOTE_FREE:
        if (vote->must_be_requested)
            return request_member(turn, member, now_ms);
        break;
    case VOTE_REQUESTED:
        if (vote->must_be_released && !vote->is_request_cancelled)
            return cancel_member_request(vote, member);
        break;
    case VOTE_HELD:
    case VOTE_LOST:
        if (must_release_member(turn, vote))
            return release_member(vote, member);
        break;
    case VOTE_RELEASING:
        break;
    }
    return (struct hf_quorum_step){QUORUM_DO_NOTHING, member, 0};
}

static bool has_majority_to_confirm(const struct hf_quorum_turn *turn)
{
    return (turn->phase == QUORUM_RUSH || turn->phase == QUORUM_FILL) &&
           hf_quorum_turn_votes(turn) >= turn->votes_needed;
}

static bool is_confirmation_due(const struct hf_quorum_turn *turn, int64_t now_ms)
{
    return turn->phase == QUORUM_HELD && now_ms >= turn->confirm_due_ms;
}

static bool has_call_ended(const struct hf_quorum_turn *turn)
{
    return turn->has_pending_call && (turn->phase == QUORUM_HELD ||
                                      (turn->phase == QUORUM_LEAVE &&
                                       hf_quorum_turn_all_free(turn)));
}

static struct hf_quorum_step end_call(struct hf_quorum_turn *turn)
{
    turn->has_pending_call = false;
    if (turn->phase == QUORUM_LEAVE)
        enter_phase(turn, QUORUM_IDLE);
    return (struct hf_quorum_step){QUORUM_DO_END, 0, 0};
}

struct hf_quorum_step hf_quorum_turn_next(struct hf_quorum_turn *turn, int64_t now_ms)
{
    struct hf_quorum_step step = {QUORUM_DO_NOTHING, 0, 0};

    HF_ASSERT(hf_quorum_turn_ok(turn));
    advance_phase(turn, now_ms);
    if (has_majority_to_confirm(turn))
        return (struct hf_quorum_step){QUORUM_DO_CHECK_SAFE, 0, 0};
    HF_ASSERT(hf_quorum_turn_ok(turn));
    if (is_confirmation_due(turn, now_ms)) {
        turn->confirm_due_ms = HF_NEVER;
        return (struct hf_quorum_step){QUORUM_DO_CONFIRM, 0, 0};
    }
    for (uint32_t i = 0; i < turn->count && step.action == QUORUM_DO_NOTHING; i++)
        step = next_step_for_member(turn, i, now_ms);
    HF_ASSERT(step.wait_ms >= 0 ? step.wait_ms <= hf_max_ms(turn->deadline_ms - now_ms, 0)
                                : turn->deadline_ms == HF_NEVER);
    return step.action == QUORUM_DO_NOTHING && has_call_ended(turn) ? end_call(turn) : step;
}

int64_t hf_quorum_turn_due(const struct hf_quorum_turn *turn)
{
    switch (turn->phase) {
    case QUORUM_RUSH:
        return count_votes_with_answer(turn, VOTE_ANSWER_NO) > 0
                   ? hf_min_ms(turn->phase_until_ms, turn->deadline_ms)
                   : turn->deadline_ms;
    case QUORUM_LINE:
    case QUORUM_FILL:
        return hf_min_ms(turn->phase_until_ms, turn->deadline_ms);
    case QUORUM_HELD:
        return hf_min_ms(turn->phase_until_ms, turn->confirm_due_ms);
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
    turn->first_member = turn->late_majorities = turn->members_lost_early = 0;
    turn->last_granted_ms = INT64_MIN;
    turn->confirm_due_ms = HF_NEVER;
    turn->was_refused = false;
    turn->has_pending_call = true;
    turn->tries_once = request->wait_ms == 0;
    turn->deadline_ms = request->wait_ms > 0 ? now_ms + request->wait_ms : HF_NEVER;
    turn->patience_max_ms = request->lease_ms > 0 ? request->lease_ms / 4 : HF_NEVER;
    turn->heal_interval_ms = request->heal_interval_ms;
    turn->random_state = request->random_seed ? request->random_seed : 1;
    begin_phase_with_requests(turn, QUORUM_RUSH, now_ms);
    HF_ASSERT(turn->deadline_ms >= now_ms && hf_quorum_turn_ok(turn));
}

void hf_quorum_turn_release(struct hf_quorum_turn *turn)
{
    HF_ASSERT(turn->phase == QUORUM_HELD || turn->phase == QUORUM_BROKEN);
    turn->has_pending_call = true;
    begin_leave_phase(turn, HF_OK);
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

void hf_quorum_turn_cancel(struct hf_quorum_turn *turn, hf_status status)
{
    if (turn->phase == QUORUM_RUSH || turn->phase == QUORUM_LINE ||
        turn->phase == QUORUM_FILL)
        begin_leave_phase(turn, status);
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

void hf_quorum_turn_safe_checked(struct hf_quorum_turn *turn, bool are_safe, int64_t now_ms)
{
    HF_ASSERT(hf_quorum_turn_ok(turn));
    if (are_safe) {
        enter_phase(turn, QUORUM_HELD);
        turn->status = HF_OK;
        turn->phase_until_ms = turn->heal_interval_ms == HF_NEVER ? HF_NEVER
            : now_ms + turn->heal_interval_ms;
    } else if (turn->late_majorities++ >= (turn->tries_once ? 1 : QUORUM_LATE_MAX)) {
        begin_leave_phase(turn, HF_E_NOREPLY);
    } else if (now_ms < turn->deadline_ms) {
        mark_all_for_release(turn);
        begin_phase_with_requests(turn, QUORUM_RUSH, now_ms);
    } else {
        begin_leave_phase(turn, HF_TIMEOUT);
    }
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

/* A request of a fill has a short time of its own: no reply within that time is
 * silence, and the next rush finds out whether the server has failed. */
static enum hf_vote_answer vote_answer_of_status(const struct hf_vote *vote, hf_status status)
{
    if (status == HF_TIMEOUT)
        return VOTE_ANSWER_NO;
    return vote->has_short_wait && (status == HF_E_NOREPLY || status == HF_E_CONNECT)
               ? VOTE_ANSWER_NONE
               : VOTE_ANSWER_FAILED;
}

/* The end of a request that was cancelled shows nothing about the lock. HF_TIMEOUT
 * always means that a server replied, also after a cancel. */
static void record_failed_acquire(struct hf_quorum_turn *turn, struct hf_vote *vote,
                                  hf_status status)
{
    set_vote_state(vote, VOTE_FREE);
    if (!vote->must_be_released)
        vote->answer = vote_answer_of_status(vote, status);
    vote->is_unresponsive = status != HF_TIMEOUT &&
                    (vote->is_unresponsive || vote->answer == VOTE_ANSWER_FAILED);
    turn->was_refused = turn->was_refused || status == HF_TIMEOUT;
    vote->must_be_released = false;
}

/* QUORUM-10. Without renewals a loss is noticed only when a lease ends. */
static void schedule_confirmation(struct hf_quorum_turn *turn, int64_t now_ms)
{
    turn->last_granted_ms = now_ms;
    if (turn->heal_interval_ms != HF_NEVER)
        turn->confirm_due_ms = hf_min_ms(turn->confirm_due_ms,
                                         now_ms + hf_min_ms(QUORUM_CONFIRM_MS,
                                                            turn->heal_interval_ms / 4));
}

void hf_quorum_turn_request_ended(struct hf_quorum_turn *turn, uint32_t member,
                                  hf_status status, int64_t now_ms)
{
    struct hf_vote *vote = &turn->votes[member];

    HF_ASSERT(member < turn->count && vote->state == VOTE_REQUESTED && hf_quorum_turn_ok(turn));
    vote->is_request_cancelled = vote->waits_in_line = false;
    if (status != HF_OK) {
        record_failed_acquire(turn, vote, status);
        HF_ASSERT(hf_quorum_turn_ok(turn));
        return;
    }
    set_vote_state(vote, VOTE_HELD);
    vote->is_unresponsive = false;
    vote->granted_ms = turn->phase == QUORUM_HELD ? now_ms : INT64_MIN;
    if (turn->phase == QUORUM_HELD)
        schedule_confirmation(turn, now_ms);
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

void hf_quorum_turn_release_ended(struct hf_quorum_turn *turn, uint32_t member)
{
    struct hf_vote *vote = &turn->votes[member];

    HF_ASSERT(vote->state == VOTE_RELEASING && hf_quorum_turn_ok(turn));
    set_vote_state(vote, VOTE_FREE);
    vote->must_be_released = false;
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

static void stop_requesting_members(struct hf_quorum_turn *turn)
{
    for (uint32_t i = 0; i < turn->count; i++) {
        turn->votes[i].must_be_requested = false;
        turn->votes[i].must_be_released = turn->votes[i].state == VOTE_REQUESTED;
    }
}

static void record_member_lost(struct hf_vote *vote)
{
    set_vote_state(vote, VOTE_LOST);
    if (!vote->must_be_released)
        vote->answer = VOTE_ANSWER_FAILED;
}

void hf_quorum_turn_unusable(struct hf_quorum_turn *turn, uint32_t member)
{
    HF_ASSERT(turn->phase != QUORUM_HELD && turn->phase != QUORUM_BROKEN);
    if (turn->votes[member].state == VOTE_HELD)
        record_member_lost(&turn->votes[member]);
    HF_ASSERT(hf_quorum_turn_ok(turn));
}

/* QUORUM-12 */
static void request_lost_member_again(struct hf_quorum_turn *turn, struct hf_vote *vote)
{
    if ((turn->phase != QUORUM_RUSH && turn->phase != QUORUM_FILL) || vote->must_be_released ||
        turn->members_lost_early++ >= QUORUM_LATE_MAX)
        return;
    vote->answer = VOTE_ANSWER_NONE;
    vote->must_be_requested = true;
}

bool hf_quorum_turn_lost(struct hf_quorum_turn *turn, uint32_t member, int64_t held_ms)
{
    struct hf_vote *vote = &turn->votes[member];

    HF_ASSERT(hf_quorum_turn_ok(turn));
    if (vote->state != VOTE_HELD)
        return false;
    record_member_lost(vote);
    request_lost_member_again(turn, vote);
    if (turn->phase != QUORUM_HELD ||
        hf_quorum_turn_held_since(turn, held_ms) >= turn->votes_needed)
        return false;
    enter_phase(turn, QUORUM_BROKEN);
    stop_requesting_members(turn);
    HF_ASSERT(hf_quorum_turn_ok(turn));
    return true;
}
