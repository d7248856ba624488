/* Each script, and each command in it refused in turn: by the ACL; and by a server that
 * is out of memory, cannot save, has too few replicas, or has another type under a key.
 * The rule of every cell: an error means that the keys are as before, so the call can be
 * made again; any other answer is the one of a call that nothing disturbed, and so are
 * the keys. A message that is refused is not an error.
 *
 * HF_TABLE=1 prints the table: script, case, what is refused, answer, keys (`make
 * refused`). */
#include <dirent.h>
#include <hiredis/hiredis.h>
#include <sys/stat.h>

#include "lock/script/scripts.h"
#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#define U "6e3814a1-e847-452b-a982-45baf93a1df2"
#define O U ":1"
#define P U ":2"
#define W O ":write"
#define CH "PUBLISH channel"
#define TOKENS "redisson_lock_token:{job}"
#define QUEUE "redisson_lock_queue:{job}"
#define PLACES "redisson_lock_timeout:{job}"
#define HOLDS "{job}:" O ":rwlock_timeout"
#define OTHERS "{job}:" P ":rwlock_timeout"
#define OUT "{pool}:timeout"
#define ANSWER "{pool}:" U ":holdfast_answer"
#define FAR "9000000000000"
#define NEVER "922337203685477"
/* The id that scripts make of O. */
#define ID "return redis.sha1hex('" O "'):sub(1, 32):gsub('%x%x', function(b) " \
           "return string.char(tonumber(b, 16)) end)"

enum {
    MAY_SKIP_A_TOKEN = 1,       /* an error may leave the counter raised */
    MAY_REAP = 2,               /* or lapsed permits available */
    MAY_QUEUE = 4,              /* the queue may have changed, or a free lock be
                                   taken: the client does not take it for undone
                                   (acquire.c, failed) */
    IS_OF_MANY = 8,             /* each hold is renewed by itself */
};

