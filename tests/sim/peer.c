/* What a Redisson-like program does with a lock. */
#include "tests/sim/peer.h"

#include <stdio.h>
#include <string.h>

#include "net/route/slot.h"
#include "tests/sim/site.h"

#define PEER "00000000-0000-4000-8000-000000000000:1"
#define LEASE "30000"

static const char *lock_of(const struct fault *f)
{
    return plan_lock_name(f->sim->plan, f->planned->lock);
}

static struct server *master_of(const struct fault *f)
{
    if (f->sim->plan->head.deployment == DEPLOY_INDEPENDENT)
        return site_server(f->sim->site, f->planned->server);
    return site_master(f->sim->site, f->planned->lock);
}

static void name_with(char *dst, size_t size, const char *prefix,
                      const char *name)
{
    (void)snprintf(dst, size, strchr(name, '{') ? "%s:%s" : "%s:{%s}", prefix,
                   name);
}

/* A sharded channel must be in its key's slot: that of an odd name is not. */
static const char *publish_of(const struct fault *f, const char *channel)
{
    const char *name = lock_of(f);

    return hf_slot_of(name, strlen(name)) ==
                   hf_slot_of(channel, strlen(channel))
               ? site_publish(f->sim->site)
               : "publish";
}

/* ---- plain locks ---- */

/* A lock that gets no TTL, because the server refuses PEXPIRE, is not left: its release
 * may reach a master that is dead. */
#define EXPIRE(ms)                                                             \
    "local e = redis.pcall('pexpire', KEYS[1], " ms ") "                        \
    "if type(e) == 'table' then redis.call('del', KEYS[1]) return e end "

/* WIRE 8.1, 8.2: acquired if it is free, and released again. */
static const char plain_acquire[] =
    "if redis.call('exists', KEYS[1]) == 0 then "
    "redis.call('hincrby', KEYS[1], ARGV[2], 1) "
    EXPIRE("ARGV[1]") "end "
    "return redis.call('pttl', KEYS[1])";
static const char plain_release[] =
    "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then "
    "redis.call('del', KEYS[1]) "
    "redis.call(ARGV[3], ARGV[2], 0) return 1 end return nil";

static void plain_enter(const struct fault *f)
{
    server_say(master_of(f), 6,
               (const char *[]){"EVAL", plain_acquire, "1", lock_of(f), LEASE,
                                PEER});
}

static void plain_leave(const struct fault *f)
{
    char channel[PLAN_KEY_MAX];

    name_with(channel, sizeof channel, "redisson_lock__channel", lock_of(f));
    server_say(master_of(f), 7,
               (const char *[]){"EVAL", plain_release, "1", lock_of(f), PEER,
                                channel, publish_of(f, channel)});
}

/* ---- fair locks ---- */

/* KEYS lock, queue, places; ARGV[1] owner, now, ... */
#define DROP_STALE                                                             \
    "while true do local h = redis.call('lindex', KEYS[2], 0) "                \
    "if not h then break end "                                                 \
    "local s = redis.call('zscore', KEYS[3], h) "                              \
    "if s and tonumber(s) <= tonumber(ARGV[2]) then "                          \
    "redis.call('zrem', KEYS[3], h) redis.call('lpop', KEYS[2]) "              \
    "else break end end "

/* WIRE 11.2. ARGV[3] wait, ARGV[4] lease. What it holds it does not enter again. */
static const char fair_acquire[] =
    DROP_STALE
    "if redis.call('exists', KEYS[1]) == 0 and "
    "(redis.call('exists', KEYS[2]) == 0 or "
    "redis.call('lindex', KEYS[2], 0) == ARGV[1]) then "
    "redis.call('lpop', KEYS[2]) redis.call('zrem', KEYS[3], ARGV[1]) "
    "for _, m in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do "
    "redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), m) end "
    "redis.call('hset', KEYS[1], ARGV[1], 1) "
    EXPIRE("ARGV[4]") "return nil end "
    "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return nil end "
    "if redis.call('zscore', KEYS[3], ARGV[1]) then "
    "return redis.call('pttl', KEYS[1]) end "
    "local l = redis.call('lindex', KEYS[2], -1) "
    "local s = l and l ~= ARGV[1] and redis.call('zscore', KEYS[3], l) "
    "local ttl = s and tonumber(s) - tonumber(ARGV[2]) "
    "or redis.call('pttl', KEYS[1]) "
    "if redis.call('zadd', KEYS[3], ttl + ARGV[3] + ARGV[2], ARGV[1]) == 1 "
    "then redis.call('rpush', KEYS[2], ARGV[1]) end return ttl";

