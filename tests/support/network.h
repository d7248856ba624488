/* A bad network: packets that are lost, late, out of order, slow, or that come
 * one way only. The kernel's own TCP at both ends, in a network namespace of
 * the test's, and a thread in between that plays the wire: what is sent to
 * NETWORK_FAR leaves through a tun device, has its two addresses exchanged, and
 * comes in again as if from there. So a server at NETWORK_NEAR is found at
 * NETWORK_FAR, and no tool and no rule of a firewall is needed.
 *
 * Needs the right to make a network namespace (root, or user namespaces) and
 * /dev/net/tun. */
#ifndef TEST_NETWORK_H
#define TEST_NETWORK_H

#include <stdbool.h>

#define NETWORK_NEAR "10.77.0.1"
#define NETWORK_FAR "10.77.0.2"

struct network;

enum network_way { NETWORK_TO_SERVER, NETWORK_TO_CLIENT };

/* How a way treats its packets. All zeros: as the best of networks. */
struct network_fault {
    int loss_percent;
    int twice_percent;          /* of what is not lost */
    int delay_ms;
    int jitter_ms;              /* up to so much more: packets overtake each
                                   other */
    int kbit;                   /* a second; 0: any */
};

/* network_enter - for a suite's main, before anything else: a namespace of our
 *                 own. NULL, or why this machine cannot.
 * network_start - the wire of one test. Fails the test if it cannot.
 * network_stop  - what is under way is lost. Takes NULL.
 * network_spoil - from now on; the server's port tells the ways apart. The dice
 *                 are the same in every run. */
const char *network_enter(void);
struct network *network_start(void);
void network_stop(struct network *n);
void network_spoil(struct network *n, int server_port, enum network_way way,
                   struct network_fault fault);

/* network_set - writes a setting below /proc/sys/net/ipv4. False: there is none
 * of that name. */
bool network_set(const char *name, const char *value);

#endif
