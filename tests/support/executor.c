/* A server in the test's own thread, which breaks where it is told. */
#include "tests/support/executor.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/local.h"
#include "tests/support/request.h"

struct executor_plan executor_plan_none(void)
{
    return (struct executor_plan){.in_max = SIZE_MAX, .out_max = SIZE_MAX};
}

bool executor_open(struct executor *x, const struct executor_row *rows,
                   size_t count)
{
    memset(x, 0, sizeof *x);
    x->rows = rows;
    x->row_count = count;
    x->fd = -1;
    x->next = executor_plan_none();
    x->listener = local_listen_once(&x->port);
    return x->listener >= 0;
}

void executor_close(struct executor *x)
{
    local_close(x->fd);
    local_close(x->listener);
    x->fd = x->listener = -1;
}

/* ---- a connection ---- */

static void accept_one(struct executor *x)
{
    int fd = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    local_close(x->fd);
    local_prepare(fd);
    x->fd = fd;
    x->plan = x->next;
    x->next = executor_plan_none();
    x->handshake = (struct handshake){
        .protocol = 2, .id = ++x->connections, .answers_ping = true};
    x->in_total = x->in_len = x->out_total = x->out_len = 0;
}

void executor_end(struct executor *x)
{
    x->part_len = x->in_len;
    x->has_broken = true;
    if (x->plan.is_stuck)
        return;
    if (x->plan.is_half) {
        (void)shutdown(x->fd, SHUT_WR);
        x->plan = executor_plan_none();
        return;
    }
    if (x->plan.is_reset)
        local_reset(x->fd);
    else
        local_close(x->fd);
    x->fd = -1;
}

/* How much may be moved now: by the plan, and by the room there is. */
static size_t allowed(const struct executor *x, size_t max, size_t total,
                      size_t room)
{
    size_t n = max - total < room ? max - total : room;

    return x->plan.slice && x->plan.slice < n ? x->plan.slice : n;
}

static void take_in(struct executor *x)
{
    size_t n =
        allowed(x, x->plan.in_max, x->in_total, sizeof x->in - x->in_len);
    ssize_t got = n > 0 ? recv(x->fd, x->in + x->in_len, n, 0) : 0;

    if (got > 0) {
        x->in_len += (size_t)got;
        x->in_total += (size_t)got;
    } else if (n > 0 && (got == 0 || errno != EAGAIN)) {
        local_close(x->fd); /* the client has gone */
        x->fd = -1;
    }
}

static void give_out(struct executor *x)
{
    size_t n = allowed(x, x->plan.out_max, x->out_total, x->out_len);
    ssize_t put = n > 0 ? send(x->fd, x->out, n, MSG_NOSIGNAL) : 0;

    if (put <= 0)
        return; /* full, or gone: the next read says which */
    x->out_len -= (size_t)put;
    x->out_total += (size_t)put;
    memmove(x->out, x->out + put, x->out_len);
}

/* ---- commands ---- */

static void answer(struct executor *x, const char *bytes, size_t len)
{
    memcpy(x->out + x->out_len, bytes, len);
    x->out_len += len;
}

/* The number of a "DO number" in the table, or -1. */
static int row_of(const struct executor *x, const struct request *r)
{
    char number[8] = "";
    int row;

    if (r->argc != 2 || r->arg[1].len >= sizeof number ||
        !request_matches(r, "DO *"))
        return -1;
    memcpy(number, r->arg[1].ptr, r->arg[1].len);
    row = atoi(number);
    return row >= 0 && (size_t)row < x->row_count ? row : -1;
}

static void execute(struct executor *x, int row)
{
    const struct executor_row *r =
        x->plan.spoilt == row + 1 ? &x->plan.garbage : &x->rows[row];

    x->executed[row]++;
    if (!x->plan.is_silent || x->in_total < x->plan.in_max)
        answer(x, r->reply, r->len);
}

static bool handle(struct executor *x, const struct request *r)
{
    char handshake[HANDSHAKE_MAX];
    size_t len = handshake_answer(&x->handshake, r, handshake);
    int row = row_of(x, r);

    if (len > 0 && x->plan.refuses)
        answer(x, "+what?\r\n", 8);
    else if (len > 0)
        answer(x, handshake, len);
    else if (row >= 0)
        execute(x, row);
    return len > 0 || row >= 0;
}

static bool execute_all(struct executor *x)
{
    struct request r;
    enum request_state state;

    while ((state = request_decode(&r, x->in, x->in_len)) == REQUEST_WHOLE) {
        if (!handle(x, &r))
            return false;
        x->in_len -= r.len;
        memmove(x->in, x->in + r.len, x->in_len);
    }
    return state != REQUEST_BROKEN;
}

bool executor_turn(struct executor *x)
{
    bool is_understood = true;

    accept_one(x);
    if (x->fd >= 0)
        take_in(x);
    if (x->fd >= 0)
        is_understood = execute_all(x);
    if (x->fd >= 0)
        give_out(x);
    if (x->fd >= 0 && (x->out_total >= x->plan.out_max ||
                       (x->in_total >= x->plan.in_max && x->out_len == 0)))
        executor_end(x);
    return is_understood;
}
