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
static bool is_round_ok(const struct hf_multi_turn *turn)
{
    return turn->first < turn->count && turn->current < turn->count &&
           (!turn->is_in_order || turn->first == 0);
}

/* MULTI-2, MULTI-5: a call ends with all members, or releases those that it has. */
static bool is_end_ok(const struct hf_multi_turn *turn)
{
    return (turn->taken & ~bits_of_all_members(turn->count)) == 0 &&
           (turn->giving & ~turn->taken) == 0 && (turn->giving == 0 || turn->gives_back) &&
           turn->late <= MULTI_LATE_MAX + 1 &&
           (!turn->ends_when_released || turn->gives_back ||
            turn->taken == bits_of_all_members(turn->count)) &&
           (turn->status == HF_OK || (turn->ends_when_released && turn->gives_back));
}

static bool multi_turn_ok(const struct hf_multi_turn *turn)
{
    return is_round_ok(turn) && is_end_ok(turn);
}

void hf_multi_turn_init(struct hf_multi_turn *turn, uint32_t count,
                        int64_t now_ms, int64_t wait_ms, int64_t lease_ms)
{
    HF_ASSERT(count >= 1 && count <= HF_MULTI_MAX);
    memset(turn, 0, sizeof *turn);
    turn->count = count;
    turn->at_once = 1;
    turn->begun_ms = now_ms;
    turn->deadline_ms = wait_ms < 0 ? HF_NEVER : now_ms + wait_ms;
    turn->tries_once = wait_ms == 0;
    turn->patience_ms = lease_ms > 0 ? hf_min_ms(MULTI_PATIENCE_MS, lease_ms / 4)
                                     : MULTI_PATIENCE_MS;
    turn->is_in_order = true;
    HF_ASSERT(turn->deadline_ms >= now_ms && turn->patience_ms >= 0);
    HF_ASSERT(multi_turn_ok(turn));
}

void hf_multi_turn_release(struct hf_multi_turn *turn, uint32_t count)
{
    memset(turn, 0, sizeof *turn);
    turn->count = count;
    turn->at_once = 1;
    turn->taken = bits_of_all_members(count);
    turn->gives_back = turn->ends_when_released = true;
    HF_ASSERT(multi_turn_ok(turn));
}

/* ---- what next ---- */

static int64_t wait_for(const struct hf_multi_turn *turn, int64_t now_ms)
{
    if (turn->tries_once)
        return 0;
    if (turn->taken == 0)
        return turn->deadline_ms == HF_NEVER
                   ? HF_FOREVER
                   : hf_max_ms(turn->deadline_ms - now_ms, 0);
    if (!turn->is_in_order)
        return 0;
    return hf_max_ms(hf_min_ms(turn->until_ms, turn->deadline_ms) - now_ms, 0);
}

static uint32_t next_missing_member(const struct hf_multi_turn *turn)
{
    uint32_t member = turn->first;

    HF_ASSERT(turn->taken != bits_of_all_members(turn->count));
    if (turn->taken & bit_of_member(member))
        for (member = 0; turn->taken & bit_of_member(member);)
            member++;
    return member;
}

static uint32_t last_of(const struct hf_multi_turn *turn, uint64_t members)
{
    uint32_t member = turn->count - 1;

    HF_ASSERT(members != 0);
    while (!(members & bit_of_member(member)))
        member--;
    return member;
}

static uint32_t count_of(uint64_t members)
{
    uint32_t count = 0;

    for (; members; members &= members - 1)
        count++;
    return count;
}

/* MULTI-8 */
static enum hf_multi_action give_back(struct hf_multi_turn *turn)
{
    uint64_t left = turn->taken & ~turn->giving;

    if (left == 0 || count_of(turn->giving) >= turn->at_once)
        return MULTI_DO_AWAIT;
    turn->current = last_of(turn, left);
    turn->giving |= bit_of_member(turn->current);
    return MULTI_DO_RELEASE;
}

static void end(struct hf_multi_turn *turn, hf_status status)
{
    turn->gives_back = turn->ends_when_released = true;
    turn->status = status;
}

/* This does not apply to the first request, which may use the whole wait. */
static bool is_overdue(const struct hf_multi_turn *turn, int64_t now_ms)
{
    return !turn->tries_once && !turn->gives_back && !turn->ends_when_released &&
           turn->taken != bits_of_all_members(turn->count) && now_ms >= turn->deadline_ms &&
           now_ms > turn->begun_ms;
}

static void begin_step_time(struct hf_multi_turn *turn, int64_t wait_ms,
                            int64_t now_ms)
{
    turn->step_ms = now_ms;
    turn->step_until_ms = wait_ms > 0 ? now_ms + wait_ms : HF_NEVER;
}

