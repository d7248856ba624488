/* A wire between two ends of one kernel, through a tun device. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/dice.h"
#include "tests/support/local.h"
#include "tests/support/network.h"

#define PACKET_MAX 2048
#define PACKETS_MAX 2048              /* under way; more are lost */

struct packet {
    int64_t due_ms;
    uint64_t order;                   /* of those due at once */
    ssize_t len;                      /* 0: free */
    unsigned char bytes[PACKET_MAX];
};

struct network {
    int tun;
    int wake[2];                      /* a byte: it is over */
    pthread_t thread;
    pthread_mutex_t mutex;
    /* Under `mutex`. */
    int server_port;
    struct network_fault faults[2];
    /* The thread's own. */
    uint64_t seed, order;
    int64_t busy_until_ms[2];         /* with `kbit` */
    struct packet packets[PACKETS_MAX];
};

/* ---- a namespace ---- */

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, text, strlen(text)) > 0;

    if (fd >= 0)
        (void)close(fd);
    return is_written;
}

static bool unshare_network(void)
{
    char map[48];
    uid_t uid = getuid();

    if (unshare(CLONE_NEWNET) == 0)
        return true;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
        return false;
    (void)snprintf(map, sizeof map, "0 %u 1", (unsigned)uid);
    return write_file("/proc/self/uid_map", map);
}

/* Up, with an address if there is one. */
static bool interface_up(const char *name, const char *address)
{
    struct ifreq r = {.ifr_flags = 0};
    struct sockaddr_in a = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_done = fd >= 0;

    (void)snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    if (is_done && address) {
        (void)inet_pton(AF_INET, address, &a.sin_addr);
        memcpy(&r.ifr_addr, &a, sizeof a);
        is_done = ioctl(fd, SIOCSIFADDR, &r) == 0;
        (void)inet_pton(AF_INET, "255.255.255.0", &a.sin_addr);
        memcpy(&r.ifr_netmask, &a, sizeof a);
        is_done = is_done && ioctl(fd, SIOCSIFNETMASK, &r) == 0;
    }
    r.ifr_flags = IFF_UP | IFF_RUNNING;
    is_done = is_done && ioctl(fd, SIOCSIFFLAGS, &r) == 0;
    if (fd >= 0)
        (void)close(fd);
    return is_done;
}

bool network_set(const char *name, const char *value)
{
    char path[128];

    (void)snprintf(path, sizeof path, "/proc/sys/net/ipv4/%s", name);
    return write_file(path, value);
}

static int open_tun(void)
{
    struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);

    (void)strcpy(r.ifr_name, "wire");
    if (fd >= 0 && (ioctl(fd, TUNSETIFF, &r) < 0 ||
                    !interface_up("wire", NETWORK_NEAR))) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

const char *network_enter(void)
{
    int fd;

    if (!unshare_network())
        return "no network namespace may be made";
    if (!interface_up("lo", NULL))
        return "the namespace's loopback does not go up";
    fd = open_tun();
    if (fd < 0)
        return "there is no /dev/net/tun for us";
    (void)close(fd);
    /* A lost packet costs 200 ms else. Newer kernels let us choose. */
    (void)network_set("tcp_rto_min_us", "5000");
    return NULL;
}

/* ---- the wire ---- */

/* Source and destination of an IPv4 packet. Their sum is the same either way
 * round, so all checksums stay right. */
static void exchange_addresses(unsigned char *ip)
{
    unsigned char source[4];

    memcpy(source, ip + 12, 4);
    memcpy(ip + 12, ip + 16, 4);
    memcpy(ip + 16, source, 4);
}

static enum network_way way_of(const unsigned char *ip, int server_port)
{
    const unsigned char *tcp = ip + (ip[0] & 15) * 4;

    return (tcp[2] << 8 | tcp[3]) == server_port ? NETWORK_TO_SERVER
                                                 : NETWORK_TO_CLIENT;
}

