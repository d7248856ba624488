/* `holdfast status`: who holds locks. */
/* Tests: tests/live/cli/test_run_status.c. */
#include <stdio.h>
#include <string.h>

#include "cli/base/common.h"
#include "cli/base/label.h"
#include "cli/base/lock_words.h"
#include "cli/base/report.h"
#include "cli/lock/inspect_any.h"
#include "lock/permits.h"

/* ---- one lock ---- */

/* Inspects the lock and, for a semaphore, reads the number of available permits. */
static int inspect_lock_and_permits(struct hf_lock **lock, struct hf_client *client,
                                    struct cli_lock *out)
{
    struct hf_error err = {0};
    int rc = cli_inspect_any_or_report(lock, client, out->name, &out->info);
    hf_status status;

    if (rc != CLI_CONTINUE || !out->info.is_locked ||
        out->info.kind != HF_KIND_PERMIT)
        return rc;
    status = hf_permits_available(*lock, &out->available, &err);
    out->knows_available = status == HF_OK;
    return status < 0 ? cli_fail_status(status, &err) : CLI_CONTINUE;
}

/* A multi-lock counts each value, others no re-entries. */
static bool has_hold_count(const struct hf_lock_info *info)
{
    return info->kind != HF_KIND_MULTI && info->kind != HF_KIND_VALUE;
}

static void print_holder(const struct cli_lock *lock)
{
    const struct hf_lock_info *info = &lock->info;
    char holder[CLI_QUOTE_MAX];
    bool is_plain = info->kind == HF_KIND_PLAIN;

    (void)printf("%s%sheld by %s",
                 is_plain ? "" : hf_lock_kind_text(info->kind),
                 is_plain ? "" : " ",
                 cli_quote(holder, info->holder, info->holder_len));
    if (lock->label[0])
        (void)printf(" (%s)", lock->label);
    if (info->holders > 1)
        (void)printf(" and %lld more", (long long)info->holders - 1);
    if (has_hold_count(info))
        (void)printf(", hold count %lld", (long long)info->hold_count);
}

static void print_unreadable_queue(const struct hf_lock_info *info)
{
    if (info->waiters < 0)
        (void)fputs(", its wait queue cannot be read (ACL, or another type of key)",
                    stdout);
}

static void print_free(const struct hf_lock_info *info)
{
    char places[CLI_PLACES_MAX];

    if (cli_lock_is_counter(info))
        (void)printf("a number of permits, or a counter: %lld\n",
                     (long long)info->hold_count);
    else if (info->waiters > 0 && info->first_place_ms >= 0)
        (void)printf("free, but %s\n", cli_places_text(places, info));
    else if (info->waiters > 0)
        (void)printf("free, waiters in its queue: %lld\n", (long long)info->waiters);
    else {
        (void)fputs("free", stdout);
        print_unreadable_queue(info);
        (void)putchar('\n');
    }
}

static void print_held(const struct cli_lock *lock)
{
    const struct hf_lock_info *info = &lock->info;
    char ttl[CLI_DURATION_TEXT_MAX];

    if (info->kind == HF_KIND_PERMIT)
        (void)printf("permits in use: %lld, available: %lld",
                     (long long)info->holders, (long long)lock->available);
    else
        print_holder(lock);
    if (info->waiters > 0)
        (void)printf(", waiters in its queue: %lld", (long long)info->waiters);
    print_unreadable_queue(info);
    if (info->ttl_ms >= 0)
        (void)printf(", TTL %s\n", cli_duration_text(ttl, info->ttl_ms));
    else if (info->kind == HF_KIND_VALUE)
        (void)puts(", no TTL: perhaps not a lock; 'unlock --owner' releases it");
    else
        (void)puts(", no TTL: it stays until it is released");
}

