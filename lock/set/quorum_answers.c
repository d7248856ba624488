/* Keeps the last result of each member of a quorum, and decides from these results what a
 * call returns. */
/* Tests: tests/live/set/test_quorum.c. */
#include <stdio.h>
#include <string.h>

#include "lock/record/records.h"
#include "lock/set/quorum_hold.h"
#include "net/base/assert.h"
#include "net/base/error.h"

void hf_quorum_set_answer(struct hf_quorum_member_call *call, hf_status status,
                   const char *text)
{
    call->status = status;
    call->was_refusal_temporary = false;
    (void)snprintf(call->result_text, sizeof call->result_text, "%.*s",
                   QUORUM_MEMBER_ERROR_MAX - 1, text);
}

static const char *past_tense_of_call(const struct hf_quorum_hold *hold)
{
    return hold->is_call_release ? "released" : hold->is_call_renewal ? "renewed" : "granted";
}

void hf_quorum_note_answer(struct hf_quorum_member_call *call, hf_status status,
                    const struct hf_error *err)
{
    HF_ASSERT(call->hold->has_pending_call || call->hold->turn.phase == QUORUM_HELD ||
              call->hold->turn.phase == QUORUM_BROKEN);
    if (status == HF_CANCELLED)
        return; /* no result: keep the previous one */
    if (status == HF_OK)
        hf_quorum_set_answer(call, status, past_tense_of_call(call->hold));
    else
        hf_quorum_set_answer(call, status,
                      err->status == status ? err->text
                                            : hf_status_text(status));
    call->was_refusal_temporary = status == HF_E_SERVER && err->is_temporary;
}

void hf_quorum_note_returned(struct hf_quorum_member_call *call)
{
    if (call->status == HF_OK)
        hf_quorum_set_answer(call, HF_CANCELLED, "granted, and released since");
}

/* Of a release: the server replied that the owner does not hold the member. */
static bool was_not_held_at_server(const struct hf_quorum_member_call *call)
{
    return call->was_held && call->status == HF_LOST;
}

/* A member that the server did not have any longer counts as released. One that was lost
 * without a reply of the server does not: the server may still have it. */
static bool is_member_call_success(const struct hf_quorum_member_call *call)
{
    return call->status == HF_OK ||
           (call->hold->is_call_release && was_not_held_at_server(call) &&
            call->had_server_no_hold);
}

uint32_t hf_quorum_count_yes(const struct hf_quorum_hold *hold)
{
    uint32_t yes = 0;

    for (uint32_t i = 0; i < hold->turn.count; i++)
        yes += is_member_call_success(&hold->member_calls[i]);
    return yes;
}

/* Writes "; a:6379: granted". If the error contains the address, the text before the
 * address is left out. */
static size_t put_answer_of_member(const struct hf_quorum_member_call *call, char *dst,
                       size_t room)
{
    const struct hf_lock *lock = call->hold->quorum->members[call->member];
    const char *address = hf_client_address(lock->client);
    const char *named = strstr(call->result_text, address);
    int len = snprintf(dst, room, "%s%s%s%s", call->member ? "; " : "",
                       named ? "" : address, named ? "" : ": ",
                       named ? named : call->result_text);

    return len < 0 ? 0 : (size_t)len < room ? (size_t)len : room - 1;
}

hf_status hf_quorum_fill_error(struct hf_error *err, hf_status status,
                             const struct hf_quorum_hold *hold)
{
    char all[HF_ERROR_TEXT_MAX];
    size_t len = 0;

    for (uint32_t i = 0; i < hold->turn.count; i++)
        len += put_answer_of_member(&hold->member_calls[i], all + len, sizeof all - len);
    (void)hf_error_set(err, status, "%u of %u servers %s the lock, %u required: %s",
                       (unsigned)hf_quorum_count_yes(hold),
                       (unsigned)hold->turn.count, past_tense_of_call(hold),
                       (unsigned)hold->turn.votes_needed, all);
    for (uint32_t i = 0; err && i < hold->turn.count; i++)
        err->is_temporary |= hold->member_calls[i].was_refusal_temporary;
    return status;
}

/* ---- how a call ends ---- */

/* Members that the release found, and that were granted before `ms`. */
static uint32_t count_members_found_held(const struct hf_quorum_hold *hold, int64_t ms)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < hold->turn.count; i++)
        found += hold->member_calls[i].was_held &&
            !was_not_held_at_server(&hold->member_calls[i]) &&
                 hold->turn.votes[i].granted_ms < ms;
    return found;
}

/* QUORUM-11 */
static bool was_majority_lost(const struct hf_quorum_hold *hold)
{
    bool is_broken = hold->had_lost_majority;

    for (uint32_t i = 0; i < hold->turn.count && !is_broken; i++)
        is_broken = was_not_held_at_server(&hold->member_calls[i]) &&
                    count_members_found_held(hold,
                                             hold->member_calls[i].proved_held_before_release_ms) <
                        hold->turn.votes_needed;
    return is_broken;
}

static hf_status status_of_release(const struct hf_quorum_hold *hold,
                                   struct hf_error *err)
{
    uint32_t held = count_members_found_held(hold, HF_NEVER);

    if (held >= hold->turn.votes_needed && was_majority_lost(hold))
        return hf_error_set(err, HF_LOST,
                            "fewer than %u of %u members may have been held for "
                            "a time; since then others were acquired again",
                            (unsigned)hold->turn.votes_needed,
                            (unsigned)hold->turn.count);
    if (held < hold->turn.votes_needed)
        return hf_error_set(err, HF_LOST,
                            "fewer than %u of %u members were still held",
                            (unsigned)hold->turn.votes_needed,
                            (unsigned)hold->turn.count);
    return hf_quorum_count_yes(hold) >= hold->turn.votes_needed
               ? HF_OK
               : hf_quorum_fill_error(err, HF_E_QUORUM, hold);
}

hf_status hf_quorum_call_status(const struct hf_quorum_hold *hold,
                                struct hf_error *err)
{
    hf_status status = hold->turn.status;

    HF_ASSERT(hold->has_pending_call && !hold->turn.has_pending_call);
    HF_ASSERT((hold->turn.phase == QUORUM_IDLE) == (status != HF_OK || hold->is_call_release));
    if (hold->is_call_release)
        return status_of_release(hold, err);
    if (status == HF_OK)
        return status;
    if (hold->is_refused_for_same_server)
        return hf_same_server_fail(err, &hold->members_on_one_server,
                                   hold->quorum->members);
    return status == HF_CANCELLED
               ? hf_error_set(err, status, "%s", hf_status_text(status))
               : hf_quorum_fill_error(err, status, hold);
}
