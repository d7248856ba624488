/* Can the test support be believed? The tests are in tests/support/self. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/self/self.h"
#include "tests/support/server.h"

int main(void)
{
    Suite *suite = suite_create("support");
    SRunner *runner = srunner_create(suite);
    int failed;

    add_memory_tests(suite);
    add_peer_tests(suite);
    if (server_is_installed()) {
        add_server_tests(suite);
        add_proxy_tests(suite);
    } else {
        (void)puts("skipped: all tests with a real server (none installed)");
    }
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
