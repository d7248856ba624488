/* The struct of a subcommand, and the exit codes of holdfast. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

struct cli_args;
struct cli_common;

/* In addition, the exit code may be that of the command, or 128 + a signal. */
enum cli_exit {
    CLI_EXIT_OK = 0,
    CLI_EXIT_NO = 1,            /* status: free; unlock: not held by that owner;
                                   ls: an incomplete list; fence: none, stale;
                                   semaphore, latch: none, or there already */
    CLI_EXIT_NOT_ACQUIRED = 75, /* EX_TEMPFAIL of sysexits.h; -E changes it */
    CLI_EXIT_LOST = 122,        /* renew, release: the handle no longer holds the lock */
    CLI_EXIT_MAX_HOLD = 124,    /* as timeout(1) */
    CLI_EXIT_ERROR = 125,          /* as timeout(1), env(1) and nohup(1) */
    CLI_EXIT_NOT_EXECUTABLE = 126, /* as these programs */
    CLI_EXIT_NOT_FOUND = 127,
    CLI_EXIT_SIGNAL = 128       /* + number */
};

/* Returned instead of an exit code: the program continues. */
#define CLI_CONTINUE (-1)

struct cli_command {
    const char *name;
    const char *summary;        /* a line of `holdfast help` */
    const char *help;           /* all of `holdfast help NAME` */
    /* Parses the rest of the command line; returns the exit code. */
    int (*main)(struct cli_args *args, struct cli_common *common);
};

extern const struct cli_command cli_run_command;
extern const struct cli_command cli_elect_command;
extern const struct cli_command cli_acquire_command;
extern const struct cli_command cli_hold_command;
extern const struct cli_command cli_renew_command;
extern const struct cli_command cli_release_command;
extern const struct cli_command cli_status_command;
extern const struct cli_command cli_fence_command;
extern const struct cli_command cli_watch_command;
extern const struct cli_command cli_ls_command;
extern const struct cli_command cli_unlock_command;
extern const struct cli_command cli_semaphore_command;
extern const struct cli_command cli_latch_command;
extern const struct cli_command cli_doctor_command;
extern const struct cli_command cli_bench_command;
extern const struct cli_command cli_slot_command;
extern const struct cli_command cli_version_command;
extern const struct cli_command cli_help_command;

#endif
