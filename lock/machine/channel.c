/* A lock's channel, and whose turn it is. Rules in channel.h. */
/* Tests: tests/test_lock_wait.c, tests/test_lock_share.c,
 *        tests/live/lock/test_lock_share.c. */
#include "lock/machine/channel.h"

#include "net/base/assert.h"
#include "net/base/moment.h"
#include "net/base/random.h"

/* The clock rounds down to a millisecond, so a wait of at least one needs two. Redisson
 * sends its request 0.7 ms after a release. */
#define START_SLACK_MS 1
/* After TURNS_UNUSED_MAX releases, this client gives way after one release in
 * UNUSED_BEAT. */
#define UNUSED_BEAT 16

/* ---- the facts ---- */

/* TURN-1: early messages are of the time while a release of ours is under way. */
static bool are_turns_ok(const struct hf_channel *channel)
{
    return channel->owed <= FEW_LISTENERS_MAX && channel->credit <= FEW_LISTENERS_MAX &&
           channel->owed <= channel->other_listeners &&
           (channel->early_notifications == 0 || channel->releases > 0);
}

/* TURN-2 */
static bool is_crowd_ok(const struct hf_channel *channel)
{
    return channel->crowd == 0 || channel->crowd > FEW_LISTENERS_MAX;
}

/* TURN-3 */
static bool are_listeners_ok(const struct hf_channel *channel)
{
    return !(channel->is_few && channel->is_many);
}

/* PUSHED-2 */
static bool is_pause_ok(const struct hf_channel *channel)
{
    return channel->push_pause_ms == 0 || (channel->push_pause_ms >= PUSH_PAUSE_MS &&
                                           channel->push_pause_ms <= PUSH_PAUSE_MAX_MS);
}

static bool channel_ok(const struct hf_channel *channel)
{
    return are_turns_ok(channel) && is_crowd_ok(channel) && are_listeners_ok(channel) &&
           is_pause_ok(channel);
}

/* ---- whose turn it is ---- */

/* TURN-1. A release that is under way is expected to have as many listeners as
 * the last one. */
int64_t hf_channel_turn_ms(const struct hf_channel *channel, int64_t now_ms)
{
    int64_t turn_ms = now_ms;

    if (channel->owed > 0)
        turn_ms = channel->turn_ms + channel->owed + START_SLACK_MS;
    if (channel->releases > 0 && channel->other_listeners > 0)
        turn_ms = hf_max_ms(turn_ms, now_ms + 1 + START_SLACK_MS);
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

    HF_ASSERT(channel->crowd > 0);
    if (is_shared)
        return now_ms + draw_number_below(channel, hf_min_ms(channel->crowd, CROWD_SPREAD_MS));
    rank = draw_number_below(channel, channel->crowd);
    if (rank * rank / 2 < end_ms - now_ms)
        return now_ms + rank * rank / 2;
    return now_ms < end_ms ? now_ms + draw_number_below(channel, end_ms - now_ms) : now_ms;
}

/* ---- the crowd ---- */

/* `waiting`: the clients that wait, if more than FEW_LISTENERS_MAX listen; otherwise all that
 * listen. */
static void set_listeners(struct hf_channel *channel, bool is_many, int64_t waiting)
{
    channel->is_many = is_many;
    channel->listeners = (uint32_t)hf_max_ms(hf_min_ms(waiting, UINT32_MAX), 0);
    channel->crowd = channel->is_few || waiting <= FEW_LISTENERS_MAX ? 0 : channel->listeners;
    channel->is_few = channel->is_few && !is_many;
    channel->is_counted = true;
}

/* ---- messages ---- */

/* The number in a message of TURN-2; 0: it is another message. */
static uint32_t crowd_in(const char *ptr, size_t len)
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
static void fade_listeners_count(struct hf_channel *channel)
{
    if (!channel->is_counted)
        channel->crowd = channel->crowd / 2 > FEW_LISTENERS_MAX ? channel->crowd / 2 : 0;
    channel->is_counted = false;
}

