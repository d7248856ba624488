/* A plan as text: "op at_ms=12 verb=acquire program=1 ...", a line for each
 * part. One table of fields for each kind of line prints and reads it. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/plan.h"

#define LINE_MAX_LEN 1024

/* ---- words ---- */

static const char *const profile_names[PROFILES + 1] = {"mild", "single", "wild", "clear"};
static const char *const scenario_names[SCENARIOS + 1] = {
    "none",
    "unanswered",
    "overtaken",
    "renewing",
    "slots",
    "failover",
    "messages",
    "returns",
    "crossing",
    "unheard",
    "late",
    "former",
    "queue",
    "counted",
    "redirect",
    "silence",
    "credentials",
    "switchover",
    "proxy",
    "disagree",
    "names",
    "replaced",
    "outage",
};
static const char *const deployment_names[DEPLOYMENTS + 1] = {
    "standalone", "replicas", "sentinel", "cluster", "sharded", "independent",
    "hosts"};
static const char *const family_names[FAMILIES + 1] = {
    "plain",      "nonreentrant", "mixed",      "fenced",
    "read_write", "fair",         "mixed_fair", "value",
    "spin",       "mixed_spin",   "permit",     "semaphore",
    "latch",      "quorum",       "multi",      "election",
    "by_owner",   "kill",         "redirect",   "crowd",
    "silence",    "credentials", "push",      "hosts",
    "switchover", "proxy", "disagree", "queues",    "messages", "names", "labels",
    "outage"};
static const char *const verb_names[VERBS + 1] = {
    "acquire", "release", "force", "inspect", "cancel", "close", "free", "set",
    "give", "reduce", "drain", "delete", "resize", "available", "token",
    "renew_owner", "release_owner", "label", "extend"};
static const char *const fault_names[FAULT_KINDS + 1] = {
    [FAULT_DELAY] = "delay",
    [FAULT_HOLD_BACK] = "hold_back",
    [FAULT_CUT] = "cut",
    [FAULT_RESET] = "reset",
    [FAULT_HALF_OPEN] = "half_open",
    [FAULT_REFUSE] = "refuse",
    [FAULT_IGNORE] = "ignore",
    [FAULT_RESOLVER] = "resolver",
    [FAULT_FREEZE] = "freeze",
    [FAULT_RESTART] = "restart",
    [FAULT_FORGET] = "forget",
    [FAULT_LOADING] = "loading",
    [FAULT_BUSY] = "busy",
    [FAULT_FULL] = "full",
    [FAULT_CROWDED] = "crowded",
    [FAULT_ACL] = "acl",
    [FAULT_SCRIPTS] = "scripts",
    [FAULT_KILL] = "kill",
    [FAULT_FLUSHALL] = "flushall",
    [FAULT_LAG] = "lag",
    [FAULT_FAILOVER] = "failover",
    [FAULT_MOVE_SLOT] = "move_slot",
    [FAULT_DELETE] = "delete",
    [FAULT_RETYPE] = "retype",
    [FAULT_SHORTEN] = "shorten",
    [FAULT_PEER] = "peer",
    [FAULT_SUSPEND] = "suspend",
    [FAULT_CLOCK] = "clock",
    [FAULT_CLOCK_BEYOND] = "clock_beyond",
    [FAULT_MEMORY] = "memory",
    [FAULT_DENY] = "deny",
    [FAULT_PASSWORD] = "password",
    [FAULT_SCANT] = "scant",
    [FAULT_UNSAVED] = "unsaved",
    [FAULT_EVICT] = "evict",
    [FAULT_OUTPUT] = "output",
    [FAULT_IDLE] = "idle",
    [FAULT_DEMOTE] = "demote",
    [FAULT_DIE] = "die",
    [FAULT_STALL] = "stall",
    [FAULT_SERVER_CLOCK] = "server_clock",
    [FAULT_SERVER_DRIFT] = "server_drift",
    [FAULT_POWER] = "power",
    [FAULT_SWALLOW] = "swallow",
    [FAULT_ROTATE] = "rotate",
    [FAULT_SWITCHOVER] = "switchover",
    [FAULT_PROXY] = "proxy",
    [FAULT_DISAGREE] = "disagree",
    [FAULT_ONE_SERVER] = "one_server",
    [FAULT_NAMES] = "names",
    [FAULT_REPLACE] = "replace",
};

const char *plan_fault_name(int64_t kind)
{
    return fault_names[kind];
}

const char *plan_verb_name(int64_t verb)
{
    return verb_names[verb];
}

const char *plan_family_name(int64_t family)
{
    return family_names[family];
}

