/* What the server did meanwhile, in its order, by MONITOR.
 * Threads: one at a time. */
#ifndef TEST_REDISSON_MONITOR_H
#define TEST_REDISSON_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#define MONITOR_OWNER_ROOM 96

/* monitor_begin - from now on.
 * monitor_end   - until now: `take` is shown each line.
 * monitor_is    - does the line have this command, with these first arguments, as
 *                 MONITOR writes them ("\"hset\" \"NAME\"")? Then `owner` is the
 *                 argument behind.
 * monitor_ms    - when it was, by the server's clock.
 * monitor_tail  - prints the last lines that `take` was shown: how it came to a failure. */
void monitor_begin(void);
void monitor_end(void (*take)(void *ctx, const char *line), void *ctx);
bool monitor_is(const char *line, const char *command,
                char owner[MONITOR_OWNER_ROOM]);
int64_t monitor_ms(const char *line);
void monitor_tail(void);

#endif