static const struct row {
    const struct hf_script *script;
    const char *name;
    const char *before;         /* commands, with ';' between them */
    const char *call;
    unsigned flags;
} rows[] = {
    {&hf_script_acquire, "free", "", "1 job " O " 1 30000", 0},
    {&hf_script_acquire, "entered again", "HSET job " O " 1;PEXPIRE job 60000",
     "1 job " O " 2 30000", 0},
    {&hf_script_acquire, "held by another", "HSET job " P " 1;PEXPIRE job 60000",
     "1 job " O " 1 30000", 0},
    {&hf_script_acquire, "with a token", "SET " TOKENS " 5",
     "2 job " TOKENS " " O " 1 30000 0", MAY_SKIP_A_TOKEN},
    {&hf_script_acquire, "with a token that is kept for a time", "SET " TOKENS " 5",
     "2 job " TOKENS " " O " 1 30000 3600000", MAY_SKIP_A_TOKEN},
    {&hf_script_release, "the last", "HSET job " O " 1;PEXPIRE job 60000",
     "1 job " O " 0 30000 " CH, 0},
    {&hf_script_release, "one of two", "HSET job " O " 2;PEXPIRE job 60000",
     "1 job " O " 1 30000 " CH, 0},
    {&hf_script_release, "of nobody", "", "1 job " O " 0 30000 " CH, 0},
    {&hf_script_release, "in both ways", "HSET job " O " 1;PEXPIRE job 60000",
     "1 job " O " 0 30000 PUBLISH channel SPUBLISH", 0},
    {&hf_script_force_release, "plain", "HSET job " O " 1;PEXPIRE job 60000",
     "1 job 123 '' " CH, 0},
    {&hf_script_force_release, "fair",
     "HSET job " O " 1;RPUSH " QUEUE " " P ";ZADD " PLACES " " FAR " " P,
     "3 job " QUEUE " " PLACES " 123 '' " CH, MAY_QUEUE},
    {&hf_script_renew, "one", "HSET job " O " 1;PEXPIRE job 10000", "1 job 30000 " O,
     0},
    {&hf_script_renew, "two",
     "HSET job " O " 1;PEXPIRE job 10000;HSET toy " O " 1;PEXPIRE toy 10000",
     "2 job toy 30000 " O " " O, IS_OF_MANY},
    {&hf_script_extend, "with a TTL", "HSET job " O " 1;PEXPIRE job 10000",
     "1 job " O " 0 30000", 0},
    {&hf_script_extend, "without", "HSET job " O " 1", "1 job " O " 0 30000", 0},
    {&hf_script_inspect, "held", "HSET job " O " 1;PEXPIRE job 60000", "1 job 123 " O,
     0},
    {&hf_script_hold_keys, "of all", "HSET job mode read " O " 1 " P " 1;PEXPIRE job 60000",
     "1 job " O " 1", 0},
    {&hf_script_read_acquire, "free", "", "2 job " HOLDS " " O " 1 30000 " W, 0},
    {&hf_script_read_acquire, "beside another",
     "HSET job mode read " P " 1;PEXPIRE job 10000;SET " OTHERS ":1 1 PX 10000",
     "2 job " HOLDS " " O " 1 30000 " W, 0},
    {&hf_script_read_acquire, "under one's own write hold",
     "HSET job mode write " W " 1;PEXPIRE job 10000",
     "2 job " HOLDS " " O " 1 30000 " W, 0},
    {&hf_script_read_acquire, "entered again",
     "HSET job mode read " O " 1;PEXPIRE job 10000;SET " HOLDS ":1 1 PX 10000",
     "2 job " HOLDS " " O " 2 30000 " W, 0},
    {&hf_script_read_release, "the last",
     "HSET job mode read " O " 1;PEXPIRE job 30000;SET " HOLDS ":1 1 PX 30000",
     "2 job " HOLDS " " O " 0 30000 " CH, 0},
    {&hf_script_read_release, "one of two",
     "HSET job mode read " O " 2;PEXPIRE job 60000;SET " HOLDS ":1 1 PX 10000;"
     "SET " HOLDS ":2 1 PX 60000",
     "2 job " HOLDS " " O " 1 30000 " CH, 0},
    {&hf_script_read_release, "another stays",
     "HSET job mode read " O " 1 " P " 1;PEXPIRE job 60000;"
     "SET " HOLDS ":1 1 PX 60000;SET " OTHERS ":1 1 PX 20000",
     "2 job " HOLDS " " O " 0 30000 " CH, 0},
    {&hf_script_read_release, "of nobody", "", "2 job " HOLDS " " O " 0 30000 " CH, 0},
    {&hf_script_read_renew, "one",
     "HSET job mode read " O " 1;PEXPIRE job 10000;SET " HOLDS ":1 1 PX 10000",
     "2 job " HOLDS " 30000 " O, IS_OF_MANY},
    {&hf_script_read_extend, "one",
     "HSET job mode read " O " 1;PEXPIRE job 10000;SET " HOLDS ":1 1 PX 10000",
     "2 job " HOLDS " " O " 0 30000", IS_OF_MANY},
    {&hf_script_write_acquire, "free", "", "1 job " W " 1 30000", 0},
    {&hf_script_write_acquire, "with a token", "SET " TOKENS " 5",
     "2 job " TOKENS " " W " 1 30000 0", MAY_SKIP_A_TOKEN},
    {&hf_script_write_acquire, "entered again",
     "HSET job mode write " W " 1;PEXPIRE job 10000", "1 job " W " 2 30000", 0},
    {&hf_script_write_release, "the last",
     "HSET job mode write " W " 1;PEXPIRE job 30000", "1 job " W " 0 30000 " CH, 0},
    {&hf_script_write_release, "one of two",
     "HSET job mode write " W " 2;PEXPIRE job 60000", "1 job " W " 1 30000 " CH, 0},
    {&hf_script_write_release, "it reads, too",
     "HSET job mode write " W " 1 " O " 1;PEXPIRE job 60000;"
     "SET " HOLDS ":1 1 PX 20000",
     "1 job " W " 0 30000 " CH, 0},
    {&hf_script_rw_force_release, "readers",
     "HSET job mode read " O " 1;PEXPIRE job 30000", "1 job 123 '' read " CH, 0},
    {&hf_script_rw_force_release, "a writer",
     "HSET job mode write " W " 1;PEXPIRE job 30000", "1 job 123 '' write " CH, 0},
    {&hf_script_value_acquire, "free", "", "1 job " O " 1 30000", 0},
    {&hf_script_value_acquire, "with a token", "SET " TOKENS " 5",
     "2 job " TOKENS " " O " 1 30000 0", MAY_SKIP_A_TOKEN},
    {&hf_script_value_acquire, "held by another", "SET job x PX 60000",
     "1 job " O " 1 30000", 0},
    {&hf_script_value_release, "held", "SET job " O " PX 60000", "1 job " O " 0 30000",
     0},
    {&hf_script_value_renew, "two", "SET job " O " PX 10000;SET toy " O " PX 10000",
     "2 job toy 30000 " O " " O, IS_OF_MANY},
    {&hf_script_value_extend, "with a TTL", "SET job " O " PX 10000",
     "1 job " O " 0 30000", 0},
    {&hf_script_value_extend, "without", "SET job " O, "1 job " O " 0 30000", 0},
    {&hf_script_value_force_release, "held", "SET job " O " PX 10000", "1 job 123 ''",
     0},
    {&hf_script_value_inspect, "held", "SET job " O " PX 10000", "1 job 123 ''", 0},
    {&hf_script_fair_acquire, "free", "",
     "3 job " QUEUE " " PLACES " " O " 1 30000 60000 45000", MAY_QUEUE},
    {&hf_script_fair_acquire, "held by another", "HSET job " P " 1;PEXPIRE job 60000",
     "3 job " QUEUE " " PLACES " " O " 1 30000 60000 45000", MAY_QUEUE},
    {&hf_script_fair_acquire, "first in the queue",
     "RPUSH " QUEUE " " O " " P ";ZADD " PLACES " " FAR " " O " " FAR " " P,
     "3 job " QUEUE " " PLACES " " O " 1 30000 60000 45000", MAY_QUEUE},
    {&hf_script_fair_acquire, "entered again", "HSET job " O " 1;PEXPIRE job 10000",
     "3 job " QUEUE " " PLACES " " O " 2 30000 0 45000", MAY_QUEUE},
    {&hf_script_fair_release, "the last",
     "HSET job " O " 1;PEXPIRE job 60000;RPUSH " QUEUE " " P ";"
     "ZADD " PLACES " " FAR " " P,
     "3 job " QUEUE " " PLACES " " O " 0 30000 60000 45000 " CH, MAY_QUEUE},
    {&hf_script_fair_release, "one of two", "HSET job " O " 2;PEXPIRE job 60000",
     "3 job " QUEUE " " PLACES " " O " 1 30000 60000 45000 " CH, MAY_QUEUE},
    {&hf_script_fair_release, "of a waiter",
     "HSET job " P " 1;PEXPIRE job 60000;RPUSH " QUEUE " " O ";"
     "ZADD " PLACES " " FAR " " O,
     "3 job " QUEUE " " PLACES " " O " 0 30000 60000 45000 " CH, MAY_QUEUE},
    {&hf_script_fair_drop, "one place",
     "RPUSH " QUEUE " " P " " O ";ZADD " PLACES " " FAR " " P " " FAR " " O,
     "3 job " QUEUE " " PLACES " 123 " P " 0 " CH, MAY_QUEUE},
    {&hf_script_permit_acquire, "available", "SET pool 2",
     "2 pool " OUT " " O " 1 30000", 0},
    {&hf_script_permit_acquire, "of a semaphore that ends", "SET pool 2 PX 60000",
     "2 pool " OUT " " O " 1 30000", 0},
    {&hf_script_permit_acquire, "lapsed ones",
     "SET pool -1;ZADD " OUT " 1000 0123456789abcdef 1000 fedcba9876543210",
     "2 pool " OUT " " O " 1 30000", MAY_REAP},
    {&hf_script_permit_acquire, "none", "SET pool 0;ZADD " OUT " " NEVER " 0123456789abcdef",
     "2 pool " OUT " " O " 1 30000", 0},
    {&hf_script_permit_acquire, "held already", "SET pool 0;@",
     "2 pool " OUT " " O " 1 30000", 0},
    {&hf_script_permit_acquire, "held already, of a semaphore that ends",
     "SET pool 0 PX 60000;@", "2 pool " OUT " " O " 1 30000", 0},
    {&hf_script_permit_release, "held", "SET pool 0;@",
     "2 pool " OUT " " O " 0 30000 " CH, 0},
    {&hf_script_permit_release, "held, of a semaphore that was deleted", "@",
     "2 pool " OUT " " O " 0 30000 " CH, 0},
    {&hf_script_permit_renew, "held", "SET pool 0;@", "1 " OUT " 30000 " O, 0},
    {&hf_script_permit_extend, "held", "SET pool 0;@", "1 " OUT " " O " 0 30000", 0},
    {&hf_script_permit_force_release, "one", "SET pool 0;@", "2 pool " OUT " 123 " O " " CH,
     0},
    {&hf_script_permit_force_release, "all",
     "SET pool 0;@;ZADD " OUT " " NEVER " 0123456789abcdef",
     "2 pool " OUT " 123 '' " CH, 0},
    {&hf_script_permit_inspect, "held", "SET pool 0;@", "2 pool " OUT " 123 " O, 0},
    {&hf_script_permit_read, "held", "SET pool 3;@", "2 pool " OUT " 123 ''", 0},
    {&hf_script_permit_set, "more", "SET pool 1 PX 60000;@",
     "3 pool " OUT " " ANSWER " 123 5 60000 " CH, 0},
    {&hf_script_permit_set, "fewer than are in use", "SET pool 1;@",
     "3 pool " OUT " " ANSWER " 123 0 60000 " CH, 0},
    {&hf_script_permit_set, "the same", "SET pool 1;@",
     "3 pool " OUT " " ANSWER " 123 2 60000 " CH, 0},
    {&hf_script_permit_set, "not there", "", "3 pool " OUT " " ANSWER " 123 5 60000 " CH, 0},
    {&hf_script_permit_set, "set already", "SET pool 3;SET " ANSWER " 5 PX 60000",
     "3 pool " OUT " " ANSWER " 123 5 60000 " CH, 0},
    {&hf_script_count_set, "semaphore", "", "2 pool " ANSWER " 123 5 60000 0 '' " CH, 0},
    {&hf_script_count_set, "semaphore with a TTL", "",
     "2 pool " ANSWER " 123 5 60000 60000 '' " CH, 0},
    {&hf_script_count_set, "latch", "", "2 pool " ANSWER " 123 5 60000 0 1 " CH, 0},
    {&hf_script_count_set, "it is there", "SET pool 3",
     "2 pool " ANSWER " 123 5 60000 0 '' " CH, 0},
    {&hf_script_semaphore_delete, "there", "SET pool 3",
     "3 pool " OUT " " ANSWER " 123 1 60000 " CH, 0},
    {&hf_script_semaphore_delete, "expired permits", "SET pool 3;ZADD " OUT " 1 x",
     "3 pool " OUT " " ANSWER " 123 1 60000 " CH, 0},
    {&hf_script_semaphore_delete, "permits in use", "SET pool 1;@",
     "3 pool " OUT " " ANSWER " 123 1 60000 " CH, 0},
    {&hf_script_semaphore_delete, "deleted already", "SET pool 3;SET " ANSWER " 1 PX 60000",
     "3 pool " OUT " " ANSWER " 123 1 60000 " CH, 0},
    {&hf_script_semaphore_delete, "not there", "", "3 pool " OUT " " ANSWER " 123 1 60000 " CH,
     0},
    {&hf_script_latch_delete, "there", "SET pool 3 PX 60000",
     "2 pool " ANSWER " 123 1 60000 1 " CH, 0},
    {&hf_script_latch_delete, "deleted already", "SET pool 3;SET " ANSWER " 1 PX 60000",
     "2 pool " ANSWER " 123 1 60000 1 " CH, 0},
    {&hf_script_latch_delete, "not there", "", "2 pool " ANSWER " 123 1 60000 1 " CH, 0},
    {&hf_script_count_read, "semaphore", "SET pool 3", "1 pool 123 ''", 0},
    {&hf_script_token_raise, "smaller", "HSET job " O " 1;PEXPIRE job 60000;SET tokens 3",
     "2 job tokens " O " 7 0", 0},
    {&hf_script_token_raise, "greater", "HSET job " O " 1;PEXPIRE job 60000;SET tokens 9",
     "2 job tokens " O " 7 0", 0},
    {&hf_script_token_raise, "value lock", "SET job " O " PX 60000;SET tokens 3",
     "2 job tokens " O " 7 0", 0},
    {&hf_script_token_raise, "not held", "SET tokens 3", "2 job tokens " O " 7 0", 0},
    {&hf_script_semaphore_acquire, "available", "SET pool 3",
     "2 pool " ANSWER " 123 2 60000", 0},
    {&hf_script_semaphore_acquire, "too few", "SET pool 1",
     "2 pool " ANSWER " 123 2 60000", 0},
    {&hf_script_semaphore_acquire, "taken already", "SET pool 1;SET " ANSWER " 2 PX 60000",
     "2 pool " ANSWER " 123 2 60000", 0},
    {&hf_script_semaphore_release, "there", "SET pool 3",
     "2 pool " ANSWER " 123 2 60000 '' " CH, 0},
    {&hf_script_semaphore_release, "not there", "", "2 pool " ANSWER " 123 2 60000 '' " CH,
     0},
    {&hf_script_semaphore_release, "not created", "", "2 pool " ANSWER " 123 2 60000 1 " CH,
     0},
    {&hf_script_semaphore_release, "added already",
     "SET pool 3;SET " ANSWER " 3 PX 60000", "2 pool " ANSWER " 123 2 60000 '' " CH, 0},
    {&hf_script_semaphore_reduce, "some", "SET pool 3", "2 pool " ANSWER " 123 5 60000", 0},
    {&hf_script_semaphore_reduce, "all", "SET pool 3", "2 pool " ANSWER " 123 0 60000", 0},
    {&hf_script_semaphore_reduce, "not there", "", "2 pool " ANSWER " 123 2 60000", 0},
    {&hf_script_semaphore_reduce, "removed already",
     "SET pool 3;SET " ANSWER " 4 PX 60000", "2 pool " ANSWER " 123 0 60000", 0},
    {&hf_script_semaphore_undo, "taken", "SET pool 3;SET " ANSWER " 2 PX 60000",
     "2 pool " ANSWER " 123 0 60000 " CH, 0},
    {&hf_script_semaphore_undo, "not taken", "SET pool 3",
     "2 pool " ANSWER " 123 0 60000 " CH, 0},
    {&hf_script_latch_await, "closed", "SET pool 3", "1 pool 123 1 0", 0},
    {&hf_script_latch_count_down, "not yet 0", "SET pool 3",
     "2 pool " ANSWER " 123 1 60000 " CH, 0},
    {&hf_script_latch_count_down, "to 0", "SET pool 1",
     "2 pool " ANSWER " 123 1 60000 " CH, 0},
    {&hf_script_latch_count_down, "not there", "", "2 pool " ANSWER " 123 1 60000 " CH,
     0},
};

