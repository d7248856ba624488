/* Looking or sleeping, on simulated machines: what either costs there, and what
 * the plan makes of it. And that the loop does as planned. Rules of net/loop/spin.h.
 *
 * The linker puts the wrappers below in place of what the library calls
 * (Makefile: --wrap): a clock that goes on by being read, and a poller that
 * never finds anything. */
#include <check.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "net/loop/loop.h"
#include "net/net.h"
#include "net/loop/spin.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

#define WAITS 50000
#define LEARN 10000          /* waits until what is right is known */
#define PAUSE_EVERY 61       /* commands: a caller thinks longer, and all cool */
#define PAUSE_US 300
#define BATCHES 64           /* under way at once; more than callers */

/* ---- a machine, a server and callers that share a connection ---- */

/* The client has a processor of its own, and so has the server. */
struct machine {
    const char *what;
    int64_t wake_us;         /* to wake a processor that was idle for long */
    int64_t long_us;         /* what is long */
    int64_t nap_us;          /* to wake one that was not */
    int64_t far_us;          /* one way over the network */
    int64_t serve_us;        /* a command, by the server */
    int64_t think_us;        /* between two commands of a caller */
};

static const struct machine machines[] = {
    {"waking up is dear", 60, 30, 4, 2, 3, 3},
    {"waking up is very dear", 150, 50, 6, 2, 3, 3},
    {"waking up is dear, however short the sleep", 50, 0, 0, 2, 5, 3},
    {"waking up is cheap", 6, 0, 0, 2, 3, 3},
    {"waking up costs nothing", 0, 0, 0, 2, 3, 3},
    {"the server is far away", 60, 30, 4, 400, 3, 3},
    {"the server is slow", 60, 30, 4, 2, 1500, 3},
    {"callers think for long", 60, 30, 4, 2, 3, 2000},
};
#define MACHINES (sizeof machines / sizeof *machines)

static const int callers[] = {1, 2, 4, 8, 16};
#define CALLERS (sizeof callers / sizeof *callers)

struct batch {
    int count;
    int64_t reply_us;        /* when the replies are there */
};

struct world {
    const struct machine *machine;
    int64_t now_us;
    int64_t server_free_us;  /* when it has served all */
    struct batch batches[BATCHES];
    unsigned first, behind;
    int64_t waited_us;       /* the end of the last wait */
    int thinking, queued, in_flight;
    unsigned thoughts;
};

/* What was spent, and for how many commands. */
struct tally {
    uint64_t waits, looks, measured, answered;
    int64_t us, cpu_us;
};

static int64_t waking(const struct machine *m, int64_t idle_us)
{
    return idle_us > m->long_us ? m->wake_us : m->nap_us;
}

/* Serves them together, as soon as it is awake and done with those before. */
static void send_queued(struct world *w)
{
    const struct machine *m = w->machine;
    int64_t at = w->now_us + m->far_us;
    int64_t begins = w->server_free_us;

    if (at > begins)
        begins = at + waking(m, at - begins);
    w->server_free_us = begins + w->queued * m->serve_us;
    must(w->behind - w->first < BATCHES);
    w->batches[w->behind++ % BATCHES] =
        (struct batch){w->queued, w->server_free_us + m->far_us};
    w->in_flight += w->queued;
    w->queued = 0;
}

/* Rule LINK-2 of net/link/link.c: no less is queued than is in flight. */
static void callers_go_on(struct world *w)
{
    for (; w->thinking > 0; w->thinking--) {
        w->now_us += w->machine->think_us;
        if (++w->thoughts % PAUSE_EVERY == 0)
            w->now_us += PAUSE_US;
        if (++w->queued >= w->in_flight)
            send_queued(w);
    }
}

static uint32_t take_replies(struct world *w)
{
    uint32_t answered = 0;

    while (w->first != w->behind &&
           w->batches[w->first % BATCHES].reply_us <= w->now_us)
        answered += (uint32_t)w->batches[w->first++ % BATCHES].count;
    w->in_flight -= (int)answered;
    w->thinking += (int)answered;
    if (w->queued >= w->in_flight && w->queued > 0)
        send_queued(w);
    return answered;
}

static struct hf_spin_result wait_for_reply(struct world *w, uint32_t look_us)
{
    int64_t left = w->batches[w->first % BATCHES].reply_us - w->now_us;
    struct hf_spin_result wait = {.duration_us = left > 0 ? left : 0};

