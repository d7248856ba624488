/* The rule of a user that may do what holdfast does, and nothing else. It names
 * commands, because a category gives more (+@connection also gives CLIENT PAUSE
 * and CLIENT LIST). What scripts call, and their keys and channels, come from the
 * scripts and the kinds themselves (lock/rights.h). tests/live/server/test_lock_acl.c runs
 * every kind with exactly these rights. */
/* Tests: tests/live/server/test_lock_acl.c. */
#include "cli/doctor/acl.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/label.h"
#include "cli/base/report.h"
#include "lock/rights.h"

#define DOCTOR_ACL_USER "ACL SETUSER app"
#define DOCTOR_ACL_SETINFO "client|setinfo"

/* ---- the rights of each use ---- */

/* What each use needs beside plain locks. A spin lock, a lock on several servers and
 * several locks as one need the same as a plain lock. `status`, `watch` and `unlock`
 * inspect a string as a value lock and as permits. */
#define RIGHTS_MAX 2
static const struct known_use {
    const char *word;
    int use_bit;
    int rights_count;           /* of `rights` */
    enum hf_rights rights[RIGHTS_MAX];
    const char *commands;       /* that this program sends itself; NULL: none */
} uses_known[] = {
    {.word = "fair", .use_bit = DOCTOR_USE_FAIR, 1, {HF_RIGHTS_FAIR}},
    {.word = "shared", .use_bit = DOCTOR_USE_SIDES, 1, {HF_RIGHTS_READ_WRITE}},
    {.word = "exclusive", .use_bit = DOCTOR_USE_SIDES},
    {.word = "fenced", .use_bit = DOCTOR_USE_FENCED, 1, {HF_RIGHTS_TOKEN}},
    {.word = "retention", .use_bit = DOCTOR_USE_RETENTION, 1, {HF_RIGHTS_RETENTION}},
    {.word = "value", .use_bit = DOCTOR_USE_VALUE, 2,
     {HF_RIGHTS_VALUE, HF_RIGHTS_LOOK_STRING}},
    {.word = "permits", .use_bit = DOCTOR_USE_PERMITS, 2,
     {HF_RIGHTS_PERMIT, HF_RIGHTS_LOOK_STRING}},
    {.word = "semaphore", .use_bit = DOCTOR_USE_SEMAPHORE, 2,
     {HF_RIGHTS_SEMAPHORE, HF_RIGHTS_LOOK_STRING}},
    {.word = "latch", .use_bit = DOCTOR_USE_LATCH, 2,
     {HF_RIGHTS_LATCH, HF_RIGHTS_LOOK_STRING}},
    {.word = "spin", .use_bit = DOCTOR_USE_PLAIN},
    {.word = "quorum", .use_bit = DOCTOR_USE_PLAIN},
    {.word = "multi", .use_bit = DOCTOR_USE_PLAIN},
    {.word = "label", .use_bit = DOCTOR_USE_LABEL, .commands = "set get del"},
    {.word = "ls", .use_bit = DOCTOR_USE_LS, 1, {HF_RIGHTS_LOOK_PERMIT},
     .commands = "scan pttl getrange zrange zcard lrange"},
};

#define USES (sizeof uses_known / sizeof *uses_known)

int doctor_use_of(const char *word)
{
    for (size_t i = 0; i < USES; i++)
        if (strcmp(uses_known[i].word, word) == 0)
            return uses_known[i].use_bit;
    return 0;
}

/* ---- names ---- */

/* A rule of the server cannot have any. */
#define WHITE_SPACE " \t\n\v\f\r"

/* Prints a character of a pattern within redis-cli's quotation marks. After a backslash
 * the server takes special characters literally. */
static void print_pattern_byte(unsigned char c)
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

static void print_lock_name(const char *name)
{
    for (; *name; name++)
        print_pattern_byte((unsigned char)*name);
}