#define GROUP 10                /* rows that share a server */
#define GROUPS ((COUNT(rows) + GROUP - 1) / GROUP)

static redisContext *eve;
static bool prints;

static void start(void)
{
    redisReply *reply;

    start_server();
    prints = getenv("HF_TABLE") != NULL;
    (void)server_ask(server, "ACL SETUSER eve on >pw ~* +@all");
    (void)server_ask(server, "ACL SETUSER eve &*");
    eve = server_connect(server);
    reply = redisCommand(eve, "AUTH eve pw");
    ck_assert_str_eq(reply->str, "OK");
    freeReplyObject(reply);
}

static void stop(void)
{
    redisFree(eve);
    stop_server();
}

static void each_row(int group, void (*try)(const struct row *row))
{
    for (int i = group * GROUP; i < (group + 1) * GROUP && i < COUNT(rows); i++)
        try(&rows[i]);
}

/* ---- keys ---- */

/* Times are compared to 5 s; what is in a key is compared exactly. ARGV: keys that are
 * left out. */
static const char keys_script[] =
    "local t = redis.call('time') local now = t[1] * 1000 + t[2] / 1000 "
    "local function near(n) return math.floor((n + 2500) / 5000) end "
    "local out = {} for _, a in ipairs(ARGV) do out[a] = true end "
    "local all = redis.call('keys', '*') table.sort(all) local lines = {} "
    "for _, key in ipairs(all) do if not out[key] then "
    "local kind, list = redis.call('type', key).ok, nil "
    "if kind == 'string' then list = {redis.call('get', key)} "
    "elseif kind == 'hash' then list = redis.call('hgetall', key) local h = {} "
    "for i = 1, #list, 2 do h[#h + 1] = list[i] .. '=' .. list[i + 1] end "
    "table.sort(h) list = h "
    "elseif kind == 'list' then list = redis.call('lrange', key, 0, -1) "
    "elseif kind == 'zset' then list = redis.call('zrange', key, 0, -1, 'withscores') "
    "for i = 2, #list, 2 do local n = tonumber(list[i]) "
    "list[i] = n > 1e12 and n < 8e12 and '+' .. near(n - now) or list[i] end "
    "for i = 1, #list, 2 do list[i] = redis.sha1hex(list[i]):sub(1, 6) end end "
    "local ttl = redis.call('pttl', key) "
    "lines[#lines + 1] = key .. '(' .. kind .. ' ' .. table.concat(list, ' ') .. "
    "(ttl >= 0 and ' ttl ' .. near(ttl) or '') .. ')' end end "
    "return table.concat(lines, ' ')";

