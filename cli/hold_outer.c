/* The lock of an outer run on the same name, inside whose command we are: it
 * renews and releases; we only look whether it still holds, and listen for its
 * notice of a loss. */
#include "cli/hold.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/values.h"

bool cli_hold_is_inside(const struct hf_lock *lock)
{
    const char *name = getenv(CLI_ENV_NAME);
    const char *owner = getenv(CLI_ENV_OWNER);
    size_t len;
    const char *ours = hf_lock_name(lock, &len);

    return name && owner && *owner && strlen(owner) < HF_OWNER_TEXT_MAX &&
           strlen(name) == len && memcmp(name, ours, len) == 0;
}

/* ---- the notice ---- */

/* Nobody writes there; data is somebody's mistake, and no loss. */
static bool is_at_end(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) &&
           !(p.revents & POLLIN);
}

static void on_notice(struct hf_io *io, int events)
{
    struct cli_hold *h = HF_OWNER_OF(io, struct cli_hold, notice);

    (void)events;
    h->has_notice = is_at_end(io->fd);
    hf_loop_unwatch(hf_client_loop(h->client), io); /* once is enough */
    io->fd = -1;
}

char *cli_hold_fd_id(char dst[CLI_FD_ID_MAX], int fd)
{
    struct stat st;

    dst[0] = '\0';
    if (fstat(fd, &st) == 0)
        (void)snprintf(dst, CLI_FD_ID_MAX, "%llu:%llu",
                       (unsigned long long)st.st_dev,
                       (unsigned long long)st.st_ino);
    return dst;
}

/* Some programs close descriptors that they do not know and keep their
 * environment: then the number is free, or another's, such as make's. */
static int notice_fd(void)
{
    const char *text = getenv(CLI_ENV_FD), *id = getenv(CLI_ENV_FD_ID);
    char is[CLI_FD_ID_MAX];
    int fd;

    if (!text || !id || !cli_number_parse(text, 0, INT_MAX, &fd))
        return -1;
    return *cli_hold_fd_id(is, fd) && strcmp(is, id) == 0 ? fd : -1;
}

/* Without it, the outer run's signals must do. */
static void listen(struct cli_hold *h)
{
    struct hf_loop *loop = hf_client_loop(h->client);

    h->notice = (struct hf_io){
        .fd = notice_fd(), .events = HF_READ, .ready = on_notice};
    if (h->notice.fd < 0)
        return;
    hf_loop_lock(loop);
    if (hf_loop_watch(loop, &h->notice) < 0)
        h->notice.fd = -1;
    hf_loop_unlock(loop);
}

/* ---- the kind ---- */

static void on_inspected(void *ctx, hf_status status,
                         const struct hf_error *err)
{
    struct cli_hold *h = ctx;
    struct hf_error gone;

    if (status < 0) {
        h->events->refused(h->ctx, status, err);
        return;
    }
    if (h->info.is_locked && strcmp(h->info.holder, h->owner) == 0) {
        listen(h);
        h->events->acquired(h->ctx);
        return;
    }
    status = hf_error_set(&gone, HF_LOST,
                          "the outer run (" CLI_ENV_OWNER
                          "=%s) does not hold this lock any more, or holds it "
                          "on another server; to take it apart from that run, "
                          "unset " CLI_ENV_OWNER, h->owner);
    h->events->refused(h->ctx, status, &gone);
}

static hf_status outer_ask(struct cli_hold *h, const struct cli_hold_ask *ask)
{
    (void)ask; /* it is held already, and not by us */
    (void)strcpy(h->owner, getenv(CLI_ENV_OWNER)); /* cli_hold_is_inside */
    return hf_lock_inspect_async(h->lock, &h->info, on_inspected, h);
}

/* A question cannot be called back; its answer comes too late for anyone. */
static void outer_cancel(struct cli_hold *h)
{
    struct hf_error err = {.status = HF_CANCELLED};

    h->events->refused(h->ctx, HF_CANCELLED, &err);
}

static hf_status outer_release(struct cli_hold *h)
{
    h->events->released(h->ctx, HF_OK, NULL);
    return HF_OK;
}

/* As long as no notice comes. */
static int64_t outer_safe_ms(struct cli_hold *h)
{
    (void)h;
    return INT64_MAX;
}

static void outer_fini(struct cli_hold *h)
{
    struct hf_loop *loop = hf_client_loop(h->client);

    if (h->notice.fd < 0)
        return;
    hf_loop_lock(loop);
    hf_loop_unwatch(loop, &h->notice);
    hf_loop_unlock(loop);
    h->notice.fd = -1;
}

const struct cli_hold_kind cli_hold_outer = {.ask = outer_ask,
                                             .cancel = outer_cancel,
                                             .release = outer_release,
                                             .safe_ms = outer_safe_ms,
                                             .fini = outer_fini};
