/* A server in the test's own thread: it executes commands of a table, remembers
 * how often, and breaks its connections where it is told. The test moves it,
 * between turns of the client's loop, so that what was executed when a
 * connection broke is known to the byte.
 *
 *     static const struct executor_row rows[] = {EXECUTOR_ROW("+OK\r\n"), ...};
 *     executor_open(&x, rows, 1);
 *     x.next = (struct executor_plan){.in_max = 17, .out_max = SIZE_MAX};
 *     ... the client asks "DO 0" of 127.0.0.1, x.port ...
 *     while (...) { hf_loop_dispatch(loop, 0); executor_turn(&x); }
 *     ck_assert_uint_eq(x.executed[0], 1);
 *     executor_close(&x);
 *
 * Handshakes are answered as a Redis 7 would. One connection at a time: the
 * newest; an older one is closed when it comes. */
#ifndef TEST_EXECUTOR_H
#define TEST_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/support/handshake.h"

#define EXECUTOR_ROWS_MAX 32
#define EXECUTOR_ROOM 65536

/* What is answered to "DO <row's number>". */
struct executor_row {
    const char *reply;
    size_t len;
};
#define EXECUTOR_ROW(bytes) {"" bytes, sizeof("" bytes) - 1}

/* How a connection is treated. It ends behind the in_max-th byte that it took,
 * having executed and answered what was whole by then, or behind the out_max-th
 * that it wrote, whichever comes first; SIZE_MAX: never. 0: in place of the
 * first. */
struct executor_plan {
    size_t in_max, out_max;
    bool is_reset;              /* RST; else FIN */
    bool is_stuck;              /* neither: it says nothing more, for ever */
    bool is_half;               /* FIN, but what comes is taken and executed */
    bool is_silent;             /* what was executed is not answered any more
                                   once in_max is reached */
    size_t slice;               /* bytes a turn, each way; 0: all there are */
    bool refuses;               /* HELLO gets an answer that makes no sense */
    int spoilt;                 /* 1 + the row that is answered by `garbage` */
    struct executor_row garbage;
};

struct executor {
    /* Set by executor_open. */
    const struct executor_row *rows;
    size_t row_count;
    int listener, port;
    /* The test's. */
    struct executor_plan next;  /* of the next connection; then all go well */
    /* What happened. */
    unsigned connections;
    unsigned executed[EXECUTOR_ROWS_MAX];
    size_t part_len;            /* bytes of a request of which no more came */
    bool has_broken;            /* a plan's end was reached */
    /* Its own. */
    int fd;
    struct executor_plan plan;
    struct handshake handshake;
    size_t in_total, in_len, out_total, out_len;
    char in[EXECUTOR_ROOM], out[EXECUTOR_ROOM];
};

/* executor_open  - false: no port, errno says why.
 * executor_turn  - accepts, reads, executes, writes, breaks: as far as it goes
 *                  without waiting. False: the client sent what is no
 *                  request of the table.
 * executor_end   - ends the connection now, in the way of its plan.
 * executor_close - all sockets. */
bool executor_open(struct executor *x, const struct executor_row *rows,
                   size_t count);
bool executor_turn(struct executor *x);
void executor_end(struct executor *x);
void executor_close(struct executor *x);

/* executor_plan_none - nothing goes wrong. */
struct executor_plan executor_plan_none(void);

#endif
