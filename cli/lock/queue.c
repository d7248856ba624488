/* Shows a fair lock's queue, and removes places of dead waiters. */
/* Tests: tests/live/cli/test_unlock_queue.c. */
#include "cli/lock/queue.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/base/lock_words.h"
#include "cli/base/report.h"
#include "cli/lock/person.h"
#include "lock/queue.h"

struct queue_outcome {
    struct hf_lock_info info_before; /* before */
    int64_t places_removed;          /* -1: nothing was to be removed */
};

/* ---- reporting ---- */

static int print_json(const struct cli_queue_plan *plan, const struct queue_outcome *o)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_choose_escaping(&j, plan->name, strlen(plan->name));
    cli_json_choose_escaping(&j, o->info_before.first_waiter, o->info_before.first_waiter_len);
    cli_json_text(&j, "name", plan->name);
    cli_json_bool(&j, "held", o->info_before.is_locked);
    if (o->info_before.waiters == 0)
        cli_json_integer(&j, "waiters", 0);
    cli_places_put(&j, &o->info_before);
    if (o->places_removed >= 0)
        cli_json_integer(&j, "removed", o->places_removed);
    return cli_json_print(&j);
}

static void print_places(const struct cli_queue_plan *plan, const struct queue_outcome *o)
{
    const char *state = o->info_before.is_locked ? "held" : "free";
    char places[CLI_PLACES_MAX];

    if (o->info_before.waiters < 0)
        (void)printf("%s: %s, its wait queue cannot be read (ACL, or another type of "
                     "key)\n", plan->quoted, state);
    else if (o->info_before.waiters == 0)
        (void)printf("%s: %s, its wait queue is empty\n", plan->quoted, state);
    else
        (void)printf("%s: %s, %s\n", plan->quoted, state,
                     cli_places_text(places, &o->info_before));
}

static void print_removed(const struct cli_queue_plan *plan, const struct queue_outcome *o)
{
    if (o->places_removed > 0)
        (void)printf("%s: places removed from the queue: %lld\n", plan->quoted,
                     (long long)o->places_removed);
    else if (plan->owner)
        cli_warn("%s: that waiter is not in the queue; nothing is changed",
                 plan->quoted);
    else
        cli_warn("%s: all waiters in the queue listen; nothing is changed",
                 plan->quoted);
}

/* Shown only: 0 if there is nothing to remove. */
static int exit_code_of_outcome(const struct queue_outcome *o)
{
    if (o->places_removed < 0)
        return o->info_before.waiters == 0 ? CLI_EXIT_OK : CLI_EXIT_NO;
    return o->places_removed > 0 ? CLI_EXIT_OK : CLI_EXIT_NO;
}

static int report_outcome(const struct cli_queue_plan *plan, const struct queue_outcome *o)
{
    int rc = CLI_CONTINUE;

    if (plan->common->is_json)
        rc = print_json(plan, o);
    else if (o->places_removed >= 0 && (!plan->common->is_quiet || o->places_removed == 0))
        print_removed(plan, o);
    return rc == CLI_CONTINUE ? exit_code_of_outcome(o) : rc;
}

/* ---- removing ---- */

static bool confirm_by_person(void)
{
    (void)fputs("Waiters that listen stay in the queue. Remove the others? [y/N] ",
                stderr);
    return cli_person_says_yes();
}

static int remove_places(const struct cli_queue_plan *plan, struct hf_lock *lock,
                         struct queue_outcome *o)
{
    struct hf_error err = {0};
    hf_status status =
        hf_lock_drop_waiter(lock, plan->owner, plan->owner ? strlen(plan->owner) : 0,
                            &o->places_removed, &err);

    if (status == HF_NOT_OWNER)
        o->places_removed = 0;
    else if (status < 0)
        return cli_fail_status(status, &err);
    return CLI_CONTINUE;
}

static bool must_remove_places(const struct cli_queue_plan *plan, const struct queue_outcome *o)
{
    if (plan->owner)
        return true;
    return plan->is_forced && o->info_before.waiters != 0 &&
           (plan->is_confirmed || confirm_by_person());
}

/* A queue whose lock is of another kind is not a fair lock's; inspecting says so. */
static int show_or_remove_places(const struct cli_queue_plan *plan, struct hf_lock *lock)
{
    struct queue_outcome o = {.places_removed = -1};
    struct hf_error err = {0};
    hf_status status = hf_lock_inspect(lock, &o.info_before, &err);
    int rc = CLI_CONTINUE;

    if (status < 0)
        return cli_fail_status(status, &err);
    if (!plan->common->is_json && !plan->common->is_quiet)
        print_places(plan, &o);
    (void)fflush(stdout); /* before a prompt */
    if (must_remove_places(plan, &o))
        rc = remove_places(plan, lock, &o);
    return rc == CLI_CONTINUE ? report_outcome(plan, &o) : rc;
}

int cli_queue_clear(const struct cli_queue_plan *plan, struct hf_client *client)
{
    struct hf_lock *lock;
    int rc = cli_lock_open(&lock, client, HF_KIND_FAIR, plan->name);

    if (rc == CLI_CONTINUE)
        rc = show_or_remove_places(plan, lock);
    hf_lock_free(lock);
    return rc;
}
