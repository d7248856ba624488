/* One way of a connection: bytes that were written, of which some have arrived,
 * of which some were read. Private to this folder. */
#ifndef SIM_FLOW_H
#define SIM_FLOW_H

#include "tests/sim/world/inner.h"

struct connection;

struct flow {
    struct connection *connection;
    enum way way;
    char *bytes;
    uint32_t room;
    uint32_t read;              /* these three are indices of `bytes` */
    uint32_t arrived;
    uint32_t sent;
    struct piece {
        uint32_t end;           /* an index of `bytes` */
        int64_t at_us;
    } *pieces;                  /* on their way, in order: first .. count */
    uint32_t first;
    uint32_t count;
    uint32_t pieces_room;
    int64_t last_us;            /* nothing that follows arrives before */
    struct event arrival;
    bool is_ending;             /* nothing follows what was sent */
    bool has_ended;             /* and that has arrived */
    bool is_dead;               /* nothing arrives any more */
};

/* flow_init  - nothing in it; nothing will arrive before `from_us`.
 * flow_write - copied, and on its way.
 * flow_end   - the end is, too.
 * flow_wake  - the link is held no more: what is due arrives.
 * flow_kill  - what has not arrived never does. */
void flow_init(struct flow *flow, struct connection *connection, enum way way);
void flow_fini(struct flow *flow);
void flow_write(struct flow *flow, const char *ptr, size_t len);
void flow_end(struct flow *flow);
void flow_wake(struct flow *flow);
void flow_kill(struct flow *flow);

/* flow_unread - the bytes that have arrived and were not read; flow_take - `len`
 *               of them are read now. */
static inline uint32_t flow_unread(const struct flow *flow)
{
    return flow->arrived - flow->read;
}
static inline const char *flow_bytes(const struct flow *flow)
{
    return flow->bytes + flow->read;
}
void flow_take(struct flow *flow, uint32_t len);

#endif
