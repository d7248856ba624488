/* Workers that acquire and release locks. */
/* Tests: tests/live/cli/test_bench.c. */
#include "cli/bench/load.h"

#include "cli/base/report.h"
#include "cli/base/signals.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/random.h"
#include "net/loop/clock.h"

/* The lease of a lock that this process did not live to release. It is much longer than any
 * pause of a server that still gives useful times. */
#define LEASE_MS 10000

/* ---- the end ---- */

static void release_lock(struct bench_worker *w);

static bool are_all_workers_idle(const struct bench_load *load)
{
    for (size_t i = 0; i < load->active_workers; i++)
        if (load->workers[i].state != WORKER_IDLE)
            return false;
    return true;
}

/* LOAD-3. */
static void stop_load(struct bench_load *load)
{
    if (load->must_end)
        return;
    load->must_end = true;
    load->ended_us = hf_clock_us();
    for (size_t i = 0; i < load->active_workers; i++) {
        struct bench_worker *w = &load->workers[i];

        if (w->state == WORKER_WAITING)
            hf_cancel_fire(&w->cancel);
        else if (w->state == WORKER_HELD)
            release_lock(w);
    }
}

static void fail_load(struct bench_load *load, hf_status status, const struct hf_error *err)
{
    if (load->error.status == HF_OK) {
        if (err && err->status < 0)
            load->error = *err;
        else
            (void)hf_error_set(&load->error, status, "%s", hf_status_text(status));
    }
    stop_load(load);
}

/* ---- LOAD-2 ---- */

static bool do_others_wait(const struct bench_load *load, const struct bench_worker *holder)
{
    for (size_t i = 0; i < load->active_workers; i++) {
        const struct bench_worker *w = &load->workers[i];

        if (w != holder && !(w->state == WORKER_WAITING && w->has_waited))
            return false;
    }
    return true;
}

static struct bench_worker *worker_that_holds(struct bench_load *load)
{
    for (size_t i = 0; i < load->active_workers; i++)
        if (load->workers[i].state == WORKER_HELD)
            return &load->workers[i];
    return NULL;
}

static void acquire_lock(struct bench_worker *w);

/* After each event: the holder releases, and its predecessor waits again. */
static void hand_over_if_waited_for(struct bench_load *load)
{
    struct bench_worker *holder = worker_that_holds(load);

    if (!holder || load->must_end)
        return;
    for (size_t i = 0; i < load->active_workers; i++)
        if (load->workers[i].state == WORKER_IDLE)
            acquire_lock(&load->workers[i]);
    if (do_others_wait(load, holder))
        release_lock(holder);
}

/* ---- a worker ---- */

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    struct bench_worker *w = ctx;
    struct bench_load *load = w->load;
    int64_t now_us = hf_clock_us();

    w->state = WORKER_IDLE;
    if (status != HF_OK) {
        fail_load(load, status, err);
        return;
    }
    bench_samples_add(&load->releases, now_us - w->released_us);
    bench_samples_add(&load->acquires_and_releases,
                      now_us - w->released_us + w->granted_us - w->acquire_begun_us);
    if (!load->must_end && ++load->pairs == load->pairs_max)
        stop_load(load);
    if (load->form == LOAD_HANDOVER)
        hand_over_if_waited_for(load);
    else if (!load->must_end)
        acquire_lock(w);
}

static void release_lock(struct bench_worker *w)
{
    hf_status rc;

    HF_ASSERT(w->state == WORKER_HELD);
    w->state = WORKER_RELEASING;
    w->released_us = hf_clock_us();
    w->load->last_holder = w;
    rc = hf_lock_release_async(w->current_lock, w->owner, on_released, w);
    if (rc < 0)
        on_released(w, rc, NULL);
}

static void record_hand_over_time(struct bench_load *load, const struct bench_worker *w)
{
    if (load->form == LOAD_HANDOVER && load->last_holder && load->last_holder != w && w->has_waited)
        bench_samples_add(&load->handovers, w->granted_us - load->last_holder->released_us);
}

