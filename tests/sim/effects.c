/* Which effects there are, and which errors of servers are one. */
#include "tests/sim/effects.h"

#include <string.h>

#include "tests/sim/site.h"

static const char *const denied[PLAN_DENIED] = {
    [DENIED_KILL] = "client|kill",
    [DENIED_INFO] = "info",
    [DENIED_PUBLISH] = "publish",
    [DENIED_SPUBLISH] = "spublish",
    [DENIED_SUBSCRIBE] = "subscribe",
    [DENIED_SSUBSCRIBE] = "ssubscribe",
    [DENIED_SETINFO] = "client|setinfo",
    [DENIED_SETNAME] = "client|setname",
    [DENIED_ID] = "client|id",
    [DENIED_HELLO] = "hello",
    [DENIED_EVALSHA] = "evalsha",
    [DENIED_EVAL] = "eval",
    [DENIED_WAIT] = "wait",
    [DENIED_PING] = "ping",
    [DENIED_PTTL] = "pttl",
    [DENIED_PEXPIRE] = "pexpire",
    [DENIED_DEL] = "del",
    [DENIED_EXISTS] = "exists",
    [DENIED_CLUSTER] = "cluster",
    [DENIED_ASKING] = "asking",
    [DENIED_SENTINEL] = "sentinel",
};

static const char *const names[EFFECTS - PLAN_DENIED] = {
    [EFFECT_PASSWORD - PLAN_DENIED] = "NOAUTH",
    [EFFECT_SCANT - PLAN_DENIED] = "NOREPLICAS",
    [EFFECT_UNSAVED - PLAN_DENIED] = "MISCONF",
    [EFFECT_EVICTED - PLAN_DENIED] = "evicted key",
    [EFFECT_OUTPUT - PLAN_DENIED] = "listener closed",
    [EFFECT_IDLE - PLAN_DENIED] = "idle connection closed",
    [EFFECT_DEMOTED - PLAN_DENIED] = "READONLY",
    [EFFECT_HUNG_UP - PLAN_DENIED] = "hung up",
    [EFFECT_ASK_REPLICAS - PLAN_DENIED] = "ASK with replicas",
    [EFFECT_TWO_MOVES - PLAN_DENIED] = "two slots move",
    [EFFECT_DIED - PLAN_DENIED] = "killed with holds or calls",
    [EFFECT_DIED_QUORUM - PLAN_DENIED] = "killed with a quorum",
    [EFFECT_DIED_MULTI - PLAN_DENIED] = "killed with a multi-lock",
    [EFFECT_DIED_LEADER - PLAN_DENIED] = "killed while it led",
    [EFFECT_LATE_WRITE - PLAN_DENIED] = "stopped before a write",
    [EFFECT_LONG_CALLBACK - PLAN_DENIED] = "stopped in a callback",
    [EFFECT_CLOCK_SET - PLAN_DENIED] = "clock of a server with locks set",
    [EFFECT_CLOCKS_DIFFER - PLAN_DENIED] = "new master's clock differs",
    [EFFECT_DRIFT - PLAN_DENIED] = "clock of a server with locks drifts",
    [EFFECT_ROLLED_BACK - PLAN_DENIED] = "locks older after a power failure",
    [EFFECT_FULL_OUTPUT - PLAN_DENIED] = "output full",
    [EFFECT_BATCH - PLAN_DENIED] = "batch of a hundred",
    [EFFECT_LISTENERS - PLAN_DENIED] = "more than 16 listen",
    [EFFECT_SWALLOWED - PLAN_DENIED] = "swallowed",
    [EFFECT_SWALLOWED_HANDSHAKE - PLAN_DENIED] = "swallowed handshake",
    [EFFECT_FORMER_MASTER - PLAN_DENIED] = "READONLY behind one address",
    [EFFECT_WRONGPASS - PLAN_DENIED] = "WRONGPASS",
    [EFFECT_RENEWED_LOGIN - PLAN_DENIED] = "login renewed",
    [EFFECT_PROXY - PLAN_DENIED] = "error of a proxy",
    [EFFECT_OLD_HOST - PLAN_DENIED] = "old host in a map",
    [EFFECT_OLD_PORT - PLAN_DENIED] = "old port in a map",
    [EFFECT_OTHER_NODE - PLAN_DENIED] = "address of another node in a map",
    [EFFECT_NULL_HOST - PLAN_DENIED] = "null in a map",
    [EFFECT_EMPTY_HOST - PLAN_DENIED] = "empty host in a map",
    [EFFECT_ANY_HOST - PLAN_DENIED] = "0.0.0.0 in a map",
    [EFFECT_UNKNOWN_HOST - PLAN_DENIED] = "? in a map",
    [EFFECT_LOST_NAME - PLAN_DENIED] = "name that cannot be resolved in a map",
    [EFFECT_MOVED_WRONG - PLAN_DENIED] = "MOVED to a wrong address",
    [EFFECT_OLD_MAP - PLAN_DENIED] = "old map",
    [EFFECT_MINORITY - PLAN_DENIED] = "map of a former master",
    [EFFECT_NAT - PLAN_DENIED] = "addresses behind NAT",
    [EFFECT_NAME_SILENT - PLAN_DENIED] = "silent resolver",
    [EFFECT_NAME_MOVED - PLAN_DENIED] = "new address of a name",
    [EFFECT_NAME_SEVERAL - PLAN_DENIED] = "name with two addresses",
    [EFFECT_LABEL - PLAN_DENIED] = "label",
    [EFFECT_LABEL_REMOVED - PLAN_DENIED] = "label removed",
    [EFFECT_LABEL_REFUSED - PLAN_DENIED] = "label refused",
    [EFFECT_LABEL_READ - PLAN_DENIED] = "label read",
    [EFFECT_LABEL_SHOWN - PLAN_DENIED] = "label in an error",
    [EFFECT_EXTENDED - PLAN_DENIED] = "extended by hand",
    [EFFECT_ONE_SERVER - PLAN_DENIED] = "two members on one server",
    [EFFECT_LOST_MEMBER - PLAN_DENIED] = "lost member released",
    [EFFECT_GIVEN_UP - PLAN_DENIED] = "change given up",
    [EFFECT_REPEATED - PLAN_DENIED] = "change repeated after its call",
    [EFFECT_EXTENDED_QUORUM - PLAN_DENIED] = "quorum extended by hand",
    [EFFECT_EXTENDED_MULTI - PLAN_DENIED] = "multi-lock extended by hand",
    [EFFECT_REPLACED - PLAN_DENIED] = "replaced while it was stopped",
};

