/* When the metrics of a command are written, and what is reported of it. */
/* Tests: tests/live/cli/test_run_metrics.c. */
#include "cli/base/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/metrics_writer.h"
#include "cli/base/report.h"
#include "cli/base/wall_clock.h"
#include "lock/metrics.h"

#define INTERVAL_MS 15000
#define INTERVAL_LEAST_MS 1000
/* How long the end of the process waits for the file: after a hold for its last state, otherwise
 * only for a write that has begun. */
#define LAST_STATE_MS 1000
#define LAST_WRITE_MS 20

struct cli_metrics {
    struct cli_metrics_writer *writer;
    const char *path;
    const char *lock_name;
    int64_t interval_ms;
    bool is_election;
    struct cli_metrics_values values;

    struct hf_loop *loop;       /* NULL: not attached */
    struct hf_timer timer;
    bool is_write_due;
    struct hf_client *const *clients;
    size_t clients_count;

    bool is_error_reported;     /* since the last write that succeeded */
    bool is_late_reported;      /* the same */
};

/* ---- the command line ---- */

int cli_metrics_take_option(struct cli_metrics_options *o, const struct cli_args *args, int id,
                            const char *value)
{
    if (id == CLI_OPT_METRICS_INTERVAL)
        return cli_take_duration(args, "--metrics-interval", value, INTERVAL_LEAST_MS,
                                 &o->interval_ms);
    o->path = value;
    return *value ? CLI_CONTINUE : cli_usage(args, "--metrics-file: FILE is empty");
}

int cli_metrics_check(const struct cli_metrics_options *o, const struct cli_args *args)
{
    if (o->interval_ms > 0 && !o->path)
        return cli_usage(args, "--metrics-interval needs --metrics-file");
    return CLI_CONTINUE;
}

/* node_exporter's textfile collector ignores other files. */
static void warn_of_ignored_name(const char *path)
{
    size_t len = strlen(path), end = strlen(".prom");

    if (len < end || strcmp(path + len - end, ".prom") != 0)
        cli_warn("the name of the metrics file %s does not end in .prom: node_exporter does not "
                 "read it", path);
}

static void on_interval_timer(struct hf_timer *timer)
{
    struct cli_metrics *m = HF_OWNER_OF(timer, struct cli_metrics, timer);

    m->is_write_due = true;
    hf_loop_arm(m->loop, timer, hf_clock_ms() + m->interval_ms);
}

struct cli_metrics *cli_metrics_open(const struct cli_metrics_options *o, const char *name)
{
    struct cli_metrics *m;

    if (!o->path)
        return NULL;
    m = calloc(1, sizeof *m);
    if (m)
        m->writer = cli_metrics_writer_new(o->path, name, o->is_election);
    if (!m || !m->writer) {
        cli_warn("no metrics: %s", hf_status_text(HF_E_NOMEM));
        free(m);
        return NULL;
    }
    warn_of_ignored_name(o->path);
    m->path = o->path;
    m->lock_name = name;
    m->interval_ms = o->interval_ms > 0 ? o->interval_ms : INTERVAL_MS;
    m->is_election = o->is_election;
    m->timer.fire = on_interval_timer;
    return m;
}

/* ---- the text ---- */

struct text_lines {
    char *text;
    size_t len, capacity;
    bool has_failed;
};

static bool grow_lines(struct text_lines *l, size_t want)
{
    size_t room = l->capacity ? l->capacity : 16 << 10;
    char *text;

    while (room < want)
        room *= 2;
    if (room == l->capacity)
        return true;
    text = realloc(l->text, room);
    if (!text)
        return false;
    l->text = text;
    l->capacity = room;
    return true;
}

static void put_line(void *ctx, const char *line)
{
    struct text_lines *l = ctx;
    size_t len = strlen(line);

    l->has_failed = l->has_failed || !grow_lines(l, l->len + len + 2);
    if (l->has_failed)
        return;
    memcpy(l->text + l->len, line, len);
    l->len += len;
    memcpy(l->text + l->len++, "\n", 2);
}

