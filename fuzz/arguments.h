/* Arguments of a command, made of any bytes: strings, integers, doubles. */
#ifndef FUZZ_ARGUMENTS_H
#define FUZZ_ARGUMENTS_H

#include <math.h>
#include <string.h>

#include "resp/resp.h"
#include "tests/support/must.h"

#define ARGUMENTS_MAX 12

struct argument {
    enum { BYTES, INTEGER, DOUBLE } kind;
    int64_t integer;
    double number;
    char text[HF_RESP_DOUBLE_MAX];  /* of a number */
};

struct arguments {
    size_t count;
    struct argument each[ARGUMENTS_MAX];
    struct hf_resp_arg argv[ARGUMENTS_MAX];   /* the same, as text */
};

/* What is left of the bytes that all is made of. */
struct source {
    const uint8_t *at;
    const uint8_t *end;
};

static inline const uint8_t *source_take(struct source *s, size_t *len)
{
    const uint8_t *at = s->at;

    if ((size_t)(s->end - at) < *len)
        *len = (size_t)(s->end - at);
    s->at += *len;
    return at;
}

/* Eight bytes; zeros where there are none. */
static inline int64_t source_integer(struct source *s)
{
    size_t len = sizeof(int64_t);
    const uint8_t *at = source_take(s, &len);
    int64_t n = 0;

    if (len)
        memcpy(&n, at, len);
    return n;
}

static inline void argument_set_integer(struct argument *a, int64_t n)
{
    a->kind = INTEGER;
    a->integer = n;
}

static inline void argument_set_double(struct argument *a, double n)
{
    a->kind = DOUBLE;
    a->number = n;
}

/* Any bits are a double, but most of them are far from 1, where its text is
 * hard to find: fewer of those, and some of few digits. */
static inline void argument_choose(struct argument *a, unsigned choice,
                                   struct source *s)
{
    int64_t n = source_integer(s);
    double of_bits;

    memcpy(&of_bits, &n, sizeof n);
    if (choice == 7)
        argument_set_double(a, of_bits);
    else if (choice == 6)
        argument_set_double(a, (double)(int32_t)n / 1000);
    else
        argument_set_integer(a, n);
}

static inline void arguments_add(struct arguments *list, struct source *s)
{
    struct argument *a = &list->each[list->count];
    struct hf_resp_arg *arg = &list->argv[list->count++];
    unsigned first = *s->at++, choice = first % 8;

    a->kind = BYTES;
    arg->len = first / 8;
    if (choice < 4) {
        arg->ptr = source_take(s, &arg->len);
        return;
    }
    argument_choose(a, choice, s);
    arg->ptr = a->text;
    arg->len = a->kind == INTEGER ? hf_resp_format_integer(a->text, a->integer)
                                  : hf_resp_format_double(a->text, a->number);
    must(arg->len <= sizeof a->text);
}

static inline void arguments_init(struct arguments *list, const uint8_t *data,
                                  size_t size)
{
    struct source s = {data, data + size};

    list->count = 0;
    while (s.at < s.end && list->count < ARGUMENTS_MAX)
        arguments_add(list, &s);
}

#endif
