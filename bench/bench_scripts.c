/* How long the server is busy with one call of each script, when one of the script's
 * keys has 10, 1,000 and 100,000 elements. Another program may have made them: no
 * script may take longer because of that. Texts have 200 bytes for each element.
 *
 *     bench_scripts                               (started by bench/run.sh)
 *
 * The times are the server's own (INFO commandstats), of a call on new keys. The
 * shortest of three counts, because a busy machine interrupts the server. Exits with 1
 * if a call takes longer than LONGEST_US. */
#include <string.h>

#include "bench/measure.h"

#define SIZES 3
#define LONGEST_US 25000.0
#define WORDS_MAX 24
#define TRIES 3

static const int sizes[SIZES] = {10, 1000, 100000};
static redisContext *server;

/* ---- keys ---- */

#define A "6e3814a1-e847-452b-a982-45baf93a1df2:1"
#define HOLD_KEY "{L}:" A ":rwlock_timeout"
#define CHANNEL " PUBLISH ch"
#define QUEUE "L redisson_lock_queue:{L} redisson_lock_timeout:{L} "

/* `o(i)` is an owner's field, `a` our own; `each` calls f(i) for 1 to n. */
static const char prelude[] =
    "redis.call('flushall') local n, a = tonumber(ARGV[1]), '" A "'\n"
    "local function o(i) return ('%08x-e847-452b-a982-45baf93a1df2:1'):format(i) end\n"
    "local function each(f) for i = 1, n do f(i) end end\n"
    "local function queue(ms) local t = redis.call('time')\n"
    "  local now = t[1] * 1000\n"
    "  each(function(i) redis.call('rpush', 'redisson_lock_queue:{L}', o(i))\n"
    "    redis.call('zadd', 'redisson_lock_timeout:{L}', now + ms * (i + 1), o(i)) end)\n"
    "end\n"
    "local function join(ms) redis.call('rpush', 'redisson_lock_queue:{L}', a)\n"
    "  redis.call('zadd', 'redisson_lock_timeout:{L}', redis.call('time')[1] * 1000 + ms, a)\n"
    "end\n";

#define OTHERS "each(function(i) redis.call('hset', 'L', o(i), 1) end)"
#define OURS "redis.call('hset', 'L', a, 1) redis.call('pexpire', 'L', 90000) "
#define READS "redis.call('hset', 'L', 'mode', 'read', a, 1) redis.call('pexpire', 'L', 9e4) "
#define WRITES "redis.call('hset', 'L', 'mode', 'write', a .. ':write', 1) "
#define ALIVE "each(function(i) redis.call('hset', 'L', o(i), 1) " \
              "redis.call('set', '{L}:' .. o(i) .. ':rwlock_timeout:1', 1, 'px', 9e4) end)"
#define COUNTS "each(function(i) redis.call('hset', 'L', o(i), 1000) end)"
#define COUNT "redis.call('hset', 'L', a, n) "
#define TEXT "redis.call('set', 'L', ('x'):rep(200 * n)) redis.call('pexpire', 'L', 90000)"
#define FIELD "redis.call('hset', 'L', ('x'):rep(200 * n), 1)"
#define VALUE "redis.call('hset', 'L', a, ('x'):rep(200 * n))"
#define OUT(ms) "redis.call('set', 'S', 0) local t = redis.call('time')[1] * 1000 " \
    "each(function(i) redis.call('zadd', '{S}:timeout', t + " ms ", ('%016d'):format(i)) end)"
#define HELD "redis.call('hset', 'L', o(0), 1) redis.call('pexpire', 'L', 90000) "

