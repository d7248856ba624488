/* `holdfast watch`: says what happens to locks, a line for each event. The server reports that
 * a lock has changed; otherwise it looks at them again and again. Between two looks it knows
 * nothing. */
/* Tests: tests/live/cli/test_watch.c. */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/common.h"
#include "cli/base/label.h"
#include "cli/base/json.h"
#include "cli/base/lock_words.h"
#include "cli/base/report.h"
#include "cli/base/wall_clock.h"
#include "cli/lock/inspect_any.h"
#include "cli/lock/timed.h"
#include "cli/lock/watch_events.h"
#include "cli/lock/watch_pushes.h"
#include "net/base/error.h"
#include "net/base/moment.h"

#define EVERY_MS 500   /* the default of --every */
#define EVERY_LEAST_MS 50   /* a shorter interval would load the server */
#define BEFORE_END_MS 20   /* the last poll of a lease: more than a round trip */
#define READER_MS 500           /* between two looks at standard output */
#define AFTER_END_MS 10         /* with pushes, a lease has ended at the server */
#define END_MS 100              /* after --for: the replies that the last poll waits for */
#define CONNECT_MS 5000         /* the default of --connect-timeout, which --for shortens */
#define LABEL_MS 750            /* a holder stores its label after half a second; it is then read
                                   after twice the time each, until LABEL_MAX_MS */
#define LABEL_MAX_MS 6000
#define NAMES_MAX 1000   /* each name is one request for each poll */

struct watched_lock {
    const char *name;
    struct cli_snapshot last_snapshot; /* the last one that was answered */
    size_t labelled_holder_len;  /* the holder whose label was read last */
    char labelled_holder[HF_OWNER_TEXT_MAX];
    char label[HF_LABEL_MAX + 1];
    bool is_state_unknown;       /* no look was answered since */
    bool are_changes_pushed;     /* the server reports its changes */
    int64_t last_look_ms;        /* the last look */
    int64_t next_look_ms;        /* the next look; 0: at once */
    int64_t read_label_again_ms; /* when a label that was missing is read again; HF_NEVER */
    int64_t label_pause_ms;      /* before that */
};

struct watch {
    const struct cli_common *common;
    int64_t poll_interval_ms;
    int64_t watch_duration_ms;       /* 0: until it is ended */
    bool polls_only;                 /* --every */
    struct hf_loop *loop;
    struct hf_client *client;
    struct cli_pushes *pushes;       /* NULL: it polls */
    struct cli_timed timed_requests; /* its requests; without --for, until HF_NEVER */
    struct watched_lock *locks;
    size_t locks_count;
};

/* ---- the label ---- */

static bool is_label_of_holder(const struct watched_lock *w, const struct hf_lock_info *info)
{
    return w->labelled_holder_len == info->holder_len &&
           memcmp(w->labelled_holder, info->holder, info->holder_len) == 0;
}

static void read_label_again_later(struct watched_lock *w, int64_t wait_ms)
{
    w->label_pause_ms = wait_ms;
    w->read_label_again_ms = wait_ms <= LABEL_MAX_MS ? hf_clock_ms() + wait_ms : HF_NEVER;
}

/* A holder that has just acquired the lock stores its label later, so "" is read again. */
static const char *read_label_now(struct watch *watch, struct watched_lock *w,
                                  const struct hf_lock_info *info)
{
    if (!info->is_locked || info->holder_len > sizeof w->labelled_holder)
        return "";
    if (is_label_of_holder(w, info) && w->label[0])
        return w->label;
    if (!is_label_of_holder(w, info) && cli_label_is_readable(info))
        read_label_again_later(w, LABEL_MS);
    w->labelled_holder_len = info->holder_len;
    memcpy(w->labelled_holder, info->holder, info->holder_len);
    cli_timed_label(&watch->timed_requests, watch->client, info, w->label);
    if (w->label[0])
        w->read_label_again_ms = HF_NEVER;
    return w->label;
}

/* A few times for each holder, so that the line of its release has the label. */
static void read_late_labels(struct watch *watch)
{
    int64_t now_ms = hf_clock_ms();

    for (size_t i = 0; i < watch->locks_count; i++) {
        struct watched_lock *w = &watch->locks[i];

        if (w->read_label_again_ms > now_ms)
            continue;
        w->read_label_again_ms = HF_NEVER;
        if (!w->last_snapshot.info.is_locked || w->is_state_unknown ||
            !is_label_of_holder(w, &w->last_snapshot.info))
            continue;
        read_label_again_later(w, 2 * w->label_pause_ms);
        (void)read_label_now(watch, w, &w->last_snapshot.info);
    }
}