struct hf_multi_step hf_multi_turn_next(struct hf_multi_turn *turn,
                                        int64_t now_ms)
{
    struct hf_multi_step step = {.action = MULTI_DO_END};

    HF_ASSERT(multi_turn_ok(turn));
    if (turn->gives_back && !turn->ends_when_released && !turn->taken)
        turn->gives_back = false;
    if (is_overdue(turn, now_ms)) {
        HF_ASSERT(now_ms >= turn->deadline_ms);
        end(turn, HF_TIMEOUT);
    }
    if (turn->gives_back && turn->taken) {
        step.action = give_back(turn);
    } else if (!turn->ends_when_released && turn->taken != bits_of_all_members(turn->count)) {
        turn->current = next_missing_member(turn);
        step.action = MULTI_DO_ACQUIRE;
        step.wait_ms = wait_for(turn, now_ms);
        begin_step_time(turn, step.wait_ms, now_ms);
    }
    step.member = turn->current;
    HF_ASSERT(multi_turn_ok(turn));
    HF_ASSERT(step.wait_ms == HF_FOREVER || turn->tries_once || /* MULTI-1, MULTI-7 */
              step.wait_ms <= hf_max_ms(turn->deadline_ms - now_ms, 0));
    HF_ASSERT(step.wait_ms >= 0 || turn->deadline_ms == HF_NEVER);
    return step;
}

/* ---- how it went ---- */

static void begin_anew(struct hf_multi_turn *turn, bool is_in_order)
{
    turn->gives_back = true;
    turn->is_in_order = is_in_order;
    turn->first = is_in_order ? 0 : turn->current;
}

/* From half of it to the whole (MULTI-6). Without dice, the whole. */
static int64_t draw_patience(struct hf_multi_turn *turn, int64_t span_ms)
{
    if (turn->random_state == 0)
        return span_ms;
    return span_ms - hf_random_next(&turn->random_state) % (span_ms / 2 + 1);
}

static void member_acquired(struct hf_multi_turn *turn, int64_t now_ms)
{
    if (turn->taken == 0)
        turn->until_ms = now_ms + draw_patience(turn, turn->patience_ms);
    turn->taken |= bit_of_member(turn->current);
    turn->ends_when_released = turn->taken == bits_of_all_members(turn->count);
}

/* MULTI-7: the time of the request ended before a reply came. */
static bool is_cut_off(const struct hf_multi_turn *turn, hf_status status,
                       int64_t now_ms)
{
    return now_ms >= turn->step_until_ms &&
           (status == HF_E_NOREPLY || status == HF_E_CONNECT ||
            status == HF_E_SERVER);
}

static void note_silence(struct hf_multi_turn *turn, bool is_silent,
                         int64_t now_ms)
{
    if (!is_silent || turn->silent != turn->current)
        turn->silent_ms = 0;
    turn->silent = turn->current;
    turn->silent_ms += is_silent ? now_ms - turn->step_ms : 0;
}

static hf_status why_cut_off(const struct hf_multi_turn *turn, hf_status status)
{
    int64_t wait_ms = turn->deadline_ms - turn->begun_ms;

    return turn->silent_ms >= wait_ms / 2 ? status : HF_TIMEOUT;
}

static void cut_off(struct hf_multi_turn *turn, hf_status status,
                    int64_t now_ms)
{
    if (turn->taken == 0 || now_ms >= turn->deadline_ms)
        end(turn, why_cut_off(turn, status));
    else
        begin_anew(turn, !turn->is_in_order);
}

void hf_multi_turn_acquire_ended(struct hf_multi_turn *turn, hf_status status,
                                 int64_t now_ms)
{
    bool is_silent = is_cut_off(turn, status, now_ms);

    HF_ASSERT(multi_turn_ok(turn) && !turn->ends_when_released);
    HF_ASSERT(!turn->gives_back && !(turn->taken & bit_of_member(turn->current)));
    note_silence(turn, is_silent, now_ms);
    if (status == HF_OK)
        member_acquired(turn, now_ms);
    else if (is_silent)
        cut_off(turn, status, now_ms);
    else if (status != HF_TIMEOUT || turn->taken == 0 ||
             now_ms >= turn->deadline_ms)
        end(turn, status);
    else
        begin_anew(turn, !turn->is_in_order);
    HF_ASSERT(turn->silent_ms >= 0 && multi_turn_ok(turn));
    HF_ASSERT(status != HF_TIMEOUT || turn->taken == 0 || !turn->ends_when_released || /* MULTI-5 */
              now_ms >= turn->deadline_ms);
}

void hf_multi_turn_release_ended(struct hf_multi_turn *turn, uint32_t member)
{
    HF_ASSERT(turn->gives_back && turn->giving & bit_of_member(member));
    turn->giving &= ~bit_of_member(member);
    turn->taken &= ~bit_of_member(member);
    HF_ASSERT(multi_turn_ok(turn));
}

void hf_multi_turn_unsafe(struct hf_multi_turn *turn, int64_t now_ms)
{
    bool has_time = turn->tries_once || now_ms < turn->deadline_ms;

    HF_ASSERT(turn->taken == bits_of_all_members(turn->count));
    turn->ends_when_released = false;
    if (turn->late++ >= (turn->tries_once ? 1 : MULTI_LATE_MAX))
        end(turn, HF_E_NOREPLY);
    else if (has_time)
        begin_anew(turn, true);
    else
        end(turn, HF_TIMEOUT);
    HF_ASSERT(turn->gives_back && multi_turn_ok(turn)); /* MULTI-4 */
}

void hf_multi_turn_fail(struct hf_multi_turn *turn, hf_status status)
{
    HF_ASSERT(status < 0);
    end(turn, status);
    HF_ASSERT(multi_turn_ok(turn));
}
