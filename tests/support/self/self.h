/* The tests of the test support: what its files share. They use plain sockets
 * and hiredis, nothing of the library. */
#ifndef TEST_SELF_H
#define TEST_SELF_H

#include <check.h>
#include <stdbool.h>

struct redisContext;

/* Long enough for a busy machine; only a failing test waits so long. */
#define LONG_MS 5000

/* Long enough for what should not happen to happen. */
#define A_MOMENT_MS 100

#define PING "*1\r\n$4\r\nPING\r\n"

#define TEN_BYTES "0123456789"
#define HUNDRED_BYTES                                                         \
    TEN_BYTES TEN_BYTES TEN_BYTES TEN_BYTES TEN_BYTES TEN_BYTES TEN_BYTES     \
        TEN_BYTES TEN_BYTES TEN_BYTES
#define THOUSAND_BYTES                                                        \
    HUNDRED_BYTES HUNDRED_BYTES HUNDRED_BYTES HUNDRED_BYTES HUNDRED_BYTES     \
        HUNDRED_BYTES HUNDRED_BYTES HUNDRED_BYTES HUNDRED_BYTES HUNDRED_BYTES

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

/* One for each file; add its test cases. Those of server.c and proxy.c need a
 * server. */
void add_lateness_tests(Suite *suite);
void add_memory_tests(Suite *suite);
void add_peer_tests(Suite *suite);
void add_proxy_tests(Suite *suite);
void add_server_tests(Suite *suite);

/* A test case with time enough for a peer's complaint. */
TCase *add_tcase(Suite *suite, const char *name);

/* A plain client; all of it fails the test where that cannot be had.
 * try_connect  - a blocking connection to 127.0.0.1, or -1 with errno
 * hear         - reads `text` and nothing behind it; returns how many reads
 *                that took
 * hear_end     - what the connection ends with: 0 for FIN, else the errno
 * is_silent    - nothing comes, not even an end, for a moment */
int try_connect(int port);
int connect_to(int port);
void say(int fd, const char *text);
int hear(int fd, const char *text);
int hear_end(int fd);
bool is_readable(int fd, int timeout_ms);
bool is_silent(int fd);
struct redisContext *hiredis_to(int port);

#endif