/* That of a holder that has released the lock may be deleted by now. */
static const char *label_for_event(struct watch *watch, struct watched_lock *w,
                                   enum cli_watch_event event, const struct hf_lock_info *info)
{
    if (!cli_watch_is_of_earlier_hold(event))
        return read_label_now(watch, w, info);
    return is_label_of_holder(w, info) ? w->label : "";
}

/* ---- a line ---- */

/* `info`: of an event that is past, its holder; NULL: not known. */
static void print_json(const struct watched_lock *w, const char *event,
                       const struct hf_lock_info *info, const char *label, const char *reason)
{
    struct cli_lock lock = {.name = w->name, .name_len = strlen(w->name)};
    char time[CLI_WALL_CLOCK_MAX];
    struct cli_json j;

    if (info)
        lock.info = *info;
    (void)strcpy(lock.label, label);
    cli_wall_clock_text(time);
    cli_json_init(&j);
    cli_json_text(&j, "time", time);
    cli_lock_put_name(&j, &lock);
    cli_json_text(&j, "event", event);
    cli_lock_put_holder(&j, &lock);
    if (reason)
        cli_json_text(&j, "reason", reason);
    (void)cli_json_print(&j);
}

static void print_time_and_name(const struct watched_lock *w)
{
    char time[CLI_WALL_CLOCK_MAX], name[CLI_QUOTE_MAX];

    cli_wall_clock_text(time);
    (void)printf("%s %s: ", time,
                 cli_quote(name, w->name, strlen(w->name)));
}

/* What an event is called before the owner. */
static const char *phrase_for_event(enum cli_watch_event event)
{
    static const char *const phrases[] = {
        [CLI_WATCH_HELD] = "held by",
        [CLI_WATCH_RELEASED] = "released, was held by",
        [CLI_WATCH_EXPIRED] = "expired, was held by",
        [CLI_WATCH_ACQUIRED] = "acquired by",
        [CLI_WATCH_JOINED] = "joined, now held by",
        [CLI_WATCH_LEFT] = "left by one, now held by",
        [CLI_WATCH_REENTERED] = "re-entered by",
        [CLI_WATCH_PARTLY_RELEASED] = "partly released by",
        [CLI_WATCH_RENEWED] = "renewed by",
        [CLI_WATCH_SHORTENED] = "lease shortened, held by"};

    return phrases[event];
}

static void print_owner(enum cli_watch_event event,
                        const struct hf_lock_info *info, const char *label)
{
    char holder[CLI_QUOTE_MAX];

    (void)printf("%s ", phrase_for_event(event));
    if (info->kind == HF_KIND_PERMIT)
        (void)printf("%lld of a semaphore's permits",
                     (long long)info->holders);
    else
        (void)printf("%s", cli_quote(holder, info->holder, info->holder_len));
    if (*label)
        (void)printf(" (%s)", label);
    if (info->kind == HF_KIND_READ && info->holders > 1)
        (void)printf(" and %lld more", (long long)info->holders - 1);
    if (info->kind != HF_KIND_PLAIN && info->kind != HF_KIND_PERMIT)
        (void)printf(" (%s)", hf_lock_kind_text(info->kind));
    if (event == CLI_WATCH_REENTERED || event == CLI_WATCH_PARTLY_RELEASED)
        (void)printf(", hold count %lld", (long long)info->hold_count);
}

static void print_text(const struct watched_lock *w, enum cli_watch_event event,
                       const struct hf_lock_info *info, const char *label)
{
    char ttl[CLI_DURATION_TEXT_MAX];

    print_time_and_name(w);
    if (event == CLI_WATCH_FREE) {
        (void)puts("free");
        return;
    }
    print_owner(event, info, label);
    if (cli_watch_is_of_earlier_hold(event))
        (void)putchar('\n');
    else if (info->ttl_ms < 0)
        (void)puts(", no TTL");
    else
        (void)printf(", TTL %s\n", cli_duration_text(ttl, info->ttl_ms));
}