const char *plan_deployment_name(int64_t deployment)
{
    return deployment_names[deployment];
}

/* ---- fields ---- */

/* words: the names of its values, with NULL after the last; NULL: numbers. */
struct field {
    const char *name;
    size_t offset;
    const char *const *words;
    bool is_optional; /* its first word is left out */
};

#define FIELD(type, name)                                                      \
    {                                                                          \
#name, offsetof(struct type, name), NULL, false                        \
    }
#define WORDS(type, name, words)                                               \
    {                                                                          \
#name, offsetof(struct type, name), words, false                       \
    }

static const struct field head_fields[] = {
    FIELD(plan_head, seed),
    WORDS(plan_head, profile, profile_names),
    WORDS(plan_head, scenario, scenario_names),
    WORDS(plan_head, deployment, deployment_names),
    FIELD(plan_head, version),
    FIELD(plan_head, protocol),
    FIELD(plan_head, masters),
    FIELD(plan_head, length_ms),
    FIELD(plan_head, latency_us),
    FIELD(plan_head, jitter_us),
    FIELD(plan_head, lag_us),
    FIELD(plan_head, is_deaf),
    FIELD(plan_head, wakes_both),
    FIELD(plan_head, tracks),
    FIELD(plan_head, has_long_leases),
    FIELD(plan_head, keeps_alive),
    FIELD(plan_head, piece_max),
    FIELD(plan_head, watchdog_ms),
    FIELD(plan_head, request_ms),
    FIELD(plan_head, replicas),
    FIELD(plan_head, replicas_ms),
    FIELD(plan_head, retains_tokens),
    FIELD(plan_head, is_crowd),
    FIELD(plan_head, window),
    FIELD(plan_head, output_max),
    FIELD(plan_head, idle_check_ms),
    FIELD(plan_head, has_passwords),
    FIELD(plan_head, aligns_renewals),
    FIELD(plan_head, credentials_ms),
    FIELD(plan_head, labels),
    FIELD(plan_head, nat),
    {NULL, 0, NULL, false},
};

static const struct field program_fields[] = {
    FIELD(plan_program, offset_ms),
    FIELD(plan_program, ppm),
    {NULL, 0, NULL, false},
};

static const struct field lock_fields[] = {
    WORDS(plan_lock, family, family_names),
    FIELD(plan_lock, name),
    FIELD(plan_lock, permits),
    FIELD(plan_lock, has_tokens),
    {"inner", offsetof(struct plan_lock, inner), family_names, true},
    FIELD(plan_lock, members),
    {NULL, 0, NULL, false},
};

static const struct field op_fields[] = {
    FIELD(plan_op, at_ms),
    WORDS(plan_op, verb, verb_names),
    FIELD(plan_op, program),
    FIELD(plan_op, lock),
    FIELD(plan_op, side),
    FIELD(plan_op, owner),
    FIELD(plan_op, wait_ms),
    FIELD(plan_op, lease_ms),
    FIELD(plan_op, max_hold_ms),
    FIELD(plan_op, hold_ms),
    FIELD(plan_op, flags),
    FIELD(plan_op, n),
    {NULL, 0, NULL, false},
};

static const struct field fault_fields[] = {
    FIELD(plan_fault, at_ms),
    WORDS(plan_fault, kind, fault_names),
    FIELD(plan_fault, program),
    FIELD(plan_fault, server),
    FIELD(plan_fault, lock),
    FIELD(plan_fault, to_server),
    FIELD(plan_fault, connection),
    FIELD(plan_fault, n),
    FIELD(plan_fault, for_ms),
    {NULL, 0, NULL, false},
};

/* ---- lines ---- */

/* Where the parts of one kind are. count_offset SIZE_MAX: there is just one. */
struct part {
    const char *name;
    const struct field *fields;
    size_t offset, size, most, count_offset;
};

#define PART(name, fields, array, count, most)                                 \
    {                                                                          \
        name, fields, offsetof(struct plan, array),                            \
            sizeof((struct plan *)0)->array[0], most,                          \
            offsetof(struct plan, count)                                       \
    }

static const struct part parts[] = {
    {"plan", head_fields, offsetof(struct plan, head), sizeof(struct plan_head),
     1, SIZE_MAX},
    PART("program", program_fields, programs, program_count, PLAN_PROGRAMS_MAX),
    PART("lock", lock_fields, locks, lock_count, PLAN_LOCKS_MAX),
    PART("op", op_fields, ops, op_count, PLAN_OPS_MAX),
    PART("fault", fault_fields, faults, fault_count, PLAN_FAULTS_MAX),
};
#define PARTS (sizeof parts / sizeof *parts)