/* Prints "PREFIX:{name}REST" or "PREFIX{name}REST", with the braces that Redisson puts
 * around a name (WIRE 2.2, 2.4, 17). */
static void print_pattern(char sign, const struct hf_rights_pattern *p,
                          const char *name)
{
    size_t len = strlen(name), size = hf_rights_name_size(p, name, len);
    char *text = malloc(size);

    if (!text) /* a rule without its pattern would grant something else */
        exit(cli_fail("out of memory"));
    hf_rights_name_put(text, p, name, len);
    (void)printf(" \"%c", sign);
    for (size_t i = 0; i < size; i++)
        print_pattern_byte((unsigned char)text[i]);
    (void)printf("%s\"", p->rest);
    free(text);
}

/* ---- patterns ---- */

struct pattern_list {
    struct hf_rights_pattern list[4 * HF_RIGHTS_PATTERNS_MAX];
    size_t count;
};

static bool is_same_pattern(const struct hf_rights_pattern *a,
                            const struct hf_rights_pattern *b, bool has_name)
{
    return strcmp(a->prefix, b->prefix) == 0 &&
           (!has_name || strcmp(a->rest, b->rest) == 0);
}

static void add_pattern(struct pattern_list *all, const struct hf_rights_pattern *p,
                        bool has_name)
{
    for (size_t i = 0; i < all->count; i++)
        if (is_same_pattern(&all->list[i], p, has_name))
            return;
    if (all->count < sizeof all->list / sizeof *all->list)
        all->list[all->count++] = *p;
}

/* hf_rights_keys, hf_rights_channels. */
typedef size_t patterns_of(enum hf_rights of,
                           struct hf_rights_pattern out[HF_RIGHTS_PATTERNS_MAX]);

static void add_patterns(struct pattern_list *all, enum hf_rights of, patterns_of *get,
                         bool has_name)
{
    struct hf_rights_pattern found[HF_RIGHTS_PATTERNS_MAX];
    size_t count = get(of, found);

    for (size_t i = 0; i < count; i++)
        add_pattern(all, &found[i], has_name);
}

static void add_all_patterns(struct pattern_list *all, int uses, patterns_of *get,
                             bool has_name)
{
    add_patterns(all, HF_RIGHTS_PLAIN, get, has_name);
    for (const struct known_use *u = uses_known; u < uses_known + USES; u++)
        for (int i = 0; u->use_bit & uses && i < u->rights_count; i++)
            add_patterns(all, u->rights[i], get, has_name);
}

/* Inspecting and a forced release look at the queue of a fair lock. */
static void print_keys(const char *name, int uses)
{
    struct pattern_list all = {.list = {{"redisson_lock_queue", "", false},
                                        {"redisson_lock_timeout", "", false}},
                               .count = 2};

    if (!name) {
        (void)fputs(" ~*", stdout);
        return;
    }
    add_all_patterns(&all, uses, hf_rights_keys, true);
    (void)fputs(" \"~", stdout);
    print_lock_name(name);
    (void)putchar('"');
    for (size_t i = 0; i < all.count; i++)
        print_pattern('~', &all.list[i], name);
    if (uses & DOCTOR_USE_LABEL)
        (void)fputs(" ~holdfast_label:*", stdout);
}

/* Without --name: the channels of all locks. */
static void print_channels(const char *name, int uses)
{
    struct pattern_list all = {.count = 0};

    add_all_patterns(&all, uses, hf_rights_channels, name != NULL);
    (void)fputs(" resetchannels", stdout);
    for (size_t i = 0; i < all.count; i++)
        if (name)
            print_pattern('&', &all.list[i], name);
        else
            (void)printf(" &%s%s*", all.list[i].prefix,
                         all.list[i].is_braced ? "" : ":");
}

/* ---- commands ---- */

struct command_list {
    char text[1024];            /* each once, a space before it */
    size_t len;
};

