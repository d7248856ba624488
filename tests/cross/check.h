/* As much of libcheck as tests/test_resp_*.c use, in one header that needs a
 * libc alone: libcheck is packaged for the machine that one has, not for
 * others. A test runs when it is added; the first assertion that fails ends it
 * and says where; srunner_run_all prints the sum. */
#ifndef HF_CROSS_CHECK_H
#define HF_CROSS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct TTest {
    const char *name;
    void (*run)(int i);
} TTest;

/* Nothing of a suite, a case or a runner is kept but its name. */
typedef const char Suite, TCase, SRunner;

enum { CK_NORMAL, CK_ENV, CK_NOFORK };

static struct {
    const char *test;
    int index;
    unsigned ran;
    unsigned failed;
    jmp_buf next;          /* where a test that failed goes on */
} check_run;

#define START_TEST(name)                                                      \
    static void name##_run(int _i);                                           \
    static const TTest name##_test = {#name, name##_run};                     \
    static const TTest *const name = &name##_test;                            \
    static void name##_run(int _i __attribute__((unused)))
#define END_TEST

__attribute__((noreturn, format(printf, 3, 4))) static void
check_failed(const char *file, int line, const char *format, ...)
{
    va_list args;

    printf("%s:%d: %s, %d: ", file, line, check_run.test, check_run.index);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    puts("");
    longjmp(check_run.next, 1);
}

static inline void tcase_add_loop_test(TCase *c, const TTest *test, int from,
                                       int to)
{
    (void)c;
    check_run.test = test->name;
    for (check_run.index = from; check_run.index < to; check_run.index++) {
        check_run.ran++;
        if (setjmp(check_run.next) == 0)
            test->run(check_run.index);
        else
            check_run.failed++;
    }
}

static inline void tcase_add_test(TCase *c, const TTest *test)
{
    tcase_add_loop_test(c, test, 0, 1);
}

static inline TCase *tcase_create(const char *name)
{
    return name;
}

static inline void tcase_set_timeout(TCase *c, double seconds)
{
    (void)c;
    (void)seconds;
}

static inline Suite *suite_create(const char *name)
{
    return name;
}

static inline void suite_add_tcase(Suite *s, TCase *c)
{
    (void)s;
    (void)c;
}

static inline SRunner *srunner_create(Suite *s)
{
    return s;
}

static inline void srunner_set_fork_status(SRunner *r, int status)
{
    (void)r;
    (void)status;
}

static inline void srunner_run_all(SRunner *r, int mode)
{
    (void)mode;
    printf("%s: %u tests, %u failed\n", r, check_run.ran, check_run.failed);
}

static inline int srunner_ntests_failed(SRunner *r)
{
    (void)r;
    return check_run.failed != 0;
}

static inline void srunner_free(SRunner *r)
{
    (void)r;
}

#define ck_assert_msg(is_so, ...)                                             \
    ((is_so) ? (void)0 : check_failed(__FILE__, __LINE__, __VA_ARGS__))
#define ck_assert(is_so) ck_assert_msg(is_so, "%s", #is_so)

/* Compares as intmax_t or uintmax_t; each side is looked at once. */
#define CHECK_NUMBERS(type, format, a, op, b)                                 \
    do {                                                                      \
        type check_a = (type)(a), check_b = (type)(b);                        \
                                                                              \
        ck_assert_msg(check_a op check_b,                                     \
                      "%s " #op " %s: %" format " and %" format, #a, #b,      \
                      check_a, check_b);                                      \
    } while (0)
#define CHECK_INTS(a, op, b) CHECK_NUMBERS(intmax_t, "jd", a, op, b)
#define CHECK_UINTS(a, op, b) CHECK_NUMBERS(uintmax_t, "ju", a, op, b)
#define ck_assert_int_eq(a, b) CHECK_INTS(a, ==, b)
#define ck_assert_int_ne(a, b) CHECK_INTS(a, !=, b)
#define ck_assert_int_lt(a, b) CHECK_INTS(a, <, b)
#define ck_assert_int_le(a, b) CHECK_INTS(a, <=, b)
#define ck_assert_int_gt(a, b) CHECK_INTS(a, >, b)
#define ck_assert_int_ge(a, b) CHECK_INTS(a, >=, b)
#define ck_assert_uint_eq(a, b) CHECK_UINTS(a, ==, b)
#define ck_assert_uint_ne(a, b) CHECK_UINTS(a, !=, b)
#define ck_assert_uint_lt(a, b) CHECK_UINTS(a, <, b)
#define ck_assert_uint_le(a, b) CHECK_UINTS(a, <=, b)
#define ck_assert_uint_gt(a, b) CHECK_UINTS(a, >, b)
#define ck_assert_uint_ge(a, b) CHECK_UINTS(a, >=, b)

#define ck_assert_double_eq(a, b)                                             \
    do {                                                                      \
        double check_a = (a), check_b = (b);                                  \
                                                                              \
        ck_assert_msg(check_a == check_b, "%s == %s: %.17g and %.17g", #a,    \
                      #b, check_a, check_b);                                  \
    } while (0)
#define ck_assert_double_nan(a) ck_assert_msg(isnan(a), "%s is NaN", #a)

#define CHECK_POINTERS(a, op, b)                                              \
    do {                                                                      \
        const void *check_a = (a), *check_b = (b);                            \
                                                                              \
        ck_assert_msg(check_a op check_b, "%s " #op " %s: %p and %p", #a, #b, \
                      check_a, check_b);                                      \
    } while (0)
#define ck_assert_ptr_eq(a, b) CHECK_POINTERS(a, ==, b)
#define ck_assert_ptr_ne(a, b) CHECK_POINTERS(a, !=, b)
#define ck_assert_ptr_null(a) CHECK_POINTERS(a, ==, NULL)
#define ck_assert_ptr_nonnull(a) CHECK_POINTERS(a, !=, NULL)

#define ck_assert_str_eq(a, b)                                                \
    do {                                                                      \
        const char *check_a = (a), *check_b = (b);                            \
                                                                              \
        ck_assert_msg(strcmp(check_a, check_b) == 0,                          \
                      "%s == %s: \"%s\" and \"%s\"", #a, #b, check_a,         \
                      check_b);                                               \
    } while (0)
#define ck_assert_mem_eq(a, b, len)                                           \
    ck_assert_msg(memcmp(a, b, len) == 0, "%s == %s, %s bytes", #a, #b, #len)

#endif
