/* The edit distance of two short words, by one row of the table for each character. */
/* Tests: tests/test_cli_options.c, tests/test_net_url_words.c. */
#include "net/base/word_distance.h"

#include "net/base/assert.h"

static int smaller_int(int a, int b)
{
    return a < b ? a : b;
}

/* Returns whether the two characters before i and j are the same, in the other order. */
static int are_swapped(const char *a, size_t i, const char *b, size_t j)
{
    return i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
}

/* rows[i % 3][j] is the distance of the first i characters of `a` from the first j of `b`. */
int hf_word_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int rows[3][HF_WORD_MAX + 1];

    HF_ASSERT(a_len <= HF_WORD_MAX && b_len <= HF_WORD_MAX);
    for (size_t i = 0; i <= a_len; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];

        for (size_t j = 0; j <= b_len; j++) {
            if (i == 0 || j == 0) {
                row[j] = (int)(i + j);
                continue;
            }
            row[j] = smaller_int(smaller_int(above[j], row[j - 1]) + 1,
                                 above[j - 1] + (a[i - 1] != b[j - 1]));
            if (are_swapped(a, i, b, j))
                row[j] = smaller_int(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}
