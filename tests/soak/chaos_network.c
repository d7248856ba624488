/* connect and send, as the client calls them. */
#include "tests/soak/chaos_network.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PORTS_MAX 64

static struct {
    struct {
        int from, to;
    } ports[PORTS_MAX];
    int port_count;
    bool is_deafened;
} network;

void network_ports(char *const *pairs, int count)
{
    for (int i = 0; i < count && i < PORTS_MAX; i++)
        if (sscanf(pairs[i], "%d=%d", &network.ports[i].from,
                   &network.ports[i].to) == 2)
            network.port_count = i + 1;
}

void network_deafen(void)
{
    network.is_deafened = true;
}

int __real_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
    struct sockaddr_in to;

    if (address->sa_family != AF_INET)
        return __real_connect(fd, address, len);
    memcpy(&to, address, sizeof to);
    for (int i = 0; i < network.port_count; i++)
        if (ntohs(to.sin_port) == network.ports[i].from) {
            to.sin_port = htons((uint16_t)network.ports[i].to);
            break;
        }
    return __real_connect(fd, (struct sockaddr *)&to, sizeof to);
}

/* A release script's arguments are "PUBLISH" (or SPUBLISH) and then the channel:
 * this gives the channel another name of the same length and slot. */
static void rename_channels(char *bytes, size_t len)
{
    static const char verb[] = "PUBLISH\r\n$", name[] = "redisson_";
    char *end = bytes + len;

    while ((bytes = memmem(bytes, (size_t)(end - bytes), verb, sizeof verb - 1))) {
        bytes += sizeof verb - 1;
        while (bytes < end && *bytes != '\n')
            bytes++;
        if (end - bytes > (long)sizeof name &&
            memcmp(bytes + 1, name, sizeof name - 1) == 0)
            memcpy(bytes + 1, "deafened_", sizeof name - 1);
    }
}

ssize_t __real_send(int fd, const void *ptr, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *ptr, size_t len, int flags);

ssize_t __wrap_send(int fd, const void *ptr, size_t len, int flags)
{
    char *copy = network.is_deafened ? malloc(len) : NULL;
    ssize_t n;

    if (!copy)
        return __real_send(fd, ptr, len, flags);
    memcpy(copy, ptr, len);
    rename_channels(copy, len);
    n = __real_send(fd, copy, len, flags);
    free(copy);
    return n;
}
