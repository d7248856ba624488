/* A TCP proxy in a thread, between a client and a real server, that makes the
 * network bad on demand. It knows nothing of RESP: it delays, slices, holds
 * and drops bytes, and cuts connections. Never repeats or invents a byte.
 *
 * Each control goes for all connections, present and future, and is in force
 * when the call returns. Both ways are looked at apart. Bytes "pass" when the
 * kernel has taken them for the other side.
 *
 * Belongs to the process that started it: a thread does not survive a fork.
 * Threads: any, all of it, until proxy_stop. */
#ifndef TEST_PROXY_H
#define TEST_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proxy;

#define PROXY_PAIRS_MAX 256           /* connections; further ones are reset */
#define PROXY_QUEUE_MAX (1u << 20)    /* bytes kept of one connection and way;
                                         then the sender must wait */

enum proxy_way { PROXY_TO_SERVER, PROXY_TO_CLIENT };

/* How the client sees the end of a cut connection. The server sees an orderly
 * end always, so that it executes whatever has passed. */
enum proxy_end { PROXY_CLOSE, PROXY_RESET };

/* proxy_start - to 127.0.0.1, server_port; the server need not run yet. A
 *               client's connection is reset when the server refuses ours.
 *               Fails the test if there is no port.
 * proxy_stop  - resets what is open. Takes NULL. */
struct proxy *proxy_start(int server_port);
void proxy_stop(struct proxy *p);
int proxy_port(const struct proxy *p);

/* proxy_lead - connections that are accepted from now on lead to this port, as
 *              those of a load balancer after a failover; the others stay. */
void proxy_lead(struct proxy *p, int server_port);

/* proxy_delay   - bytes pass so many ms after they arrived; 0: at once.
 * proxy_slice   - at most so many bytes a write, and a rest after each; 0:
 *                 as they come.
 * proxy_hold    - nothing passes, and no end of a connection is passed on,
 *                 until proxy_hold(.., false): then all does, in its order.
 *                 Connections are accepted meanwhile. Both ways held is a
 *                 partition.
 * proxy_swallow - what has not passed yet and what comes is dropped. Replies
 *                 that come after it was turned off again answer earlier
 *                 questions than the client thinks: no network does that, so
 *                 cut before turning it off. */
void proxy_delay(struct proxy *p, enum proxy_way way, int delay_ms);
void proxy_slice(struct proxy *p, enum proxy_way way, size_t slice);
void proxy_hold(struct proxy *p, enum proxy_way way, bool is_held);
void proxy_swallow(struct proxy *p, enum proxy_way way, bool is_swallowed);

/* proxy_cut       - ends all connections, now. What had not passed is lost.
 * proxy_cut_after - once: ends the connection that passes the `count`-th byte
 *                   from now that way (counted over all connections), right
 *                   behind that byte; 0: in place of the next byte. A later
 *                   call replaces an earlier one.
 * proxy_forget    - the connections that there are now are forgotten, as by a firewall:
 *                   what comes over them is dropped, both ways, and neither side hears
 *                   of an end. Later connections are not.
 * proxy_has_cut   - has the last proxy_cut_after struck? */
void proxy_cut(struct proxy *p, enum proxy_end end);
void proxy_cut_after(struct proxy *p, enum proxy_way way, uint64_t count,
                     enum proxy_end end);
void proxy_forget(struct proxy *p);
bool proxy_has_cut(struct proxy *p);

/* proxy_count - how many bytes so far: PASSED and DROPPED since the start, KEPT
 *               at present (arrived, neither passed nor dropped).
 * proxy_await - until that is at least `count`; false after `timeout_ms`.
 * proxy_accepted - connections since the start. */
enum proxy_counter { PROXY_PASSED, PROXY_DROPPED, PROXY_KEPT };
uint64_t proxy_count(struct proxy *p, enum proxy_way way,
                     enum proxy_counter counter);
bool proxy_await(struct proxy *p, enum proxy_way way,
                 enum proxy_counter counter, uint64_t count, int timeout_ms);
size_t proxy_accepted(struct proxy *p);

#endif
