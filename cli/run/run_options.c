/* The command lines of `holdfast run` and `holdfast elect`. */
#include "cli/run/run_options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/same_server.h"
#include "cli/values.h"

#define TTL_MS 30000
#define TTL_LEAST_MS 100        /* the library's own limit */
#define KILL_AFTER_MS 5000
#define REST_MS 1000

/* Of run and of elect. */
#define HELP_OF_BOTH \
    "  --on-lost WHAT       stop (default), warn or ignore\n" \
    "  --lost-signal SIG    what stops the command; default TERM\n" \
    "  --status-fd N        a JSON line on descriptor N for each event\n" \
    "  --hide-url           COMMAND does not inherit HOLDFAST_URL\n" \
    CLI_COMMON_HELP \
    "\n" \
    "D: a number of seconds, or with ms, s, m or h behind it.\n"

#define HELP_OF_SETS \
    CLI_KIND_HELP_VALUE \
    "  --multi NAME         this lock, too, or none; may be repeated\n" \
    "  --quorum             on most of the servers, of which each has a -u\n" \
    "  --allow-same-server  two of the URLs may be one server, with two votes\n"

const char cli_run_help[] =
    "usage: holdfast run [option]... NAME [--] COMMAND [ARG]...\n"
    "       holdfast run [option]... NAME -c STRING\n"
    "\n"
    "Takes the lock NAME, runs COMMAND, releases the lock.\n"
    "\n"
    "  -n, --nonblock       do not wait for the lock\n"
    "  -w, --wait D         wait at most so long\n"
    "  -E, --conflict-exit-code N\n"
    "                       exit code if it was not acquired; default 75\n"
    "  -c, --command STRING run STRING by $SHELL, else by /bin/sh\n"
    CLI_KIND_HELP_SHARED
    CLI_KIND_HELP_FAIR
    "  --fenced             COMMAND finds a growing number in HOLDFAST_TOKEN\n"
    HELP_OF_SETS
    CLI_KIND_HELP_PERMITS
    "  --ttl D              the lock ends so long after the last renewal;\n"
    "                       renewed each third; default 30s\n"
    "  --lease D            take it for so long and never renew it\n"
    "  --max-hold D         stop the command after so long (code 124)\n"
    "  --at-least D         keep the lock for so long, though COMMAND ended\n"
    "  -k, --kill-after D   from TERM to KILL; default 5s; at most half the\n"
    "                       TTL or lease when the lock is lost\n"
    HELP_OF_BOTH
    "Exit code: the command's own; 128 + N if signal N ended it; 75 not\n"
    "acquired; 122 the lock was lost, and the command stopped;\n"
    "124 --max-hold; 125 holdfast failed; 126 COMMAND cannot be executed;\n"
    "127 COMMAND was not found.\n";

const char cli_elect_help[] =
    "usage: holdfast elect [option]... NAME [--] COMMAND [ARG]...\n"
    "       holdfast elect [option]... NAME -c STRING\n"
    "\n"
    "Of all that stand for NAME, on all machines, one leads: it has the lock\n"
    "NAME, and runs COMMAND. When COMMAND ends, or the lock is lost and COMMAND\n"
    "is stopped, this one stands again, behind those that wait.\n"
    "\n"
    "  --once               do not stand again: leave with the code of `run`\n"
    "  --pause D            stand again after so long; default 1s\n"
    "  -c, --command STRING run STRING by $SHELL, else by /bin/sh\n"
    "  -x, --exclusive      NAME is a read-write lock: stand for the writer's side\n"
    "  --fair               candidates lead in the order they came\n"
    "  --fenced             COMMAND finds a growing number in HOLDFAST_TOKEN\n"
    HELP_OF_SETS
    "  --ttl D              the lock ends so long after the last renewal;\n"
    "                       renewed each third; default 30s\n"
    "  --max-hold D         stop COMMAND after so long, and let others lead\n"
    "  -k, --kill-after D   from TERM to KILL; default 5s; at most half the\n"
    "                       TTL when the lock is lost\n"
    HELP_OF_BOTH
    "It ends by TERM, INT, QUIT or HUP: COMMAND, if it runs, gets the signal,\n"
    "and the lock is released when it has ended; by HUP only while COMMAND does\n"
    "not run. The exit code is COMMAND's, or 128 + N. Else it ends with 125 if\n"
    "the server cannot be asked at first, with 126 or 127 if COMMAND cannot be\n"
    "executed or was not found. A server that has answered once is asked again,\n"
    "after 30 s at most.\n";

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
    ONCE,
    PAUSE
};

