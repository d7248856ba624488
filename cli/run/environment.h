/* The environment of the command. */
#ifndef CLI_RUN_ENVIRONMENT_H
#define CLI_RUN_ENVIRONMENT_H

#include <stddef.h>

/* cli_environment_new - ours, with `count` variables set to `values`, or without
 *   those whose value is NULL: an array that ends in NULL, for
 *   cli_environment_free, which is given the same. NULL: out of memory. The text of the other variables
 *   stays environ's. */
char **cli_environment_new(const char *const *names, const char *const *values,
                           size_t count);
void cli_environment_free(char **env, const char *const *values, size_t count);

#endif
