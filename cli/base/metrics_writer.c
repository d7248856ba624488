/* Replaces a file by a new one, in a separate thread. See metrics_writer.h. */
/* Tests: tests/test_cli_metrics.c, tests/live/cli/test_run_metrics.c. */
#include "cli/base/metrics_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lock/metrics.h"
#include "net/base/error.h"
#include "net/base/metric_label.h"
#include "net/base/thread.h"

/* Of the former file, beyond which it is not read. */
#define BEFORE_MAX (HF_METRICS_MAX + CLI_METRICS_OWN_MAX)
#define PATH_ROOM 4096

struct cli_metrics_writer {
    const char *path;
    bool is_election;
    char label[METRIC_LABEL_MAX];

    /* The thread's alone. */
    bool has_read_earlier_text;
    char *earlier_text;         /* the former file; NULL: there was none */

    pthread_mutex_t mutex;
    pthread_cond_t idle;

    /* Under the mutex. The last holder frees it. */
    unsigned references;
    bool is_thread_running;     /* the thread exists */
    bool has_next_write;        /* `values` and `clients_text` wait for it */
    struct cli_metrics_values values;
    char *clients_text;
    char error[CLI_METRICS_ERROR_MAX];  /* "": none */
};

struct cli_metrics_writer *cli_metrics_writer_new(const char *path, const char *name,
                                                  bool is_election)
{
    struct cli_metrics_writer *w = calloc(1, sizeof *w);
    pthread_condattr_t monotonic;

    if (!w)
        return NULL;
    w->path = path;
    w->is_election = is_election;
    w->references = 1;
    (void)hf_metric_label(w->label, name);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&w->mutex, NULL);
    (void)pthread_cond_init(&w->idle, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return w;
}

void cli_metrics_writer_drop(struct cli_metrics_writer *w)
{
    bool is_last;

    (void)pthread_mutex_lock(&w->mutex);
    is_last = --w->references == 0;
    (void)pthread_mutex_unlock(&w->mutex);
    if (!is_last)
        return;
    (void)pthread_cond_destroy(&w->idle);
    (void)pthread_mutex_destroy(&w->mutex);
    free(w->earlier_text);
    free(w->clients_text);
    free(w);
}

/* ---- the thread: files ---- */

/* Reads what earlier runs counted. Without it, counting begins anew. */
static void read_earlier_text(struct cli_metrics_writer *w)
{
    struct stat st;
    bool is_file = stat(w->path, &st) == 0 && S_ISREG(st.st_mode);
    int fd = is_file ? open(w->path, O_RDONLY | O_NOCTTY | O_CLOEXEC) : -1;
    char *text = fd < 0 ? NULL : malloc(BEFORE_MAX + 1);
    size_t len = 0;
    ssize_t n = 1;

    w->has_read_earlier_text = true;
    while (text && n > 0 && len < BEFORE_MAX) {
        n = read(fd, text + len, BEFORE_MAX - len);
        len += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        (void)close(fd);
    if (text)
        text[len] = '\0';
    w->earlier_text = text;
}

/* A file of our own beside it: ".NAME.PID". False: the path is too long. */
static bool make_temporary_path(char dst[PATH_ROOM], const char *path)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash + 1 - path) : 0;
    int n = snprintf(dst, PATH_ROOM, "%.*s.%s.%ld", folder, path, path + folder, (long)getpid());

    return n > 0 && n < PATH_ROOM;
}

/* One of a process that had our number and was killed is replaced. */
static int open_temporary_file(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = open(path, flags, 0644);

    if (fd >= 0 || errno != EEXIST || unlink(path) != 0)
        return fd;
    return open(path, flags, 0644);
}

