/* The rule of a user who may do what holdfast does, and nothing else. It names
 * commands, because a category gives more (+@connection also gives CLIENT PAUSE
 * and CLIENT LIST). tests/live/test_lock_acl.c has exactly these rights. */
#include <stdio.h>
#include <string.h>

#include "cli/doctor/acl.h"

/* Scripts and what they call; messages; the greeting, which kills the
 * connection before it (design 11); PING. */
static const char rights[] =
    "+eval +evalsha +exists +hexists +hget +hset +hlen +hscan +pexpire +pttl "
    "+del +publish +subscribe +unsubscribe "
    "+info +ping +client|id +client|kill +client|setname";

/* Prints a character of a pattern within redis-cli's quotation marks. The
 * server takes special characters literally behind a backslash. */
static void print_byte(unsigned char c)
{
    if (strchr("*?[]\\", c))
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

/* Prints the prefix, and the name in the form that Redisson puts behind a
 * prefix (WIRE 2.2, 2.4). */
static void print_prefixed(char kind, const char *prefix, const char *name)
{
    bool has_tag = name && strchr(name, '{');

    (void)printf(" \"%c%s%s", kind, prefix, has_tag ? "" : "{");
    print_name(name);
    (void)fputs(has_tag ? "\"" : "}\"", stdout);
}

/* A forced release looks for the queue of a fair lock. */
static void print_patterns(const char *name)
{
    if (!name) {
        (void)fputs(" ~* resetchannels &redisson_lock__channel:*", stdout);
        return;
    }
    (void)fputs(" \"~", stdout);
    print_name(name);
    (void)putchar('"');
    print_prefixed('~', "redisson_lock_queue:", name);
    (void)fputs(" resetchannels", stdout);
    print_prefixed('&', "redisson_lock__channel:", name);
}

void doctor_acl_print(const struct hf_url *url, const struct hf_seeds *seeds,
                      const char *name)
{
    (void)fputs("ACL SETUSER app reset on >PASSWORD resetkeys", stdout);
    print_patterns(name);
    (void)printf(" %s", rights);
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
