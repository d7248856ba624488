/* One round of a command under a lock: from the request for the lock to the end of its
 * release. `run` has one, `elect` one after another. */
#ifndef CLI_RUN_ROUND_H
#define CLI_RUN_ROUND_H

#include "cli/base/common.h"
#include "cli/run/run_options.h"

struct cli_round {
    int exit_code;                /* the exit code, if this is the last one */
    bool has_run;                 /* the lock was ours, and the command started */
    bool was_refused_temporarily; /* the server refused the lock for now */
    bool cannot_run;              /* the command could not be executed */
    bool was_ended_by_signal;     /* TERM, INT or QUIT ended it */
    int late_signal;              /* state.h */
    bool is_hung_up_late;         /* SIGHUP arrived after the command had ended: the next round
                                     begins at once */
    bool was_release_wait_cut;    /* state.h */
    int end_by_signal;            /* state.h */
    bool must_group_end;
};

/* cli_round_run - runs one round, and reports its errors. From the first round on, signals are
 *                  recorded.
 * cli_round_main - is the main function of a subcommand: parses its options, runs its rounds,
 *                  and ends as the last round did. */
struct cli_round cli_round_run(const struct cli_run_options *options,
                               const struct cli_common *common);
int cli_round_main(struct cli_args *args, struct cli_common *common,
                   int (*parse)(struct cli_run_options *, struct cli_args *,
                                struct cli_common *),
                   struct cli_round (*play)(const struct cli_run_options *,
                                            const struct cli_common *));

#endif
