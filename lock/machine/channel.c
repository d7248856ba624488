/* A lock's channel, and whose turn it is. Rules in channel.h. */
/* Tests: tests/test_lock_wait.c, tests/test_lock_share.c,
 *        tests/live/lock/test_lock_share.c. */
#include "lock/machine/channel.h"

#include "net/base/assert.h"
#include "net/base/moment.h"
#include "net/base/random.h"

/* The clock rounds down to a millisecond, so a wait of at least one needs two. Redisson
 * sends its request 0.7 ms after a release. */
#define TURN_START_SLACK_MS 1
/* After TURNS_UNUSED_MAX releases, this client gives way after one release in
 * UNUSED_BEAT. */
#define UNUSED_BEAT 16

/* ---- the facts ---- */

/* TURN-1: early messages are of the time while a release of ours is under way. */
static bool are_turn_members_ok(const struct hf_channel *channel)
{
    return channel->turns_owed <= FEW_LISTENERS_MAX &&
           channel->unowed_turns_taken <= FEW_LISTENERS_MAX &&
           channel->turns_owed <= channel->other_listeners &&
           (channel->early_notifications == 0 || channel->pending_releases > 0);
}

/* TURN-2 */
static bool is_crowd_count_ok(const struct hf_channel *channel)
{
    return channel->crowd_listeners == 0 || channel->crowd_listeners > FEW_LISTENERS_MAX;
}

/* TURN-3 */
static bool are_listener_counts_ok(const struct hf_channel *channel)
{
    return !(channel->has_counted_few_listeners && channel->has_more_than_few_listeners);
}

/* PUSHED-2 */
static bool is_push_pause_ok(const struct hf_channel *channel)
{
    return channel->push_pause_ms == 0 || (channel->push_pause_ms >= PUSH_PAUSE_MS &&
                                           channel->push_pause_ms <= PUSH_PAUSE_MAX_MS);
}

static bool channel_ok(const struct hf_channel *channel)
{
    return are_turn_members_ok(channel) && is_crowd_count_ok(channel) &&
           are_listener_counts_ok(channel) &&
           is_push_pause_ok(channel);
}

/* ---- whose turn it is ---- */

/* TURN-1. A release that is under way is expected to have as many listeners as
 * the last one. */
int64_t hf_channel_turn_ms(const struct hf_channel *channel, int64_t now_ms)
{
    int64_t turn_ms = now_ms;

    if (channel->turns_owed > 0)
        turn_ms = channel->last_release_ms + channel->turns_owed + TURN_START_SLACK_MS;
    if (channel->pending_releases > 0 && channel->other_listeners > 0)
        turn_ms = hf_max_ms(turn_ms, now_ms + 1 + TURN_START_SLACK_MS);
    return turn_ms;
}

static int64_t draw_number_below(struct hf_channel *channel, int64_t below)
{
    HF_ASSERT(channel->random_state != 0 && below > 0);
    return hf_random_next(&channel->random_state) % below;
}

/* TURN-2 */
int64_t hf_channel_crowd_ms(struct hf_channel *channel, int64_t now_ms, bool is_shared,
                            int64_t end_ms)
{
    int64_t rank;

    HF_ASSERT(channel->crowd_listeners > 0);
    if (is_shared)
        return now_ms + draw_number_below(channel,
                                          hf_min_ms(channel->crowd_listeners, CROWD_SPREAD_MS));
    rank = draw_number_below(channel, channel->crowd_listeners);
    if (rank * rank / 2 < end_ms - now_ms)
        return now_ms + rank * rank / 2;
    return now_ms < end_ms ? now_ms + draw_number_below(channel, end_ms - now_ms) : now_ms;
}

/* ---- the crowd ---- */

/* `waiting`: the clients that wait, if more than FEW_LISTENERS_MAX listen; otherwise all that
 * listen. */
static void set_listener_counts(struct hf_channel *channel, bool is_many, int64_t waiting)
{
    channel->has_more_than_few_listeners = is_many;
    channel->waiting_listeners = (uint32_t)hf_max_ms(hf_min_ms(waiting, UINT32_MAX), 0);
    channel->crowd_listeners = channel->has_counted_few_listeners || waiting <= FEW_LISTENERS_MAX
        ? 0 : channel->waiting_listeners;
    channel->has_counted_few_listeners = channel->has_counted_few_listeners && !is_many;
    channel->is_crowd_counted = true;
}

/* ---- messages ---- */

