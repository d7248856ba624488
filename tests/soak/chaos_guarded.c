/* Runs of "holdfast run" in make chaos. The command is chaos_sets, which says while it
 * lives that it believes. */
#include "tests/soak/chaos_guarded.h"

#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/soak/chaos_sets.h"
#include "tests/support/dice.h"
#include "tests/support/local.h"

#define HOLDFAST HF_BUILD "/holdfast"
#define ACTS HF_BUILD "/tests/soak/chaos_sets"

static void set_sigterm(int how)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigprocmask(how, &set, NULL);
}

/* Until it executes, it has the handler of libcheck, which passes SIGTERM on to the whole
 * test: SIGTERM is blocked (start) until it has its own effect. */
static _Noreturn void be_run(char **argv)
{
    int null = open("/dev/null", O_RDWR);

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)setpgid(0, 0); /* what ends it is passed on to its group */
    (void)signal(SIGTERM, SIG_DFL);
    set_sigterm(SIG_UNBLOCK);
    for (int fd = 0; fd < 3; fd++)
        (void)dup2(null, fd);
    (void)execv(argv[0], argv);
    _exit(127);
}

/* Each second run goes through the proxy of the other side. */
static void start(struct run *r, int i)
{
    struct run_worker *g = &r->guarded[i];
    char url[64], source[16], path[RUN_PATH_ROOM], seed[24];
    char *argv[] = {(char *)HOLDFAST, (char *)"run", (char *)"-u", url,
                    (char *)"--ttl", (char *)"3s", (char *)"-w", (char *)"3s",
                    (char *)"-k", (char *)"100ms",
                    (char *)CHAOS_SETS_RUN, (char *)"--", (char *)ACTS,
                    (char *)CHAOS_SETS_ACT, source, path, seed, NULL};

    ck_assert_uint_lt(r->clients, RUN_CLIENTS_MAX);
    g->client = ++r->clients;
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?timeout=1s",
                   proxy_port(r->place->proxies[0][i % PLACE_SIDES]));
    (void)snprintf(source, sizeof source, "c%u", g->client);
    (void)snprintf(seed, sizeof seed, "%" PRIu64, dice_bits(&r->seed));
    (void)run_path(r, "client", g->client, path);
    set_sigterm(SIG_BLOCK);
    g->pid = fork();
    if (g->pid == 0)
        be_run(argv);
    set_sigterm(SIG_UNBLOCK);
    ck_assert_int_ge(g->pid, 0);
}

void guarded_start(struct run *r)
{
    if (!r->place->is_independent)
        return;
    for (int i = 0; i < RUN_GUARDED; i++)
        if (!r->guarded[i].pid || waitpid(r->guarded[i].pid, NULL, WNOHANG) != 0)
            start(r, i);
}

/* The only child of holdfast; 0: it has none now. */
static pid_t guardian_of(pid_t holdfast)
{
    char path[64];
    FILE *in;
    int pid = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)holdfast,
                   (int)holdfast);
    if ((in = fopen(path, "r"))) {
        if (fscanf(in, "%d", &pid) != 1)
            pid = 0;
        (void)fclose(in);
    }
    return pid;
}

static pid_t choose(struct run *r, bool is_guardian)
{
    pid_t pid = r->guarded[dice_of(&r->seed, RUN_GUARDED)].pid;

    return is_guardian ? guardian_of(pid) : pid;
}

void guarded_stopped(struct run *r, bool is_guardian, int64_t ms)
{
    pid_t pid = choose(r, is_guardian);

    if (pid <= 0)
        return;
    (void)kill(pid, SIGSTOP);
    local_rest_us(ms * 1000);
    (void)kill(pid, SIGCONT);
}

void guarded_killed(struct run *r, bool is_guardian)
{
    pid_t pid = choose(r, is_guardian);

    if (pid > 0)
        (void)kill(pid, SIGKILL);
}

void guarded_end(struct run *r)
{
    for (int i = 0; r->place->is_independent && i < RUN_GUARDED; i++)
        if (r->guarded[i].pid) {
            (void)kill(r->guarded[i].pid, SIGTERM);
            (void)waitpid(r->guarded[i].pid, NULL, 0);
            r->guarded[i].pid = 0;
        }
}
