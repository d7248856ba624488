/* The clock of the wall, which may be set: for people and files only, never for a decision. */
#ifndef CLI_WALL_CLOCK_H
#define CLI_WALL_CLOCK_H

#include <stdint.h>

/* cli_wall_clock_ms - returns the Unix time in milliseconds. */
int64_t cli_wall_clock_ms(void);

/* cli_wall_clock_text - writes the time now in UTC, with milliseconds: RFC 3339. */
#define CLI_WALL_CLOCK_MAX 40
void cli_wall_clock_text(char dst[CLI_WALL_CLOCK_MAX]);

#endif