static void print_event(struct watch *watch, struct watched_lock *w,
                        enum cli_watch_event event,
                        const struct hf_lock_info *info)
{
    const char *label = label_for_event(watch, w, event, info);

    if (watch->common->is_json)
        print_json(w, cli_watch_word(event), info, label, NULL);
    else
        print_text(w, event, info, label);
}

/* Printed once; the next line is that of the next answer. */
static void print_unknown(const struct watch *watch, const struct watched_lock *w,
                          const char *reason)
{
    if (watch->common->is_json) {
        print_json(w, "unknown", NULL, "", reason);
        return;
    }
    print_time_and_name(w);
    (void)printf("unknown: %s\n", reason);
}

/* ---- a look ---- */

static void print_events_since(struct watch *watch, struct watched_lock *w,
                               const struct cli_snapshot *now)
{
    enum cli_watch_event events[CLI_WATCH_EVENTS_MAX];
    size_t count = cli_watch_compare(events, &w->last_snapshot, now);

    for (size_t i = 0; i < count; i++)
        print_event(watch, w, events[i],
                    cli_watch_is_of_earlier_hold(events[i]) ? &w->last_snapshot.info : &now->info);
    if (w->is_state_unknown && count == 0) /* it was "unknown": print the state */
        print_event(watch, w, now->info.is_locked ? CLI_WATCH_HELD
                                                  : CLI_WATCH_FREE, &now->info);
    w->last_snapshot = *now;
    w->is_state_unknown = false;
}

static hf_status inspect_into_snapshot(struct watch *watch, const char *name,
                                       struct cli_snapshot *out, struct hf_error *err)
{
    struct hf_lock *lock = NULL;
    hf_status rc =
        hf_lock_new(&lock, watch->client, name, strlen(name), err);

    *out = (struct cli_snapshot){.sent_ms = hf_clock_ms()};
    if (rc == HF_OK)
        rc = cli_inspect_any(&lock, watch->client, name, &watch->timed_requests.inspector,
                             &out->info, err);
    out->answered_ms = hf_clock_ms();
    hf_lock_free(lock);
    return rc;
}

/* All locks are on one server, except in a cluster: if it does not reply for one lock,
 * no request is sent for the others, because each would wait again. */
static bool is_server_away(const struct watch *watch, hf_status status)
{
    return (status == HF_E_CONNECT || status == HF_E_NOREPLY) &&
           !cli_common_is_cluster(watch->common);
}

/* The pause begins after the reply. A lock that disappears before its lease can have
 * ended was released; later, it has expired. To distinguish the two on a busy machine,
 * the longest pause is half of the remaining lease, and the last poll is just before
 * the lease ends. */
static int64_t next_look_ms(const struct watch *watch, const struct watched_lock *w)
{
    int64_t now_ms = hf_clock_ms(), next_ms = now_ms + watch->poll_interval_ms;
    int64_t ends_ms = w->is_state_unknown ? HF_NEVER : cli_watch_lease_end_ms(&w->last_snapshot);

    if (w->are_changes_pushed) /* a key that has expired is reported late, or when it is read */
        return ends_ms == HF_NEVER ? HF_NEVER : hf_max_ms(ends_ms + AFTER_END_MS,
                                                          now_ms + EVERY_LEAST_MS);
    if (ends_ms != HF_NEVER) {
        int64_t half_ms = now_ms + (ends_ms - now_ms) / 2;
        int64_t last_ms = ends_ms - BEFORE_END_MS;
        int64_t look_ms = half_ms < last_ms ? half_ms : last_ms;

        next_ms = look_ms < next_ms ? look_ms : next_ms;
    }
    return next_ms < now_ms + EVERY_LEAST_MS ? now_ms + EVERY_LEAST_MS : next_ms;
}

/* The number of permits in use is in several keys. */
static bool can_be_pushed(const struct watched_lock *w)
{
    return w->last_snapshot.info.kind != HF_KIND_PERMIT;
}

/* After a look without a reply, the next one polls: arming would wait for the same server. */
static hf_status arm_and_take_snapshot(struct watch *watch, struct watched_lock *w,
                                       struct cli_snapshot *now, struct hf_error *err)
{
    size_t i = (size_t)(w - watch->locks);

