/* What a round locks. */
/* Tests: tests/live/cli/test_run_sets.c. */
#include "cli/run/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/report.h"
#include "lock/dump.h"

/* ---- opening ---- */

static int open_client(struct cli_locks *l, struct hf_loop *loop,
                       const struct cli_run_options *run,
                       const struct cli_common *common, size_t index)
{
    struct hf_client_options options;

    hf_client_options_init(&options);
    options.loop = loop;
    options.watchdog_ms = run->ttl_ms;
    options.connect_once = run->wait_ms == 0;
    return cli_client_open_at(&l->clients[l->clients_count++], common, index,
                              &options);
}

/* Any server of a quorum may be down. */
static int open_member(struct cli_locks *l, const struct cli_run_options *run)
{
    struct hf_error err = {0};
    hf_status rc = hf_lock_new_kind(&l->locks[l->locks_count],
                                    l->clients[l->locks_count], run->kind.kind,
                                    run->name, strlen(run->name), &err);

    l->locks_count += rc == HF_OK;
    return rc < 0 ? cli_fail_status(rc, &err) : CLI_CONTINUE;
}

static int open_quorum(struct cli_locks *l, struct hf_loop *loop,
                       const struct cli_run_options *run,
                       const struct cli_common *common)
{
    struct hf_error err = {0};
    int rc = CLI_CONTINUE;
    hf_status status;

    l->allow_same_server = run->allow_same_server;
    for (size_t i = 0; rc == CLI_CONTINUE && i < common->urls_count; i++)
        if ((rc = open_client(l, loop, run, common, i)) == CLI_CONTINUE)
            rc = open_member(l, run);
    if (rc != CLI_CONTINUE)
        return rc;
    status = hf_quorum_new(&l->quorum, l->locks, l->locks_count, &err);
    return status < 0 ? cli_fail_status(status, &err) : CLI_CONTINUE;
}

static int open_lock(struct cli_locks *l, const struct cli_run_options *run,
                     const char *name)
{
    int rc = cli_lock_open_and_classify(&l->locks[l->locks_count], l->clients[0], run->kind.kind,
                                        name,
                                        &l->is_refused_for_now);

    l->locks_count += l->locks[l->locks_count] != NULL;
    return rc;
}

static int open_multi(struct cli_locks *l, const struct cli_run_options *run)
{
    struct hf_error err = {0};
    int rc = CLI_CONTINUE;
    hf_status status;

    for (size_t i = 0; rc == CLI_CONTINUE && i < run->other_names_count; i++)
        rc = open_lock(l, run, run->other_names[i]);
    if (rc != CLI_CONTINUE)
        return rc;
    status = hf_multi_new(&l->multi, l->locks, l->locks_count, &err);
    return status < 0 ? cli_fail_status(status, &err) : CLI_CONTINUE;
}

int cli_locks_open(struct cli_locks *l, struct hf_loop *loop,
                   const struct cli_run_options *run,
                   const struct cli_common *common)
{
    int rc;

    if (run->is_quorum)
        return open_quorum(l, loop, run, common);
    rc = open_client(l, loop, run, common, 0);
    if (rc == CLI_CONTINUE)
        rc = open_lock(l, run, run->name);
    if (rc == CLI_CONTINUE)
        rc = cli_kind_make_permits(&run->kind, l->locks[0]);
    if (rc == CLI_CONTINUE && run->other_names_count > 0)
        rc = open_multi(l, run);
    return rc;
}

/* ---- closing ---- */

hf_status cli_locks_close(struct cli_locks *l, int64_t linger_ms)
{
    hf_status worst = HF_OK;
    int64_t deadline_ms = hf_clock_ms() + linger_ms;

    for (size_t i = 0; i < l->clients_count; i++)
        worst = cli_client_close_and_merge_status(l->clients[i], deadline_ms, worst);
    return worst;
}

void cli_locks_free(struct cli_locks *l)
{
    hf_multi_free(l->multi);
    hf_quorum_free(l->quorum);
    for (size_t i = 0; i < l->locks_count; i++)
        hf_lock_free(l->locks[i]);
    for (size_t i = 0; i < l->clients_count; i++)
        hf_client_free(l->clients[i]);
}

