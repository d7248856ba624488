/* Notices of the command for systemd. */
/* Tests: tests/live/cli/test_run_service.c. */
#include "cli/run/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/base/report.h"
#include "net/base/random.h"
#include "net/loop/clock.h"

/* Notices of one turn of the loop; the rest wait for the next one. */
#define NOTICES_MAX 16
/* The pause before a notice is sent again, after the queue of systemd was full. */
#define RETRY_MS 10
/* How long the last notices wait for systemd. The loop does not run meanwhile. */
#define LAST_NOTICES_MS 1000
/* Generations between holdfast and a process that sends. */
#define GENERATIONS_MAX 64

union control {
    struct cmsghdr head;        /* for its alignment */
    char room[CMSG_SPACE(sizeof(struct ucred)) +
              CMSG_SPACE(CLI_NOTICE_FDS_MAX * sizeof(int))];
};

/* ---- to systemd ---- */

/* A path, or '@' and a name in the abstract namespace. False: it is neither. */
static bool read_address(struct sockaddr_un *at, socklen_t *size, const char *text)
{
    size_t len = strlen(text);

    if ((text[0] != '/' && text[0] != '@') || len < 2 || len >= sizeof at->sun_path)
        return false;
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(at->sun_path, text, len);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    if (text[0] == '@')
        at->sun_path[0] = '\0';
    else
        *size += 1;
    return true;
}

/* -1: there is no service manager, or it cannot be reached in this way. */
static int connect_to_systemd(void)
{
    const char *text = getenv(CLI_ENV_NOTIFY);
    struct sockaddr_un at;
    socklen_t size;
    int fd;

    if (!text || !read_address(&at, &size, text))
        return -1;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, size) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void discard_notice(struct cli_notify *n)
{
    for (size_t i = 0; i < n->fds_count; i++)
        (void)close(n->fds[i]);
    n->notice_len = n->fds_count = 0;
}

/* Sends the notice that is under way. False: the queue is full. */
static bool send_pending_notice(struct cli_notify *n)
{
    size_t size = n->fds_count * sizeof(int);
    union control control;
    struct iovec part = {.iov_base = n->notice_text, .iov_len = n->notice_len};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    struct cmsghdr *c;

    if (size > 0) {
        memset(&control, 0, sizeof control);
        m.msg_control = &control;
        /* These lengths are socklen_t in musl, and size_t in glibc. */
        m.msg_controllen = (socklen_t)CMSG_SPACE(size);
        c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = (socklen_t)CMSG_LEN(size);
        memcpy(CMSG_DATA(c), n->fds, size);
    }
    if (sendmsg(n->systemd_fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        (errno == EAGAIN || errno == ENOBUFS))
        return false;
    discard_notice(n); /* it was sent, or the service manager cannot receive it */
    return true;
}

/* ---- who sent it ---- */

/* 0: unknown. The name in parentheses may contain anything. */
static pid_t parent_of_process(pid_t pid)
{
    char path[32], text[512];
    const char *end;
    ssize_t len = -1;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        len = read(fd, text, sizeof text - 1);
        (void)close(fd);
    }
    if (len <= 0)
        return 0;
    text[len] = '\0';
    end = strrchr(text, ')');
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

static bool descends_from_us(pid_t pid)
{
    for (int i = 0; pid > 1 && i < GENERATIONS_MAX; i++) {
        pid = parent_of_process(pid);
        if (pid == getpid())
            return true;
    }
    return false;
}

/* Accepts notices of this user and of root, who could also send them to systemd directly; and
 * those of a command that has changed its user. Such a sender must still run, as systemd also
 * requires: only a running process has a parent that can be looked up. */
static bool is_sender_permitted(const struct ucred *who)
{
    return who->uid == geteuid() || who->uid == 0 || descends_from_us(who->pid);
}

/* ---- from the command ---- */

/* Lines of this name are left out. */
#define MAIN_PID_PREFIX "MAINPID"

static size_t without_main_pid(char *text, size_t len)
{
    size_t kept = 0, at = 0;

    while (at < len) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line = end ? (size_t)(end - (text + at)) + 1 : len - at;

        if (line < sizeof MAIN_PID_PREFIX - 1 ||
            memcmp(text + at, MAIN_PID_PREFIX, sizeof MAIN_PID_PREFIX - 1) != 0) {
            memmove(text + kept, text + at, line);
            kept += line;
        }
        at += line;
    }
    return kept;
}