static size_t *count_of(struct plan *plan, const struct part *part)
{
    return (size_t *)((char *)plan + part->count_offset);
}

/* ---- printing ---- */

static void print_field(const struct field *f, int64_t value, FILE *to)
{
    if (f->words && (value != 0 || !f->is_optional))
        (void)fprintf(to, " %s=%s", f->name, f->words[value]);
    else if (!f->words && value != 0)
        (void)fprintf(to, " %s=%" PRId64, f->name, value);
}

static void print_line(const struct part *part, const char *at, FILE *to)
{
    (void)fputs(part->name, to);
    for (const struct field *f = part->fields; f->name; f++)
        print_field(f, *(const int64_t *)(at + f->offset), to);
    (void)fputc('\n', to);
}

void plan_print(const struct plan *plan, FILE *to)
{
    for (const struct part *part = parts; part < parts + PARTS; part++) {
        const char *at = (const char *)plan + part->offset;
        size_t count = part->count_offset == SIZE_MAX
                           ? 1
                           : *count_of((struct plan *)plan, part);

        for (size_t i = 0; i < count; i++)
            print_line(part, at + i * part->size, to);
    }
}

/* ---- reading ---- */

static bool read_value(const struct field *f, const char *text, int64_t *value)
{
    char *end;

    for (int64_t i = 0; f->words && f->words[i]; i++) {
        if (strcmp(f->words[i], text) == 0) {
            *value = i;
            return true;
        }
    }
    *value = strtoll(text, &end, 10);
    return !f->words && end > text && *end == '\0';
}

static bool read_field(const struct part *part, char *word, char *at)
{
    char *value = strchr(word, '=');

    if (!value)
        return false;
    *value++ = '\0';
    for (const struct field *f = part->fields; f->name; f++)
        if (strcmp(f->name, word) == 0)
            return read_value(f, value, (int64_t *)(at + f->offset));
    return false;
}

/* Where the next part of this kind goes; NULL: there is no room. */
static char *next_place(struct plan *plan, const struct part *part)
{
    char *at = (char *)plan + part->offset;

    if (part->count_offset == SIZE_MAX)
        return at;
    if (*count_of(plan, part) == part->most)
        return NULL;
    return at + (*count_of(plan, part))++ * part->size;
}

static const struct part *part_named(const char *name)
{
    for (const struct part *part = parts; name && part < parts + PARTS; part++)
        if (strcmp(part->name, name) == 0)
            return part;
    return NULL;
}

static bool read_line(struct plan *plan, char *line)
{
    char *rest = NULL;
    const struct part *part = part_named(strtok_r(line, " \n", &rest));
    char *at = part ? next_place(plan, part) : NULL;
    char *word;

    while (at && (word = strtok_r(NULL, " \n", &rest)))
        if (!read_field(part, word, at))
            return false;
    return at != NULL;
}

/* Whatever is read, an index into it must lie in it. */
static bool is_sound(const struct plan *plan)
{
    bool ok = plan->program_count > 0 && plan->lock_count > 0;

    for (size_t i = 0; i < plan->lock_count; i++)
        ok = ok && (uint64_t)plan->locks[i].name < PLAN_NAMES &&
             (plan->lock_count > 62 || plan->locks[i].members >> plan->lock_count == 0);
    ok = ok && (plan->head.deployment != DEPLOY_INDEPENDENT ||
                (plan->head.masters > 0 &&
                 plan->head.masters <= PLAN_MEMBERS_MAX));
    for (size_t i = 0; i < plan->op_count; i++)
        ok = ok && (uint64_t)plan->ops[i].program < plan->program_count &&
             (uint64_t)plan->ops[i].lock < plan->lock_count &&
             (uint64_t)plan->ops[i].side < 2;
    for (size_t i = 0; i < plan->fault_count; i++)
        ok = ok && (uint64_t)plan->faults[i].program < plan->program_count &&
             (uint64_t)plan->faults[i].lock < plan->lock_count &&
             plan->faults[i].server >= 0;
    return ok;
}

bool plan_read(struct plan *plan, FILE *from)
{
    char line[LINE_MAX_LEN];

    memset(plan, 0, sizeof *plan);
    for (int number = 1; fgets(line, sizeof line, from); number++) {
        if (line[0] != '#' && line[0] != '\n' && !read_line(plan, line)) {
            (void)fprintf(stderr, "line %d is of no plan\n", number);
            return false;
        }
    }
    if (!is_sound(plan))
        (void)fprintf(stderr, "it is no whole plan\n");
    return is_sound(plan);
}
