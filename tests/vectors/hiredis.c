/* The adapter for hiredis, and the example of one: docs/resp-vectors.md. */
#include <hiredis/hiredis.h>

#include "tests/vectors/vectors.h"

static void put_value(FILE *out, const redisReply *r);

/* Texts before, between and behind the elements: "arr[", ",", "]". */
static void put_elements(FILE *out, const redisReply *r, const char *before,
                         const char *after)
{
    fputs(before, out);
    for (size_t i = 0; i < r->elements; i++) {
        fputs(i ? "," : "", out);
        put_value(out, r->element[i]);
    }
    fputs(after, out);
}

static void put_text(FILE *out, const char *name, const redisReply *r)
{
    fputs(name, out);
    vec_put_bytes(out, r->str, r->len);
}

/* The types of RESP3, since hiredis 1.0. */
#ifdef REDIS_REPLY_MAP
static void put_pairs(FILE *out, const redisReply *r, const char *before)
{
    fputs(before, out);
    for (size_t i = 0; i + 1 < r->elements; i += 2) {
        fputs(i ? "," : "", out);
        put_value(out, r->element[i]);
        fputs("=>", out);
        put_value(out, r->element[i + 1]);
    }
    fputc('}', out);
}

static void put_verbatim(FILE *out, const redisReply *r)
{
    fputs("verb:", out);
    vec_put_bytes(out, r->vtype, 3);
    put_text(out, ":", r);
}

static void put_resp3(FILE *out, const redisReply *r)
{
    switch (r->type) {
    case REDIS_REPLY_DOUBLE: vec_put_double(out, r->dval); return;
    case REDIS_REPLY_BOOL: fputs(r->integer ? "true" : "false", out); return;
    case REDIS_REPLY_BIGNUM: put_text(out, "big:", r); return;
    case REDIS_REPLY_VERB: put_verbatim(out, r); return;
    case REDIS_REPLY_MAP: put_pairs(out, r, "map{"); return;
    case REDIS_REPLY_ATTR: put_pairs(out, r, "attr{"); return;
    case REDIS_REPLY_SET: put_elements(out, r, "set(", ")"); return;
    case REDIS_REPLY_PUSH: put_elements(out, r, "push[", "]"); return;
    }
    fprintf(out, "type %d", r->type);
}
#else
static void put_resp3(FILE *out, const redisReply *r)
{
    fprintf(out, "type %d", r->type);
}
#endif

static void put_value(FILE *out, const redisReply *r)
{
    switch (r->type) {
    case REDIS_REPLY_STATUS: put_text(out, "simple:", r); return;
    case REDIS_REPLY_ERROR: put_text(out, "err:", r); return;
    case REDIS_REPLY_INTEGER: fprintf(out, "int:%lld", r->integer); return;
    case REDIS_REPLY_STRING: put_text(out, "str:", r); return;
    case REDIS_REPLY_NIL: fputs("null", out); return;
    case REDIS_REPLY_ARRAY: put_elements(out, r, "arr[", "]"); return;
    }
    put_resp3(out, r);
}

/* A reader that is asked without a byte to read begins a value all the same,
 * and could not be told from one that waits for more. */
static void put_values(FILE *values, redisReader *reader)
{
    void *reply = NULL;

    while (reader->pos < reader->len &&
           redisReaderGetReply(reader, &reply) == REDIS_OK && reply) {
        put_value(values, reply);
        fputc('\n', values);
        freeReplyObject(reply);
    }
}

static struct vec_answer answer(const redisReader *reader)
{
    struct vec_answer a = {.offset = VEC_UNKNOWN};

    a.verdict = reader->ridx == -1 ? VEC_ACCEPT : VEC_INCOMPLETE;
    if (reader->err) {
        a.verdict = reader->err == REDIS_ERR_OOM ? VEC_FAILED : VEC_REJECT;
        snprintf(a.reason, sizeof a.reason, "%s", reader->errstr);
    }
    return a;
}

/* What a connection speaks is no matter to hiredis. */
static struct vec_answer adapter(const struct vec_piece *pieces, size_t count,
                                 int protocol, FILE *values)
{
    redisReader *reader = redisReaderCreate();
    struct vec_answer a = {.verdict = VEC_FAILED, .offset = VEC_UNKNOWN};

    (void)protocol;
    if (!reader)
        return a;
    for (size_t i = 0; i < count; i++) {
        (void)redisReaderFeed(reader, pieces[i].ptr, pieces[i].len);
        put_values(values, reader);
    }
    a = answer(reader);
    redisReaderFree(reader);
    return a;
}

#define TEXT(number) #number
#define VERSION(major, minor, patch) \
    TEXT(major) "." TEXT(minor) "." TEXT(patch)

const struct vec_parser vec_parser = {
    "hiredis " VERSION(HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH), adapter};
