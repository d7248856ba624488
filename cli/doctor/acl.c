/* The rule of a user that may do what holdfast does, and nothing else. It names
 * commands, because a category gives more (+@connection also gives CLIENT PAUSE
 * and CLIENT LIST). tests/live/test_lock_acl.c has exactly these rights. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/acl.h"
#include "cli/report.h"

/* Scripts and what they call; messages; the greeting, which kills the
 * connection before it (design 11); PING. */
static const char rights[] =
    "+eval +evalsha +exists +hexists +hget +hset +hlen +hscan +pexpire +pttl "
    "+del +publish +subscribe +unsubscribe "
    "+info +ping +client|id +client|kill +client|setname";

/* What each use needs beside. A pattern of keys or channels: its sign and what
 * stands before the name; behind it `rest`. NULL: none. */
struct use {
    const char *word;
    int bit;
    const char *rights;
    const char *keys, *keys_rest;
    const char *channel, *channel_rest;
    bool has_braced_channel;    /* whatever the name */
};

/* What counts: the number, and the answers that are kept. */
#define RIGHTS_TO_COUNT "+get +set +incrby +decrby"

/* A waiter for a fair lock has a channel of its own, behind the lock's (WIRE
 * 11.4). A read hold has keys of its own, behind the name (WIRE 12), and so have
 * the answers of semaphores and latches, and permits that are out (WIRE 16). A
 * latch's channel has braces whatever the name (WIRE 17). A spin lock, a lock on
 * several servers and several as one need what a plain lock needs. */
static const struct use uses_known[] = {
    {.word = "fair", .bit = DOCTOR_USE_FAIR,
     .rights = "+time +llen +lindex +lrange +rpush +lpop +lrem +zadd +zscore +zrange "
               "+zrem",
     .keys = "redisson_lock_timeout:", .keys_rest = "",
     .channel = "redisson_lock__channel:", .channel_rest = ":*"},
    {.word = "shared", .bit = DOCTOR_USE_SIDES,
     .rights = "+hmget +hgetall +hdel +set",
     .keys = "", .keys_rest = ":*",
     .channel = "redisson_rwlock:", .channel_rest = ""},
    {.word = "exclusive", .bit = DOCTOR_USE_SIDES},
    {.word = "fenced", .bit = DOCTOR_USE_FENCED,
     .rights = "+incr +get",
     .keys = "redisson_lock_token:", .keys_rest = ""},
    {.word = "retention", .bit = DOCTOR_USE_RETENTION,
     .rights = "+incr +get +time +set",
     .keys = "redisson_lock_token:", .keys_rest = ""},
    {.word = "value", .bit = DOCTOR_USE_VALUE, .rights = "+getrange +strlen +set"},
    {.word = "permits", .bit = DOCTOR_USE_PERMITS,
     .rights = RIGHTS_TO_COUNT " +time +zadd +zrem +zscore +zrange "
               "+zrangebyscore +zcard +zcount",
     .keys = "", .keys_rest = ":*",
     .channel = "redisson_sc:", .channel_rest = ""},
    {.word = "semaphore", .bit = DOCTOR_USE_SEMAPHORE,
     .rights = RIGHTS_TO_COUNT,
     .keys = "", .keys_rest = ":*",
     .channel = "redisson_sc:", .channel_rest = ""},
    {.word = "latch", .bit = DOCTOR_USE_LATCH,
     .rights = RIGHTS_TO_COUNT,
     .keys = "", .keys_rest = ":*",
     .channel = "redisson_countdownlatch__channel__", .channel_rest = "",
     .has_braced_channel = true},
    {.word = "spin", .bit = DOCTOR_USE_PLAIN},
    {.word = "quorum", .bit = DOCTOR_USE_PLAIN},
    {.word = "multi", .bit = DOCTOR_USE_PLAIN},
    {.word = "ls", .bit = DOCTOR_USE_LS,
     .rights = "+scan +llen +getrange +zrange +zcard +zcount +zscore +time"},
};

#define USES (sizeof uses_known / sizeof *uses_known)

