/* Lines for the log callback, which is called without the loop's mutex.
 *
 * At most LOG_LINES_MAX lines wait for the callback. Further lines are counted, and one line
 * reports their number after the callback has received those that wait. */
/* Tests: tests/live/lock/test_lock_callbacks.c. */
#include "lock/record/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "net/base/mem.h"

#define LOG_LINES_MAX 256   /* 100 KiB of lines, more than a slow callback needs */

struct log_line {
    struct hf_task task;
    struct hf_client *client;
    enum hf_log_level level;
    char text[400];
};

/* Logs this line with the level of the most severe line that was left out. [unlocked]
 * */
static void log_count_of_left_out_lines(struct hf_client *client, uint64_t count,
                                        enum hf_log_level level)
{
    char text[100];

    if (count == 0 || hf_loop_forked(client->loop))
        return;
    (void)snprintf(text, sizeof text,
                   "%llu more lines were left out: too many at once",
                   (unsigned long long)count);
    client->log(client->log_ctx, level, text);
}

static void run_log_callback(struct hf_task *task)
{
    struct log_line *line = HF_OWNER_OF(task, struct log_line, task);
    struct hf_client *client = line->client;
    enum hf_log_level level = client->worst_left_out_level;
    uint64_t left_out = 0;

    if (--client->log_lines_queued == 0) {
        left_out = client->log_lines_left_out;
        client->log_lines_left_out = 0;
        client->worst_left_out_level = HF_LOG_INFO;
    }
    hf_loop_unlock(client->loop);
    client->log(client->log_ctx, line->level, line->text);
    log_count_of_left_out_lines(client, left_out, level);
    hf_loop_lock(client->loop);
    hf_mem_free(client->mem, line, sizeof *line);
}

static struct log_line *new_log_line(struct hf_client *client, enum hf_log_level level)
{
    struct log_line *line = client->log_lines_queued < LOG_LINES_MAX
                            ? hf_mem_new(client->mem, sizeof *line)
                            : NULL;

    if (line) {
        client->log_lines_queued++;
        return line;
    }
    client->log_lines_left_out++;
    if (level < client->worst_left_out_level)
        client->worst_left_out_level = level;
    return NULL;
}

/* If there is no memory, the line is left out. */
void hf_client_log(struct hf_client *client, enum hf_log_level level,
                   const char *format, ...)
{
    struct log_line *line;
    va_list args;

    if (!client->log || !(line = new_log_line(client, level)))
        return;
    line->client = client;
    line->level = level;
    va_start(args, format);
    (void)vsnprintf(line->text, sizeof line->text, format, args);
    va_end(args);
    hf_task_init(&line->task, run_log_callback);
    hf_loop_post(client->loop, &line->task);
}
