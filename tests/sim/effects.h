/* The effects of faults. A fault without an effect tests nothing: each effect is counted, and a
 * long run fails if one of them never happened. */
#ifndef SIM_EFFECTS_H
#define SIM_EFFECTS_H

#include <stdbool.h>
#include <stdint.h>

struct model_error;
struct sim;

/* Commands that an ACL refuses one by one (FAULT_DENY): `n` is an index. HELLO is
 * renamed instead, because no ACL can refuse it. */
enum plan_denied {
    DENIED_KILL,
    DENIED_INFO,
    DENIED_PUBLISH,
    DENIED_SPUBLISH,
    DENIED_SUBSCRIBE,
    DENIED_SSUBSCRIBE,
    DENIED_SETINFO,
    DENIED_SETNAME,
    DENIED_ID,
    DENIED_HELLO,
    DENIED_EVALSHA,
    DENIED_EVAL,
    DENIED_WAIT,
    DENIED_PING,
    DENIED_PTTL,
    DENIED_PEXPIRE,
    DENIED_DEL,
    DENIED_EXISTS,
    DENIED_CLUSTER,
    DENIED_ASKING,
    DENIED_SENTINEL,
    PLAN_DENIED
};

enum effect {
    EFFECT_DENIED, /* one for each command: EFFECT_DENIED + n */
    EFFECT_PASSWORD = EFFECT_DENIED + PLAN_DENIED,
    EFFECT_SCANT,
    EFFECT_UNSAVED,
    EFFECT_EVICTED,
    EFFECT_OUTPUT,
    EFFECT_IDLE,
    EFFECT_DEMOTED,
    EFFECT_HUNG_UP,      /* a connection was accepted and closed at once */
    EFFECT_ASK_REPLICAS, /* ASK was replied to a client that waits for replicas */
    EFFECT_TWO_MOVES,    /* a slot began to move while another one was moving */
    EFFECT_DIED,         /* a process that had a hold or a pending call was killed */
    EFFECT_DIED_QUORUM,  /* the same, and it held a quorum; a multi-lock; or led */
    EFFECT_DIED_MULTI,
    EFFECT_DIED_LEADER,
    EFFECT_LATE_WRITE,   /* a process was stopped before a write */
    EFFECT_LONG_CALLBACK,
    EFFECT_CLOCK_SET,    /* the server had locks */
    EFFECT_CLOCKS_DIFFER, /* a master was replaced by a replica whose clock differs by 100 ms */
    EFFECT_DRIFT,        /* the rate of a server's clock changed, and it had locks */
    EFFECT_ROLLED_BACK,  /* a server restarted with older data: its locks differ */
    EFFECT_FULL_OUTPUT,  /* calls waited for space in the output of a connection */
    EFFECT_BATCH,        /* one script call renewed a hundred holds */
    EFFECT_LISTENERS,    /* more than 16 clients received a message */
    EFFECT_SWALLOWED,    /* bytes were written to a connection that swallows them */
    EFFECT_SWALLOWED_HANDSHAKE, /* the same before its first reply */
    EFFECT_FORMER_MASTER, /* a former master refused a write over an open connection */
    EFFECT_WRONGPASS,    /* a client used the former password */
    EFFECT_RENEWED_LOGIN, /* a password whose end was known has ended */
    EFFECT_PROXY,        /* a proxy replied with an error of its own */
    EFFECT_OLD_HOST,     /* a client received such an address in a map (model/cluster.h) */
    EFFECT_OLD_PORT,
    EFFECT_OTHER_NODE,
    EFFECT_NULL_HOST,
    EFFECT_EMPTY_HOST,
    EFFECT_ANY_HOST,
    EFFECT_UNKNOWN_HOST,
    EFFECT_LOST_NAME,
    EFFECT_MOVED_WRONG,  /* one of these in MOVED */
    EFFECT_OLD_MAP,      /* a client received a map that was no longer true */
    EFFECT_MINORITY,     /* a client received the map of a former master that is cut off */
    EFFECT_NAT,          /* a client received addresses behind NAT */
    EFFECT_NAME_SILENT,  /* a client queried a resolver that did not answer */
    EFFECT_NAME_MOVED,   /* a client connected to the new address of a name */
    EFFECT_NAME_SEVERAL, /* a client received two addresses, the first without a machine */
    EFFECT_LABEL,        /* a server has the label of a client */
    EFFECT_LABEL_REMOVED, /* a client that was closed has deleted its label */
    EFFECT_LABEL_REFUSED, /* the ACL has refused to store one */
    EFFECT_LABEL_READ,   /* a client has read another one's label */
    EFFECT_LABEL_SHOWN,  /* it was in the error of a call that timed out */
    EFFECT_ONE_SERVER,   /* a quorum was refused: two members seemed to be on one server */
    EFFECT_LOST_MEMBER,  /* a multi-lock was released when a member was lost, and a server refused */
    EFFECT_GIVEN_UP,     /* a change of a count was given up; repeated until it was executed */
    EFFECT_REPEATED,
    EFFECT_EXTENDED,     /* an owner has extended its hold by hand: of a lock */
    EFFECT_EXTENDED_QUORUM, /* of a quorum; of a multi-lock */
    EFFECT_EXTENDED_MULTI,
    EFFECT_REPLACED,     /* a master that had stopped was replaced without a line */
    EFFECTS
};

/* effects_name - returns the name: "client|kill" (refused), "READONLY", ...
 * effects_is_rare - returns whether the effect happens only in one of several thousand plans.
 * effects_world - returns the family of plans in which it can happen; -1: any.
 * effects_word - returns the denied command in the words of ACL: "client|kill".
 * effects_note - counts this effect.
 * effects_of_error - a server has replied with an error: counts the effect of the fault that
 *                caused it, if there is one. */
const char *effects_name(int effect);
bool effects_is_rare(int effect);
int64_t effects_world(int effect);
const char *effects_word(int64_t denied);
void effects_note(struct sim *sim, int effect);
void effects_of_error(struct sim *sim, int64_t server,
                      const struct model_error *error);

#endif
