/* In place of net/wire/socket.c: sockets of the process whose code runs. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "net/wire/socket.h"
#include "tests/sim/world/connection.h"

static struct connection *connection_of(int fd)
{
    return HF_OWNER_OF(handle_of(fd), struct connection, handle);
}

static struct link *link_to(struct process *p, const struct sockaddr *address)
{
    struct sockaddr_in in;

    if (address->sa_family != AF_INET || process_is_dead(p))
        return NULL;
    memcpy(&in, address, sizeof in);
    return link_of(p, ntohl(in.sin_addr.s_addr), ntohs(in.sin_port));
}

hf_status hf_socket_connect(int *out, const struct sockaddr *address,
                            socklen_t len)
{
    struct link *link;

    (void)len;
    must(the_world->current);
    process_owns(the_world->current);
    link = link_to(the_world->current, address);
    if (!link) {
        errno = ENETUNREACH;
        return HF_E_CONNECT;
    }
    *out = connection_new(link)->handle.fd;
    return HF_OK;
}

int hf_socket_error(int fd)
{
    const struct connection *c = connection_of(fd);

    return c->state == ASKING ? ENOTCONN : c->error;
}

void hf_socket_close(int fd)
{
    connection_close(connection_of(fd));
}

/* What has arrived before an error or the end is read before it. */
long hf_socket_read(int fd, void *ptr, size_t room)
{
    struct connection *c = connection_of(fd);
    struct flow *in = &c->flows[TO_CLIENT];
    size_t len = flow_unread(in) < room ? flow_unread(in) : room;

    process_owns(the_world->current);
    if (len > 0) {
        memcpy(ptr, flow_bytes(in), len);
        flow_take(in, (uint32_t)len);
        return (long)len;
    }
    if (c->state == BROKEN)
        return -c->error;
    return in->has_ended ? HF_SOCKET_EOF : 0;
}

/* What is called may run the world; the process comes back to its write. */
static void wait_before_write(struct process *p)
{
    void (*fn)(void *ctx) = p->before_write;

    p->before_write = NULL;
    if (fn)
        fn(p->before_write_ctx);
}

long hf_socket_write(int fd, const void *ptr, size_t len)
{
    struct connection *c = connection_of(fd);
    size_t room;

    process_owns(the_world->current);
    wait_before_write(the_world->current);
    room = connection_room(c);
    if (c->state == BROKEN)
        return -c->error;
    if (len > room)
        len = room;
    flow_write(&c->flows[TO_SERVER], ptr, len);
    return (long)len;
}
