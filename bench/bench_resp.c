/* Parsing, ours against hiredis, on streams of about 1 MiB (resp_streams.h) fed
 * from memory in pieces of 16 KiB and as a whole: rounds interleaved, CPU time
 * of the thread, medians. hiredis builds its reply objects and frees them; we
 * leave a tape and drop it: this is what each gives its caller. Where the
 * caller needs replies of its own (P4), we copy them.
 *
 * hiredis before 1.0 knows no RESP3: it gets f as RESP2, in the same nodes. */
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/resp_streams.h"
#include "resp/resp.h"

#define STREAM_BYTES (1 << 20)
#define LONG_BYTES (4 << 20)
#define PIECE 16384
#define ROUNDS 15
#define ROUND_NS 20e6

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- what is allocated: by everything in this program ---- */

static size_t allocated;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

void *__wrap_malloc(size_t size)
{
    allocated += size;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocated += count * size;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
    allocated += size;
    return __real_realloc(ptr, size);
}

/* ---- ours ---- */

struct ours {
    struct hf_resp_parser parser;
    struct hf_resp_tape tape;
    char *buf;
    size_t len;
    size_t room;
};

static void *grown(void *ptr, size_t size)
{
    ptr = realloc(ptr, size);
    if (!ptr)
        abort();
    return ptr;
}

static struct ours ours_make(void)
{
    struct ours o = {.room = 32768, .tape = {.room = 16384}};

    hf_resp_init(&o.parser, NULL, 3);
    o.buf = grown(NULL, o.room);
    o.tape.nodes = grown(NULL, o.tape.room * sizeof *o.tape.nodes);
    return o;
}

static void ours_free(struct ours *o)
{
    free(o->buf);
    free(o->tape.nodes);
}

/* As read(2) would put them there. */
static void ours_receive(struct ours *o, const char *bytes, size_t len)
{
    if (o->len + len > o->room) {
        o->room = o->room * 2 + len;
        o->buf = grown(o->buf, o->room);
    }
    memcpy(o->buf + o->len, bytes, len);
    o->len += len;
}

static void ours_drop(struct ours *o)
{
    size_t dropped;

    hf_resp_drop(&o->parser, &o->tape, &dropped);
    o->len -= dropped;
    if (dropped && o->len)
        memmove(o->buf, o->buf + dropped, o->len);
}

/* One more reply, whatever room it takes. */
static bool ours_next(struct ours *o)
{
    hf_status status;

    while ((status = hf_resp_parse(&o->parser, o->buf, o->len, &o->tape)) ==
           HF_RESP_ROOM) {
        o->tape.room *= 2;
        o->tape.nodes = grown(o->tape.nodes,
                              o->tape.room * sizeof *o->tape.nodes);
    }
    return status == HF_OK;
}

static size_t ours_run(void *ctx, const char *bytes, size_t len)
{
    struct ours *o = ctx;
    size_t replies = 0;

    ours_receive(o, bytes, len);
    while (ours_next(o))
        replies++;
    ours_drop(o);
    return replies;
}

/* Copies one reply into `mem`, or into a block of its own. */
static size_t own(struct ours *o, uint32_t index, char *mem)
{
    struct hf_resp_value v = hf_resp_first(&o->tape, o->buf, index);
    size_t size = hf_resp_copy_size(v);
    char *block = mem ? mem : grown(NULL, size);

    (void)hf_resp_copy(v, block, size, &v);   /* it fits */
    if (!mem)
        free(block);
    return (size + 15) / 16 * 16;
}

static size_t ours_run_owned(void *ctx, const char *bytes, size_t len,
                             char *arena)
{
    struct ours *o = ctx;
    size_t replies = 0, used = 0;

    ours_receive(o, bytes, len);
    for (uint32_t index = 0; ours_next(o); index = o->tape.count) {
        used += own(o, index, arena ? arena + used : NULL);
        replies++;
    }
    ours_drop(o);
    return replies;
}