const char *effects_word(int64_t n)
{
    return denied[n];
}

const char *effects_name(int effect)
{
    return effect < PLAN_DENIED ? denied[effect]
                                : names[effect - PLAN_DENIED];
}

int64_t effects_world(int effect)
{
    if (effect >= EFFECT_OLD_HOST && effect <= EFFECT_NAT)
        return FAMILY_DISAGREE;
    if (effect >= EFFECT_LABEL && effect <= EFFECT_LABEL_SHOWN)
        return FAMILY_LABELS;
    switch (effect) {
    case EFFECT_DENIED + DENIED_SSUBSCRIBE:
        return FAMILY_MESSAGES;
    case EFFECT_DIED_QUORUM:
    case EFFECT_EXTENDED_QUORUM:
    case EFFECT_ONE_SERVER:
        return FAMILY_QUORUM;
    case EFFECT_DIED_MULTI:
    case EFFECT_EXTENDED_MULTI:
    case EFFECT_LOST_MEMBER:
        return FAMILY_MULTI;
    case EFFECT_DIED_LEADER:
        return FAMILY_ELECTION;
    case EFFECT_TWO_MOVES:
        return FAMILY_REDIRECT;
    case EFFECT_FULL_OUTPUT:
    case EFFECT_BATCH:
    case EFFECT_LISTENERS:
        return FAMILY_CROWD;
    case EFFECT_SWALLOWED:
    case EFFECT_SWALLOWED_HANDSHAKE:
        return FAMILY_SILENCE;
    case EFFECT_FORMER_MASTER:
        return FAMILY_SWITCHOVER;
    case EFFECT_WRONGPASS:
    case EFFECT_RENEWED_LOGIN:
        return FAMILY_CREDENTIALS;
    case EFFECT_REPLACED:
        return FAMILY_HOSTS;
    case EFFECT_GIVEN_UP:
    case EFFECT_REPEATED:
        return FAMILY_OUTAGE;
    case EFFECT_PROXY:
        return FAMILY_PROXY;
    case EFFECT_NAME_SILENT:
    case EFFECT_NAME_MOVED:
    case EFFECT_NAME_SEVERAL:
        return FAMILY_NAMES;
    default:
        return -1;
    }
}

/* Commands of sharded messages, of a new program, and of a connection without
 * messages; and a clock that is set before a failover. */
bool effects_is_rare(int effect)
{
    return effect == EFFECT_CLOCKS_DIFFER || effect == EFFECT_DENIED + DENIED_SPUBLISH ||
           effect == EFFECT_DENIED + DENIED_PING ||
           effect == EFFECT_DENIED + DENIED_HELLO;
}

void effects_note(struct sim *sim, int effect)
{
    sim->result->effects[effect]++;
}

static bool is_command(const char *word, const struct model_error *e)
{
    size_t n = e->container ? strlen(e->container) : 0;

    if (!e->container)
        return strcmp(word, e->command) == 0;
    return strncmp(word, e->container, n) == 0 &&
           (word[n] == '\0' ||
            (word[n] == '|' && strcmp(word + n + 1, e->command) == 0));
}

static bool begins(const char *text, const char *code)
{
    return strncmp(text, code, strlen(code)) == 0;
}

/* Which fault makes a server reply with this code. */
static const struct {
    const char *code;
    int kind, effect;
} codes[] = {
    {"NOAUTH", FAULT_PASSWORD, EFFECT_PASSWORD},
    {"NOREPLICAS", FAULT_SCANT, EFFECT_SCANT},
    {"MISCONF", FAULT_UNSAVED, EFFECT_UNSAVED},
    {"READONLY", FAULT_DEMOTE, EFFECT_DEMOTED},
    {"READONLY", FAULT_SWITCHOVER, EFFECT_FORMER_MASTER},
    {"upstream failure", FAULT_PROXY, EFFECT_PROXY},
};

static bool is_denied(const struct server *s, const struct model_error *e)
{
    if (s->denied == DENIED_HELLO)
        return begins(e->text, "ERR unknown command") &&
               strstr(e->text, "HELLO");
    return e->is_refusal && is_command(denied[s->denied], e);
}

void effects_of_error(struct sim *sim, int64_t number,
                      const struct model_error *e)
{
    const struct server *s = site_server(sim->site, number - 1);

    if (begins(e->text, "WRONGPASS") && sim->plan->head.has_passwords)
        effects_note(sim, EFFECT_WRONGPASS);
    if (begins(e->text, "ASK ") && sim->plan->head.replicas != 0)
        effects_note(sim, EFFECT_ASK_REPLICAS);
    if (s->marks >> FAULT_DENY & 1 && is_denied(s, e))
        effects_note(sim, EFFECT_DENIED + (int)s->denied);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (s->marks >> codes[i].kind & 1 && begins(e->text, codes[i].code))
            effects_note(sim, codes[i].effect);
}
