/* Reports to a person that a lock is held and the command waits for it. */
/* Tests: tests/live/cli/test_run_label.c, tests/live/cli/test_hold.c. */
#include "cli/base/wait_report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/label.h"

#define ANSWER_MS 1000          /* a label is not awaited longer */
#define PATIENCE_MS 2000        /* of a person at a terminal */

/* ---- lines ---- */

/* `how`: cli_verbose or cli_warn. */
static void print_waiting(const struct cli_wait_report *w,
                          void (*how)(const char *format, ...)
                              __attribute__((format(printf, 1, 2))))
{
    const struct hf_lock_info *info = &w->info;
    char name[CLI_QUOTE_MAX], holder[CLI_QUOTE_MAX], label[HF_LABEL_MAX + 4],
        ttl[CLI_DURATION_TEXT_MAX];

    (void)cli_quote(name, w->name, strlen(w->name));
    (void)cli_quote(holder, info->holder, info->holder_len);
    label[0] = '\0';
    if (w->label[0])
        (void)snprintf(label, sizeof label, " (%s)", w->label);
    if (info->ttl_ms == -1 && info->holder_len > 0)
        how("waiting for %s: held by %s%s without a TTL, so it never expires; if its holder "
            "no longer runs, use 'holdfast unlock'", name, holder, label);
    else /* a semaphore does not know the owners of its permits */
        how("waiting for %s: held by %s%s, TTL %s", name,
            info->holder_len > 0 ? holder : "others", label,
            info->ttl_ms >= 0 ? cli_duration_text(ttl, info->ttl_ms) : "none");
}

static bool is_held_without_ttl(const struct hf_lock_info *info)
{
    return info->ttl_ms == -1 && info->holder_len > 0;
}

static void arm_report_timer(struct cli_wait_report *w, int64_t at_ms)
{
    hf_loop_lock(w->loop);
    hf_loop_arm(w->loop, &w->timer, at_ms);
    hf_loop_unlock(w->loop);
}

/* The label is known, or not awaited any longer. */
static void report_waiting(struct cli_wait_report *w)
{
    w->is_unreported = false;
    if (w->report)
        w->report(w->ctx, w);
    if (is_held_without_ttl(&w->info))
        print_waiting(w, cli_warn);
    else if (cli_report_is_verbose())
        print_waiting(w, cli_verbose);
    else if ((w->must_print_later = isatty(STDERR_FILENO)))
        arm_report_timer(w, w->begun_ms + PATIENCE_MS);
}

/* ---- events ---- */

static void on_label_read(void *ctx, hf_status status, const struct hf_error *err)
{
    struct cli_wait_report *w = ctx;

    (void)status; /* without the right it is "" */
    (void)err;
    w->is_reading_label = false;
    if (!w->is_label_of_former_holder)
        (void)strcpy(w->label, w->label_read);
    if (w->is_unreported)
        report_waiting(w);
}

static void on_report_task(struct hf_task *task)
{
    struct cli_wait_report *w = HF_OWNER_OF(task, struct cli_wait_report, task);

    hf_loop_unlock(w->loop);
    if (w->is_unreported) {
        report_waiting(w);
    } else if (w->must_print_later) {
        w->must_print_later = false;
        print_waiting(w, cli_warn);
    }
    hf_loop_lock(w->loop);
}

/* A line may take time, and is not printed with the loop's lock held. */
static void on_report_timer(struct hf_timer *timer)
{
    struct cli_wait_report *w = HF_OWNER_OF(timer, struct cli_wait_report, timer);

    hf_loop_post(w->loop, &w->task);
}

void cli_wait_report_init(struct cli_wait_report *w, struct hf_loop *loop, bool has_labels)
{
    *w = (struct cli_wait_report){
        .loop = loop, .has_labels = has_labels, .timer = {.fire = on_report_timer}};
    hf_task_init(&w->task, on_report_task);
}

void cli_wait_report_begin(struct cli_wait_report *w, struct hf_client *client,
                           struct hf_lock *lock, const struct hf_lock_info *info)
{
    if (w->is_unreported)
        report_waiting(w);
    w->name = hf_lock_name(lock, NULL);
    w->info = *info;
    w->begun_ms = hf_clock_ms();
    w->is_unreported = true;
    w->label[0] = '\0';
    w->is_label_of_former_holder = w->is_reading_label;
    if (!w->has_labels || w->is_reading_label || info->holder_full_len > info->holder_len) {
        report_waiting(w);
        return;
    }
    w->is_reading_label = hf_label_read_async(client, info->holder, info->holder_len, w->label_read,
                                              on_label_read, w) == HF_OK;
    if (w->is_reading_label)
        arm_report_timer(w, w->begun_ms + ANSWER_MS);
    else
        report_waiting(w);
}

void cli_wait_report_end(struct cli_wait_report *w)
{
    if (!w->loop)
        return;
    if (w->is_unreported)
        report_waiting(w);
    w->must_print_later = false;
    hf_loop_lock(w->loop);
    hf_loop_disarm(w->loop, &w->timer);
    hf_loop_unpost(w->loop, &w->task);
    hf_loop_unlock(w->loop);
}

/* ---- a refusal ---- */

/* Who holds it now, if the error names this holder. */
static bool read_label_of_holder(struct hf_client *client, struct hf_lock *lock, const char *text,
                                 char label[HF_LABEL_MAX + 1])
{
    char holder[CLI_QUOTE_MAX];
    struct hf_lock_info info;

    if (hf_lock_inspect(lock, &info, NULL) < 0 || info.holder_len == 0 ||
        !strstr(text, cli_quote(holder, info.holder, info.holder_len)))
        return false;
    cli_label_read(client, &info, label);
    return *label && !strstr(text, label);
}

void cli_wait_report_refused(struct hf_client *client, struct hf_lock *lock,
                             const struct cli_wait_report *w, const struct hf_error *err)
{
    char label[HF_LABEL_MAX + 1];

    if (!cli_report_is_verbose())
        return;
    if (w->has_labels && read_label_of_holder(client, lock, err->text, label))
        cli_verbose("%s (%s)", err->text, label);
    else
        cli_verbose("%s", err->text);
}