/* The number in a message of TURN-2; 0: it is another message. */
static uint32_t parse_listener_count(const char *ptr, size_t len)
{
    uint32_t count = 0;

    if (len == 0 || len > 9) /* more cannot overflow */
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (ptr[i] < '0' || ptr[i] > '9')
            return 0;
        count = count * 10 + (uint32_t)(ptr[i] - '0');
    }
    return count > FEW_LISTENERS_MAX ? count : 0;
}

/* Redisson's releases do not count the listeners, so the last count fades. */
static void halve_outdated_crowd(struct hf_channel *channel)
{
    if (!channel->is_crowd_counted)
        channel->crowd_listeners = channel->crowd_listeners / 2 > FEW_LISTENERS_MAX
            ? channel->crowd_listeners / 2 : 0;
    channel->is_crowd_counted = false;
}

/* A client that takes more turns than we owe does not give way, so it gives us
 * credit: Redisson, when a thread releases and acquires again at once. */
static void record_turn_of_another_client(struct hf_channel *channel, int64_t now_ms)
{
    channel->last_release_ms = now_ms;
    channel->turns_of_others++;
    if (channel->turns_owed > 0)
        channel->turns_owed--;
    else if (channel->other_listeners > 0 && channel->unowed_turns_taken < FEW_LISTENERS_MAX)
        channel->unowed_turns_taken++;
}

/* TURN-3. A client that is not registered may be one of those that the number leaves out. */
static void record_listeners_in_message(struct hf_channel *channel, uint32_t number)
{
    set_listener_counts(channel, true,
                        channel->is_registered ? hf_max_ms(number - FEW_LISTENERS_MAX, 1) : number);
    HF_ASSERT(channel_ok(channel));
}

bool hf_channel_notified(struct hf_channel *channel, int64_t now_ms,
                         const char *ptr, size_t len)
{
    uint32_t crowd = parse_listener_count(ptr, len);

    HF_ASSERT(channel_ok(channel));
    if (crowd > 0) {
        record_listeners_in_message(channel, crowd);
        return false;
    }
    channel->wake_events++;
    halve_outdated_crowd(channel);
    if (channel->own_notifications_expected > 0) {
        channel->own_notifications_expected--;
    } else if (channel->pending_releases > 0) {
        channel->early_notifications++;
    } else {
        record_turn_of_another_client(channel, now_ms);
    }
    HF_ASSERT(channel_ok(channel));
    return true;
}

void hf_channel_lost(struct hf_channel *channel)
{
    channel->early_notifications = channel->own_notifications_expected = 0;
    channel->has_counted_few_listeners = false;
    HF_ASSERT(channel_ok(channel));
}

void hf_channel_own_release_begins(struct hf_channel *channel)
{
    HF_ASSERT(channel->pending_releases < UINT32_MAX && channel_ok(channel));
    channel->pending_releases++;
}

/* The message of our release comes before the answer to that release, or after.
 */
static void count_own_notification(struct hf_channel *channel, bool is_heard_by_us)
{
    if (is_heard_by_us && channel->early_notifications > 0)
        channel->early_notifications--;
    else if (is_heard_by_us)
        channel->own_notifications_expected++;
    if (channel->pending_releases == 0)
        channel->early_notifications =
            0; /* of others: before or after our release, unknown */
}

static void set_turns_owed_to_others(struct hf_channel *channel, uint32_t others)
{
    uint32_t spent;

    channel->unused_turns = channel->turns_of_others > 0 ? 0 : channel->unused_turns + (others > 0);
    channel->turns_of_others = 0;
    channel->other_listeners = others;
    channel->turns_owed = (uint32_t)hf_min_ms(others, FEW_LISTENERS_MAX);
    spent = (uint32_t)hf_min_ms(channel->turns_owed, channel->unowed_turns_taken);
    HF_ASSERT(spent <= channel->turns_owed && spent <= channel->unowed_turns_taken);
    channel->turns_owed -= spent;
    channel->unowed_turns_taken -= spent;
    if (channel->unused_turns > TURNS_UNUSED_MAX && channel->unused_turns % UNUSED_BEAT != 0)
        channel->turns_owed = 0;
}

/* The message with the number decides, if this client hears it: it comes before the reply, or
 * after. */
static void record_listeners_of_release(struct hf_channel *channel, int64_t now_ms, int64_t heard)
{
    set_listener_counts(channel, heard > FEW_LISTENERS_MAX, heard);
    if (heard <= FEW_LISTENERS_MAX)
        channel->listeners_count_from_ms = now_ms + LISTENERS_RECOUNT_MS;
}

