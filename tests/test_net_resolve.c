/* Names to addresses. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/loop/loop_inner.h"
#include "net/wire/resolve.h"
#include "tests/support/memory.h"
#include "tests/support/names.h"
#include "tests/support/suite.h"

#define PORT 7000
#define PATIENCE_MS 20000
#define FDS_MAX 256
#define THREADS_MAX HF_RESOLVE_THREADS_MAX

#define TWO(n) "10.0.0." #n " 10.0.1." #n " "
#define EIGHT(n) TWO(n##1) TWO(n##2) TWO(n##3) TWO(n##4)

static const struct name names[] = {
    {"mixed.test", .addresses = "::1 unix 10.0.0.2"},
    {"slow.test", .addresses = "::1 unix 10.0.0.2", .is_slow = true},
    {"many.test", .addresses = EIGHT(1) EIGHT(2) EIGHT(3)},
    {"alien.test", .addresses = "unix"},
    {"nobody.test", .error = EAI_NONAME},
    {"broken.test", .error = EAI_SYSTEM, .system_error = EMFILE},
};

/* ---- one who asks ---- */

struct asker {
    struct hf_loop *loop;
    struct hf_resolve *resolve;
    int answers;
    bool is_found;
    bool was_locked;
    bool cancels_other;       /* in `done` */
    struct asker *other;
    struct hf_addresses found;
    char why_not[200];
};

static struct memory memory;
static struct hf_loop *loop;

static void loop_open(void)
{
    struct hf_loop_options options = {.size = sizeof options, .mem = &memory.hook, .thread = false};

    memory_init(&memory);
    ck_assert_int_eq(hf_loop_new(&loop, &options), HF_OK);
}