int doctor_use_of(const char *word)
{
    for (size_t i = 0; i < USES; i++)
        if (strcmp(uses_known[i].word, word) == 0)
            return uses_known[i].bit;
    return 0;
}

/* A rule of the server cannot have any. */
#define WHITE_SPACE " \t\n\v\f\r"

/* Prints a character of a pattern within redis-cli's quotation marks. The
 * server takes special characters literally behind a backslash. */
static void print_byte(unsigned char c)
{
    if (strchr(WHITE_SPACE, c))
        (void)putchar('?');
    else if (strchr("*?[]\\", c))
        (void)printf("\\\\%s%c", c == '\\' ? "\\" : "", c);
    else if (c == '"')
        (void)fputs("\\\"", stdout);
    else if (c < ' ' || c > '~')
        (void)printf("\\x%02x", c);
    else
        (void)putchar(c);
}

static void print_name(const char *name)
{
    for (; *name; name++)
        print_byte((unsigned char)*name);
}

static void print_braced(char sign, const char *prefix, const char *name,
                         const char *rest, bool has_braces)
{
    (void)printf(" \"%c%s%s", sign, prefix, has_braces ? "{" : "");
    print_name(name);
    (void)printf("%s%s\"", has_braces ? "}" : "", rest);
}

/* Prints the prefix, the name in the form that Redisson puts behind a prefix
 * (WIRE 2.2, 2.4), and the rest. */
static void print_prefixed(char sign, const char *prefix, const char *name,
                           const char *rest)
{
    print_braced(sign, prefix, name, rest, !strchr(name, '{'));
}

/* A forced release looks for the queue of a fair lock. */
static void print_keys(const char *name, int uses)
{
    if (!name) {
        (void)fputs(" ~*", stdout);
        return;
    }
    (void)fputs(" \"~", stdout);
    print_name(name);
    (void)putchar('"');
    print_prefixed('~', "redisson_lock_queue:", name, "");
    for (const struct use *u = uses_known; u < uses_known + USES; u++)
        if (u->bit & uses && u->keys)
            print_prefixed('~', u->keys, name, u->keys_rest);
}

/* Without a name: of all locks. */
static void print_channel(const struct use *u, const char *name)
{
    if (!name)
        (void)printf(" &%s*", u->channel);
    else if (u->has_braced_channel)
        print_braced('&', u->channel, name, u->channel_rest, true);
    else
        print_prefixed('&', u->channel, name, u->channel_rest);
}

static void print_channels(const char *name, int uses)
{
    static const struct use plain = {.channel = "redisson_lock__channel:",
                                     .channel_rest = ""};

    (void)fputs(" resetchannels", stdout);
    print_channel(&plain, name);
    for (const struct use *u = uses_known; u < uses_known + USES; u++)
        if (u->bit & uses && u->channel &&
            (name || strcmp(u->channel, plain.channel) != 0))
            print_channel(u, name);
}

static void print_rights(int uses)
{
    (void)printf(" %s", rights);
    for (const struct use *u = uses_known; u < uses_known + USES; u++)
        if (u->bit & uses && u->rights)
            (void)printf(" %s", u->rights);
}

void doctor_acl_print(const struct hf_url *url, const struct hf_seeds *seeds,
                      const char *name, int uses)
{
    if (name && strpbrk(name, WHITE_SPACE))
        cli_note("white space in the name stands as '?', which is any byte: a rule of "
                 "the server cannot have any");
    (void)fputs("ACL SETUSER app reset on >PASSWORD resetkeys", stdout);
    print_keys(name, uses);
    print_channels(name, uses);
    print_rights(uses);
    if (url->database != 0)
        (void)fputs(" +select", stdout);
    if (seeds->topology == HF_CLUSTER)
        (void)fputs(" +cluster|slots +cluster|info +pubsub|shardnumsub +asking "
                    "+spublish +ssubscribe +sunsubscribe",
                    stdout);
    if (url->replicas != 0)
        (void)fputs(" +wait", stdout);
    if (url->replicas != 0 || seeds->topology == HF_SENTINEL)
        (void)fputs(" +role", stdout);
    (void)putchar('\n');
}
