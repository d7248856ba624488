/* Can the test support be believed? The tests are in tests/support/self. */
#include <check.h>
#include <stdio.h>

#include "tests/support/self/self.h"
#include "tests/support/server.h"
#include "tests/support/suite.h"

int main(void)
{
    Suite *suite = suite_create("support");

    add_lateness_tests(suite);
    add_memory_tests(suite);
    add_peer_tests(suite);
    if (server_is_installed()) {
        add_server_tests(suite);
        add_proxy_tests(suite);
    } else {
        (void)puts("skipped: all tests with a real server (none installed)");
    }
    return suite_run(suite);
}
