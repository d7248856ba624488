/* A process of make chaos that takes locks: long and short, again and less, with
 * leases that become shorter, cancelled, forced. It writes what it asked, what it
 * was told and what it believed to a history file; the driver kills, stops and
 * continues it.
 *
 *     chaos_worker SOURCE HISTORY SEED URL REPLICAS busy|patient [PORT=PROXY...]
 *
 * A connection to PORT goes to PROXY: the servers need not know of the proxies.
 * A patient one queues for one lock, with the others of its kind: whoever releases it
 * stays away for longer than a waiter may sleep.
 * On stdin: 'q': begin nothing more, release all, then write "idle"; 'c': say how
 * often each hold is held, then write "said"; the end of stdin: close the client and
 * exit.
 *
 * One thread, asynchronous calls, the loop dispatched here: after each turn the
 * end of each belief is read anew. A belief that shrank in a turn is written with
 * the time of the turn's begin, one that grew with that of its end. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holdfast.h"
#include "tests/soak/chaos.h"
#include "tests/soak/chaos_network.h"
#include "tests/support/dice.h"

#define OWNERS 4
#define LINE_MAX_BYTES 512
/* Beyond what the headers promise, for a machine with much else to do. */
#define SLACK_MS 4000
/* A timer that is served so much later was not served by us: the process did not
 * run. */
#define STARVED_US 20000

/* An owner; it has one call under way at most. */
struct owner {
    int64_t number;
    int64_t due_us;             /* when it does the next thing */
    int64_t cancel_us;          /* INT64_MAX: not at all */
    struct hf_cancel cancel;
    unsigned long call;         /* 0: none is under way */
    enum { ACQUIRE, RELEASE, FORCE, INSPECT } op;
    size_t handle;              /* of the call */
    struct hf_lock_info info;
    int64_t held[CHAOS_HANDLES];        /* acquisitions */
    char hold[CHAOS_HANDLES][HF_OWNER_TEXT_MAX];    /* its field, of the last */
    int64_t until_us[CHAOS_HANDLES];    /* the belief that was written; 0: none */
};

static struct {
    const char *source;
    int history;
    uint64_t seed;
    struct hf_client *client;
    struct hf_loop *loop;
    struct hf_lock *locks[CHAOS_HANDLES];
    struct owner owners[OWNERS];
    unsigned long calls;
    bool is_patient, is_quiet, is_idle;
    int64_t belief_ms;          /* more than the client says */
} w;

/* ---- the history ---- */

/* In one write, so that a process that is killed leaves whole lines. */
static void say(int64_t us, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    int len = snprintf(line, sizeof line, "%" PRId64 " %s ", us, w.source);
    va_list args;

    va_start(args, format);
    len += vsnprintf(line + len, sizeof line - (size_t)len - 1, format, args);
    va_end(args);
    line[len++] = '\n';
    if (write(w.history, line, (size_t)len) != len)
        abort(); /* without a history there is nothing to judge */
}

static void say_hold(int64_t us, const char *event, const struct owner *o,
                     size_t handle, const char *key, int64_t value)
{
    const struct chaos_handle *h = &chaos_handles[handle];

    say(us, "%s lock=%s kind=%s owner=%s:%" PRId64 " hold=%s %s=%" PRId64, event,
        h->name, h->kind_text, w.source, o->number, o->hold[handle], key, value);
}

/* ---- beliefs ---- */

static void believe(struct owner *o, size_t i, int64_t before_us)
{
    int64_t us = chaos_now_us();
    int64_t safe_ms = o->held[i] ? hf_lock_safe_ms(w.locks[i], o->number) : -1;
    int64_t until = safe_ms > 0 ? us + (safe_ms + w.belief_ms) * 1000 : 0;
    bool is_less = until < o->until_us[i];

    if (until && until - o->until_us[i] < 2000 && !is_less)
        return; /* rounded */
    if (until && is_less && o->until_us[i] - until < 2000)
        return;
    if (!until && o->until_us[i] <= us) {
        o->until_us[i] = 0; /* ended by itself */
        return;
    }
    say_hold(is_less ? before_us : us, "safe", o, i, "until", until);
    o->until_us[i] = until;
}

static void believe_all(int64_t before_us)
{
    for (int n = 0; n < OWNERS; n++)
        for (size_t i = 0; i < CHAOS_HANDLES; i++)
            if (w.owners[n].held[i] || w.owners[n].until_us[i])
                believe(&w.owners[n], i, before_us);
}

/* ---- calls ---- */