    wait.is_found_by_looking = look_us > 0 && left <= look_us;
    wait.cpu_us = wait.is_found_by_looking ? wait.duration_us : look_us;
    if (left > 0 && !wait.is_found_by_looking) {
        int64_t wakes = waking(w->machine, left - look_us);

        wait.duration_us += wakes;
        wait.cpu_us += wakes + 2; /* to fall asleep, too */
    }
    w->now_us += wait.duration_us;
    wait.callers_answered = take_replies(w);
    return wait;
}

/* One wait as `spin` plans it; NULL: always by a look of `look_us`. */
static void live_once(struct world *w, struct hf_spin *spin, uint32_t look_us,
                      struct tally *tally)
{
    struct hf_spin_plan plan = {look_us, false};
    struct hf_spin_result wait;
    int64_t between_us;

    callers_go_on(w);
    if (spin)
        plan = hf_spin_plan(spin);
    must(plan.look_us == 0 || !spin ||
         (plan.look_us >= SPIN_MIN_US && plan.look_us <= SPIN_MAX_US));
    between_us = w->now_us - w->waited_us;
    wait = wait_for_reply(w, plan.look_us);
    wait.between_us = between_us;
    w->waited_us = w->now_us;
    tally->waits++;
    tally->looks += plan.look_us > 0;
    tally->measured += plan.is_measured;
    tally->answered += wait.callers_answered;
    tally->cpu_us += wait.cpu_us;
    if (spin && (plan.look_us > 0 || plan.is_measured))
        hf_spin_note(spin, plan, &wait);
}

static struct world world_of(const struct machine *machine, int threads)
{
    return (struct world){.machine = machine, .thinking = threads};
}

static void live(struct world *w, struct hf_spin *spin, uint32_t look_us,
                 unsigned waits, struct tally *tally)
{
    int64_t began_us = w->now_us;

    for (unsigned i = 0; i < waits; i++)
        live_once(w, spin, look_us, tally);
    tally->us += w->now_us - began_us;
}

static double time_of(const struct tally *t)
{
    return (double)t->us / (double)t->answered;
}

static double cost_of(const struct tally *t)
{
    return (double)(2 * t->us + t->cpu_us) / (double)t->answered;
}

/* The dumb twins: who never looks, and who always does. */
static struct tally twin_of(const struct machine *machine, int threads,
                            uint32_t look_us)
{
    struct world w = world_of(machine, threads);
    struct tally learning = {0}, tally = {0};

    live(&w, NULL, look_us, LEARN, &learning);
    live(&w, NULL, look_us, WAITS, &tally);
    return tally;
}

/* Nearly as good as the better twin. */
static void check_is_right(const struct machine *machine, int threads,
                           const struct tally *tally)
{
    struct tally sleeper = twin_of(machine, threads, 0);
    struct tally looker = twin_of(machine, threads, SPIN_MAX_US);
    double least = cost_of(&sleeper) < cost_of(&looker) ? cost_of(&sleeper)
                                                        : cost_of(&looker);

    ck_assert_msg(cost_of(tally) <= 1.15 * least,
                  "%s, %d callers: %g us a command, sleeping %g, looking %g",
                  machine->what, threads, cost_of(tally), cost_of(&sleeper),
                  cost_of(&looker));
    ck_assert_uint_lt(tally->measured, WAITS / 10);
}

/* The row of a loop test: a machine, and so many callers. */
static const struct machine *machine_of(int row)
{
    return &machines[(size_t)row / CALLERS];
}

static int callers_of(int row)
{
    return callers[(size_t)row % CALLERS];
}

/* SPIN-1, SPIN-2 */
START_TEST(cheaper_regime_is_used)
{
    struct world w = world_of(machine_of(_i), callers_of(_i));
    struct hf_spin spin;
    struct tally first = {0}, then = {0};

    hf_spin_init(&spin, 2);
    live(&w, &spin, 0, LEARN, &first);
    live(&w, &spin, 0, WAITS, &then);
    check_is_right(machine_of(_i), callers_of(_i), &then);
}
END_TEST