static const struct row {
    const struct hf_script *script;
    const char *grows;          /* what of its keys */
    const char *fill;           /* makes them */
    const char *words;          /* the call: keys and arguments; '-': "" */
} rows[] = {
    {&hf_script_acquire, "fields", OTHERS, "1 L " A " 1 9000"},
    {&hf_script_acquire, "a field's bytes", FIELD, "1 L " A " 1 9000"},
    {&hf_script_acquire, "a value's bytes", VALUE, "1 L x 1 9000"},
    {&hf_script_acquire, "fields, re-entry", OURS OTHERS, "1 L " A " 2 9000"},
    {&hf_script_release, "fields", OURS OTHERS, "1 L " A " 0 9000" CHANNEL},
    {&hf_script_renew, "fields", OURS OTHERS, "1 L 9000 " A},
    {&hf_script_extend, "fields", OURS OTHERS, "1 L " A " 0 9000"},
    {&hf_script_inspect, "fields", OURS OTHERS, "1 L 1 -"},
    {&hf_script_inspect, "a field's bytes", FIELD, "1 L 1 -"},
    {&hf_script_inspect, "places in the queue", HELD "queue(1000)", "1 L 1 -"},
    {&hf_script_force_release, "fields", OTHERS, "1 L 1 -" CHANNEL},
    {&hf_script_force_release, "live places", HELD "queue(1000)", "3 " QUEUE "1 -" CHANNEL},
    {&hf_script_force_release, "stale places", HELD "queue(-1000)",
     "3 " QUEUE "1 -" CHANNEL},
    {&hf_script_fair_acquire, "live places, we wait", HELD "queue(1000)",
     "3 " QUEUE A " 1 9000 9000 4500"},
    {&hf_script_fair_acquire, "live places, we are granted", "join(9000) queue(9000)",
     "3 " QUEUE A " 1 9000 9000 4500"},
    {&hf_script_fair_acquire, "stale places", "queue(-1000)",
     "3 " QUEUE A " 1 9000 9000 4500"},
    {&hf_script_fair_release, "live places", OURS "queue(1000)",
     "3 " QUEUE A " 0 9000 9000 4500" CHANNEL},
    {&hf_script_fair_release, "live places, we leave first", "join(9000) queue(9000)",
     "3 " QUEUE A " 0 9000 9000 4500" CHANNEL},
    {&hf_script_fair_release, "live places, we leave last", "queue(9000) join(9e8)",
     "3 " QUEUE A " 0 9000 9000 4500" CHANNEL},
    {&hf_script_fair_release, "stale places", OURS "queue(-1000)",
     "3 " QUEUE A " 0 9000 9000 4500" CHANNEL},
    {&hf_script_fair_release, "fields", OURS OTHERS,
     "3 " QUEUE A " 0 9000 9000 4500" CHANNEL},
    {&hf_script_fair_drop, "live places", "queue(9000)", "3 " QUEUE "1 - 0" CHANNEL},
    {&hf_script_fair_drop, "live places, by name", "queue(9000) join(9e8)",
     "3 " QUEUE "1 " A " 0" CHANNEL},
    {&hf_script_read_acquire, "readers", READS ALIVE,
     "2 L " HOLD_KEY "x x 1 9000 x:write"},
    {&hf_script_read_acquire, "fields, refused", WRITES OTHERS,
     "2 L " HOLD_KEY " " A " 1 9000 x:write"},
    {&hf_script_read_release, "live readers", READS ALIVE,
     "2 L " HOLD_KEY " " A " 0 9000" CHANNEL},
    {&hf_script_read_release, "dead readers", READS OTHERS,
     "2 L " HOLD_KEY " " A " 0 9000" CHANNEL},
    {&hf_script_read_release, "readers with counts of 1,000", READS COUNTS,
     "2 L " HOLD_KEY " " A " 0 9000" CHANNEL},
    {&hf_script_read_release, "our own count", READS COUNT,
     "2 L " HOLD_KEY " " A " 0 9000" CHANNEL},
    {&hf_script_read_renew, "readers", READS ALIVE, "2 L " HOLD_KEY " 9000 " A},
    {&hf_script_read_renew, "our own count", READS COUNT, "2 L " HOLD_KEY " 9000 " A},
    {&hf_script_read_extend, "our own count", READS COUNT,
     "2 L " HOLD_KEY " " A " 0 9000"},
    {&hf_script_rw_force_release, "live readers", READS ALIVE, "1 L 1 - read" CHANNEL},
    {&hf_script_write_acquire, "readers", READS ALIVE, "1 L x:write 1 9000"},
    {&hf_script_write_release, "fields", WRITES OTHERS, "1 L " A ":write 0 9000" CHANNEL},
    {&hf_script_write_release, "fields with counts of 1,000", WRITES COUNTS,
     "1 L " A ":write 0 9000" CHANNEL},
    {&hf_script_value_acquire, "the value's bytes", TEXT, "1 L " A " 1 9000"},
    {&hf_script_value_release, "the value's bytes", TEXT, "1 L " A},
    {&hf_script_value_renew, "the value's bytes", TEXT, "1 L 9000 " A},
    {&hf_script_value_extend, "the value's bytes", TEXT, "1 L " A " 0 9000"},
    {&hf_script_value_inspect, "the value's bytes", TEXT, "1 L 1 -"},
    {&hf_script_value_force_release, "the value's bytes", TEXT, "1 L 1 -"},
    {&hf_script_permit_acquire, "permits out", OUT("90000 + i"),
     "2 S {S}:timeout " A " 1 9000"},
    {&hf_script_permit_acquire, "lapsed permits", OUT("i - 9000000"),
     "2 S {S}:timeout " A " 1 9000"},
    {&hf_script_permit_extend, "permits out", OUT("90000 + i"),
     "1 {S}:timeout " A " 0 9000"},
    {&hf_script_permit_renew, "permits out", OUT("90000 + i"), "1 {S}:timeout 9000 " A},
    {&hf_script_permit_release, "permits out", OUT("90000 + i"),
     "2 S {S}:timeout " A " 0 9000" CHANNEL},
    {&hf_script_permit_read, "lapsed permits", OUT("i - 9000000"),
     "2 S {S}:timeout 1 -"},
    {&hf_script_permit_inspect, "permits out", OUT("90000 + i"),
     "2 S {S}:timeout 1 -"},
    {&hf_script_permit_force_release, "permits out", OUT("90000 + i"),
     "2 S {S}:timeout 1 -" CHANNEL},
    {&hf_script_semaphore_acquire, "the text's bytes", TEXT, "2 L {L}:x 1 1 9000"},
    {&hf_script_semaphore_release, "the text's bytes", TEXT, "2 L {L}:x 1 1 9000 -" CHANNEL},
    {&hf_script_semaphore_undo, "the text's bytes", TEXT, "2 L {L}:x 1 0 9000" CHANNEL},
    {&hf_script_count_set, "the text's bytes", TEXT, "2 L {L}:x 1 5 9000 -" CHANNEL},
    {&hf_script_count_read, "the text's bytes", TEXT, "1 L 1 -"},
    {&hf_script_count_read, "a token's bytes", TEXT, "2 l L 1 -"},
    {&hf_script_acquire, "a token's bytes", TEXT "redis.call('hset', 'l', a, 1)",
     "2 l L " A " 1 9000 0"},
    {&hf_script_latch_await, "the text's bytes", TEXT, "1 L 1 1 0"},
    {&hf_script_latch_count_down, "the text's bytes", TEXT, "2 L {L}:x 1 1 9000" CHANNEL},
};

