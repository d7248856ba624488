/* The environment of the command. */
#ifndef CLI_RUN_ENVIRONMENT_H
#define CLI_RUN_ENVIRONMENT_H

#include <stddef.h>

/* cli_environment_new - ours, with `count` variables set to `values`, and
 *   without `hidden` (NULL: nothing is): an array that ends in NULL, for
 *   cli_environment_free. NULL: out of memory. The text of the other variables
 *   stays environ's. */
char **cli_environment_new(const char *const *names, const char *const *values,
                           size_t count, const char *hidden);
void cli_environment_free(char **env, size_t count);

#endif
