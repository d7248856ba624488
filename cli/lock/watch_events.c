/* The events of a lock between two polls.
 *
 * A poll returns the remaining lease, so the lease ends between (time of the request + that) and
 * (time of the reply + that). Two ends differ only if these intervals do not overlap: a slow
 * reply is not a renewal. */
/* Tests: tests/test_cli_watch.c. */
#include "cli/lock/watch_events.h"

#include <string.h>

/* The server's milliseconds and ours are not cut at the same moment. */
#define ROUNDING_MS 2

const char *cli_watch_word(enum cli_watch_event event)
{
    static const char *const words[] = {
        [CLI_WATCH_FREE] = "free",           [CLI_WATCH_HELD] = "held",
        [CLI_WATCH_RELEASED] = "released",   [CLI_WATCH_EXPIRED] = "expired",
        [CLI_WATCH_ACQUIRED] = "acquired",   [CLI_WATCH_JOINED] = "joined",
        [CLI_WATCH_LEFT] = "left",           [CLI_WATCH_REENTERED] = "reentered",
        [CLI_WATCH_PARTLY_RELEASED] = "partly_released",     [CLI_WATCH_RENEWED] = "renewed",
        [CLI_WATCH_SHORTENED] = "shortened"};

    return words[event];
}

bool cli_watch_is_of_earlier_hold(enum cli_watch_event event)
{
    return event == CLI_WATCH_RELEASED || event == CLI_WATCH_EXPIRED;
}

/* ---- when the lease ends ---- */

static bool has_ttl(const struct cli_snapshot *look)
{
    return look->info.ttl_ms >= 0;
}

/* A TTL may be any number, and is added to a clock. The bound is one that no server can
 * reach: a lease beyond it would look renewed at each look. */
static int64_t bounded_ttl_ms(const struct cli_snapshot *look)
{
    return look->info.ttl_ms < INT64_MAX / 2 ? look->info.ttl_ms : INT64_MAX / 2;
}

static int64_t earliest_end_ms(const struct cli_snapshot *look)
{
    return look->sent_ms + bounded_ttl_ms(look) - ROUNDING_MS;
}

static int64_t latest_possible_end_ms(const struct cli_snapshot *look)
{
    return look->answered_ms + bounded_ttl_ms(look) + ROUNDING_MS;
}

static bool ends_later(const struct cli_snapshot *a, const struct cli_snapshot *b)
{
    return has_ttl(b) &&
           (!has_ttl(a) || earliest_end_ms(a) > latest_possible_end_ms(b));
}

int64_t cli_watch_lease_end_ms(const struct cli_snapshot *look)
{
    return look->info.is_locked && has_ttl(look) ? earliest_end_ms(look) : HF_NEVER;
}

/* ---- one hold or another ---- */

static bool may_have_several_holders(const struct hf_lock_info *info)
{
    return info->kind == HF_KIND_READ || info->kind == HF_KIND_PERMIT;
}

/* A fair lock without waiters looks like a plain lock. */
static bool is_same_kind(const struct hf_lock_info *a,
                         const struct hf_lock_info *b)
{
    enum hf_lock_kind fair = HF_KIND_FAIR, plain = HF_KIND_PLAIN;

    return (a->kind == fair ? plain : a->kind) ==
           (b->kind == fair ? plain : b->kind);
}

static bool is_same_hold(const struct hf_lock_info *a,
                         const struct hf_lock_info *b)
{
    if (!a->is_locked || !b->is_locked || !is_same_kind(a, b))
        return false;
    return may_have_several_holders(a) || (a->holder_len == b->holder_len &&
                                           memcmp(a->holder, b->holder, a->holder_len) == 0);
}

/* How the hold that was seen before has ended. */
static enum cli_watch_event end_event_of_hold(const struct cli_snapshot *before,
                                              const struct cli_snapshot *now)
{
    return has_ttl(before) && now->answered_ms >= earliest_end_ms(before)
               ? CLI_WATCH_EXPIRED
               : CLI_WATCH_RELEASED;
}

static size_t change_of_lease(enum cli_watch_event *out,
                              const struct cli_snapshot *before,
                              const struct cli_snapshot *now)
{
    if (ends_later(now, before))
        *out = CLI_WATCH_RENEWED;
    else if (ends_later(before, now))
        *out = CLI_WATCH_SHORTENED;
    else
        return 0;
    return 1;
}

static size_t change_of_hold(enum cli_watch_event *out,
                             const struct cli_snapshot *before,
                             const struct cli_snapshot *now)
{
    const struct hf_lock_info *a = &before->info, *b = &now->info;

    if (may_have_several_holders(a) && a->holders != b->holders)
        *out = b->holders > a->holders ? CLI_WATCH_JOINED : CLI_WATCH_LEFT;
    else if (!may_have_several_holders(a) && a->hold_count != b->hold_count)
        *out = b->hold_count > a->hold_count ? CLI_WATCH_REENTERED
                                             : CLI_WATCH_PARTLY_RELEASED;
    else
        return change_of_lease(out, before, now);
    return 1;
}

size_t cli_watch_compare(enum cli_watch_event out[CLI_WATCH_EVENTS_MAX],
                         const struct cli_snapshot *before,
                         const struct cli_snapshot *now)
{
    size_t count = 0;

    if (before->is_first) {
        out[0] = now->info.is_locked ? CLI_WATCH_HELD : CLI_WATCH_FREE;
        return 1;
    }
    if (is_same_hold(&before->info, &now->info))
        return change_of_hold(out, before, now);
    if (before->info.is_locked)
        out[count++] = end_event_of_hold(before, now);
    if (now->info.is_locked)
        out[count++] = CLI_WATCH_ACQUIRED;
    return count;
}
