/* What every test program needs: how many rows a table has, for
 * tcase_add_loop_test, and the end of main. */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <check.h>
#include <stdlib.h>

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* suite_begin - starts the probe of the machine's delays (lateness.h).
 * suite_end   - ends it, and says what the machine lacks if a test failed. */
void suite_begin(void);
void suite_end(int failed);

/* Runs the suite, frees it, and returns the exit code for main. */
static inline int suite_run(Suite *s)
{
    SRunner *r = srunner_create(s);
    int failed;

    suite_begin();
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    suite_end(failed);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
