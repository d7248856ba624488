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
    bool is_broken;             /* there was no memory */
};

/* cli_json_init - "{". cli_json_end - "}" and a newline; returns the line, its
 * length in j->len (a NUL follows), lent until cli_json_fini; NULL: there was
 * no memory. */
void cli_json_init(struct cli_json *j);
const char *cli_json_end(struct cli_json *j);
void cli_json_fini(struct cli_json *j);

/* A member. `key` needs no escaping.
 * cli_json_bytes - bytes of any value: UTF-8 as it is, but what a terminal obeys
 *                  (hf_utf8_is_shown) as \uXXXX; each byte that is none as
 *                  U+FFFD. cli_json_text - up to the NUL. */
void cli_json_bytes(struct cli_json *j, const char *key, const char *ptr,
                    size_t len);
void cli_json_text(struct cli_json *j, const char *key, const char *text);
void cli_json_integer(struct cli_json *j, const char *key, int64_t n);
void cli_json_bool(struct cli_json *j, const char *key, bool b);

#endif
