/* How different two short words are. */
#ifndef HF_WORD_DISTANCE_H
#define HF_WORD_DISTANCE_H

#include <stddef.h>

#define HF_WORD_MAX 40          /* bytes of a word; the longest option has 22 */

/* hf_word_distance - returns the number of characters that are inserted, deleted or replaced, and
 *   of neighbours that are exchanged, between `a` and `b`, which have at most HF_WORD_MAX bytes. */
int hf_word_distance(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
