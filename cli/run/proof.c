/* The proof that a run is inside another. See proof.h. */
/* Tests: tests/live/cli/test_run_inside.c. */
#include "cli/run/proof.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/loop/clock.h"

/* The descriptors of a request: the notice, and the socket for the reply. */
#define FDS 2
/* Requests of one turn of the loop; the rest wait for the next one. */
#define CALLS_MAX 16
/* A run that is stopped does not reply. */
#define REPLY_MS 5000
/* The queue of a socket is short: how soon a request is sent again. */
#define RETRY_MS 10

/* A request: this, and the name. */
struct proof_request {
    char owner[HF_OWNER_TEXT_MAX];
};

struct reply_to_proof {
    int64_t is_held;
    int64_t token;
};

union fds {
    struct cmsghdr head;        /* for its alignment */
    char room[CMSG_SPACE(FDS * sizeof(int))];
};

/* ---- addresses ---- */

/* The kernel chooses five hexadecimal digits (unix(7), "Autobind feature"). */
static void write_socket_address(char dst[CLI_PROOF_ADDRESS_MAX], int fd)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t size = sizeof at;
    size_t len;

    *dst = '\0';
    if (getsockname(fd, (struct sockaddr *)&at, &size) < 0 ||
        size <= offsetof(struct sockaddr_un, sun_path) + 1)
        return;
    len = size - offsetof(struct sockaddr_un, sun_path) - 1;
    if (at.sun_path[0] != '\0' || len >= CLI_PROOF_ADDRESS_MAX)
        return;
    memcpy(dst, at.sun_path + 1, len);
    dst[len] = '\0';
}

