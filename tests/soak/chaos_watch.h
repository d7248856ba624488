/* Looks at a server all the time, by MONITOR, and writes to a file what it executed;
 * in between it asks how the locks stand, at a moment that MONITOR shows, too. What
 * both say is read afterwards (chaos_model.h).
 *
 * Two connections over the server's Unix socket, which no fault of the network
 * touches; a thread of its own. While no server runs, it tries again.
 *
 * The file has MONITOR's lines, and these, which begin with '@':
 *     @offset US          the server's clock minus CLOCK_BOOTTIME
 *     @gone US            the server has ended the connection
 *     @stands TEXT        an answer of chaos_watch_script; its number and MONITOR's
 *                         line with that number belong together */
#ifndef CHAOS_WATCH_H
#define CHAOS_WATCH_H

#include "tests/support/server.h"

struct watch;

/* chaos_watch_start - to the file `path`, which is made anew.
 * chaos_watch_await - until an answer has come that was asked for after the call;
 *                     fails the test after 30 s.
 * chaos_watch_stop  - what the server has said by now is in the file on return. */
struct watch *chaos_watch_start(struct server *server, const char *path);
void chaos_watch_await(struct watch *w);
void chaos_watch_stop(struct watch *w);

/* Words, parted by spaces: the number; "master" or "slave"; "still" if the clock
 * stands still while a script runs, or "runs"; then for each lock its name, the last
 * of its fencing tokens ("0": none), its TTL in ms (as PTTL; "x": another node's;
 * "d": the cluster is down), how many fields it has, and for each of these the field,
 * its value, and the longest TTL of its hold keys ("-2": none). */
extern const char chaos_watch_script[];

#endif
