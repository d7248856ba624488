/* The torture's client of holdfast. The protocol is in README.md beside this file.
 * Kinds: lock, fair, rw (both renewed by the watchdog), lease, quorum. */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "holdfast.h"
#include "tests/support/dice.h"

#define ROWS_MAX 8
#define SERVERS_MAX 5
#define WORD_MAX 128
#define STEP_US 10000
#define REQUEST_MS 1000
#define DUE_US 4000000
/* A belief that moves by less is not written again. */
#define ROUNDED_US 2000

struct row {
    char name[WORD_MAX], kind[WORD_MAX], source[WORD_MAX];
    uint64_t seed;
    int64_t lease_ms, wait_ms, owner;
    struct hf_client *clients[SERVERS_MAX];
    struct hf_lock *locks[SERVERS_MAX], *write_lock;
    struct hf_quorum *quorum;
    int servers, calls;
    const char *side;           /* of the acquire under way */
    char hold[HF_OWNER_TEXT_MAX + 8]; /* " hold=..." of the hold, or "" */
    struct hf_lock *lock;       /* the handle of that side */
    pthread_t thread;
    pthread_mutex_t mutex;      /* of what follows, which on_lost changes */
    int64_t until_us;           /* the belief that was written; 0: none */
    bool is_lost;
};

static struct row rows[ROWS_MAX];
static int row_count;
static atomic_bool stopping;

static int64_t now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- lines ---- */

/* In one write, so that a process that is killed leaves whole lines. */
static void put(const char *format, ...)
{
    char line[1024];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    line[len++] = '\n';
    if (write(STDOUT_FILENO, line, (size_t)len) != len)
        _exit(1); /* the driver ended */
}

static void say_safe(struct row *r, int64_t until_us)
{
    r->until_us = until_us;
    put("%s %" PRId64 " %s safe lock=%s kind=%s owner=%s%s until=%" PRId64, r->name,
        now_us(), r->source, r->name, r->side, r->source, r->hold, until_us);
}

static void say_ask(struct row *r, const char *op, int64_t lease_ms,
                    int64_t wait_ms)
{
    char lease[48] = "";
    int64_t us = now_us();

    if (lease_ms)
        (void)snprintf(lease, sizeof lease, " lease=%" PRId64, lease_ms);
    put("%s %" PRId64 " %s ask call=%d op=%s lock=%s kind=%s owner=%s%s%s wait=%" PRId64
        " due=%" PRId64,
        r->name, us, r->source, ++r->calls, op, r->name, r->side, r->source, r->hold,
        lease, wait_ms, us + wait_ms * 1000 + DUE_US);
}

static void say_end(struct row *r, hf_status status)
{
    put("%s %" PRId64 " %s end call=%d status=%s%s", r->name, now_us(), r->source,
        r->calls, hf_status_name(status), r->hold);
}

/* The name of the hold on the server: two holds of one owner are apart. */
static void name_hold(struct row *r)
{
    char field[HF_OWNER_TEXT_MAX] = "";

    if (!r->quorum)
        (void)hf_lock_owner_text(r->lock, r->owner, field);
    r->hold[0] = '\0';
    if (field[0])
        (void)snprintf(r->hold, sizeof r->hold, " hold=%s", field);
}

/* ---- beliefs ---- */

static int64_t safe_ms(struct row *r)
{
    return r->quorum ? hf_quorum_safe_ms(r->quorum, r->owner)
                     : hf_lock_safe_ms(r->lock, r->owner);
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* Reads the belief, and writes it if it changed. False: act no longer. */
static bool believe(struct row *r)
{
    int64_t us = now_us(), ms;
    bool is_safe;

    (void)pthread_mutex_lock(&r->mutex);
    ms = r->is_lost ? 0 : safe_ms(r);
    is_safe = ms > 0;
    if (is_safe && distance(us + ms * 1000, r->until_us) > ROUNDED_US)
        say_safe(r, us + ms * 1000);
    else if (!is_safe && r->until_us > us)
        say_safe(r, 0);
    (void)pthread_mutex_unlock(&r->mutex);
    return is_safe;
}

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason)
{
    struct row *r = ctx;

    (void)lock;
    (void)owner;
    (void)pthread_mutex_lock(&r->mutex);
    r->is_lost = true;
    if (r->until_us > now_us())
        say_safe(r, 0);
    put("%s %" PRId64 " %s lost lock=%s kind=%s owner=%s%s reason=%d", r->name,
        now_us(), r->source, r->name, r->side, r->source, r->hold, (int)reason);
    (void)pthread_mutex_unlock(&r->mutex);
}

/* ---- a turn ---- */

static bool is_kind(const struct row *r, const char *kind)
{
    return strcmp(r->kind, kind) == 0;
}

static int64_t lease_of(const struct row *r)
{
    return is_kind(r, "lease") ? r->lease_ms : 0;
}

static hf_status acquire(struct row *r)
{
    struct hf_acquire_options o;
    hf_status status;

    hf_acquire_options_init(&o);
    o.owner = r->owner;
    o.wait_ms = r->wait_ms;
    o.lease_ms = lease_of(r);
    o.on_lost = on_lost;
    o.ctx = r;
    r->is_lost = false;
    r->hold[0] = '\0';
    say_ask(r, "acquire", o.lease_ms, r->wait_ms);
    status = r->quorum ? hf_quorum_acquire(r->quorum, &o, NULL)
                       : hf_lock_acquire(r->lock, &o, NULL);
    (void)pthread_mutex_lock(&r->mutex);
    if (status == HF_OK)
        name_hold(r);
    say_end(r, status);
    (void)pthread_mutex_unlock(&r->mutex);
    return status;
}

