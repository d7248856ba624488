/* MONITOR's lines wait in the connection until the end. */
#include "tests/redisson/monitor.h"

#include <hiredis/hiredis.h>

#include "tests/redisson/both.h"

static redisContext *monitor;

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

int64_t monitor_ms(const char *line)
{
    long long s, us;

    ck_assert_int_eq(sscanf(line, "%lld.%lld", &s, &us), 2);
    return s * 1000 + us / 1000;
}
