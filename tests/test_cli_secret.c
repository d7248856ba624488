/* Passwords: read from files, hidden on command lines. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/password_file.h"
#include "cli/base/secret.h"
#include "tests/support/suite.h"

#define BYTES(literal) (literal), sizeof(literal) - 1

static struct cli_secret_file file;

static char path[] = "/tmp/holdfast-secret-XXXXXX";

static void write_file(const char *bytes, size_t len)
{
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    (void)close(fd);
}

/* Complaints are for a person, not for the log of this test. */
static void mute(void)
{
    int fd = open("/dev/null", O_WRONLY);

    ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
    (void)close(fd);
}

static const struct {
    const char *bytes;
    size_t len;
    const char *password;       /* NULL: refused */
} files[] = {
    {BYTES("secret\n"), "secret"},
    {BYTES("secret"), "secret"},
    {BYTES("secret\r\n"), "secret"},
    {BYTES("first\nsecond\n"), "first"},
    {BYTES(" spaces stay \n"), " spaces stay "},
    {BYTES("\xff\x01\n"), "\xff\x01"},
    {BYTES(""), NULL},
    {BYTES("\n"), NULL},
    {BYTES("\nsecond"), NULL},
    {BYTES("nul\0l\n"), NULL},
};

START_TEST(first_line_is_the_password)
{
    char got[CLI_SECRET_MAX];
    int rc;

    mute();
    write_file(files[_i].bytes, files[_i].len);
    rc = cli_secret_read(got, path, &file);
    (void)unlink(path);
    ck_assert_int_eq(rc, files[_i].password ? CLI_CONTINUE : CLI_EXIT_ERROR);
    if (files[_i].password)
        ck_assert_str_eq(got, files[_i].password);
}
END_TEST

/* At, below and above the limit, with and without the end of the line. */
START_TEST(line_has_a_longest_length)
{
    char text[CLI_SECRET_MAX + 2], got[CLI_SECRET_MAX];
    size_t len = CLI_SECRET_MAX - 2 + (size_t)_i;
    int rc;

    mute();
    memset(text, 'x', sizeof text);
    write_file(text, len);
    rc = cli_secret_read(got, path, &file);
    (void)unlink(path);
    ck_assert_int_eq(rc, len < CLI_SECRET_MAX ? CLI_CONTINUE : CLI_EXIT_ERROR);
    if (rc == CLI_CONTINUE)
        ck_assert_uint_eq(strlen(got), len);
}
END_TEST

START_TEST(unreadable_password_file_is_refused)
{
    char got[CLI_SECRET_MAX];

    mute();
    ck_assert_int_eq(cli_secret_read(got, "/nonexistent/file", &file),
                     CLI_EXIT_ERROR);
    ck_assert_int_eq(cli_secret_read(got, "/", &file), CLI_EXIT_ERROR);
}
END_TEST

/* A pipe (of a shell's <(...)) gives it in pieces. */
START_TEST(pipe_is_read_to_the_end_of_its_line)
{
    char name[64], got[CLI_SECRET_MAX];
    int fd[2];

    ck_assert_int_eq(pipe(fd), 0);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd[0]);
    if (fork() == 0) {
        for (const char *p = "secret\n"; *p; p++)
            (void)!write(fd[1], p, 1);
        _exit(0);
    }
    ck_assert_int_eq(cli_secret_read(got, name, &file), CLI_CONTINUE);
    ck_assert(!file.is_open_to_others);
    ck_assert_str_eq(got, "secret");
}
END_TEST

/* ---- named pipes ---- */

static char *make_fifo(void)
{
    static char name[64];

    (void)snprintf(name, sizeof name, "/tmp/holdfast-fifo-%d", (int)getpid());
    (void)unlink(name);
    ck_assert_int_eq(mkfifo(name, 0600), 0);
    return name;
}

static int64_t now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

START_TEST(pipe_without_a_writer_is_refused_in_time)
{
    char got[CLI_SECRET_MAX], *name = make_fifo();
    int64_t begun_ms = now_ms();

    mute();
    ck_assert_int_eq(cli_secret_read(got, name, &file), CLI_EXIT_ERROR);
    ck_assert_int_ge(now_ms() - begun_ms, 4900);
    ck_assert_int_le(now_ms() - begun_ms, 15000);
    (void)unlink(name);
}
END_TEST

