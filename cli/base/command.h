/* What a subcommand is, and what holdfast's exit codes mean. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

struct cli_args;
struct cli_common;

/* The child's own code and 128 + signal come on top of these. */
enum cli_exit {
    CLI_OK = 0,
    CLI_NO = 1,                 /* status: free; unlock: not held by that one;
                                   ls: not all of them; fence: none, stale */
    CLI_NOT_ACQUIRED = 75,      /* EX_TEMPFAIL of sysexits.h; -E changes it */
    CLI_LOST = 122,             /* renew, release: the handle no longer holds the lock */
    CLI_MAX_HOLD = 124,         /* as timeout(1) */
    CLI_EXIT_ERROR = 125,          /* as timeout(1), env(1) and nohup(1), and so */
    CLI_NOT_EXECUTABLE = 126,   /* are these */
    CLI_NOT_FOUND = 127,
    CLI_SIGNAL = 128            /* + number */
};

/* Returned in place of an exit code: nothing ends the program yet. */
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
extern const struct cli_command cli_renew_command;
extern const struct cli_command cli_release_command;
extern const struct cli_command cli_status_command;
extern const struct cli_command cli_fence_command;
extern const struct cli_command cli_watch_command;
extern const struct cli_command cli_ls_command;
extern const struct cli_command cli_unlock_command;
extern const struct cli_command cli_doctor_command;
extern const struct cli_command cli_slot_command;
extern const struct cli_command cli_version_command;
extern const struct cli_command cli_help_command;

#endif
