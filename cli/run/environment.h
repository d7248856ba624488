/* The environment of the command. */
#ifndef CLI_RUN_ENVIRONMENT_H
#define CLI_RUN_ENVIRONMENT_H

#include <stddef.h>

/* cli_environment_new  - ours, with `count` variables set to `values`, and without
 *                        `hidden` (NULL: nothing is): an array for
 *                        cli_environment_free, that ends in NULL; NULL: out of
 *                        memory. The rest of its text stays environ's. */
char **cli_environment_new(const char *const *names, const char *const *values,
                           size_t count, const char *hidden);
void cli_environment_free(char **env, size_t count);

#endif