static void rest(struct owner *o, int64_t most_ms)
{
    o->due_us = chaos_now_us() +
                (int64_t)dice_of(&w.seed, (uint64_t)most_ms * 1000);
}

static size_t any_handle(void)
{
    size_t handle;

    do
        handle = (size_t)dice_of(&w.seed, CHAOS_HANDLES);
    while ((strcmp(chaos_handles[handle].name, CHAOS_QUEUE) == 0) !=
           w.is_patient);
    return handle;
}

static int64_t held_by(const struct owner *o)
{
    int64_t sum = 0;

    for (size_t i = 0; i < CHAOS_HANDLES; i++)
        sum += o->held[i];
    return sum;
}

static void rest_patiently(struct owner *o)
{
    rest(o, 1000);
    if (o->op == RELEASE)
        o->due_us += CHAOS_WAKE_MS * 1000;
}

static bool is_nothing_done(hf_status status)
{
    return status == HF_NOT_OWNER || status == HF_E_LIMIT ||
           status == HF_E_FORKED;
}

static void count(struct owner *o, hf_status status)
{
    if (o->op == ACQUIRE && status == HF_OK)
        o->held[o->handle]++;
    else if (o->op == RELEASE && !is_nothing_done(status))
        o->held[o->handle]--;
}

static void say_granted(struct owner *o)
{
    struct hf_lock *lock = w.locks[o->handle];
    int64_t token = hf_lock_token(lock, o->number);
    char field[HF_OWNER_TEXT_MAX];

    (void)hf_lock_owner_text(lock, o->number, field);
    if (field[0]) /* not lost by now */
        (void)strcpy(o->hold[o->handle], field);
    say(chaos_now_us(),
        token ? "end call=%lu status=HF_OK hold=%s token=%" PRId64
              : "end call=%lu status=HF_OK hold=%s",
        o->call, o->hold[o->handle], token);
}

static void on_done(void *ctx, hf_status status, const struct hf_error *err)
{
    struct owner *o = ctx;
    (void)err;
    count(o, status);
    if (o->op == ACQUIRE && status == HF_OK)
        say_granted(o);
    else
        say(chaos_now_us(), "end call=%lu status=%s", o->call,
            hf_status_name(status));
    o->call = 0;
    o->cancel_us = INT64_MAX;
    if (w.is_patient)
        rest_patiently(o);
    else
        rest(o, dice_of(&w.seed, 30) == 0 ? 2500 : held_by(o) ? 80 : 160);
}

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason)
{
    struct owner *o = ctx;
    int64_t us = chaos_now_us();

    (void)owner;
    for (size_t i = 0; i < CHAOS_HANDLES; i++)
        if (w.locks[i] == lock) {
            if (o->until_us[i] > us)
                say_hold(us, "safe", o, i, "until", 0);
            o->until_us[i] = 0;
            say_hold(us, "lost", o, i, "reason", reason);
        }
}

/* What a call may take: `ms`, and the server's time, unanswered and repeated. */
static void ask(struct owner *o, int op, size_t handle, const char *text,
                int64_t lease_ms, int64_t wait_ms)
{
    const struct chaos_handle *h = &chaos_handles[handle];
    int64_t us = chaos_now_us();
    char lease[32] = "";

    if (lease_ms) /* else it is renewed */
        (void)snprintf(lease, sizeof lease, " lease=%" PRId64, lease_ms);
    o->op = (unsigned)op;
    o->handle = handle;
    o->call = ++w.calls;
    say(us,
        "ask call=%lu op=%s lock=%s kind=%s owner=%s:%" PRId64 "%s%s%s"
        " wait=%" PRId64 " due=%" PRId64,
        o->call, text, h->name, h->kind_text, w.source, o->number,
        o->held[handle] ? " hold=" : "", o->held[handle] ? o->hold[handle] : "",
        lease, wait_ms,
        us + 1000 * (wait_ms + 3 * CHAOS_REQUEST_MS + CHAOS_REPLICAS_MS +
                     SLACK_MS));
}

static void was_refused(struct owner *o, hf_status status)
{
    if (status < 0)
        on_done(o, status, NULL);
}

static void wish(struct owner *o, struct hf_acquire_options *a)
{
    a->wait_ms = (int64_t)dice_of(&w.seed, CHAOS_WAIT_MS_MAX);
    if (dice_of(&w.seed, 3) == 0)
        a->lease_ms = 200 + (int64_t)dice_of(&w.seed, 4000);
    if (dice_of(&w.seed, 40) == 0)
        a->max_hold_ms = 300 + (int64_t)dice_of(&w.seed, 2000);
    if (dice_of(&w.seed, 10) == 0)
        o->cancel_us = chaos_now_us() +
                       1000 * (int64_t)dice_of(&w.seed, CHAOS_WAIT_MS_MAX);
}

