/* Reports to a person that a lock is held and the command waits for it: with -v at once, on a
 * terminal after two seconds. That the holder has no TTL is always reported. */
#ifndef CLI_WAIT_REPORT_H
#define CLI_WAIT_REPORT_H

#include "cli/base/report.h"
#include "lock/label.h"
#include "net/loop/loop.h"

struct cli_wait_report {
    /* Set by the owner. `report` is called once for each lock that is waited for, when the label
     * of its holder is known or was awaited for a second; NULL: not called. */
    struct hf_loop *loop;
    bool has_labels;            /* labels are read */
    void (*report)(void *ctx, const struct cli_wait_report *w);
    void *ctx;

    const char *name;           /* of the lock that was waited for last. Borrowed from it */
    struct hf_lock_info info;   /* as on_wait reports it; of a semaphore, the holder is "" */
    char label[HF_LABEL_MAX + 1];

    bool is_unreported;
    bool must_print_later;
    bool is_reading_label;          /* a label is on its way */
    bool is_label_of_former_holder; /* it is that of a former holder */
    char label_read[HF_LABEL_MAX + 1];  /* receives it */
    int64_t begun_ms;
    struct hf_timer timer;
    struct hf_task task;
};

/* cli_wait_report_init  - prepares it; it must remain valid until the clients are freed.
 * cli_wait_report_begin - is called in on_wait. `client` is that of the lock.
 * cli_wait_report_end   - is called when the call has ended, before its result is reported, and
 *                     before the loop is freed. Also if nothing is waited for. */
void cli_wait_report_init(struct cli_wait_report *w, struct hf_loop *loop, bool has_labels);
void cli_wait_report_begin(struct cli_wait_report *w, struct hf_client *client,
                           struct hf_lock *lock, const struct hf_lock_info *info);
void cli_wait_report_end(struct cli_wait_report *w);

/* cli_wait_report_refused - prints, as a step, why a call did not get the lock, with the label of
 *   the holder if the error does not contain it. Blocks for that. */
void cli_wait_report_refused(struct hf_client *client, struct hf_lock *lock,
                             const struct cli_wait_report *w, const struct hf_error *err);

#endif
