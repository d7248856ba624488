/* A slow program is run in parts, beside each other: HF_TEST_PART=2/4 runs the
 * second of every four tests, each row of a loop counting as one. The linker puts
 * this in front of libcheck (--wrap), so that no test knows of it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

void __real__tcase_add_test(TCase *c, const TTest *test, int signal,
                            int exit_value, int start, int end);
void __wrap__tcase_add_test(TCase *c, const TTest *test, int signal,
                            int exit_value, int start, int end);

static struct {
    unsigned at, of; /* 0: not asked yet */
} part;

static void ask(void)
{
    const char *text = getenv("HF_TEST_PART");

    part.at = part.of = 1;
    if (text && (sscanf(text, "%u/%u", &part.at, &part.of) != 2 ||
                 part.at < 1 || part.at > part.of)) {
        (void)fprintf(stderr, "HF_TEST_PART=%s: not like 2/4\n", text);
        exit(EXIT_FAILURE);
    }
}

void __wrap__tcase_add_test(TCase *c, const TTest *test, int signal,
                            int exit_value, int start, int end)
{
    static unsigned count;

    if (!part.of)
        ask();
    for (int row = start; row < end; row++)
        if (count++ % part.of == part.at - 1)
            __real__tcase_add_test(c, test, signal, exit_value, row, row + 1);
}