/* From other machines, and other numbers of callers, to this one. */
START_TEST(regime_follows_a_change)
{
    for (size_t i = 0; i < MACHINES * CALLERS; i += 3) {
        struct world before = world_of(machine_of((int)i), callers_of((int)i));
        struct world w = world_of(machine_of(_i), callers_of(_i));
        struct hf_spin spin;
        struct tally meanwhile = {0}, then = {0};

        hf_spin_init(&spin, 64);
        live(&before, &spin, 0, WAITS, &meanwhile);
        live(&w, &spin, 0, 2 * LEARN, &meanwhile);
        live(&w, &spin, 0, WAITS, &then);
        check_is_right(machine_of(_i), callers_of(_i), &then);
    }
}
END_TEST

/* Where waking up is dear, a lone caller gets its answers in less than half of
 * the time, for no more of the processor. */
START_TEST(lone_caller_gains_where_wakeups_are_expensive)
{
    struct world w = world_of(&machines[_i], 1);
    struct tally sleeper = twin_of(&machines[_i], 1, 0);
    struct tally first = {0}, then = {0};
    struct hf_spin spin;

    hf_spin_init(&spin, 2);
    live(&w, &spin, 0, LEARN, &first);
    live(&w, &spin, 0, WAITS, &then);
    ck_assert_double_le(2 * time_of(&then), time_of(&sleeper));
    ck_assert_int_le(then.cpu_us, sleeper.cpu_us);
    ck_assert_uint_gt(then.looks, WAITS - WAITS / 50);
}
END_TEST

/* SPIN-3: Nobody looks, but for a try now and then. */
START_TEST(far_server_is_not_looked_for)
{
    static const struct machine far_machine = {"far", 60, 30, 4, 400, 3, 3};
    struct world w = world_of(&far_machine, callers[_i]);
    struct tally first = {0}, then = {0};
    struct hf_spin spin;

    hf_spin_init(&spin, 2);
    live(&w, &spin, 0, LEARN, &first);
    live(&w, &spin, 0, WAITS, &then);
    ck_assert_uint_lt(then.looks, WAITS / 200);
}
END_TEST

/* SPIN-6 */
START_TEST(one_processor_never_looks)
{
    struct world w = world_of(&machines[0], 4);
    struct hf_spin spin;
    struct tally tally = {0};

    hf_spin_init(&spin, 1);
    live(&w, &spin, 0, WAITS, &tally);
    ck_assert_uint_eq(tally.looks, 0);
    ck_assert_uint_eq(tally.measured, 0);
}
END_TEST

/* SPIN-2: Bound to the server's processor, as measured with 8 callers: who looks finds
 * the reply to one command at once, because the server ran during the write; who sleeps
 * lets the others add theirs. */
START_TEST(replies_found_at_once_but_fewer_are_not_looked_for)
{
    static const struct hf_spin_result found = {true, 1, 1, 12, 1};
    static const struct hf_spin_result slept = {false, 5, 36, 4, 3};
    struct hf_spin spin;
    unsigned looks = 0;

    hf_spin_init(&spin, 2);
    for (int i = 0; i < WAITS; i++) {
        struct hf_spin_plan plan = hf_spin_plan(&spin);

        looks += plan.look_us > 0;
        if (plan.look_us > 0 || plan.is_measured)
            hf_spin_note(&spin, plan, plan.look_us > 0 ? &found : &slept);
    }
    ck_assert_uint_lt(looks, WAITS / 40);
}
END_TEST

/* A caller that waits for ten seconds now and then, among quick ones: the server
 * and the client are cold then; the quick ones soon find their replies again. */
START_TEST(rare_long_wait_changes_nothing)
{
    struct world w = world_of(&machines[0], 1);
    struct hf_spin spin;
    struct tally tally = {0};

    hf_spin_init(&spin, 2);
    live(&w, &spin, 0, LEARN, &tally);
    memset(&tally, 0, sizeof tally);
    for (int i = 0; i < WAITS / 100; i++) {
        live(&w, &spin, 0, 99, &tally);
        callers_go_on(&w);
        w.batches[w.first % BATCHES].reply_us += 10000000;
        w.server_free_us += 10000000;
        live(&w, &spin, 0, 1, &tally);
    }
    ck_assert_uint_gt(tally.looks, tally.waits * 9 / 10);
}
END_TEST

/* SPIN-4: Whoever waits for what takes long does not burn a fifth of a millisecond for
 * each. */
