/* One JSON object on one line: flat, keys in the order of the calls. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_json {
    char *text;                 /* NULL or for free(): cli_json_fini */
    size_t len;
    size_t room;
    bool is_broken;             /* memory ran out */
    bool escapes;               /* cli_json_escape_for */
    bool has_told_so;           /* `escaped` is in it */
};

/* cli_json_init - "{".
 * cli_json_end - "}" and a newline. Returns the line, j->len bytes long and
 *   with a NUL behind, lent until cli_json_fini. NULL: no memory.
 * cli_json_print - ends the line, prints it on standard output and frees it.
 *   CLI_CONTINUE, or CLI_EXIT_ERROR and reported. */
void cli_json_init(struct cli_json *j);
const char *cli_json_end(struct cli_json *j);
void cli_json_fini(struct cli_json *j);
int cli_json_print(struct cli_json *j);

/* Each adds a member. `key` needs no escaping.
 * cli_json_bytes - any bytes: UTF-8 as it is, but characters that a terminal
 *                  obeys (hf_utf8_is_shown) as \uXXXX, and stray bytes as
 *                  U+FFFD. cli_json_text - up to the NUL.
 * cli_json_escape_for - for each text that may not be UTF-8, before any is added. If
 *                  one is not, no byte is lost: every text has \xHH for a stray
 *                  byte and two backslashes for one, and a member `escaped`, true,
 *                  follows the first. */
void cli_json_escape_for(struct cli_json *j, const char *ptr, size_t len);
void cli_json_bytes(struct cli_json *j, const char *key, const char *ptr,
                    size_t len);
void cli_json_text(struct cli_json *j, const char *key, const char *text);
void cli_json_integer(struct cli_json *j, const char *key, int64_t n);
void cli_json_bool(struct cli_json *j, const char *key, bool b);

#endif
