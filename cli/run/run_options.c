/* The command lines of `holdfast run` and `holdfast elect`. */
/* Tests: tests/test_cli_options.c. */
#include "cli/run/run_options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/label.h"
#include "cli/base/report.h"
#include "cli/base/same_server.h"
#include "cli/base/values.h"

#define TTL_MS 30000   /* the default of --ttl, as Redisson's watchdog */
#define TTL_LEAST_MS 100        /* the library's own limit */
#define KILL_AFTER_MS 5000
#define REST_MS 1000

/* Options that run and elect share. */
#define HELP_OF_RUN_AND_ELECT \
    "  --on-lost WHAT       when the lock is lost: stop COMMAND (default), warn\n" \
    "                       or ignore\n" \
    "  --lost-signal SIG    signal that stops COMMAND; default TERM\n" \
    "  --status-fd N        write a JSON line for each event to descriptor N\n" \
    CLI_LABEL_HELP \
    "  --hide-url           do not set HOLDFAST_URL for COMMAND\n" \
    "  --dump FILE          on USR1, append the state of the client to FILE\n" \
    CLI_METRICS_HELP \
    CLI_COMMON_HELP \
    "\n" \
    "D: a number of seconds, or a number followed by ms, s, m or h.\n"

#define HELP_OF_SETS \
    CLI_KIND_HELP_VALUE \
    "  --multi NAME         also take NAME, all or none; repeatable\n" \
    "  --quorum             take the lock on a majority of the servers given by -u\n" \
    "  --allow-same-server  with --quorum: accept two URLs of the same server\n"

const char cli_run_help[] =
    "usage: holdfast run [option]... NAME [--] COMMAND [ARG]...\n"
    "       holdfast run [option]... NAME -c STRING\n"
    "\n"
    "Takes the lock NAME, runs COMMAND, and releases the lock.\n"
    "\n"
    "  -n, --nonblock       do not wait for the lock\n"
    "  -w, --wait D         stop waiting after D\n"
    "  --timeout D          the same as --wait\n"
    "  -E, --conflict-exit-code N\n"
    "                       exit code if the lock was not acquired; default 75\n"
    "  -c, --command STRING run STRING with $SHELL (default: /bin/sh)\n"
    CLI_KIND_HELP_SHARED
    CLI_KIND_HELP_FAIR
    "  --fenced             set HOLDFAST_TOKEN to the fencing token\n"
    HELP_OF_SETS
    CLI_KIND_HELP_PERMITS
    "  --ttl D              TTL of the lock; renewed every third of it;\n"
    "                       default 30s\n"
    "  --lease D            take the lock for D and do not renew it\n"
    "  --max-hold D         stop COMMAND after D (exit code 124)\n"
    "  --at-least D         hold the lock for at least D, even if COMMAND ends\n"
    "                       earlier\n"
    "  -k, --kill-after D   time between the stop signal and KILL; default 5s;\n"
    "                       when the lock is lost, at most half the TTL or lease\n"
    HELP_OF_RUN_AND_ELECT
    "Exit code: that of COMMAND; 128 + N if signal N ended it; 75 lock not\n"
    "acquired; 122 lock lost, COMMAND stopped; 124 --max-hold reached; 125 error\n"
    "of holdfast; 126 COMMAND cannot be executed; 127 COMMAND not found.\n";

const char cli_elect_help[] =
    "usage: holdfast elect [option]... NAME [--] COMMAND [ARG]...\n"
    "       holdfast elect [option]... NAME -c STRING\n"
    "\n"
    "Elects one leader among all candidates for NAME, on all machines. The\n"
    "leader holds the lock NAME and runs COMMAND. When COMMAND ends, or was\n"
    "stopped because the lock was lost, elect becomes a candidate again.\n"
    "\n"
    "  --once               run one term, then exit as 'run' does\n"
    "  --pause D            pause after a term; default 1s\n"
    "  -c, --command STRING run STRING with $SHELL (default: /bin/sh)\n"
    "  -x, --exclusive      NAME is a read-write lock: use its write side\n"
    "  --fair               candidates lead in the order of their requests\n"
    "  --fenced             set HOLDFAST_TOKEN to the fencing token\n"
    HELP_OF_SETS
    "  --ttl D              TTL of the lock; renewed every third of it;\n"
    "                       default 30s\n"
    "  --max-hold D         stop COMMAND after D, so that others can lead\n"
    "  -k, --kill-after D   time between the stop signal and KILL; default 5s;\n"
    "                       when the lock is lost, at most half the TTL\n"
    HELP_OF_RUN_AND_ELECT
    "TERM, INT and QUIT end elect: COMMAND gets the signal, and the lock is\n"
    "released when COMMAND has ended. On HUP, elect reads the TLS files again, and\n"
    "COMMAND gets the signal. On a terminal, HUP ends elect while COMMAND does not\n"
    "run. The exit code is that of COMMAND, or 128 + N. elect also ends with 125\n"
    "if the first connection fails, and with 126 or 127 if COMMAND cannot be\n"
    "executed or was not found. Later, elect retries an unreachable server at least\n"
    "every 30 s.\n";

