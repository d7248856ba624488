/* Parsing, ours against hiredis, on the streams a to g of docs/performance.md:
 * about 1 MiB each, fed from memory in pieces of 16 KiB, rounds interleaved,
 * CPU time of the thread, medians. hiredis builds its reply objects and frees
 * them; we leave a tape and drop it: this is what each gives its caller.
 *
 * hiredis before 1.0 knows no RESP3, so f and g are sent as RESP2 to both; f3
 * is f in RESP3, ours alone, against hiredis' f. */
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "resp/resp.h"

#define STREAM_BYTES (1 << 20)
#define LONG_BYTES (4 << 20)
#define PIECE 16384
#define ROUNDS 15
#define ROUND_NS 20e6

struct stream {
    const char *name;
    char *bytes;
    size_t len;
    size_t replies;
};

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- the streams ---- */

static void put_ok(FILE *out)
{
    fputs("+OK\r\n", out);
}

/* 1 to 19 digits, each length as often, half of them negative. */
static void put_integer(FILE *out)
{
    int digits = 1 + (int)(random_next() % 19);
    uint64_t low = 1;

    for (int i = 1; i < digits; i++)
        low *= 10;
    fprintf(out, ":%s%llu\r\n", random_next() & 1 ? "-" : "",
            (unsigned long long)(low + random_next() % (8 * low)));
}

static void put_bulk(FILE *out, int len)
{
    fprintf(out, "$%d\r\n", len);
    for (int i = 0; i < len; i++)
        fputc('a' + i % 26, out);
    fputs("\r\n", out);
}

static void put_16(FILE *out)
{
    put_bulk(out, 16);
}

static void put_1k(FILE *out)
{
    put_bulk(out, 1024);
}

static void put_64k(FILE *out)
{
    put_bulk(out, 65536);
}

/* 36 nodes: a map of 5 with two inner maps, a set, booleans, null, double,
 * verbatim string, big number, empty array, nested array. */
static void put_nested(FILE *out)
{
    fputs("%5\r\n"
          "$4\r\nname\r\n$10\r\nholdfast-1\r\n"
          "$5\r\nstats\r\n%3\r\n$4\r\nhits\r\n:12345\r\n$6\r\nmisses\r\n:7\r\n"
          "$5\r\nratio\r\n,0.9994\r\n"
          "$5\r\nflags\r\n~3\r\n#t\r\n#f\r\n_\r\n"
          "$4\r\ninfo\r\n%3\r\n$4\r\ntext\r\n=15\r\ntxt:Some string\r\n"
          "$3\r\nbig\r\n(3492890328409238509324850943850943825024385\r\n"
          "$5\r\nempty\r\n*0\r\n"
          "$4\r\nlist\r\n*4\r\n:1\r\n+two\r\n*3\r\n:3\r\n:4\r\n:5\r\n"
          "*2\r\n$5\r\nhello\r\n$-1\r\n",
          out);
}

static void put_nested_in_2(FILE *out)
{
    fputs("*10\r\n"
          "$4\r\nname\r\n$10\r\nholdfast-1\r\n"
          "$5\r\nstats\r\n*6\r\n$4\r\nhits\r\n:12345\r\n$6\r\nmisses\r\n:7\r\n"
          "$5\r\nratio\r\n$6\r\n0.9994\r\n"
          "$5\r\nflags\r\n*3\r\n:1\r\n:0\r\n$-1\r\n"
          "$4\r\ninfo\r\n*6\r\n$4\r\ntext\r\n$11\r\nSome string\r\n"
          "$3\r\nbig\r\n$43\r\n3492890328409238509324850943850943825024385\r\n"
          "$5\r\nempty\r\n*0\r\n"
          "$4\r\nlist\r\n*4\r\n:1\r\n+two\r\n*3\r\n:3\r\n:4\r\n:5\r\n"
          "*2\r\n$5\r\nhello\r\n$-1\r\n",
          out);
}

/* What a lock client sees. */
static void put_mix(FILE *out)
{
    switch (random_next() % 8) {
    case 0:
        fputs("$-1\r\n", out);
        return;
    case 1:
        fputs("*-1\r\n", out);
        return;
    case 2:
        fputs(":1\r\n", out);
        return;
    case 3:
        fprintf(out, ":%d\r\n", (int)(random_next() % 30000));
        return;
    case 4:
        fputs("+OK\r\n", out);
        return;
    case 5:
        put_bulk(out, 36);
        return;
    case 6:
        fputs("*3\r\n$7\r\nmessage\r\n$32\r\nredisson_lock__channel:{myLock1}"
              "\r\n$1\r\n0\r\n", out);
        return;
    }
    fputs("*2\r\n:1\r\n$38\r\n01234567-89ab-cdef-0123-456789abcdef:1\r\n", out);
}