/* WIRE 11.5, of one that holds it; otherwise 11.4. ARGV[3] wait, publish command,
 * channel. */
static const char fair_leave[] =
    "if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then " DROP_STALE
    "redis.call('del', KEYS[1]) "
    "local h = redis.call('lindex', KEYS[2], 0) "
    "if h then redis.call(ARGV[4], ARGV[5] .. ':' .. h, '0') end return 1 end "
    "local found = false "
    "for _, m in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do "
    "if found then redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), m) end "
    "found = found or m == ARGV[1] end "
    "redis.call('zrem', KEYS[3], ARGV[1]) "
    "redis.call('lrem', KEYS[2], 0, ARGV[1]) return 0";

struct fair_words {
    char owner[64], now[24], wait[24];
    char queue[PLAN_KEY_MAX], places[PLAN_KEY_MAX], channel[PLAN_KEY_MAX];
};

/* Each of these faults is an owner of its own. */
static struct fair_words words_of(const struct fault *f)
{
    struct fair_words w;

    (void)snprintf(w.owner, sizeof w.owner, "%s%lld", PEER,
                   (long long)f->planned->at_ms);
    name_with(w.queue, sizeof w.queue, "redisson_lock_queue", lock_of(f));
    name_with(w.places, sizeof w.places, "redisson_lock_timeout", lock_of(f));
    name_with(w.channel, sizeof w.channel, "redisson_lock__channel", lock_of(f));
    (void)snprintf(w.now, sizeof w.now, "%lld",
                   (long long)(world_now_us(f->sim->world) / 1000));
    (void)snprintf(w.wait, sizeof w.wait, "%lld",
                   (long long)(f->planned->n == 1 ? f->planned->for_ms
                                                : PEER_PLACE_MS));
    return w;
}

static void fair_ask(const struct fault *f)
{
    struct fair_words w = words_of(f);

    server_say(master_of(f), 10,
               (const char *[]){"EVAL", fair_acquire, "3", lock_of(f), w.queue,
                                w.places, w.owner, w.now, w.wait, LEASE});
}

static void fair_give_up(const struct fault *f)
{
    struct fair_words w = words_of(f);

    server_say(master_of(f), 11,
               (const char *[]){"EVAL", fair_leave, "3", lock_of(f), w.queue,
                                w.places, w.owner, w.now, w.wait,
                                publish_of(f, w.channel), w.channel});
}

/* ---- either ---- */

static bool is_fair(const struct fault *f)
{
    return plan_has_queue(f->sim->plan, f->planned->lock);
}

/* A plain lock beside a read-write or a value lock of one name is a fault of the
 * user's. */
static bool leaves_alone(const struct fault *f)
{
    int64_t family = plan_family(f->sim->plan, f->planned->lock);

    return family == FAMILY_READ_WRITE || family == FAMILY_VALUE ||
           plan_has_permits(f->sim->plan, f->planned->lock);
}

bool peer_enter(struct fault *f)
{
    if (leaves_alone(f))
        return false;
    if (is_fair(f))
        fair_ask(f);
    else
        plain_enter(f);
    return is_fair(f);
}

void peer_look(struct fault *f)
{
    const struct server *s = master_of(f);

    if (!s->is_frozen && !s->is_down)
        fair_ask(f);
}

void peer_leave(struct fault *f)
{
    if (leaves_alone(f) || (is_fair(f) && f->planned->n == 1))
        return;
    if (is_fair(f))
        fair_give_up(f);
    else
        plain_leave(f);
}