static int write_whole_text(int fd, const char *ptr, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, ptr, len);

        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0) {
            ptr += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

/* 0 or errno. */
static int write_file(const char *path, const char *own, int own_len, const char *text)
{
    int fd = open_temporary_file(path), err;

    if (fd < 0)
        return errno;
    err = write_whole_text(fd, own, (size_t)own_len);
    if (err == 0 && text)
        err = write_whole_text(fd, text, strlen(text));
    if (close(fd) != 0 && err == 0)
        err = errno;
    return err;
}

static const char *replace_file_by_temporary(const char *beside, const char *path, int err)
{
    struct stat st;

    if (err == 0 && lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        (void)unlink(beside);
        return "it is not a regular file";
    }
    if (err == 0 && rename(beside, path) != 0)
        err = errno;
    if (err == 0)
        return NULL;
    (void)unlink(beside);
    return hf_errno_text(err);
}

/* Returns why it failed, or NULL. */
static const char *write_file_of_values(struct cli_metrics_writer *w,
                                        const struct cli_metrics_values *values, const char *text)
{
    char own[CLI_METRICS_OWN_MAX], beside[PATH_ROOM];
    int len;

    if (!w->has_read_earlier_text)
        read_earlier_text(w);
    if (!make_temporary_path(beside, w->path))
        return hf_errno_text(ENAMETOOLONG);
    len = cli_metrics_compose(own, values, w->label, w->is_election, w->earlier_text);
    return replace_file_by_temporary(beside, w->path, write_file(beside, own, len, text));
}

/* ---- the thread: its turns ---- */

/* Under the mutex, except while it writes. */
static void write_next_values(struct cli_metrics_writer *w)
{
    struct cli_metrics_values values = w->values;
    char *text = w->clients_text;
    const char *why;

    w->clients_text = NULL;
    w->has_next_write = false;
    (void)pthread_mutex_unlock(&w->mutex);
    why = write_file_of_values(w, &values, text);
    free(text);
    (void)pthread_mutex_lock(&w->mutex);
    w->error[0] = '\0';
    if (why)
        (void)snprintf(w->error, sizeof w->error, "cannot write metrics file %s: %s", w->path, why);
}

static void *write_until_idle(void *ctx)
{
    struct cli_metrics_writer *w = ctx;

    (void)pthread_mutex_lock(&w->mutex);
    while (w->has_next_write)
        write_next_values(w);
    w->is_thread_running = false;
    (void)pthread_cond_broadcast(&w->idle);
    (void)pthread_mutex_unlock(&w->mutex);
    cli_metrics_writer_drop(w);
    return NULL;
}

/* Under the mutex. */
static void start_writer_thread(struct cli_metrics_writer *w)
{
    pthread_t thread;
    int err = hf_thread_start(&thread, write_until_idle, w, NULL);

    if (err == 0) {
        (void)pthread_detach(thread);
        w->is_thread_running = true;
        w->references++;
        return;
    }
    w->has_next_write = false;
    (void)snprintf(w->error, sizeof w->error, "cannot write metrics file %s: no thread can be "
                                              "started: %s", w->path, hf_errno_text(err));
}

void cli_metrics_writer_put(struct cli_metrics_writer *w,
                            const struct cli_metrics_values *values, char *text)
{
    (void)pthread_mutex_lock(&w->mutex);
    free(w->clients_text);
    w->clients_text = text;
    w->values = *values;
    w->has_next_write = true;
    if (!w->is_thread_running)
        start_writer_thread(w);
    (void)pthread_mutex_unlock(&w->mutex);
}

bool cli_metrics_writer_await(struct cli_metrics_writer *w, int64_t ms)
{
    struct timespec until = hf_thread_deadline(ms);
    bool is_idle;
    int rc = 0;

    (void)pthread_mutex_lock(&w->mutex);
    while (w->is_thread_running && rc == 0)
        rc = pthread_cond_timedwait(&w->idle, &w->mutex, &until);
    is_idle = !w->is_thread_running;
    (void)pthread_mutex_unlock(&w->mutex);
    return is_idle;
}

const char *cli_metrics_writer_error(struct cli_metrics_writer *w,
                                     char dst[CLI_METRICS_ERROR_MAX])
{
    (void)pthread_mutex_lock(&w->mutex);
    memcpy(dst, w->error, sizeof w->error);
    (void)pthread_mutex_unlock(&w->mutex);
    return dst[0] ? dst : NULL;
}
