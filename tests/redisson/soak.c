/* A mixed soak beside a real Redisson (soak.h), for HF_SOAK_S seconds. Of each side
 * one process stays; the others are killed (SIGKILL) after so many grants, and
 * replaced. At the end all of them finish what they do, what the dead had has ended,
 * everything can be had once more, and no key is left.
 *
 * The environment names Redisson's folder (HF_REDISSON; see run.sh). HF_SEED repeats
 * the choices, not the times. */
#include <check.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/redisson/both.h"
#include "tests/redisson/soak.h"
#include "tests/support/dice.h"
#include "tests/support/local.h"

#define SLOTS 5
#define READ_AT_ONCE 500
#define GONE_MS 10000
/* All turns that were begun: each behind the leases of the dead, at most. */
#define END_MS 60000
/* The longest TTL of all is that of Redisson's unlock latch, 20 s. */
#define CLEAN_MS 30000

static const char mark_script[] =
    "local t = redis.call('time') "
    "local us = t[1] .. string.format('%06d', t[2]) "
    "local ev, kind, name, field = ARGV[1], ARGV[4], ARGV[5], ARGV[9] "
    "local pttl, mine, others = 0, 0, 0 "
    "if ev == 'start' then redis.call('hset', 'soak:uuid', ARGV[2], field) "
    "elseif kind == 'permit' then "
    "  mine = redis.call('zcard', '{' .. name .. '}:timeout') "
    "  others = redis.call('get', name) "
    "elseif kind == 'semaphore' then others = redis.call('get', name) "
    "elseif ev == 'enter' or ev == 'leave' then "
    "  field = field:gsub(':write$', '') "
    "  local h = kind == 'write' and field .. ':write' or field "
    "  for i, f in ipairs(redis.call('hkeys', name)) do "
    "    if f == h then mine = redis.call('hget', name, f) "
    "    elseif f ~= 'mode' and (kind ~= 'read' and kind ~= 'write' or "
    "      f:sub(-6) == ':write') then others = others + 1 end "
    "  end "
    "  pttl = redis.call('pttl', kind ~= 'read' and name or "
    "    '{' .. name .. '}:' .. field .. ':rwlock_timeout:' .. mine) "
    "end "
    "return redis.call('rpush', 'soak:log', table.concat({us, ev, ARGV[2], "
    "  ARGV[3], kind, name, ARGV[6], ARGV[7], ARGV[8], pttl, mine, others, "
    "  field}, ' '))";

/* What the dead client has yet; then KIND NAME, two for each. */
static const char died_script[] =
    "local t = redis.call('time') "
    "local us = t[1] .. string.format('%06d', t[2]) "
    "local uuid = redis.call('hget', 'soak:uuid', ARGV[1]) "
    "local function say(ev, kind, name, pttl, field) "
    "  redis.call('rpush', 'soak:log', table.concat({us, ev, ARGV[1], 0, kind, "
    "    name, '-', 0, '-', pttl, 1, 0, field}, ' ')) "
    "end "
    "say('died', '-', '-', 0, '-') "
    "for i = 2, uuid and #ARGV or 0, 2 do "
    "  local kind, name = ARGV[i], ARGV[i + 1] "
    "  if kind ~= 'permit' and kind ~= 'semaphore' then "
    "    for j, f in ipairs(redis.call('hkeys', name)) do "
    "      local is_write = f:sub(-6) == ':write' "
    "      local h = is_write and f:sub(1, -7) or f "
    "      local key = kind ~= 'read' and name or "
    "        '{' .. name .. '}:' .. h .. ':rwlock_timeout:' .. redis.call('hget', "
    "        name, f) "
    "      if f:sub(1, 36) == uuid and is_write == (kind == 'write') then "
    "        say('rest', kind, name, redis.call('pttl', key), h) "
    "      end "
    "    end "
    "  end "
    "end "
    "say('buried', '-', '-', 0, '-')";

/* How many of the dead have a place in the fair lock's queue. ARGV: the living. */
static const char places_script[] =
    "local t, living, dead = redis.call('time'), {}, 0 "
    "for i, client in ipairs(ARGV) do "
    "  living[redis.call('hget', 'soak:uuid', client) or ''] = 1 "
    "end "
    "for i, waiter in ipairs(redis.call('zrangebyscore', "
    "  'redisson_lock_timeout:{fair:0}', t[1] * 1000, '+inf')) do "
    "  if not living[waiter:sub(1, 36)] then dead = dead + 1 end "
    "end "
    "return dead";

