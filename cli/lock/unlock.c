/* `holdfast unlock`: frees a lock that another process holds. */
/* Tests: tests/live/cli/test_run_status.c, tests/live/cli/test_unlock_queue.c. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/common.h"
#include "cli/base/json.h"
#include "cli/base/label.h"
#include "cli/base/lock_words.h"
#include "cli/base/report.h"
#include "cli/base/value_string.h"
#include "cli/lock/inspect_any.h"
#include "cli/lock/person.h"
#include "cli/lock/queue.h"

enum { OWNER = 1, FORCE, YES, QUEUE };

static const struct cli_option own_options[] = {
    {OWNER, 0, "owner", "OWNER"},
    {FORCE, 0, "force", NULL},
    {YES, 'y', "yes", NULL},
    {QUEUE, 0, "queue", NULL},
    {0},
};

struct unlock_lock {
    const struct cli_common *common;
    const char *name;
    const char *owner;          /* NULL: --force */
    size_t owner_len;           /* it may contain NUL */
    bool is_forced;
    bool is_confirmed;
    bool is_queue;              /* places in its queue, not the lock */
    struct hf_lock *lock;
    struct hf_lock_info info;   /* as last inspected */
    char quoted[CLI_QUOTE_MAX]; /* the name, for messages */
};

/* ---- saying how it went ---- */

static int print_json(const struct unlock_lock *u, bool is_released,
                      const char *owner, size_t len)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_choose_escaping(&j, u->name, strlen(u->name));
    cli_json_choose_escaping(&j, owner, len);
    cli_json_text(&j, "name", u->name);
    cli_json_bool(&j, "released", is_released);
    if (len > 0)
        cli_json_bytes(&j, "owner", owner, len);
    return cli_json_print(&j);
}

#define WHY_MAX (CLI_PLACES_MAX + 100)

static const char *reason_not_unlocked(const struct unlock_lock *u, char dst[WHY_MAX])
{
    char places[CLI_PLACES_MAX];

    if (cli_lock_is_counter(&u->info))
        return "it is a number of permits, or a counter";
    if (u->info.is_locked && u->info.kind == HF_KIND_PERMIT)
        return "that owner has no permit of it";
    if (u->info.is_locked || u->info.waiters <= 0)
        return "it is free";
    (void)snprintf(dst, WHY_MAX,
                   "it is free, but %s; --queue --force removes dead waiters",
                   cli_places_text(places, &u->info));
    return dst;
}

/* `owner` is the former or present holder; len 0: no holder is known. Returns the
 * exit code. */
static int report_outcome(const struct unlock_lock *u, bool is_released,
                          const char *owner, size_t len)
{
    char holder[CLI_QUOTE_MAX], why[WHY_MAX];
    int code = is_released ? CLI_EXIT_OK : CLI_EXIT_NO;
    int rc;

    (void)cli_quote(holder, owner, len);
    if (u->common->is_json)
        return (rc = print_json(u, is_released, owner, len)) == CLI_CONTINUE
                   ? code
                   : rc;
    if (is_released && !u->common->is_quiet)
        (void)printf("%s: released; it was held by %s\n", u->quoted, holder);
    else if (!is_released && len > 0)
        cli_warn("%s is not released: it is held by %s", u->quoted, holder);
    else if (!is_released)
        cli_warn("%s is not released: %s", u->quoted, reason_not_unlocked(u, why));
    return code;
}

/* ---- releasing ---- */

/* The lock was not released: reports the holder. hf_lock_inspect cuts a text after 191
 * bytes, so an owner that is equal to a cut text is not the holder. */
static int report_holder(struct unlock_lock *u, const char *tried, size_t len)
{
    struct hf_lock_info *info = &u->info;
    struct hf_error err = {0};
    hf_status status;

    if (cli_lock_is_counter(info))
        return report_outcome(u, false, "", 0);
    status = hf_lock_inspect(u->lock, info, &err);
    if (status < 0)
        return cli_fail_status(status, &err);
    if (info->kind == HF_KIND_VALUE && info->holder_full_len > info->holder_len &&
        info->holder_len == len && memcmp(info->holder, tried, len) == 0)
        return cli_fail("%s is a string of more than %zu bytes, which is perhaps not a "
                        "lock; nothing is changed", u->quoted, info->holder_len);
    return report_outcome(u, false, info->holder,
                          info->is_locked ? info->holder_len : 0);
}

/* Compares and deletes in one step, so that a new holder keeps it. */
static int release_lock_of_owner(struct unlock_lock *u, const char *owner, size_t len)
{
    struct hf_error err = {0};
    hf_status status =
        hf_lock_force_release(u->lock, owner, len, &err);

    if (status == HF_NOT_OWNER)
        return report_holder(u, owner, len);
    if (status < 0)
        return cli_fail_status(status, &err);
    return report_outcome(u, true, owner, len);
}

/* ---- by force ---- */