/* ---- operations ---- */

static void print_dump_line(void *ctx, const char *line)
{
    (void)fprintf(ctx, "%s\n", line);
}

static hf_status dump_all_clients(struct cli_locks *l, FILE *out)
{
    hf_status rc = HF_OK;

    for (size_t i = 0; rc == HF_OK && i < l->clients_count; i++)
        rc = hf_client_dump(l->clients[i], print_dump_line, out);
    return rc;
}

/* Does not block on a pipe without a reader, because this process holds a lock. */
void cli_locks_dump(struct cli_locks *l, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                  0600);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "a");
    hf_status rc = out ? dump_all_clients(l, out) : HF_OK;

    if (rc < 0)
        cli_warn("USR1: %s", hf_status_text(rc));
    else if (!out || fflush(out) != 0 || ferror(out))
        cli_warn("USR1: cannot write %s: %s", path, strerror(errno));
    if (out)
        (void)fclose(out);
    else if (fd >= 0)
        (void)close(fd);
}

/* All clients have the same files, which may change meanwhile. */
void cli_locks_reload(struct cli_locks *l)
{
    struct hf_error err = {0};
    size_t failed = 0;

    for (size_t i = 0; i < l->clients_count; i++)
        failed += hf_client_reload(l->clients[i], &err) < 0;
    if (failed == 0)
        cli_verbose("HUP: new connections use the files as they are now");
    else if (failed == l->clients_count)
        (void)cli_fail("%s; the TLS files are used as they were read before", err.text);
    else
        (void)cli_fail("%s; the TLS files are used as they were read before at %zu of %zu "
                       "servers; send HUP again", err.text, failed, l->clients_count);
}

hf_status cli_locks_acquire(struct cli_locks *l,
                            struct hf_acquire_options *options, hf_done *done,
                            void *ctx)
{
    options->allow_same_server = l->allow_same_server;
    if (l->quorum)
        return hf_quorum_acquire_async(l->quorum, options, done, ctx);
    hf_cancel_init(&l->cancel, l->clients[0]);
    options->cancel = &l->cancel;
    return l->multi ? hf_multi_acquire_async(l->multi, options, done, ctx)
                    : hf_lock_acquire_async(l->locks[0], options, done, ctx);
}

void cli_locks_cancel(struct cli_locks *l, int64_t owner)
{
    if (l->quorum)
        hf_quorum_cancel(l->quorum, owner);
    else
        hf_cancel_fire(&l->cancel);
}

hf_status cli_locks_release(struct cli_locks *l, int64_t owner, hf_done *done,
                            void *ctx)
{
    if (l->quorum)
        return hf_quorum_release_async(l->quorum, owner, done, ctx);
    return l->multi ? hf_multi_release_async(l->multi, owner, done, ctx)
                    : hf_lock_release_async(l->locks[0], owner, done, ctx);
}

int64_t cli_locks_token(const struct cli_locks *l, int64_t owner)
{
    return l->quorum ? hf_quorum_token(l->quorum, owner)
                     : hf_lock_token(l->locks[0], owner);
}

int64_t cli_locks_safe_ms(const struct cli_locks *l, int64_t owner)
{
    if (l->quorum)
        return hf_quorum_safe_ms(l->quorum, owner);
    return l->multi ? hf_multi_safe_ms(l->multi, owner)
                    : hf_lock_safe_ms(l->locks[0], owner);
}

/* In a quorum, each has its own client. */
struct hf_client *cli_locks_client(const struct cli_locks *l, const struct hf_lock *lock)
{
    size_t i = 0;

    while (l->quorum && l->locks[i] != lock)
        i++;
    return l->clients[i];
}

void cli_locks_owner(const struct cli_locks *l, int64_t owner,
                     char dst[HF_OWNER_TEXT_MAX])
{
    *dst = '\0';
    for (size_t i = 0; *dst == '\0' && i < l->locks_count; i++)
        (void)hf_lock_owner_text(l->locks[i], owner, dst);
}