enum {
    NONBLOCK = 1,
    WAIT,
    CONFLICT,
    COMMAND,
    MULTI,
    QUORUM,
    ALLOW_SAME_SERVER,
    TTL,
    LEASE,
    MAX_HOLD,
    AT_LEAST,
    KILL_AFTER,
    ON_LOST,
    LOST_SIGNAL,
    STATUS_FD,
    HIDE_URL,
    DUMP,
    ONCE,
    PAUSE,
    OF_MANY,
    CLOSE,
    NO_FORK,
    UNLOCK,
    PATIENCE
};

static const struct cli_option run_options[] = {
    {NONBLOCK, 'n', "nonblock", NULL},
    {NONBLOCK, 0, "nb", NULL},
    {WAIT, 'w', "wait", "DURATION"},
    {WAIT, 0, "timeout", "DURATION"},
    {CLOSE, 'o', "close", NULL}, /* these three: of flock(1), without a meaning here */
    {NO_FORK, 'F', "no-fork", NULL},
    {UNLOCK, 0, "unlock", NULL},
    {CONFLICT, 'E', "conflict-exit-code", "NUMBER"},
    {LEASE, 0, "lease", "DURATION"},
    {AT_LEAST, 0, "at-least", "DURATION"},
    CLI_KIND_ROWS_OF_MANY,
    {0},
};

static const struct cli_option elect_options[] = {
    {ONCE, 0, "once", NULL},
    {PAUSE, 0, "pause", "DURATION"},
    {OF_MANY, 's', "shared", NULL}, /* refused: of several holders, none would lead */
    {OF_MANY, 0, "permits", "NUMBER"},
    {PATIENCE, 'n', "nonblock", NULL}, /* refused: a candidate waits for its turn */
    {PATIENCE, 0, "nb", NULL},
    {PATIENCE, 'w', "wait", "DURATION"},
    {PATIENCE, 0, "timeout", "DURATION"},
    {0},
};

static const struct cli_option shared_options[] = {
    {COMMAND, 'c', "command", "STRING"},
    CLI_KIND_ROWS,
    {MULTI, 0, "multi", "NAME"},
    {QUORUM, 0, "quorum", NULL},
    {ALLOW_SAME_SERVER, 0, "allow-same-server", NULL},
    {TTL, 0, "ttl", "DURATION"},
    {MAX_HOLD, 0, "max-hold", "DURATION"},
    {KILL_AFTER, 'k', "kill-after", "DURATION"},
    {ON_LOST, 0, "on-lost", "stop, warn or ignore"},
    {LOST_SIGNAL, 0, "lost-signal", "SIGNAL"},
    {STATUS_FD, 0, "status-fd", "NUMBER"},
    {HIDE_URL, 0, "hide-url", NULL},
    CLI_LABEL_ROW,
    {DUMP, 0, "dump", "FILE"},
    CLI_METRICS_ROWS,
    {0},
};

/* ---- one option ---- */

static int set_on_lost(struct cli_run_options *run,
                       const struct cli_args *args, const char *value)
{
    static const char *const words[] = {[CLI_ON_LOST_STOP_COMMAND] = "stop",
                                        [CLI_ON_LOST_WARN] = "warn",
                                        [CLI_ON_LOST_IGNORE] = "ignore"};

    for (int i = 0; i < 3; i++) {
        if (strcmp(words[i], value) != 0)
            continue;
        run->on_lost = (enum cli_on_lost)i;
        return CLI_CONTINUE;
    }
    return cli_usage(args, "--on-lost '%s': write stop, warn or ignore", value);
}

