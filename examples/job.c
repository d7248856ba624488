/* Work under a lock, without a call that blocks. See job.h. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>

static void end(struct job *job, const char *why_not)
{
    if (why_not)
        fprintf(stderr, "%s\n", why_not);
    job->exit_code = why_not ? 1 : 0;
    job->is_over = true;
}

/* ---- giving it back ---- */

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    struct job *job = ctx;

    if (status == HF_OK)
        printf("released after %u ticks\n", job->ticks);
    end(job, status == HF_OK ? NULL : err->text);
}

static void release(struct job *job)
{
    hf_status rc;

    if (!job->is_held)
        return;
    job->is_held = false;
    rc = hf_lock_release_async(job->lock, job->owner, on_released, job);
    if (rc < 0)
        end(job, hf_status_text(rc));
}

/* ---- having it ---- */

static void on_acquired(void *ctx, hf_status status, const struct hf_error *err)
{
    struct job *job = ctx;

    job->is_held = status == HF_OK;
    if (job->is_held)
        puts("held");
    else
        end(job, err->text);
}

static void on_wait(void *ctx, struct hf_lock *lock,
                    const struct hf_lock_info *info)
{
    (void)ctx;
    (void)lock;
    printf("waiting for %s\n", info->holder);
}

static void on_renewed(void *ctx, struct hf_lock *lock, int64_t owner)
{
    struct job *job = ctx;

    (void)lock;
    (void)owner;
    printf("renewed after %u ticks\n", job->ticks);
    if (--job->renewals == 0)
        release(job);
}

/* The work must stop. A lost hold is given back, too, which answers HF_LOST. */
static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason)
{
    (void)lock;
    (void)owner;
    printf("lost: %s\n", hf_lost_text(reason));
    release(ctx);
}

/* ---- open, stop, close ---- */

static hf_status request(struct job *job)
{
    struct hf_acquire_options wish;

    hf_cancel_init(&job->cancel, job->client);
    hf_acquire_options_init(&wish);
    wish.owner = job->owner = hf_owner_new(); /* one for each task */
    wish.cancel = &job->cancel;
    wish.on_wait = on_wait;
    wish.on_renewed = on_renewed;
    wish.on_lost = on_lost;
    wish.ctx = job;
    return hf_lock_acquire_async(job->lock, &wish, on_acquired, job);
}

void job_open(struct job *job, int argc, char **argv)
{
    struct hf_client_options options;
    struct hf_error error;
    hf_status rc;

    setvbuf(stdout, NULL, _IOLBF, 0);
    hf_client_options_init(&options);
    options.thread = false;
    if (argc > 1)
        options.url = argv[1];
    if (argc > 2)
        options.watchdog_ms = atoi(argv[2]);
    job->renewals = argc > 3 ? atoi(argv[3]) : 1;
    if (hf_client_new(&job->client, &options, &error) < 0 ||
        hf_lock_new(&job->lock, job->client, "order:42", 8, &error) < 0) {
        end(job, error.text);
        return;
    }
    job->loop = hf_client_loop(job->client);
    if (hf_loop_fd(job->loop) < 0)
        end(job, "this holdfast was built with poll(2): it has no descriptor "
                 "for another event loop");
    else if ((rc = request(job)) < 0)
        end(job, hf_status_text(rc));
}

/* Whichever it is, its callback comes. */
void job_stop(struct job *job)
{
    hf_cancel_fire(&job->cancel);
    release(job);
}

int job_close(struct job *job)
{
    hf_lock_free(job->lock);
    hf_client_free(job->client);
    return job->exit_code;
}
