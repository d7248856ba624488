/* Starts HAProxy for tests. */
#include "tests/support/haproxy.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/local.h"
#include "tests/support/must.h"

bool haproxy_is_installed(void)
{
    bool is = access("/usr/sbin/haproxy", X_OK) == 0 ||
              system("command -v haproxy >/dev/null") == 0;

    if (!is)
        (void)printf("skipped: failover behind one address (no haproxy installed)\n");
    return is;
}

/* A check that a busy machine delays is no failed check: each part of it may take `inter`, and the
 * reply ten seconds. */
static void write_config(const struct haproxy *h, int port_a, int port_b)
{
    FILE *f = fopen(h->config, "w");

    must(f);
    (void)fprintf(f,
                  "global\n  noreuseport\n"
                  "defaults\n  mode tcp\n  timeout connect 10s\n  timeout check 10s\n"
                  "  timeout client %s\n  timeout server %s\n"
                  "listen master\n  bind 127.0.0.1:%d\n  option tcp-check\n"
                  "  tcp-check send info\\ replication\\r\\n\n"
                  "  tcp-check expect string role:master\n"
                  "  default-server inter 500ms fall 1 rise 1\n"
                  "  server a 127.0.0.1:%d check weight %d\n"
                  "  server b 127.0.0.1:%d check weight 1\n",
                  h->idle ? h->idle : "1h", h->idle ? h->idle : "1h", h->port, port_a,
                  h->times ? h->times : 1, port_b);
    must(fclose(f) == 0);
}

void haproxy_start(struct haproxy *h, int port_a, int port_b)
{
    int fd = local_listen(&h->port);

    must(fd >= 0);
    (void)close(fd);
    (void)snprintf(h->config, sizeof h->config, "/tmp/holdfast-haproxy-%d", (int)getpid());
    write_config(h, port_a, port_b);
    h->pid = fork();
    must(h->pid >= 0);
    if (h->pid > 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)execlp("haproxy", "haproxy", "-db", "-q", "-f", h->config, (char *)NULL);
    (void)execl("/usr/sbin/haproxy", "haproxy", "-db", "-q", "-f", h->config, (char *)NULL);
    _exit(127);
}

void haproxy_stop(struct haproxy *h)
{
    (void)kill(h->pid, SIGKILL);
    (void)waitpid(h->pid, NULL, 0);
    (void)unlink(h->config);
}
