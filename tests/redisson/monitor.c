/* MONITOR's lines wait in the connection until the end. */
#include "tests/redisson/monitor.h"

#include <hiredis/hiredis.h>

#include "tests/redisson/both.h"

#define TAIL_LINES 150

static redisContext *monitor;

/* The last lines: line I is at I % TAIL_LINES. */
static char *tail[TAIL_LINES];
static int tail_count;

static void keep(char *line)
{
    char **at = &tail[tail_count++ % TAIL_LINES];

    ck_assert_ptr_nonnull(line);
    free(*at);
    *at = line;
}

void monitor_begin(void)
{
    redisReply *r;

    monitor = server_connect(server);
    ck_assert_ptr_nonnull(monitor);
    r = redisCommand(monitor, "MONITOR");
    ck_assert_str_eq(r->str, "OK");
    freeReplyObject(r);
}

void monitor_end(void (*take)(void *ctx, const char *line), void *ctx)
{
    bool is_over = false;

    server_ask(server, "ECHO that-is-all");
    while (!is_over) {
        redisReply *r;

        ck_assert_int_eq(redisGetReply(monitor, (void **)&r), REDIS_OK);
        is_over = strstr(r->str, "that-is-all") != NULL;
        keep(strdup(r->str));
        take(ctx, r->str);
        freeReplyObject(r);
    }
    redisFree(monitor);
}

bool monitor_is(const char *line, const char *command,
                char owner[MONITOR_OWNER_ROOM])
{
    const char *at = strstr(line, command);

    owner[0] = '\0';
    if (at)
        (void)sscanf(at + strlen(command), " \"%95[^\"]\"", owner);
    return at != NULL;
}

void monitor_tail(void)
{
    int first = tail_count > TAIL_LINES ? tail_count - TAIL_LINES : 0;

    for (int i = first; i < tail_count; i++)
        (void)printf("  %s\n", tail[i % TAIL_LINES]);
    (void)fflush(stdout);
}

int64_t monitor_ms(const char *line)
{
    long long s, us;

    ck_assert_int_eq(sscanf(line, "%lld.%lld", &s, &us), 2);
    return s * 1000 + us / 1000;
}
