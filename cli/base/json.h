/* One JSON object on one line: flat, keys in the order of the calls. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_json {
    char *text;                 /* NULL or for free(): cli_json_fini */
    size_t len;
    size_t capacity;
    bool is_out_of_memory;      /* memory ran out */
    bool escapes_values;        /* cli_json_choose_escaping */
    bool has_escaped_member;    /* `escaped` is in it */
};

/* cli_json_init - begins the object.
 * cli_json_end - ends the object and the line. Returns the line of j->len bytes, followed by
 *   NUL, lent until cli_json_fini. NULL: no memory.
 * cli_json_print - ends the line, prints it on standard output and frees it.
 *   Returns CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error. */
void cli_json_init(struct cli_json *j);
const char *cli_json_end(struct cli_json *j);
void cli_json_fini(struct cli_json *j);
int cli_json_print(struct cli_json *j);

/* Each of these adds a member; `key` needs no escaping.
 * cli_json_bytes - adds a text of any bytes: UTF-8 is unchanged, but control characters of a
 *                  terminal (hf_utf8_is_printable) become \uXXXX, and invalid bytes U+FFFD.
 * cli_json_text  - does the same for a text that ends in NUL.
 * cli_json_choose_escaping - is called for each text that may not be UTF-8, before any is added. If
 *                  one of them is not, no byte is lost: in every text an invalid byte becomes
 *                  \xHH and a backslash two, and a member `escaped`, true, follows the
 *                  first. */
void cli_json_choose_escaping(struct cli_json *j, const char *ptr, size_t len);
void cli_json_bytes(struct cli_json *j, const char *key, const char *ptr,
                    size_t len);
void cli_json_text(struct cli_json *j, const char *key, const char *text);
void cli_json_integer(struct cli_json *j, const char *key, int64_t n);
void cli_json_bool(struct cli_json *j, const char *key, bool b);

#endif
