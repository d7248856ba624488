/* Parses the command line by tables of options, one option at a time. As getopt_long(3), but
 * without globals, and with our own messages. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/command.h"

struct cli_option {
    int id;                     /* > 0; 0 ends a table */
    char letter;                /* 0: only the long form */
    const char *name;           /* NULL: only the letter; rows of one id are synonyms */
    const char *value_name;     /* its name in messages; NULL: it has no value */
};

/* A walk along the command line. `argv` ends in NULL; its text may be changed
 * (cli_secret_hide_in_url). */
struct cli_args {
    char **next_word;                 /* the first word that was not processed */
    const struct cli_command *command;/* for messages; NULL: none yet */
    const char *help_command;         /* for a program without subcommands: the help that messages
                                         name; NULL: holdfast help */
    char *letters_left;               /* the rest of "-nq"; NULL: none */
    bool has_only_words;              /* "--" was seen */
    bool has_numbers;                 /* "-1" is a word: a number */
    int (*print_help)(const struct cli_command *); /* for --help; see command above */
};

enum { CLI_ARGS_END = -1, CLI_ARGS_WORD = -2, CLI_ARGS_BAD = -3 };

/* cli_args_next - returns the id of the next option, and its value in *value.
 *   tables  of options, followed by NULL
 * CLI_ARGS_WORD: another word, in *value. CLI_ARGS_END: the end. CLI_ARGS_BAD: an error, which was
 * reported; for an unknown long option, with the nearest known one.
 * Forms: -w5, -w 5, -nw5, --wait 5, --wait=5, and --wai 5 if no other option begins so;
 * after "--" all arguments are words. */
int cli_args_next(struct cli_args *args,
                  const struct cli_option *const *tables, char **value);

/* cli_usage - reports an error of usage, followed by "see 'holdfast help run'" or by
 *   args->help_command.
 * Returns CLI_EXIT_ERROR. */
int cli_usage(const struct cli_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* cli_take_duration, cli_take_number, cli_take_signal - parse the value of `option`. Return
 * CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error. */
int cli_take_duration(const struct cli_args *args, const char *option,
                      const char *text, int64_t least_ms, int64_t *out_ms);
int cli_take_number(const struct cli_args *args, const char *option,
                    const char *text, int least, int most, int *out);
int cli_take_signal(const struct cli_args *args, const char *option,
                    const char *text, int *out);

#endif
