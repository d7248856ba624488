/* Signals as events: handlers note them, and a pipe tells the loop. */
#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

enum treatment { NOTE, IGNORE, NOTE_LATER };

/* `before` is restored in a child. */
static struct watched {
    int number;
    enum treatment treatment;
    volatile sig_atomic_t is_noted;
    struct sigaction before;
} watched[] = {{.number = SIGCHLD, .treatment = NOTE},
               {.number = SIGTERM, .treatment = NOTE},
               {.number = SIGINT, .treatment = NOTE},
               {.number = SIGHUP, .treatment = NOTE},
               {.number = SIGQUIT, .treatment = NOTE},
               {.number = SIGUSR1, .treatment = NOTE},
               {.number = SIGUSR2, .treatment = NOTE},
               {.number = SIGCONT, .treatment = NOTE},
               {.number = SIGTSTP, .treatment = NOTE_LATER},
               {.number = SIGPIPE, .treatment = IGNORE},
               {.number = SIGTTOU, .treatment = IGNORE}};

#define WATCHED (sizeof watched / sizeof *watched)

static int pipe_fd[2] = {-1, -1};
static sigset_t mask_before;
static sigset_t mask_ours;

/* ---- noting ---- */

static void note(int number)
{
    int saved = errno;
    ssize_t n;

    for (size_t i = 0; i < WATCHED; i++)
        if (watched[i].number == number)
            watched[i].is_noted = 1;
    n = write(pipe_fd[1], "", 1);
    (void)n; /* if it is full, it is readable already */
    errno = saved;
}

static void treat(const struct watched *w)
{
    struct sigaction ours = {.sa_flags = SA_RESTART};

    sigfillset(&ours.sa_mask);
    ours.sa_handler = w->treatment == IGNORE ? SIG_IGN : note;
    (void)sigaction(w->number, &ours, NULL); /* fails only for bad numbers */
}

/* With CHLD ignored there would be no exit code of the command. */
static bool stays_ignored(const struct watched *w)
{
    return w->before.sa_handler == SIG_IGN && w->number != SIGCHLD;
}

int cli_signals_open(void)
{
    sigset_t noted;

    if (pipe_fd[0] >= 0)
        return pipe_fd[0];
    if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    sigemptyset(&noted);
    for (size_t i = 0; i < WATCHED; i++) {
        (void)sigaction(watched[i].number, NULL, &watched[i].before);
        (void)sigaddset(&noted, watched[i].number);
        if (watched[i].treatment != NOTE_LATER && !stays_ignored(&watched[i]))
            treat(&watched[i]);
    }
    (void)sigprocmask(SIG_UNBLOCK, &noted, &mask_before);
    (void)sigprocmask(SIG_BLOCK, NULL, &mask_ours);
    return pipe_fd[0];
}

void cli_signals_note_stop(bool is_noted)
{
    for (size_t i = 0; i < WATCHED; i++) {
        if (watched[i].treatment != NOTE_LATER || stays_ignored(&watched[i]))
            continue;
        if (is_noted)
            treat(&watched[i]);
        else
            (void)sigaction(watched[i].number, &watched[i].before, NULL);
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

bool cli_signals_end_programs(int signal)
{
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
           signal == SIGQUIT;
}

int cli_signals_take_end(void)
{
    int signal, first = 0;

    while ((signal = cli_signals_take()) != 0)
        if (first == 0 && cli_signals_end_programs(signal))
            first = signal;
    return first;
}

/* ---- around a fork ---- */

void cli_signals_hold(void)
{
    sigset_t all;

    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
}

void cli_signals_resume(void)
{
    (void)sigprocmask(SIG_SETMASK, &mask_ours, NULL);
}

void cli_signals_inherit(void)
{
    for (size_t i = 0; i < WATCHED; i++)
        (void)sigaction(watched[i].number, &watched[i].before, NULL);
    (void)sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

/* ---- stopping ourselves ---- */

/* TSTP and not STOP: the kernel stops nobody by TSTP whose shell is gone, so
 * that we cannot get stuck. */
void cli_signals_suspend(void)
{
    cli_signals_note_stop(false);
    (void)kill(0, SIGTSTP);
    cli_signals_note_stop(true);
}

/* ---- dying ---- */

static bool was_ignored(int signal)
{
    for (size_t i = 0; i < WATCHED; i++)
        if (watched[i].number == signal)
            return watched[i].before.sa_handler == SIG_IGN;
    return false;
}

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
    (void)kill(for_all ? 0 : getpid(), signal);
}