/* Without memory the file has only what the command counts. */
static char *metrics_text_of_clients(const struct cli_metrics *m)
{
    struct hf_metrics_options o = HF_METRICS_OPTIONS_INIT;
    struct text_lines l = {0};

    o.format = HF_METRICS_PROMETHEUS;
    o.name = m->lock_name;
    if (m->clients_count > 0 &&
        hf_metrics_text(m->clients, m->clients_count, &o, put_line, &l) == HF_OK &&
        !l.has_failed)
        return l.text;
    free(l.text);
    return NULL;
}

/* ---- writing ---- */

/* A file system that does not reply is noticed when the next text is due. */
static void report_write_error(struct cli_metrics *m, bool is_late)
{
    char room[CLI_METRICS_ERROR_MAX];
    const char *error = cli_metrics_writer_error(m->writer, room);

    if (is_late && !m->is_late_reported)
        cli_warn("metrics file %s is still being written; does its file system reply?", m->path);
    if (error && !m->is_error_reported)
        cli_warn("%s", error);
    m->is_late_reported = is_late;
    m->is_error_reported = error != NULL;
}

static bool must_write_file(const struct cli_metrics *m)
{
    return m->is_election || m->values.acquired_count > 0;
}

static void write_values_now(struct cli_metrics *m)
{
    if (!must_write_file(m))
        return;
    m->values.updated_ms = cli_wall_clock_ms();
    cli_metrics_writer_put(m->writer, &m->values, metrics_text_of_clients(m));
}

void cli_metrics_attach(struct cli_metrics *m, struct hf_loop *loop,
                        struct hf_client *const *clients, size_t count)
{
    if (!m)
        return;
    m->loop = loop;
    m->clients = clients;
    m->clients_count = count;
    hf_loop_lock(loop);
    hf_loop_arm(loop, &m->timer, hf_clock_ms() + m->interval_ms);
    hf_loop_unlock(loop);
    write_values_now(m);
}

void cli_metrics_detach(struct cli_metrics *m)
{
    if (!m || !m->loop)
        return;
    hf_loop_lock(m->loop);
    hf_loop_disarm(m->loop, &m->timer);
    hf_loop_unlock(m->loop);
    m->loop = NULL;
    m->clients_count = 0;
}

void cli_metrics_after_turn(struct cli_metrics *m)
{
    if (!m || !m->is_write_due)
        return;
    m->is_write_due = false;
    report_write_error(m, !cli_metrics_writer_await(m->writer, 0));
    write_values_now(m);
}

void cli_metrics_close(struct cli_metrics *m)
{
    bool has_state;

    if (!m)
        return;
    has_state = m->values.ended_ms != 0;
    report_write_error(m,
                       !cli_metrics_writer_await(m->writer,
                                                 has_state ? LAST_STATE_MS : LAST_WRITE_MS) &&
                       has_state);
    cli_metrics_writer_drop(m->writer);
    free(m);
}

/* ---- what happened ---- */

void cli_metrics_note_held(struct cli_metrics *m)
{
    if (!m)
        return;
    m->values.is_held = true;
    m->values.acquired_count++;
    m->values.acquired_ms = cli_wall_clock_ms();
    write_values_now(m);
}

void cli_metrics_note_lost(struct cli_metrics *m)
{
    if (!m || !m->values.is_held)
        return;
    m->values.is_held = false;
    m->values.lost_count++;
    write_values_now(m);
}

void cli_metrics_note_end(struct cli_metrics *m, int code)
{
    if (!m)
        return;
    m->values.is_held = false;
    m->values.ended_ms = cli_wall_clock_ms();
    m->values.exit_code = code;
    m->values.failed_count += code != 0;
    if (code == 0)
        m->values.last_success_ms = m->values.ended_ms;
    write_values_now(m);
}
