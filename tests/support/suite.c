/* What surrounds the tests of a program: the probe, and what the machine lacks. */
#include "tests/support/suite.h"

#include <netdb.h>
#include <stdio.h>

#include "tests/support/lateness.h"

/* In a bare root, which has no /etc/hosts, tests of names fail and do not say why. */
static void explain_names(void)
{
    struct addrinfo *found = NULL;

    if (getaddrinfo("localhost", NULL, NULL, &found) != 0)
        (void)fprintf(stderr, "the name localhost does not resolve here: add "
                              "'127.0.0.1 localhost' to /etc/hosts\n");
    else
        freeaddrinfo(found);
}

void suite_begin(void)
{
    (void)lateness_start();
}

void suite_end(int failed)
{
    lateness_stop();
    if (failed)
        explain_names();
}