static const struct cli_option run_options[] = {
    {NONBLOCK, 'n', "nonblock", NULL},
    {WAIT, 'w', "wait", "DURATION"},
    {CONFLICT, 'E', "conflict-exit-code", "NUMBER"},
    {LEASE, 0, "lease", "DURATION"},
    {AT_LEAST, 0, "at-least", "DURATION"},
    CLI_KIND_ROWS_OF_MANY,
    {0},
};

static const struct cli_option elect_options[] = {
    {ONCE, 0, "once", NULL},
    {PAUSE, 0, "pause", "DURATION"},
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
    {0},
};

/* ---- one option ---- */

static int take_on_lost(struct cli_run_options *run,
                        const struct cli_args *args, const char *value)
{
    static const char *const words[] = {[CLI_LOST_STOP] = "stop",
                                        [CLI_LOST_WARN] = "warn",
                                        [CLI_LOST_IGNORE] = "ignore"};

    for (int i = 0; i < 3; i++) {
        if (strcmp(words[i], value) != 0)
            continue;
        run->on_lost = (enum cli_on_lost)i;
        return CLI_GO_ON;
    }
    return cli_usage(args, "--on-lost '%s': write stop, warn or ignore", value);
}

static int take_other(struct cli_run_options *run, const struct cli_args *args,
                      const char *name)
{
    if (!*name)
        return cli_usage(args, "--multi: NAME is empty");
    if (run->others_count == HF_MULTI_MAX - 1)
        return cli_usage(args, "--multi: at most %d locks are taken as one",
                         HF_MULTI_MAX);
    run->others[run->others_count++] = name;
    return CLI_GO_ON;
}

/* Looks before we open anything that could get the number. */
static int take_status_fd(struct cli_run_options *run,
                          const struct cli_args *args, const char *value)
{
    int rc = cli_take_number(args, "--status-fd", value, 0, INT_MAX,
                             &run->status_fd);

    if (rc == CLI_GO_ON && fcntl(run->status_fd, F_GETFL) < 0)
        return cli_usage(args, "--status-fd %s: %s; open it as in "
                               "'--status-fd 3 3>file'", value,
                         strerror(errno));
    if (rc == CLI_GO_ON && run->status_fd > STDERR_FILENO)
        (void)fcntl(run->status_fd, F_SETFD, FD_CLOEXEC); /* ours alone */
    return rc;
}

static int take_shell_command(struct cli_run_options *run, char *string)
{
    const char *shell = getenv("SHELL");

    run->shell_argv[0] = (char *)(shell && *shell ? shell : "/bin/sh");
    run->shell_argv[1] = (char *)"-c"; /* exec does not write to argv */
    run->shell_argv[2] = string;
    run->shell_argv[3] = NULL;
    run->argv = run->shell_argv;
    return CLI_GO_ON;
}

