/* A cluster of three masters on one machine, for benches. Header only. The servers end with the
 * bench. */
#ifndef BENCH_THREE_MASTERS_H
#define BENCH_THREE_MASTERS_H

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bench/measure.h"

#define MASTERS 3
#define FIRST_PORT 17600        /* and, for messages between the nodes, 10,000 more */
#define NODES_FILE "nodes.conf"

struct master {
    pid_t pid;
    int port;
    redisContext *control;
    char folder[32];
};

static struct master three_masters[MASTERS];

static inline void tell_master(const struct master *m, const char *command)
{
    redisReply *reply = redisCommand(m->control, command);

    if (!reply || reply->type == REDIS_REPLY_ERROR)
        die(command, reply ? reply->str : m->control->errstr);
    freeReplyObject(reply);
}

static inline void become_server(const struct master *m)
{
    char text[16];

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)snprintf(text, sizeof text, "%d", m->port);
    if (!freopen("/dev/null", "w", stdout))
        _exit(126);
    (void)execlp("redis-server", "redis-server", "--port", text, "--bind", "127.0.0.1",
                 "--save", "", "--appendonly", "no", "--dir", m->folder, "--cluster-enabled", "yes",
                 "--cluster-config-file", NODES_FILE, (char *)NULL);
    _exit(127);
}

static inline void await_master(struct master *m)
{
    struct timespec pause = {0, 20000000};

    for (int i = 0; i < 500; i++) {
        m->control = redisConnect("127.0.0.1", m->port);
        if (m->control && !m->control->err)
            return;
        redisFree(m->control);
        nanosleep(&pause, NULL);
    }
    die("redis-server", "does not start as a node of a cluster");
}

static inline bool is_cluster_ok(const struct master *m)
{
    redisReply *reply = redisCommand(m->control, "CLUSTER INFO");
    bool is_ok = reply && strstr(reply->str, "cluster_state:ok") &&
                 strstr(reply->str, "cluster_known_nodes:3");

    freeReplyObject(reply);
    return is_ok;
}

static inline void three_masters_start(void)
{
    struct timespec pause = {0, 50000000};
    char text[80];

    for (int i = 0; i < MASTERS; i++) {
        struct master *m = &three_masters[i];

        m->port = FIRST_PORT + i;
        (void)snprintf(m->folder, sizeof m->folder, "/tmp/bench-master-XXXXXX");
        if (!mkdtemp(m->folder))
            die("mkdtemp", "failed");
        m->pid = fork();
        if (m->pid == 0)
            become_server(m);
        await_master(m);
        (void)snprintf(text, sizeof text, "CLUSTER ADDSLOTSRANGE %d %d", 16384 * i / MASTERS,
                       16384 * (i + 1) / MASTERS - 1);
        tell_master(m, text);
        (void)snprintf(text, sizeof text, "CLUSTER MEET 127.0.0.1 %d", FIRST_PORT);
        tell_master(m, text);
    }
    for (int i = 0; i < MASTERS; i++)
        while (!is_cluster_ok(&three_masters[i]))
            nanosleep(&pause, NULL);
}

static inline void three_masters_stop(void)
{
    char file[64];

    for (int i = 0; i < MASTERS; i++) {
        struct master *m = &three_masters[i];

        redisFree(m->control);
        (void)kill(m->pid, SIGKILL);
        (void)waitpid(m->pid, NULL, 0);
        (void)snprintf(file, sizeof file, "%s/" NODES_FILE, m->folder);
        (void)unlink(file);
        (void)rmdir(m->folder);
    }
}

#endif