/* The library also refuses the rest, but no confirmation is requested for a release
 * that would be refused. */
static bool is_foreign_string(const struct hf_lock_info *info)
{
    int64_t number;

    return info->kind == HF_KIND_VALUE &&
           cli_string_classify(info->holder, info->holder_full_len, info->ttl_ms,
                               &number) != CLI_STRING_LOCK;
}

static bool can_unlock(const struct hf_lock_info *info)
{
    return info->kind != HF_KIND_MULTI && info->kind != HF_KIND_PERMIT &&
           !is_foreign_string(info) && info->holders == 1;
}

static int refuse_to_unlock(const struct unlock_lock *u, const struct hf_lock_info *info)
{
    if (info->kind == HF_KIND_PERMIT)
        return cli_fail("%s is a semaphore: a permit becomes free when its holder "
                        "releases it or its lease expires; nothing is changed",
                        u->quoted);
    if (is_foreign_string(info))
        return cli_fail("%s is a string without a TTL, which is perhaps not a lock; "
                        "nothing is changed. Use --owner with its text to release it",
                        u->quoted);
    if (info->kind != HF_KIND_MULTI)
        return cli_fail("%s has %lld holders; unlock needs a lock with exactly one "
                        "holder; nothing is changed. 'release' releases one hold by "
                        "its handle; the others end when their holders release them or "
                        "stop renewing them",
                        u->quoted, (long long)info->holders);
    return cli_fail("%s is a %s, which only its own kind can release; nothing "
                    "is changed", u->quoted, hf_lock_kind_text(info->kind));
}

static bool ask_person_to_confirm(const struct unlock_lock *u, struct hf_client *client,
                                  const struct hf_lock_info *info)
{
    char holder[CLI_QUOTE_MAX], label[HF_LABEL_MAX + 1], ttl[CLI_DURATION_TEXT_MAX];

    cli_label_read(client, info, label);
    (void)fprintf(stderr,
                  "%s is held by %s%s%s%s, hold count %lld, TTL %s.\n"
                  "The holder's work is not stopped. Release the lock? [y/N] ",
                  u->quoted,
                  cli_quote(holder, info->holder, info->holder_len), *label ? " (" : "",
                  label, *label ? ")" : "", (long long)info->hold_count,
                  info->ttl_ms >= 0 ? cli_duration_text(ttl, info->ttl_ms) : "none");
    return cli_person_says_yes();
}

/* The form of an owner, and of none that exists: a lock that another acquires
 * meanwhile is left alone. */
#define NO_OWNER "00000000-0000-0000-0000-000000000000:0"

/* For a free lock, the script of a forced release shortens places that are valid for
 * longer than a waiter may request, and wakes the first waiter. */
static int repair_queue(struct unlock_lock *u, struct hf_client *client)
{
    struct hf_error err = {0};
    struct hf_lock *fair;
    int rc = cli_lock_open(&fair, client, HF_KIND_FAIR, u->name);
    hf_status status = HF_OK;

    if (rc == CLI_CONTINUE) {
        status = hf_lock_force_release(fair, NO_OWNER, strlen(NO_OWNER), &err);
        if (status == HF_NOT_OWNER)
            status = hf_lock_inspect(fair, &u->info, &err);
    }
    hf_lock_free(fair);
    if (status < 0)
        return cli_fail_status(status, &err);
    return rc == CLI_CONTINUE
               ? report_outcome(u, false, u->info.is_locked ? u->info.holder : "",
                                u->info.is_locked ? u->info.holder_len : 0)
               : rc;
}

/* Releases only the holder that was shown. */
static int release_by_force(struct unlock_lock *u, struct hf_client *client)
{
    const struct hf_lock_info *info = &u->info;
    char holder[sizeof info->holder];

    if (!info->is_locked && info->waiters > 0)
        return repair_queue(u, client);
    if (!info->is_locked)
        return report_outcome(u, false, "", 0);
    if (!can_unlock(info))
        return refuse_to_unlock(u, info);
    if (!u->is_confirmed && !ask_person_to_confirm(u, client, info))
        return report_outcome(u, false, info->holder, info->holder_len);
    memcpy(holder, info->holder, info->holder_len);
    return release_lock_of_owner(u, holder, info->holder_len);
}

/* ---- the subcommand ---- */

static int unlock_queue(const struct unlock_lock *u, struct hf_client *client)
{
    const struct cli_queue_plan plan = {.common = u->common,
                                        .name = u->name,
                                        .quoted = u->quoted,
                                        .owner = u->owner,
                                        .is_forced = u->is_forced,
                                        .is_confirmed = u->is_confirmed};

    return cli_queue_clear(&plan, client);
}

static int unlock_inspected_lock(struct unlock_lock *u, struct hf_client *client)
{
    if (cli_lock_is_counter(&u->info))
        return report_outcome(u, false, "", 0);
    return u->owner ? release_lock_of_owner(u, u->owner, u->owner_len)
           : release_by_force(u, client);
}