static bool has_command(const struct command_list *all, const char *word, size_t len)
{
    for (const char *at = all->text; *at; at += 1 + strcspn(at + 1, " "))
        if (strcspn(at + 1, " ") == len && memcmp(at + 1, word, len) == 0)
            return true;
    return false;
}

static void add_command(void *ctx, const char *word, size_t len)
{
    struct command_list *all = ctx;

    if (has_command(all, word, len) || len + 2 > sizeof all->text - all->len)
        return;
    all->len += (size_t)snprintf(all->text + all->len, sizeof all->text - all->len,
                                 " %.*s", (int)len, word);
}

static void add_commands(struct command_list *all, const char *words)
{
    for (size_t len; words && (len = strcspn(words, " ")) > 0;
         words += len + (words[len] == ' '))
        add_command(all, words, len);
}

static void add_commands_of_use(struct command_list *all, const struct known_use *u)
{
    for (int i = 0; i < u->rights_count; i++)
        hf_rights_commands(u->rights[i], add_command, all);
    add_commands(all, u->commands);
}

/* What the URL's kind of deployment needs. */
static void add_commands_of_deployment(struct command_list *all, const struct hf_url *url,
                                       const struct hf_seeds *seeds)
{
    if (url->database != 0)
        add_commands(all, "select");
    if (seeds->topology == HF_CLUSTER)
        add_commands(all, "cluster|slots cluster|info pubsub|shardnumsub asking "
                          "spublish ssubscribe sunsubscribe");
    if (url->is_tracking)
        add_commands(all, "client|tracking client|caching");
    if (url->replicas != 0)
        add_commands(all, "wait");
    if (url->replicas != 0 || seeds->topology == HF_SENTINEL ||
        seeds->topology == HF_REPLICATED)
        add_commands(all, "role");
}

/* Scripts and what they call; messages; the handshake; PING. Only on request, the end
 * of the connection before it (design 11). */
static void print_commands(const struct doctor_acl *rule)
{
    struct command_list all = {.len = 0};

    add_commands(&all, "eval evalsha");
    hf_rights_commands(HF_RIGHTS_PLAIN, add_command, &all);
    add_commands(&all, "subscribe unsubscribe pubsub|numsub info ping client|id "
                       "client|setname");
    if (rule->server == DOCTOR_ACL_LATEST || rule->server == DOCTOR_ACL_NO_CHANNELS)
        add_commands(&all, DOCTOR_ACL_SETINFO);
    if (rule->may_end_connections)
        add_commands(&all, "client|kill");
    for (const struct known_use *u = uses_known; u < uses_known + USES; u++)
        if (u->use_bit & rule->uses)
            add_commands_of_use(&all, u);
    add_commands_of_deployment(&all, rule->url, rule->seeds);
    for (const char *at = all.text; *at; at += 1 + strcspn(at + 1, " "))
        (void)printf(" +%.*s", (int)strcspn(at + 1, " "), at + 1);
}

/* ---- the rule ---- */

void doctor_acl_print(const struct doctor_acl *rule)
{
    const char *name = rule->name;

    if (name && strpbrk(name, WHITE_SPACE))
        cli_warn("white space in the name is printed as '?', which matches any byte, "
                 "because an ACL rule cannot contain white space");
    if (!(rule->uses & DOCTOR_USE_LABEL) && cli_labels_are_enabled())
        cli_warn("the rule does not permit labels, which 'run', 'elect', 'hold' and 'acquire' "
                 "store by default: add --for label, or set HOLDFAST_LABEL= for them");
    (void)fputs(DOCTOR_ACL_USER " reset on >PASSWORD resetkeys", stdout);
    print_keys(name, rule->uses);
    if (rule->server != DOCTOR_ACL_NO_CHANNELS)
        print_channels(name, rule->uses);
    print_commands(rule);
    (void)putchar('\n');
    if (rule->server == DOCTOR_ACL_UNKNOWN)
        (void)puts(DOCTOR_ACL_USER " +" DOCTOR_ACL_SETINFO);
}