/* `skip`: a key that is left out, or "". */
static void keys_without(char dst[2000], const char *skip, const char *skip2)
{
    (void)snprintf(dst, 2000, "%s",
                   server_ask(server, "EVAL %s 0 %s %s", keys_script, skip, skip2));
}

static void take_permit(void)
{
    (void)server_ask(server, "EVAL %s 0",
                     "local id = (function() " ID " end)() redis.call('zadd', '" OUT
                     "', '" NEVER "', id)");
}

/* "@": the owner has a permit. */
static void set_up(const struct row *row)
{
    char text[1000], *at = text, *end;

    (void)server_ask(server, "FLUSHALL");
    (void)snprintf(text, sizeof text, "%s", row->before);
    for (; *at; at = end) {
        end = at + strcspn(at, ";");
        if (*end)
            *end++ = '\0';
        if (*at == '@')
            take_permit();
        else
            (void)server_ask(server, at);
    }
}

/* ---- the call ---- */

struct answer {
    bool is_error;
    long long count;            /* its second element */
    char text[200];
};

static void read_reply(struct answer *out, const redisReply *r)
{
    ck_assert_ptr_nonnull(r);
    *out = (struct answer){.is_error = r->type == REDIS_REPLY_ERROR};
    if (out->is_error) {
        (void)snprintf(out->text, sizeof out->text, "%.60s", r->str);
        return;
    }
    ck_assert_int_eq(r->type, REDIS_REPLY_ARRAY);
    for (size_t i = 1; i < r->elements; i++) {
        const redisReply *e = r->element[i];
        size_t len = strlen(out->text);

        if (e->type == REDIS_REPLY_INTEGER)
            (void)snprintf(out->text + len, sizeof out->text - len, "%lld ", e->integer);
        else
            (void)snprintf(out->text + len, sizeof out->text - len, "'%.40s' ", e->str);
        if (i == 1)
            out->count = e->str ? atoll(e->str) : e->integer;
    }
}