static struct packet *free_packet(struct network *n)
{
    for (int i = 0; i < PACKETS_MAX; i++)
        if (n->packets[i].len == 0)
            return &n->packets[i];
    return NULL;
}

static int64_t due_ms(struct network *n, enum network_way way,
                      const struct network_fault *fault, ssize_t len)
{
    int64_t due = local_now_ms() + fault->delay_ms;

    if (fault->jitter_ms > 0)
        due += (int)dice_of(&n->seed, (uint64_t)fault->jitter_ms + 1);
    if (fault->kbit > 0) {
        if (n->busy_until_ms[way] > due)
            due = n->busy_until_ms[way];
        due += len * 8 / fault->kbit;
        n->busy_until_ms[way] = due;
    }
    return due;
}

static void keep(struct network *n, const unsigned char *bytes, ssize_t len)
{
    struct network_fault fault;
    struct packet *p;
    enum network_way way;
    int copies;

    (void)pthread_mutex_lock(&n->mutex);
    way = way_of(bytes, n->server_port);
    fault = n->faults[way];
    (void)pthread_mutex_unlock(&n->mutex);
    copies = (int)dice_of(&n->seed, 100) >= fault.loss_percent;
    copies += copies && (int)dice_of(&n->seed, 100) < fault.twice_percent;
    while (copies-- > 0 && (p = free_packet(n))) {
        memcpy(p->bytes, bytes, (size_t)len);
        exchange_addresses(p->bytes);
        p->len = len;
        p->order = n->order++;
        p->due_ms = due_ms(n, way, &fault, len);
    }
}

static struct packet *next_packet(struct network *n)
{
    struct packet *next = NULL;

    for (int i = 0; i < PACKETS_MAX; i++) {
        struct packet *p = &n->packets[i];

        if (p->len > 0 &&
            (!next || p->due_ms < next->due_ms ||
             (p->due_ms == next->due_ms && p->order < next->order)))
            next = p;
    }
    return next;
}

static void deliver_due(struct network *n)
{
    struct packet *p;

    while ((p = next_packet(n)) && p->due_ms <= local_now_ms()) {
        (void)write(n->tun, p->bytes, (size_t)p->len); /* or it is lost */
        p->len = 0;
    }
}

static void *play(void *arg)
{
    struct network *n = arg;
    struct pollfd fds[2] = {{.fd = n->tun, .events = POLLIN},
                            {.fd = n->wake[0], .events = POLLIN}};
    unsigned char bytes[PACKET_MAX];

    while (!(fds[1].revents & POLLIN)) {
        struct packet *next = next_packet(n);
        int64_t left = next ? next->due_ms - local_now_ms() : 1000;
        ssize_t len;

        (void)poll(fds, 2, left > 0 ? (int)left : 0);
        while ((len = read(n->tun, bytes, sizeof bytes)) > 0)
            if (bytes[0] >> 4 == 4 && len >= 40)
                keep(n, bytes, len);
        deliver_due(n);
    }
    return NULL;
}

struct network *network_start(void)
{
    struct network *n = local_new(sizeof *n);

    n->seed = 20261121;
    (void)pthread_mutex_init(&n->mutex, NULL);
    n->tun = open_tun();
    if (n->tun < 0 || pipe2(n->wake, O_CLOEXEC) < 0 ||
        pthread_create(&n->thread, NULL, play, n) != 0)
        ck_abort_msg("no wire: %s", strerror(errno));
    return n;
}

void network_stop(struct network *n)
{
    if (!n)
        return;
    (void)write(n->wake[1], "", 1);
    (void)pthread_join(n->thread, NULL);
    (void)close(n->tun);
    (void)close(n->wake[0]);
    (void)close(n->wake[1]);
    (void)pthread_mutex_destroy(&n->mutex);
    free(n);
}

void network_spoil(struct network *n, int server_port, enum network_way way,
                   struct network_fault fault)
{
    (void)pthread_mutex_lock(&n->mutex);
    n->server_port = server_port;
    n->faults[way] = fault;
    (void)pthread_mutex_unlock(&n->mutex);
}