static void print_text(const struct cli_lock *lock)
{
    char quoted[CLI_QUOTE_MAX];

    if (lock->server_address)
        (void)printf("%s: ", lock->server_address);
    (void)printf("%s: ", cli_quote(quoted, lock->name, lock->name_len));
    if (lock->info.is_locked)
        print_held(lock);
    else
        print_free(&lock->info);
}

/* `server`: NULL if there is one. */
static int print_lock(const struct cli_common *common,
                      struct hf_client *client, struct hf_lock **lock,
                      const char *name, const char *server)
{
    struct cli_lock found = {.name = name, .name_len = strlen(name), .server_address = server};
    int rc = inspect_lock_and_permits(lock, client, &found);

    if (rc == CLI_CONTINUE && !common->is_quiet)
        cli_label_read(client, &found.info, found.label);
    if (rc == CLI_CONTINUE && common->is_json)
        rc = cli_lock_json(&found);
    else if (rc == CLI_CONTINUE && !common->is_quiet)
        print_text(&found);
    if (rc != CLI_CONTINUE)
        return rc;
    return found.info.is_locked ? CLI_EXIT_OK : CLI_EXIT_NO;
}

/* ---- all ---- */

/* An error takes precedence over a free lock, and a free lock over a held one. */
static int worse_exit_code(int a, int b)
{
    return a > b ? a : b;
}

/* Sets *is_unreachable if the server cannot be reached, and leaves it as it was otherwise. */
static int open_and_print_lock(const struct cli_common *common, struct hf_client *client,
                               const char *name, const char *server, bool *is_unreachable)
{
    struct hf_lock *lock = NULL;
    int rc = cli_lock_open(&lock, client, HF_KIND_PLAIN, name);

    if (rc == CLI_CONTINUE)
        rc = print_lock(common, client, &lock, name, server);
    else if (lock)
        *is_unreachable = true;
    hf_lock_free(lock);
    return rc;
}

/* All locks are on one server, except in a cluster: if it cannot be reached for one
 * lock, no request is sent for the others. */
static int print_locks(const struct cli_common *common,
                       struct hf_client *client, char *const *names)
{
    bool is_unreachable = false;
    int code = CLI_EXIT_OK;

    for (; *names && (!is_unreachable || cli_common_is_cluster(common)); names++) {
        int rc = open_and_print_lock(common, client, *names, NULL, &is_unreachable);

        code = worse_exit_code(code, rc);
    }
    return code;
}

static int open_client_and_print_locks(const struct cli_common *common, char *const *names)
{
    struct hf_client *client;
    int rc = cli_client_open_no_retry(&client, common);

    if (rc == CLI_CONTINUE)
        rc = print_locks(common, client, names);
    hf_client_free(client);
    return rc;
}

/* ---- several servers: the members of a quorum ---- */

struct quorum_client {
    struct hf_client *client;
    bool is_unreachable;        /* no further request is sent to it */
};

/* A quorum is held while it is held on a majority; whether by one owner, its members do not show:
 * an owner has another name on each server. */
struct quorum_votes {
    size_t servers, held, unknown;
};

static size_t votes_needed(const struct quorum_votes *v)
{
    return v->servers / 2 + 1;
}

static bool is_held_by_majority(const struct quorum_votes *v)
{
    return v->held >= votes_needed(v);
}

static bool is_result_known(const struct quorum_votes *v)
{
    return is_held_by_majority(v) || v->held + v->unknown < votes_needed(v);
}

static int print_votes_json(const struct quorum_votes *v, const char *name)
{
    struct cli_lock lock = {.name = name, .name_len = strlen(name)};
    struct cli_json j;

    cli_json_init(&j);
    cli_lock_put_name(&j, &lock);
    cli_json_integer(&j, "servers", (int64_t)v->servers);
    cli_json_integer(&j, "held_on", (int64_t)v->held);
    cli_json_integer(&j, "unknown_on", (int64_t)v->unknown);
    if (is_result_known(v))
        cli_json_bool(&j, "majority", is_held_by_majority(v));
    return cli_json_print(&j);
}

