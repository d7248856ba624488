/* Reads a password file in a separate thread. See password_file.h. */
/* Tests: tests/live/cli/test_run_reload.c, tests/live/cli/test_run.c. */
#include "cli/base/password_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/report.h"
#include "net/base/error.h"
#include "net/base/thread.h"
#include "net/loop/clock.h"

/* A password that was read too late for the call that requested it is used by the calls of the
 * next 10 s. Otherwise a file system that always needs longer than CLI_PASSWORD_WAIT_MS would
 * never provide one. */
#define RESULT_FRESH_MS 10000

/* Shared by the thread and its cli_password_file; the last one to drop it frees it. */
struct file_reader {
    const char *path;
    pthread_mutex_t mutex;
    pthread_cond_t ended;

    /* Under the mutex. */
    unsigned references;
    bool is_ended;
    int64_t ended_ms;
    hf_status status;
    struct hf_error error;
    char password[CLI_SECRET_MAX];
};

struct cli_password_file {
    const char *path;
    char last_password[CLI_SECRET_MAX]; /* the password that was read last */
    struct file_reader *reader;         /* its result was not used yet; NULL: none */
    bool was_waited_for_in_vain;        /* a call waited for `reader` in vain */
    bool began_after_refusal;           /* `reader` began after `last_password` was refused */
    bool has_reported_error;            /* the file could not be read, and this was reported */
};

/* ---- the reader ---- */

static struct file_reader *new_file_reader(const char *path)
{
    struct file_reader *r = calloc(1, sizeof *r);
    pthread_condattr_t monotonic;

    if (!r)
        return NULL;
    r->path = path;
    r->references = 1;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&r->mutex, NULL);
    (void)pthread_cond_init(&r->ended, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return r;
}

static void release_file_reader(struct file_reader *r)
{
    bool is_last;

    (void)pthread_mutex_lock(&r->mutex);
    is_last = --r->references == 0;
    (void)pthread_mutex_unlock(&r->mutex);
    if (!is_last)
        return;
    (void)pthread_cond_destroy(&r->ended);
    (void)pthread_mutex_destroy(&r->mutex);
    explicit_bzero(r, sizeof *r);
    free(r);
}

static void *run_file_reader(void *ctx)
{
    struct file_reader *r = ctx;
    char text[CLI_SECRET_MAX] = "";
    struct hf_error why = {0};
    hf_status rc = cli_secret_reread(text, r->path, &why);

    (void)pthread_mutex_lock(&r->mutex);
    r->is_ended = true;
    r->ended_ms = hf_clock_ms();
    r->status = rc;
    r->error = why;
    memcpy(r->password, text, sizeof text);
    (void)pthread_cond_signal(&r->ended);
    (void)pthread_mutex_unlock(&r->mutex);
    explicit_bzero(text, sizeof text);
    release_file_reader(r);
    return NULL;
}

static bool start_file_reader(struct file_reader *r)
{
    pthread_t thread;

    r->references++;
    if (hf_thread_start(&thread, run_file_reader, r, NULL) != 0) {
        r->references--;
        return false;
    }
    (void)pthread_detach(thread);
    return true;
}

/* Returns whether the thread has ended. It then no longer changes *r. */
static bool wait_for_file_reader(struct file_reader *r, int64_t ms)
{
    struct timespec until = hf_thread_deadline(ms);
    bool is_ended;
    int rc = 0;

    (void)pthread_mutex_lock(&r->mutex);
    while (!r->is_ended && rc == 0)
        rc = pthread_cond_timedwait(&r->ended, &r->mutex, &until);
    is_ended = r->is_ended;
    (void)pthread_mutex_unlock(&r->mutex);
    return is_ended;
}

/* ---- the file ---- */

struct cli_password_file *cli_password_file_new(const char *path, const char *text)
{
    struct cli_password_file *file = calloc(1, sizeof *file);

    if (!file)
        return NULL;
    file->path = path;
    (void)strncpy(file->last_password, text, sizeof file->last_password - 1);
    return file;
}

static void drop_reader_of_file(struct cli_password_file *file)
{
    if (file->reader)
        release_file_reader(file->reader);
    file->reader = NULL;
    file->was_waited_for_in_vain = false;
}

/* The thread read the file before the refusal, and found the password that was refused. */
static bool found_refused_password(const struct cli_password_file *file)
{
    return !file->began_after_refusal && file->reader->status == HF_OK &&
           strcmp(file->reader->password, file->last_password) == 0;
}

static hf_status begin_reading_if_needed(struct cli_password_file *file, bool was_refused,
                                         struct hf_error *err)
{
    if (file->reader && wait_for_file_reader(file->reader, 0) &&
        (hf_clock_ms() - file->reader->ended_ms >= RESULT_FRESH_MS ||
         (was_refused && found_refused_password(file))))
        drop_reader_of_file(file);
    if (file->reader)
        return HF_OK;
    file->began_after_refusal = was_refused;
    file->reader = new_file_reader(file->path);
    if (file->reader && start_file_reader(file->reader))
        return HF_OK;
    drop_reader_of_file(file);
    return hf_error_set(err, HF_E_NOMEM,
                        "cannot read password file %s again: no thread can be started",
                        file->path);
}

/* A file that is missing for a while costs no hold: the last password may still be right. */
static hf_status use_reader_result(struct cli_password_file *file, bool was_refused,
                                   struct hf_error *err)
{
    hf_status rc = file->reader->status;

    if (rc == HF_OK)
        memcpy(file->last_password, file->reader->password, sizeof file->last_password);
    else
        *err = file->reader->error;
    drop_reader_of_file(file);
    if (rc < 0 && !was_refused) {
        if (!file->has_reported_error)
            cli_warn("%s; the password that was read before is used", err->text);
        file->has_reported_error = true;
        return HF_OK;
    }
    file->has_reported_error = file->has_reported_error && rc < 0;
    return rc;
}

static hf_status use_last_password(struct cli_password_file *file, bool was_refused,
                                   struct hf_error *err)
{
    bool is_noted = file->was_waited_for_in_vain;

    file->was_waited_for_in_vain = true;
    if (was_refused)
        return hf_error_set(err, HF_E_SYSTEM,
                            "cannot use password file %s: it is still being read; does its "
                            "file system reply?", file->path);
    if (!is_noted)
        cli_warn("password file %s could not be read within %d ms; does its file system "
                 "reply? The password that was read before is used",
                 file->path, CLI_PASSWORD_WAIT_MS);
    return HF_OK;
}

hf_status cli_password_file_read(struct cli_password_file *file, bool was_refused,
                                 const char **out, struct hf_error *err)
{
    hf_status rc;

    *out = file->last_password;
    do { /* a thread that began before the refusal may end only now */
        if ((rc = begin_reading_if_needed(file, was_refused, err)) < 0)
            return rc;
        if (!wait_for_file_reader(file->reader, file->was_waited_for_in_vain ? 0
                                  : CLI_PASSWORD_WAIT_MS))
            return use_last_password(file, was_refused, err);
    } while (was_refused && found_refused_password(file));
    return use_reader_result(file, was_refused, err);
}

void cli_password_file_free(struct cli_password_file *file)
{
    if (!file)
        return;
    drop_reader_of_file(file);
    explicit_bzero(file, sizeof *file);
    free(file);
}