static const char left_script[] =
    "local left = {} "
    "local known = {['soak:log'] = 1, ['soak:uuid'] = 1, ['permit:0'] = 1, "
    "  ['semaphore:0'] = 1, ['redisson_lock_token:{fenced:0}'] = 1} "
    "for i, key in ipairs(redis.call('keys', '*')) do "
    "  if not known[key] then left[#left + 1] = key end "
    "end "
    "return table.concat(left, ' ')";

struct slot {
    bool is_java, is_mortal;
    unsigned client;
    pid_t pid;
    int in;
    unsigned long grants, grants_max;   /* it is killed after so many */
};

static struct {
    struct slot slots[SLOTS];
    unsigned clients[2];        /* [0]: the last number of ours; [1]: Redisson's */
    char sha[48], url[SERVER_URL_MAX];
    struct redisContext *log;
    struct soak_history *history;
    unsigned long kills[2];
} s;

/* ---- processes ---- */

static int put_program(const struct slot *slot, const char **argv, char *path)
{
    static const char *const words[] = {"java", "-XX:TieredStopAtLevel=1", "-cp",
                                       NULL, "Soak"};

    if (!slot->is_java) {
        argv[0] = "/proc/self/exe";
        argv[1] = "worker";
        return 2;
    }
    for (int i = 0; i < 5; i++)
        argv[i] = i == 3 ? path : words[i];
    return 5;
}

static void exec_worker(const struct slot *slot, const char *seed, int in)
{
    char client_number[16], path[600], pairs[SOAK_THINGS_COUNT][32];
    const char *lib = getenv("HF_REDISSON"), *argv[SOAK_THINGS_COUNT + 16];
    int n;

    (void)snprintf(client_number, sizeof client_number, "%u", slot->client);
    (void)snprintf(path, sizeof path, "%s:%s/*", lib, lib);
    n = put_program(slot, argv, path);
    argv[n++] = s.url;
    argv[n++] = client_number;
    argv[n++] = s.sha;
    argv[n++] = seed;
    for (int i = 0; i < SOAK_THINGS_COUNT - slot->is_mortal; i++) {
        (void)snprintf(pairs[i], sizeof pairs[i], "%s=%s", soak_things[i].kind,
                       soak_things[i].name);
        argv[n++] = pairs[i];
    }
    argv[n] = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in, 0);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

static void begin(struct slot *slot)
{
    char seed[24];
    int in[2];

    slot->client = s.clients[slot->is_java] += 2;
    slot->grants = 0;
    slot->grants_max = slot->is_java ? 20 + dice(200) : 1 + dice(100);
    (void)snprintf(seed, sizeof seed, "%lu", (unsigned long)dice(1000000));
    ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
    if ((slot->pid = fork()) == 0)
        exec_worker(slot, seed, in[0]);
    ck_assert_int_gt(slot->pid, 0);
    close(in[0]);
    slot->in = in[1];
}

static bool is_connected(const struct slot *slot)
{
    char name[32];

    (void)snprintf(name, sizeof name, " name=soak-%u ", slot->client);
    return strstr(server_ask(server, "CLIENT LIST"), name) != NULL;
}

/* What it had sent is executed before its connections are seen to end. */
static void await_silence_of(const struct slot *slot)
{
    int64_t deadline_ms = local_now_ms() + GONE_MS;

    while (is_connected(slot)) {
        ck_assert_msg(local_now_ms() < deadline_ms, "the dead do not go");
        local_rest_us(1000);
    }
}

/* A script's integer, or 0. */
static long long ask_log(int argc, const char **argv)
{
    redisReply *r = redisCommandArgv(s.log, argc, argv, NULL);
    long long n;

    ck_assert_msg(r && r->type != REDIS_REPLY_ERROR, "%s", r ? r->str : "?");
    n = r->integer;
    freeReplyObject(r);
    return n;
}