static size_t ours_run_blocks(void *ctx, const char *bytes, size_t len)
{
    return ours_run_owned(ctx, bytes, len, NULL);
}

/* As a client that keeps what one read brought in one block. */
static size_t ours_run_arena(void *ctx, const char *bytes, size_t len)
{
    char *arena = grown(NULL, 8 * PIECE);   /* 5 bytes come to 32 at most */
    size_t replies = ours_run_owned(ctx, bytes, len, arena);

    free(arena);
    return replies;
}

/* ---- hiredis ---- */

static size_t hiredis_run(void *ctx, const char *bytes, size_t len)
{
    size_t replies = 0;
    void *reply;

    redisReaderFeed(ctx, bytes, len);
    while (redisReaderGetReply(ctx, &reply) == REDIS_OK && reply) {
        freeReplyObject(reply);
        replies++;
    }
    return replies;
}

/* ---- rounds ---- */

typedef size_t run_piece(void *ctx, const char *bytes, size_t len);

static size_t run_stream(run_piece *run, void *ctx, const struct stream *s,
                         size_t piece)
{
    size_t replies = 0;

    for (size_t at = 0; at < s->len; at += piece)
        replies += run(ctx, s->bytes + at,
                       s->len - at < piece ? s->len - at : piece);
    if (replies == s->replies)
        return replies;
    fprintf(stderr, "%s: %zu of %zu replies\n", s->name, replies, s->replies);
    exit(1);
}

/* Nanoseconds per reply, over at least ROUND_NS. */
static double round_ns(run_piece *run, void *ctx, const struct stream *s,
                       size_t piece)
{
    double start = now_ns(), end;
    size_t replies = 0;

    do {
        replies += run_stream(run, ctx, s, piece);
        end = now_ns();
    } while (end - start < ROUND_NS);
    return (end - start) / (double)replies;
}

/* In the steady state: the second time. */
static double bytes_allocated(run_piece *run, void *ctx,
                              const struct stream *s, size_t piece)
{
    (void)run_stream(run, ctx, s, piece);
    allocated = 0;
    return (double)(run_stream(run, ctx, s, piece), allocated) /
           (double)s->replies;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *n)
{
    qsort(n, ROUNDS, sizeof *n, by_size);
    return n[ROUNDS / 2];
}

/* ---- tables ---- */

static void print_goal(double is, double goal)
{
    if (goal > 0)
        printf(" %6.2f%s", goal, is >= goal ? "" : " MISSED");
    putchar('\n');
}

static void compare(run_piece *run, const struct stream *ours,
                    const struct stream *theirs, size_t piece, double goal)
{
    struct ours o = ours_make();
    redisReader *h = redisReaderCreate();
    double bytes = (double)ours->len / (double)ours->replies;
    double a[ROUNDS], b[ROUNDS], ns, peer_ns, peer_bytes;

    for (int i = 0; i < ROUNDS; i++) {
        a[i] = round_ns(run, &o, ours, piece);
        b[i] = round_ns(hiredis_run, h, theirs, piece);
    }
    ns = median(a);
    peer_ns = median(b);
    peer_bytes = bytes_allocated(hiredis_run, h, theirs, piece);
    printf("%-3s %9.1f %9.1f %7.2f %7.2f %7.0f %7.0f %7.2f", ours->name, ns,
           peer_ns, 1e3 / ns, bytes / ns,
           bytes_allocated(run, &o, ours, piece), peer_bytes, peer_ns / ns);
    print_goal(peer_ns / ns, goal);
    redisReaderFree(h);
    ours_free(&o);
}

static void print_head(const char *title)
{
    printf("\n%s\n%-3s %9s %9s %7s %7s %7s %7s %7s %6s\n", title, "",
           "ns ours", "hiredis", "M/s", "GB/s", "B ours", "hiredis", "times",
           "goal");
}