static int take_own(struct cli_run_options *run, const struct cli_args *args,
                    int id, char *value)
{
    switch (id) {
    case NONBLOCK:
        run->wait_ms = 0;
        return CLI_GO_ON;
    case WAIT:
        return cli_take_duration(args, "--wait", value, 0, &run->wait_ms);
    case CONFLICT:
        return cli_take_number(args, "-E", value, 0, 255, &run->conflict_code);
    case COMMAND:
        return take_shell_command(run, value);
    case MULTI:
        return take_other(run, args, value);
    case QUORUM:
        run->is_quorum = true;
        return CLI_GO_ON;
    case ALLOW_SAME_SERVER:
        run->allow_same_server = true;
        return CLI_GO_ON;
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
        return take_on_lost(run, args, value);
    case LOST_SIGNAL:
        return cli_take_signal(args, "--lost-signal", value,
                               &run->lost_signal);
    case STATUS_FD:
        return take_status_fd(run, args, value);
    case ONCE:
        run->is_once = true;
        return CLI_GO_ON;
    case PAUSE:
        return cli_take_duration(args, "--pause", value, 0, &run->rest_ms);
    default:
        run->hides_url = true;
        return CLI_GO_ON;
    }
}

/* ---- NAME and COMMAND ---- */

static int take_option(struct cli_run_options *run, const struct cli_args *args,
                       struct cli_common *common, int id, char *value)
{
    if (id >= CLI_OPT_COMMON)
        return cli_common_take(common, args, id, value);
    if (id >= CLI_KIND_OPTION)
        return cli_kind_take(&run->kind, args, id, value);
    return take_own(run, args, id, value);
}

/* Takes options up to NAME. CLI_GO_ON: NAME is taken, or there is none. */
static int take_options(struct cli_run_options *run, struct cli_args *args,
                        struct cli_common *common,
                        const struct cli_option *own)
{
    const struct cli_option *const tables[] = {cli_common_options,
                                               shared_options, own, NULL};
    char *value;
    int id, rc;

    while ((id = cli_args_next(args, tables, &value)) >= 0) {
        rc = take_option(run, args, common, id, value);
        if (rc != CLI_GO_ON)
            return rc;
    }
    run->name = value; /* NULL at CLI_END */
    return id == CLI_BAD ? CLI_TROUBLE : CLI_GO_ON;
}

static bool is_dash_c(const char *word)
{
    return strcmp(word, "-c") == 0 || strcmp(word, "--command") == 0;
}

/* As with flock(1), -c may follow NAME. Any other word with a dash there is
 * more likely a misplaced option than a program. */
static int take_command(struct cli_run_options *run,
                        const struct cli_args *args)
{
    char **next = args->next;

    if (*next && !args->has_only_words && !run->argv && is_dash_c(*next)) {
        if (!next[1] || next[2])
            return cli_usage(args, "%s takes one word, the whole command in "
                                   "quotes", *next);
        return take_shell_command(run, next[1]);
    }
    if (*next && strcmp(*next, "--") == 0)
        next++;
    else if (*next && **next == '-')
        return cli_usage(args, "'%s' stands behind NAME, where the command "
                               "begins; options go before NAME", *next);
    if (*next && run->argv)
        return cli_usage(args, "-c is the whole command; '%s' is too much",
                         *next);
    if (*next)
        run->argv = next;
    return CLI_GO_ON;
}

/* A server that is given twice would have two votes: of one database, no owner could
 * get both; of two, one server alone would be most of them. This is what the text
 * shows before anything is connected; the acquire compares the servers themselves. */
static size_t first_duplicate(const struct cli_common *common)
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
    size_t n = run->allow_same_server ? 0 : first_duplicate(common);

    if (common->urls_count < 3)
        return cli_usage(args, "--quorum: give three servers or more, each "
                               "with a -u of its own");
    if (n > 0)
        return cli_usage(args, "--quorum: -u number %zu names a server that "
                               "an earlier -u names; each has one vote", n);
    return CLI_GO_ON;
}

