/* Real processes, real servers, and whatever goes wrong: the same properties as the
 * simulation's, and the same judge (tests/judge).
 *
 * HF_SECONDS long, in rounds, standalone, behind sentinels, in a cluster, on servers that know
 * nothing of each other, and on a master and replicas that the URL names (HF_CHAOS: one of them).
 * In a round processes take the same few locks of every kind (chaos_worker.c), or sets of locks,
 * semaphores and latches (chaos_sets.c), a driver lets servers, links and processes fail
 * (chaos_faults.c), and each server is watched (chaos_watch.c). Then all is mended
 * and becomes quiet; what was said and done is merged into one history by time, and
 * judged (chaos_verdict.c). The folder of a history that is wrong is left. */
#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/soak/chaos_guarded.h"
#include "tests/soak/chaos_sets.h"
#include "tests/soak/chaos_faults.h"
#include "tests/soak/chaos_verdict.h"
#include "tests/support/dice.h"
#include "tests/support/local.h"
#include "tests/support/suite.h"

#define SECONDS 60
#define ROUND_S 60                  /* at most: a history fits into memory */
/* Until a dead client's hold has expired: leases add up for a writer. */
#define EMPTY_MS 60000
#define IDLE_MS 60000
/* Nothing fails, and waiters must be woken. */
#define CALM_MS 10000
/* With a bug put in. */
#define BUG_S 30
#define TOKENS "redisson_lock_token:"

static const char *const places[] = {"standalone", "sentinel", "cluster",
                                     "independent", "hosts"};

static struct {
    uint64_t operations, grants, losses, leads, looks;
    int64_t least_us, most_us;
    size_t wrong;
} total = {.least_us = INT64_MAX};

/* What HF_CHAOS_BUG puts into the processes, and which property it must violate. */
struct bug {
    const char *name;
    const char *place;
    int property;
};

static const struct bug bugs[] = {
    {"belief", "standalone", 10},   /* CHAOS_BELIEF_MS longer than the client says */
    {"wake", "standalone", 5},      /* no waiter hears of a release */
    {"sets", "independent", 1},     /* belief goes on CHAOS_BELIEF_MS after a release */
};

/* NULL: none. */
static const struct bug *bug_put_in(void)
{
    const char *name = getenv("HF_CHAOS_BUG");

    for (int i = 0; name && i < ROWS(bugs); i++)
        if (strcmp(bugs[i].name, name) == 0)
            return &bugs[i];
    return NULL;
}

/* ---- the end of a round ---- */

/* Keys, but for the counters of fencing tokens, which stay for ever. */
static bool is_empty(struct place *p)
{
    for (int i = 0; i < p->server_count; i++) {
        const char *keys = server_ask(p->servers[i], "KEYS *");

        while (*keys) {
            if (strncmp(keys, TOKENS, sizeof TOKENS - 1))
                return false;
            keys += strcspn(keys, " ");
            keys += strspn(keys, " ");
        }
    }
    return true;
}

/* What has an owner, and ends with it. */
static bool has_no_sets(struct place *p)
{
    for (int i = 0; i < p->server_count; i++)
        if (server_ask_int(p->servers[i],
                           "EXISTS " CHAOS_SETS_QUORUM " " CHAOS_SETS_LEADER
                           " " CHAOS_SETS_MEMBER "0 " CHAOS_SETS_MEMBER "1") != 0)
            return false;
    return true;
}

static bool is_over(struct place *p)
{
    return p->is_independent ? has_no_sets(p) : is_empty(p);
}

/* Permits are neither made nor lost, except with processes that were killed. */
static void check_sets(struct run *r)
{
    int64_t permits, most = CHAOS_SETS_PERMITS + r->kills * RUN_PERMITS_LOST;

    if (!r->place->is_independent)
        return;
    permits = server_ask_int(r->place->servers[0], "INCRBY " CHAOS_SETS_SEMAPHORE " 0");
    if (permits < CHAOS_SETS_PERMITS || permits > most) {
        (void)printf("%" PRId64 " permits, not %d to %" PRId64 "\n", permits,
                     CHAOS_SETS_PERMITS, most);
        total.wrong++;
    }
    if (!has_no_sets(r->place)) {
        (void)printf("members are held, and nobody has them\n");
        total.wrong++;
    }
}

static void await_empty(struct place *p)
{
    int64_t end_ms = local_now_ms() + EMPTY_MS;

    while (!is_over(p) && local_now_ms() < end_ms)
        local_rest_us(20000);
}

