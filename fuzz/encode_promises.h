/* What must hold of a command's bytes, and of the numbers in it. */
#ifndef FUZZ_ENCODE_PROMISES_H
#define FUZZ_ENCODE_PROMISES_H

#include "fuzz/arguments.h"

static inline size_t one_size(const struct arguments *list, size_t i)
{
    const struct argument *a = &list->each[i];

    if (a->kind == INTEGER)
        return hf_resp_bulk_integer_size(a->integer);
    if (a->kind == DOUBLE)
        return hf_resp_bulk_double_size(a->number);
    return hf_resp_bulk_size(list->argv[i].len);
}

static inline char *put_one(char *dst, const struct arguments *list, size_t i)
{
    const struct argument *a = &list->each[i];

    if (a->kind == INTEGER)
        return hf_resp_put_bulk_integer(dst, a->integer);
    if (a->kind == DOUBLE)
        return hf_resp_put_bulk_double(dst, a->number);
    return hf_resp_put_bulk(dst, list->argv[i].ptr, list->argv[i].len);
}

/* The first arguments as a prefix, the others one by one, in a block of the
 * very size that the parts announce. */
static inline char *encode(const struct arguments *list, size_t first,
                           size_t *size)
{
    char *bytes, *end;

    *size = hf_resp_prefix_size(list->count, list->argv, first);
    for (size_t i = first; i < list->count; i++)
        *size = hf_resp_add_size(*size, one_size(list, i));
    bytes = must_alloc(*size);
    end = hf_resp_put_prefix(bytes, list->count, list->argv, first);
    for (size_t i = first; i < list->count; i++)
        end = put_one(end, list, i);
    must(end == bytes + *size);
    return bytes;
}

/* Whichever functions wrote it, it is the same command. */
static inline void must_be_command(const char *bytes, size_t size,
                                   const struct arguments *list)
{
    size_t len = hf_resp_command_size(list->argv, list->count);
    char *command = must_alloc(len);

    must(hf_resp_put_command(command, list->argv, list->count) ==
         command + len);
    must(len == size && memcmp(command, bytes, len) == 0);
    free(command);
}

/* One whole value and nothing behind it, in the strictest sense. */
static inline struct hf_resp_value parse_all(const char *bytes, size_t size,
                                             int protocol,
                                             struct hf_resp_tape *tape)
{
    struct hf_resp_parser p;

    hf_resp_init(&p, NULL, protocol);
    hf_resp_set_strict(&p, true);
    must(hf_resp_parse(&p, bytes, size, tape) == HF_OK);
    must(p.pos == size);
    return hf_resp_first(tape, bytes, 0);
}

static inline void must_parse_back(const char *bytes, size_t size,
                                   const struct arguments *list)
{
    struct hf_resp_node nodes[ARGUMENTS_MAX + 1];
    struct hf_resp_tape tape = {nodes, 0, (uint32_t)list->count + 1};
    struct hf_resp_value v = parse_all(bytes, size, 2, &tape), child;
    struct hf_resp_iter it = hf_resp_children(v);
    const struct hf_resp_arg *arg = list->argv;

    must(hf_resp_type(v) == HF_RESP_ARRAY);
    must(hf_resp_count(v) == list->count && tape.count == list->count + 1);
    for (; hf_resp_next(&it, &child); arg++) {
        must(hf_resp_type(child) == HF_RESP_BULK);
        must(hf_resp_is_text(child, arg->ptr, arg->len));
    }
}

/* Digits of a number's text, without the zeros around them. */
static inline int digits_of(const char *text, size_t len)
{
    int digits = 0, zeros = 0;

    for (size_t i = 0; i < len && text[i] != 'e'; i++) {
        if (text[i] == '0' && digits > 0)
            zeros++;
        if (text[i] < '1' || text[i] > '9')
            continue;
        digits += zeros + 1;
        zeros = 0;
    }
    return digits;
}

/* With one digit less it is another number: so there is none too many. */
static inline void must_be_shortest(double n, const char *text, size_t len)
{
    int digits = digits_of(text, len);
    char shorter[HF_RESP_DOUBLE_MAX + 8];

    if (digits < 2)
        return;
    (void)snprintf(shorter, sizeof shorter, "%.*e", digits - 2, n);
    must(strtod(shorter, NULL) != n);
}

/* As a value of its own, its text is the same number again, to the bit. */
static inline void must_read_back(const struct argument *a, size_t len)
{
    char line[1 + sizeof a->text + 2], *end = line;
    struct hf_resp_node node;
    struct hf_resp_tape tape = {&node, 0, 1};
    struct hf_resp_value v;
    int64_t integer = 0;
    double number = 0;

    *end++ = a->kind == INTEGER ? ':' : ',';
    end = (char *)memcpy(end, a->text, len) + len;
    end = (char *)memcpy(end, "\r\n", 2) + 2;
    v = parse_all(line, (size_t)(end - line), 3, &tape);
    (void)hf_resp_integer(v, &integer);
    must(hf_resp_double(v, &number) == HF_OK);
    if (a->kind == INTEGER)
        must(integer == a->integer);
    else if (isnan(a->number))
        must(isnan(number));
    else
        must(memcmp(&number, &a->number, sizeof number) == 0);
    if (a->kind == DOUBLE && isfinite(a->number))
        must_be_shortest(a->number, a->text, len);
}

#endif
