/* The adapter for holdfast's own parser. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vectors/holdfast.h"

/* ---- values ---- */

/* An accessor that answers, or the value comes out as no vector has it. */
static void expect(FILE *out, bool is_so)
{
    fputs(is_so ? "" : "(contradiction)", out);
}

static void put_text(FILE *out, const char *name, struct hf_resp_value v)
{
    size_t len;
    char *copy;

    (void)hf_resp_copy_bytes(v, NULL, 0, &len);
    copy = vec_alloc(NULL, len);
    expect(out, hf_resp_copy_bytes(v, copy, len, &len) == HF_OK);
    fputs(name, out);
    vec_put_bytes(out, copy, len);
    free(copy);
}

static void put_verbatim(FILE *out, struct hf_resp_value v)
{
    const char *format = "???";

    expect(out, hf_resp_verbatim_format(v, &format) == HF_OK);
    fputs("verb:", out);
    vec_put_bytes(out, format, HF_RESP_FORMAT_LEN);
    put_text(out, ":", v);
}

static void put_integer(FILE *out, struct hf_resp_value v)
{
    int64_t n = 0;

    expect(out, hf_resp_integer(v, &n) == HF_OK);
    fprintf(out, "int:%" PRId64, n);
}

static void put_boolean(FILE *out, struct hf_resp_value v)
{
    bool b = false;

    expect(out, hf_resp_boolean(v, &b) == HF_OK);
    fputs(b ? "true" : "false", out);
}

static void put_double(FILE *out, struct hf_resp_value v)
{
    double n = 0;

    expect(out, hf_resp_double(v, &n) == HF_OK);
    vec_put_double(out, n);
}

static void put_children(FILE *out, struct hf_resp_value v)
{
    struct hf_resp_iter it = hf_resp_children(v);
    struct hf_resp_value child;
    size_t i = 0;

    for (; hf_resp_next(&it, &child); i++) {
        fputs(i ? "," : "", out);
        holdfast_put_value(out, child);
    }
    expect(out, i == hf_resp_count(v));
}

/* `before` pairs of other attributes stand in front; returns how many now. */
static size_t put_pairs(FILE *out, struct hf_resp_value v, size_t before)
{
    struct hf_resp_iter it = hf_resp_children(v);
    struct hf_resp_value key, value;
    size_t after = before;

    for (; hf_resp_next(&it, &key) && hf_resp_next(&it, &value); after++) {
        fputs(after ? "," : "", out);
        holdfast_put_value(out, key);
        fputs("=>", out);
        holdfast_put_value(out, value);
    }
    expect(out, 2 * (after - before) == hf_resp_count(v));
    return after;
}

static void put_attributes(FILE *out, struct hf_resp_value v)
{
    struct hf_resp_value map;
    size_t pairs = 0;

    if (!v.node->before)
        return;
    fputs("attr{", out);
    for (size_t i = 0; hf_resp_attributes(v, i, &map) == HF_OK; i++)
        pairs = put_pairs(out, map, pairs);
    fputs("}+", out);
}

static void put_map(FILE *out, struct hf_resp_value v)
{
    fputs("map{", out);
    (void)put_pairs(out, v, 0);
    fputc('}', out);
}

static void put_aggregate(FILE *out, struct hf_resp_value v, const char *name)
{
    size_t len = strlen(name);

    fprintf(out, "%.*s", (int)len - 1, name);
    put_children(out, v);
    fputc(name[len - 1], out);
}

static void put_bare(FILE *out, struct hf_resp_value v)
{
    switch (hf_resp_type(v)) {
    case HF_RESP_SIMPLE: put_text(out, "simple:", v); return;
    case HF_RESP_ERROR: put_text(out, "err:", v); return;
    case HF_RESP_INTEGER: put_integer(out, v); return;
    case HF_RESP_BULK:
    case HF_RESP_STREAM: put_text(out, "str:", v); return;
    case HF_RESP_NULL: fputs("null", out); return;
    case HF_RESP_BOOLEAN: put_boolean(out, v); return;
    case HF_RESP_DOUBLE: put_double(out, v); return;
    case HF_RESP_BIG: put_text(out, "big:", v); return;
    case HF_RESP_BULK_ERROR: put_text(out, "bulkerr:", v); return;
    case HF_RESP_VERBATIM: put_verbatim(out, v); return;
    case HF_RESP_ARRAY: put_aggregate(out, v, "arr[]"); return;
    case HF_RESP_SET: put_aggregate(out, v, "set()"); return;
    case HF_RESP_MAP: put_map(out, v); return;
    case HF_RESP_PUSH: put_aggregate(out, v, "push[]"); return;
    case HF_RESP_CHUNK:
    case HF_RESP_ATTRIBUTE: break;
    }
    expect(out, false);
}

void holdfast_put_value(FILE *out, struct hf_resp_value v)
{
    put_attributes(out, v);
    put_bare(out, v);
}

/* ---- the run ---- */

struct vec_answer holdfast_answer(const struct hf_resp_parser *p,
                                  hf_status status, size_t dropped)
{
    struct vec_answer a = {.offset = VEC_UNKNOWN};

    if (status == HF_RESP_MORE) {
        a.verdict = p->pos == p->start ? VEC_ACCEPT : VEC_INCOMPLETE;
        return a;
    }
    a.verdict = status == HF_E_LIMIT ? VEC_LIMIT : VEC_PROTOCOL;
    a.offset = p->error.offset + dropped;
    snprintf(a.reason, sizeof a.reason, "not %s", p->error.expected);
    return a;
}

static void give_room(struct hf_resp_tape *tape)
{
    tape->room = tape->room * 2 + 16;
    tape->nodes = vec_alloc(tape->nodes, tape->room * sizeof *tape->nodes);
}

/* All that can be read from these bytes. The nodes of a value are done with
 * when the next one is asked for. */
static hf_status put_values(FILE *values, struct hf_resp_parser *p,
                            struct hf_resp_tape *tape, const char *buf,
                            size_t len)
{
    hf_status status;

    do {
        status = hf_resp_parse(p, buf, len, tape);
        if (status == HF_RESP_ROOM)
            give_room(tape);
        if (status == HF_OK) {
            holdfast_put_value(values, hf_resp_first(tape, buf, 0));
            fputc('\n', values);
            tape->count = 0;
        }
    } while (status == HF_OK || status == HF_RESP_ROOM);
    return status;
}

struct vec_answer holdfast_adapter(const struct vec_piece *pieces,
                                   size_t count, int protocol, FILE *values)
{
    struct hf_resp_parser p;
    struct hf_resp_tape tape = {NULL, 0, 0};
    struct vec_answer a;
    hf_status status = HF_RESP_MORE;
    char *buf = NULL;
    size_t len = 0;

    hf_resp_init(&p, NULL, protocol);
    for (size_t i = 0; i < count; i++) {
        buf = vec_alloc(buf, len + pieces[i].len);
        memcpy(buf + len, pieces[i].ptr, pieces[i].len);
        len += pieces[i].len;
        status = put_values(values, &p, &tape, buf, len);
    }
    a = holdfast_answer(&p, status, 0);
    free(tape.nodes);
    free(buf);
    return a;
}

const struct vec_parser vec_parser = {"holdfast", holdfast_adapter};
