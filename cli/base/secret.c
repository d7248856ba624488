/* Passwords: where they come from, and where they must not be seen. */
/* Tests: tests/test_cli_secret.c. */
#include "cli/base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/report.h"
#include "net/base/error.h"
#include "net/loop/clock.h"

/* ---- a file ---- */

/* How long a pipe may have no writer (the default connect timeout), and the total time:
 * a writer may prompt a person for a passphrase. */
#define WRITER_MS 5000
#define READ_MS 60000
/* From one look for a writer to the next: poll does not report its absence. */
#define WRITER_CHECK_MS 20

/* Waits until there is something to read. False: not until then. */
static bool wait_for_bytes(int fd, int64_t deadline_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t left_ms = deadline_ms - hf_clock_ms();

    if (left_ms <= 0)
        return false;
    (void)poll(&p, 1, left_ms < WRITER_CHECK_MS ? (int)left_ms : WRITER_CHECK_MS);
    return true;
}

/* An empty read means the end, or a pipe that was not opened for writing yet. */
static bool is_pipe_without_writer(int fd, size_t len)
{
    struct stat st;

    return len == 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* Reads until the buffer is full, the file ends or a line ends; -1: errno. A
 * pipe may deliver the line in pieces, or never: ETIMEDOUT. Not by stdio, whose
 * buffers are not wiped. */
static ssize_t read_line(int fd, char *dst, size_t room)
{
    int64_t begun_ms = hf_clock_ms();
    size_t len = 0;
    ssize_t n = 1;

    while (len < room && n > 0 && !memchr(dst, '\n', len)) {
        n = read(fd, dst + len, room - len);
        if (n > 0) {
            len += (size_t)n;
        } else if (n == 0 && is_pipe_without_writer(fd, len)) {
            n = wait_for_bytes(fd, begun_ms + WRITER_MS);
        } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            n = wait_for_bytes(fd, begun_ms + READ_MS) ? 1 : -1;
            errno = ETIMEDOUT;
        }
    }
    return n < 0 ? -1 : (ssize_t)len;
}

static hf_status fail_secret_file(struct hf_error *err, const char *path, const char *why)
{
    return hf_error_set(err, HF_E_SYSTEM, "cannot use password file %s: %s", path, why);
}

/* Ends the line in `dst` with a NUL. */
static hf_status cut_after_first_line(char *dst, size_t len, const char *path, struct hf_error *err)
{
    char *end = memchr(dst, '\n', len);

    if (!end && len == CLI_SECRET_MAX)
        return fail_secret_file(err, path, "its first line is too long for a password");
    if (!end)
        end = dst + len;
    if (end > dst && end[-1] == '\r')
        end--;
    *end = '\0';
    if (strlen(dst) != (size_t)(end - dst))
        return fail_secret_file(err, path, "there is a NUL byte in its first line");
    if (end == dst)
        return fail_secret_file(err, path, "its first line is empty");
    return HF_OK;
}

/* Its group may read it: the file of a service often belongs to root and the service's
 * group. The mode of a pipe is not checked, because no other process opens it by name.
 * */
static bool is_open_to_others(int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    return st.st_mode & (S_IWGRP | S_IROTH | S_IWOTH) ||
           (st.st_uid != geteuid() && st.st_uid != 0);
}

static hf_status read_secret(char dst[CLI_SECRET_MAX], const char *path, int fd,
                             struct hf_error *err)
{
    ssize_t len = read_line(fd, dst, CLI_SECRET_MAX);

    if (len < 0 && errno == ETIMEDOUT)
        return fail_secret_file(err, path, "its writer did not end a line in time");
    if (len < 0)
        return fail_secret_file(err, path, hf_errno_text(errno));
    if (is_pipe_without_writer(fd, (size_t)len))
        return fail_secret_file(err, path, "nothing was written to this pipe in time");
    return cut_after_first_line(dst, (size_t)len, path, err);
}

static bool is_regular(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Not blocking, because opening a named pipe would wait for its writer. */
static hf_status open_and_read(char dst[CLI_SECRET_MAX], const char *path,
                               struct cli_secret_file *file, struct hf_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    hf_status rc;

    if (fd < 0)
        return fail_secret_file(err, path, hf_errno_text(errno));
    file->is_regular = is_regular(fd);
    rc = read_secret(dst, path, fd, err);
    file->is_open_to_others = file->is_open_to_others || is_open_to_others(fd);
    (void)close(fd);
    return rc;
}

int cli_secret_read(char dst[CLI_SECRET_MAX], const char *path,
                    struct cli_secret_file *file)
{
    struct hf_error err;

    return open_and_read(dst, path, file, &err) < 0 ? cli_fail("%s", err.text)
                                                    : CLI_CONTINUE;
}

hf_status cli_secret_reread(char dst[CLI_SECRET_MAX], const char *path,
                            struct hf_error *err)
{
    struct stat st;
    hf_status rc;
    int fd;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return fail_secret_file(err, path, "it was a regular file when holdfast started");
    /* Without O_NONBLOCK, which fails while another process has a lease (F_SETLEASE) on it. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return fail_secret_file(err, path, hf_errno_text(errno));
    rc = read_secret(dst, path, fd, err);
    (void)close(fd);
    return rc;
}

/* ---- a URL ---- */

/* Treats everything between a colon and the last @ as a password. The library decides
 * whether it is a URL. */
static void hide_password_in_url(char *url)
{
    char *begin = strstr(url, "://");
    char *end = strrchr(url, '@');

    if (!begin || !end || end < begin)
        return;
    begin = strchr(begin + 3, ':');
    if (begin && begin < end)
        memset(begin + 1, '*', (size_t)(end - begin - 1));
}

static void hide_option_in_url(char *url, const char *option)
{
    char *at = url;

    while ((at = strstr(at, option))) {
        at += strlen(option);
        memset(at, '*', strcspn(at, "&"));
    }
}

void cli_secret_hide_in_url(char *url)
{
    hide_option_in_url(url, "tls_key_password=");
    hide_option_in_url(url, "sentinel_password=");
    hide_password_in_url(url);
}

static void remove_text_at(char *at, size_t len)
{
    memmove(at, at + len, strlen(at + len) + 1);
}

/* With the & behind it, or else with the & or ? before it. */
static void remove_option_from_url(char *url, const char *option)
{
    char *at;

    while ((at = strstr(url, option))) {
        size_t len = strcspn(at, "&");

        if (at[len] == '&')
            remove_text_at(at, len + 1);
        else
            remove_text_at(at - 1, len + 1);
    }
}

/* The path of a socket may contain an @. */
static void remove_login_from_url(char *url)
{
    char *begin = strstr(url, "://");
    char *end = begin ? memrchr(begin + 3, '@', strcspn(begin + 3, "/?")) : NULL;

    if (end)
        remove_text_at(begin + 3, (size_t)(end + 1 - (begin + 3)));
}

void cli_secret_remove_from_url(char *url)
{
    remove_option_from_url(url, "tls_key_password=");
    remove_option_from_url(url, "sentinel_user=");
    remove_option_from_url(url, "sentinel_password=");
    remove_login_from_url(url);
}