static long long dead_in_queue(void)
{
    const char *argv[3 + SLOTS] = {"EVAL", places_script, "0"};
    char numbers[SLOTS][16];

    for (int i = 0; i < SLOTS; i++) {
        (void)snprintf(numbers[i], sizeof numbers[i], "%u", s.slots[i].client);
        argv[3 + i] = numbers[i];
    }
    return ask_log(3 + SLOTS, argv);
}

static void ask_what_rests(const struct slot *slot)
{
    const char *argv[4 + 2 * SOAK_THINGS_COUNT] = {"EVAL", died_script, "0"};
    char client_number[16];

    (void)snprintf(client_number, sizeof client_number, "%u", slot->client);
    argv[3] = client_number;
    for (int i = 0; i < SOAK_THINGS_COUNT; i++) {
        argv[4 + 2 * i] = soak_things[i].kind;
        argv[5 + 2 * i] = soak_things[i].name;
    }
    (void)ask_log(4 + 2 * SOAK_THINGS_COUNT, argv);
}

static void kill_and_replace(struct slot *slot)
{
    s.kills[slot->is_java]++;
    kill(slot->pid, SIGKILL);
    waitpid(slot->pid, NULL, 0);
    close(slot->in);
    await_silence_of(slot);
    ask_what_rests(slot);
    begin(slot);
}

static void end(const struct slot *slot)
{
    int64_t deadline_ms = local_now_ms() + END_MS;
    int status;

    while (waitpid(slot->pid, &status, WNOHANG) == 0) {
        ck_assert_msg(local_now_ms() < deadline_ms,
                      "client %u waits for what nobody holds", slot->client);
        local_rest_us(2000);
    }
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "client %u ends by itself: %d", slot->client, status);
}

static void check_alive(const struct slot *slot)
{
    int status;

    ck_assert_msg(waitpid(slot->pid, &status, WNOHANG) == 0,
                  "client %u has ended", slot->client);
}

/* ---- the log ---- */

static void count_grant(const char *line)
{
    char event[16];
    unsigned number;

    if (sscanf(line, "%*s %15s %u", event, &number) != 2 ||
        strcmp(event, "enter") != 0)
        return;
    for (int i = 0; i < SLOTS; i++)
        if (s.slots[i].client == number)
            s.slots[i].grants++;
}

/* Returns how many lines there were. */
static size_t read_log(void)
{
    redisReply *r = redisCommand(s.log, "LPOP soak:log %d", READ_AT_ONCE);
    size_t n;

    ck_assert_msg(r && r->type != REDIS_REPLY_ERROR, "%s", r ? r->str : "?");
    n = r->elements;
    for (size_t i = 0; i < n; i++) {
        count_grant(r->element[i]->str);
        soak_history_line(s.history, r->element[i]->str);
    }
    freeReplyObject(r);
    return n;
}

/* ---- the soak ---- */

static int seconds(void)
{
    const char *text = getenv("HF_SOAK_S");

    return text ? atoi(text) : 30;
}

static void start_soak(void)
{
    static const struct slot slots[SLOTS] = {
        {.is_java = false},
        {.is_java = true},
        {.is_mortal = true},
        {.is_mortal = true},
        {.is_java = true, .is_mortal = true},
    };

    start_server();
    server_url(server, s.url);
    s.log = server_connect(server);
    s.clients[0] = 1; /* odd ones are ours */
    s.history = soak_history_new(HF_BUILD "/redisson");
    (void)snprintf(s.sha, sizeof s.sha, "%s",
                   server_ask(server, "SCRIPT LOAD %s", mark_script));
    server_ask(server, "SET semaphore:0 %d", SOAK_SEMAPHORE);
    server_ask(server, "SET permit:0 %d", SOAK_PERMITS);
    for (int i = 0; i < SLOTS; i++) {
        s.slots[i] = slots[i];
        begin(&s.slots[i]);
    }
}

static void run(void)
{
    int64_t end_ms = local_now_ms() + seconds() * 1000;

    while (local_now_ms() < end_ms) {
        if (read_log() == 0)
            local_rest_us(2000);
        for (int i = 0; i < SLOTS; i++) {
            struct slot *slot = &s.slots[i];

            check_alive(slot);
            if (slot->is_mortal && slot->grants >= slot->grants_max &&
                dead_in_queue() + SOAK_THREADS <= SOAK_DEAD_MAX)
                kill_and_replace(slot);
        }
    }
}