static int add_other_name(struct cli_run_options *run, const struct cli_args *args,
                          const char *name)
{
    if (!*name)
        return cli_usage(args, "--multi: NAME is empty");
    if (run->other_names_count == HF_MULTI_MAX - 1)
        return cli_usage(args, "--multi: at most %d locks",
                         HF_MULTI_MAX);
    run->other_names[run->other_names_count++] = name;
    return CLI_CONTINUE;
}

/* Looks before we open anything that could get the number. */
static int set_status_fd(struct cli_run_options *run,
                         const struct cli_args *args, const char *value)
{
    int rc = cli_take_number(args, "--status-fd", value, 0, INT_MAX,
                             &run->status_fd);

    if (rc == CLI_CONTINUE && fcntl(run->status_fd, F_GETFL) < 0)
        return cli_usage(args, "--status-fd %s: %s; open it as in "
                               "'--status-fd 3 3>file'", value,
                         strerror(errno));
    if (rc == CLI_CONTINUE && run->status_fd > STDERR_FILENO)
        (void)fcntl(run->status_fd, F_SETFD, FD_CLOEXEC); /* ours alone */
    return rc;
}

static int set_shell_command(struct cli_run_options *run, char *string)
{
    const char *shell = getenv("SHELL");

    run->shell_argv[0] = (char *)(shell && *shell ? shell : "/bin/sh");
    run->shell_argv[1] = (char *)"-c"; /* exec does not write to argv */
    run->shell_argv[2] = string;
    run->shell_argv[3] = NULL;
    run->argv = run->shell_argv;
    return CLI_CONTINUE;
}

static int refuse_for_elect(const struct cli_args *args, int id)
{
    if (id == OF_MANY)
        return cli_usage(args, "--shared and --permits have no meaning in an election, because "
                               "one candidate leads at a time; 'holdfast run' accepts them");
    return cli_usage(args, "--nonblock and --wait have no meaning in an election, because a "
                           "candidate waits until it leads; 'holdfast run' accepts them");
}

static int set_own_option(struct cli_run_options *run, const struct cli_args *args,
                          int id, char *value)
{
    switch (id) {
    case NONBLOCK:
        run->wait_ms = 0;
        return CLI_CONTINUE;
    case WAIT:
        return cli_take_duration(args, "--wait", value, 0, &run->wait_ms);
    case CONFLICT:
        return cli_take_number(args, "-E", value, 0, 255, &run->conflict_code);
    case COMMAND:
        return set_shell_command(run, value);
    case MULTI:
        return add_other_name(run, args, value);
    case QUORUM:
        run->is_quorum = true;
        return CLI_CONTINUE;
    case ALLOW_SAME_SERVER:
        run->allow_same_server = true;
        return CLI_CONTINUE;
    case TTL:
        return cli_take_duration(args, "--ttl", value, TTL_LEAST_MS,
                                 &run->ttl_ms);
    case LEASE:
        return cli_take_duration(args, "--lease", value, TTL_LEAST_MS,
                                 &run->lease_ms);
    case MAX_HOLD:
        return cli_take_duration(args, "--max-hold", value, 1,
                                 &run->max_hold_ms);
    case AT_LEAST:
        return cli_take_duration(args, "--at-least", value, 0,
                                 &run->at_least_ms);
    case KILL_AFTER:
        return cli_take_duration(args, "--kill-after", value, 0,
                                 &run->kill_after_ms);
    case ON_LOST:
        return set_on_lost(run, args, value);
    case LOST_SIGNAL:
        return cli_take_signal(args, "--lost-signal", value,
                               &run->lost_signal);
    case STATUS_FD:
        return set_status_fd(run, args, value);
    case DUMP:
        run->dump_path = value;
        return CLI_CONTINUE;
    case ONCE:
        run->is_once = true;
        return CLI_CONTINUE;
    case CLOSE:
        run->has_close = true;
        return CLI_CONTINUE;
    case NO_FORK:
        run->has_no_fork = true;
        return CLI_CONTINUE;
    case UNLOCK:
        return cli_usage(args, "--unlock has no meaning: the lock is released when COMMAND ends; "
                               "'holdfast release' and 'holdfast unlock' release other locks");
    case OF_MANY:
    case PATIENCE:
        return refuse_for_elect(args, id);
    case PAUSE:
        return cli_take_duration(args, "--pause", value, 0, &run->rest_ms);
    default:
        run->hides_url = true;
        return CLI_CONTINUE;
    }
}

