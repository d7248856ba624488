/* Memory that grows, and errors as one line for a person. */
#include <check.h>
#include <string.h>

#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/net.h"
#include "tests/support/memory.h"
#include "tests/support/suite.h"

/* ---- growing ---- */

/* An allocator that only notes what it was asked for: sizes that no machine
 * has cost nothing. */
struct notary {
    struct hf_mem hook;
    int calls;
    size_t old, size;
};

static char somewhere; /* what it hands out; never looked at */

static void *note(void *ctx, void *ptr, size_t old, size_t size)
{
    struct notary *n = ctx;

    (void)ptr;
    n->calls++;
    n->old = old;
    n->size = size;
    return &somewhere;
}

#define KI ((size_t)1 << 10)
#define GI ((size_t)1 << 30)
#define TWO_GI ((uint32_t)1 << 31)

static const struct {
    const char *what;
    uint32_t room;
    size_t size, want, max;
    bool is_grown;
    uint32_t new_room;
} growths[] = {
    {"nothing to do", 8, 4, 8, 100, true, 8},
    {"nothing to do, even beyond the limit", 8, 4, 8, 4, true, 8},
    {"the first time, what was asked for", 0, 4, 5, 100, true, 5},
    {"one more doubles", 8, 4, 9, 100, true, 16},
    {"much more is given", 8, 4, 50, 100, true, 50},
    {"doubling stops at the limit", 60, 4, 61, 100, true, 100},
    {"the limit itself", 8, 4, 100, 100, true, 100},
    {"one over the limit", 8, 4, 101, 100, false, 8},
    {"no limit is one at 2^32 - 1", 8, 1, UINT32_MAX, SIZE_MAX, true,
     UINT32_MAX},
    {"2^32 elements are too many", 8, 1, (size_t)UINT32_MAX + 1, SIZE_MAX,
     false, 8},
    {"2^31 doubled is one too many", TWO_GI, 1, (size_t)TWO_GI + 1, SIZE_MAX,
     true, UINT32_MAX},
    {"bytes beyond the address space", 0, SIZE_MAX / 4 + 1, 4, 100, false, 0},
    {"few of an array that could not be full", 0, SIZE_MAX / 4, 3, 100, true,
     3},
    {"all bytes of the address space", 0, SIZE_MAX / 5, 5, 5, true, 5},
};

START_TEST(array_grows_as_far_as_it_may)
{
    struct notary n = {.hook = {note, &n}};
    uint32_t room = growths[_i].room;
    char *ptr = room ? &somewhere : NULL;
    bool is_grown = hf_mem_grow(&n.hook, &ptr, &room, growths[_i].size,
                                growths[_i].want, growths[_i].max);
    bool is_asked = room != growths[_i].room;

    ck_assert_msg(is_grown == growths[_i].is_grown, "%s", growths[_i].what);
    ck_assert_uint_eq(room, growths[_i].new_room);
    ck_assert_int_eq(n.calls, is_asked);
    if (is_asked) {
        ck_assert_uint_eq(n.old, growths[_i].room * growths[_i].size);
        ck_assert_uint_eq(n.size, room * growths[_i].size);
    }
}
END_TEST

START_TEST(array_keeps_its_elements)
{
    struct memory m;
    uint32_t *numbers = NULL, room = 0;

    memory_init(&m);
    for (uint32_t i = 0; i < 10 * KI; i++) {
        ck_assert(hf_mem_grow(&m.hook, &numbers, &room, sizeof *numbers,
                              (size_t)i + 1, GI));
        numbers[i] = i;
    }
    for (uint32_t i = 0; i < 10 * KI; i++)
        if (numbers[i] != i)
            ck_abort_msg("element %u is %u", i, numbers[i]);
    ck_assert_uint_lt(memory_counts(&m).asked, 20); /* it doubles */
    hf_mem_free(&m.hook, numbers, room * sizeof *numbers);
    ck_assert_pstr_eq(memory_fini(&m), NULL);
}
END_TEST

START_TEST(array_without_memory_stays_as_it_was)
{
    struct memory m;
    uint32_t room = 0;
    char *text = NULL;

    memory_init(&m);
    ck_assert(hf_mem_grow(&m.hook, &text, &room, 1, 3, GI));
    memcpy(text, "abc", 3);
    memory_fail_at(&m, 1);
    ck_assert(!hf_mem_grow(&m.hook, &text, &room, 1, 4, GI));
    ck_assert_uint_eq(room, 3);
    ck_assert_mem_eq(text, "abc", 3);
    hf_mem_free(&m.hook, text, room);
    ck_assert_pstr_eq(memory_fini(&m), NULL);
}
END_TEST