/* They finish what they do. */
static void finish(void)
{
    for (int i = 0; i < SLOTS; i++)
        close(s.slots[i].in);
    for (int i = 0; i < SLOTS; i++)
        end(&s.slots[i]);
    while (read_log() > 0)
        continue;
}

/* So many owners have it at once, and release it. */
static void have(const struct soak_thing *thing, int owners)
{
    struct hf_lock *lock = lock_on(thing->lock_kind, thing->name);
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.wait_ms = SOAK_WATCHDOG_MS + TOLD_MS;
    for (o.owner = 1; o.owner <= owners; o.owner++)
        ck_assert_msg(hf_lock_acquire(lock, &o, NULL) == HF_OK,
                      "%s cannot be had any more", thing->name);
    for (o.owner = 1; o.owner <= owners; o.owner++)
        ck_assert_int_eq(hf_lock_release(lock, o.owner, NULL), HF_OK);
    hf_lock_free(lock);
}

/* All that there is can be had. A permit that has lapsed is counted back when there
 * are too few: so all of them are taken. */
static void have_all(void)
{
    struct hf_client_options o;
    struct hf_error err;

    hf_client_options_init(&o);
    o.url = s.url;
    ck_assert_int_eq(hf_client_new(&client, &o, &err), HF_OK);
    for (int i = 0; i < SOAK_THINGS_COUNT - 1; i++)
        have(&soak_things[i],
             strcmp(soak_things[i].kind, "permit") ? 1 : SOAK_PERMITS);
    hf_client_free(client);
}

static void check_rest(void)
{
    char expected[16];

    (void)snprintf(expected, sizeof expected, "%d", SOAK_PERMITS);
    server_await(server, CLEAN_MS, expected, "GET permit:0");
    (void)snprintf(expected, sizeof expected, "%d", SOAK_SEMAPHORE);
    server_await(server, CLEAN_MS, expected, "GET semaphore:0");
    server_await(server, CLEAN_MS, "", "EVAL %s 0", left_script);
}

static void summarise(const struct soak_counts *c)
{
    (void)printf("soak: %lu grants, %lu from one side to the other, %lu leases "
                 "that ended, %lu waits that ended, %lu lost; killed: %lu "
                 "processes of ours, %lu of Redisson\n",
                 c->grants, c->handed_over, c->expired, c->misses, c->lost,
                 s.kills[0], s.kills[1]);
    (void)printf("soak: the longest wait for what was free: %.3f s; fair, behind "
                 "the dead: %.3f s; read-write: %.3f s; permits: %.3f s\n",
                 (double)c->longest_us / 1e6, (double)c->longest_fair_us / 1e6,
                 (double)c->longest_rw_us / 1e6, (double)c->longest_pool_us / 1e6);
    for (int i = 0; i < SOAK_THINGS_COUNT; i++)
        (void)printf("soak: %-12s %-14s %7lu ours, %7lu of Redisson\n",
                     soak_things[i].kind, soak_things[i].name,
                     c->of_kind[0][i], c->of_kind[1][i]);
    (void)fflush(stdout);
}

START_TEST(both_sides_share_the_permits)
{
    struct soak_counts counts;
    unsigned long wrong;

    start_soak();
    run();
    finish();
    wrong = soak_history_end(s.history, &counts);
    summarise(&counts);
    ck_assert_uint_eq(wrong, 0);
    for (int i = 0; i < 2 * SOAK_THINGS_COUNT; i++)
        ck_assert_msg(counts.of_kind[i % 2][i / 2] > 0, "%s: no grant",
                      soak_things[i / 2].name);
    have_all();
    check_rest();
    redisFree(s.log);
    stop_server();
}
END_TEST

int main(int argc, char **argv)
{
    const char *seed = getenv("HF_SEED");
    Suite *suite = suite_create("soak beside Redisson");
    TCase *tc = tcase_create("soak");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return soak_worker(argc, argv);
    if (seed)
        dice_seed = strtoull(seed, NULL, 10) | 1;
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, both_sides_share_the_permits);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
