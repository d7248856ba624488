/* Compares hf_resp_parse, fed in pieces, with its twin, and walks over every
 * value. Whatever does not hold ends the program, as a fuzzer likes it. */
#ifndef FUZZ_RESP_CHECK_H
#define FUZZ_RESP_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include "fuzz/resp_twin.h"

/* What is to be parsed, and what the twin said to it. */
struct check {
    const char *bytes;
    size_t len;
    struct hf_resp_limits limits;
    int protocol;
    struct twin twin;
    uint32_t whole;        /* nodes of whole replies */
    size_t end;            /* bytes of whole replies */
};

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);   \
            abort();                                                          \
        }                                                                     \
    } while (0)

static void *check_alloc(void *ptr, size_t size)
{
    ptr = realloc(ptr, size ? size : 1);
    CHECK(ptr);
    return ptr;
}

static void check_begin(struct check *c)
{
    c->twin = (struct twin){.b = c->bytes, .len = c->len, .limits = c->limits,
                            .protocol = c->protocol};
    c->twin.nodes = check_alloc(NULL, (c->len + 1) * sizeof *c->twin.nodes);
    while (twin_reply(&c->twin)) {
        c->whole = c->twin.count;
        c->end = c->twin.pos;
    }
}

static void check_end(struct check *c)
{
    free(c->twin.nodes);
}

/* One run of the parser over the same bytes. */
struct check_run {
    struct check *c;
    struct hf_resp_parser parser;
    struct hf_resp_tape tape;
    size_t dropped;
    uint32_t next;         /* tape index of the next value */
    uint32_t seen;         /* nodes compared */
};

static bool check_has_bytes(const struct hf_resp_node *n)
{
    return n->type != HF_RESP_INTEGER && n->type != HF_RESP_NULL &&
           n->type != HF_RESP_BOOLEAN && n->type != HF_RESP_STREAM &&
           n->type < HF_RESP_ARRAY;
}

static void check_node(const struct check_run *r,
                       const struct hf_resp_node *got,
                       const struct hf_resp_node *want)
{
    CHECK(got->type == want->type && got->skip == want->skip);
    CHECK(got->flag == want->flag && got->reserved == 0);
    if (check_has_bytes(got)) {
        CHECK(got->as.bytes.offset + r->dropped == want->as.bytes.offset);
        CHECK(got->as.bytes.length == want->as.bytes.length);
    } else if (got->type == HF_RESP_INTEGER) {
        CHECK(got->as.integer == want->as.integer);
    } else if (got->type != HF_RESP_NULL && got->type != HF_RESP_BOOLEAN) {
        CHECK(got->as.children.count == want->as.children.count);
    }
}

/* Asks one value everything; each byte that is given is touched. */
static void check_read(struct hf_resp_value v)
{
    static volatile unsigned char sink;
    int64_t integer;
    double number;
    bool boolean;
    const char *ptr;
    size_t len;
    char small[8];

    (void)hf_resp_integer(v, &integer);
    (void)hf_resp_double(v, &number);
    (void)hf_resp_boolean(v, &boolean);
    if (hf_resp_bytes(v, &ptr, &len) == HF_OK) {
        for (size_t i = 0; i < len; i++)
            sink = (unsigned char)ptr[i];
        CHECK(hf_resp_is_text(v, ptr, len));
    }
    if (hf_resp_verbatim_format(v, &ptr) == HF_OK)
        sink = (unsigned char)ptr[HF_RESP_FORMAT_LEN - 1];
    (void)sink;
    if (hf_resp_copy_bytes(v, small, sizeof small, &len) == HF_OK)
        CHECK(len <= sizeof small);
    (void)hf_resp_error_is(v, "MOVED");
    (void)hf_resp_map_get(v, "ttl", 3, &v);
    (void)hf_resp_attribute(v, "ttl", 3, &v);
}

static void check_walk(struct hf_resp_value v)
{
    struct hf_resp_iter it = hf_resp_iter(v);
    struct hf_resp_value child, map;
    size_t count = 0;

    check_read(v);
    for (size_t i = 0; hf_resp_attributes(v, i, &map) == HF_OK; i++)
        check_walk(map);
    for (; hf_resp_next(&it, &child); count++)
        check_walk(child);
    CHECK(count == hf_resp_count(v));
    CHECK(hf_resp_element(v, count, &child) == HF_E_TYPE);
}

static void check_value(struct check_run *r, const char *buf)
{
    check_walk(hf_resp_first(&r->tape, buf, r->next));
    CHECK(hf_resp_next_index(&r->tape, r->next) == r->tape.count);
    CHECK(r->seen + r->tape.count - r->next <= r->c->whole);
    for (; r->next < r->tape.count; r->next++)
        check_node(r, &r->tape.nodes[r->next], &r->c->twin.nodes[r->seen++]);
}

static void check_room(struct check_run *r, uint32_t room)
{
    r->tape.nodes = check_alloc(r->tape.nodes, room * sizeof *r->tape.nodes);
    r->tape.room = room;
}

/* Feeds a copy of exactly the bytes before `end`; the tape grows by `step`. */
static hf_status check_feed(struct check_run *r, size_t end, unsigned step)
{
    size_t len = end - r->dropped;
    char *buf = memcpy(check_alloc(NULL, len), r->c->bytes + r->dropped, len);
    hf_status status;

    for (;;) {
        status = hf_resp_parse(&r->parser, buf, len, &r->tape);
        if (status == HF_OK)
            check_value(r, buf);
        else if (status == HF_RESP_ROOM)
            check_room(r, r->tape.room + step + 1);
        else
            break;
    }
    CHECK(r->tape.count <= len / 3 + 1);
    if (status == HF_RESP_MORE)
        CHECK(hf_resp_wanted(&r->parser, len) > 0);
    free(buf);
    return status;
}

static void check_verdict(const struct check_run *r, hf_status status)
{
    const struct twin *t = &r->c->twin;

    CHECK(status == t->status && r->seen == r->c->whole);
    CHECK(r->parser.start + r->dropped == r->c->end);
    if (status < 0 && t->error_at != SIZE_MAX)
        CHECK(r->parser.error.offset + r->dropped == t->error_at);
}

/* The bytes in pieces of `piece`; the tape has room for `step` nodes, and grows
 * by one more each time. */
static void check_pieces(struct check *c, size_t piece, bool drops,
                         unsigned step)
{
    struct check_run r = {.c = c};
    hf_status status;
    size_t end = 0, bytes;

    hf_resp_init(&r.parser, &c->limits, c->protocol);
    check_room(&r, step);
    do {
        end = c->len - end < piece ? c->len : end + piece;
        status = check_feed(&r, end, step);
        if (drops) {
            hf_resp_drop(&r.parser, &r.tape, &bytes);
            r.dropped += bytes;
            r.next = 0;
        }
    } while (end < c->len);
    check_verdict(&r, status);
    free(r.tape.nodes);
}

#endif
