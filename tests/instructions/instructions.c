/* Parses streams of replies in several ways, each at some length and then at
 * twice that, for callgrind to count what the functions of resp/resp.h execute
 * (run.sh). Prints stream, way and bytes, in the order of the counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/resp_streams.h"
#include "resp/resp.h"

#define BYTES (64 * 1024)

/* What a server might send to hurt: `head`, in which @ is the number of units;
 * each unit; `core`; as often `tail`. */
struct shape {
    const char *head;
    const char *unit;
    const char *core;
    const char *tail;
};

struct load {
    const char *name;
    void (*put)(FILE *out);   /* one reply of many; NULL: the shape is one */
    struct shape shape;
};

/* Wherever a piece ends, it is within one of these. */
static void put_array(FILE *out)
{
    fputs("*1000\r\n", out);
    for (int i = 0; i < 1000; i++)
        fputs("$1\r\nx\r\n", out);
}

static const struct load loads[] = {
    {"a: +OK", put_ok, {0}},
    {"b: integers", put_integer, {0}},
    {"c: bulk strings of 16 bytes", put_16, {0}},
    {"d: bulk strings of 1 KiB", put_1k, {0}},
    {"e: bulk strings of 64 KiB", put_64k, {0}},
    {"f: nested, RESP2", put_nested_in_2, {0}},
    {"f3: nested, RESP3", put_nested, {0}},
    {"g: what a lock client sees", put_mix, {0}},
    {"arrays of 1000", put_array, {0}},
    {"one simple string", NULL, {"+", "x", "\r\n", ""}},
    {"one big number", NULL, {"(", "1", "\r\n", ""}},
    {"one double", NULL, {",1.", "1", "\r\n", ""}},
    {"one bulk string", NULL, {"$@\r\n", "x", "\r\n", ""}},
    {"one string in chunks of 1", NULL,
     {"$?\r\n", ";1\r\nx\r\n", ";0\r\n", ""}},
    {"one map", NULL, {"%@\r\n", "+key\r\n:1\r\n", "", ""}},
    {"arrays in arrays", NULL, {"", "*1\r\n", ":1\r\n", ""}},
    {"streamed arrays in streamed", NULL, {"", "*?\r\n", "", ".\r\n"}},
    {"empty arrays in one", NULL, {"*@\r\n", "*0\r\n", "", ""}},
    {"empty arrays in a streamed one", NULL,
     {"*?\r\n", "*0\r\n", ".\r\n", ""}},
    {"attributes before attributes", NULL, {"", "|0\r\n", "+OK\r\n", ""}},
    {"attributes in attributes", NULL,
     {"", "|1\r\n", ":1\r\n", ":1\r\n:1\r\n"}},
    {"attributes before each element", NULL,
     {"*@\r\n", "|1\r\n+key\r\n:1\r\n:2\r\n", "", ""}},
};

/* How a stream reaches the parser. What belongs to whole replies is dropped
 * after each piece. */
struct way {
    const char *name;
    size_t piece;          /* bytes that arrive together */
    bool is_tight;         /* the tape grows by one node at a time */
    bool is_asked;         /* each reply is asked everything */
};