static void store_received_fds(struct cli_notify *n, const struct cmsghdr *c)
{
    size_t size = c->cmsg_len - CMSG_LEN(0);

    memcpy(n->fds, CMSG_DATA(c), size);
    n->fds_count = size / sizeof(int);
}

/* musl's CMSG_NXTHDR converts signs. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"

/* False: the message was cut, and is not forwarded. */
static bool read_control_messages(struct cli_notify *n, struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            store_received_fds(n, c);
    return !(m->msg_flags & (MSG_TRUNC | MSG_CTRUNC));
}

#pragma GCC diagnostic pop

/* Reads the credentials of the sender of the next message, which remains in the queue. There is
 * room for the credentials alone, so that descriptors in the message are not opened here.
 * False: there is no message. */
static bool peek_sender(const struct cli_notify *n, struct ucred *who)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct msghdr m = {.msg_control = &control, .msg_controllen = sizeof control};
    const struct cmsghdr *c;

    *who = (struct ucred){.uid = (uid_t)-1};
    if (recvmsg(n->command_io.fd, &m, MSG_PEEK | MSG_CMSG_CLOEXEC | MSG_DONTWAIT) < 0)
        return false;
    c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
        memcpy(who, CMSG_DATA(c), sizeof *who);
    return true;
}

/* Receives a notice, or drops one that is not permitted. False: there is none. Closing a
 * descriptor may take long (FUSE, SO_LINGER), so the descriptors of another program are never
 * received. The command can delay only its own lock by descriptors that it sends. */