static void acquire(struct owner *o, size_t handle)
{
    struct hf_acquire_options a;

    hf_acquire_options_init(&a);
    a.owner = o->number;
    if (w.is_patient)
        a.wait_ms = CHAOS_QUEUE_MS;
    else
        wish(o, &a);
    hf_cancel_init(&o->cancel, w.client);
    a.cancel = &o->cancel;
    a.on_lost = on_lost;
    a.ctx = o;
    ask(o, ACQUIRE, handle, "acquire", a.lease_ms, a.wait_ms);
    was_refused(o, hf_lock_acquire_async(w.locks[handle], &a, on_done, o));
}

static void release(struct owner *o, size_t handle)
{
    ask(o, RELEASE, handle, "release", 0, 0);
    was_refused(o, hf_lock_release_async(w.locks[handle], o->number, on_done, o));
}

static void force(struct owner *o, size_t handle)
{
    ask(o, FORCE, handle, "force", 0, 0);
    was_refused(o, hf_lock_force_release_async(w.locks[handle], NULL, 0,
                                               on_done, o));
}

static void inspect(struct owner *o, size_t handle)
{
    ask(o, INSPECT, handle, "inspect", 0, 0);
    was_refused(o, hf_lock_inspect_async(w.locks[handle], &o->info, on_done, o));
}

/* ---- what each owner does next ---- */

/* The last of what it holds: a reader's side before the writer's, or behind it. */
static size_t some_held(const struct owner *o)
{
    size_t from = (size_t)dice_of(&w.seed, CHAOS_HANDLES);

    for (size_t i = 0; i < CHAOS_HANDLES; i++)
        if (o->held[(from + i) % CHAOS_HANDLES])
            return (from + i) % CHAOS_HANDLES;
    return CHAOS_HANDLES;
}

/* A writer may read the same name, too: its other side stands before it. */
static size_t again(size_t handle)
{
    if (chaos_handles[handle].kind == HF_KIND_WRITE &&
        dice_of(&w.seed, 2) == 0)
        return handle - 1;
    return handle;
}

static void act(struct owner *o)
{
    size_t held = some_held(o), any = any_handle();

    if (w.is_quiet && held == CHAOS_HANDLES)
        o->due_us = INT64_MAX;
    else if (w.is_quiet)
        release(o, held);
    else if (w.is_patient)
        held == CHAOS_HANDLES ? acquire(o, any) : release(o, held);
    else if (dice_of(&w.seed, 150) == 0)
        force(o, any);
    else if (dice_of(&w.seed, 60) == 0)
        inspect(o, any);
    else if (held == CHAOS_HANDLES)
        acquire(o, any);
    else if (dice_of(&w.seed, 3) == 0 && held_by(o) < 4)
        acquire(o, again(held));
    else
        release(o, held);
}

static void act_all(void)
{
    int64_t us = chaos_now_us();

    for (int n = 0; n < OWNERS; n++) {
        struct owner *o = &w.owners[n];

        if (o->call && o->cancel_us <= us) {
            o->cancel_us = INT64_MAX;
            hf_cancel_fire(&o->cancel);
        }
        if (!o->call && o->due_us <= us)
            act(o);
    }
}

static int64_t next_us(void)
{
    int64_t next = INT64_MAX;

    for (int n = 0; n < OWNERS; n++) {
        const struct owner *o = &w.owners[n];
        int64_t us = o->call ? o->cancel_us : o->due_us;

        if (us < next)
            next = us;
    }
    return next;
}

/* ---- quiet ---- */

static void become_quiet(void)
{
    w.is_quiet = true;
    for (int n = 0; n < OWNERS; n++) {
        struct owner *o = &w.owners[n];

        if (!o->call)
            o->due_us = chaos_now_us();
        else if (o->op == ACQUIRE)
            hf_cancel_fire(&o->cancel);
    }
}

static bool is_all_done(void)
{
    struct hf_client_stats stats;

    for (int n = 0; n < OWNERS; n++)
        if (w.owners[n].call || held_by(&w.owners[n]))
            return false;
    hf_client_get_stats(w.client, &stats);
    return stats.orphans == 0 && stats.holds == 0;
}

