/* Do two URLs lead to one server? */
#ifndef CLI_SAME_SERVER_H
#define CLI_SAME_SERVER_H

#include <stdbool.h>

/* cli_same_server - as far as their texts tell: the same host and port (of clusters and
 *   sentinels, one of them), or the same socket, whatever the database and the login.
 *   "localhost" is 127.0.0.1 and ::1. The masters of different names that the same
 *   sentinels watch are different servers. A URL that cannot be read leads nowhere. */
bool cli_same_server(const char *a, const char *b);

#endif