/* ---- NAME and COMMAND ---- */

static int take_option(struct cli_run_options *run, const struct cli_args *args,
                       struct cli_common *common, int id, char *value)
{
    if (id >= CLI_OPT_COMMON)
        return cli_common_take_option(common, args, id, value);
    if (id >= CLI_METRICS_OPTION && id < CLI_METRICS_OPTIONS_END)
        return cli_metrics_take_option(&run->metrics_options, args, id, value);
    if (id >= CLI_KIND_OPTION)
        return cli_kind_take_option(&run->kind, args, id, value);
    return set_own_option(run, args, id, value);
}

/* Takes options up to NAME. CLI_CONTINUE: NAME is taken, or there is none. */
static int parse_options_before_name(struct cli_run_options *run, struct cli_args *args,
                                     struct cli_common *common,
                                     const struct cli_option *own)
{
    const struct cli_option *const tables[] = {cli_common_options,
                                               shared_options, own, NULL};
    char *value;
    int id, rc;

    while ((id = cli_args_next(args, tables, &value)) >= 0) {
        rc = take_option(run, args, common, id, value);
        if (rc != CLI_CONTINUE)
            return rc;
    }
    run->name = value; /* NULL at CLI_ARGS_END */
    return id == CLI_ARGS_BAD ? CLI_EXIT_ERROR : CLI_CONTINUE;
}

static bool is_dash_c(const char *word)
{
    return strcmp(word, "-c") == 0 || strcmp(word, "--command") == 0;
}

/* As with flock(1), -c may follow NAME. Any other word with a dash is more likely a
 * misplaced option than a program. */
static int set_command(struct cli_run_options *run,
                       const struct cli_args *args)
{
    char **next = args->next_word;

    if (*next && !args->has_only_words && !run->argv && is_dash_c(*next)) {
        if (!next[1] || next[2])
            return cli_usage(args, "%s takes one argument: quote the whole command",
                             *next);
        return set_shell_command(run, next[1]);
    }
    if (*next && strcmp(*next, "--") == 0)
        next++;
    else if (*next && **next == '-')
        return cli_usage(args, "'%s' follows NAME, where COMMAND begins; options must "
                               "precede NAME", *next);
    if (*next && run->argv)
        return cli_usage(args, "unexpected argument '%s': -c has the whole command",
                         *next);
    if (*next)
        run->argv = next;
    return CLI_CONTINUE;
}

/* A server that is given twice would have two votes: of one database, no owner could
 * get both; of two, one server alone would be most of them. This is what the text
 * shows before anything is connected; the acquire compares the servers themselves. */
static size_t number_of_repeated_server_url(const struct cli_common *common)
{
    for (size_t i = 1; i < common->urls_count; i++)
        for (size_t j = 0; j < i; j++)
            if (cli_same_server(common->urls[i], common->urls[j]))
                return i + 1;
    return 0;
}

static int check_quorum(const struct cli_run_options *run,
                        const struct cli_args *args,
                        const struct cli_common *common)
{
    size_t n = run->allow_same_server ? 0 : number_of_repeated_server_url(common);

    if (common->urls_count < 3)
        return cli_usage(args, "--quorum needs three or more servers, each with its "
                               "own -u");
    if (n > 0)
        return cli_usage(args, "--quorum: -u number %zu names the same server as an "
                               "earlier -u; each server has one vote", n);
    return CLI_CONTINUE;
}

/* What is held on several servers or under several names. */
static int check_quorum_and_multi(const struct cli_run_options *run,
                                  const struct cli_args *args,
                                  const struct cli_common *common)
{
    bool is_set = run->is_quorum || run->other_names_count > 0;

    if (!run->is_quorum && cli_common_check_one_server(common, args) != CLI_CONTINUE)
        return CLI_EXIT_ERROR;
    if (run->is_quorum && check_quorum(run, args, common) != CLI_CONTINUE)
        return CLI_EXIT_ERROR;
    if (run->allow_same_server && !run->is_quorum)
        return cli_usage(args, "--allow-same-server needs --quorum");
    if (run->is_quorum && run->other_names_count > 0)
        return cli_usage(args, "--quorum and --multi cannot be combined");
    if (is_set && run->kind.permits > 0)
        return cli_usage(args, "--permits cannot be combined with --multi or --quorum");
    if (run->other_names_count > 0 && run->kind.is_fenced)
        return cli_usage(args, "--fenced cannot be combined with --multi");
    return CLI_CONTINUE;
}