static struct answer call(const struct row *row)
{
    const char *argv[40] = {"EVAL", row->script->text};
    size_t argvlen[40] = {4, row->script->len};
    struct answer answer;
    char text[1000];
    redisReply *reply;
    int argc = 2;

    (void)snprintf(text, sizeof text, "%s", row->call);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        argv[argc] = strcmp(word, "''") == 0 ? "" : word;
        argvlen[argc] = strlen(argv[argc]);
        argc++;
    }
    reply = redisCommandArgv(eve, argc, argv, argvlen);
    read_reply(&answer, reply);
    freeReplyObject(reply);
    return answer;
}

/* ---- a cell ---- */

struct whole {                  /* the call that nothing disturbs */
    struct answer answer;
    char before[2000], after[2000];
    char free_before[2000], free_after[2000];   /* without `skip` */
    char timeless_after[2000];  /* without the times of a queue's places */
    const char *skip, *skip2;
};

static const char *skip_of(const struct row *row)
{
    return row->flags & MAY_SKIP_A_TOKEN ? TOKENS
           : row->flags & MAY_QUEUE      ? QUEUE
                                         : "";
}

static void look_whole(struct whole *w, const struct row *row)
{
    w->skip = skip_of(row);
    w->skip2 = row->flags & MAY_QUEUE ? PLACES : "";
    set_up(row);
    keys_without(w->before, "", "");
    keys_without(w->free_before, w->skip, w->skip2);
    w->answer = call(row);
    ck_assert_msg(!w->answer.is_error, "%s, %s: %s", row->script->name, row->name,
                  w->answer.text);
    keys_without(w->after, "", "");
    keys_without(w->free_after, w->skip, w->skip2);
    keys_without(w->timeless_after, w->skip2, "");
}