    w->last_look_ms = hf_clock_ms();
    w->are_changes_pushed = watch->pushes && can_be_pushed(w) && !w->is_state_unknown &&
                   cli_pushes_arm(watch->pushes, i, w->name, watch->timed_requests.deadline_ms);
    return inspect_into_snapshot(watch, w->name, now, err);
}

/* Changes that follow each other quickly are one. */
static void make_pushed_locks_due(struct watch *watch)
{
    for (size_t i = 0; i < watch->locks_count; i++) {
        struct watched_lock *w = &watch->locks[i];

        if (cli_pushes_take(watch->pushes, i))
            w->next_look_ms = w->last_look_ms + EVERY_LEAST_MS;
    }
}

/* At those that are due by then. */
static void poll_due_locks(struct watch *watch, int64_t until_ms)
{
    struct hf_error err = {0};
    hf_status rc = HF_OK;

    for (size_t i = 0; i < watch->locks_count; i++) {
        struct watched_lock *w = &watch->locks[i];
        struct cli_snapshot now;

        if (w->next_look_ms > until_ms || watch->timed_requests.is_pending)
            continue;
        if (is_server_away(watch, rc))
            hf_error_set(&err, rc, "the server cannot be reached");
        else
            rc = arm_and_take_snapshot(watch, w, &now, &err);
        if (rc == HF_CANCELLED)
            (void)hf_error_set(&err, rc, "the server has not replied before the end of --for");
        if (rc == HF_OK)
            print_events_since(watch, w, &now);
        else if (!w->is_state_unknown)
            print_unknown(watch, w, err.text);
        w->is_state_unknown = rc < 0;
        w->are_changes_pushed = w->are_changes_pushed && rc == HF_OK;
        w->next_look_ms = next_look_ms(watch, w);
    }
}

static int64_t next_due_ms(const struct watch *watch)
{
    int64_t first_ms = HF_NEVER;

    for (size_t i = 0; i < watch->locks_count; i++)
        first_ms = hf_min_ms(first_ms, hf_min_ms(watch->locks[i].next_look_ms,
                                                 watch->locks[i].read_label_again_ms));
    return first_ms;
}

/* ---- again and again ---- */

/* False: the reader of standard output has gone. */
static bool has_reader(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO}; /* errors alone */

    return poll(&out, 1, 0) <= 0;
}

/* Until the next look is due, which a push makes earlier. False: the reader of standard output
 * has gone, which is noticed within READER_MS. */
static bool wait_for_next_look(struct watch *watch, int64_t end_ms)
{
    for (;;) {
        int64_t now_ms = hf_clock_ms(), next_ms;

        make_pushed_locks_due(watch);
        next_ms = hf_min_ms(next_due_ms(watch), end_ms);
        if (!has_reader())
            return false;
        if (next_ms <= now_ms)
            return true;
        hf_loop_dispatch(watch->loop, (int)hf_min_ms(next_ms - now_ms, READER_MS));
    }
}

/* Ends as a write to a closed pipe does; returns only if SIGPIPE is ignored. */
static int end_without_reader(void)
{
    (void)raise(SIGPIPE);
    return cli_fail("standard output was closed");
}

/* False: a disk is full, or the reader has gone and SIGPIPE is ignored. */
static bool flush_output(void)
{
    return fflush(stdout) == 0 && !ferror(stdout);
}

static int poll_until_end(struct watch *watch)
{
    int64_t end_ms = watch->watch_duration_ms > 0 ? watch->timed_requests.deadline_ms - END_MS
        : HF_NEVER;

    do {
        poll_due_locks(watch, hf_clock_ms());
        read_late_labels(watch);
        if (!flush_output())
            return CLI_EXIT_ERROR; /* main says why */
        if (!wait_for_next_look(watch, end_ms))
            return end_without_reader();
    } while (hf_clock_ms() < end_ms);
    poll_due_locks(watch, HF_NEVER);
    return CLI_EXIT_OK;
}

/* A server that cannot be reached at all is an error: it may be a wrong URL. */
static int check_server_reachable(struct watch *watch)
{
    struct hf_lock *lock;
    int rc = cli_lock_open(&lock, watch->client, HF_KIND_PLAIN,
                           watch->locks[0].name);

    hf_lock_free(lock);
    return rc;
}

