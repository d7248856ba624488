/* What every test program needs: how many rows a table has, for
 * tcase_add_loop_test, and the end of main. */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <check.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/lateness.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* In a bare root, which has no /etc/hosts, tests of names fail and do not say why. */
static inline void explain_names(void)
{
    struct addrinfo *found = NULL;

    if (getaddrinfo("localhost", NULL, NULL, &found) != 0)
        (void)fprintf(stderr, "the name localhost does not resolve here: add "
                              "'127.0.0.1 localhost' to /etc/hosts\n");
    else
        freeaddrinfo(found);
}

/* Runs the suite beside the probe of the machine's delays, frees it, and returns
 * the exit code for main. */
static inline int suite_run(Suite *s)
{
    SRunner *r = srunner_create(s);
    int failed;

    (void)lateness_start();
    srunner_run_all(r, CK_ENV);
    lateness_stop();
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    if (failed)
        explain_names();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