/* Permits that are out or available: an error may have moved those that lapsed. */
static void count_permits(char dst[2000])
{
    (void)snprintf(dst, 2000, "%s",
                   server_ask(server, "EVAL %s 0",
                              "return (redis.call('get', 'pool') or 0) + "
                              "redis.call('zcard', '" OUT "')"));
}

static bool is_as_before(const struct row *row, const struct whole *w)
{
    char now[2000];

    if (row->flags & MAY_REAP) {
        count_permits(now);
        return strcmp(now, "1") == 0;
    }
    keys_without(now, w->skip, w->skip2);
    return strcmp(now, w->free_before) == 0 ||
           (row->flags & MAY_QUEUE && *w->free_before == '\0' &&
            strcmp(now, w->free_after) == 0);
}

/* The times of others' places are set as far as the server permits. */
static bool is_done(const struct whole *w, const char *refused)
{
    char now[2000];

    if (strcmp(refused, "zadd") == 0 || strcmp(refused, "OOM") == 0) {
        keys_without(now, w->skip2, "");
        return strcmp(now, w->timeless_after) == 0;
    }
    keys_without(now, "", "");
    return strcmp(now, w->after) == 0;
}

static void print_cell(const struct row *row, const char *refused,
                       const struct answer *a, const char *keys)
{
    if (prints && fflush(stdout) == 0)
        (void)printf("%-22s | %-40s | %-16s | %-60s | %s\n", row->script->name,
                     row->name, refused, a->text, keys);
}

