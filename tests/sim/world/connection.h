/* Connections, links and listeners from inside. Private to this folder.
 *
 *      connect()         SYN arrives                  answer arrives
 *   ---------> ASKING ----------------> ASKING -------------------> MADE
 *                        peer is open                              |
 *                        or refused ---> BROKEN <------------------+
 *                                               reset, given up
 *
 * It is gone when the process has closed its socket and the server its peer. */
#ifndef SIM_CONNECTION_H
#define SIM_CONNECTION_H

#include "tests/sim/world/flow.h"

struct listener {
    struct hf_list node;
    struct world *world;
    uint32_t ip;                /* in the machine's order */
    uint16_t port;
    enum door door;
    const struct listener_calls *calls;
    void *ctx;
};

struct cut {
    size_t left;                /* bytes before it; SIZE_MAX: there is none */
    struct event *event;        /* NULL: nobody is told */
};

struct link {
    struct hf_list node;
    struct process *process;
    struct listener *listener;
    enum door door;
    uint64_t hangups;           /* by DOOR_CLOSES */
    uint64_t swallows;          /* writes to connections that are half open */
    bool forgets_next[2];       /* by way: the next connection is half open from its
                                   beginning */
    uint64_t stillborn;         /* connections that were */
    bool keeps_alive;
    struct hf_list connections;
    struct link_way {
        struct link_shape shape;
        bool is_held;
        struct cut cut;
    } ways[2];
};

struct peer {
    void *ctx;
    bool is_open;
};

enum connection_state { ASKING, MADE, BROKEN };

struct connection {
    struct hf_list node;        /* of its link */
    struct link *link;
    struct handle handle;       /* the process' socket */
    bool is_open;               /* it was not closed */
    bool is_forgotten;          /* half open */
    int64_t began_us;
    enum connection_state state;
    int error;                  /* errno, BROKEN */
    bool was_heard;             /* by the listener, while ASKING */
    bool is_refused;            /* so the answer says */
    bool is_hung_up;            /* it is accepted and closed (DOOR_CLOSES) */
    bool is_ignored;            /* nobody has heard of it so far, */
    int asked;                  /* so often */
    bool is_step_held;
    struct event step;          /* of connecting */
    struct event give_up;       /* NET-3 */
    struct flow flows[2];
    struct connection_way {     /* disturbed, beside the link */
        bool is_held;
        int64_t slow_us;
        struct cut cut;
    } ways[2];
    struct peer peer;
    unsigned busy;              /* calls that look at it when they return */
};

/* connection_new    - a socket of `link` that connects.
 * connection_close  - by the process.
 * connection_break  - the process is told `error`; the server is not.
 * connection_is_held - it, or its link.
 * connection_hold_changed - what waited goes on.
 * connection_free   - at the end of the world. */
struct connection *connection_new(struct link *link);
void connection_close(struct connection *c);
void connection_break(struct connection *c, int error);
bool connection_is_held(const struct connection *c, enum way way);
void connection_hold_changed(struct connection *c);
void connection_free(struct connection *c);

/* Frees it if both ends are closed, and nobody is busy with it. */
void connection_settle(struct connection *c);

/* The server's kernel closes its end, or nobody does. */
void connection_server_dies(struct connection *c, bool is_heard);

/* connection_room - how many bytes more the kernel takes of the process. */
size_t connection_room(const struct connection *c);

/* connections_of_dead - a process' kernel closes all that it has. */
void connections_of_dead(struct process *process);

/* What a flow tells: there is more to be read of it, or it has ended. */
void connection_arrived(struct connection *c, enum way way);
void connection_ended(struct connection *c, enum way way);

/* link_of - the link from this process to an address; NULL: nobody has ever
 *           listened there.
 * link_delay_us - of a byte that is written now.
 * link_tell - the tap. */
struct link *link_of(struct process *process, uint32_t ip, uint16_t port);
int64_t link_delay_us(const struct link *link, enum way way);
void link_tell(const struct link *link, enum network_event event, enum way way,
               const char *ptr, size_t len);

#endif
