/* Reads the TLS files before they are used. See reload.h. */
/* Tests: tests/live/cli/test_run_reload.c. */
#include "cli/run/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/report.h"
#include "net/base/thread.h"

#define FILES_MAX (4 * HF_QUORUM_MAX)
/* hf_client_reload refuses larger ones. */
#define BYTES_MAX (16 << 20)

/* Belongs to the thread. */
struct file_reader {
    int fd;                     /* the write end of the pipe */
    size_t count;
    char *paths[FILES_MAX];
};

/* ---- the thread ---- */

static void read_file(const char *path)
{
    char bytes[4096];
    size_t left = BYTES_MAX;
    struct stat st;
    ssize_t n;
    int fd;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return;
    do
        n = read(fd, bytes, sizeof bytes);
    while (n > 0 && (left -= (size_t)n) >= sizeof bytes);
    explicit_bzero(bytes, sizeof bytes); /* the file may be a private key */
    (void)close(fd);
}

static void free_reader(struct file_reader *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->paths[i]);
    (void)close(r->fd);
    free(r);
}

static void *read_all_files(void *ctx)
{
    struct file_reader *r = ctx;

    for (size_t i = 0; i < r->count; i++)
        read_file(r->paths[i]);
    (void)!write(r->fd, "", 1); /* a forked process may keep the pipe open */
    free_reader(r);
    return NULL;
}

static bool start_thread(struct file_reader *r)
{
    pthread_t thread;

    return hf_thread_start(&thread, read_all_files, r, NULL) == 0 && pthread_detach(thread) == 0;
}

/* ---- the session ---- */

static void add_file(void *ctx, const char *path)
{
    struct file_reader *r = ctx;
    char *copy = r->count < FILES_MAX ? strdup(path) : NULL;

    if (copy)
        r->paths[r->count++] = copy;
}

static void on_files_read(struct hf_io *io, int events)
{
    struct cli_reload *reload = HF_OWNER_OF(io, struct cli_reload, io);

    (void)events;
    reload->are_files_read = true;
    hf_loop_rewatch(reload->loop, io, 0); /* until it is handled */
}

static bool watch_pipe(struct cli_reload *reload, struct hf_loop *loop, int fd)
{
    hf_status rc;

    reload->are_files_read = false;
    reload->io = (struct hf_io){.fd = fd, .events = HF_READ, .ready = on_files_read};
    hf_loop_lock(loop);
    rc = hf_loop_watch(loop, &reload->io);
    hf_loop_unlock(loop);
    reload->loop = rc == HF_OK ? loop : NULL;
    return rc == HF_OK;
}

/* Takes `r`. */
static bool start_reader_thread(struct cli_reload *reload, struct hf_loop *loop,
                                struct file_reader *r)
{
    int ends[2];

    if (r->count == 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        free_reader(r);
        return false;
    }
    r->fd = ends[1];
    if (!watch_pipe(reload, loop, ends[0])) {
        (void)close(ends[0]);
        free_reader(r);
        return false;
    }
    if (start_thread(r))
        return true;
    free_reader(r);
    cli_reload_close(reload);
    return false;
}

bool cli_reload_begin(struct cli_reload *reload, struct hf_loop *loop,
                      const struct cli_common *common)
{
    struct file_reader *r;

    if (reload->loop) {
        cli_warn("HUP: the TLS files are still being read; connections use them as they "
                 "were read before");
        return true;
    }
    r = calloc(1, sizeof *r);
    if (!r)
        return false;
    r->fd = -1;
    cli_common_tls_files(common, add_file, r);
    return start_reader_thread(reload, loop, r);
}

bool cli_reload_after_turn(struct cli_reload *reload)
{
    if (!reload->loop || !reload->are_files_read)
        return false;
    cli_reload_close(reload);
    return true;
}

void cli_reload_close(struct cli_reload *reload)
{
    if (!reload->loop)
        return;
    hf_loop_lock(reload->loop);
    hf_loop_unwatch(reload->loop, &reload->io);
    hf_loop_unlock(reload->loop);
    (void)close(reload->io.fd);
    *reload = (struct cli_reload){0};
}
