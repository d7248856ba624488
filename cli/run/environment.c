/* The environment of the command: ours, with a few variables set. */
/* Tests: tests/live/cli/test_run.c, tests/live/cli/test_run_service.c. */
#include "cli/run/environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_variable_listed(const char *entry, const char *const *names, size_t count)
{
    size_t len = strcspn(entry, "=");

    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == len && memcmp(names[i], entry, len) == 0)
            return true;
    return false;
}

static char *new_entry(const char *name, const char *value)
{
    size_t name_len = strlen(name), value_len = strlen(value);
    char *entry = malloc(name_len + 1 + value_len + 1);

    if (!entry)
        return NULL;
    memcpy(entry, name, name_len);
    entry[name_len] = '=';
    memcpy(entry + name_len + 1, value, value_len + 1);
    return entry;
}

static size_t environ_count(void)
{
    size_t n = 0;

    while (environ && environ[n])
        n++;
    return n;
}

/* The new variables come first: their text is ours to free. */
char **cli_environment_new(const char *const *names, const char *const *values,
                           size_t count)
{
    size_t old = environ_count();
    char **env = calloc(count + old + 1, sizeof *env);
    size_t n = 0;

    if (!env)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (!values[i] || (env[n++] = new_entry(names[i], values[i])))
            continue;
        cli_environment_free(env, values, i);
        return NULL;
    }
    for (size_t i = 0; i < old; i++)
        if (!is_variable_listed(environ[i], names, count))
            env[n++] = environ[i];
    return env;
}

void cli_environment_free(char **env, const char *const *values, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; env && i < count; i++)
        if (values[i])
            free(env[n++]);
    free(env);
}

/* ---- variables that name a process ---- */

static const char pid_room[] = "PID-OF-THE-COMMAND"; /* longer than any pid */

const char *cli_environment_pid_value(const char *name)
{
    const char *value = getenv(name);
    char own[24];

    (void)snprintf(own, sizeof own, "%ld", (long)getpid());
    return value && strcmp(value, own) == 0 ? pid_room : value;
}

/* Only functions that are safe after the fork of a process with threads. */
static void write_digits(char *dst, unsigned long n)
{
    char digits[24];
    size_t len = 0;

    do
        digits[len++] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    while (len > 0)
        *dst++ = digits[--len];
    *dst = '\0';
}

void cli_environment_put_pid(char **env, pid_t pid)
{
    for (; *env; env++) {
        char *value = strchr(*env, '=');

        if (value && strcmp(value + 1, pid_room) == 0)
            write_digits(value + 1, (unsigned long)pid);
    }
}
