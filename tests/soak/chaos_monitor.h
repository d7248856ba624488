/* What a watch has written to its file (chaos_watch.h), record by record. */
#ifndef CHAOS_MONITOR_H
#define CHAOS_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#define MONITOR_ARGS_MAX 64

struct monitor;

/* A command that the server executed; or, with argc 0, the server has ended the
 * connection. */
struct monitor_record {
    int64_t us;                 /* CLOCK_BOOTTIME */
    int64_t unix_ms;            /* of the server's clock */
    bool is_lua;                /* called by a script */
    bool is_local;              /* over the Unix socket: an operator's, or ours */
    int argc;
    char *argv[MONITOR_ARGS_MAX];   /* further ones are left out */
};

/* monitor_open   - the file must be complete.
 * monitor_peek   - the next record; NULL: no more. Lent until monitor_pop.
 * monitor_stands - the answer with this number; NULL: it was never given.
 * monitor_us     - a moment of the server's clock, by the offset that was in force
 *                  at the record that was peeked last. */
struct monitor *monitor_open(const char *path);
void monitor_close(struct monitor *m);
struct monitor_record *monitor_peek(struct monitor *m);
void monitor_pop(struct monitor *m);
const char *monitor_stands(const struct monitor *m, unsigned long number);
int64_t monitor_us(const struct monitor *m, int64_t unix_ms);

#endif
