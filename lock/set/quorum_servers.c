/* Whether members of a quorum are on one server. The handshake with each server
 * contains its run_id, so a member that has replied can be compared. The first
 * majority of a handle waits a moment for members that are still connecting. */
/* Tests: tests/live/set/test_one_server.c. */
#include "lock/record/hold.h"
#include "lock/record/log.h"
#include "lock/record/records.h"
#include "lock/set/quorum_hold.h"
#include "net/base/moment.h"

int64_t hf_quorum_compare_until_ms(const struct hf_quorum *quorum,
                                   const struct hf_acquire_options *o, int64_t now_ms)
{
    if (quorum->are_servers_compared || o->allow_same_server)
        return 0;
    return now_ms + (o->wait_ms > 0 ? hf_min_ms(QUORUM_COMPARE_WAIT_MS, o->wait_ms)
                                    : QUORUM_COMPARE_WAIT_MS);
}

static bool is_acquire_pending(const struct hf_quorum_hold *hold)
{
    return hold->turn.phase == QUORUM_RUSH || hold->turn.phase == QUORUM_LINE ||
           hold->turn.phase == QUORUM_FILL;
}

bool hf_quorum_shares_a_server(struct hf_quorum_hold *hold)
{
    const struct hf_quorum *quorum = hold->quorum;

    if (hold->options.allow_same_server || !is_acquire_pending(hold) ||
        !hf_same_server_find(&hold->members_on_one_server, quorum->members, quorum->count,
                             false))
        return false;
    hold->is_refused_for_same_server = true;
    hf_quorum_turn_cancel(&hold->turn, HF_E_INVAL);
    return true;
}

static bool is_member_connecting(const struct hf_quorum_hold *hold, uint32_t member)
{
    return hold->turn.votes[member].state == VOTE_REQUESTED &&
           !hf_same_server_is_connected(hold->quorum->members[member]);
}

bool hf_quorum_waits_to_compare(const struct hf_quorum_hold *hold)
{
    const struct hf_quorum *quorum = hold->quorum;
    bool waits = false;

    if (!is_acquire_pending(hold) || quorum->are_servers_compared ||
        hold->options.allow_same_server || hf_clock_ms() >= hold->compare_until_ms)
        return false;
    for (uint32_t i = 0; i < quorum->count && !waits; i++)
        waits = is_member_connecting(hold, i);
    return waits;
}

void hf_quorum_end_comparison(const struct hf_quorum_hold *hold)
{
    struct hf_quorum *quorum = hold->quorum;
    uint32_t unseen;
    struct hf_client *client;

    if (quorum->are_servers_compared || hold->options.allow_same_server)
        return;
    quorum->are_servers_compared = true;
    unseen = hf_same_server_find_unidentified(quorum->members, quorum->count);
    if (unseen == quorum->count)
        return;
    client = quorum->members[unseen]->client;
    hf_loop_lock(client->loop);
    hf_client_log(client, HF_LOG_WARNING,
                  "cannot check whether members of a quorum are on one server: "
                  "%s did not send its run_id (the user needs +info)",
                  hf_client_address(client));
    hf_loop_unlock(client->loop);
}
