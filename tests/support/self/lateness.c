/* The probe measures delays. */
#include "tests/support/lateness.h"

#include <signal.h>

#include "tests/support/self/self.h"

#define DELAY_MS 50

/* SIGSTOP keeps the probe from its processor, as a busy machine does. */
START_TEST(a_delay_is_measured_while_it_lasts_and_after_it)
{
    pid_t probe = lateness_start();
    int64_t from_ms, after_ms;

    ck_assert_int_gt(probe, 0);
    from_ms = local_now_ms();
    ck_assert_int_eq(kill(probe, SIGSTOP), 0);
    while (lateness_ms(from_ms) < LATENESS_HOPS * DELAY_MS)
        ck_assert_int_lt(local_now_ms(), from_ms + LONG_MS);
    ck_assert_int_ge(local_now_ms(), from_ms + DELAY_MS / 2); /* a hop may be on the way */
    ck_assert_int_eq(kill(probe, SIGCONT), 0);
    after_ms = local_now_ms() + 2 * DELAY_MS;
    while (local_now_ms() < after_ms)
        local_rest_us(1000);
    ck_assert_int_ge(lateness_ms(from_ms), LATENESS_HOPS * DELAY_MS);
    lateness_stop();
}
END_TEST

void add_lateness_tests(Suite *suite)
{
    TCase *c = add_tcase(suite, "lateness");

    tcase_add_test(c, a_delay_is_measured_while_it_lasts_and_after_it);
}
