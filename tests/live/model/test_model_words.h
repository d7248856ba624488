/* Random requests of the trial of the model: templates whose letters behind %
 * become words. */
#ifndef TEST_MODEL_WORDS_H
#define TEST_MODEL_WORDS_H

#include "tests/live/model/test_model.h"

/* random_command - a template that the server's version understands.
 * words_of_template - a template's words. Lent until the next call. All of one
 *     request are about one lock and one owner.
 * words_insert - puts two words in front (EVAL and a script). */
const char *random_command(void);
struct words words_of_template(const char *text);
void words_insert(struct words *w, const char *a, const char *b, size_t b_len);

/* A script of a few random lines. Lent until the next call. */
const char *random_lua(void);

#endif