static const struct way ways[] = {
    {"16 KiB", 16384, false, false}, {"1 KiB", 1024, false, false},
    {"1 byte", 1, false, false},     {"1 node", SIZE_MAX, true, false},
    {"asked", SIZE_MAX, false, true},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void put_head(FILE *out, const char *head, size_t count)
{
    for (; *head; head++) {
        if (*head == '@')
            fprintf(out, "%zu", count);
        else
            fputc(*head, out);
    }
}

static void put_times(FILE *out, const char *text, size_t count)
{
    while (count-- > 0)
        fputs(text, out);
}

static struct stream shape_make(const struct load *l, size_t bytes)
{
    const struct shape *s = &l->shape;
    size_t count = bytes / (strlen(s->unit) + strlen(s->tail));
    struct stream stream = {.name = l->name, .replies = 1};
    FILE *out = open_memstream(&stream.bytes, &stream.len);

    put_head(out, s->head, count);
    put_times(out, s->unit, count);
    fputs(s->core, out);
    put_times(out, s->tail, count);
    fclose(out);
    return stream;
}

static struct stream load_make(const struct load *l, size_t bytes)
{
    if (l->put)
        return stream_make(l->name, l->put, (long)bytes);
    return shape_make(l, bytes);
}

struct reader {
    struct hf_resp_parser parser;
    struct hf_resp_tape tape;
    uint32_t nodes;        /* that there is memory for */
    char *copy;            /* as large as all nodes and the stream */
    size_t copy_room;
    const char *buf;       /* behind what was dropped */
    size_t replies;
};

static void *memory(size_t size)
{
    void *ptr = malloc(size);

    if (!ptr)
        abort();
    return ptr;
}

static struct reader reader_make(const struct stream *s, bool is_tight)
{
    static const struct hf_resp_limits boundless = {
        UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct reader r = {.buf = s->bytes};

    r.nodes = (uint32_t)s->len / 3 + 1;   /* "_\r\n" is the shortest */
    r.tape.nodes = memory(r.nodes * sizeof *r.tape.nodes);
    r.tape.room = is_tight ? 0 : r.nodes;
    r.copy_room = r.nodes * sizeof *r.tape.nodes + s->len;
    r.copy = memory(r.copy_room);
    hf_resp_init(&r.parser, &boundless, 3);
    return r;
}

static void reader_fini(struct reader *r)
{
    free(r->copy);
    free(r->tape.nodes);
}

/* Every question whose cost might grow, once; the answers do not matter. */
static void ask(struct reader *r, struct hf_resp_value v)
{
    struct hf_resp_value out;
    double number;
    size_t len;

    (void)hf_resp_double(v, &number);
    (void)hf_resp_copy_bytes(v, r->copy, r->copy_room, &len);
    (void)hf_resp_map_get(v, "none", 4, &out);
    (void)hf_resp_attribute(v, "none", 4, &out);
    (void)hf_resp_element(v, hf_resp_count(v) - 1, &out);
    (void)hf_resp_copy(v, r->copy, r->copy_room, &out);
}

static void take(struct reader *r, size_t len, bool is_asked)
{
    uint32_t index = 0;
    hf_status status;
    size_t dropped;

    do {
        status = hf_resp_parse(&r->parser, r->buf, len, &r->tape);
        if (status == HF_RESP_ROOM && r->tape.room < r->nodes)
            r->tape.room++;
        if (status != HF_OK)
            continue;
        if (is_asked)
            ask(r, hf_resp_first(&r->tape, r->buf, index));
        index = r->tape.count;
        r->replies++;
    } while (status == HF_OK || status == HF_RESP_ROOM);
    hf_resp_drop(&r->parser, &r->tape, &dropped);
    r->buf += dropped;
}

/* When this returns, callgrind writes down what it counted. It knows functions
 * by name: a static one might be renamed. */
__attribute__((noinline)) void stream_ends(const struct stream *s,
                                           const struct way *way);

void stream_ends(const struct stream *s, const struct way *way)
{
    printf("%s\t%s\t%zu\n", s->name, way->name, s->len);
}

static void run(const struct stream *s, const struct way *way)
{
    struct reader r = reader_make(s, way->is_tight);
    size_t end = 0;

    do {
        end = s->len - end < way->piece ? s->len : end + way->piece;
        take(&r, (size_t)(s->bytes + end - r.buf), way->is_asked);
    } while (end < s->len);
    if (r.replies != s->replies) {
        fprintf(stderr, "%s, %s: %zu of %zu replies\n", s->name, way->name,
                r.replies, s->replies);
        exit(1);
    }
    stream_ends(s, way);
    reader_fini(&r);
}

int main(void)
{
    for (size_t i = 0; i < COUNT(loads); i++) {
        struct stream once = load_make(&loads[i], BYTES);
        struct stream twice = load_make(&loads[i], 2 * BYTES);

        for (size_t w = 0; w < COUNT(ways); w++) {
            run(&once, &ways[w]);
            run(&twice, &ways[w]);
        }
        free(once.bytes);
        free(twice.bytes);
    }
    return 0;
}
