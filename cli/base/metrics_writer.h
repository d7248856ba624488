/* Writes the metrics of a command to a file, in a separate thread: a file system that does not
 * reply (NFS, FUSE) blocks that thread, and not the one that renews. There is at most one such
 * thread for each file, and at most one text that waits for it: a newer one replaces it. The
 * thread cannot be stopped; if it is still blocked, it ends with the process. */
#ifndef CLI_METRICS_WRITER_H
#define CLI_METRICS_WRITER_H

#include <stdbool.h>
#include <stdint.h>

struct cli_metrics_writer;

/* What the command counts itself. The file has the sums of all commands that wrote it, so that a
 * collector sees each of the short runs of a timer. Times are those of the wall clock. */
struct cli_metrics_values {
    bool is_held;
    uint64_t acquired_count;    /* times that the lock was acquired */
    uint64_t lost_count;        /* of these, that it was lost */
    uint64_t failed_count;      /* of these, that ended with another code than 0 */
    int64_t acquired_ms;        /* when the lock was acquired last; 0: never */
    int64_t ended_ms;           /* when that ended; 0: never */
    int64_t last_success_ms;    /* when one ended with the code 0; 0: never */
    int64_t updated_ms;         /* when these values were put together */
    int exit_code;              /* at ended_ms */
};

/* cli_metrics_writer_new - returns NULL if there is no memory.
 *   path         borrowed until the process ends
 *   name         of the lock: the label of each sample. Borrowed as `path`
 *   is_election  the lock is that of an election */
struct cli_metrics_writer *cli_metrics_writer_new(const char *path, const char *name,
                                                  bool is_election);

/* cli_metrics_writer_put - writes these values and `text` soon: to a new file in the folder of
 *   `path`, which then replaces `path`.
 *   text  taken; from malloc(). NULL: the values alone */
void cli_metrics_writer_put(struct cli_metrics_writer *w,
                            const struct cli_metrics_values *values, char *text);

/* cli_metrics_writer_await - waits at most `ms`. Returns whether all texts were written, or could
 *   not be. */
bool cli_metrics_writer_await(struct cli_metrics_writer *w, int64_t ms);

/* cli_metrics_writer_error - returns why the last text could not be written, as a message in
 *   `dst`; NULL: it was written, or none has been tried. */
#define CLI_METRICS_ERROR_MAX 400
const char *cli_metrics_writer_error(struct cli_metrics_writer *w,
                                     char dst[CLI_METRICS_ERROR_MAX]);

/* cli_metrics_writer_drop - the caller no longer needs it. A text that waits is still written. */
void cli_metrics_writer_drop(struct cli_metrics_writer *w);

/* cli_metrics_compose - writes the samples of the values, with those that the former file
 *   `before` (NULL: none) has for this label (hf_metric_label), to dst. For tests.
 *   Returns the length. */
#define CLI_METRICS_OWN_MAX 8192
int cli_metrics_compose(char dst[CLI_METRICS_OWN_MAX], const struct cli_metrics_values *values,
                        const char *label, bool is_election, const char *before);

#endif