static void say_keys(struct run *r)
{
    for (int i = 0; i < r->place->server_count; i++) {
        char *keys = local_copy(server_ask(r->place->servers[i], "KEYS *"));

        for (char *at = strtok(keys, " "); at; at = strtok(NULL, " "))
            run_line(r, "s1 key name=%s%s", at,
                     strncmp(at, TOKENS, sizeof TOKENS - 1) ? "" : " may=token");
        free(keys);
    }
}

static void become_quiet(struct run *r)
{
    place_mend(r->place);
    for (int i = 0; i < RUN_WORKERS; i++)
        run_go(r, i);
    if (!run_order(r, 'q', "idle\n", IDLE_MS))
        total.wrong++;
    await_empty(r->place);
    run_line(r, "w quiet");
    if (!run_order(r, 'c', "said\n", IDLE_MS))
        total.wrong++;
    check_sets(r);
    if (!r->place->is_independent)
        say_keys(r);
    run_line(r, "w over");
}

/* ---- a round ---- */

static void start_round(struct run *r, const char *place)
{
    char path[RUN_PATH_ROOM];

    (void)snprintf(r->folder, sizeof r->folder, "/tmp/holdfast-chaos-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(r->folder));
    r->lines = fopen(run_path(r, "driver", 0, path), "w");
    ck_assert_ptr_nonnull(r->lines);
    r->place = place_start(place);
    for (int i = 0; i < r->place->server_count; i++)
        r->watches[i] = chaos_watch_start(
            r->place->servers[i], run_path(r, "server", (unsigned)i + 1, path));
    for (int i = 0; i < r->place->server_count; i++)
        chaos_watch_await(r->watches[i]);
    for (int i = 0; i < RUN_WORKERS; i++)
        run_start(r, i);
}

/* The workers end after the history: what their clients say of it is not judged. */
static void end_round(struct run *r)
{
    become_quiet(r);
    (void)fclose(r->lines);
    r->lines = fopen("/dev/null", "w");
    ck_assert_ptr_nonnull(r->lines);
    for (int i = 0; i < RUN_ALL; i++)
        run_close(r, i);
    for (int i = 0; i < r->place->server_count; i++)
        chaos_watch_stop(r->watches[i]);
    (void)fclose(r->lines);
}

static void remove_folder(const struct run *r)
{
    char command[RUN_PATH_ROOM];

    (void)snprintf(command, sizeof command, "rm -r %s", r->folder);
    ck_assert_int_eq(system(command), 0);
}

/* Of each server, as it is now: "log1", ... of the run's folder. */
static void keep_logs(const struct run *r)
{
    char command[2 * RUN_PATH_ROOM + 600], path[RUN_PATH_ROOM];

    for (int i = 0; i < r->place->server_count; i++) {
        (void)snprintf(command, sizeof command, "cp %.500s/log %s 2>/dev/null",
                       server_folder(r->place->servers[i]),
                       run_path(r, "log", (unsigned)i + 1, path));
        if (system(command) != 0)
            (void)printf("server %d: its log is gone\n", i + 1);
    }
}

/* What is needed to look at it, and to try it again. */
static void tell_what_is_left(const struct run *r, uint64_t seed)
{
    (void)printf("left: %s: history0 (build/judge --overlap %s/history0), driver0, "
                 "client* (lines of processes), server* (MONITOR), log* (servers)\n"
                 "the same choices, not the same times: HF_SEED=%" PRIu64
                 " HF_CHAOS=%s make chaos\n",
                 r->folder, r->folder, seed, r->place->name);
}

static void reckon(const struct run *r, const struct verdict *v)
{
    const struct judge_stats *s = &v->stats;

    (void)printf("%s: %u processes, %lu scripts, %" PRIu64 " grants, %" PRIu64
                 " losses told; lead before expiry %.1f, %.1f, %.1f ms of %" PRIu64
                 "; %lu looks at locks, %lu not as expected; %zu violations\n",
                 r->place->name, r->clients, v->model.scripts, s->grants,
                 s->losses, (double)s->lead_least_us / 1000,
                 (double)s->lead_median_us / 1000, (double)s->lead_most_us / 1000,
                 s->leads, v->model.compared, v->model.wrong, v->violations);
    total.operations += v->model.scripts;
    total.grants += s->grants;
    total.looks += v->model.compared;
    total.losses += s->losses;
    total.leads += s->leads;
    if (s->leads && s->lead_least_us < total.least_us)
        total.least_us = s->lead_least_us;
    if (s->leads && s->lead_most_us > total.most_us)
        total.most_us = s->lead_most_us;
    total.wrong += v->violations + v->model.wrong;
}

static struct verdict play_round(const char *place, uint64_t *seed,
                                 int64_t seconds)
{
    struct run *r = local_new(sizeof *r);
    uint64_t first = *seed;
    int64_t end_ms = local_now_ms() + seconds * 1000 - CALM_MS;
    size_t wrong = total.wrong;
    struct verdict v;

    r->seed = dice_bits(seed);
    start_round(r, place);
    (void)printf("%s: HF_SEED=%" PRIu64 ", files in %s\n", place, first, r->folder);
    (void)fflush(stdout); /* an assertion may end the round */
    while (local_now_ms() < end_ms) {
        guarded_start(r);
        faults_one(r);
    }
    guarded_end(r);
    for (int i = RUN_WORKERS; i < RUN_ALL; i++)
        run_start(r, i);
    local_rest_us(CALM_MS * 1000);
    end_round(r);
    v = verdict_of(r);
    reckon(r, &v);
    if ((total.wrong == wrong || bug_put_in()) && !getenv("HF_KEEP")) {
        remove_folder(r);
    } else {
        keep_logs(r);
        tell_what_is_left(r, first);
    }
    (void)fflush(stdout); /* an assertion that fails forgets it */
    place_stop(r->place);
    free(r);
    return v;
}

/* ---- all rounds ---- */

static bool is_wanted(const char *place)
{
    const char *only = getenv("HF_CHAOS");

    return !only || !*only || strcmp(only, place) == 0;
}

static int wanted_places(void)
{
    int count = 0;

    for (int i = 0; i < ROWS(places); i++)
        count += is_wanted(places[i]);
    return count;
}

static void tell_faults(int64_t seconds)
{
    unsigned least = faults_done(0);

    (void)printf("faults:");
    for (int i = 0; i < faults_count(); i++) {
        (void)printf(" %s %u", faults_name(i), faults_done(i));
        if (faults_done(i) < least)
            least = faults_done(i);
    }
    (void)printf("\n");
    (void)fflush(stdout);
    if (seconds >= SECONDS && wanted_places() == ROWS(places))
        ck_assert_msg(least > 0, "a fault was never done");
}

static void tell_total(void)
{
    (void)printf("%" PRIu64 " operations, %" PRIu64 " grants, %" PRIu64
                 " looks, %zu wrong; %" PRIu64 " losses told, %" PRIu64
                 " of them before expiry: %.1f ms at least, %.1f at most\n",
                 total.operations, total.grants, total.looks, total.wrong,
                 total.losses, total.leads,
                 total.leads ? (double)total.least_us / 1000 : 0.0,
                 (double)total.most_us / 1000);
}

static uint64_t first_seed(void)
{
    const char *text = getenv("HF_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 10) : (uint64_t)chaos_now_us();

    (void)printf("HF_SEED=%" PRIu64 "\n", seed);
    return seed;
}

START_TEST(no_property_is_violated)
{
    const char *text = getenv("HF_SECONDS");
    int64_t seconds = text ? atoll(text) : SECONDS, left_s = seconds;
    uint64_t seed = first_seed();
    int wanted = wanted_places();

    while (left_s > 0) {
        int64_t each_s = left_s / wanted < ROUND_S ? left_s / wanted + 1 : ROUND_S;

        for (int i = 0; i < ROWS(places); i++)
            if (is_wanted(places[i]))
                (void)play_round(places[i], &seed, each_s);
        left_s -= each_s * wanted;
    }
    tell_total();
    tell_faults(seconds);
    ck_assert_uint_eq(total.wrong, 0);
}
END_TEST

START_TEST(bug_is_found)
{
    uint64_t seed = first_seed();
    struct verdict v = play_round(bug_put_in()->place, &seed, BUG_S);

    ck_assert_uint_gt(v.violations_of[bug_put_in()->property], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chaos");
    TCase *c = tcase_create("chaos");

    if (!server_is_installed()) {
        (void)printf("skipped: chaos (no server installed)\n");
        return 77;
    }
    tcase_set_timeout(c, 0);
    (void)signal(SIGPIPE, SIG_IGN); /* of workers that are gone */
    if (bug_put_in())
        tcase_add_test(c, bug_is_found);
    else
        tcase_add_test(c, no_property_is_violated);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
