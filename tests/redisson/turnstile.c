/* A writer among readers who keep coming, where everybody passes a fair lock before:
 * docs/kinds.md. What the server did is read from MONITOR. */
#include <pthread.h>

#include "tests/redisson/both.h"
#include "tests/redisson/monitor.h"
#include "tests/support/local.h"

#define NAME "stile"
#define GATE NAME ":gate"
#define QUEUE "redisson_lock_queue:{" GATE "}"

#define OURS 4                  /* readers of holdfast */
#define THEIRS 3                /* and of Redisson */
#define READ_US 3000
#define WRITE_US 1000
#define RUN_MS 2000
/* Where Redisson should miss a message of its own, it asks again after that. */
#define WATCHDOG_MS 3000
#define WRITES_MIN 1

/* ---- who comes ---- */

struct party {
    struct hf_lock *gate, *lock;
    int64_t hold_us, end_ms;
    const char *trouble;
};

static void *take_turns(void *arg)
{
    struct party *p = arg;

    while (!p->trouble && local_now_ms() < p->end_ms) {
        if (hf_lock_acquire(p->gate, NULL, NULL) != HF_OK ||
            hf_lock_acquire(p->lock, NULL, NULL) != HF_OK ||
            hf_lock_release(p->gate, hf_owner_thread(), NULL) != HF_OK)
            p->trouble = "no grant, or the gate was lost";
        local_rest_us(p->hold_us);
        if (hf_lock_release(p->lock, hf_owner_thread(), NULL) != HF_OK)
            p->trouble = "the lock was lost";
    }
    return NULL;
}

static struct hf_client *connect_client(void)
{
    struct hf_client_options o;
    struct hf_client *made;
    char url[SERVER_URL_MAX];

    hf_client_options_init(&o);
    o.url = server_url(server, url);
    ck_assert_int_eq(hf_client_new(&made, &o, NULL), HF_OK);
    return made;
}

static struct hf_lock *lock_of(struct hf_client *c, enum hf_lock_kind kind,
                               const char *name)
{
    struct hf_lock *lock;

    ck_assert_int_eq(hf_lock_new_kind(&lock, c, kind, name, strlen(name), NULL),
                     HF_OK);
    return lock;
}

static void run_party(struct hf_client *c, enum hf_lock_kind kind, int threads)
{
    struct party p = {.gate = lock_of(c, HF_KIND_FAIR, GATE),
                      .lock = lock_of(c, kind, NAME),
                      .hold_us = kind == HF_KIND_READ ? READ_US : WRITE_US,
                      .end_ms = local_now_ms() + RUN_MS};
    pthread_t ids[OURS];

    for (int i = 0; i < threads; i++)
        ck_assert_int_eq(pthread_create(&ids[i], NULL, take_turns, &p), 0);
    for (int i = 0; i < threads; i++)
        ck_assert_int_eq(pthread_join(ids[i], NULL), 0);
    ck_assert_msg(!p.trouble, "%s", p.trouble);
    hf_lock_free(p.gate);
    hf_lock_free(p.lock);
}

/* ---- what the server did ---- */

struct seen {
    char writer[40];            /* the begin of its fields */
    bool is_waiting;            /* from its coming to the gate to its grant */
    int passed;                 /* readers granted meanwhile */
    int reads, writes, most;
    int in_gate;                /* grants since the gate was taken */
};

static void see_writer_come(struct seen *s, const char *owner)
{
    if (strncmp(owner, s->writer, 36) != 0 || s->is_waiting)
        return;
    s->is_waiting = true;
    s->passed = 0;
}

static void see_write(struct seen *s)
{
    s->writes++;
    s->in_gate++;
    s->is_waiting = false;
    if (s->passed > s->most)
        s->most = s->passed;
}

static void see_read(struct seen *s)
{
    s->reads++;
    s->in_gate++;
    s->passed++;
}

/* A read grant is a hold key; a write grant the mode. */
static void see(void *ctx, const char *line)
{
    struct seen *s = ctx;
    char owner[MONITOR_OWNER_ROOM];

    if (monitor_is(line, "\"rpush\" \"" QUEUE "\"", owner)) {
        see_writer_come(s, owner);
    } else if (monitor_is(line, "\"hset\" \"" GATE "\"", owner)) {
        see_writer_come(s, owner);
        s->in_gate = 0;
    } else if (strstr(line, "\"hset\" \"" NAME "\" \"mode\" \"write\"")) {
        see_write(s);
    } else if (strstr(line, "\"set\" \"{" NAME "}:")) {
        see_read(s);
    }
    ck_assert_int_le(s->in_gate, 1);
}

/* ---- the test ---- */

static void name_writer(struct seen *s, struct hf_client *ours,
                        struct driver *theirs)
{
    struct hf_lock *lock;
    char owner[HF_OWNER_TEXT_MAX];

    if (theirs) {
        (void)snprintf(s->writer, sizeof s->writer, "%.36s",
                       driver_ask(theirs, 1, "owner"));
        return;
    }
    lock = lock_of(ours, HF_KIND_PLAIN, "who");
    ck_assert_int_eq(hf_lock_acquire(lock, NULL, NULL), HF_OK);
    (void)snprintf(s->writer, sizeof s->writer, "%.36s",
                   hf_lock_owner_text(lock, hf_owner_thread(), owner));
    release(lock);
    hf_lock_free(lock);
}

static void *read_along(void *arg)
{
    run_party(arg, HF_KIND_READ, OURS);
    return NULL;
}

START_TEST(writer_waits_for_those_before_it_alone)
{
    struct driver *readers = driver_start(server, WATCHDOG_MS);
    struct driver *writer = _i ? driver_start(server, WATCHDOG_MS) : NULL;
    struct hf_client *own = connect_client();
    struct seen seen = {0};
    pthread_t thread;

    name_writer(&seen, own, writer);
    monitor_begin();
    driver_tell(readers, 1, "contend read " NAME " %d %d %d 1", THEIRS, READ_US,
                RUN_MS);
    ck_assert_int_eq(pthread_create(&thread, NULL, read_along, client), 0);
    if (writer)
        ck_assert_ptr_nonnull(driver_ask(writer, 1, "contend write " NAME
                                         " 1 %d %d 1", WRITE_US, RUN_MS));
    else
        run_party(own, HF_KIND_WRITE, 1);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_ptr_nonnull(driver_answer(readers, 1, DRIVER_MS));
    monitor_end(see, &seen);
    (void)printf("turnstile: a writer of %s is granted %d times beside %d reads; "
                 "at most %d while it waits\n",
                 writer ? "Redisson" : "holdfast", seen.writes, seen.reads,
                 seen.most);
    ck_assert_int_ge(seen.writes, WRITES_MIN);
    ck_assert_int_le(seen.most, OURS + THEIRS);
    server_await(server, TOLD_MS, "0", "EXISTS " NAME " " GATE " " QUEUE);
    hf_client_free(own);
    driver_stop(readers);
    driver_stop(writer);
}
END_TEST

TCase *turnstile_case(void)
{
    TCase *tc = both_case("turnstile");

    tcase_add_loop_test(tc, writer_waits_for_those_before_it_alone, 0, 2);
    return tc;
}
