/* The order in which members are acquired and released. Rules in multi_turn.h. */
/* Tests: tests/test_lock_multi_turn.c, tests/sim/test_multi.c. */
#include "lock/machine/multi_turn.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/moment.h"
#include "net/base/random.h"

static uint64_t bit_of_member(uint32_t member)
{
    return UINT64_C(1) << member;
}

static uint64_t bits_of_all_members(uint32_t count)
{
    return ~UINT64_C(0) >> (HF_MULTI_MAX - count);
}

/* MULTI-1, MULTI-3: a round is in the order or begins with one member. */
static bool is_round_order_ok(const struct hf_multi_turn *turn)
{
    return turn->first_member < turn->count && turn->current_member < turn->count &&
           (!turn->is_round_in_order || turn->first_member == 0);
}

/* MULTI-2, MULTI-5: a call ends with all members, or releases those that it has. */
static bool are_member_bits_ok(const struct hf_multi_turn *turn)
{
    return (turn->held_members & ~bits_of_all_members(turn->count)) == 0 &&
           (turn->members_being_released & ~turn->held_members) == 0 &&
           (turn->members_being_released == 0 || turn->releases_members) &&
           turn->late_rounds <= MULTI_LATE_MAX + 1 &&
           (!turn->ends_when_released || turn->releases_members ||
            turn->held_members == bits_of_all_members(turn->count)) &&
           (turn->status == HF_OK || (turn->ends_when_released && turn->releases_members));
}

static bool multi_turn_ok(const struct hf_multi_turn *turn)
{
    return is_round_order_ok(turn) && are_member_bits_ok(turn);
}

void hf_multi_turn_init(struct hf_multi_turn *turn, uint32_t count,
                        int64_t now_ms, int64_t wait_ms, int64_t lease_ms)
{
    HF_ASSERT(count >= 1 && count <= HF_MULTI_MAX);
    memset(turn, 0, sizeof *turn);
    turn->count = count;
    turn->releases_at_once_max = 1;
    turn->begun_ms = now_ms;
    turn->deadline_ms = wait_ms < 0 ? HF_NEVER : now_ms + wait_ms;
    turn->tries_once = wait_ms == 0;
    turn->patience_max_ms = lease_ms > 0 ? hf_min_ms(MULTI_PATIENCE_MS, lease_ms / 4)
                                     : MULTI_PATIENCE_MS;
    turn->is_round_in_order = true;
    HF_ASSERT(turn->deadline_ms >= now_ms && turn->patience_max_ms >= 0);
    HF_ASSERT(multi_turn_ok(turn));
}

void hf_multi_turn_release(struct hf_multi_turn *turn, uint32_t count)
{
    memset(turn, 0, sizeof *turn);
    turn->count = count;
    turn->releases_at_once_max = 1;
    turn->held_members = bits_of_all_members(count);
    turn->releases_members = turn->ends_when_released = true;
    HF_ASSERT(multi_turn_ok(turn));
}

/* ---- what next ---- */

static int64_t max_wait_for_next_member(const struct hf_multi_turn *turn, int64_t now_ms)
{
    if (turn->tries_once)
        return 0;
    if (turn->held_members == 0)
        return turn->deadline_ms == HF_NEVER
                   ? HF_FOREVER
                   : hf_max_ms(turn->deadline_ms - now_ms, 0);
    if (!turn->is_round_in_order)
        return 0;
    return hf_max_ms(hf_min_ms(turn->patience_until_ms, turn->deadline_ms) - now_ms, 0);
}

static uint32_t next_missing_member(const struct hf_multi_turn *turn)
{
    uint32_t member = turn->first_member;

    HF_ASSERT(turn->held_members != bits_of_all_members(turn->count));
    if (turn->held_members & bit_of_member(member))
        for (member = 0; turn->held_members & bit_of_member(member);)
            member++;
    return member;
}