static int open_client_and_watch(struct watch *watch)
{
    const struct hf_loop_options of_loop = {.size = sizeof of_loop, .thread = false};
    struct hf_client_options options;
    hf_status status = hf_loop_new(&watch->loop, &of_loop);
    int rc;

    if (status < 0)
        return cli_fail_what(status, "cannot make an event loop");
    watch->timed_requests.loop = watch->loop;
    if (watch->watch_duration_ms > 0)
        watch->timed_requests.deadline_ms = hf_clock_ms() + watch->watch_duration_ms + END_MS;
    hf_client_options_init(&options);
    options.loop = watch->loop;
    options.connect_once = true;
    rc = cli_client_open(&watch->client, watch->common, &options);
    if (rc == CLI_CONTINUE)
        rc = check_server_reachable(watch);
    if (rc == CLI_CONTINUE && !watch->polls_only)
        rc = cli_pushes_open(&watch->pushes, watch->loop, watch->common, watch->locks_count);
    if (rc == CLI_CONTINUE)
        rc = poll_until_end(watch);
    cli_pushes_free(watch->pushes);
    hf_client_free(watch->client);
    hf_loop_free(watch->loop);
    return rc;
}

/* ---- the command line ---- */

enum { EVERY = 1, FOR };

static const struct cli_option own_options[] = {
    {EVERY, 0, "every", "DURATION"},
    {FOR, 0, "for", "DURATION"},
    {0},
};

static int take_option(void *ctx, const struct cli_args *args, int id,
                       char *value)
{
    struct watch *watch = ctx;

    switch (id) {
    case EVERY:
        watch->polls_only = true;
        return cli_take_duration(args, "--every", value, EVERY_LEAST_MS,
                                 &watch->poll_interval_ms);
    case FOR:
        return cli_take_duration(args, "--for", value, 1, &watch->watch_duration_ms);
    default:
        if (!*value)
            return cli_usage(args, "NAME is empty");
        if (watch->locks_count == NAMES_MAX)
            return cli_usage(args, "at most %d names", NAMES_MAX);
        watch->locks[watch->locks_count++] = (struct watched_lock){
            .name = value, .last_snapshot = {.is_first = true}, .read_label_again_ms = HF_NEVER};
        return CLI_CONTINUE;
    }
}

static int main_watch(struct cli_args *args, struct cli_common *common)
{
    struct watch watch = {.common = common,
                          .poll_interval_ms = EVERY_MS,
                          .timed_requests = CLI_TIMED_INIT};
    int rc;

    if (!(watch.locks = calloc(NAMES_MAX, sizeof *watch.locks)))
        return cli_fail("out of memory");
    rc = cli_common_parse(common, args, own_options, take_option, &watch);
    if (rc == CLI_CONTINUE && watch.locks_count == 0)
        rc = cli_usage(args, "NAME is required");
    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    if (watch.watch_duration_ms > 0 &&
        watch.watch_duration_ms < (common->connect_timeout_ms ? common->connect_timeout_ms
                                   : CONNECT_MS))
        common->connect_timeout_ms = watch.watch_duration_ms;
    if (rc == CLI_CONTINUE)
        rc = open_client_and_watch(&watch);
    free(watch.locks);
    return rc;
}

const struct cli_command cli_watch_command = {
    .name = "watch",
    .summary = "print changes of locks as they happen",
    .help =
        "usage: holdfast watch [option]... NAME...\n"
        "\n"
        "Prints one line for each event: first the current state (held, free), then\n"
        "acquired, renewed, released, expired and others, with the owner. With\n"
        "--json, each line is an object. watch changes nothing. The server reports\n"
        "each change (CLIENT TRACKING); for permits, with RESP2, and without the\n"
        "right to it, watch polls. Changes that follow each other within 50 ms, or\n"
        "between two polls, can be missed. A forced release is also reported as\n"
        "'released'. A lock that cannot be read is 'unknown'.\n"
        "watch ends after --for or on a signal.\n"
        "Exit code: 0 after --for, 125 error.\n"
        "\n"
        "  --every DURATION     always poll, in this interval, at least 50ms; a lock is\n"
        "                       also polled before its lease expires. Without pushes\n"
        "                       the interval is 500ms\n"
        "  --for DURATION       stop after DURATION; default: never\n"
        "\n" CLI_COMMON_HELP,
    .main = main_watch,
};
