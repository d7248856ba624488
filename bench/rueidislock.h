/* The peer of bench_push: rueidislock.go, a child that prints one row for each case. */
#ifndef BENCH_RUEIDISLOCK_H
#define BENCH_RUEIDISLOCK_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/measure.h"

static FILE *peer_cases, *peer_rows; /* NULL if the peer is not measured */

static inline void peer_run(const char *program, const int *in, const int *out)
{
    char port[16];

    (void)snprintf(port, sizeof port, "%d", server_port());
    (void)dup2(in[0], STDIN_FILENO);
    (void)dup2(out[1], STDOUT_FILENO);
    for (int i = 0; i < 2; i++)
        (void)close(in[i]), (void)close(out[i]);
    (void)execl(program, program, port, (char *)NULL);
    _exit(127);
}

/* Starts the program that BENCH_RUEIDISLOCK names. It ends when this process ends. */
static inline void peer_start(void)
{
    const char *program = getenv("BENCH_RUEIDISLOCK");
    int in[2], out[2];

    if (!program || !*program) {
        puts("rueidislock: not measured (bench/peers.sh could not build it)");
        return;
    }
    if (pipe(in) != 0 || pipe(out) != 0)
        die("pipe", "failed");
    if (fork() == 0)
        peer_run(program, in, out);
    (void)close(in[0]), (void)close(out[1]);
    peer_cases = fdopen(in[1], "w");
    peer_rows = fdopen(out[0], "r");
}

/* The next row of the table is the peer's. */
static inline void measure_peer(const char *title, const char *what, int count)
{
    char row[120];

    if (!peer_cases)
        return;
    fprintf(peer_cases, "%s %d\n", what, count);
    (void)fflush(peer_cases);
    if (!fgets(row, sizeof row, peer_rows))
        die("rueidislock", "has ended");
    printf("%-44s %s", title, row);
    (void)fflush(stdout);
}

#endif