static uint32_t last_member_of(const struct hf_multi_turn *turn, uint64_t members)
{
    uint32_t member = turn->count - 1;

    HF_ASSERT(members != 0);
    while (!(members & bit_of_member(member)))
        member--;
    return member;
}

static uint32_t count_members_in(uint64_t members)
{
    uint32_t count = 0;

    for (; members; members &= members - 1)
        count++;
    return count;
}

/* MULTI-8 */
static enum hf_multi_action release_last_member(struct hf_multi_turn *turn)
{
    uint64_t left = turn->held_members & ~turn->members_being_released;

    if (left == 0 || count_members_in(turn->members_being_released) >= turn->releases_at_once_max)
        return MULTI_DO_AWAIT;
    turn->current_member = last_member_of(turn, left);
    turn->members_being_released |= bit_of_member(turn->current_member);
    return MULTI_DO_RELEASE;
}

static void end_after_releases(struct hf_multi_turn *turn, hf_status status)
{
    turn->releases_members = turn->ends_when_released = true;
    turn->status = status;
}

/* This does not apply to the first request, which may use the whole wait. */
static bool is_acquire_overdue(const struct hf_multi_turn *turn, int64_t now_ms)
{
    return !turn->tries_once && !turn->releases_members && !turn->ends_when_released &&
           turn->held_members != bits_of_all_members(turn->count) && now_ms >= turn->deadline_ms &&
           now_ms > turn->begun_ms;
}

static void begin_step_time(struct hf_multi_turn *turn, int64_t wait_ms,
                            int64_t now_ms)
{
    turn->step_begun_ms = now_ms;
    turn->step_until_ms = wait_ms > 0 ? now_ms + wait_ms : HF_NEVER;
}

struct hf_multi_step hf_multi_turn_next(struct hf_multi_turn *turn,
                                        int64_t now_ms)
{
    struct hf_multi_step step = {.action = MULTI_DO_END};

    HF_ASSERT(multi_turn_ok(turn));
    if (turn->releases_members && !turn->ends_when_released && !turn->held_members)
        turn->releases_members = false;
    if (is_acquire_overdue(turn, now_ms)) {
        HF_ASSERT(now_ms >= turn->deadline_ms);
        end_after_releases(turn, HF_TIMEOUT);
    }
    if (turn->releases_members && turn->held_members) {
        step.action = release_last_member(turn);
    } else if (!turn->ends_when_released &&
               turn->held_members != bits_of_all_members(turn->count)) {
        turn->current_member = next_missing_member(turn);
        step.action = MULTI_DO_ACQUIRE;
        step.wait_ms = max_wait_for_next_member(turn, now_ms);
        begin_step_time(turn, step.wait_ms, now_ms);
    }
    step.member = turn->current_member;
    HF_ASSERT(multi_turn_ok(turn));
    HF_ASSERT(step.wait_ms == HF_FOREVER || turn->tries_once || /* MULTI-1, MULTI-7 */
              step.wait_ms <= hf_max_ms(turn->deadline_ms - now_ms, 0));
    HF_ASSERT(step.wait_ms >= 0 || turn->deadline_ms == HF_NEVER);
    return step;
}

/* ---- how it went ---- */

static void restart_round(struct hf_multi_turn *turn, bool is_in_order)
{
    turn->releases_members = true;
    turn->is_round_in_order = is_in_order;
    turn->first_member = is_in_order ? 0 : turn->current_member;
}

/* From half of it to the whole (MULTI-6). Without dice, the whole. */
static int64_t draw_patience(struct hf_multi_turn *turn, int64_t span_ms)
{
    if (turn->random_state == 0)
        return span_ms;
    return span_ms - hf_random_next(&turn->random_state) % (span_ms / 2 + 1);
}

static void record_member_acquired(struct hf_multi_turn *turn, int64_t now_ms)
{
    if (turn->held_members == 0)
        turn->patience_until_ms = now_ms + draw_patience(turn, turn->patience_max_ms);
    turn->held_members |= bit_of_member(turn->current_member);
    turn->ends_when_released = turn->held_members == bits_of_all_members(turn->count);
}