/* A client that takes more turns than we owe does not give way, so it gives us
 * credit: Redisson, when a thread releases and acquires again at once. */
static void turn_passed(struct hf_channel *channel, int64_t now_ms)
{
    channel->turn_ms = now_ms;
    channel->turns++;
    if (channel->owed > 0)
        channel->owed--;
    else if (channel->other_listeners > 0 && channel->credit < FEW_LISTENERS_MAX)
        channel->credit++;
}

/* TURN-3. A client that is not registered may be one of those that the number leaves out. */
static void heard_number(struct hf_channel *channel, uint32_t number)
{
    set_listeners(channel, true,
                  channel->is_registered ? hf_max_ms(number - FEW_LISTENERS_MAX, 1) : number);
    HF_ASSERT(channel_ok(channel));
}

bool hf_channel_notified(struct hf_channel *channel, int64_t now_ms,
                         const char *ptr, size_t len)
{
    uint32_t crowd = crowd_in(ptr, len);

    HF_ASSERT(channel_ok(channel));
    if (crowd > 0) {
        heard_number(channel, crowd);
        return false;
    }
    channel->generation++;
    fade_listeners_count(channel);
    if (channel->echoes > 0) {
        channel->echoes--;
    } else if (channel->releases > 0) {
        channel->early_notifications++;
    } else {
        turn_passed(channel, now_ms);
    }
    HF_ASSERT(channel_ok(channel));
    return true;
}

void hf_channel_lost(struct hf_channel *channel)
{
    channel->early_notifications = channel->echoes = 0;
    channel->is_few = false;
    HF_ASSERT(channel_ok(channel));
}

void hf_channel_own_release_begins(struct hf_channel *channel)
{
    HF_ASSERT(channel->releases < UINT32_MAX && channel_ok(channel));
    channel->releases++;
}

/* The message of our release comes before the answer to that release, or after.
 */
static void expect_echo(struct hf_channel *channel, bool is_heard_by_us)
{
    if (is_heard_by_us && channel->early_notifications > 0)
        channel->early_notifications--;
    else if (is_heard_by_us)
        channel->echoes++;
    if (channel->releases == 0)
        channel->early_notifications =
            0; /* of others: before or after our release, unknown */
}

static void owe_turns(struct hf_channel *channel, uint32_t others)
{
    uint32_t spent;

    channel->unused_turns = channel->turns > 0 ? 0 : channel->unused_turns + (others > 0);
    channel->turns = 0;
    channel->other_listeners = others;
    channel->owed = (uint32_t)hf_min_ms(others, FEW_LISTENERS_MAX);
    spent = (uint32_t)hf_min_ms(channel->owed, channel->credit);
    HF_ASSERT(spent <= channel->owed && spent <= channel->credit);
    channel->owed -= spent;
    channel->credit -= spent;
    if (channel->unused_turns > TURNS_UNUSED_MAX && channel->unused_turns % UNUSED_BEAT != 0)
        channel->owed = 0;
}

/* The message with the number decides, if this client hears it: it comes before the reply, or
 * after. */
static void released_to(struct hf_channel *channel, int64_t now_ms, int64_t heard)
{
    set_listeners(channel, heard > FEW_LISTENERS_MAX, heard);
    if (heard <= FEW_LISTENERS_MAX)
        channel->listeners_from_ms = now_ms + LISTENERS_RECOUNT_MS;
}

void hf_channel_own_release_ended(struct hf_channel *channel, int64_t now_ms,
                                  int64_t heard, bool is_heard_by_us)
{
    HF_ASSERT(channel->releases > 0);
    channel->releases--;
    expect_echo(channel, heard > 0 && is_heard_by_us);
    HF_ASSERT(channel_ok(channel));
    if (heard < 0)
        return;
    channel->turn_ms = now_ms;
    if (heard <= FEW_LISTENERS_MAX || !is_heard_by_us)
        released_to(channel, now_ms, heard);
    owe_turns(channel, (uint32_t)hf_max_ms(heard - is_heard_by_us, 0));
    HF_ASSERT(channel_ok(channel));
}

