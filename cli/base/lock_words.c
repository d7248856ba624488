/* A lock as programs read it. */
/* Tests: tests/live/cli/test_run_status.c, tests/live/cli/test_watch.c. */
#include "cli/base/lock_words.h"

#include <stdio.h>
#include <time.h>

#include "cli/base/report.h"

const char *cli_kind_word(enum hf_lock_kind kind)
{
    static const char *const words[] = {[HF_KIND_NONE] = "none",
                                        [HF_KIND_PLAIN] = "plain",
                                        [HF_KIND_FAIR] = "fair",
                                        [HF_KIND_READ] = "read",
                                        [HF_KIND_WRITE] = "write",
                                        [HF_KIND_MULTI] = "multi",
                                        [HF_KIND_PERMIT] = "permit",
                                        [HF_KIND_VALUE] = "value"};

    return words[kind];
}

bool cli_lock_is_counter(const struct hf_lock_info *info)
{
    return !info->is_locked && info->kind == HF_KIND_PERMIT;
}

const char *cli_lock_word(const struct hf_lock_info *info)
{
    return cli_lock_is_counter(info) ? CLI_COUNTER_WORD : cli_kind_word(info->kind);
}

/* ---- a queue ---- */

/* In UTC; the server's clock is not read. */
static void write_end_time(char *dst, size_t room, int64_t left_ms)
{
    char span[CLI_DURATION_TEXT_MAX];
    time_t ends = time(NULL) + (time_t)(left_ms / 1000);
    struct tm utc;
    size_t len = 0;

    if (left_ms <= 0) {
        (void)snprintf(dst, room, "%s", left_ms < 0 ? "an unknown time"
                                                    : "the next request");
        return;
    }
    if (gmtime_r(&ends, &utc))
        len = strftime(dst, room, "%Y-%m-%dT%H:%M:%SZ, ", &utc);
    (void)snprintf(dst + len, room - len, "%s from now", cli_duration_text(span, left_ms));
}

char *cli_places_text(char dst[CLI_PLACES_MAX], const struct hf_lock_info *info)
{
    char waiter[CLI_QUOTE_MAX], until[CLI_DURATION_TEXT_MAX + 60];

    write_end_time(until, sizeof until, info->first_place_ms);
    (void)snprintf(dst, CLI_PLACES_MAX, "%lld waiter%s queued, the first until %s (%s)",
                   (long long)info->waiters, info->waiters == 1 ? " is" : "s are",
                   until,
                   cli_quote(waiter, info->first_waiter, info->first_waiter_len));
    return dst;
}

void cli_places_put(struct cli_json *j, const struct hf_lock_info *info)
{
    if (info->waiters < 0)
        cli_json_text(j, "unseen", "waiters");
    if (info->waiters <= 0)
        return;
    cli_json_integer(j, "waiters", info->waiters);
    if (info->is_locked || info->first_place_ms < 0)
        return;
    cli_json_text(j, "kind", cli_kind_word(HF_KIND_FAIR));
    cli_json_bytes(j, "first_waiter", info->first_waiter, info->first_waiter_len);
    cli_json_integer(j, "first_place_ms", info->first_place_ms);
}

/* ---- JSON ---- */

/* It comes first, for people. */
void cli_lock_put_name(struct cli_json *j, const struct cli_lock *lock)
{
    cli_json_choose_escaping(j, lock->name, lock->name_len);
    cli_json_choose_escaping(j, lock->info.holder, lock->info.holder_len);
    cli_json_choose_escaping(j, lock->info.first_waiter, lock->info.first_waiter_len);
    cli_json_bytes(j, "name", lock->name, lock->name_len);
}

void cli_lock_put_holder(struct cli_json *j, const struct cli_lock *lock)
{
    const struct hf_lock_info *info = &lock->info;
    bool is_permit = info->kind == HF_KIND_PERMIT; /* the holder is unknown */

    if (!info->is_locked)
        return;
    cli_json_text(j, "kind", cli_kind_word(info->kind));
    if (!is_permit)
        cli_json_bytes(j, "owner", info->holder, info->holder_len);
    if (lock->label[0])
        cli_json_text(j, "label", lock->label);
    cli_json_integer(j, "holders", info->holders);
    if (!is_permit)
        cli_json_integer(j, "hold_count", info->hold_count);
    cli_json_integer(j, "ttl_ms", info->ttl_ms);
    if (lock->knows_available)
        cli_json_integer(j, "available", lock->available);
}

int cli_lock_json(const struct cli_lock *lock)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_lock_put_name(&j, lock);
    if (lock->server_address)
        cli_json_text(&j, "server", lock->server_address);
    cli_json_bool(&j, "held", lock->info.is_locked);
    cli_lock_put_holder(&j, lock);
    cli_places_put(&j, &lock->info);
    if (cli_lock_is_counter(&lock->info)) {
        cli_json_text(&j, "kind", CLI_COUNTER_WORD);
        cli_json_integer(&j, "count", lock->info.hold_count);
    }
    if (lock->knows_listeners)
        cli_json_integer(&j, "listeners", lock->listeners);
    return cli_json_print(&j);
}