static void loop_close(void)
{
    hf_loop_free(loop);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

static void cancel(struct asker *a)
{
    hf_resolve_cancel(a->resolve);
    a->resolve = NULL;
}

static void on_done(void *ctx, const struct hf_addresses *found,
                    const char *why_not)
{
    struct asker *a = ctx;

    a->answers++;
    a->resolve = NULL;
    a->was_locked = pthread_mutex_trylock(&a->loop->mutex) == EBUSY;
    a->is_found = found != NULL;
    ck_assert_int_ne(found != NULL, why_not != NULL);
    if (found)
        a->found = *found;
    else
        (void)strncpy(a->why_not, why_not, sizeof a->why_not - 1);
    if (a->cancels_other)
        cancel(a->other);
}

static hf_status ask(struct asker *a, const char *host)
{
    hf_status rc;

    a->loop = loop;
    hf_loop_lock(loop);
    rc = hf_resolve_start(&a->resolve, loop, host, PORT, on_done, a);
    hf_loop_unlock(loop);
    return rc;
}

static void cancel_locked(struct asker *a)
{
    hf_loop_lock(loop);
    cancel(a);
    hf_loop_unlock(loop);
}

static void await_answer(const struct asker *a)
{
    int64_t until = hf_clock_ms() + PATIENCE_MS;

    while (a->answers == 0 && hf_clock_ms() < until)
        hf_loop_dispatch(loop, 100);
    ck_assert_int_eq(a->answers, 1);
    ck_assert(a->was_locked);
}

static const char *text_of(const struct hf_address *a, char *dst)
{
    const void *bytes = &((const struct sockaddr_in *)&a->storage)->sin_addr;
    uint16_t port = ((const struct sockaddr_in *)&a->storage)->sin_port;

    if (a->storage.ss_family == AF_INET6)
        bytes = &((const struct sockaddr_in6 *)&a->storage)->sin6_addr;
    ck_assert_uint_eq(ntohs(port), PORT); /* at the same place in both */
    return inet_ntop(a->storage.ss_family, bytes, dst, INET6_ADDRSTRLEN);
}

/* ---- literals ---- */

static const struct {
    const char *host;
    int family;               /* AF_UNSPEC: no literal */
    const char *address;
} literals[] = {
    {"127.0.0.1", AF_INET, "127.0.0.1"},
    {"255.255.255.255", AF_INET, "255.255.255.255"},
    {"::1", AF_INET6, "::1"},
    {"2001:DB8::7", AF_INET6, "2001:db8::7"},
    {"::ffff:10.0.0.7", AF_INET6, "::ffff:10.0.0.7"},
    {"fe80::1%lo", AF_INET6, "fe80::1"},
    {"fe80::1%1", AF_INET6, "fe80::1"},
    {"", AF_UNSPEC, NULL},
    {"localhost", AF_UNSPEC, NULL},
    {"slow.test", AF_UNSPEC, NULL},
    {"256.0.0.1", AF_UNSPEC, NULL},
    {"1.2.3.4.5", AF_UNSPEC, NULL},
    {"::1::", AF_UNSPEC, NULL},
    {"[::1]", AF_UNSPEC, NULL},
    {"fe80::1%no-such-zone", AF_UNSPEC, NULL},
};

START_TEST(literal_is_answered_at_once_and_a_name_is_not)
{
    struct hf_addresses found;
    char text[INET6_ADDRSTRLEN];
    int family = literals[_i].family;

    ck_assert_int_eq(hf_resolve_literal(literals[_i].host, PORT, &found),
                     family != AF_UNSPEC);
    if (family == AF_UNSPEC)
        return;
    ck_assert_uint_eq(found.count, 1);
    ck_assert_int_eq(found.list[0].storage.ss_family, family);
    ck_assert_uint_eq(found.list[0].len,
                      family == AF_INET ? sizeof(struct sockaddr_in)
                                        : sizeof(struct sockaddr_in6));
    ck_assert_str_eq(text_of(&found.list[0], text), literals[_i].address);
    ck_assert_int_eq(names_asked(), 0);
}
END_TEST

START_TEST(zone_of_a_literal_is_kept)
{
    struct hf_addresses found;
    struct sockaddr_in6 in6;

    ck_assert(hf_resolve_literal("fe80::1%1", PORT, &found));
    memcpy(&in6, &found.list[0].storage, sizeof in6);
    ck_assert_uint_eq(in6.sin6_scope_id, 1);
}
END_TEST

/* ---- answers ---- */

START_TEST(localhost_is_a_loopback_address)
{
    struct asker a = {0};
    char text[INET6_ADDRSTRLEN];

    loop_open();
    ck_assert_int_eq(ask(&a, "localhost"), HF_OK);
    await_answer(&a);
    ck_assert(a.is_found && a.found.count > 0);
    (void)text_of(&a.found.list[0], text);
    ck_assert_msg(strcmp(text, "::1") == 0 || strncmp(text, "127.", 4) == 0,
                  "%s", text);
    loop_close();
}
END_TEST

/* Of the system's resolver alone: without a network it may take its time. */
START_TEST(unknown_name_is_reported_with_a_reason)
{
    struct asker a = {0};

    loop_open();
    ck_assert_int_eq(ask(&a, "no-such-host.invalid"), HF_OK);
    await_answer(&a);
    ck_assert(!a.is_found);
    ck_assert_str_ne(a.why_not, "");
    loop_close();
}
END_TEST

START_TEST(addresses_keep_their_order_and_other_families_are_left_out)
{
    struct asker a = {0};
    char text[INET6_ADDRSTRLEN];

    loop_open();
    ck_assert_int_eq(ask(&a, "mixed.test"), HF_OK);
    ck_assert_int_eq(a.answers, 0);
    await_answer(&a);
    ck_assert_uint_eq(a.found.count, 2);
    ck_assert_str_eq(text_of(&a.found.list[0], text), "::1");
    ck_assert_str_eq(text_of(&a.found.list[1], text), "10.0.0.2");
    loop_close();
}
END_TEST

START_TEST(more_addresses_than_fit_are_cut)
{
    struct asker a = {0};
    char text[INET6_ADDRSTRLEN];

    loop_open();
    ck_assert_int_eq(ask(&a, "many.test"), HF_OK);
    await_answer(&a);
    ck_assert_uint_eq(a.found.count, HF_ADDRESSES_MAX);
    ck_assert_str_eq(text_of(&a.found.list[0], text), "10.0.0.11");
    ck_assert_str_eq(text_of(&a.found.list[15], text), "10.0.1.24");
    loop_close();
}
END_TEST

static const struct {
    const char *host;
    int error;
    int system_error;
} failures[] = {
    {"nobody.test", EAI_NONAME, 0},
    {"alien.test", EAI_NONAME, 0},
    {"broken.test", EAI_SYSTEM, EMFILE},
};

START_TEST(failure_reports_why)
{
    struct asker a = {0};

    loop_open();
    ck_assert_int_eq(ask(&a, failures[_i].host), HF_OK);
    await_answer(&a);
    ck_assert(!a.is_found);
    ck_assert_str_eq(a.why_not, failures[_i].system_error
                                    ? strerror(failures[_i].system_error)
                                    : gai_strerror(failures[_i].error));
    loop_close();
}
END_TEST

START_TEST(many_lookups_at_once_are_all_answered)
{
    struct asker askers[32];

    memset(askers, 0, sizeof askers);
    loop_open();
    for (int i = 0; i < 32; i++)
        ck_assert_int_eq(ask(&askers[i], i % 2 ? "slow.test" : "mixed.test"),
                         HF_OK);
    names_open();
    for (int i = 0; i < 32; i++) {
        await_answer(&askers[i]);
        ck_assert_uint_eq(askers[i].found.count, 2);
    }
    loop_close();
}
END_TEST

/* ---- cancelling ---- */

START_TEST(cancelled_lookup_is_never_answered)
{
    struct asker a = {0};

    loop_open();
    ck_assert_int_eq(ask(&a, "slow.test"), HF_OK);
    cancel_locked(&a);
    cancel_locked(&a); /* takes NULL */
    names_open();
    names_await_hanging(0);
    hf_loop_dispatch(loop, 50);
    ck_assert_int_eq(a.answers, 0);
    loop_close();
}
END_TEST

/* The answer is in the pipe, and perhaps in the poller's hands. */
START_TEST(lookup_may_be_cancelled_when_its_answer_is_there)
{
    struct asker a = {0}, b = {0};

    loop_open();
    a.cancels_other = b.cancels_other = true;
    a.other = &b;
    b.other = &a;
    ck_assert_int_eq(ask(&a, "mixed.test"), HF_OK);
    ck_assert_int_eq(ask(&b, "mixed.test"), HF_OK);
    names_await_ended(2);
    for (int i = 0; i < 5; i++)
        hf_loop_dispatch(loop, 20);
    ck_assert_int_eq(a.answers + b.answers, 1);
    loop_close();
}
END_TEST

static int count_fds(void)
{
    int count = 0;

    for (int fd = 0; fd < FDS_MAX; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* RESOLVE-1, RESOLVE-2, RESOLVE-3: The thread returns when loop and allocator are long gone,
 * and until then both ends of the pipe are open. */
START_TEST(abandoned_thread_outlives_its_loop_and_cleans_up)
{
    struct asker a = {0};
    int before = count_fds();

    loop_open();
    ck_assert_int_eq(ask(&a, "slow.test"), HF_OK);
    names_await_hanging(1);
    cancel_locked(&a);
    loop_close();
    ck_assert_int_eq(count_fds(), before + 2);
    names_open();
    names_await_ended(1);
    ck_assert_int_eq(count_fds(), before);
    ck_assert_int_eq(a.answers, 0);
}
END_TEST

/* Cancelled at every moment: before the thread answers or while it does, for
 * it is given so many turns; in every second round after it has. */
START_TEST(cancel_may_meet_the_answer_at_any_moment)
{
    loop_open();
    for (int i = 0; i < 192; i++) {
        struct asker a = {0};

        ck_assert_int_eq(ask(&a, "mixed.test"), HF_OK);
        for (int turns = 0; turns < i % 32; turns++)
            (void)sched_yield();
        if (i % 2)
            names_await_ended(i + 1);
        if (i % 3 == 0)
            hf_loop_dispatch(loop, 0);
        cancel_locked(&a);
    }
    loop_close();
}
END_TEST

/* ---- limits and failures ---- */

static void hang_all(struct asker *askers)
{
    memset(askers, 0, THREADS_MAX * sizeof *askers);
    for (int i = 0; i < THREADS_MAX; i++)
        ck_assert_int_eq(ask(&askers[i], "slow.test"), HF_OK);
    names_await_hanging(THREADS_MAX);
}

START_TEST(lookups_that_hang_are_limited_also_when_cancelled)
{
    struct asker askers[THREADS_MAX], a = {0};

    loop_open();
    hang_all(askers);
    ck_assert_int_eq(ask(&a, "mixed.test"), HF_E_LIMIT);
    for (int i = 0; i < THREADS_MAX; i++)
        cancel_locked(&askers[i]);
    ck_assert_int_eq(ask(&a, "mixed.test"), HF_E_LIMIT);
    names_open();
    names_await_ended(THREADS_MAX);
    ck_assert_int_eq(ask(&a, "mixed.test"), HF_OK);
    await_answer(&a);
    loop_close();
}
END_TEST

/* TSan's hook: it would rather die than see a thread start after this fork. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

/* The parent's threads are not the child's, and neither is their number. */
START_TEST(forked_child_may_resolve_while_the_parent_hangs)
{
    struct hf_loop_options options = {.size = sizeof options, .mem = NULL, .thread = false};
    struct asker askers[THREADS_MAX], a = {0};
    int status;
    pid_t child;

    loop_open();
    hang_all(askers);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(hf_loop_new(&loop, &options) == HF_OK &&
              ask(&a, "localhost") == HF_OK ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    names_open();
    for (int i = 0; i < THREADS_MAX; i++)
        await_answer(&askers[i]);
    loop_close();
}
END_TEST

/* RESOLVE-3: The child has copies of both ends of the pipe, and keeps them. */
START_TEST(result_arrives_though_a_forked_child_has_the_pipe)
{
    struct asker a = {0};
    int end[2];
    char byte;
    pid_t child;

    loop_open();
    ck_assert_int_eq(pipe(end), 0);
    ck_assert_int_eq(ask(&a, "slow.test"), HF_OK);
    names_await_hanging(1);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        (void)close(end[1]);
        _exit(read(end[0], &byte, 1) == 0 ? 0 : 1); /* until the parent has ended it */
    }
    names_open();
    await_answer(&a);
    (void)close(end[0]);
    (void)close(end[1]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    loop_close();
}
END_TEST

START_TEST(failed_allocation_leaves_no_memory)
{
    struct asker a = {0};
    hf_status rc = HF_E_NOMEM;

    loop_open();
    for (uint64_t n = 1; rc != HF_OK; n++) {
        memory_fail_at(&memory, n);
        rc = ask(&a, "mixed.test");
        ck_assert_int_eq(rc, memory_has_failed(&memory) ? HF_E_NOMEM : HF_OK);
    }
    await_answer(&a);
    loop_close();
}
END_TEST

START_TEST(without_descriptors_it_fails_and_leaves_no_memory)
{
    struct asker a = {0};
    struct rlimit limit, none;
    hf_status rc;

    loop_open();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    rc = ask(&a, "mixed.test");
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(rc, HF_E_SYSTEM);
    ck_assert_int_eq(names_asked(), 0);
    loop_close();
}
END_TEST

START_TEST(name_that_is_too_long_is_refused)
{
    struct asker a = {0};
    char host[257];

    loop_open();
    memset(host, 'x', sizeof host);
    host[256] = '\0';
    ck_assert_int_eq(ask(&a, host), HF_E_INVAL);
    loop_close();
}
END_TEST

START_TEST(thread_takes_no_signals_and_leaves_ours_alone)
{
    struct asker a = {0};
    sigset_t mask;

    loop_open();
    ck_assert_int_eq(ask(&a, "mixed.test"), HF_OK);
    await_answer(&a);
    ck_assert(names_were_signal_free());
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    ck_assert(!sigismember(&mask, SIGTERM));
    loop_close();
}
END_TEST

START_TEST(descriptors_are_closed_on_exec)
{
    struct asker a = {0};
    bool was_open[FDS_MAX];

    loop_open();
    for (int fd = 0; fd < FDS_MAX; fd++)
        was_open[fd] = fcntl(fd, F_GETFD) >= 0;
    ck_assert_int_eq(ask(&a, "slow.test"), HF_OK);
    for (int fd = 0; fd < FDS_MAX; fd++)
        if (!was_open[fd] && fcntl(fd, F_GETFD) >= 0)
            ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    names_open();
    await_answer(&a);
    loop_close();
}
END_TEST

static TCase *case_answers(void)
{
    TCase *c = tcase_create("answers");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, literal_is_answered_at_once_and_a_name_is_not, 0,
                        (int)(sizeof literals / sizeof *literals));
    tcase_add_test(c, zone_of_a_literal_is_kept);
    tcase_add_test(c, localhost_is_a_loopback_address);
    tcase_add_test(c, unknown_name_is_reported_with_a_reason);
    tcase_add_test(c,
                   addresses_keep_their_order_and_other_families_are_left_out);
    tcase_add_test(c, more_addresses_than_fit_are_cut);
    tcase_add_loop_test(c, failure_reports_why, 0,
                        (int)(sizeof failures / sizeof *failures));
    tcase_add_test(c, many_lookups_at_once_are_all_answered);
    return c;
}

static TCase *case_cancelling(void)
{
    TCase *c = tcase_create("cancelling");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, cancelled_lookup_is_never_answered);
    tcase_add_test(c, lookup_may_be_cancelled_when_its_answer_is_there);
    tcase_add_test(c, abandoned_thread_outlives_its_loop_and_cleans_up);
    tcase_add_test(c, cancel_may_meet_the_answer_at_any_moment);
    return c;
}

static TCase *case_limits(void)
{
    TCase *c = tcase_create("limits");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, lookups_that_hang_are_limited_also_when_cancelled);
    tcase_add_test(c, forked_child_may_resolve_while_the_parent_hangs);
    tcase_add_test(c, result_arrives_though_a_forked_child_has_the_pipe);
    tcase_add_test(c, failed_allocation_leaves_no_memory);
    tcase_add_test(c, without_descriptors_it_fails_and_leaves_no_memory);
    tcase_add_test(c, name_that_is_too_long_is_refused);
    tcase_add_test(c, thread_takes_no_signals_and_leaves_ours_alone);
    tcase_add_test(c, descriptors_are_closed_on_exec);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/resolve");

    names_are(names, sizeof names / sizeof *names);
    suite_add_tcase(s, case_answers());
    suite_add_tcase(s, case_cancelling());
    suite_add_tcase(s, case_limits());
    return suite_run(s);
}
