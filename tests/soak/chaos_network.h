/* The connections of a process of make chaos: they lead through proxies, of which
 * neither the client nor the servers know. The programs are linked with
 * --wrap=connect and --wrap=send. */
#ifndef CHAOS_NETWORK_H
#define CHAOS_NETWORK_H

/* network_ports  - "PORT=PROXY": a connection to PORT goes to PROXY.
 * network_deafen - messages of releases go to channels that nobody hears: a bug put
 *                  in on purpose. */
void network_ports(char *const *pairs, int count);
void network_deafen(void);

#endif
