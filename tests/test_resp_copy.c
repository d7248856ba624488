/* Deep copies: the same value from a block of its own, when buffer and tape
 * have been written over. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "resp/resp.h"
#include "tests/support/suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NODES 64

static const char *const rows[] = {
    ":7\r\n",
    "_\r\n",
    "#t\r\n",
    "+\r\n",
    "+OK\r\n",
    "-ERR no\r\n",
    "$0\r\n\r\n",
    "$5\r\nhello\r\n",
    ",1.5\r\n",
    "(123\r\n",
    "!5\r\nERR x\r\n",
    "=8\r\ntxt:text\r\n",
    "$?\r\n;2\r\nhe\r\n;3\r\nllo\r\n;0\r\n",
    "*0\r\n",
    "*3\r\n:1\r\n:2\r\n_\r\n",
    "*3\r\n:1\r\n$1\r\na\r\n:2\r\n",
    "%2\r\n+a\r\n:1\r\n+b\r\n~2\r\n$3\r\nfoo\r\n*0\r\n",
    "*?\r\n+a\r\n:1\r\n.\r\n",
    ">2\r\n+message\r\n$2\r\nhi\r\n",
    "|1\r\n+ttl\r\n:3\r\n+OK\r\n",
    "|1\r\n+a\r\n:3\r\n|1\r\n+b\r\n+c\r\n*2\r\n|1\r\n+d\r\n:1\r\n:2\r\n+e\r\n",
};

/* Parsed behind another reply, so that offsets and indexes are not 0. */
struct parsed {
    char *buf;
    struct hf_resp_node nodes[NODES];
    struct hf_resp_tape tape;
    struct hf_resp_value value;
};

static struct parsed *parse(const char *bytes)
{
    static const char front[] = "*2\r\n+front\r\n:1\r\n";
    struct parsed *d = calloc(1, sizeof *d);
    struct hf_resp_parser p;
    size_t len;
    uint32_t index;

    ck_assert_ptr_nonnull(d);
    d->buf = malloc(sizeof front + strlen(bytes));
    ck_assert_ptr_nonnull(d->buf);
    strcpy(d->buf, front);
    strcat(d->buf, bytes);
    len = strlen(d->buf);
    d->tape = (struct hf_resp_tape){d->nodes, 0, NODES};
    hf_resp_init(&p, NULL, 3);
    ck_assert_int_eq(hf_resp_parse(&p, d->buf, len, &d->tape), HF_OK);
    index = d->tape.count;
    ck_assert_int_eq(hf_resp_parse(&p, d->buf, len, &d->tape), HF_OK);
    ck_assert_uint_eq(p.pos, len);
    d->value = hf_resp_first(&d->tape, d->buf, index);
    return d;
}

static void forget(struct parsed *d)
{
    memset(d->buf, '~', strlen(d->buf));
    free(d->buf);
    memset(d, 0xa5, sizeof *d);
    free(d);
}

static void check_same(struct hf_resp_value a, struct hf_resp_value b);

static void check_same_children(struct hf_resp_value a, struct hf_resp_value b)
{
    struct hf_resp_iter i = hf_resp_children(a), j = hf_resp_children(b);
    struct hf_resp_value x, y;

    ck_assert_uint_eq(hf_resp_count(a), hf_resp_count(b));
    while (hf_resp_next(&i, &x)) {
        ck_assert(hf_resp_next(&j, &y));
        check_same(x, y);
    }
    ck_assert(!hf_resp_next(&j, &y));
}

static void check_same_scalar(struct hf_resp_value a, struct hf_resp_value b)
{
    char x[64], y[64];
    size_t x_len = 0, y_len = 0;
    int64_t m = 0, n = 0;
    bool s = false, t = false;

    ck_assert_int_eq(hf_resp_copy_bytes(a, x, sizeof x, &x_len),
                     hf_resp_copy_bytes(b, y, sizeof y, &y_len));
    ck_assert_uint_eq(x_len, y_len);
    ck_assert(memcmp(x, y, x_len) == 0);
    ck_assert_int_eq(hf_resp_integer(a, &m), hf_resp_integer(b, &n));
    ck_assert_int_eq(m, n);
    ck_assert_int_eq(hf_resp_boolean(a, &s), hf_resp_boolean(b, &t));
    ck_assert_int_eq(s, t);
}

