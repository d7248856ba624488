/* Do two URLs lead to one server? */
#ifndef CLI_SAME_SERVER_H
#define CLI_SAME_SERVER_H

#include <stdbool.h>

/* cli_same_server - returns whether the texts of two URLs name one server: the same host and
 *   port (of clusters and sentinels, one of them), or the same socket, with any database and
 *   login. "localhost" is 127.0.0.1 and ::1. Masters of different names with the same sentinels
 *   are different servers. False if a URL cannot be parsed. */
bool cli_same_server(const char *a, const char *b);

#endif