static void fail_cell(const struct row *row, const struct whole *w,
                      const char *refused, const struct answer *a)
{
    char now[2000];

    keys_without(now, "", "");
    ck_abort_msg("%s, %s, without %s: answers %s%s\n  before %s\n  done   %s\n  now    %s",
                 row->script->name, row->name, refused, a->is_error ? "error " : "",
                 a->text, w->before, w->after, now);
}

static void judge(const struct row *row, const struct whole *w, const char *refused,
                  const struct answer *a)
{
    const char *keys = a->is_error ? "as before" : "done";

    if (a->is_error && row->flags & IS_OF_MANY)
        keys = "each renewed, or as before";
    else if (a->is_error ? !is_as_before(row, w)
                         : !is_done(w, refused) || a->count != w->answer.count)
        fail_cell(row, w, refused, a);
    print_cell(row, refused, a, keys);
}

static void must_work_again(const struct row *row, const struct whole *w,
                            const char *refused, bool was_error)
{
    struct answer a;
    char now[2000];

    if (!was_error)
        return;
    a = call(row);
    keys_without(now, w->skip, w->skip2);
    if (a.is_error || a.count != w->answer.count || strcmp(now, w->free_after) != 0)
        fail_cell(row, w, refused, &a);
}

/* ---- ACL ---- */

/* Each command that the script names. */
static const char *next_command(const char *at, char dst[40])
{
    for (; (at = strstr(at, "call('")); at++) {
        size_t len = strcspn(at + 6, "'");

        (void)snprintf(dst, 40, "%.*s", (int)len, at + 6);
        return at + 6;
    }
    return NULL;
}

static bool is_first(const struct row *row, const char *at, const char *command)
{
    char text[60];

    (void)snprintf(text, sizeof text, "call('%s'", command);
    return strstr(row->script->text, text) == at - strlen("call('");
}

static void refuse_command(const struct row *row, const struct whole *w,
                           const char *command)
{
    struct answer a;

    set_up(row);
    ck_assert_str_eq(server_ask(server, "ACL SETUSER eve -%s", command), "OK");
    a = call(row);
    ck_assert_str_eq(server_ask(server, "ACL SETUSER eve +%s", command), "OK");
    judge(row, w, command, &a);
    must_work_again(row, w, command, a.is_error);
}

static void try_commands(const struct row *row)
{
    struct whole w;
    char command[40];

    look_whole(&w, row);
    for (const char *at = row->script->text; (at = next_command(at, command));)
        if (is_first(row, at, command))
            refuse_command(row, &w, command);
    if (strstr(row->call, "PUBLISH"))
        refuse_command(row, &w, "publish");
}

START_TEST(command_that_is_refused_by_the_acl)
{
    each_row(_i, try_commands);
}
END_TEST

/* The default of a user since Redis 7. */
static void try_channel(const struct row *row)
{
    struct whole w;
    struct answer a;

    look_whole(&w, row);
    set_up(row);
    if (strcmp(server_ask(server, "ACL SETUSER eve resetchannels"), "OK") != 0)
        return; /* Redis 6.0 has no rights for channels */
    a = call(row);
    (void)server_ask(server, "ACL SETUSER eve &*");
    judge(row, &w, "the channel", &a);
    ck_assert_msg(!a.is_error, "%s, %s: %s", row->script->name, row->name, a.text);
}

START_TEST(channel_that_is_refused_by_the_acl)
{
    each_row(_i, try_channel);
}
END_TEST

/* ---- the server ---- */

static void refuse_writes(const struct row *row, const struct whole *w,
                          const char *what, const char *begin, const char *end)
{
    struct answer a;

    set_up(row);
    ck_assert_str_eq(server_ask(server, begin), "OK");
    a = call(row);
    ck_assert_str_eq(server_ask(server, end), "OK");
    judge(row, w, what, &a);
    must_work_again(row, w, what, a.is_error);
}

/* A folder where the file of the database is to be: it cannot be replaced. */
static void break_disk(void)
{
    char path[400];

    (void)snprintf(path, sizeof path, "%s/dump.rdb", server_folder(server));
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/dump.rdb/x", server_folder(server));
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)server_ask(server, "CONFIG SET stop-writes-on-bgsave-error no");
    (void)server_ask(server, "SET x 1");
    ck_assert_str_eq(server_ask(server, "CONFIG SET save %s", "3600 1"), "OK");
    (void)server_ask(server, "BGSAVE");
    server_await(server, AWAIT_MS, "1", "EVAL %s 0",
                 "local i = redis.call('info', 'persistence') return "
                 "i:find('rdb_last_bgsave_status:err', 1, true) and 1 or 0");
}

