/* The network of a world: listeners, the links between them and processes, and what
 * goes wrong there.
 *
 * NET-1  A connection is two streams of bytes. In each, bytes arrive in order,
 *        none twice; later, or never, if the link is disturbed. At least a
 *        microsecond after they were written.
 * NET-2  All disturbance is of a link: of one process and one listener; most of
 *        it is of one way. It is of connections that there are, and of those to
 *        come while it lasts; or of one connection alone.
 * NET-3  The kernel of a process gives a connection up when nothing has come
 *        through one way of it for KERNEL_GIVES_UP_US (socket.c: TCP_USER_TIMEOUT):
 *        the process is told ETIMEDOUT. The server is not.
 * NET-4  Random numbers are taken of the stream "network", and only by links
 *        with `jitter_us` or `piece_max`. */
#ifndef SIM_NETWORK_H
#define SIM_NETWORK_H

#include "tests/sim/world/world.h"

#define KERNEL_GIVES_UP_US INT64_C(30000000)

/* ---- servers ---- */

/* A server's end of a connection. */
struct peer;
struct listener;

/* accepted - a client has connected; returns what the other two are called with.
 *            It may write at once.
 * arrived  - bytes, in order, cut anywhere; lent until it returns.
 * closed   - the client has closed, or the connection is broken: the peer is
 *            gone. Not called after peer_close. */
struct listener_calls {
    void *(*accepted)(void *ctx, struct peer *peer);
    void (*arrived)(void *peer_ctx, const char *ptr, size_t len);
    void (*closed)(void *peer_ctx);
};

/* What becomes of connects. One that is ignored is repeated after 1, 3, 7, 15 s.
 * DOOR_CLOSES: a proxy accepts the connection and closes it, because its server is
 * down. */
enum door { DOOR_OPEN, DOOR_REFUSES, DOOR_IGNORES, DOOR_CLOSES };

/* network_listen - "10.0.0.1", 6379. `calls` is borrowed, the listener lives
 *                  until world_free.
 * listener_set_door - DOOR_REFUSES: no such process; DOOR_IGNORES: no such
 *                  machine.
 * listener_close_all - every connection is closed by the server's kernel, as
 *                  when the server is killed. `closed` is not called.
 * listener_forget_all - every connection dies unheard, as when the power fails:
 *                  the clients hear nothing. `closed` is not called. */
struct listener *network_listen(struct world *world, const char *ip,
                                uint16_t port,
                                const struct listener_calls *calls, void *ctx);
void listener_set_door(struct listener *listener, enum door door);
void listener_close_all(struct listener *listener);
void listener_forget_all(struct listener *listener);

/* listener_lead - later connections are accepted with this ctx, as behind the address of a load
 *                balancer; the others stay. */
void listener_lead(struct listener *listener, void *ctx);

/* peer_write - copied. To a client that is gone: nothing happens.
 * peer_close - behind what was written; the peer is gone. Also from `arrived`.
 * peer_link  - what it came by. */
struct link;
void peer_write(struct peer *peer, const char *ptr, size_t len);
void peer_close(struct peer *peer);
struct link *peer_link(const struct peer *peer);

/* ---- links ---- */

enum way { TO_SERVER, TO_CLIENT };

/* What a way is like for bytes that are written from now on. The default is
 * LINK_DELAY_US and no chance. */
#define LINK_DELAY_US 50
#define LINK_WINDOW (1u << 20)
struct link_shape {
    int64_t delay_us;           /* at least 1 */
    int64_t jitter_us;          /* and at random up to so much more */
    uint32_t piece_max;         /* > 0: cut into pieces of 1 to so many bytes,
                                   each with its own jitter */
    uint32_t window;            /* what the writing kernel takes before any of it
                                   has arrived, TO_SERVER; 0: LINK_WINDOW */
};

/* network_link - the one between these two; made when first asked for.
 * link_process, link_listener - its ends. */
struct link *network_link(struct world *world, struct process *process,
                          struct listener *listener);
struct process *link_process(const struct link *link);
struct listener *link_listener(const struct link *link);

