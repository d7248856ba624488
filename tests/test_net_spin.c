/* Looking or sleeping, in worlds where either takes a known time: what is
 * planned, and that the loop does as planned. Rules S1 to S3 of net/spin.h.
 *
 * The linker puts the wrappers below in place of what the library calls
 * (Makefile: --wrap): a clock that goes on by being read, and a poller that
 * never finds anything. */
#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "net/net.h"
#include "net/spin.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define WAITS 100000

/* S3, in numbers: so long may a processor be burnt for one wait. */
#define BURNT_MAX_US 50

/* A world: how long a reply takes to one who looks, and to one who sleeps. */
struct world {
    const char *what;
    int64_t looked_us;
    int64_t slept_us;
    bool looks;              /* what is right there */
};

static const struct world worlds[] = {
    {"a server nearby, on another processor", 15, 60, true},
    {"a server on our own processor", 40, 6, false},
    {"a server on our own, that runs only when our time is over", 3000, 6,
     false},
    {"a server far away", 500, 530, false},
    {"a server just far enough", 60, 90, false},
    {"waking up costs nothing", 15, 12, false},
    {"who looks finds it at once", 0, 4, true},
};

struct tally {
    unsigned looks;
    unsigned measured;
    int64_t burnt_us;        /* by looking */
};

static void live(struct hf_spin *spin, const struct world *world, unsigned waits,
                 struct tally *tally)
{
    for (unsigned i = 0; i < waits; i++) {
        struct hf_spin_plan plan = hf_spin_plan(spin);
        bool is_found = world->looked_us < plan.look_us;

        must(plan.look_us == 0 ||
             (plan.look_us >= SPIN_MIN_US && plan.look_us <= BURNT_MAX_US));
        must(plan.look_us == 0 || plan.is_measured);
        tally->looks += plan.look_us > 0;
        tally->measured += plan.is_measured;
        if (plan.look_us > 0)
            tally->burnt_us += is_found ? world->looked_us : plan.look_us;
        if (plan.look_us == 0)
            is_found = false;
        if (plan.is_measured)
            hf_spin_note(spin, plan, is_found,
                         is_found ? world->looked_us
                                  : plan.look_us + world->slept_us);
    }
}

static void check_is_right(const struct world *world, const struct tally *tally)
{
    if (world->looks) {
        ck_assert_msg(tally->looks > WAITS - WAITS / 500, "%s: only %u looks",
                      world->what, tally->looks);
        return;
    }
    ck_assert_msg(tally->looks < WAITS / 1000, "%s: %u looks", world->what,
                  tally->looks);
    /* Less than a fiftieth of a microsecond a wait, clock readings apart. */
    ck_assert_int_lt(tally->burnt_us, WAITS / 50);
    ck_assert_uint_lt(tally->measured, WAITS / 50);
}

START_TEST(quicker_way_is_used)
{
    struct hf_spin spin;
    struct tally first = {0}, then = {0};

    hf_spin_init(&spin, 2);
    live(&spin, &worlds[_i], 100, &first);
    live(&spin, &worlds[_i], WAITS, &then);
    check_is_right(&worlds[_i], &then);
}
END_TEST

/* From any world to any other: what was learnt is unlearnt. */
START_TEST(world_may_change)
{
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        struct hf_spin spin;
        struct tally before = {0}, meanwhile = {0}, then = {0};

        hf_spin_init(&spin, 64);
        live(&spin, &worlds[i], WAITS, &before);
        live(&spin, &worlds[_i], WAITS, &meanwhile);
        live(&spin, &worlds[_i], WAITS, &then);
        check_is_right(&worlds[_i], &then);
    }
}
END_TEST

START_TEST(one_processor_never_looks)
{
    struct hf_spin spin;
    struct tally tally = {0};

    hf_spin_init(&spin, 1);
    live(&spin, &worlds[0], WAITS, &tally);
    ck_assert_uint_eq(tally.looks, 0);
    ck_assert_uint_eq(tally.measured, 0);
}
END_TEST

/* A caller that waits for ten seconds now and then, among quick ones. */
START_TEST(rare_long_wait_changes_nothing)
{
    static const struct world long_wait = {"a long wait", 10000000, 10000000,
                                           false};
    struct hf_spin spin;
    struct tally tally = {0}, ignored = {0};

    hf_spin_init(&spin, 2);
    for (int i = 0; i < WAITS / 50; i++) {
        live(&spin, &worlds[0], 49, &tally);
        live(&spin, &long_wait, 1, &ignored);
    }
    ck_assert_uint_gt(tally.looks, WAITS * 9 / 10);
}
END_TEST