/* ---- pushes ---- */

/* PUSHED-4 */
static int64_t push_spread_ms(const struct hf_channel *channel, bool is_shared)
{
    return is_shared ? hf_min_ms(channel->listeners, CROWD_SPREAD_MS) : FEW_LISTENERS_MAX;
}

/* The lot is a fraction of 2^32. */
bool hf_channel_tracks_acquires(const struct hf_channel *channel, bool is_shared)
{
    return is_shared || channel->listeners <= FEW_LISTENERS_MAX ||
           (uint64_t)channel->lottery_number * channel->listeners >> 32 < FEW_LISTENERS_MAX;
}

/* A channel that is not listened to has no dice. */
void hf_channel_pushed(struct hf_channel *channel, int64_t now_ms, bool is_shared)
{
    int64_t at_ms = hf_max_ms(hf_channel_turn_ms(channel, now_ms), now_ms);
    HF_ASSERT(channel_ok(channel));
    if (channel->is_pushed)
        return;
    if (channel->listeners > FEW_LISTENERS_MAX && channel->random_state != 0)
        at_ms = hf_max_ms(at_ms,
                          now_ms + draw_number_below(channel, push_spread_ms(channel, is_shared)));
    channel->is_pushed = true;
    channel->push_ms = hf_max_ms(at_ms, channel->push_from_ms);
}

bool hf_channel_use_push(struct hf_channel *channel, int64_t now_ms)
{
    if (!channel->is_pushed || now_ms < channel->push_ms)
        return false;
    channel->is_push_late = channel->push_ms == channel->push_from_ms;
    return true;
}

/* A push that had to wait for the end of a pause followed another one. */
void hf_channel_push_failed(struct hf_channel *channel, int64_t now_ms)
{
    channel->push_pause_ms = channel->is_push_late
                                 ? hf_min_ms(2 * channel->push_pause_ms, PUSH_PAUSE_MAX_MS)
                                 : PUSH_PAUSE_MS;
    channel->push_from_ms = now_ms + channel->push_pause_ms;
    if (channel->random_state != 0)
        channel->push_from_ms += draw_number_below(channel, channel->push_pause_ms / 2 + 1);
    channel->push_ms = hf_max_ms(channel->push_ms, channel->push_from_ms);
    HF_ASSERT(channel_ok(channel));
}

/* ---- how many listen ---- */

bool hf_channel_must_count_listeners(const struct hf_channel *channel, int64_t now_ms)
{
    return now_ms >= channel->listeners_from_ms;
}

void hf_channel_registered(struct hf_channel *channel, bool is_registered)
{
    channel->is_registered = is_registered;
    if (is_registered)
        channel->listeners_from_ms = 0;
}

/* The second number is 0 if the registration was confirmed after the request had been sent. */
void hf_channel_listeners_counted(struct hf_channel *channel, int64_t now_ms, int64_t all,
                                  int64_t registered)
{
    bool is_many = all > FEW_LISTENERS_MAX;

    HF_ASSERT(all >= 0);
    channel->is_few = channel->is_live && !is_many;
    set_listeners(channel, is_many,
                  is_many && channel->is_registered && registered > 0 ? registered : all);
    channel->listeners_from_ms = now_ms + LISTENERS_RECOUNT_MS;
    HF_ASSERT(channel_ok(channel));
}

void hf_channel_listeners_not_counted(struct hf_channel *channel, int64_t now_ms, bool is_denied)
{
    if (is_denied)
        channel->listeners = 0;
    channel->listeners_from_ms = now_ms + (is_denied ? LISTENERS_DENIED_MS : LISTENERS_RETRY_MS);
}
