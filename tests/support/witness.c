/* Questions to a server through hiredis, and its answers as text. */
#include "tests/support/witness.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/local.h"

static bool introduce(redisContext *c, const char *password)
{
    redisReply *reply;

    if (password) {
        reply = redisCommand(c, "AUTH %s", password);
        if (!reply || reply->type == REDIS_REPLY_ERROR) {
            freeReplyObject(reply);
            return false;
        }
        freeReplyObject(reply);
    }
    /* May be refused (a busy script, a changed ACL): it is only a name. */
    reply = redisCommand(c, "CLIENT SETNAME witness");
    freeReplyObject(reply);
    return reply != NULL;
}

static void only_sigpipe(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGPIPE);
}

void witness_writes(sigset_t *before)
{
    sigset_t set;

    only_sigpipe(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, before);
}

void witness_written(const sigset_t *before)
{
    static const struct timespec now = {0};
    sigset_t set;

    only_sigpipe(&set);
    if (!sigismember(before, SIGPIPE))
        while (sigtimedwait(&set, NULL, &now) == SIGPIPE)
            ;
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

static bool handshake(redisContext *c, struct timeval patience, const char *password)
{
    sigset_t before;
    bool is_good;

    witness_writes(&before);
    is_good = !c->err && redisSetTimeout(c, patience) == REDIS_OK &&
              introduce(c, password);
    witness_written(&before);
    return is_good;
}

redisContext *witness_connect(const char *unix_path, const char *password)
{
    struct timeval patience = {WITNESS_TIMEOUT_MS / 1000,
                               WITNESS_TIMEOUT_MS % 1000 * 1000};
    redisContext *c = redisConnectUnixWithTimeout(unix_path, patience);

    if (!c)
        return NULL;
    if (handshake(c, patience, password))
        return c;
    redisFree(c);
    return NULL;
}

/* An array's elements are written one after the other; `first` says whether
 * anything stands before. */
static void write_reply(FILE *out, const redisReply *r, bool *first);

static void write_bytes(FILE *out, const char *ptr, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (ptr[i])
            (void)putc(ptr[i], out);
        else
            (void)fputs("\\0", out);
    }
}

static void write_leaf(FILE *out, const redisReply *r)
{
    switch (r->type) {
    case REDIS_REPLY_INTEGER:
        (void)fprintf(out, "%lld", r->integer);
        return;
    case REDIS_REPLY_NIL:
        (void)fputs("(nil)", out);
        return;
    case REDIS_REPLY_ERROR:
        (void)fputs("(error) ", out);
        break;
    default:
        break;
    }
    write_bytes(out, r->str, r->len);
}

static void write_reply(FILE *out, const redisReply *r, bool *first)
{
    if (r->type == REDIS_REPLY_ARRAY) {
        for (size_t i = 0; i < r->elements; i++)
            write_reply(out, r->element[i], first);
        return;
    }
    if (!*first)
        (void)putc(' ', out);
    *first = false;
    write_leaf(out, r);
}

char *witness_text(const redisReply *reply)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    bool first = true;

    if (!out)
        return local_copy("(no memory)");
    write_reply(out, reply, &first);
    (void)fclose(out);
    return text;
}
