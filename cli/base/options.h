/* The command line: options in tables, taken one at a time. As getopt_long(3),
 * but without globals, without abbreviations, and with messages of our own. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/command.h"

struct cli_option {
    int id;                     /* > 0; 0 ends a table */
    char letter;                /* 0: only the long form */
    const char *name;           /* NULL: only the letter */
    const char *value;          /* what messages call it; NULL: takes none */
};

/* A walk along the command line. `argv` ends in NULL; its text may be changed
 * (cli_secret_hide). */
struct cli_args {
    char **next;                      /* the first word that is not taken */
    const struct cli_command *command;/* for messages; NULL: none yet */
    const char *see;                  /* of a program without subcommands: what messages
                                         of usage name; NULL: holdfast help */
    char *letters;                    /* the rest of "-nq"; NULL: none */
    bool has_only_words;              /* "--" was seen */
    int (*print_help)(const struct cli_command *); /* for --help; see command above */
};

enum { CLI_END = -1, CLI_WORD = -2, CLI_BAD = -3 };

/* cli_args_next - returns the id of the next option, and its value in *value.
 *   tables  of options, followed by NULL
 * CLI_WORD: another word, in *value. CLI_END: the end. CLI_BAD: an error, which was reported.
 * Forms: -w5, -w 5, -nw5, --wait 5, --wait=5; after "--" all arguments are words. */
int cli_args_next(struct cli_args *args,
                  const struct cli_option *const *tables, char **value);

/* cli_usage - reports an error of usage: "holdfast: run: ...; see 'holdfast
 * help run'", or what args->see says. Returns CLI_EXIT_ERROR. */
int cli_usage(const struct cli_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Take the value of `option`. CLI_CONTINUE, or CLI_EXIT_ERROR and reported. */
int cli_take_duration(const struct cli_args *args, const char *option,
                      const char *text, int64_t least_ms, int64_t *out_ms);
int cli_take_number(const struct cli_args *args, const char *option,
                    const char *text, int least, int most, int *out);
int cli_take_signal(const struct cli_args *args, const char *option,
                    const char *text, int *out);

#endif