/* It opens the pipe late, and writes later still. */
START_TEST(writer_may_come_late)
{
    char got[CLI_SECRET_MAX], *name = make_fifo();

    if (fork() == 0) {
        int fd;

        (void)usleep(300000);
        fd = open(name, O_WRONLY);
        (void)usleep(300000);
        (void)!write(fd, "sec", 3);
        (void)usleep(100000);
        (void)!write(fd, "ret\n", 4);
        _exit(0);
    }
    ck_assert_int_eq(cli_secret_read(got, name, &file), CLI_CONTINUE);
    ck_assert_str_eq(got, "secret");
    (void)unlink(name);
}
END_TEST

START_TEST(writer_may_end_without_a_line)
{
    char got[CLI_SECRET_MAX], *name = make_fifo();
    int own = open(name, O_RDWR), rc;

    ck_assert_int_eq(write(own, "secret", 6), 6);
    if (fork() == 0) {
        (void)close(own);
        _exit(0);
    }
    if (fork() == 0) {
        (void)usleep(300000);
        _exit(0); /* the last that has it open for writing */
    }
    (void)close(own);
    rc = cli_secret_read(got, name, &file);
    (void)unlink(name);
    ck_assert_int_eq(rc, CLI_CONTINUE);
    ck_assert_str_eq(got, "secret");
}
END_TEST

/* ---- who can read or change a file ---- */

static const struct {
    mode_t mode;
    uid_t owner;                /* -1: this user */
    bool is_open;
} owned[] = {
    {0600, (uid_t)-1, false}, {0400, (uid_t)-1, false}, {0640, (uid_t)-1, false},
    {0660, (uid_t)-1, true},  {0620, (uid_t)-1, true},  {0604, (uid_t)-1, true},
    {0602, (uid_t)-1, true},  {0644, (uid_t)-1, true},  {0600, 12345, true},
    {0400, 12345, true},      {0600, 0, false},
};

START_TEST(unsafe_file_is_noted)
{
    char got[CLI_SECRET_MAX];
    int rc;

    if (owned[_i].owner != (uid_t)-1 && geteuid() != 0)
        return; /* only root gives files away */
    write_file(BYTES("secret\n"));
    ck_assert_int_eq(chmod(path, owned[_i].mode), 0);
    if (owned[_i].owner != (uid_t)-1)
        ck_assert_int_eq(chown(path, owned[_i].owner, (gid_t)-1), 0);
    rc = cli_secret_read(got, path, &file);
    (void)unlink(path);
    ck_assert_int_eq(rc, CLI_CONTINUE);
    ck_assert_int_eq(file.is_open_to_others, owned[_i].is_open);
}
END_TEST

static const struct {
    const char *url;
    const char *hidden;
} urls[] = {
    {"redis://user:secret@host:6379/0", "redis://user:******@host:6379/0"},
    {"redis://:secret@host", "redis://:******@host"},
    {"redis://host:6379", "redis://host:6379"},
    {"redis://user@host", "redis://user@host"},
    {"redis://u:p@ss@host:1", "redis://u:****@host:1"},
    {"redis://u:p/a@host:1", "redis://u:***@host:1"},
    {"unix://:secret@/run/redis.sock", "unix://:******@/run/redis.sock"},
    {"redis://[::1]:6379", "redis://[::1]:6379"},
    {"no url: at @all", "no url: at @all"},
    {"rediss://h?tls_key_password=secret", "rediss://h?tls_key_password=******"},
    {"rediss://u:pw@h?tls_key_password=a%26b&db=1",
     "rediss://u:**@h?tls_key_password=*****&db=1"},
    {"rediss://h?tls_key_password=&tls_key_password=x",
     "rediss://h?tls_key_password=&tls_key_password=*"},
    {"redis+sentinel://:pw@h/m?sentinel_user=u&sentinel_password=se%26cret&db=1",
     "redis+sentinel://:**@h/m?sentinel_user=u&sentinel_password=*********&db=1"},
    {"rediss://h?tls_key=file", "rediss://h?tls_key=file"},
    {"", ""},
};

START_TEST(passwords_of_a_url_are_hidden)
{
    char url[128];

    (void)strcpy(url, urls[_i].url);
    cli_secret_hide_in_url(url);
    ck_assert_str_eq(url, urls[_i].hidden);
}
END_TEST