static struct stream stream_make(const char *name, void (*put)(FILE *),
                                 long bytes)
{
    struct stream s = {.name = name};
    FILE *out = open_memstream(&s.bytes, &s.len);

    do {
        put(out);
        s.replies++;
    } while (ftell(out) < bytes);
    fclose(out);
    return s;
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

static size_t ours_parse(struct ours *o)
{
    size_t replies = 0, dropped;

    while (hf_resp_parse(&o->parser, o->buf, o->len, &o->tape) == HF_OK)
        replies++;
    hf_resp_drop(&o->parser, &o->tape, &dropped);
    o->len -= dropped;
    if (dropped && o->len)
        memmove(o->buf, o->buf + dropped, o->len);
    return replies;
}

static size_t ours_run(void *ctx, const char *bytes, size_t len)
{
    ours_receive(ctx, bytes, len);
    return ours_parse(ctx);
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
    return replies;
}

/* Nanoseconds per reply, over at least ROUND_NS. */
static double round_ns(run_piece *run, void *ctx, const struct stream *s,
                       size_t piece)
{
    double start = now_ns(), end;
    size_t replies = 0;

    do {
        size_t got = run_stream(run, ctx, s, piece);

        if (got != s->replies) {
            fprintf(stderr, "%s: %zu of %zu replies\n", s->name, got,
                    s->replies);
            exit(1);
        }
        replies += got;
        end = now_ns();
    } while (end - start < ROUND_NS);
    return (end - start) / (double)replies;
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

static void compare(const struct stream *ours, const struct stream *theirs,
                    double goal)
{
    struct ours o = ours_make();
    redisReader *h = redisReaderCreate();
    double a[ROUNDS], b[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        a[i] = round_ns(ours_run, &o, ours, PIECE);
        b[i] = round_ns(hiredis_run, h, theirs, PIECE);
    }
    printf("%-3s %10.1f %10.1f %8.2f %8.1f\n", ours->name, median(a),
           median(b), median(b) / median(a), goal);
    redisReaderFree(h);
    free(o.buf);
    free(o.tape.nodes);
}

/* The same replies in one large piece may cost hardly more (P3). */
static void compare_pieces(const struct stream *s)
{
    struct ours o = ours_make();
    double small[ROUNDS], large[ROUNDS];

    /* All replies of the large piece stand on the tape together. */
    o.tape.room = 1 << 20;
    o.tape.nodes = grown(o.tape.nodes, o.tape.room * sizeof *o.tape.nodes);
    for (int i = 0; i < ROUNDS; i++) {
        small[i] = round_ns(ours_run, &o, s, PIECE);
        large[i] = round_ns(ours_run, &o, s, s->len);
    }
    printf("\n+OK in pieces of 16 KiB %.1f ns, in one of %zu KiB %.1f ns: "
           "%.2f (goal 1.2)\n", median(small), s->len >> 10, median(large),
           median(large) / median(small));
    free(o.buf);
    free(o.tape.nodes);
}

int main(void)
{
    struct stream a = stream_make("a", put_ok, STREAM_BYTES);
    struct stream b = stream_make("b", put_integer, STREAM_BYTES);
    struct stream c = stream_make("c", put_16, STREAM_BYTES);
    struct stream d = stream_make("d", put_1k, STREAM_BYTES);
    struct stream e = stream_make("e", put_64k, STREAM_BYTES);
    struct stream f = stream_make("f", put_nested_in_2, STREAM_BYTES);
    struct stream f3 = stream_make("f3", put_nested, STREAM_BYTES);
    struct stream g = stream_make("g", put_mix, STREAM_BYTES);
    struct stream a_long = stream_make("a", put_ok, LONG_BYTES);

    printf("hiredis %d.%d.%d; ns per reply, 16 KiB pieces\n\n", HIREDIS_MAJOR,
           HIREDIS_MINOR, HIREDIS_PATCH);
    printf("%-3s %10s %10s %8s %8s\n", "", "ours", "hiredis", "times", "goal");
    compare(&a, &a, 6);
    compare(&b, &b, 2.5);
    compare(&c, &c, 4);
    compare(&d, &d, 3.5);
    compare(&e, &e, 1.6);
    compare(&f, &f, 6);
    compare(&f3, &f, 6);
    compare(&g, &g, 2.2);
    compare_pieces(&a_long);
    return 0;
}
