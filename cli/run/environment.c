/* The environment of the command: ours, with a few variables set. */
#include "cli/run/environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_one_of(const char *entry, const char *const *names, size_t count)
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
        if (!is_one_of(environ[i], names, count))
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
