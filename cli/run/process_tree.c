/* The processes that descend from a command. */
#include "cli/run/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the group ---- */

static bool has_group(const struct cli_kin *kin)
{
    siginfo_t info;

    /* 0 would be our own. */
    return kin->first > 0 && waitid(P_PGID, (id_t)kin->first, &info,
                                    WEXITED | WNOHANG | WNOWAIT) == 0;
}

int cli_kin_signal(const struct cli_kin *kin, int signal)
{
    if (!has_group(kin))
        return 0;
    if (kill(-kin->first, signal) < 0)
        return errno; /* EPERM: all of it runs as another user */
    if (signal == SIGTERM)
        (void)kill(-kin->first, SIGCONT);
    return 0;
}

/* ---- reaping ---- */

bool cli_kin_reap(struct cli_kin *kin, siginfo_t *info)
{
    siginfo_t other;

    for (;;) {
        memset(&other, 0, sizeof other);
        if (waitid(P_ALL, 0, &other, WEXITED | WNOHANG) < 0 ||
            other.si_pid == 0)
            return false;
        if (other.si_pid == kin->first && !kin->has_ended)
            break;
    }
    *info = other;
    kin->has_ended = true;
    return true;
}

#ifdef __linux__

#include <sys/prctl.h>

void cli_kin_adopt(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* before Linux 3.4: no such luck */
}

void cli_kin_die_with(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE); /* it died before we asked */
}

/* ---- children ---- */

typedef bool visitor(const struct cli_kin *kin, pid_t pid);

/* Calls `visit` for each number in what has been read, up to the last space;
 * false: it wants no more. Returns by *left what is behind that. */
static bool visit_numbers(const struct cli_kin *kin, visitor *visit,
                          const char *text, size_t len, size_t *left)
{
    pid_t pid = 0;
    size_t used = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            pid = pid * 10 + (text[i] - '0');
            continue;
        }
        used = i + 1;
        if (pid > 0 && !visit(kin, pid))
            return false;
        pid = 0;
    }
    *left = len - used;
    return true;
}

/* Each child of ours. The kernel needs CONFIG_PROC_CHILDREN, which distributions
 * have; without, there are none. One that is missed because the list changes
 * meanwhile is found at the next look, for a change is a SIGCHLD. */
static void each_child(const struct cli_kin *kin, visitor *visit)
{
    int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    char text[2048];
    size_t len = 0;
    ssize_t n;

    if (fd < 0)
        return;
    while ((n = read(fd, text + len, sizeof text - len)) > 0) {
        size_t left;

        len += (size_t)n;
        if (!visit_numbers(kin, visit, text, len, &left))
            break;
        memmove(text, text + len - left, left);
        len = left;
    }
    (void)close(fd);
}

static bool is_meant(const struct cli_kin *kin, pid_t pid)
{
    return !kin->has_strangers && (kin->is_all || getsid(pid) == getsid(0));
}

static bool kill_one(const struct cli_kin *kin, pid_t pid)
{
    if (is_meant(kin, pid))
        (void)kill(pid, SIGKILL);
    return true;
}

static void kill_children(const struct cli_kin *kin)
{
    each_child(kin, kill_one);
}

/* The visitor has no other way to tell. */
static bool is_found;

static bool find_one(const struct cli_kin *kin, pid_t pid)
{
    is_found = is_meant(kin, pid);
    return !is_found;
}

static bool has_children(const struct cli_kin *kin)
{
    is_found = false;
    each_child(kin, find_one);
    return is_found;
}

bool cli_kin_has_strangers(void)
{
    return has_children(&(struct cli_kin){.is_all = true});
}

#else

void cli_kin_adopt(void)
{
}

void cli_kin_die_with(pid_t parent)
{
    (void)parent;
}

static void kill_children(const struct cli_kin *kin)
{
    (void)kin;
}

static bool has_children(const struct cli_kin *kin)
{
    (void)kin;
    return false;
}

bool cli_kin_has_strangers(void)
{
    return false;
}

#endif

void cli_kin_kill(const struct cli_kin *kin)
{
    if (!kin->is_killed)
        return;
    (void)cli_kin_signal(kin, SIGKILL);
    kill_children(kin);
}

bool cli_kin_remain(const struct cli_kin *kin)
{
    return has_group(kin) || has_children(kin); /* we adopted all of it */
}