/* What is held on several servers or under several names. */
static int check_sets(const struct cli_run_options *run,
                      const struct cli_args *args,
                      const struct cli_common *common)
{
    bool is_set = run->is_quorum || run->others_count > 0;

    if (!run->is_quorum && cli_common_one_server(common, args) != CLI_GO_ON)
        return CLI_TROUBLE;
    if (run->is_quorum && check_quorum(run, args, common) != CLI_GO_ON)
        return CLI_TROUBLE;
    if (run->allow_same_server && !run->is_quorum)
        return cli_usage(args, "--allow-same-server is for --quorum");
    if (run->is_quorum && run->others_count > 0)
        return cli_usage(args, "of --quorum and --multi, choose one");
    if (is_set && run->kind.permits > 0)
        return cli_usage(args, "--permits is for one lock on one server, not for "
                               "--multi or --quorum");
    if (run->others_count > 0 && run->kind.is_fenced)
        return cli_usage(args, "--fenced is for one lock, not for --multi");
    return CLI_GO_ON;
}

static int check(const struct cli_run_options *run,
                 const struct cli_args *args, bool has_ttl)
{
    if (!run->name)
        return cli_usage(args, "which lock? NAME and COMMAND are missing");
    if (!*run->name)
        return cli_usage(args, "NAME is empty");
    if (!run->argv)
        return cli_usage(args, "what shall run under '%s'? COMMAND is missing",
                         run->name);
    if (!*run->argv[0])
        return cli_usage(args, "COMMAND is empty");
    if (has_ttl && run->lease_ms > 0)
        return cli_usage(args, "--ttl is for renewed locks and --lease for "
                               "others; choose one");
    if ((run->lease_ms > 0 && run->at_least_ms > run->lease_ms) ||
        (run->max_hold_ms > 0 && run->at_least_ms > run->max_hold_ms))
        return cli_usage(args, "--at-least is longer than the lock is held "
                               "(--lease, --max-hold)");
    return CLI_GO_ON;
}

static int parse(struct cli_run_options *run, struct cli_args *args,
                 struct cli_common *common, const struct cli_option *own)
{
    bool has_ttl;
    int rc;

    *run = (struct cli_run_options){.kind = {.kind = HF_KIND_PLAIN},
                                    .wait_ms = HF_FOREVER,
                                    .conflict_code = CLI_NOT_ACQUIRED,
                                    .kill_after_ms = KILL_AFTER_MS,
                                    .lost_signal = SIGTERM,
                                    .status_fd = -1,
                                    .rest_ms = REST_MS};
    if ((rc = take_options(run, args, common, own)) != CLI_GO_ON)
        return rc;
    has_ttl = run->ttl_ms > 0;
    if (!has_ttl)
        run->ttl_ms = TTL_MS;
    if (run->name && (rc = take_command(run, args)) != CLI_GO_ON)
        return rc;
    if ((rc = check(run, args, has_ttl)) == CLI_GO_ON)
        rc = check_sets(run, args, common);
    return rc == CLI_GO_ON ? cli_kind_check(&run->kind, args) : rc;
}

int cli_run_options_parse(struct cli_run_options *run, struct cli_args *args,
                          struct cli_common *common)
{
    return parse(run, args, common, run_options);
}

int cli_elect_options_parse(struct cli_run_options *run, struct cli_args *args,
                            struct cli_common *common)
{
    return parse(run, args, common, elect_options);
}

/* ---- rules ---- */

/* A renewal is sent after a third of the TTL. Half of the TTL leaves a sixth
 * for the answer before the command is told to stop. */
static int64_t grace_ms(const struct cli_run_options *run)
{
    int64_t most = (run->lease_ms > 0 ? run->lease_ms : run->ttl_ms) / 2;

    return run->kill_after_ms < most ? run->kill_after_ms : most;
}

struct cli_run_rules cli_run_rules_of(const struct cli_run_options *run)
{
    return (struct cli_run_rules){.on_lost = run->on_lost,
                                  .kill_after_ms = run->kill_after_ms,
                                  .grace_ms = grace_ms(run),
                                  .max_hold_ms = run->max_hold_ms,
                                  .at_least_ms = run->at_least_ms,
                                  .conflict_code = run->conflict_code,
                                  .has_lease = run->lease_ms > 0};
}
