/* The values of options, as text: durations, numbers, signals. */
/* Tests: tests/test_cli_values.c. */
#include "cli/base/values.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- durations ---- */

/* A billionth of an hour is 3.6 us, so that digits after the ninth only round
 * up. */
#define FRACTION_MAX 1000000000

/* The digits at *at as a number; beyond `most` it is just "too much". */
static int64_t parse_digits(const char **at, int64_t most)
{
    int64_t n = 0;

    for (; is_digit(**at); (*at)++)
        if (n <= most)
            n = n * 10 + (**at - '0');
    return n;
}

/* The digits after the point, as billionths, rounded up. */
static int64_t parse_fraction(const char **at)
{
    int64_t n = 0;
    int64_t weight = FRACTION_MAX / 10;
    bool has_rest = false;

    for (; is_digit(**at); (*at)++, weight /= 10) {
        n += (**at - '0') * weight;
        has_rest |= weight == 0 && **at != '0';
    }
    return n + has_rest;
}

static const struct {
    const char *suffix;
    int64_t ms;
} units[] = {{"", 1000},
             {"ms", 1},
             {"s", 1000},
             {"m", INT64_C(60) * 1000},
             {"h", INT64_C(3600) * 1000}};

/* 0: there is no such unit. */
static int64_t ms_of_unit(const char *suffix)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].suffix, suffix) == 0)
            return units[i].ms;
    return 0;
}

bool cli_duration_parse(const char *text, int64_t *out_ms)
{
    const char *at = text;
    bool has_digits = is_digit(*at);
    int64_t whole = parse_digits(&at, CLI_DURATION_MAX_MS);
    int64_t billionths = 0;
    int64_t unit, ms;

    if (*at == '.') {
        has_digits |= is_digit(*++at);
        billionths = parse_fraction(&at);
    }
    unit = ms_of_unit(at);
    if (!has_digits || unit == 0 || whole > CLI_DURATION_MAX_MS / unit)
        return false;
    ms = whole * unit + (billionths * unit + FRACTION_MAX - 1) / FRACTION_MAX;
    if (ms > CLI_DURATION_MAX_MS)
        return false;
    *out_ms = ms;
    return true;
}

/* ---- numbers ---- */

bool cli_number_parse(const char *text, int least, int most, int *out)
{
    const char *at = text;
    int64_t n = parse_digits(&at, most);

    if (at == text || *at != '\0' || n < least || n > most)
        return false;
    *out = (int)n;
    return true;
}

/* ---- signals ---- */

/* The signals that stop a program, or that it dies of. */
static const struct {
    const char *name;
    int number;
} signals[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},
               {"ILL", SIGILL},   {"TRAP", SIGTRAP}, {"ABRT", SIGABRT},
               {"BUS", SIGBUS},   {"FPE", SIGFPE},   {"KILL", SIGKILL},
               {"USR1", SIGUSR1}, {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},
               {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
               {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {"SYS", SIGSYS}};

#define SIGNALS (sizeof signals / sizeof *signals)

bool cli_signal_parse(const char *text, int *out)
{
    int number = 0;

    if (strncasecmp(text, "SIG", 3) == 0)
        text += 3;
    (void)cli_number_parse(text, 1, 64, &number); /* 0: not a signal */
    for (size_t i = 0; i < SIGNALS; i++) {
        if (signals[i].number != number &&
            strcasecmp(signals[i].name, text) != 0)
            continue;
        *out = signals[i].number;
        return true;
    }
    return false;
}

const char *cli_signal_name(int number, char room[CLI_SIGNAL_NAME_MAX])
{
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i].number == number)
            return signals[i].name;
    (void)snprintf(room, CLI_SIGNAL_NAME_MAX, "%d", number);
    return room;
}