/* The test's allocator fills new memory with rubbish. */
START_TEST(new_memory_is_zeroed)
{
    static const char zeros[1000];
    struct memory m;
    char *ptr;

    memory_init(&m);
    ptr = hf_mem_new(&m.hook, sizeof zeros);
    ck_assert_mem_eq(ptr, zeros, sizeof zeros);
    hf_mem_free(&m.hook, ptr, sizeof zeros);
    hf_mem_free(&m.hook, NULL, 0);
    memory_fail_at(&m, 1);
    ck_assert_ptr_null(hf_mem_new(&m.hook, 1));
    ck_assert_pstr_eq(memory_fini(&m), NULL);
}
END_TEST

START_TEST(libc_is_a_hook)
{
    char *ptr = hf_mem_libc.resize(hf_mem_libc.ctx, NULL, 0, 2);

    ck_assert_ptr_nonnull(ptr);
    memcpy(ptr, "ab", 2);
    ptr = hf_mem_libc.resize(hf_mem_libc.ctx, ptr, 2, 100000);
    ck_assert_ptr_nonnull(ptr);
    ck_assert_mem_eq(ptr, "ab", 2);
    ck_assert_ptr_null(hf_mem_libc.resize(hf_mem_libc.ctx, ptr, 100000, 0));
}
END_TEST

/* ---- errors ---- */

START_TEST(error_holds_no_control_characters)
{
    struct hf_error e;

    memset(&e, 0x5a, sizeof e);
    ck_assert_int_eq(hf_error_set(&e, HF_E_SERVER, "%s: %d", "a\r\nb\033[2J\177",
                                  7),
                     HF_E_SERVER);
    ck_assert_int_eq(e.member, 0);
    for (size_t i = 0; i < 3; i++) /* what later versions give a meaning */
        ck_assert(!e.reserved_flags[i]);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(e.reserved[i], 0);
    ck_assert_int_eq(e.status, HF_E_SERVER);
    ck_assert_str_eq(e.text, "a  b [2J : 7");
}
END_TEST

/* C1 controls in both encodings, characters that turn the text around, bytes that
 * are no UTF-8; what else is UTF-8 stays. */
START_TEST(error_holds_nothing_that_a_terminal_obeys)
{
    struct hf_error e;

    (void)hf_error_set(&e, HF_E_SERVER, "%s", "\233[2J \302\2332J \342\200\256x");
    ck_assert_str_eq(e.text, "?[2J ??2J ???x");
    (void)hf_error_set(&e, HF_E_SERVER, "%s", "gr\303\274n \342\202\254 \303");
    ck_assert_str_eq(e.text, "gr\303\274n \342\202\254 ?");
}
END_TEST

/* The cut leaves no half of a character. */
START_TEST(error_is_cut_between_characters)
{
    static char text[2 * HF_ERROR_TEXT_MAX + 1];
    struct hf_error e;

    for (size_t i = 0; i < HF_ERROR_TEXT_MAX; i++)
        (void)strcat(text, "\303\274");
    for (int first = 0; first < 2; first++) {
        (void)hf_error_set(&e, HF_E_LIMIT, "%.*s%s", first, "x", text);
        ck_assert_uint_eq((strlen(e.text) - strlen("...")) % 2, (size_t)first);
        ck_assert_uint_ge(strlen(e.text), HF_ERROR_TEXT_MAX - 2);
        ck_assert_ptr_null(strchr(e.text, '?'));
    }
}
END_TEST

START_TEST(error_is_cut_where_too_long)
{
    static char text[2 * HF_ERROR_TEXT_MAX];
    struct hf_error e;

    memset(text, 'x', sizeof text - 1);
    (void)hf_error_set(&e, HF_E_LIMIT, "%s", text);
    ck_assert_uint_eq(strlen(e.text), HF_ERROR_TEXT_MAX - 1);
    ck_assert_str_eq(e.text + HF_ERROR_TEXT_MAX - 1 - 4, "x...");
    hf_error_add(&e, "a hint");
    ck_assert_uint_eq(strlen(e.text), HF_ERROR_TEXT_MAX - 1);
    ck_assert_ptr_nonnull(strstr(e.text, "x...; a hint"));
    text[HF_ERROR_TEXT_MAX - sizeof "; a hint"] = '\0';
    (void)hf_error_set(&e, HF_E_LIMIT, "%s", text);
    hf_error_add(&e, "a hint");
    ck_assert_ptr_nonnull(strstr(e.text, "xx; a hint"));
}
END_TEST

