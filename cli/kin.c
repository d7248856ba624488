/* Kinship between holdfast and the command. */
#include "cli/kin.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

bool cli_kin_has_group(pid_t group)
{
    siginfo_t info;

    /* 0 would be our own. */
    return group > 0 && waitid(P_PGID, (id_t)group, &info,
                               WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void kill_group(pid_t group)
{
    if (cli_kin_has_group(group))
        (void)kill(-group, SIGKILL);
}

#ifdef __linux__

#include <sys/prctl.h>

/* Children that we had before the command: a shell that executed us may leave
 * us its own. Then we cannot tell whose an adopted process is, and only the
 * group counts. */
static bool has_others;

/* Calls `visit` with each child of ours until it says false. The kernel needs
 * CONFIG_PROC_CHILDREN, which distributions have; without, there are none. */
static void each_child(bool (*visit)(void *ctx, pid_t pid), void *ctx)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    int pid;

    if (!file)
        return;
    while (fscanf(file, "%d", &pid) == 1 && visit(ctx, (pid_t)pid))
        continue;
    (void)fclose(file);
}

static bool is_found(void *ctx, pid_t pid)
{
    (void)pid;
    *(bool *)ctx = true;
    return false;
}

void cli_kin_adopt(void)
{
    each_child(is_found, &has_others);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* before Linux 3.4: no such luck */
}

void cli_kin_die_with(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE); /* it died before we asked */
}

static bool is_in_our_session(pid_t pid)
{
    return !has_others && getsid(pid) == getsid(0);
}

static bool is_kin(void *ctx, pid_t pid)
{
    if (!is_in_our_session(pid))
        return true;
    *(bool *)ctx = true;
    return false;
}

bool cli_kin_remain(pid_t group)
{
    bool is_any = cli_kin_has_group(group); /* we adopted all of it */

    if (!is_any)
        each_child(is_kin, &is_any);
    return is_any;
}

static bool kill_kin(void *ctx, pid_t pid)
{
    (void)ctx;
    if (is_in_our_session(pid))
        (void)kill(pid, SIGKILL);
    return true;
}

void cli_kin_kill(pid_t group)
{
    kill_group(group);
    each_child(kill_kin, NULL);
}

#else

void cli_kin_adopt(void)
{
}

void cli_kin_die_with(pid_t parent)
{
    (void)parent;
}

bool cli_kin_remain(pid_t group)
{
    (void)group;
    return false;
}

void cli_kin_kill(pid_t group)
{
    kill_group(group);
}

#endif
