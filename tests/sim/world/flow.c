/* Bytes on their way. See flow.h. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world/connection.h"

static struct world *world_of(const struct flow *f)
{
    return f->connection->link->process->world;
}

static struct link_way *way_of(const struct flow *f)
{
    return &f->connection->link->ways[f->way];
}

static bool is_held(const struct flow *f)
{
    return connection_is_held(f->connection, f->way);
}

static void arm(struct flow *f)
{
    if (f->is_dead)
        return;
    if (f->count > 0)
        world_at(world_of(f), &f->arrival, f->pieces[f->first].at_us);
    else if (f->is_ending && !f->has_ended)
        world_at(world_of(f), &f->arrival, f->last_us);
}

/* ---- arriving ---- */

/* All pieces that are due, as one. */
static void advance(struct flow *f)
{
    int64_t now = world_now_us(world_of(f));

    while (f->count > 0 && f->pieces[f->first].at_us <= now) {
        f->arrived = f->pieces[f->first].end;
        f->first++;
        f->count--;
    }
    if (f->count == 0)
        f->first = 0;
}

/* How much of what has arrived a cut lets through. */
static bool is_cut(struct flow *f, uint32_t before, struct cut *cut)
{
    uint32_t came = f->arrived - before;

    if (cut->left == SIZE_MAX)
        return false;
    if (came < cut->left) {
        cut->left -= came;
        return false;
    }
    f->arrived = before + (uint32_t)cut->left;
    cut->left = SIZE_MAX;
    if (cut->event) /* before either end can act on it */
        cut->event->happen(cut->event->ctx);
    return true;
}

static void deliver(struct flow *f)
{
    uint32_t before = f->arrived;
    bool is_over;

    advance(f);
    if (f->arrived == before)
        return;
    is_over = is_cut(f, before, &way_of(f)->cut);
    if (is_cut(f, before, &f->connection->ways[f->way].cut))
        is_over = true;
    link_tell(f->connection->link, NET_ARRIVED, f->way, f->bytes + before,
              f->arrived - before);
    connection_arrived(f->connection, f->way);
    if (is_over)
        connection_reset(f->connection);
}

static void on_arrival(void *ctx)
{
    struct flow *f = ctx;
    struct connection *c = f->connection;

    if (is_held(f))
        return;
    c->busy++;
    deliver(f);
    if (f->is_ending && f->count == 0 && !f->is_dead && !f->has_ended) {
        f->has_ended = true;
        connection_ended(c, f->way);
    }
    arm(f);
    c->busy--;
    connection_settle(c);
}

void flow_wake(struct flow *f)
{
    arm(f);
}

/* ---- writing ---- */

/* The bytes that were read make room for those to come. */
static void compact(struct flow *f)
{
    uint32_t gone = f->read;

    if (gone == 0)
        return;
    memmove(f->bytes, f->bytes + gone, f->sent - gone);
    f->read = 0;
    f->arrived -= gone;
    f->sent -= gone;
    for (uint32_t i = 0; i < f->count; i++)
        f->pieces[f->first + i].end -= gone;
}

static void make_room(struct flow *f, size_t len)
{
    if (f->room - f->sent >= len)
        return;
    compact(f);
    while (f->room - f->sent < len)
        must_grow(&f->bytes, &f->room, 1, f->room);
}

static void add_piece(struct flow *f, uint32_t end, int64_t at_us)
{
    uint32_t next = f->first + f->count;

    if (f->count > 0 && f->pieces[next - 1].at_us == at_us) {
        f->pieces[next - 1].end = end;
        return;
    }
    if (f->first > 0 && f->first + f->count == f->pieces_room) {
        memmove(f->pieces, f->pieces + f->first, f->count * sizeof *f->pieces);
        f->first = 0;
    }
    must_grow(&f->pieces, &f->pieces_room, sizeof *f->pieces,
              f->first + f->count);
    f->pieces[f->first + f->count++] =
        (struct piece){.end = end, .at_us = at_us};
}

/* When what is written now arrives: never before what was written earlier. */
static int64_t next_arrival(struct flow *f)
{
    int64_t at = world_now_us(world_of(f)) +
                 link_delay_us(f->connection->link, f->way) +
                 f->connection->ways[f->way].slow_us;

    if (at > f->last_us)
        f->last_us = at;
    return f->last_us;
}

static size_t piece_len(struct flow *f, size_t len)
{
    uint32_t most = way_of(f)->shape.piece_max;
    size_t piece;

    if (most == 0)
        return len;
    piece = 1 + (size_t)dice_of(&world_of(f)->network.dice, most);
    return piece < len ? piece : len;
}

void flow_write(struct flow *f, const char *ptr, size_t len)
{
    size_t piece;

    if (f->is_dead && f->connection->is_forgotten)
        f->connection->link->swallows++;
    if (f->is_dead || f->is_ending)
        return;
    make_room(f, len);
    memcpy(f->bytes + f->sent, ptr, len);
    for (; len > 0; len -= piece) {
        piece = piece_len(f, len);
        f->sent += (uint32_t)piece;
        add_piece(f, f->sent, next_arrival(f));
    }
    if (!f->arrival.place && !is_held(f))
        arm(f);
}

void flow_end(struct flow *f)
{
    if (f->is_ending)
        return;
    f->is_ending = true;
    (void)next_arrival(f);
    if (!f->arrival.place && !is_held(f))
        arm(f);
}

void flow_take(struct flow *f, uint32_t len)
{
    f->read += len;
    if (f->read == f->sent)
        f->read = f->arrived = f->sent = 0;
}

/* ---- beginning and end ---- */

void flow_init(struct flow *f, struct connection *c, enum way way)
{
    memset(f, 0, sizeof *f);
    f->connection = c;
    f->way = way;
    f->arrival = (struct event){.happen = on_arrival, .ctx = f};
}

void flow_kill(struct flow *f)
{
    world_cancel(world_of(f), &f->arrival);
    f->is_dead = true;
    f->sent = f->arrived;
    f->count = f->first = 0;
}

void flow_fini(struct flow *f)
{
    world_cancel(world_of(f), &f->arrival);
    free(f->bytes);
    free(f->pieces);
}