/* link_set_shape - for what is written from now on.
 *                  No connection is slower than others any more.
 * link_hold      - nothing arrives on this way, neither bytes nor ends nor
 *                  connects, until it is given free; then all that is due does,
 *                  at once, also what was held of one connection.
 * link_cut_after - when so many bytes more have arrived on this way, the
 *                  connection that brought the last of them is reset; what was
 *                  behind them is lost. Once; then `cut`, if it is one, happens.
 *                  SIZE_MAX: not any more.
 * link_set_door  - as listener_set_door, for this link alone.
 * link_hangups   - connections that DOOR_CLOSES has closed.
 * link_swallows   - writes to its connections that are half open.
 * link_is_half_open - has the server a connection that is half open, which the client may have
 *                  closed?
 * link_is_cut_off - is it held, closed, or one of its connections held or half open?
 * link_keep_alive - a proxy between them answers the kernel's probes: NET-3 is
 *                  not so, from then on.
 * link_reset     - every connection is reset, both sides hear of it; what was on
 *                  its way is lost.
 * link_drop      - every connection is reset on the client's side alone: what it
 *                  has sent arrives all the same, and its end behind that.
 * link_forget    - half open: on this way of the connections that there are,
 *                  all that has not arrived vanishes, for good; ends, too. */
void link_set_shape(struct link *link, enum way way,
                    const struct link_shape *shape);
void link_hold(struct link *link, enum way way, bool is_held);
void link_cut_after(struct link *link, enum way way, size_t bytes,
                    struct event *cut);
void link_set_door(struct link *link, enum door door);
uint64_t link_hangups(const struct link *link);
bool link_is_half_open(const struct link *link);
uint64_t link_swallows(const struct link *link);
bool link_is_cut_off(const struct link *link);
void link_keep_alive(struct link *link, bool keeps_alive);
void link_reset(struct link *link);
void link_drop(struct link *link);
void link_forget(struct link *link, enum way way);

/* link_forget_next - from its beginning, the next connection is half open on this way (or,
 *                    false, is not): it is accepted, and its bytes vanish.
 * link_stillborn - the number of connections that were. */
void link_forget_next(struct link *link, enum way way, bool forgets);
uint64_t link_stillborn(const struct link *link);

/* ---- connections ---- */

/* link_connection - the n-th that the process has, from 1, the oldest first; with
 *                  fewer, they are counted round. NULL: it has none.
 * The others are as link_* of the same name, of this connection alone. Both ways go
 * on after its process has closed it. link_hold and link_set_shape end them.
 * connection_slow - what is written from now on arrives so much later.
 * connection_age_us - since it was begun. */
struct connection;
struct connection *link_connection(struct link *link, unsigned n);
void connection_hold(struct connection *c, enum way way);
void connection_slow(struct connection *c, enum way way, int64_t delay_us);
void connection_cut_after(struct connection *c, enum way way, size_t bytes,
                          struct event *cut);
void connection_reset(struct connection *c);
void connection_drop(struct connection *c);
void connection_forget(struct connection *c, enum way way);
int64_t connection_age_us(const struct connection *c);

/* ---- names ---- */

/* network_name - `name` has one more address. Names that nobody named are not
 *                found.
 * network_forget_name - `name` has no address any longer.
 * network_set_names - how the resolver does: how long an answer takes, and what
 *                it says. A query of the silent time is answered after that time.
 * network_lookups - how many queries there were in a silent time, and how many found
 *                several addresses. */
enum names { NAMES_FOUND, NAMES_FAIL, NAMES_SILENT };
struct network_lookups {
    uint64_t silent, several;
};
void network_name(struct world *world, const char *name, const char *ip);
void network_forget_name(struct world *world, const char *name);
const struct network_lookups *network_lookups(const struct world *world);
void network_set_names(struct world *world, enum names names,
                       int64_t delay_us);

/* ---- looking on ---- */

enum network_event {
    NET_CONNECTED, NET_REFUSED, NET_ARRIVED, NET_CLOSED, NET_RESET
};

/* network_tap - `tap` is told what arrives where, as it does: of NET_ARRIVED the
 *               bytes. One for each world; NULL: nobody. */
struct network_news {
    enum network_event event;
    const struct link *link;
    enum way way;               /* NET_ARRIVED, NET_CLOSED */
    const char *ptr;
    size_t len;
};
void network_tap(struct world *world,
                 void (*tap)(void *ctx, const struct network_news *news),
                 void *ctx);

#endif
