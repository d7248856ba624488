/* Memory is counted and judged; exactly what should fail fails. */
#include "tests/support/memory.h"

#include <signal.h>
#include <string.h>

#include "tests/support/self/self.h"

static void *get(struct memory *m, size_t size)
{
    return m->hook.resize(m->hook.ctx, NULL, 0, size);
}

static void *resize(struct memory *m, void *ptr, size_t old, size_t size)
{
    return m->hook.resize(m->hook.ctx, ptr, old, size);
}

START_TEST(memory_is_counted_and_kept_while_it_moves)
{
    struct memory m;
    char *ptr, *moved;

    memory_init(&m);
    ptr = get(&m, 10);
    ck_assert_int_eq((unsigned char)ptr[9], 0xA5);
    (void)strcpy(ptr, "012345678");
    moved = resize(&m, ptr, 10, 100);
    ck_assert_ptr_ne(moved, ptr);
    ck_assert_str_eq(moved, "012345678");
    ck_assert_uint_eq(memory_counts(&m).live_blocks, 1);
    ck_assert_uint_eq(memory_counts(&m).live_bytes, 100);
    ck_assert_uint_eq(memory_counts(&m).asked, 2);
    ptr = resize(&m, moved, 100, 5);
    ck_assert_mem_eq(ptr, "01234", 5);
    ck_assert_uint_eq(memory_counts(&m).asked, 2); /* shrinking asks nothing */
    ck_assert_ptr_null(resize(&m, ptr, 5, 0));
    ck_assert_uint_eq(memory_counts(&m).live_bytes, 0);
    ck_assert_uint_ge(memory_counts(&m).peak_bytes, 100);
    ck_assert_pstr_eq(memory_fini(&m), NULL);
}
END_TEST

START_TEST(a_lie_about_the_old_size_is_found)
{
    struct memory m;
    void *ptr;

    memory_init(&m);
    ptr = get(&m, 10);
    (void)resize(&m, ptr, 11, 0);
    ck_assert_pstr_eq(memory_fini(&m), "the old size was told wrong: 11 "
                                       "instead of 10 (after 1 calls)");
}
END_TEST

START_TEST(a_block_that_is_not_freed_is_found)
{
    struct memory m;

    memory_init(&m);
    (void)get(&m, 10);
    (void)get(&m, 20);
    ck_assert_pstr_eq(memory_fini(&m),
                      "blocks were not freed: 2 instead of 0 (after 2 calls)");
}
END_TEST

START_TEST(a_pointer_of_no_block_ends_the_process)
{
    static _Alignas(64) char other[256];
    struct memory m;

    memory_init(&m);
    (void)resize(&m, other + 128, 1, 2);
}
END_TEST

START_TEST(exactly_the_nth_call_fails)
{
    struct memory m;
    void *ptr, *moved;

    memory_init(&m);
    ptr = get(&m, 1);
    memory_fail_at(&m, 2);
    ck_assert_ptr_nonnull(moved = resize(&m, ptr, 1, 2));
    ck_assert(!memory_has_failed(&m));
    ck_assert_ptr_nonnull(ptr = resize(&m, moved, 2, 1)); /* does not count */
    ck_assert_ptr_null(resize(&m, ptr, 1, 2));
    ck_assert(memory_has_failed(&m));
    ck_assert_ptr_nonnull(moved = resize(&m, ptr, 1, 2)); /* the next is good */
    (void)resize(&m, moved, 2, 0);
    ck_assert_uint_eq(memory_counts(&m).failed, 1);
    memory_fail_at(&m, 0);
    ck_assert(!memory_has_failed(&m));
    ck_assert_pstr_eq(memory_fini(&m), NULL);
}
END_TEST

static void *churn(void *arg)
{
    struct memory *m = arg;

    for (size_t i = 1; i < 1000; i++) {
        void *ptr = get(m, i);

        ptr = resize(m, ptr, i, 2 * i);
        (void)resize(m, ptr, 2 * i, 0);
    }
    return NULL;
}

START_TEST(memory_may_be_used_by_threads_at_once)
{
    struct memory m;
    pthread_t other;

    memory_init(&m);
    ck_assert_int_eq(pthread_create(&other, NULL, churn, &m), 0);
    (void)churn(&m);
    (void)pthread_join(other, NULL);
    ck_assert_uint_eq(memory_counts(&m).asked, 2 * 2 * 999);
    ck_assert_pstr_eq(memory_fini(&m), NULL);
}
END_TEST

void add_memory_tests(Suite *suite)
{
    TCase *tc = add_tcase(suite, "memory");

    tcase_add_test(tc, memory_is_counted_and_kept_while_it_moves);
    tcase_add_test(tc, a_lie_about_the_old_size_is_found);
    tcase_add_test(tc, a_block_that_is_not_freed_is_found);
    tcase_add_test_raise_signal(tc, a_pointer_of_no_block_ends_the_process,
                                SIGABRT);
    tcase_add_test(tc, exactly_the_nth_call_fails);
    tcase_add_test(tc, memory_may_be_used_by_threads_at_once);
}
