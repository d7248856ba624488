/* hf_resp_parse, fed in pieces, and everything that the header promises on the
 * way. */
#include "tests/support/resp_reading.h"

#include <string.h>

#include "tests/support/must.h"

/* One run of the parser over an input. */
struct run {
    const struct input *in;
    const struct cuts *cuts;
    reading_check *ask;
    struct hf_resp_parser parser;
    struct hf_resp_tape tape;
    size_t dropped;             /* bytes in front of the buffer */
    uint32_t random;
    uint32_t next;              /* tape index of the next value */
    size_t due;                 /* no value can be whole before so many bytes of
                                   the stream, said hf_resp_wanted */
    struct reading reading;
};

struct reading reading_begin(size_t len)
{
    return (struct reading){
        .nodes = must_alloc((len / 3 + 1) * sizeof(struct hf_resp_node))};
}

void reading_fini(struct reading *r)
{
    free(r->nodes);
}

void reading_must_be(const struct reading *got, const struct reading *want)
{
    must(got->status == want->status);
    must(got->count == want->count);
    must(got->end == want->end);
    if (got->status < 0 && want->error_at != ANY_PLACE)
        must(got->error_at == want->error_at);
    must(memcmp(got->nodes, want->nodes, got->count * sizeof *got->nodes) == 0);
}

static bool has_bytes(unsigned type)
{
    return type != HF_RESP_INTEGER && type != HF_RESP_NULL &&
           type != HF_RESP_BOOLEAN && type != HF_RESP_STREAM &&
           type < HF_RESP_ARRAY;
}

/* Writes down a node of a whole value, as if nothing had ever been dropped. */
static void note(struct run *r, const struct hf_resp_node *node)
{
    struct hf_resp_node out = {.type = node->type, .flag = node->flag,
                               .before = node->before, .skip = node->skip};

    if (has_bytes(node->type)) {
        out.as.bytes = node->as.bytes;
        out.as.bytes.offset += (uint32_t)r->dropped;
    } else if (node->type == HF_RESP_INTEGER) {
        out.as.integer = node->as.integer;
    } else if (node->type != HF_RESP_NULL && node->type != HF_RESP_BOOLEAN) {
        out.as.children.count = node->as.children.count;
    }
    r->reading.nodes[r->reading.count++] = out;
}

static void take_reply(struct run *r, const char *buf)
{
    size_t end = r->parser.pos + r->dropped;

    must(r->parser.start == r->parser.pos);
    must(end >= r->due && end > r->reading.end);
    must(end - r->reading.end <= r->in->limits.reply);
    must(hf_resp_next_index(&r->tape, r->next) == r->tape.count);
    if (r->ask)
        r->ask(hf_resp_first(&r->tape, buf, r->next), r->in,
               end - r->reading.end);
    for (; r->next < r->tape.count; r->next++)
        note(r, &r->tape.nodes[r->next]);
    r->reading.end = end;
}

/* Elsewhere, so that nobody can have kept a pointer to a node. */
static void grow_tape(struct run *r)
{
    struct hf_resp_tape *tape = &r->tape;
    uint32_t room = tape->room + r->cuts->step + 1;
    struct hf_resp_node *nodes = must_alloc(room * sizeof *nodes);

    must(tape->count == tape->room);
    if (tape->count)
        memcpy(nodes, tape->nodes, tape->count * sizeof *nodes);
    free(tape->nodes);
    tape->nodes = nodes;
    tape->room = room;
}

static hf_status parse(struct run *r, const char *buf, size_t len)
{
    hf_status status;

    for (;;) {
        status = hf_resp_parse(&r->parser, buf, len, &r->tape);
        if (status == HF_OK)
            take_reply(r, buf);
        else if (status == HF_RESP_ROOM)
            grow_tape(r);
        else
            return status;
    }
}

static void feed(struct run *r, size_t end)
{
    size_t len = end - r->dropped;
    char *buf = must_alloc(len);

    if (len)
        memcpy(buf, r->in->bytes + r->dropped, len);
    r->reading.status = parse(r, buf, len);
    must(r->tape.count <= len / 3);   /* memory follows the bytes received */
    if (r->reading.status == HF_RESP_MORE) {
        must(hf_resp_wanted(&r->parser, len) > 0);
        r->due = end + hf_resp_wanted(&r->parser, len);
    }
    free(buf);
}

static void drop(struct run *r)
{
    size_t bytes;

    hf_resp_drop(&r->parser, &r->tape, &bytes);
    r->dropped += bytes;
    r->next = 0;
}

/* Bytes of the next piece. Source of the numbers: C11 7.22.2.2. */
static size_t next_piece(struct run *r, size_t rest)
{
    size_t len = r->cuts->piece;

    r->random = r->random * 1103515245 + 12345;
    if (r->cuts->uneven)
        len = 1 + (r->random >> 16) % len;
    return len < rest ? len : rest;
}

/* The verdict, which no further byte changes. */
static void end(struct run *r)
{
    hf_status status = r->reading.status;

    if (status < 0)
        feed(r, r->in->len);
    must(r->reading.status == status);
    must(r->parser.start + r->dropped == r->reading.end);
    if (status < 0)
        r->reading.error_at = r->parser.error.offset + r->dropped;
}

struct reading reading_of_parser(const struct input *in,
                                 const struct cuts *cuts, reading_check *ask)
{
    struct run r = {.in = in, .cuts = cuts, .ask = ask,
                    .reading = reading_begin(in->len)};
    size_t len = 0;

    hf_resp_init(&r.parser, &in->limits, in->protocol);
    hf_resp_set_strict(&r.parser, in->strict);
    do {
        len += next_piece(&r, in->len - len);
        feed(&r, len);
        if (cuts->drops)
            drop(&r);
    } while (len < in->len && r.reading.status == HF_RESP_MORE);
    end(&r);
    free(r.tape.nodes);
    return r.reading;
}