START_TEST(waits_that_are_all_long_end_the_looking)
{
    struct world quick = world_of(&machines[0], 1);
    struct machine slow_server = machines[0];
    struct tally tally = {0}, then = {0};
    struct world slow;
    struct hf_spin spin;

    slow_server.serve_us = 20000;
    slow = world_of(&slow_server, 1);
    hf_spin_init(&spin, 2);
    live(&quick, &spin, 0, WAITS, &tally);
    live(&slow, &spin, 0, 2000, &tally);
    live(&slow, &spin, 0, 10000, &then);
    ck_assert_uint_lt(then.looks, 200);
}
END_TEST

/* Sleeping costs little while the other side is still awake from the looking, and much as
 * soon as it sleeps. */
static int64_t us_of(const struct hf_spin *spin, bool looks)
{
    if (looks)
        return 20;
    return spin->regime == SPIN_LOOK ? 5 : 100;
}

/* One wait of that world. */
static void wait_there(struct hf_spin *spin)
{
    struct hf_spin_plan plan = hf_spin_plan(spin);
    bool looks = plan.look_us > 0;
    struct hf_spin_result wait = {.is_found_by_looking = looks, .callers_answered = 1};

    wait.duration_us = us_of(spin, looks);
    if (looks || plan.is_measured)
        hf_spin_note(spin, plan, &wait);
}

/* SPIN-5 */
START_TEST(looking_ends_later_each_time_that_sleeping_only_seemed_cheap)
{
    struct hf_spin spin;
    int last = 0;

    hf_spin_init(&spin, 2);
    for (int i = 0; i < 2; i++) {
        int waits = 0;

        while (spin.regime == SPIN_SLEEP)
            wait_there(&spin);
        for (; spin.regime == SPIN_LOOK; waits++)
            wait_there(&spin);
        ck_assert_int_gt(waits, last);
        last = waits;
    }
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
    bool has_yielded;        /* since the last look */
    int64_t rude;            /* looks without */
} sham;

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
    sham.has_yielded = true;
    return __real_sched_yield();
}

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
    if (timeout_ms == 0)
        sham.rude += !sham.has_yielded;
    sham.has_yielded = false;
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

/* SPIN-4: However long a single look takes: one that began in time is the last. Threads
 * that wait for the processor go before each, the first among them: there may be a
 * reply already, and others with a command. */
START_TEST(loop_looks_for_so_long_and_then_sleeps)
{
    struct hf_loop_options options = {.size = sizeof options, .thread = false};
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
    ck_assert_int_eq(sham.rude, 0);
    ck_assert_int_le(sham.looks_max, (SPIN_MAX_US + step_us - 1) / step_us);
}
END_TEST

/* DRIVER-7: What drives without being a blocked caller, as the background thread does. */
START_TEST(only_a_blocked_caller_looks)
{
    struct hf_loop_options options = {.size = sizeof options, .thread = false};
    struct hf_loop *loop;

    sham.now_us = 1000000;
    sham.step_us = 1;
    sham.is_on = true;
    must(hf_loop_new(&loop, &options) == HF_OK);
    for (int i = 0; i < 1000; i++)
        hf_loop_dispatch(loop, 5);
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
    int rows = (int)(MACHINES * CALLERS);

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, cheaper_regime_is_used, 0, rows);
    tcase_add_loop_test(c, regime_follows_a_change, 0, rows);
    tcase_add_loop_test(c, lone_caller_gains_where_wakeups_are_expensive, 0, 2);
    tcase_add_loop_test(c, far_server_is_not_looked_for, 0, (int)CALLERS);
    tcase_add_test(c, one_processor_never_looks);
    tcase_add_test(c, replies_found_at_once_but_fewer_are_not_looked_for);
    tcase_add_test(c, rare_long_wait_changes_nothing);
    tcase_add_test(c, waits_that_are_all_long_end_the_looking);
    tcase_add_test(c, looking_ends_later_each_time_that_sleeping_only_seemed_cheap);
    tcase_add_loop_test(c, loop_looks_for_so_long_and_then_sleeps, 0,
                        (int)(sizeof steps_us / sizeof *steps_us));
    tcase_add_test(c, only_a_blocked_caller_looks);
    suite_add_tcase(s, c);
    return suite_run(s);
}
