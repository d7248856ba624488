/* What `holdfast semaphore` and `holdfast latch` have in common: NAME and an action, a wait, and
 * how a result is printed. */
#ifndef CLI_COUNTED_H
#define CLI_COUNTED_H

#include "cli/base/common.h"
#include "cli/base/report.h"
#include "cli/base/wait.h"
#include "cli/base/wait_options.h"

struct cli_counted;

/* How an action takes a number. */
enum cli_counted_number { CLI_WITHOUT_NUMBER, CLI_NUMBER_OR_ONE, CLI_WITH_NUMBER };

struct cli_counted_action {
    const char *name;
    enum cli_counted_number number_wanted;
    int number_min;                /* the least number */
    bool waits;                    /* it takes -n, -w and -E, and uses c->wait */
    bool repeats_after_lost_reply; /* the library repeats it after a lost reply */
    int (*run)(struct cli_counted *c);  /* returns the exit code */
    bool takes_ttl;             /* it takes --ttl */
};

struct cli_counted_kind {
    const char *noun;
    const struct cli_counted_action *actions;   /* ends with a NULL name */
    hf_status (*open)(struct cli_counted *c, struct hf_client *client, struct hf_error *err);
    void (*close)(struct cli_counted *c);
};

struct cli_counted {
    const struct cli_common *common;
    const struct cli_counted_kind *kind;
    const struct cli_counted_action *action;
    const char *name;
    int number;                 /* 0 without one */
    int64_t ttl_ms;             /* 0 without --ttl */
    struct cli_wait_options wait_options;

    char quoted[CLI_QUOTE_MAX]; /* the name, for messages */
    char last_words[CLI_QUOTE_MAX + 160];
    struct cli_wait wait;
    struct hf_client *client;
    bool was_semaphore_absent;  /* of an acquire: there was no semaphore when it began */
    bool is_outcome_unknown;    /* whether the server did what was requested */
    union {
        struct hf_semaphore *semaphore;
        struct hf_latch *latch;
    } object;
};

/* cli_counted_main - parses the command line, connects, and acts. Returns the exit code.
 * cli_counted_report_error - reports an error of a call. `changes`: the call changes the count; it
 *                    may be done, or its outcome unknown (c->is_outcome_unknown, reported when the
 *                    client is closed). Returns CLI_EXIT_ERROR.
 * cli_counted_report_change - the same after a change. Returns CLI_EXIT_OK if status is not
 *   negative.
 * cli_counted_is_done - returns whether the server made the change, so that its result is
 *                    printed: also after HF_UNREPLICATED.
 * cli_counted_none - reports that there is no such semaphore or latch. Returns CLI_EXIT_NO. */
int cli_counted_main(struct cli_args *args, struct cli_common *common,
                     const struct cli_counted_kind *of);
int cli_counted_report_error(struct cli_counted *c, hf_status status, const struct hf_error *err,
                             bool changes);
int cli_counted_report_change(struct cli_counted *c, hf_status status, const struct hf_error *err);
bool cli_counted_is_done(hf_status status);
int cli_counted_none(const struct cli_counted *c);

/* cli_counted_done - prints the result with --json: `done` ("deleted") as true or false, and the
 *                    number of an action that takes one. Returns `code`, or CLI_EXIT_ERROR after
 *                    reporting the error.
 * cli_counted_deleted - reports and prints the result of a deletion. Returns the exit code.
 * cli_counted_show - prints a number: with --json as `member`, and otherwise, unless quiet,
 *                    alone on a line. */
int cli_counted_done(const struct cli_counted *c, const char *done, bool is_done, int code);
int cli_counted_deleted(struct cli_counted *c, hf_status status, bool was_deleted,
                        const struct hf_error *err);
int cli_counted_show(const struct cli_counted *c, const char *member, int64_t number, int code);

/* Rows and help of the options of an action that waits. */
#define CLI_COUNTED_HELP(ACTION) \
    "  -w, --wait DURATION  " ACTION ": stop waiting after DURATION; default: never\n" \
    "  --timeout DURATION   the same as --wait\n" \
    "  -n, --nonblock       " ACTION ": do not wait\n" \
    "  -E, --conflict-exit-code N\n" \
    "                       " ACTION ": exit code if the time expired; default 75\n"

#endif