START_TEST(error_without_a_destination_is_a_status)
{
    ck_assert_int_eq(hf_error_set(NULL, HF_E_INVAL, "%d", 1), HF_E_INVAL);
}
END_TEST

#define BYTES(literal) literal, sizeof(literal) - 1

static const struct {
    const char *bytes;
    size_t len, room;
    const char *text;
} quotes[] = {
    {BYTES(""), 20, ""},
    {BYTES("plain words"), 20, "plain words"},
    {BYTES("\r\n\t"), 20, "\\x0d\\x0a\\x09"},
    {BYTES("a\0b"), 20, "a\\x00b"},
    {BYTES("\\"), 20, "\\x5c"},
    {BYTES("~\177\200\377"), 20, "~\\x7f\\x80\\xff"},
    {BYTES("gr\303\274n \342\202\254 \360\237\224\222"), 20,
     "gr\303\274n \342\202\254 \360\237\224\222"},
    {BYTES("\302\233"), 20, "\\xc2\\x9b"},                  /* C1: CSI */
    {BYTES("\302\237\302\240"), 20, "\\xc2\\x9f\302\240"},  /* the last one */
    {BYTES("\342\200\256"), 20, "\\xe2\\x80\\xae"},        /* turns around */
    {BYTES("\342\201\246"), 20, "\\xe2\\x81\\xa6"},        /* isolates */
    {BYTES("\342\200\217"), 20, "\\xe2\\x80\\x8f"},        /* a mark */
    {BYTES("\330\234"), 20, "\\xd8\\x9c"},                  /* a mark */
    {BYTES("\342\200\250"), 20, "\\xe2\\x80\\xa8"},        /* ends a line */
    {BYTES("\300\257"), 20, "\\xc0\\xaf"},                  /* overlong */
    {BYTES("\355\240\200"), 20, "\\xed\\xa0\\x80"},        /* a surrogate */
    {BYTES("\364\220\200\200"), 20, "\\xf4\\x90\\x80\\x80"}, /* too high */
    {BYTES("\342\202"), 20, "\\xe2\\x82"},                  /* cut */
    {BYTES("never \342\202\254 in half"), 12, "never ..."},
    {BYTES("never \342\202\254 in half"), 13, "never \342\202\254..."},
    {BYTES("cut where it is too long"), 10, "cut wh..."},
    {BYTES("never \001 in half"), 14, "never \\x01..."},
    {BYTES("never\001 in half"), 12, "never..."},
};

START_TEST(quoted_bytes_are_plain_text_that_fits)
{
    char text[64];

    memset(text, '#', sizeof text);
    ck_assert_ptr_eq(hf_error_quote(text, quotes[_i].room, quotes[_i].bytes,
                                    quotes[_i].len),
                     text);
    ck_assert_str_eq(text, quotes[_i].text);
    ck_assert_int_eq(text[quotes[_i].room], '#');
}
END_TEST

static TCase *case_memory(void)
{
    TCase *c = tcase_create("memory");

    tcase_add_loop_test(c, array_grows_as_far_as_it_may, 0, ROWS(growths));
    tcase_add_test(c, array_keeps_its_elements);
    tcase_add_test(c, array_without_memory_stays_as_it_was);
    tcase_add_test(c, new_memory_is_zeroed);
    tcase_add_test(c, libc_is_a_hook);
    return c;
}

static TCase *case_errors(void)
{
    TCase *c = tcase_create("errors");

    tcase_add_test(c, error_holds_no_control_characters);
    tcase_add_test(c, error_holds_nothing_that_a_terminal_obeys);
    tcase_add_test(c, error_is_cut_where_too_long);
    tcase_add_test(c, error_is_cut_between_characters);
    tcase_add_test(c, error_without_a_destination_is_a_status);
    tcase_add_loop_test(c, quoted_bytes_are_plain_text_that_fits, 0,
                        ROWS(quotes));
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/mem, net/error");

    suite_add_tcase(s, case_memory());
    suite_add_tcase(s, case_errors());
    return suite_run(s);
}