static void print_votes_text(const struct quorum_votes *v, const char *name)
{
    char quoted[CLI_QUOTE_MAX];

    (void)printf("%s: held on %zu of %zu servers, ", cli_quote(quoted, name, strlen(name)),
                 v->held, v->servers);
    if (v->unknown > 0)
        (void)printf("unknown on %zu, ", v->unknown);
    (void)puts(is_held_by_majority(v)    ? "a majority"
               : is_result_known(v) ? "not a majority"
                             : "so a majority may be held");
}

static int print_votes(const struct cli_common *common, const struct quorum_votes *v,
                       const char *name)
{
    int rc = CLI_CONTINUE;

    if (common->is_json)
        rc = print_votes_json(v, name);
    else if (!common->is_quiet)
        print_votes_text(v, name);
    if (rc != CLI_CONTINUE)
        return rc;
    return !is_result_known(v) ? CLI_EXIT_ERROR : is_held_by_majority(v) ? CLI_EXIT_OK
           : CLI_EXIT_NO;
}

static int print_lock_of_quorum(const struct cli_common *common, struct quorum_client *members,
                                const char *name)
{
    struct quorum_votes v = {.servers = common->urls_count};

    for (size_t i = 0; i < v.servers; i++) {
        struct quorum_client *m = &members[i];
        int rc = m->is_unreachable ? CLI_EXIT_ERROR
                                   : open_and_print_lock(common, m->client, name,
                                                         hf_client_address(m->client),
                                                         &m->is_unreachable);

        v.held += rc == CLI_EXIT_OK;
        v.unknown += rc != CLI_EXIT_OK && rc != CLI_EXIT_NO;
    }
    return print_votes(common, &v, name);
}

static int open_quorum_clients(const struct cli_common *common, struct quorum_client *members)
{
    int rc = CLI_CONTINUE;

    for (size_t i = 0; rc == CLI_CONTINUE && i < common->urls_count; i++) {
        struct hf_client_options options;

        hf_client_options_init(&options);
        options.thread = false;
        options.connect_once = true;
        rc = cli_client_open_at(&members[i].client, common, i, &options);
    }
    return rc;
}

static int print_locks_of_quorum(const struct cli_common *common, char *const *names)
{
    struct quorum_client members[HF_QUORUM_MAX] = {0};
    int rc = open_quorum_clients(common, members), code = CLI_EXIT_OK;

    for (; rc == CLI_CONTINUE && *names; names++)
        code = worse_exit_code(code, print_lock_of_quorum(common, members, *names));
    for (size_t i = 0; i < common->urls_count; i++)
        hf_client_free(members[i].client);
    return rc == CLI_CONTINUE ? code : rc;
}

static int main_status(struct cli_args *args, struct cli_common *common)
{
    char **names;
    int rc;

    common->takes_several_servers = true;
    rc = cli_common_parse_words(common, args, &names);

    if (rc == CLI_CONTINUE && !*names)
        return cli_usage(args, "NAME is required");
    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    if (rc != CLI_CONTINUE)
        return rc;
    return common->urls_count > 1 ? print_locks_of_quorum(common, names)
           : open_client_and_print_locks(common, names);
}

const struct cli_command cli_status_command = {
    .name = "status",
    .summary = "show the holder and remaining TTL",
    .help =
        "usage: holdfast status [option]... NAME...\n"
        "\n"
        "Shows the owner, its label, the hold count and TTL of each lock, and its\n"
        "kind unless it is a plain lock: fair, read, write, multi, value, permit.\n"
        "With several -u, the servers of a quorum: shows each lock on each server, and\n"
        "whether it is held on a majority.\n"
        "Exit code: 0 all held, 1 at least one free, 125 error. With several -u: 0 all\n"
        "held on a majority, 1 at least one not, 125 error, or not known.\n"
        "\n" CLI_COMMON_HELP,
    .main = main_status,
};