static int unlock_connected(struct unlock_lock *u, struct hf_client *client)
{
    int rc;

    if (u->is_queue)
        return unlock_queue(u, client);
    rc = cli_lock_open(&u->lock, client, HF_KIND_PLAIN, u->name);
    if (rc == CLI_CONTINUE)
        rc = cli_inspect_any_or_report(&u->lock, client, u->name, &u->info);
    if (rc == CLI_CONTINUE)
        rc = unlock_inspected_lock(u, client);
    hf_lock_free(u->lock);
    return rc;
}

static int open_client_and_unlock(struct unlock_lock *u)
{
    struct hf_client *client;
    int rc = cli_client_open_no_retry(&client, u->common);

    if (rc == CLI_CONTINUE)
        rc = unlock_connected(u, client);
    hf_client_free(client);
    return rc;
}

/* Returns the byte of "\xHH"; -1 if it is not such an escape. */
static int escaped_byte_at(const char *at)
{
    char digits[3] = "";

    if (at[0] != '\\' || at[1] != 'x' || !isxdigit((unsigned char)at[2]) ||
        !isxdigit((unsigned char)at[3]))
        return -1;
    return (int)strtoul(memcpy(digits, at + 2, 2), NULL, 16);
}

/* Decodes an owner in the form of `status`, in place. Returns its length. */
static size_t decode_owner_in_place(char *text)
{
    char *to = text;
    int byte;

    for (const char *at = text; *at; at += byte >= 0 ? 4 : 1) {
        byte = escaped_byte_at(at);
        *to++ = byte >= 0 ? (char)byte : *at;
    }
    *to = '\0';
    return (size_t)(to - text);
}

static int take_option(void *ctx, const struct cli_args *args, int id,
                       char *value)
{
    struct unlock_lock *u = ctx;

    switch (id) {
    case CLI_ARGS_WORD:
        if (u->name)
            return cli_usage(args, "unexpected argument '%s': only one NAME", value);
        u->name = value;
        break;
    case OWNER:
        u->owner_len = decode_owner_in_place(value);
        u->owner = value;
        break;
    case FORCE:
        u->is_forced = true;
        break;
    case YES:
        u->is_confirmed = true;
        break;
    case QUEUE:
        u->is_queue = true;
        break;
    }
    return CLI_CONTINUE;
}

static int check_options(const struct unlock_lock *u, const struct cli_args *args)
{
    if (!u->name)
        return cli_usage(args, "NAME is required");
    if (u->is_queue ? u->owner && u->is_forced : !u->owner == !u->is_forced)
        return cli_usage(args, "give either --owner OWNER, as 'holdfast status' shows "
                               "it, or --force");
    if (u->is_forced && !u->is_confirmed && !cli_person_can_answer())
        return cli_usage(args, "--force requires a confirmation, but there is no "
                               "terminal; add -y to skip it");
    return CLI_CONTINUE;
}

static int main_unlock(struct cli_args *args, struct cli_common *common)
{
    struct unlock_lock u = {.common = common};
    int rc = cli_common_parse(common, args, own_options, take_option, &u);

    if (rc == CLI_CONTINUE)
        rc = check_options(&u, args);
    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    if (rc != CLI_CONTINUE)
        return rc;
    (void)cli_quote(u.quoted, u.name, strlen(u.name));
    return open_client_and_unlock(&u);
}

const struct cli_command cli_unlock_command = {
    .name = "unlock",
    .summary = "release a lock that another process holds",
    .help =
        "usage: holdfast unlock [option]... NAME --owner OWNER\n"
        "       holdfast unlock [option]... NAME --force [-y]\n"
        "       holdfast unlock [option]... NAME --queue [--owner OWNER | --force [-y]]\n"
        "\n"
        "Releases a lock that has exactly one holder, of any kind that 'run' takes,\n"
        "and wakes the waiters. The holder's work is not stopped; the holder notices\n"
        "the loss at its next renewal. Locks with several holders, multi-locks in\n"
        "one hash, and keys that are not locks are not changed.\n"
        "With --queue: shows the wait queue of a fair lock. --force removes the\n"
        "places of waiters that do not listen (dead waiters), --owner removes the\n"
        "place of one waiter. A live waiter then queues again, at the end. The\n"
        "holder is not affected.\n"
        "Exit code: 0 released, places removed, or queue empty; 1 lock free or held\n"
        "by another, or no place removed; 125 error.\n"
        "\n"
        "  --owner OWNER        release only if OWNER, as shown by 'status', holds it\n"
        "  --force              release the lock regardless of its holder; shows the\n"
        "                       owner and requires confirmation\n"
        "  --queue              show or change the wait queue, not the lock\n"
        "  -y, --yes            skip the confirmation\n"
        "\n" CLI_COMMON_HELP,
    .main = main_unlock,
};