static void release(struct row *r)
{
    hf_status status;

    (void)pthread_mutex_lock(&r->mutex);
    if (r->until_us)
        say_safe(r, 0);
    (void)pthread_mutex_unlock(&r->mutex);
    say_ask(r, "release", 0, 0);
    status = r->quorum ? hf_quorum_release(r->quorum, r->owner, NULL)
                       : hf_lock_release(r->lock, r->owner, NULL);
    say_end(r, status);
}

/* Three of four holds are short, one lasts up to 1.5 leases. */
static int64_t draw_hold_us(struct row *r)
{
    bool is_long = dice_of(&r->seed, 4) == 0;

    return 20000 + (int64_t)dice_of(&r->seed, is_long
                                                  ? (uint64_t)r->lease_ms * 1500
                                                  : 300000);
}

static void choose_side(struct row *r)
{
    bool is_write = r->write_lock && dice_of(&r->seed, 2) == 0;

    r->lock = is_write ? r->write_lock : r->locks[0];
    r->side = is_write ? "write" : r->write_lock ? "read" : "plain";
}

static void turn(struct row *r)
{
    int64_t end_us;

    choose_side(r);
    if (acquire(r) == HF_OK) {
        end_us = now_us() + draw_hold_us(r);
        while (believe(r) && now_us() < end_us)
            (void)usleep(STEP_US);
        release(r);
    }
    (void)usleep(5000 + (unsigned)dice_of(&r->seed, 50000));
}

static void *run(void *arg)
{
    struct row *r = arg;

    while (!stopping)
        turn(r);
    return NULL;
}

/* ---- the driver's commands ---- */

static enum hf_lock_kind kind_of(const struct row *r)
{
    return is_kind(r, "fair") ? HF_KIND_FAIR
           : is_kind(r, "rw") ? HF_KIND_READ
                              : HF_KIND_PLAIN;
}

/* "6379", or "sentinel:26379,26380". */
static void url_of(const char *word, char *url, size_t size)
{
    char ports[WORD_MAX], *rest = ports, *port;
    size_t len;

    if (strncmp(word, "sentinel:", 9) != 0) {
        (void)snprintf(url, size, "redis://127.0.0.1:%s", word);
        return;
    }
    (void)snprintf(ports, sizeof ports, "%s", word + 9);
    len = (size_t)snprintf(url, size, "redis+sentinel://");
    while ((port = strtok_r(rest, ",", &rest)))
        len += (size_t)snprintf(url + len, size - len, "127.0.0.1:%s,", port);
    (void)snprintf(url + len - 1, size - len + 1, "/mymaster");
}

static void open_server(struct row *r, const char *word)
{
    struct hf_client_options o;
    char url[4 * WORD_MAX];
    int i = r->servers++;

    url_of(word, url, sizeof url);
    hf_client_options_init(&o);
    o.url = url;
    o.watchdog_ms = r->lease_ms;
    o.request_timeout_ms = o.connect_timeout_ms = REQUEST_MS;
    if (hf_client_new(&r->clients[i], &o, NULL) < 0 ||
        hf_lock_new_kind(&r->locks[i], r->clients[i], kind_of(r), r->name,
                         strlen(r->name), NULL) < 0)
        abort();
    if (is_kind(r, "rw") &&
        hf_lock_new_kind(&r->write_lock, r->clients[i], HF_KIND_WRITE, r->name,
                         strlen(r->name), NULL) < 0)
        abort();
    put("%s own %s: %s", r->name, hf_client_uuid(r->clients[i]), r->source);
}

static void open_row(struct row *r)
{
    const char *word;

    while (r->servers < SERVERS_MAX && (word = strtok(NULL, " \n")))
        open_server(r, word);
    if (is_kind(r, "quorum") &&
        hf_quorum_new(&r->quorum, r->locks, (size_t)r->servers, NULL) < 0)
        abort();
    r->owner = hf_owner_new();
    (void)pthread_mutex_init(&r->mutex, NULL);
    if (pthread_create(&r->thread, NULL, run, r) != 0)
        abort();
    put("%s ready", r->name);
}

/* ROW KIND SOURCE SEED LEASE_MS WAIT_MS URL... */
static void start_row(void)
{
    struct row *r = &rows[row_count++];
    const char *words[6];

    for (int i = 0; i < 6; i++)
        if (!(words[i] = strtok(NULL, " \n")))
            abort();
    memset(r, 0, sizeof *r);
    (void)snprintf(r->name, sizeof r->name, "%s", words[0]);
    (void)snprintf(r->kind, sizeof r->kind, "%s", words[1]);
    (void)snprintf(r->source, sizeof r->source, "%s", words[2]);
    r->seed = strtoull(words[3], NULL, 10) | 1;
    r->lease_ms = atoll(words[4]);
    r->wait_ms = atoll(words[5]);
    r->side = "plain";
    open_row(r);
}

static void stop_rows(void)
{
    stopping = true;
    for (int i = 0; i < row_count; i++)
        (void)pthread_join(rows[i].thread, NULL);
    put("- idle");
}

static void close_rows(void)
{
    for (int i = 0; i < row_count; i++) {
        hf_quorum_free(rows[i].quorum);
        for (int k = 0; k < rows[i].servers; k++)
            hf_client_free(rows[i].clients[k]);
    }
    row_count = 0;
    put("- done");
}

int main(void)
{
    char line[4096];

    while (fgets(line, sizeof line, stdin)) {
        const char *verb = strtok(line, " \n");

        if (verb && strcmp(verb, "run") == 0 && row_count < ROWS_MAX) {
            stopping = false;
            start_row();
        } else if (verb && strcmp(verb, "stop") == 0) {
            stop_rows();
        } else if (verb && strcmp(verb, "close") == 0) {
            close_rows();
        }
    }
    return 0;
}
