/* The clock of the wall. */
/* Tests: tests/live/cli/test_watch.c, tests/live/cli/test_run_metrics.c. */
#include "cli/base/wall_clock.h"

#include <stdio.h>
#include <time.h>

int64_t cli_wall_clock_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void cli_wall_clock_text(char dst[CLI_WALL_CLOCK_MAX])
{
    int64_t now_ms = cli_wall_clock_ms();
    time_t now_s = (time_t)(now_ms / 1000);
    struct tm utc;
    size_t len;

    (void)gmtime_r(&now_s, &utc);
    len = strftime(dst, CLI_WALL_CLOCK_MAX, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(dst + len, CLI_WALL_CLOCK_MAX - len, ".%03dZ", (int)(now_ms % 1000));
}
