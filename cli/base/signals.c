/* Signals as events: handlers record them, and a pipe wakes the loop. */
/* Tests: tests/live/cli/test_run_signals.c, tests/live/cli/test_run_ends.c. */
#include "cli/base/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/base/command.h"

enum signal_treatment { NOTE_SIGNAL, IGNORE_SIGNAL, NOTE_SIGNAL_WHILE_STOPPABLE };

/* `action_before` is restored in a child. */
static struct watched_signal {
    int number;
    enum signal_treatment treatment;
    volatile sig_atomic_t is_noted;
    struct sigaction action_before;
} watched[] = {{.number = SIGCHLD, .treatment = NOTE_SIGNAL},
               {.number = SIGTERM, .treatment = NOTE_SIGNAL},
               {.number = SIGINT, .treatment = NOTE_SIGNAL},
               {.number = SIGHUP, .treatment = NOTE_SIGNAL},
               {.number = SIGQUIT, .treatment = NOTE_SIGNAL},
               {.number = SIGUSR1, .treatment = NOTE_SIGNAL},
               {.number = SIGUSR2, .treatment = NOTE_SIGNAL},
               {.number = SIGCONT, .treatment = NOTE_SIGNAL},
               {.number = SIGTSTP, .treatment = NOTE_SIGNAL_WHILE_STOPPABLE},
               {.number = SIGPIPE, .treatment = IGNORE_SIGNAL},
               {.number = SIGTTOU, .treatment = IGNORE_SIGNAL}};

#define WATCHED (sizeof watched / sizeof *watched)

static int pipe_fd[2] = {-1, -1};
static sigset_t mask_before;
static sigset_t mask_ours;
static struct sigaction alarm_before;
static bool has_begun;

/* What a signal that ends programs does when it arrives. */
static volatile sig_atomic_t ends_at_once;
static volatile sig_atomic_t reloads_on_hangup;
static volatile sig_atomic_t has_limit;
static volatile sig_atomic_t ends_by; /* the signal whose time runs; 0: none */
static const char *volatile last_words;

/* ---- dying ---- */

static bool was_ignored(int signal)
{
    for (size_t i = 0; i < WATCHED; i++)
        if (watched[i].number == signal)
            return watched[i].action_before.sa_handler == SIG_IGN;
    return false;
}

/* Called in handlers as well. The kernel drops a signal that PID 1 sends to
 * itself. */
void cli_signals_die(int signal, bool for_all)
{
    struct sigaction dying = {.sa_handler = SIG_DFL};
    sigset_t only;

    if (was_ignored(signal))
        return;
    (void)sigaction(signal, &dying, NULL);
    sigemptyset(&only);
    (void)sigaddset(&only, signal);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
    if (for_all)
        (void)kill(0, signal);
    (void)raise(signal);
    _exit(CLI_EXIT_SIGNAL + signal);
}

/* A standard error that takes nothing must not delay the end. */
static void write_last_words(void)
{
    const char *words = last_words;
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    ssize_t n;

    if (!words || poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT))
        return;
    n = write(STDERR_FILENO, words, strlen(words));
    (void)n;
}

/* ---- the limit ---- */

static void on_time_limit(int number)
{
    (void)number;
    if (ends_by == 0)
        return;
    write_last_words();
    cli_signals_die(ends_by, false);
}

static void set_limit_timer(int ms)
{
    struct itimerval timer = {.it_value = {.tv_usec = ms * 1000}};

    (void)setitimer(ITIMER_REAL, &timer, NULL); /* fails only for bad times */
}

static void start_time_limit(int signal)
{
    if (ends_by != 0)
        return;
    ends_by = signal;
    set_limit_timer(CLI_SIGNALS_LIMIT_MS);
}

static void stop_time_limit(void)
{
    if (ends_by == 0)
        return;
    ends_by = 0;
    set_limit_timer(0);
}

/* ---- noting ---- */

static void on_watched_signal(int number)
{
    int saved = errno;
    ssize_t n;

    if (cli_signals_ends_us(number)) {
        if (ends_at_once)
            cli_signals_die(number, false);
        if (has_limit)
            start_time_limit(number);
    }
    for (size_t i = 0; i < WATCHED; i++)
        if (watched[i].number == number)
            watched[i].is_noted = 1;
    n = write(pipe_fd[1], "", 1);
    (void)n; /* if it is full, it is readable already */
    errno = saved;
}

static void install_handler(const struct watched_signal *w)
{
    struct sigaction ours = {.sa_flags = SA_RESTART};

    sigfillset(&ours.sa_mask);
    ours.sa_handler = w->treatment == IGNORE_SIGNAL ? SIG_IGN : on_watched_signal;
    (void)sigaction(w->number, &ours, NULL); /* fails only for bad numbers */
}

/* With CHLD ignored there would be no exit code of the command. */
static bool must_stay_ignored(const struct watched_signal *w)
{
    return w->action_before.sa_handler == SIG_IGN && w->number != SIGCHLD;
}