/* Two ways of the same: `large` may cost `goal` times `small` (P3, P5). */
static void compare_ways(const char *what, const struct stream *s,
                         size_t small, size_t large, double per, double goal)
{
    struct ours o = ours_make();
    double a[ROUNDS], b[ROUNDS], x, y;

    for (int i = 0; i < ROUNDS; i++) {
        a[i] = round_ns(ours_run, &o, s, small);
        b[i] = round_ns(ours_run, &o, s, large);
    }
    x = median(a) / per;
    y = median(b) / per;
    printf("%s: %.2f and %.2f ns, %.2f times", what, x, y, y / x);
    if (goal > 0)
        printf(" (goal %.1f%s)", goal, y / x <= goal ? "" : ", MISSED");
    putchar('\n');
    ours_free(&o);
}

/* No parser may read a long string again for each piece: four times the string in the same
 * pieces takes four times the time. */
static void put_1m(FILE *out)
{
    put_bulk(out, 1 << 20);
}

static void put_4m(FILE *out)
{
    put_bulk(out, 4 << 20);
}

static void compare_long(void)
{
    struct stream once = stream_make("1 MiB", put_1m, 1);
    struct stream four = stream_make("4 MiB", put_4m, 1);
    struct ours o = ours_make();
    double a[ROUNDS], b[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        a[i] = round_ns(ours_run, &o, &once, 64);
        b[i] = round_ns(ours_run, &o, &four, 64);
    }
    printf("P5 a bulk string in pieces of 64 bytes, 4 MiB over 1 MiB: %.2f "
           "times (linear: 4)\n", median(b) / median(a));
    ours_free(&o);
    free(once.bytes);
    free(four.bytes);
}

/* The goals of P1. */
static const struct {
    const char *name;
    void (*put)(FILE *out);
    double goal;
} kinds[] = {
    {"a", put_ok, 6},    {"b", put_integer, 2.5}, {"c", put_16, 4},
    {"d", put_1k, 3.5},  {"e", put_64k, 1.6},     {"f", put_nested, 6},
    {"g", put_mix, 2.2},
};

enum { A, B, C, D, E, F, G, KINDS };

int main(void)
{
    const bool is_3 = HIREDIS_MAJOR >= 1;
    struct stream s[KINDS], theirs[KINDS];
    struct stream long_ok = stream_make("a", put_ok, LONG_BYTES);

    for (int i = A; i < KINDS; i++)
        s[i] = theirs[i] =
            stream_make(kinds[i].name, kinds[i].put, STREAM_BYTES);
    if (!is_3)
        theirs[F] = stream_make("f", put_nested_in_2, STREAM_BYTES);
    printf("hiredis %d.%d.%d%s\nns: per reply; B: bytes allocated per reply; "
           "M/s, GB/s: ours\n", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH,
           is_3 ? "" : " (f as RESP2)");
    print_head("P1, pieces of 16 KiB");
    for (int i = A; i < KINDS; i++)
        compare(ours_run, &s[i], &theirs[i], PIECE, kinds[i].goal);
    print_head("in one piece");
    for (int i = A; i < KINDS; i++)
        compare(ours_run, &s[i], &theirs[i], s[i].len, 0);
    print_head("P4, replies copied into one block for each piece");
    compare(ours_run_arena, &s[C], &theirs[C], PIECE, 2);
    compare(ours_run_arena, &s[F], &theirs[F], PIECE, 4);
    print_head("each reply copied into a block of its own");
    compare(ours_run_blocks, &s[C], &theirs[C], PIECE, 0);
    compare(ours_run_blocks, &s[F], &theirs[F], PIECE, 0);
    putchar('\n');
    compare_ways("P3 +OK, pieces of 16 KiB and one of 4 MiB", &long_ok, PIECE,
                 long_ok.len, 1, 1.2);
    compare_ways("P5 g by byte, pieces of 16 KiB and of 1 byte", &s[G], PIECE,
                 1, (double)s[G].len / (double)s[G].replies, 0);
    compare_long();
    return 0;
}