static void try_writes(const struct row *row)
{
    struct whole w;

    look_whole(&w, row);
    refuse_writes(row, &w, "OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0");
    refuse_writes(row, &w, "NOREPLICAS", "CONFIG SET min-replicas-to-write 3",
                  "CONFIG SET min-replicas-to-write 0");
    refuse_writes(row, &w, "MISCONF", "CONFIG SET stop-writes-on-bgsave-error yes",
                  "CONFIG SET stop-writes-on-bgsave-error no");
}

START_TEST(write_that_the_server_refuses)
{
    break_disk();
    each_row(_i, try_writes);
}
END_TEST

/* ---- another type ---- */

static void key_of_call(const struct row *row, int n, char dst[200])
{
    const char *at = row->call;

    while (n-- > 0)
        at += strcspn(at, " ") + 1;
    (void)snprintf(dst, 200, "%.*s", (int)strcspn(at, " "), at);
}

/* Another program's key loses nothing. Where the call is done all the same, its own keys
 * are those of a call that nothing disturbed. */
static void put_other_type(const struct row *row, const struct whole *w, int n)
{
    char key[200], before[2000], now[2000], done[2000];
    struct answer a;

    key_of_call(row, n, key);
    look_whole(&(struct whole){0}, row);
    keys_without(done, key, w->skip);
    set_up(row);
    (void)server_ask(server, "DEL %s", key);
    (void)server_ask(server, "SADD %s other", key);
    keys_without(before, w->skip, w->skip2);
    a = call(row);
    ck_assert_str_eq(server_ask(server, "SMEMBERS %s", key), "other");
    keys_without(now, w->skip, w->skip2);
    if (a.is_error || a.count < 0 || strcmp(w->before, w->after) == 0)
        ck_assert_msg(strcmp(now, before) == 0 || row->flags & (MAY_QUEUE | IS_OF_MANY),
                      "%s, %s: %s\n  before %s\n  now    %s", row->script->name,
                      row->name, a.text, before, now);
    else {
        keys_without(now, key, w->skip);
        ck_assert_msg(strcmp(now, done) == 0 || row->flags & (MAY_QUEUE | IS_OF_MANY),
                      "%s, %s: %s\n  done   %s\n  now    %s", row->script->name,
                      row->name, a.text, done, now);
    }
    print_cell(row, key, &a, a.is_error || a.count < 0 ? "as before" : "done");
}

static void try_other_types(const struct row *row)
{
    struct whole w;

    look_whole(&w, row);
    for (int n = 1; n <= atoi(row->call); n++)
        put_other_type(row, &w, n);
}

START_TEST(key_of_another_type)
{
    each_row(_i, try_other_types);
}
END_TEST

/* ---- all scripts ---- */

static bool has_row(const char *name, size_t len)
{
    for (int i = 0; i < COUNT(rows); i++)
        if (strlen(rows[i].script->name) == len &&
            memcmp(rows[i].script->name, name, len) == 0)
            return true;
    return false;
}

/* Those that are parts of others reply to nobody. */
static bool is_part(const char *name)
{
    static const char *const parts[] = {"fair_places.lua", "number.lua", "permit_id.lua",
                                        "short_number.lua", "tell.lua", "token.lua"};

    for (int i = 0; i < COUNT(parts); i++)
        if (strcmp(parts[i], name) == 0)
            return true;
    return false;
}

START_TEST(no_script_is_left_out)
{
    DIR *folder = opendir("lock/script/lua");
    struct dirent *e;

    ck_assert_ptr_nonnull(folder);
    while ((e = readdir(folder))) {
        size_t len = strcspn(e->d_name, ".");

        if (strcmp(e->d_name + len, ".lua") == 0 && !is_part(e->d_name))
            ck_assert_msg(has_row(e->d_name, len), "%s has no row", e->d_name);
    }
    (void)closedir(folder);
}
END_TEST

static void add(Suite *s)
{
    TCase *c = live_case(s, "refused", start, stop);

    tcase_add_test(c, no_script_is_left_out);
    tcase_add_loop_test(c, command_that_is_refused_by_the_acl, 0, GROUPS);
    tcase_add_loop_test(c, channel_that_is_refused_by_the_acl, 0, GROUPS);
    tcase_add_loop_test(c, write_that_the_server_refuses, 0, GROUPS);
    tcase_add_loop_test(c, key_of_another_type, 0, GROUPS);
}

int main(void)
{
    return live_main("what is refused in the middle of a script", add);
}
