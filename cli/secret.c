/* Passwords: where they come from, and where they must not be seen. */
#include "cli/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/report.h"

/* ---- a file ---- */

/* Reads until the buffer is full, the file ends or a line ends; -1: errno. A
 * pipe may give it in pieces. Not by stdio, whose buffers are not wiped. */
static ssize_t read_line(int fd, char *dst, size_t room)
{
    size_t len = 0;
    ssize_t n = 1;

    while (len < room && n > 0 && !memchr(dst, '\n', len)) {
        n = read(fd, dst + len, room - len);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            len += (size_t)n;
    }
    return n < 0 ? -1 : (ssize_t)len;
}

static int refuse(const char *path, const char *why)
{
    return cli_fail("cannot use password file %s: %s", path, why);
}

/* Ends the line in `dst` with a NUL. */
static int cut_line(char *dst, size_t len, const char *path)
{
    char *end = memchr(dst, '\n', len);

    if (!end && len == CLI_SECRET_MAX)
        return refuse(path, "its first line is too long for a password");
    if (!end)
        end = dst + len;
    if (end > dst && end[-1] == '\r')
        end--;
    *end = '\0';
    if (strlen(dst) != (size_t)(end - dst))
        return refuse(path, "there is a NUL byte in its first line");
    if (end == dst)
        return refuse(path, "its first line is empty");
    return CLI_GO_ON;
}

/* The mode of a pipe means nothing: nobody opens it by name. */
static bool is_open_to_others(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_mode & (S_IROTH | S_IWOTH);
}

int cli_secret_read(char dst[CLI_SECRET_MAX], const char *path, bool *is_open)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t len;

    if (fd < 0)
        return refuse(path, strerror(errno));
    len = read_line(fd, dst, CLI_SECRET_MAX);
    if (len < 0) {
        len = refuse(path, strerror(errno));
        (void)close(fd);
        return (int)len;
    }
    *is_open = *is_open || is_open_to_others(fd);
    (void)close(fd);
    return cut_line(dst, (size_t)len, path);
}

/* ---- a URL ---- */

/* Takes anything between a colon and the last @ for a password. The library
 * decides what is a URL. */
static void hide_password(char *url)
{
    char *begin = strstr(url, "://");
    char *end = strrchr(url, '@');

    if (!begin || !end || end < begin)
        return;
    begin = strchr(begin + 3, ':');
    if (begin && begin < end)
        memset(begin + 1, '*', (size_t)(end - begin - 1));
}

static void hide_option(char *url, const char *option)
{
    char *at = url;

    while ((at = strstr(at, option))) {
        at += strlen(option);
        memset(at, '*', strcspn(at, "&"));
    }
}

void cli_secret_hide(char *url)
{
    hide_option(url, "tls_key_password=");
    hide_option(url, "sentinel_password=");
    hide_password(url);
}