/* ---- the loop ---- */

static struct {
    bool is_on;
    int64_t now_us;
    int64_t step_us;         /* that a reading of the clock takes */
    int64_t looks;           /* polls that do not wait, since one that does */
    int64_t looks_max;       /* the most so far */
    int64_t sleeps;
} sham;

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
    if (!sham.is_on)
        return __real_clock_gettime(id, t);
    sham.now_us += sham.step_us;
    t->tv_sec = (time_t)(sham.now_us / 1000000);
    t->tv_nsec = (long)(sham.now_us % 1000000) * 1000;
    return 0;
}

/* Nothing comes: who waits does so to the end. */
static int sham_wait(int timeout_ms)
{
    if (timeout_ms != 0) {
        must(timeout_ms > 0);
        sham.now_us += (int64_t)timeout_ms * 1000;
        sham.looks = 0;
        sham.sleeps++;
    } else if (++sham.looks > sham.looks_max) {
        sham.looks_max = sham.looks;
    }
    return 0;
}

int __real_epoll_wait(int fd, struct epoll_event *events, int max, int timeout);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int timeout);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
    return sham.is_on ? sham_wait(timeout)
                      : __real_epoll_wait(fd, events, max, timeout);
}

int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    return sham.is_on ? sham_wait(timeout) : __real_poll(fds, count, timeout);
}

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
    return name == _SC_NPROCESSORS_ONLN && sham.is_on ? 2
                                                      : __real_sysconf(name);
}

struct alarm {
    struct hf_timer timer;
    struct hf_waiter waiter;
};

static void on_timer(struct hf_timer *timer)
{
    hf_waiter_wake(&HF_OWNER_OF(timer, struct alarm, timer)->waiter);
}

/* A caller that waits alone, for 5 ms. */
static void wait_once(struct hf_loop *loop)
{
    struct alarm a = {.timer.fire = on_timer};

    hf_loop_lock(loop);
    hf_waiter_init(&a.waiter, loop);
    hf_loop_arm(loop, &a.timer, hf_loop_now(loop) + 5);
    hf_loop_wait(&a.waiter); /* the lock is free after */
}

static const int64_t steps_us[] = {1, 7, 1000};

/* However long a single look takes: one that began in time is the last. */
START_TEST(loop_looks_for_so_long_and_then_sleeps)
{
    struct hf_loop_options options = {.thread = false};
    int64_t step_us = steps_us[_i];
    struct hf_loop *loop;

    sham.now_us = 1000000;
    sham.step_us = step_us;
    sham.is_on = true;
    must(hf_loop_new(&loop, &options) == HF_OK);
    for (int i = 0; i < 100; i++)
        wait_once(loop);
    hf_loop_free(loop);
    sham.is_on = false;
    ck_assert_int_ge(sham.sleeps, 100);
    ck_assert_int_gt(sham.looks_max, 0);
    ck_assert_int_le(sham.looks_max, (BURNT_MAX_US + step_us - 1) / step_us);
}
END_TEST

static void *wait_once_more(void *loop)
{
    wait_once(loop);
    return NULL;
}

/* Another comes now and then: neither is alone (rule D7 of net/drive.c). */
START_TEST(callers_that_take_turns_do_not_look)
{
    struct hf_loop_options options = {.thread = false};
    struct hf_loop *loop;

    sham.now_us = 1000000;
    sham.step_us = 1;
    sham.is_on = true;
    must(hf_loop_new(&loop, &options) == HF_OK);
    for (int i = 0; i < 100; i++) {
        pthread_t other;

        for (int j = 0; j < 10; j++) /* for 50 ms */
            wait_once(loop);
        must(pthread_create(&other, NULL, wait_once_more, loop) == 0);
        must(pthread_join(other, NULL) == 0);
    }
    hf_loop_free(loop);
    sham.is_on = false;
    ck_assert_int_ge(sham.sleeps, 1000);
    ck_assert_int_eq(sham.looks_max, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/spin");
    TCase *c = tcase_create("spin");
    int rows = (int)(sizeof worlds / sizeof *worlds);

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, quicker_way_is_used, 0, rows);
    tcase_add_loop_test(c, world_may_change, 0, rows);
    tcase_add_test(c, one_processor_never_looks);
    tcase_add_test(c, rare_long_wait_changes_nothing);
    tcase_add_loop_test(c, loop_looks_for_so_long_and_then_sleeps, 0,
                        (int)(sizeof steps_us / sizeof *steps_us));
    tcase_add_test(c, callers_that_take_turns_do_not_look);
    suite_add_tcase(s, c);
    return suite_run(s);
}