/* MULTI-7: the time of the request ended before a reply came. */
static bool is_cut_off(const struct hf_multi_turn *turn, hf_status status,
                       int64_t now_ms)
{
    return now_ms >= turn->step_until_ms &&
           (status == HF_E_NOREPLY || status == HF_E_CONNECT ||
            status == HF_E_SERVER);
}

static void add_silence_of_member(struct hf_multi_turn *turn, bool is_silent,
                                  int64_t now_ms)
{
    if (!is_silent || turn->silent_member != turn->current_member)
        turn->silent_ms = 0;
    turn->silent_member = turn->current_member;
    turn->silent_ms += is_silent ? now_ms - turn->step_begun_ms : 0;
}

static hf_status status_of_cut_off(const struct hf_multi_turn *turn, hf_status status)
{
    int64_t wait_ms = turn->deadline_ms - turn->begun_ms;

    return turn->silent_ms >= wait_ms / 2 ? status : HF_TIMEOUT;
}

static void handle_request_cut_off(struct hf_multi_turn *turn, hf_status status,
                                   int64_t now_ms)
{
    if (turn->held_members == 0 || now_ms >= turn->deadline_ms)
        end_after_releases(turn, status_of_cut_off(turn, status));
    else
        restart_round(turn, !turn->is_round_in_order);
}

void hf_multi_turn_acquire_ended(struct hf_multi_turn *turn, hf_status status,
                                 int64_t now_ms)
{
    bool is_silent = is_cut_off(turn, status, now_ms);

    HF_ASSERT(multi_turn_ok(turn) && !turn->ends_when_released);
    HF_ASSERT(!turn->releases_members &&
              !(turn->held_members & bit_of_member(turn->current_member)));
    add_silence_of_member(turn, is_silent, now_ms);
    if (status == HF_OK)
        record_member_acquired(turn, now_ms);
    else if (is_silent)
        handle_request_cut_off(turn, status, now_ms);
    else if (status != HF_TIMEOUT || turn->held_members == 0 ||
             now_ms >= turn->deadline_ms)
        end_after_releases(turn, status);
    else
        restart_round(turn, !turn->is_round_in_order);
    HF_ASSERT(turn->silent_ms >= 0 && multi_turn_ok(turn));
    HF_ASSERT(status != HF_TIMEOUT || turn->held_members == 0 || !turn->ends_when_released ||
              /* MULTI-5 */
              now_ms >= turn->deadline_ms);
}

void hf_multi_turn_release_ended(struct hf_multi_turn *turn, uint32_t member)
{
    HF_ASSERT(turn->releases_members && turn->members_being_released & bit_of_member(member));
    turn->members_being_released &= ~bit_of_member(member);
    turn->held_members &= ~bit_of_member(member);
    HF_ASSERT(multi_turn_ok(turn));
}

void hf_multi_turn_unsafe(struct hf_multi_turn *turn, int64_t now_ms)
{
    bool has_time = turn->tries_once || now_ms < turn->deadline_ms;

    HF_ASSERT(turn->held_members == bits_of_all_members(turn->count));
    turn->ends_when_released = false;
    if (turn->late_rounds++ >= (turn->tries_once ? 1 : MULTI_LATE_MAX))
        end_after_releases(turn, HF_E_NOREPLY);
    else if (has_time)
        restart_round(turn, true);
    else
        end_after_releases(turn, HF_TIMEOUT);
    HF_ASSERT(turn->releases_members && multi_turn_ok(turn)); /* MULTI-4 */
}

void hf_multi_turn_fail(struct hf_multi_turn *turn, hf_status status)
{
    HF_ASSERT(status < 0);
    end_after_releases(turn, status);
    HF_ASSERT(multi_turn_ok(turn));
}
