/* A server that refuses, is busy or goes, and what a client says of it. */
#ifndef TEST_LIVE_LOCK_REFUSED_H
#define TEST_LIVE_LOCK_REFUSED_H

#include <hiredis/hiredis.h>

#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

static struct hf_client *client;
static struct hf_lock *lock;

static inline void open_client(int64_t request_timeout_ms)
{
    client = client_timed(server_port(server), 900, request_timeout_ms);
    lock = lock_of(client, NAME);
    ck_assert_ok(hf_client_connect(client, NULL));
}

/* Some rows need what only a command line can give, in words that Redis
 * knows since 7, or without which 6 does the same. */
static const char *const extra7[] = {
    "--save", "3600 10000", "--enable-protected-configs", "yes",
    "--loading-process-events-interval-bytes", "1024",
    "--busy-reply-threshold", "5", NULL};
static const char *const extra6[] = {"--save", "3600 10000",
                                     "--lua-time-limit", "5", NULL};
static bool is_6;
static bool has_channels;       /* rules for them: since 6.2 */

static inline void look_at_version(void)
{
    struct server *s = server_start(NULL);

    is_6 = s && strstr(server_ask(s, "INFO server"), "redis_version:6");
    has_channels =
        !s || !strstr(server_ask(s, "INFO server"), "redis_version:6.0");
    server_stop(s);
}

/* True, and says so: this server has not what the row is about. */
static inline bool is_skipped(bool is_missing, const char *what)
{
    if (is_missing)
        (void)printf("skipped: %s\n", what);
    return is_missing;
}

static inline void start(void)
{
    start_server_with(is_6 ? extra6 : extra7);
}

static inline void stop(void)
{
    hf_client_free(client);
    client = NULL;
    stop_server();
}

/* One line, with the address, the lock and the server's words; nothing more. */
static inline void ck_assert_clear(const struct hf_error *err, const char *words)
{
    char address[40];

    (void)snprintf(address, sizeof address, "127.0.0.1:%d",
                   server_port(server));
    ck_assert_msg(strstr(err->text, address), "no address: %s", err->text);
    ck_assert_msg(strstr(err->text, NAME), "no lock: %s", err->text);
    ck_assert_msg(strstr(err->text, words), "not %s: %s", words, err->text);
    ck_assert_ptr_null(strchr(err->text, '\n'));
    ck_assert_ptr_null(strstr(err->text, "secret"));
}

/* A question whose answer nobody awaits. */
static inline redisContext *ask_unheard(const char *format, const char *arg)
{
    redisContext *c = server_connect(server);
    int is_written = 0;

    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(redisAppendCommand(c, format, arg), REDIS_OK);
    while (!is_written)
        ck_assert_int_eq(redisBufferWrite(c, &is_written), REDIS_OK);
    return c;
}

static inline void keep_busy(redisContext **c)
{
    *c = ask_unheard("EVAL %s 0", "while true do end");
    while (!strstr(server_ask(server, "PING"), "BUSY"))
        local_poll_rest();
}

static inline void kill_script(void)
{
    (void)server_ask(server, "SCRIPT KILL");
}

/* ---- a suite's main ---- */

static inline int refused_main(const char *name, void (*add)(Suite *suite))
{
    if (server_is_installed())
        look_at_version();
    return live_main(name, add);
}

#endif
