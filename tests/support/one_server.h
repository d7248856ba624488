/* The one server of most tests, as a fixture:
 *
 *     tcase_add_checked_fixture(c, start_server, stop_server);
 *
 * A test may pause, kill and restart it (server.h), and stop it and start
 * another in its place: what is there at the end is stopped. */
#ifndef TEST_ONE_SERVER_H
#define TEST_ONE_SERVER_H

#include "tests/support/server.h"

extern struct server *server;

/* start_server      - fails the test if none is installed. start_server_with -
 *                     `extra_args` as of server_start.
 * stop_server       - takes none, too. */
void start_server(void);
void start_server_with(const char *const *extra_args);
void stop_server(void);

#endif
