/* Sockets without a race: Unix ones, dialed by their exact names; and what no
 * socket may do. Sources: unix(7), "Address format"; faults.md X5. */
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/un.h>

#include "net/wire/socket.h"
#include "tests/support/suite.h"
#include "tests/test_net_dial.h"

/* ---- unix ---- */

static char directory[] = "/tmp/hf-dial-XXXXXX";
static char long_name[128];

/* So many bytes of a path in `directory`. */
static const char *path_of(size_t len)
{
    size_t used = (size_t)snprintf(long_name, sizeof long_name, "%s/",
                                   directory);

    memset(long_name + used, 's', len - used);
    long_name[len] = '\0';
    return long_name;
}

/* As the kernel takes it: with or without its NUL. */
static int listen_unix(const char *path, int backlog)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(un.sun_path, path, len);
    if (path[0] == '@')
        un.sun_path[0] = '\0';
    keep(fd);
    ck_assert_int_eq(
        bind(fd, (struct sockaddr *)&un,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)), 0);
    ck_assert_int_eq(listen(fd, backlog), 0);
    return fd;
}

static struct caller *new_unix_caller(const char *path)
{
    struct caller *c = new_caller("");

    c->url.kind = HF_URL_UNIX;
    memcpy(c->url.path, path, strnlen(path, sizeof c->url.path));
    return c;
}

/* Lengths of a file's name, up to the longest that a URL can hold; then
 * of abstract names, which are other names if a byte is added or missing. */
static const struct {
    const char *name;             /* NULL: a path of so many bytes */
    size_t len;
} sockets[] = {
    {NULL, 30}, {NULL, 107},
    {"@holdfast-dial", 0},
    {"@holdfast-dial, as long as a name in a URL can be with its sign in front "
     "and a NUL behind it: 106 bytes....", 0},
};

START_TEST(unix_socket_is_reached_by_its_exact_name)
{
    const char *name = sockets[_i].name;
    struct caller *c;
    int before;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    if (!name)
        name = path_of(sockets[_i].len);
    (void)listen_unix(name, 16);
    open_loop(false);
    before = count_fds();
    c = new_unix_caller(name);
    start(c);
    drive_until_done(c);
    ck_assert_int_ge(c->fd, 0);
    ck_assert(fcntl(c->fd, F_GETFL) & O_NONBLOCK);
    ck_assert(fcntl(c->fd, F_GETFD) & FD_CLOEXEC);
    close_socket(c);
    await_fds(before);
    free(c);
    close_loop();
    if (name[0] != '@')
        (void)unlink(name);
    (void)rmdir(directory);
}
END_TEST

static const struct {
    const char *listens;          /* "": nobody */
    const char *asked;
    const char *error;
} strangers[] = {
    {"", "/tmp/no/such/file", "cannot connect: No such file or directory"},
    {"", "/dev/null", "cannot connect: Connection refused"},
    {"", "@holdfast-nobody", "cannot connect: Connection refused"},
    {"@holdfast-a", "@holdfast-ab", "cannot connect: Connection refused"},
    {"@holdfast-ab", "@holdfast-a", "cannot connect: Connection refused"},
};

START_TEST(unix_socket_that_is_not_there_is_reported)
{
    struct caller *c;

    if (strangers[_i].listens[0])
        (void)listen_unix(strangers[_i].listens, 16);
    open_loop(false);
    c = new_unix_caller(strangers[_i].asked);
    start(c);
    drive_until_done(c);
    ck_assert_str_eq(c->error, strangers[_i].error);
    free(c);
    close_loop();
}
END_TEST

/* Does not wait, unlike TCP. */
START_TEST(unix_socket_that_is_full_is_retried)
{
    struct caller *a, *b;
    int fd = listen_unix("@holdfast-full", 0);

    open_loop(false);
    a = new_unix_caller("@holdfast-full");
    b = new_unix_caller("@holdfast-full");
    start(a);
    drive_until_done(a);
    ck_assert_int_ge(a->fd, 0);
    start(b);
    drive_until_done(b);
    ck_assert_str_eq(b->error,
                     "cannot connect: Resource temporarily unavailable");
    (void)close(accept(fd, NULL, NULL));
    start(b);
    drive_until_done(b);
    ck_assert_int_ge(b->fd, 0);
    close_socket(a);
    close_socket(b);
    free(a);
    free(b);
    close_loop();
}
END_TEST

/* ---- sockets ---- */

/* Where nobody listens on a port from which connections are made, TCP may
 * connect one to itself. It would answer each of our commands with itself. */
START_TEST(connection_to_itself_is_refused)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    keep(fd);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, len), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, len), 0);
    ck_assert_int_eq(hf_socket_error(fd), ECONNREFUSED);
}
END_TEST

START_TEST(write_to_a_closed_peer_is_an_error_and_no_signal)
{
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    (void)close(pair[1]);
    ck_assert_int_eq(hf_socket_write(pair[0], "a", 1), -EPIPE);
    ck_assert_int_eq(hf_socket_read(pair[0], &(char){0}, 1), HF_SOCKET_EOF);
    (void)close(pair[0]);
}
END_TEST

static TCase *case_unix(void)
{
    TCase *c = tcase_create("Unix");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, unix_socket_is_reached_by_its_exact_name, 0,
                        ROWS(sockets));
    tcase_add_loop_test(c, unix_socket_that_is_not_there_is_reported, 0,
                        ROWS(strangers));
    tcase_add_test(c, unix_socket_that_is_full_is_retried);
    return c;
}

static TCase *case_sockets(void)
{
    TCase *c = tcase_create("sockets");

    tcase_add_test(c, connection_to_itself_is_refused);
    tcase_add_test(c, write_to_a_closed_peer_is_an_error_and_no_signal);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/socket");

    suite_add_tcase(s, case_unix());
    suite_add_tcase(s, case_sockets());
    return suite_run(s);
}
