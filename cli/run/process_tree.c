/* The processes that descend from a command. */
#include "cli/run/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the group ---- */

static bool has_group(const struct cli_process_tree *tree)
{
    siginfo_t info;

    /* 0 would be our own. */
    return tree->first > 0 && waitid(P_PGID, (id_t)tree->first, &info,
                                     WEXITED | WNOHANG | WNOWAIT) == 0;
}

int cli_tree_signal(const struct cli_process_tree *tree, int signal)
{
    if (!has_group(tree))
        return 0;
    if (kill(-tree->first, signal) < 0)
        return errno; /* EPERM: the whole group runs as another user */
    if (signal == SIGTERM)
        (void)kill(-tree->first, SIGCONT);
    return 0;
}

/* ---- reaping ---- */

bool cli_tree_reap(struct cli_process_tree *tree, siginfo_t *info)
{
    siginfo_t other;

    for (;;) {
        memset(&other, 0, sizeof other);
        if (waitid(P_ALL, 0, &other, WEXITED | WNOHANG) < 0 ||
            other.si_pid == 0)
            return false;
        if (other.si_pid == tree->first && !tree->has_ended)
            break;
    }
    *info = other;
    tree->has_ended = true;
    return true;
}

#ifdef __linux__

#include <sys/prctl.h>

void cli_tree_adopt(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* fails before Linux 3.4 */
}

void cli_tree_die_with(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE); /* it died before we asked */
}

/* ---- children ---- */

typedef bool visitor(const struct cli_process_tree *tree, pid_t pid);

/* Calls `visit` for each number up to the last space. False: the visitor wants
 * no more. *left is how many bytes follow that space. */
static bool visit_numbers(const struct cli_process_tree *tree, visitor *visit,
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
        if (pid > 0 && !visit(tree, pid))
            return false;
        pid = 0;
    }
    *left = len - used;
    return true;
}

/* Visits each child of ours. The kernel needs CONFIG_PROC_CHILDREN, which
 * distributions set; without it, no child is found. A child that is missed
 * because the list changes is found next time: each change is a SIGCHLD. */
static void each_child(const struct cli_process_tree *tree, visitor *visit)
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
        if (!visit_numbers(tree, visit, text, len, &left))
            break;
        memmove(text, text + len - left, left);
        len = left;
    }
    (void)close(fd);
}

static bool is_meant(const struct cli_process_tree *tree, pid_t pid)
{
    return !tree->has_strangers && (tree->is_all || getsid(pid) == getsid(0));
}

static bool kill_one(const struct cli_process_tree *tree, pid_t pid)
{
    if (is_meant(tree, pid))
        (void)kill(pid, SIGKILL);
    return true;
}

static void kill_children(const struct cli_process_tree *tree)
{
    each_child(tree, kill_one);
}

/* What find_one has found. */
static bool is_found;

static bool find_one(const struct cli_process_tree *tree, pid_t pid)
{
    is_found = is_meant(tree, pid);
    return !is_found;
}

static bool has_children(const struct cli_process_tree *tree)
{
    is_found = false;
    each_child(tree, find_one);
    return is_found;
}

bool cli_tree_has_strangers(void)
{
    return has_children(&(struct cli_process_tree){.is_all = true});
}

#else

void cli_tree_adopt(void)
{
}

void cli_tree_die_with(pid_t parent)
{
    (void)parent;
}

static void kill_children(const struct cli_process_tree *tree)
{
    (void)tree;
}

static bool has_children(const struct cli_process_tree *tree)
{
    (void)tree;
    return false;
}

bool cli_tree_has_strangers(void)
{
    return false;
}

#endif

void cli_tree_kill(const struct cli_process_tree *tree)
{
    if (!tree->is_killed)
        return;
    (void)cli_tree_signal(tree, SIGKILL);
    kill_children(tree);
}

bool cli_tree_remain(const struct cli_process_tree *tree)
{
    return has_group(tree) || has_children(tree); /* we adopted all of it */
}
