/* HAProxy before two servers: one address that leads new connections to the server whose
 * INFO says that it is a master. Open connections stay at their server, as with a load
 * balancer. */
#ifndef TEST_HAPROXY_H
#define TEST_HAPROXY_H

#include <stdbool.h>
#include <sys/types.h>

struct haproxy {
    pid_t pid;
    const char *idle;           /* set before the start: it closes connections without traffic
                                   after this time ("1s"); NULL: an hour */
    int times;                  /* set before the start: this many connections lead to the first
                                   server for each one to the second, if both are masters; 0: 1 */
    int port;                   /* of HAProxy, on 127.0.0.1 */
    char config[64];
};

/* haproxy_is_installed - returns false after printing that the test is skipped.
 * haproxy_start - starts HAProxy, which ends with this process at the latest. A server that
 *                 becomes a master is used after 0.1 s.
 * haproxy_stop  - ends HAProxy, and removes its configuration file. */
bool haproxy_is_installed(void);
void haproxy_start(struct haproxy *h, int port_a, int port_b);
void haproxy_stop(struct haproxy *h);

#endif