static void say_counts(void)
{
    for (int n = 0; n < OWNERS; n++)
        for (size_t i = 0; i < CHAOS_HANDLES; i++)
            if (w.owners[n].hold[i][0])
                say_hold(chaos_now_us(), "count", &w.owners[n], i, "n",
                         w.owners[n].held[i]);
    (void)!write(STDOUT_FILENO, "said\n", 5);
}

/* ---- the loop ---- */

static int timeout_ms(int64_t now_us, int64_t *due_us)
{
    int loop_ms = hf_loop_timeout(w.loop);
    int64_t due = next_us();

    if (loop_ms >= 0 && now_us + loop_ms * 1000 < due)
        due = now_us + loop_ms * 1000;
    *due_us = due;
    if (w.is_quiet && due - now_us > 20000)
        return 20; /* releases in the background end without a call */
    if (due == INT64_MAX)
        return -1;
    return due <= now_us ? 0 : (int)((due - now_us + 999) / 1000);
}

/* A process that had to wait for a processor was suspended, as one that was
 * stopped. */
static void note_starved(int64_t due_us)
{
    int64_t us = chaos_now_us();

    if (us - due_us < STARVED_US)
        return;
    say(due_us, "stop");
    say(us, "go");
}

/* Returns false at the end of stdin. */
static bool turn(void)
{
    struct pollfd fds[2] = {{.fd = hf_loop_fd(w.loop), .events = POLLIN},
                            {.fd = STDIN_FILENO, .events = POLLIN}};
    int64_t due_us, before_us;
    char byte;

    (void)poll(fds, 2, timeout_ms(chaos_now_us(), &due_us));
    note_starved(due_us);
    before_us = chaos_now_us();
    hf_loop_dispatch(w.loop, 0);
    believe_all(before_us);
    before_us = chaos_now_us();
    act_all();
    believe_all(before_us);
    if (fds[1].revents) {
        if (read(STDIN_FILENO, &byte, 1) != 1)
            return false;
        if (byte == 'q')
            become_quiet();
        else
            say_counts();
    }
    if (w.is_quiet && !w.is_idle && is_all_done()) {
        w.is_idle = true;
        (void)!write(STDOUT_FILENO, "idle\n", 5);
    }
    return true;
}

static void open_client(const char *url, int replicas)
{
    struct hf_client_options o;

    hf_client_options_init(&o);
    o.url = url;
    o.thread = false;
    o.name = "chaos";
    o.protocol = dice_of(&w.seed, 4) == 0 ? 2 : 3;
    o.watchdog_ms = w.is_patient ? CHAOS_PATIENT_WATCHDOG_MS
                                 : CHAOS_WATCHDOG_MS;
    o.request_timeout_ms = CHAOS_REQUEST_MS;
    o.replicas = replicas;
    o.replicas_timeout_ms = replicas ? CHAOS_REPLICAS_MS : 0;
    if (hf_client_new(&w.client, &o, NULL) < 0)
        abort();
    w.loop = hf_client_loop(w.client);
    for (size_t i = 0; i < CHAOS_HANDLES; i++)
        if (hf_lock_new_kind(&w.locks[i], w.client, chaos_handles[i].kind,
                             chaos_handles[i].name,
                             strlen(chaos_handles[i].name), NULL) < 0)
            abort();
    say(chaos_now_us(), "start id=%s", hf_client_uuid(w.client));
}

static void open_owners(void)
{
    for (int n = 0; n < OWNERS; n++) {
        w.owners[n].number = n + 1;
        w.owners[n].cancel_us = w.owners[n].due_us = INT64_MAX;
        if (!w.is_patient || n == 0)
            rest(&w.owners[n], 100);
    }
}

/* A bug put in on purpose, which the judge must find (make chaos-bugs). */
static void put_in_bug(void)
{
    const char *bug = getenv("HF_CHAOS_BUG");

    if (bug && strcmp(bug, "belief") == 0)
        w.belief_ms = CHAOS_BELIEF_MS;
    if (bug && strcmp(bug, "wake") == 0)
        network_deafen();
}

int main(int argc, char **argv)
{
    if (argc < 7)
        return 2;
    w.source = argv[1];
    w.history = open(argv[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    w.seed = strtoull(argv[3], NULL, 10) | 1;
    if (w.history < 0)
        return 2;
    w.is_patient = strcmp(argv[6], "patient") == 0;
    network_ports(argv + 7, argc - 7);
    put_in_bug();
    open_client(argv[4], atoi(argv[5]));
    open_owners();
    while (turn())
        ;
    (void)hf_client_close(w.client, CHAOS_REQUEST_MS, NULL, NULL);
    hf_client_free(w.client);
    return 0;
}
