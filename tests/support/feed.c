/* A thread that writes down what a server tells, and when. */
#include "tests/support/feed.h"

#include <check.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "resp/base.h"
#include "tests/support/local.h"
#include "tests/support/server.h"
#include "tests/support/witness.h"

struct item {
    struct hf_list node;
    struct feed_event event;    /* its text is ours to free */
};

struct feed {
    /* Set once. */
    pthread_t thread;
    int fd;                     /* the connection's */
    /* The feed's thread only, while it runs. */
    redisContext *connection;
    /* The reader's. */
    struct item *lent;
    /* Under `mutex`. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct hf_list items;
    size_t count;
    bool is_over;               /* the connection has ended */
    bool has_overflowed;
};

static void item_free(struct item *item)
{
    if (!item)
        return;
    free((char *)(uintptr_t)item->event.text); /* we made it, not const */
    free(item);
}

/* ---- the feed's thread --------------------------------------------------- */

static void append(struct feed *f, char *text, int64_t at_ms)
{
    struct item *item = local_new(sizeof *item);

    item->event.text = text;
    item->event.at_ms = at_ms;
    (void)pthread_mutex_lock(&f->mutex);
    if (f->count < FEED_EVENTS_MAX) {
        hf_list_push(&f->items, &item->node);
        f->count++;
        item = NULL;
    } else {
        f->has_overflowed = true;
    }
    (void)pthread_cond_broadcast(&f->changed);
    (void)pthread_mutex_unlock(&f->mutex);
    item_free(item);
}

static void *run(void *arg)
{
    struct feed *f = arg;
    void *reply;

    while (redisGetReply(f->connection, &reply) == REDIS_OK) {
        int64_t at_ms = local_now_ms();

        append(f, witness_text(reply), at_ms);
        freeReplyObject(reply);
    }
    (void)pthread_mutex_lock(&f->mutex);
    f->is_over = true;
    (void)pthread_cond_broadcast(&f->changed);
    (void)pthread_mutex_unlock(&f->mutex);
    return NULL;
}

/* ---- opening ------------------------------------------------------------- */

/* One confirmation for each channel; MONITOR has one for all. `command` is
 * RESP: "*3\r\n$9\r\nSUBSCRIBE\r\n..". */
static int confirmations(const char *command)
{
    int words = atoi(command + 1);

    return words > 1 ? words - 1 : 1;
}

static bool is_confirmed(redisContext *c, int count)
{
    for (int i = 0; i < count; i++) {
        void *reply = NULL;
        bool is_good = redisGetReply(c, &reply) == REDIS_OK &&
                       ((redisReply *)reply)->type != REDIS_REPLY_ERROR;

        freeReplyObject(reply);
        if (!is_good)
            return false;
    }
    return true;
}

static redisContext *subscribe(struct server *s, const char *format,
                               va_list args)
{
    struct timeval forever = {0, 0};
    redisContext *c = server_connect(s);
    char *command = NULL;
    int len = redisvFormatCommand(&command, format, args);

    if (!c || len < 0 ||
        redisAppendFormattedCommand(c, command, (size_t)len) != REDIS_OK ||
        !is_confirmed(c, confirmations(command)) ||
        redisSetTimeout(c, forever) != REDIS_OK)
        ck_abort_msg("no feed of %s from port %d", format, server_port(s));
    redisFreeCommand(command);
    return c;
}

struct feed *feed_open(struct server *s, const char *format, ...)
{
    struct feed *f = local_new(sizeof *f);
    va_list args;

    va_start(args, format);
    f->connection = subscribe(s, format, args);
    va_end(args);
    f->fd = f->connection->fd;
    (void)pthread_mutex_init(&f->mutex, NULL);
    local_cond_init(&f->changed);
    hf_list_init(&f->items);
    if (pthread_create(&f->thread, NULL, run, f) != 0)
        ck_abort_msg("no thread for a feed");
    return f;
}

/* ---- reading ------------------------------------------------------------- */

/* The first item, taken out, or NULL. Under `mutex`. */
static struct item *take(struct feed *f)
{
    struct item *item;

    if (hf_list_is_empty(&f->items))
        return NULL;
    item = HF_OWNER_OF(f->items.next, struct item, node);
    hf_list_remove(&item->node);
    f->count--;
    return item;
}

static const struct feed_event *next_until(struct feed *f, int64_t deadline_ms)
{
    bool has_overflowed;

    item_free(f->lent);
    (void)pthread_mutex_lock(&f->mutex);
    while (!(f->lent = take(f)) && !f->is_over)
        if (!local_cond_wait(&f->changed, &f->mutex, deadline_ms))
            break;
    has_overflowed = f->has_overflowed;
    (void)pthread_mutex_unlock(&f->mutex);
    if (has_overflowed)
        ck_abort_msg("more than %d unread events in a feed", FEED_EVENTS_MAX);
    return f->lent ? &f->lent->event : NULL;
}

const struct feed_event *feed_next(struct feed *f, int timeout_ms)
{
    return next_until(f, local_now_ms() + timeout_ms);
}

const struct feed_event *feed_await(struct feed *f, int timeout_ms,
                                    const char *part)
{
    int64_t deadline_ms = local_now_ms() + timeout_ms;
    const struct feed_event *event;

    do {
        event = next_until(f, deadline_ms);
        if (!event)
            ck_abort_msg("nothing with \"%s\" came in %d ms", part, timeout_ms);
    } while (!strstr(event->text, part));
    return event;
}

void feed_close(struct feed *f)
{
    struct item *item;

    if (!f)
        return;
    (void)shutdown(f->fd, SHUT_RDWR); /* wakes the thread */
    (void)pthread_join(f->thread, NULL);
    redisFree(f->connection);
    while ((item = take(f)))
        item_free(item);
    item_free(f->lent);
    (void)pthread_cond_destroy(&f->changed);
    (void)pthread_mutex_destroy(&f->mutex);
    free(f);
}
