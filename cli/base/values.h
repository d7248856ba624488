/* Parses the values of options: durations, numbers, signals. Independent of locales. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* Ten years: longer than any lock, and far below an overflow of milliseconds. */
#define CLI_DURATION_MAX_MS (INT64_C(10) * 365 * 24 * 3600 * 1000)

/* How to write a value, for messages. */
#define CLI_DURATION_FORM "a number of seconds, or a number followed by ms, s, m or h"
#define CLI_SIGNAL_FORM "a name such as TERM or INT, or a number"

/* cli_duration_parse - reads "1.5", "250ms", "30s", "5m" or "2h" as milliseconds, from 0 to
 *   CLI_DURATION_MAX_MS. A fraction of a millisecond is rounded up, so that only 0 becomes 0.
 * cli_number_parse - reads a decimal number from `least` to `most`.
 * cli_signal_parse - reads "TERM", "SIGTERM", "term" or "15": a signal that can end a process.
 * False: the text has another form, and *out is unchanged. */
bool cli_duration_parse(const char *text, int64_t *out_ms);
bool cli_number_parse(const char *text, int least, int most, int *out);
bool cli_signal_parse(const char *text, int *out);

/* cli_signal_name - returns "TERM", or "35" for a signal without a name in our table; in static
 *                   memory or in `room`. */
#define CLI_SIGNAL_NAME_MAX 12
const char *cli_signal_name(int number, char room[CLI_SIGNAL_NAME_MAX]);

#endif