static void check_same(struct hf_resp_value a, struct hf_resp_value b)
{
    struct hf_resp_value x, y;
    size_t i = 0;

    ck_assert_int_eq(hf_resp_type(a), hf_resp_type(b));
    ck_assert_int_eq(a.node->flag, b.node->flag);
    for (; hf_resp_attributes(a, i, &x) == HF_OK; i++) {
        ck_assert_int_eq(hf_resp_attributes(b, i, &y), HF_OK);
        check_same_children(x, y);
    }
    ck_assert_int_eq(hf_resp_attributes(b, i, &y), HF_E_TYPE);
    check_same_scalar(a, b);
    check_same_children(a, b);
}

START_TEST(copy_needs_neither_buffer_nor_tape)
{
    struct parsed *d = parse(rows[_i]), *same = parse(rows[_i]);
    size_t size = hf_resp_copy_size(d->value);
    void *mem = malloc(size);
    struct hf_resp_value copy;

    ck_assert_ptr_nonnull(mem);
    ck_assert_int_eq(hf_resp_copy(d->value, mem, size, &copy), HF_OK);
    forget(d);
    check_same(copy, same->value);
    free(mem);
    forget(same);
}
END_TEST

/* One byte too little is refused, and none is written. */
START_TEST(copy_that_does_not_fit_is_not_begun)
{
    struct parsed *d = parse(rows[_i]);
    size_t size = hf_resp_copy_size(d->value);
    char *mem = malloc(size);
    struct hf_resp_value copy = {.buf = rows[_i]};

    ck_assert_ptr_nonnull(mem);
    memset(mem, '~', size);
    ck_assert_int_eq(hf_resp_copy(d->value, mem, size - 1, &copy),
                     HF_RESP_ROOM);
    for (size_t i = 0; i < size; i++)
        ck_assert_int_eq(mem[i], '~');
    ck_assert_ptr_eq(copy.buf, rows[_i]);
    free(mem);
    forget(d);
}
END_TEST

/* A child comes without the rest, an attribute as a map. */
START_TEST(part_of_a_value_can_be_copied_alone)
{
    struct parsed *d =
        parse("*3\r\n$4\r\nlong\r\n|1\r\n+k\r\n+v\r\n*1\r\n+x\r\n+last\r\n");
    size_t room = hf_resp_copy_size(d->value);
    void *mem = malloc(room);
    struct hf_resp_value child, copy, got;

    ck_assert_ptr_nonnull(mem);
    ck_assert_int_eq(hf_resp_element(d->value, 1, &child), HF_OK);
    ck_assert_uint_lt(hf_resp_copy_size(child), room);
    ck_assert_int_eq(hf_resp_copy(child, mem, room, &copy), HF_OK);
    ck_assert_int_eq(hf_resp_attribute(copy, "k", 1, &got), HF_OK);
    ck_assert(hf_resp_is_text(got, "v", 1));
    ck_assert_int_eq(hf_resp_element(copy, 0, &got), HF_OK);
    ck_assert(hf_resp_is_text(got, "x", 1));
    ck_assert_int_eq(hf_resp_attributes(child, 0, &child), HF_OK);
    ck_assert_int_eq(hf_resp_copy(child, mem, room, &copy), HF_OK);
    ck_assert_int_eq(hf_resp_map_get(copy, "k", 1, &got), HF_OK);
    ck_assert(hf_resp_is_text(got, "v", 1));
    free(mem);
    forget(d);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("resp copy");
    TCase *c = tcase_create("copy");

    tcase_add_loop_test(c, copy_needs_neither_buffer_nor_tape, 0, COUNT(rows));
    tcase_add_loop_test(c, copy_that_does_not_fit_is_not_begun, 0,
                        COUNT(rows));
    tcase_add_test(c, part_of_a_value_can_be_copied_alone);
    suite_add_tcase(s, c);
    return suite_run(s);
}