void hf_channel_own_release_ended(struct hf_channel *channel, int64_t now_ms,
                                  int64_t heard, bool is_heard_by_us)
{
    HF_ASSERT(channel->pending_releases > 0);
    channel->pending_releases--;
    count_own_notification(channel, heard > 0 && is_heard_by_us);
    HF_ASSERT(channel_ok(channel));
    if (heard < 0)
        return;
    channel->last_release_ms = now_ms;
    if (heard <= FEW_LISTENERS_MAX || !is_heard_by_us)
        record_listeners_of_release(channel, now_ms, heard);
    set_turns_owed_to_others(channel, (uint32_t)hf_max_ms(heard - is_heard_by_us, 0));
    HF_ASSERT(channel_ok(channel));
}

/* ---- pushes ---- */

/* PUSHED-4 */
static int64_t max_random_delay_after_push_ms(const struct hf_channel *channel, bool is_shared)
{
    return is_shared ? hf_min_ms(channel->waiting_listeners, CROWD_SPREAD_MS) : FEW_LISTENERS_MAX;
}

/* The lot is a fraction of 2^32. */
bool hf_channel_tracks_acquires(const struct hf_channel *channel, bool is_shared)
{
    return is_shared || channel->waiting_listeners <= FEW_LISTENERS_MAX ||
           (uint64_t)channel->lottery_number * channel->waiting_listeners >> 32 < FEW_LISTENERS_MAX;
}

/* A channel that is not listened to has no dice. */
void hf_channel_pushed(struct hf_channel *channel, int64_t now_ms, bool is_shared)
{
    int64_t at_ms = hf_max_ms(hf_channel_turn_ms(channel, now_ms), now_ms);
    HF_ASSERT(channel_ok(channel));
    if (channel->has_unused_push)
        return;
    if (channel->waiting_listeners > FEW_LISTENERS_MAX && channel->random_state != 0)
        at_ms = hf_max_ms(at_ms,
                          now_ms + draw_number_below(channel,
                                                     max_random_delay_after_push_ms(channel,
                                                                                    is_shared)));
    channel->has_unused_push = true;
    channel->push_request_from_ms = hf_max_ms(at_ms, channel->push_ignored_until_ms);
}

bool hf_channel_use_push(struct hf_channel *channel, int64_t now_ms)
{
    if (!channel->has_unused_push || now_ms < channel->push_request_from_ms)
        return false;
    channel->was_push_request_delayed =
        channel->push_request_from_ms == channel->push_ignored_until_ms;
    return true;
}

/* A push that had to wait for the end of a pause followed another one. */
void hf_channel_push_failed(struct hf_channel *channel, int64_t now_ms)
{
    channel->push_pause_ms = channel->was_push_request_delayed
                                 ? hf_min_ms(2 * channel->push_pause_ms, PUSH_PAUSE_MAX_MS)
                                 : PUSH_PAUSE_MS;
    channel->push_ignored_until_ms = now_ms + channel->push_pause_ms;
    if (channel->random_state != 0)
        channel->push_ignored_until_ms += draw_number_below(channel,
                                                            channel->push_pause_ms / 2 + 1);
    channel->push_request_from_ms = hf_max_ms(channel->push_request_from_ms,
                                              channel->push_ignored_until_ms);
    HF_ASSERT(channel_ok(channel));
}

/* ---- how many listen ---- */

bool hf_channel_must_count_listeners(const struct hf_channel *channel, int64_t now_ms)
{
    return now_ms >= channel->listeners_count_from_ms;
}

void hf_channel_registered(struct hf_channel *channel, bool is_registered)
{
    channel->is_registered = is_registered;
    if (is_registered)
        channel->listeners_count_from_ms = 0;
}

/* The second number is 0 if the registration was confirmed after the request had been sent. */
void hf_channel_listeners_counted(struct hf_channel *channel, int64_t now_ms, int64_t all,
                                  int64_t registered)
{
    bool is_many = all > FEW_LISTENERS_MAX;

    HF_ASSERT(all >= 0);
    channel->has_counted_few_listeners = channel->is_live && !is_many;
    set_listener_counts(channel, is_many,
                        is_many && channel->is_registered && registered > 0 ? registered : all);
    channel->listeners_count_from_ms = now_ms + LISTENERS_RECOUNT_MS;
    HF_ASSERT(channel_ok(channel));
}

void hf_channel_listeners_not_counted(struct hf_channel *channel, int64_t now_ms, bool is_denied)
{
    if (is_denied)
        channel->waiting_listeners = 0;
    channel->listeners_count_from_ms = now_ms + (is_denied ? LISTENERS_DENIED_MS
                                                 : LISTENERS_RETRY_MS);
}
