/* The processes that descend from a command. */
/* Tests: tests/live/cli/test_run_signals.c, tests/live/cli/test_run_guard.c. */
#include "cli/run/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the group ---- */

static bool has_process_group(const struct cli_process_tree *tree)
{
    siginfo_t info;

    /* 0 would be our own. */
    return tree->first_pid > 0 && waitid(P_PGID, (id_t)tree->first_pid, &info,
                                         WEXITED | WNOHANG | WNOWAIT) == 0;
}

int cli_tree_signal(const struct cli_process_tree *tree, int signal)
{
    if (!has_process_group(tree))
        return 0;
    if (kill(-tree->first_pid, signal) < 0)
        return errno; /* EPERM: the whole group runs as another user */
    if (signal == SIGTERM)
        (void)kill(-tree->first_pid, SIGCONT);
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
        if (other.si_pid == tree->first_pid && !tree->has_ended)
            break;
    }
    *info = other;
    tree->has_ended = true;
    return true;
}

#ifdef __linux__

#include <sys/prctl.h>
#include <sys/syscall.h>

bool cli_tree_adopt(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0; /* fails before Linux 3.4 */
}

void cli_tree_die_with(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE); /* it ended before the query */
}

/* ---- children ---- */

#define CHILDREN_LIST "/proc/thread-self/children"

/* The numbers must be those of our own namespace. */
static bool is_our_proc(void)
{
    char text[24];
    ssize_t len = readlink("/proc/self", text, sizeof text);
    pid_t pid = 0;

    for (ssize_t i = 0; i < len; i++)
        pid = pid * 10 + (text[i] - '0');
    return len > 0 && pid == getpid();
}

/* A list without a child, though there is one, is not to be trusted. */
bool cli_tree_proc_lists_children(void)
{
    char c;
    int fd = is_our_proc() ? open(CHILDREN_LIST, O_RDONLY | O_CLOEXEC) : -1;
    bool has_list;

    if (fd < 0)
        return false;
    has_list = read(fd, &c, 1) > 0 || waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED |
                                             WNOHANG | WNOWAIT) != 0;
    (void)close(fd);
    return has_list;
}

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

/* Each child of ours in the list. The kernel needs CONFIG_PROC_CHILDREN, which
 * distributions set. A child that is missed because the list changes is found next
 * time: each change is a SIGCHLD. */
static void visit_listed_children(const struct cli_process_tree *tree, visitor *visit)
{
    int fd = open(CHILDREN_LIST, O_RDONLY | O_CLOEXEC);
    char text[2048];
    size_t len = 0;
    ssize_t n;

    while ((n = read(fd, text + len, sizeof text - len)) > 0) {
        size_t left;

        len += (size_t)n;
        if (!visit_numbers(tree, visit, text, len, &left))
            break;
        memmove(text, text + len - left, left);
        len = left;
    }
    if (fd >= 0)
        (void)close(fd);
}

/* ---- without a list ---- */

/* PID_MAX_LIMIT of Linux: no number is greater. */
#define PID_LIMIT 4194304

static bool is_child(idtype_t type, pid_t pid)
{
    siginfo_t info;

    return waitid(type, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* False: the visitor wants no more. */
static bool visit_range(const struct cli_process_tree *tree, visitor *visit,
                        pid_t first, pid_t last)
{
    for (pid_t pid = first; pid <= last; pid++)
        if (is_child(P_PID, pid) && !visit(tree, pid))
            return false;
    return true;
}

/* The number that the kernel gives to a process now; 0: there can be no other. The
 * process sends no SIGCHLD when it ends, which would have us look again. */
static pid_t create_newest_pid(void)
{
    siginfo_t info;
    pid_t pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);

    if (pid == 0)
        _exit(EXIT_SUCCESS);
    if (pid > 0)
        (void)waitid(P_PID, (id_t)pid, &info, WEXITED | __WALL);
    return pid > 0 ? pid : 0;
}

/* Numbers grow, and begin again at the limit. All that the command has started are
 * between its own and the newest, unless they have gone round since. */
static bool visit_recent(const struct cli_process_tree *tree, visitor *visit)
{
    pid_t newest = create_newest_pid();

    if (newest >= tree->first_pid)
        return visit_range(tree, visit, tree->first_pid, newest);
    return visit_range(tree, visit, tree->first_pid, PID_LIMIT) &&
           visit_range(tree, visit, 1, newest);
}

/* Has the visitor of `visit_children` met a child that counts? */
static bool has_met;

/* All numbers, which may take seconds, only if a child counts that has none of the
 * recent ones: the numbers have gone round. With daemons that do not count, nothing
 * shows that one is missing. */
static void visit_tried_children(const struct cli_process_tree *tree, visitor *visit)
{
    has_met = false;
    if (is_child(P_ALL, 0) && visit_recent(tree, visit) && !has_met &&
        tree->includes_other_sessions)
        (void)visit_range(tree, visit, 1, PID_LIMIT);
}

/* ---- both ways ---- */

static void visit_children(const struct cli_process_tree *tree, visitor *visit)
{
    if (cli_tree_proc_lists_children())
        visit_listed_children(tree, visit);
    else
        visit_tried_children(tree, visit);
}

static bool is_process_of_command(const struct cli_process_tree *tree, pid_t pid)
{
    return !tree->has_strangers && (tree->includes_other_sessions || getsid(pid) == getsid(0));
}

static bool kill_if_of_command(const struct cli_process_tree *tree, pid_t pid)
{
    if (!is_process_of_command(tree, pid))
        return true;
    has_met = true;
    (void)kill(pid, SIGKILL);
    return true;
}

static void kill_children(const struct cli_process_tree *tree)
{
    visit_children(tree, kill_if_of_command);
}

static bool find_process_of_command(const struct cli_process_tree *tree, pid_t pid)
{
    has_met = is_process_of_command(tree, pid);
    return !has_met;
}

static bool has_children(const struct cli_process_tree *tree)
{
    if (tree->has_strangers || !is_child(P_ALL, 0))
        return false;
    has_met = tree->includes_other_sessions;
    if (!has_met)
        visit_children(tree, find_process_of_command);
    return has_met;
}

bool cli_tree_has_strangers(void)
{
    return is_child(P_ALL, 0);
}

#else

bool cli_tree_adopt(void)
{
    return false;
}

bool cli_tree_proc_lists_children(void)
{
    return false;
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
    if (!tree->kills_adopted)
        return;
    (void)cli_tree_signal(tree, SIGKILL);
    kill_children(tree);
}

bool cli_tree_has_processes(const struct cli_process_tree *tree)
{
    return has_process_group(tree) || has_children(tree); /* we adopted all of it */
}
