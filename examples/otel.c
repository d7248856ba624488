/* Turns the commands of a client into spans of OpenTelemetry: each command to the server is a
 * client span with the attributes of the semantic conventions for Redis (version 1.30). There is no
 * stable OpenTelemetry SDK for C, so this program prints the spans; a program with an SDK calls
 * it where `span_end` prints: StartSpan with the time of the start, SetAttribute, End.
 *
 *     otel [URL [NAME]]        takes the lock NAME and releases it
 *
 * The trace callback runs with the loop's lock held: it must return at once, and may not call
 * other functions of holdfast. An SDK's batch processor only queues a span, which is allowed. To
 * print is not, in a program whose standard output may block. */
#include <holdfast/holdfast.h>

#include <stdio.h>
#include <string.h>

/* Commands that have no reply yet, of all connections. A command that finds no room has no span. */
#define PENDING_MAX 256
#define TEXT_MAX 80

struct span {
    const char *address;        /* of the connection; NULL: the place is free */
    uint64_t number;            /* of the command on it */
    char operation[TEXT_MAX];   /* EVALSHA */
    char script[TEXT_MAX];      /* its SHA-1; "": it is not a script */
};

struct spans {
    struct span pending[PENDING_MAX];
};

/* ---- attributes ---- */

static void copy(char dst[TEXT_MAX], const char *ptr, size_t len)
{
    size_t n = len < TEXT_MAX - 1 ? len : TEXT_MAX - 1;

    memcpy(dst, ptr, n);
    dst[n] = '\0';
}

/* "127.0.0.1:6379", "[::1]:6379", or "unix:/path". */
static void put_address(const char *address)
{
    const char *colon = strrchr(address, ':');
    int len = colon ? (int)(colon - address) : (int)strlen(address);

    if (strncmp(address, "unix:", 5) == 0 || !colon) {
        printf(" server.address=%s network.transport=unix", colon ? address + 5 : address);
        return;
    }
    if (address[0] == '[')
        printf(" server.address=%.*s", len - 2, address + 1);
    else
        printf(" server.address=%.*s", len, address);
    printf(" server.port=%s", colon + 1);
}

/* The code of an error reply is its first word. Without a reply the error has another type. */
static void put_error(const struct hf_trace *t)
{
    const char *text = "";
    size_t len = 0;
    char code[TEXT_MAX];

    if (t->outcome == HF_UNSENT)
        printf(" error.type=unsent");
    if (t->outcome == HF_UNKNOWN)
        printf(" error.type=no_reply");
    if (t->outcome != HF_ANSWERED || !hf_resp_is_error(t->reply) ||
        hf_resp_bytes(t->reply, &text, &len) != HF_OK)
        return;
    copy(code, text, len);
    code[strcspn(code, " ")] = '\0';
    printf(" db.response.status_code=%s error.type=%s", code, code);
}

/* ---- spans ---- */

static struct span *find(struct spans *spans, const char *address, uint64_t number)
{
    for (int i = 0; i < PENDING_MAX; i++)
        if (spans->pending[i].address == address && spans->pending[i].number == number)
            return &spans->pending[i];
    return NULL;
}

static void span_begin(struct spans *spans, const struct hf_trace *t)
{
    struct span *span = find(spans, NULL, 0);

    if (!span || t->argc == 0)
        return;
    *span = (struct span){.address = t->address, .number = t->number};
    copy(span->operation, t->argv[0].ptr, t->argv[0].len);
    if (t->argc > 1 && strcmp(span->operation, "EVALSHA") == 0)
        copy(span->script, t->argv[1].ptr, t->argv[1].len);
}

/* Its start is its end less the latency. Names of locks are not collected: db.query.text is
 * optional, and may contain sensitive data. */
static void span_end(struct spans *spans, const struct hf_trace *t)
{
    struct span *span = find(spans, t->address, t->number);

    if (!span)
        return;
    printf("%s%s%s kind=client duration_us=%u db.system.name=redis db.operation.name=%s",
           span->operation, span->script[0] ? " " : "", span->script, (unsigned)t->latency_us,
           span->operation);
    if (span->script[0])
        printf(" db.stored_procedure.name=%s", span->script);
    put_address(t->address);
    put_error(t);
    putchar('\n');
    *span = (struct span){0};
}

static void on_trace(void *ctx, const struct hf_trace *t)
{
    if (t->kind == HF_TRACE_QUEUED)
        span_begin(ctx, t);
    else if (t->kind == HF_TRACE_ENDED)
        span_end(ctx, t);
}

int main(int argc, char **argv)
{
    const char *name = argc > 2 ? argv[2] : "order:42";
    static struct spans spans;
    struct hf_client_options options;
    struct hf_client *client = NULL;
    struct hf_lock *lock = NULL;
    struct hf_error error = {0};
    hf_status rc;

    hf_client_options_init(&options);
    options.url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    options.trace = on_trace;
    options.trace_ctx = &spans;
    rc = hf_client_new(&client, &options, &error);
    if (rc == HF_OK)
        rc = hf_lock_new(&lock, client, name, strlen(name), &error);
    if (rc == HF_OK)
        rc = hf_lock_acquire(lock, NULL, &error);
    if (rc == HF_OK)
        rc = hf_lock_release(lock, hf_owner_thread(), &error);
    if (rc != HF_OK)
        fprintf(stderr, "%s\n", error.text);
    hf_lock_free(lock);
    hf_client_free(client);
    return rc == HF_OK ? 0 : 1;
}