/* ---- one call ---- */

static redisReply *command(int argc, const char **argv, const size_t *lens)
{
    redisReply *reply = redisCommandArgv(server, argc, argv, lens);

    if (!reply)
        die("the server", server->errstr);
    return reply;
}

static void fill(const struct row *row, int n)
{
    char script[4096], number[16];
    const char *argv[] = {"EVAL", script, "0", number};
    redisReply *reply;

    (void)snprintf(script, sizeof script, "%s%s", prelude, row->fill);
    (void)snprintf(number, sizeof number, "%d", n);
    reply = command(4, argv, NULL);
    if (reply->type == REDIS_REPLY_ERROR)
        die(row->fill, reply->str);
    freeReplyObject(reply);
}

/* What EVALSHA has cost since CONFIG RESETSTAT. */
static double evalsha_us(void)
{
    const char *argv[] = {"INFO", "commandstats"};
    redisReply *reply = command(2, argv, NULL);
    const char *at = strstr(reply->str, "cmdstat_evalsha:");
    double us = at && (at = strstr(at, "usec=")) ? atof(at + 5) : -1;

    freeReplyObject(reply);
    return us;
}

static void load(const struct hf_script *script)
{
    const char *argv[] = {"SCRIPT", "LOAD", script->text};
    const size_t lens[] = {6, 4, script->len};

    freeReplyObject(command(3, argv, lens));
}

/* A refusal is also a reply: its time counts. */
static double measure(const struct row *row, int n)
{
    const char *reset[] = {"CONFIG", "RESETSTAT"};
    const char *argv[WORDS_MAX] = {"EVALSHA", row->script->sha};
    char words[512], *state;
    int argc = 2;

    fill(row, n);
    (void)snprintf(words, sizeof words, "%s", row->words);
    for (char *word = strtok_r(words, " ", &state); word;
         word = strtok_r(NULL, " ", &state))
        argv[argc++] = strcmp(word, "-") == 0 ? "" : word;
    freeReplyObject(command(2, reset, NULL));
    freeReplyObject(command(argc, argv, NULL));
    return evalsha_us();
}

static double shortest(const struct row *row, int n)
{
    double us = measure(row, n);

    for (int i = 1; i < TRIES; i++) {
        double again = measure(row, n);

        us = again < us ? again : us;
    }
    return us;
}

/* ---- the table ---- */

/* HSCAN has no bound in bytes: the server copies the field and its value. */
static bool is_copied(const struct row *row)
{
    return strcmp(row->grows, "a field's bytes") == 0 ||
           strcmp(row->grows, "a value's bytes") == 0;
}

static bool print_row(const struct row *row)
{
    double us = 0;

    load(row->script);
    printf("| %-20s | %-28s |", row->script->name, row->grows);
    for (int i = 0; i < SIZES; i++) {
        us = shortest(row, sizes[i]);
        printf(" %9.0f |", us);
    }
    puts(us <= LONGEST_US ? "" : is_copied(row) ? " copied by HSCAN" : " TOO LONG");
    return us <= LONGEST_US || is_copied(row);
}

int main(void)
{
    const char *port = getenv("BENCH_PORT");
    bool is_ok = true;

    server = redisConnect("127.0.0.1", port ? atoi(port) : 6379);
    if (!server || server->err)
        die("the server", server ? server->errstr : "no memory");
    puts("us of the server for one call");
    printf("| %-20s | %-28s | %9d | %9d | %9d |\n", "script", "elements of", sizes[0],
           sizes[1], sizes[2]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        is_ok = print_row(&rows[i]) && is_ok;
    redisFree(server);
    return is_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
