/* The one server of most tests. */
#include "tests/support/one_server.h"

#include <check.h>
#include <stddef.h>

struct server *server;

void start_server_with(const char *const *extra_args)
{
    server = server_start(extra_args);
    ck_assert_ptr_nonnull(server);
}

void start_server(void)
{
    start_server_with(NULL);
}

void stop_server(void)
{
    server_stop(server);
    server = NULL;
}