static void handle_grant(struct bench_worker *w)
{
    struct bench_load *load = w->load;

    w->granted_us = hf_clock_us();
    w->state = WORKER_HELD;
    if (!load->must_end) {
        bench_samples_add(&load->acquires, w->granted_us - w->acquire_begun_us);
        record_hand_over_time(load, w);
    }
    if (load->form != LOAD_HANDOVER || load->must_end)
        release_lock(w);
    else
        hand_over_if_waited_for(load);
}

static void on_acquired(void *ctx, hf_status status, const struct hf_error *err)
{
    struct bench_worker *w = ctx;

    if (status == HF_OK) {
        handle_grant(w);
        return;
    }
    w->state = WORKER_IDLE;
    if (status != HF_CANCELLED)
        fail_load(w->load, status, err);
}

static void on_wait(void *ctx, struct hf_lock *lock, const struct hf_lock_info *info)
{
    struct bench_worker *w = ctx;

    (void)lock;
    (void)info;
    w->has_waited = true;
    if (w->load->form == LOAD_HANDOVER)
        hand_over_if_waited_for(w->load);
}

static void acquire_lock(struct bench_worker *w)
{
    struct hf_acquire_options options;
    hf_status rc;

    HF_ASSERT(w->state == WORKER_IDLE);
    hf_acquire_options_init(&options);
    options.owner = w->owner;
    options.lease_ms = LEASE_MS;
    options.cancel = &w->cancel;
    options.on_wait = on_wait;
    options.ctx = w;
    w->state = WORKER_WAITING;
    w->has_waited = false;
    w->acquire_begun_us = hf_clock_us();
    rc = hf_lock_acquire_async(w->current_lock, &options, on_acquired, w);
    if (rc < 0)
        on_acquired(w, rc, NULL);
}

/* ---- the load ---- */

/* Callbacks of timers have the loop's lock: the end needs it itself. */
static void on_end_task(struct hf_task *task)
{
    struct bench_load *load = HF_OWNER_OF(task, struct bench_load, task);

    hf_loop_unlock(load->wait->loop);
    stop_load(load);
    hf_loop_lock(load->wait->loop);
}

static void on_end_timer(struct hf_timer *timer)
{
    struct bench_load *load = HF_OWNER_OF(timer, struct bench_load, timer);

    hf_loop_post(load->wait->loop, &load->task);
}

static bool reserve_samples(struct bench_load *load, size_t max)
{
    bool has_space = bench_samples_reserve(&load->acquires, max);

    has_space = bench_samples_reserve(&load->releases, max) && has_space;
    has_space = bench_samples_reserve(&load->acquires_and_releases, max) && has_space;
    return bench_samples_reserve(&load->handovers, max) && has_space;
}

static void free_samples(struct bench_load *load)
{
    bench_samples_fini(&load->acquires);
    bench_samples_fini(&load->releases);
    bench_samples_fini(&load->acquires_and_releases);
    bench_samples_fini(&load->handovers);
}

static void start_workers(struct bench_load *load, int64_t end_ms)
{
    struct hf_loop *loop = load->wait->loop;

    load->timer = (struct hf_timer){.fire = on_end_timer};
    hf_task_init(&load->task, on_end_task);
    hf_loop_lock(loop);
    hf_loop_arm(loop, &load->timer, end_ms);
    hf_loop_unlock(loop);
    load->begun_us = hf_clock_us();
    for (size_t i = 0; i < load->active_workers; i++) {
        struct bench_worker *w = &load->workers[i];

        w->state = WORKER_IDLE;
        w->current_lock = load->form == LOAD_OWN ? w->own_lock : w->shared_lock;
        w->owner = hf_owner_new();
        hf_cancel_init(&w->cancel, w->client);
    }
    for (size_t i = 0; i < load->active_workers && !load->must_end; i++)
        if (load->workers[i].state == WORKER_IDLE)
            acquire_lock(&load->workers[i]);
}