static int check_options(const struct cli_run_options *run,
                         const struct cli_args *args, bool has_ttl)
{
    if (!run->name)
        return cli_usage(args, "NAME and COMMAND are required");
    if (!*run->name)
        return cli_usage(args, "NAME is empty");
    if (!run->argv)
        return cli_usage(args, "no COMMAND given for '%s'",
                         run->name);
    if (!*run->argv[0])
        return cli_usage(args, "COMMAND is empty");
    if (has_ttl && run->lease_ms > 0)
        return cli_usage(args, "--ttl and --lease cannot be combined: a lock with "
                               "--lease is not renewed");
    if ((run->lease_ms > 0 && run->at_least_ms > run->lease_ms) ||
        (run->max_hold_ms > 0 && run->at_least_ms > run->max_hold_ms))
        return cli_usage(args, "--at-least is longer than --lease or --max-hold");
    return CLI_CONTINUE;
}

/* They are accepted, so that a command line of flock works. */
static void warn_flock_options(const struct cli_run_options *run)
{
    if (run->has_close)
        cli_warn("--close has no effect: COMMAND never inherits the lock");
    if (run->has_no_fork)
        cli_warn("--no-fork has no effect: holdfast must stay to renew the lock, and passes "
                 "signals on to COMMAND");
}

static int parse_command_line(struct cli_run_options *run, struct cli_args *args,
                              struct cli_common *common, const struct cli_option *own)
{
    bool has_ttl;
    int rc;

    *run = (struct cli_run_options){.kind = {.kind = HF_KIND_PLAIN},
                                    .wait_ms = HF_FOREVER,
                                    .conflict_code = CLI_EXIT_NOT_ACQUIRED,
                                    .kill_after_ms = KILL_AFTER_MS,
                                    .lost_signal = SIGTERM,
                                    .status_fd = -1,
                                    .rest_ms = REST_MS};
    if ((rc = parse_options_before_name(run, args, common, own)) != CLI_CONTINUE)
        return rc;
    has_ttl = run->ttl_ms > 0;
    if (!has_ttl)
        run->ttl_ms = TTL_MS;
    if (run->name && (rc = set_command(run, args)) != CLI_CONTINUE)
        return rc;
    if ((rc = check_options(run, args, has_ttl)) == CLI_CONTINUE)
        rc = check_quorum_and_multi(run, args, common);
    if (rc == CLI_CONTINUE)
        rc = cli_kind_check(&run->kind, args);
    if (rc == CLI_CONTINUE)
        rc = cli_metrics_check(&run->metrics_options, args);
    if (rc == CLI_CONTINUE)
        cli_label_choose(common, getpid(), run->argv[0]);
    if (rc == CLI_CONTINUE && !common->is_quiet)
        warn_flock_options(run);
    return rc;
}

int cli_run_options_parse(struct cli_run_options *run, struct cli_args *args,
                          struct cli_common *common)
{
    return parse_command_line(run, args, common, run_options);
}

int cli_elect_options_parse(struct cli_run_options *run, struct cli_args *args,
                            struct cli_common *common)
{
    int rc = parse_command_line(run, args, common, elect_options);

    run->metrics_options.is_election = true;
    return rc;
}

/* ---- rules ---- */

/* A renewal is sent after a third of the TTL. Half of the TTL leaves a sixth for the
 * reply before the command receives the stop signal. */
static int64_t grace_after_loss_ms(const struct cli_run_options *run)
{
    int64_t most = (run->lease_ms > 0 ? run->lease_ms : run->ttl_ms) / 2;

    return run->kill_after_ms < most ? run->kill_after_ms : most;
}

struct cli_run_rules cli_run_rules_of(const struct cli_run_options *run)
{
    return (struct cli_run_rules){.on_lost = run->on_lost,
                                  .kill_after_ms = run->kill_after_ms,
                                  .grace_after_loss_ms = grace_after_loss_ms(run),
                                  .max_hold_ms = run->max_hold_ms,
                                  .at_least_ms = run->at_least_ms,
                                  .conflict_code = run->conflict_code,
                                  .has_lease = run->lease_ms > 0};
}