static bool receive_notice(struct cli_notify *n)
{
    struct ucred who;
    union control control;
    struct iovec part = {.iov_base = n->notice_text, .iov_len = sizeof n->notice_text};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    ssize_t len;

    if (!peek_sender(n, &who))
        return false;
    if (!is_sender_permitted(&who))
        return recv(n->command_io.fd, n->notice_text, sizeof n->notice_text, MSG_DONTWAIT) >= 0;
    len = recvmsg(n->command_io.fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (len < 0)
        return false;
    if (read_control_messages(n, &m))
        n->notice_len = without_main_pid(n->notice_text, (size_t)len);
    if (n->notice_len == 0)
        discard_notice(n);
    return true;
}

/* ---- turns ---- */

static void on_notice(struct hf_io *io, int events)
{
    struct cli_notify *n = HF_OWNER_OF(io, struct cli_notify, command_io);

    (void)events;
    n->is_due = true;
    hf_loop_rewatch(n->loop, io, 0); /* until it is handled */
}

static void on_retry_timer(struct hf_timer *timer)
{
    HF_OWNER_OF(timer, struct cli_notify, timer)->is_due = true;
}

/* False: the queue of systemd is full. */
static bool send_notice_to_systemd(struct cli_notify *n, int count)
{
    while (count-- > 0) {
        if (n->notice_len == 0 && !receive_notice(n))
            return true;
        if (n->notice_len > 0 && !send_pending_notice(n))
            return false;
    }
    return true;
}

void cli_notify_after_turn(struct cli_notify *n)
{
    bool has_room;

    if (!n->loop || !n->is_due)
        return;
    n->is_due = false;
    has_room = send_notice_to_systemd(n, NOTICES_MAX);
    hf_loop_lock(n->loop);
    if (has_room)
        hf_loop_rewatch(n->loop, &n->command_io, HF_READ);
    else
        hf_loop_arm(n->loop, &n->timer, hf_clock_ms() + RETRY_MS);
    hf_loop_unlock(n->loop);
}

/* Forwards the last notices of a command that has ended, such as STOPPING=1, also if systemd is
 * busy for a moment. */
static void forward_last_notices(struct cli_notify *n)
{
    struct pollfd out = {.fd = n->systemd_fd, .events = POLLOUT};
    int64_t end_ms = hf_clock_ms() + LAST_NOTICES_MS;
    int64_t left_ms;

    while (!send_notice_to_systemd(n, NOTICES_MAX * NOTICES_MAX) &&
           (left_ms = end_ms - hf_clock_ms()) > 0)
        (void)poll(&out, 1, (int)left_ms);
}

/* ---- open, close ---- */

#define SOCKET_NAME "0123456789abcdef" /* has the length of a socket's name */

/* A command of root may become another user, and must reach the socket then. Others cannot
 * find it: they may not list its folder, and its name is random. */
static bool must_serve_other_users(void)
{
    return geteuid() == 0;
}

/* Makes our folder in `parent`; if a variable lists several folders, in the first one. */
static bool make_folder(struct cli_notify *n, const char *parent)
{
    size_t len = parent ? strcspn(parent, ":") : 0;
    int size = len > 0 ? snprintf(n->folder, sizeof n->folder, "%.*s/holdfast-XXXXXX",
                                  (int)len, parent)
                       : 0;

    if (size > 0 && (size_t)size + sizeof "/" SOCKET_NAME <= sizeof n->socket_path &&
        mkdtemp(n->folder)) {
        if (must_serve_other_users())
            (void)chmod(n->folder, 0711);
        return true;
    }
    n->folder[0] = '\0';
    return false;
}

/* With ProtectSystem=strict a service may be able to write only to the last one. */
static bool make_first_possible_folder(struct cli_notify *n)
{
    return make_folder(n, getenv("RUNTIME_DIRECTORY")) ||
           make_folder(n, getenv("XDG_RUNTIME_DIR")) ||
           make_folder(n, getenv("TMPDIR")) || make_folder(n, "/tmp") ||
           make_folder(n, "/dev/shm");
}

static bool choose_name(struct cli_notify *n)
{
    uint64_t random;

    if (!hf_random_bytes(&random, sizeof random))
        return false;
    (void)snprintf(n->socket_path, sizeof n->socket_path, "%.*s/%016" PRIx64,
                   (int)(sizeof n->socket_path - sizeof "/" SOCKET_NAME), n->folder, random);
    return true;
}

/* /proc/net/unix shows all users the name that was bound, but not the name that the socket has
 * after a rename. */
static bool rename_bound_socket(struct cli_notify *n)
{
    char bound[sizeof n->socket_path];

    memcpy(bound, n->socket_path, sizeof bound);
    if (choose_name(n) && rename(bound, n->socket_path) == 0)
        return true;
    (void)unlink(bound);
    return false;
}

/* Returns the command's end; -1: there is none. */
static int open_command_socket(struct cli_notify *n)
{
    const int on = 1;
    struct sockaddr_un at;
    socklen_t size;
    int fd;

    if (!make_first_possible_folder(n) || !choose_name(n) ||
        !read_address(&at, &size, n->socket_path))
        return -1;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, size) == 0 &&
        chmod(n->socket_path, must_serve_other_users() ? 0666 : 0600) == 0 &&
        rename_bound_socket(n) &&
        setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static bool watch_socket(struct cli_notify *n, struct hf_loop *loop)
{
    bool is_watched;

    n->timer.fire = on_retry_timer;
    n->command_io = (struct hf_io){.fd = open_command_socket(n), .events = HF_READ,
                                   .ready = on_notice};
    if (n->command_io.fd < 0)
        return false;
    hf_loop_lock(loop);
    is_watched = hf_loop_watch(loop, &n->command_io) == HF_OK;
    hf_loop_unlock(loop);
    if (!is_watched)
        (void)close(n->command_io.fd);
    return is_watched;
}

void cli_notify_open(struct cli_notify *n, struct hf_loop *loop)
{
    if (n->loop || (n->systemd_fd = connect_to_systemd()) < 0)
        return;
    if (watch_socket(n, loop)) {
        n->loop = loop;
        return;
    }
    cli_warn("no folder for the command's notices to systemd (" CLI_ENV_NOTIFY "): the "
             "service needs NotifyAccess=all");
    cli_notify_remove(n);
    (void)close(n->systemd_fd);
}

const char *cli_notify_value(const struct cli_notify *n)
{
    return n->loop ? n->socket_path : getenv(CLI_ENV_NOTIFY);
}

void cli_notify_remove(const struct cli_notify *n)
{
    if (!n->folder[0])
        return;
    (void)unlink(n->socket_path);
    (void)rmdir(n->folder);
}

void cli_notify_close(struct cli_notify *n)
{
    if (!n->loop)
        return;
    forward_last_notices(n);
    discard_notice(n);
    hf_loop_lock(n->loop);
    hf_loop_disarm(n->loop, &n->timer);
    hf_loop_unwatch(n->loop, &n->command_io);
    hf_loop_unlock(n->loop);
    (void)close(n->command_io.fd);
    (void)close(n->systemd_fd);
    cli_notify_remove(n);
    n->loop = NULL;
}