static const struct {
    const char *url;
    const char *rest;
} without[] = {
    {"redis://user:s*cret@host:6379/0?db=1", "redis://host:6379/0?db=1"},
    {"redis://:secret@host", "redis://host"},
    {"redis://host:6379", "redis://host:6379"},
    {"redis+cluster://u:p@a,b:7000", "redis+cluster://a,b:7000"},
    {"unix://:secret@/run/a:b@c.sock?db=2", "unix:///run/a:b@c.sock?db=2"},
    {"unix:///run/a:b@c.sock", "unix:///run/a:b@c.sock"},
    {"rediss://h?tls_key_password=a%26b", "rediss://h"},
    {"rediss://u:pw@h?tls_key_password=x&db=1", "rediss://h?db=1"},
    {"rediss://h?db=1&tls_key_password=x", "rediss://h?db=1"},
    {"redis+sentinel://:pw@h/m?sentinel_user=u&sentinel_password=s&db=1",
     "redis+sentinel://h/m?db=1"},
    {"", ""},
};

START_TEST(logins_of_a_url_are_removed)
{
    char url[128];

    (void)strcpy(url, without[_i].url);
    cli_secret_remove_from_url(url);
    ck_assert_str_eq(url, without[_i].rest);
}
END_TEST

/* A file that cannot be opened without its lease; and which of the next waits for the thread that
 * opens it ends the lease. 0: none. The linker puts the function in place of what the command
 * calls (mk/tests.mk: --wrap). */
static int leased_fd, wait_that_ends_it;

int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until);

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    struct timespec late = *until;

    if (wait_that_ends_it > 0 && --wait_that_ends_it == 0) {
        (void)close(leased_fd);
        late.tv_sec += 20;
    }
    return __real_pthread_cond_timedwait(cond, mutex, &late);
}

/* By a new file of this name. */
static void replace_file(const char *bytes, size_t len)
{
    char beside[64];
    int out;

    (void)snprintf(beside, sizeof beside, "%s.new", path);
    out = open(beside, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_eq(write(out, bytes, len), (int)len);
    (void)close(out);
    ck_assert_int_eq(rename(beside, path), 0);
}

/* A file that cannot be opened is read late; meanwhile the password is used, refused, and
 * replaced. The thread that still reads the former file finds the one that was refused: before
 * the next call, or in the moment between its look at the thread and its wait for it. */
START_TEST(password_that_was_refused_is_read_again)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    struct cli_password_file *f;
    struct hf_error err;
    const char *text;
    int tries = 0;

    mute();
    write_file(BYTES("one\n"));
    (void)signal(SIGIO, SIG_IGN);
    leased_fd = open(path, O_RDWR);
    f = cli_password_file_new(path, "one");
    if (fcntl(leased_fd, F_SETLEASE, F_WRLCK) != 0)
        return; /* this file system has no leases */
    ck_assert_int_eq(cli_password_file_read(f, false, &text, &err), HF_OK);
    ck_assert_str_eq(text, "one");
    replace_file(BYTES("two\n"));
    if (_i == 0)
        (void)close(leased_fd);
    else
        wait_that_ends_it = 2;
    while (cli_password_file_read(f, true, &text, &err) != HF_OK) {
        ck_assert_int_lt(++tries, 30000);
        (void)nanosleep(&pause, NULL);
    }
    ck_assert_str_eq(text, "two");
    cli_password_file_free(f);
    (void)unlink(path);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli/secret");
    TCase *c = tcase_create("passwords");

    tcase_add_loop_test(c, first_line_is_the_password, 0,
                        sizeof files / sizeof *files);
    tcase_add_loop_test(c, line_has_a_longest_length, 0, 4);
    tcase_add_test(c, unreadable_password_file_is_refused);
    tcase_add_test(c, pipe_is_read_to_the_end_of_its_line);
    tcase_set_timeout(c, 30);
    tcase_add_test(c, pipe_without_a_writer_is_refused_in_time);
    tcase_add_test(c, writer_may_come_late);
    tcase_add_test(c, writer_may_end_without_a_line);
    tcase_add_loop_test(c, password_that_was_refused_is_read_again, 0, 2);
    tcase_add_loop_test(c, unsafe_file_is_noted, 0, sizeof owned / sizeof *owned);
    tcase_add_loop_test(c, logins_of_a_url_are_removed, 0,
                        sizeof without / sizeof *without);
    tcase_add_loop_test(c, passwords_of_a_url_are_hidden, 0,
                        sizeof urls / sizeof *urls);
    suite_add_tcase(s, c);
    return suite_run(s);
}