static socklen_t read_address(struct sockaddr_un *at, const char *text)
{
    size_t len = strlen(text);

    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(at->sun_path + 1, text, len);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

/* ---- the server ---- */

static void on_proof_call(struct hf_io *io, int events)
{
    struct cli_proof_server *server = HF_OWNER_OF(io, struct cli_proof_server, io);

    (void)events;
    server->has_call = true;
    hf_loop_rewatch(server->loop, io, 0); /* until it is handled */
}

static int open_socket(void)
{
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof any.sun_family) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

void cli_proof_server_open(struct cli_proof_server *server, struct hf_loop *loop, int notice_fd,
                           cli_proof_holds *holds, void *ctx)
{
    *server = (struct cli_proof_server){.loop = loop,
                                        .notice_fd = notice_fd,
                                        .holds_lock = holds,
                                        .ctx = ctx,
                                        .io = {.fd = open_socket(),
                                               .events = HF_READ,
                                               .ready = on_proof_call}};
    if (server->io.fd < 0)
        return;
    hf_loop_lock(loop);
    if (hf_loop_watch(loop, &server->io) < 0) {
        (void)close(server->io.fd);
        server->io.fd = -1;
    }
    hf_loop_unlock(loop);
    if (server->io.fd >= 0)
        write_socket_address(server->address, server->io.fd);
}

void cli_proof_server_close(struct cli_proof_server *server)
{
    if (server->io.fd < 0)
        return;
    hf_loop_lock(server->loop);
    hf_loop_unwatch(server->loop, &server->io);
    hf_loop_unlock(server->loop);
    (void)close(server->io.fd);
    server->io.fd = -1;
}

/* ---- a request is received ---- */

static bool is_same_pipe(int a, int b)
{
    struct stat one, other;

    return fstat(a, &one) == 0 && fstat(b, &other) == 0 &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static void reply_to_proof(struct cli_proof_server *server, const char *text, size_t len,
                           const int fds[FDS])
{
    struct proof_request request;
    struct reply_to_proof said = {0};

    if (len <= sizeof request || !is_same_pipe(fds[0], server->notice_fd))
        return; /* a stranger: the sockets' end is the reply */
    memcpy(&request, text, sizeof request);
    request.owner[sizeof request.owner - 1] = '\0';
    said.is_held = server->holds_lock(server->ctx, text + sizeof request,
                                      len - sizeof request, request.owner, &said.token);
    (void)send(fds[1], &said, sizeof said, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* All that were received, to be closed. Returns how many. */
static int receive_fds(struct msghdr *m, int fds[FDS])
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    size_t size;

    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return 0;
    size = c->cmsg_len - CMSG_LEN(0);
    memcpy(fds, CMSG_DATA(c), size);
    return (int)(size / sizeof *fds);
}

/* False: there is no more. */
static bool receive_call(struct cli_proof_server *server, char *text, size_t room)
{
    union fds control;
    struct iovec part = {.iov_base = text, .iov_len = room};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    ssize_t len = recvmsg(server->io.fd, &m, MSG_CMSG_CLOEXEC);
    int fds[FDS], count;

    if (len < 0)
        return false;
    count = receive_fds(&m, fds);
    if (count == FDS && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        reply_to_proof(server, text, (size_t)len, fds);
    for (int i = 0; i < count; i++)
        (void)close(fds[i]);
    return true;
}

void cli_proof_server_after_turn(struct cli_proof_server *server)
{
    size_t room = sizeof(struct proof_request) + HF_LOCK_NAME_MAX;
    char *text;

    if (!server->has_call || server->io.fd < 0)
        return;
    server->has_call = false;
    text = malloc(room); /* without memory the request is repeated */
    for (int i = 0; text && i < CALLS_MAX && receive_call(server, text, room); i++)
        continue;
    free(text);
    hf_loop_lock(server->loop);
    hf_loop_rewatch(server->loop, &server->io, HF_READ);
    hf_loop_unlock(server->loop);
}

/* ---- the other side ---- */

static void on_proof_reply(struct hf_io *io, int events)
{
    struct cli_proof *proof = HF_OWNER_OF(io, struct cli_proof, io);

    (void)events;
    proof->is_due = true;
    hf_loop_rewatch(proof->loop, io, 0);
}

static void on_proof_timer(struct hf_timer *timer)
{
    HF_OWNER_OF(timer, struct cli_proof, timer)->is_due = true;
}

/* Sends the request. 0 or errno. */
static int send_proof_request(const struct cli_proof *p, int fd)
{
    struct proof_request request = {{0}};
    union fds control;
    struct sockaddr_un at;
    struct iovec parts[2] = {{.iov_base = &request, .iov_len = sizeof request},
                             {.iov_base = (void *)p->name, .iov_len = p->name_len}};
    struct msghdr m = {.msg_name = &at,
                       .msg_namelen = read_address(&at, p->address),
                       .msg_iov = parts,
                       .msg_iovlen = 2,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    memset(&control, 0, sizeof control);
    (void)strcpy(request.owner, p->owner);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(FDS * sizeof(int));
    memcpy(CMSG_DATA(c), (int[FDS]){p->notice_fd, p->passed_fd},
           FDS * sizeof(int));
    return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
}

/* The end that was passed on is also closed here, so that its peer is seen to close
 * when the outer run closes its copy. False: this run has no outer run. */
static bool send_request(struct cli_proof *p)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int err = fd < 0 ? errno : send_proof_request(p, fd);

    if (fd >= 0)
        (void)close(fd);
    if (err != 0)
        return err == EAGAIN || err == ENOBUFS; /* its queue is full */
    p->is_sent = true;
    (void)close(p->passed_fd);
    p->passed_fd = -1;
    return true;
}

static void arm_proof_timer(struct cli_proof *p)
{
    int64_t again_ms = hf_clock_ms() + RETRY_MS;

    hf_loop_lock(p->loop);
    hf_loop_arm(p->loop, &p->timer,
                p->is_sent || again_ms > p->until_ms ? p->until_ms : again_ms);
    hf_loop_unlock(p->loop);
}

static bool watch_reply(struct cli_proof *p)
{
    bool is_watched;

    hf_loop_lock(p->loop);
    is_watched = hf_loop_watch(p->loop, &p->io) == HF_OK;
    hf_loop_unlock(p->loop);
    return is_watched;
}

void cli_proof_begin(struct cli_proof *p, struct hf_loop *loop, const char *address,
                     int notice_fd)
{
    int fd[2];

    p->loop = loop;
    p->notice_fd = notice_fd;
    p->until_ms = hf_clock_ms() + REPLY_MS;
    p->timer.fire = on_proof_timer;
    p->io = (struct hf_io){.fd = -1, .events = HF_READ, .ready = on_proof_reply};
    p->is_due = true;
    (void)strcpy(p->address, address);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
        return;
    p->io.fd = fd[0];
    p->passed_fd = fd[1];
    if (watch_reply(p))
        return;
    (void)close(fd[0]);
    (void)close(fd[1]);
    p->io.fd = -1;
}

static enum cli_proven receive_proof_reply(struct cli_proof *p, int64_t *token)
{
    struct reply_to_proof said;
    ssize_t n = recv(p->io.fd, &said, sizeof said, MSG_DONTWAIT);

    if (n < 0 && errno == EAGAIN && hf_clock_ms() < p->until_ms)
        return CLI_PROOF_PENDING;
    if (n != sizeof said || !said.is_held)
        return CLI_PROOF_NONE;
    *token = said.token;
    return CLI_PROOF_HELD;
}

enum cli_proven cli_proof_look(struct cli_proof *p, int64_t *token)
{
    if (!p->is_due)
        return CLI_PROOF_PENDING;
    p->is_due = false;
    if (p->io.fd < 0 || !*p->address)
        return CLI_PROOF_NONE;
    if (p->is_sent)
        return receive_proof_reply(p, token);
    if (hf_clock_ms() >= p->until_ms || !send_request(p))
        return CLI_PROOF_NONE;
    arm_proof_timer(p);
    return CLI_PROOF_PENDING;
}

void cli_proof_end(struct cli_proof *p)
{
    if (!p->loop || p->io.fd < 0)
        return;
    hf_loop_lock(p->loop);
    hf_loop_disarm(p->loop, &p->timer);
    hf_loop_unwatch(p->loop, &p->io);
    hf_loop_unlock(p->loop);
    (void)close(p->io.fd);
    if (p->passed_fd >= 0)
        (void)close(p->passed_fd);
    p->io.fd = p->passed_fd = -1;
}
