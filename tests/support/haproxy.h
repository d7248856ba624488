/* HAProxy in front of two servers: one address that leads new connections to the server
 * that is a master, as the INFO of each says. Connections that are open stay where they
 * are, as behind a load balancer. */
#ifndef TEST_HAPROXY_H
#define TEST_HAPROXY_H

#include <stdbool.h>
#include <sys/types.h>

struct haproxy {
    pid_t pid;
    int port;                   /* of the address */
    char config[64];
};

/* haproxy_is_installed - if not, says that the test is skipped.
 * haproxy_start - a server that becomes a master is used after 0.1 s. It ends with this
 *                 process at the latest.
 * haproxy_stop  - ends it, and removes its file. */
bool haproxy_is_installed(void);
void haproxy_start(struct haproxy *h, int port_a, int port_b);
void haproxy_stop(struct haproxy *h);

#endif