/* All are blocked while one is handled. */
static void install_alarm_handler(void)
{
    struct sigaction ours = {.sa_flags = SA_RESTART, .sa_handler = on_time_limit};

    sigfillset(&ours.sa_mask);
    (void)sigaction(SIGALRM, &ours, NULL);
}

static void save_original_actions(void)
{
    (void)sigprocmask(SIG_BLOCK, NULL, &mask_before);
    for (size_t i = 0; i < WATCHED; i++)
        (void)sigaction(watched[i].number, NULL, &watched[i].action_before);
    (void)sigaction(SIGALRM, NULL, &alarm_before);
    has_begun = true;
}

void cli_signals_end_from_start(void)
{
    sigset_t ends;

    save_original_actions();
    ends_at_once = 1;
    sigemptyset(&ends);
    for (size_t i = 0; i < WATCHED; i++) {
        if (!cli_signals_is_end_signal(watched[i].number))
            continue;
        (void)sigaddset(&ends, watched[i].number);
        if (!must_stay_ignored(&watched[i]))
            install_handler(&watched[i]);
    }
    (void)sigprocmask(SIG_UNBLOCK, &ends, NULL);
}

int cli_signals_open(void)
{
    sigset_t noted;

    if (pipe_fd[0] >= 0)
        return pipe_fd[0];
    if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    if (!has_begun)
        save_original_actions();
    sigemptyset(&noted);
    for (size_t i = 0; i < WATCHED; i++) {
        (void)sigaddset(&noted, watched[i].number);
        if (watched[i].treatment != NOTE_SIGNAL_WHILE_STOPPABLE && !must_stay_ignored(&watched[i]))
            install_handler(&watched[i]);
    }
    install_alarm_handler();
    (void)sigaddset(&noted, SIGALRM);
    ends_at_once = 0;
    (void)sigprocmask(SIG_UNBLOCK, &noted, NULL);
    (void)sigprocmask(SIG_BLOCK, NULL, &mask_ours);
    return pipe_fd[0];
}

/* The first one that is noted and ends programs; 0: none is. */
static int first_noted_end_signal(void)
{
    for (size_t i = 0; i < WATCHED; i++)
        if (watched[i].is_noted && cli_signals_ends_us(watched[i].number))
            return watched[i].number;
    return 0;
}

bool cli_signals_has_end_signal(void)
{
    return first_noted_end_signal() != 0;
}

void cli_signals_end_at_once(bool on)
{
    int signal;

    ends_at_once = on;
    if (on && (signal = first_noted_end_signal()) != 0)
        cli_signals_die(signal, false);
}

void cli_signals_set_end_limit(bool on, const char *words)
{
    int signal;

    last_words = words;
    has_limit = on;
    if (!on)
        stop_time_limit();
    else if ((signal = first_noted_end_signal()) != 0)
        start_time_limit(signal);
}

/* Blocked, so that its handler does not start the time for another signal. */
void cli_signals_start_limit(int signal)
{
    cli_signals_block_all();
    start_time_limit(signal);
    cli_signals_unblock();
}

void cli_signals_record_stop(bool is_noted)
{
    for (size_t i = 0; i < WATCHED; i++) {
        if (watched[i].treatment != NOTE_SIGNAL_WHILE_STOPPABLE || must_stay_ignored(&watched[i]))
            continue;
        if (is_noted)
            install_handler(&watched[i]);
        else
            (void)sigaction(watched[i].number, &watched[i].action_before, NULL);
    }
}

int cli_signals_take(void)
{
    char sink[64];

    while (read(pipe_fd[0], sink, sizeof sink) > 0)
        continue;
    for (size_t i = 0; i < WATCHED; i++) {
        if (!watched[i].is_noted)
            continue;
        watched[i].is_noted = 0;
        return watched[i].number;
    }
    return 0;
}

bool cli_signals_is_end_signal(int signal)
{
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
           signal == SIGQUIT;
}

void cli_signals_reload_on_hangup(void)
{
    reloads_on_hangup = 1;
}

bool cli_signals_ends_us(int signal)
{
    return cli_signals_is_end_signal(signal) && !(signal == SIGHUP && reloads_on_hangup);
}

int cli_signals_take_end_signal(void)
{
    int signal, first = 0;

    while ((signal = cli_signals_take()) != 0)
        if (first == 0 && cli_signals_ends_us(signal))
            first = signal;
    return first;
}

/* ---- around a fork ---- */

void cli_signals_block_all(void)
{
    sigset_t all;

    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
}

void cli_signals_unblock(void)
{
    (void)sigprocmask(SIG_SETMASK, &mask_ours, NULL);
}

void cli_signals_restore_original(void)
{
    for (size_t i = 0; i < WATCHED; i++)
        (void)sigaction(watched[i].number, &watched[i].action_before, NULL);
    (void)sigaction(SIGALRM, &alarm_before, NULL);
    (void)sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

/* ---- stopping ourselves ---- */

/* TSTP, not STOP: the kernel stops no process by TSTP whose shell has ended, so that it
 * cannot stay stopped. */
void cli_signals_suspend(void)
{
    cli_signals_record_stop(false);
    (void)kill(0, SIGTSTP);
    cli_signals_record_stop(true);
}