static void wait_for_load_end(struct bench_load *load)
{
    struct hf_loop *loop = load->wait->loop;

    while (!(load->must_end && are_all_workers_idle(load))) {
        hf_loop_dispatch(loop, -1);
        if (load->wait->must_cancel)
            stop_load(load);
        load->wait->must_cancel = false;
    }
    hf_loop_lock(loop);
    hf_loop_disarm(loop, &load->timer);
    hf_loop_unpost(loop, &load->task);
    hf_loop_unlock(loop);
}

static void compute_result(struct bench_load *load, struct bench_result *out)
{
    int64_t us = load->ended_us - load->begun_us;

    *out = (struct bench_result){.acquires = bench_samples_times(&load->acquires),
                                 .releases = bench_samples_times(&load->releases),
                                 .acquires_and_releases =
                                     bench_samples_times(&load->acquires_and_releases),
                                 .handovers = bench_samples_times(&load->handovers)};
    if (us > 0)
        out->pairs_per_second = (double)load->pairs * 1e6 / (double)us;
}

int bench_load_run(struct bench_load *load, enum bench_load_form form, size_t active,
                   size_t pairs_max, int64_t end_ms, struct bench_result *out)
{
    int rc = CLI_CONTINUE;

    load->form = form;
    load->active_workers = active;
    load->pairs_max = pairs_max;
    load->pairs = 0;
    load->must_end = false;
    load->last_holder = NULL;
    load->error = (struct hf_error){0};
    if (!reserve_samples(load, pairs_max + active))
        rc = cli_fail("out of memory");
    if (rc == CLI_CONTINUE) {
        start_workers(load, end_ms);
        wait_for_load_end(load);
        compute_result(load, out);
    }
    free_samples(load);
    if (rc == CLI_CONTINUE && load->error.status < 0)
        rc = cli_fail_status(load->error.status, &load->error);
    return rc;
}

/* ---- the clients ---- */

static int open_worker(struct bench_worker *w, const struct bench_plan *plan,
                       const char *shared_name)
{
    struct hf_client_options options;
    int rc;

    hf_client_options_init(&options);
    options.loop = w->load->wait->loop;
    options.connect_once = true;
    rc = cli_client_open(&w->client, plan->common, &options);
    if (rc == CLI_CONTINUE)
        rc = cli_lock_open(&w->own_lock, w->client, plan->kind, w->own_name);
    if (rc == CLI_CONTINUE)
        rc = cli_lock_open(&w->shared_lock, w->client, plan->kind, shared_name);
    return rc;
}

int bench_load_open(struct bench_load *load, const struct bench_plan *plan)
{
    bool is_cluster = cli_common_is_cluster(plan->common);
    char shared_name[BENCH_OWN_MAX];
    uint32_t number = 0;
    uint64_t random;
    int rc = CLI_CONTINUE;

    if (!hf_random_bytes(&random, sizeof random))
        return cli_fail("the kernel returned no random bytes");
    (void)bench_name_make(shared_name, plan->name, random, &number, is_cluster);
    for (size_t i = 0; i < plan->workers_count && rc == CLI_CONTINUE; i++) {
        struct bench_worker *w = &load->workers[load->workers_count++];

        w->load = load;
        (void)bench_name_make(w->own_name, plan->name, random, &number, is_cluster);
        rc = open_worker(w, plan, shared_name);
    }
    return rc;
}

/* All clients share the time, as they share the loop. */
hf_status bench_load_close(struct bench_load *load)
{
    int64_t end_ms = hf_clock_ms() + (load->wait->ending_signal ? CLI_WAIT_AFTER_SIGNAL_MS
                                                         : CLI_WAIT_LINGER_MS);
    hf_status worst = HF_OK;

    for (size_t i = 0; i < load->workers_count; i++)
        worst = cli_client_close_and_merge_status(load->workers[i].client, end_ms, worst);
    for (size_t i = 0; i < load->workers_count; i++) {
        hf_lock_free(load->workers[i].own_lock);
        hf_lock_free(load->workers[i].shared_lock);
        hf_client_free(load->workers[i].client);
    }
    return worst;
}
