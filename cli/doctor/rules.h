/* What endangers locks: a table of rules, each a judgement of facts. Pure.
 *
 * A rule has a name that stays, a severity, a sentence on what its finding
 * means for locks, and what to do about it. rules_server.c has those that look
 * at one server, rules_topology.c those that look at how several stand
 * together. rule_tests.c has the tests that many rules share.
 *
 * Severities
 *   unsafe   two may hold one lock, or no lock can be used
 *   warning  that may come of a failure; or locks are had later, or lost
 *            sooner, than they need be
 *   note     to be known; changes no exit code */
#ifndef CLI_DOCTOR_RULES_H
#define CLI_DOCTOR_RULES_H

#include "cli/doctor/facts.h"

enum doctor_severity {
    DOCTOR_FINE,
    DOCTOR_NOTE,
    DOCTOR_WARNING,
    DOCTOR_UNSAFE,
    DOCTOR_SEVERITIES
};

/* Which servers a rule is about. */
enum doctor_scope {
    OF_ANY,                     /* each server, reached or not */
    OF_NODE,                    /* each that has keys and was reached */
    OF_MASTER,                  /* of these, masters */
    OF_REPLICA,
    OF_SENTINEL,                /* each that was reached */
    OF_ALL                      /* the whole; the server is NULL */
};

enum doctor_verdict {
    VERDICT_NONE,               /* the rule does not apply here */
    VERDICT_FINE,
    VERDICT_FOUND,
    VERDICT_UNSEEN
};

#define DOCTOR_TEXT_MAX 512

/* One rule, applied to one server. */
struct doctor_case {
    const struct doctor_rule *rule;
    const struct doctor_facts *facts;
    const struct doctor_server *server;
    char text[DOCTOR_TEXT_MAX]; /* what was found, or could not be seen */
};

/* In place of a limit that is known in advance. */
enum {
    LIMIT_BEAT_MS = -1,         /* from one renewal to the next */
    LIMIT_BEAT_S = -2,
    LIMIT_REPLICAS = -3         /* that must have a lock */
};

#define DOCTOR_RULE_PERMISSIONS 4

struct doctor_rule {
    const char *id;             /* NULL ends a table */
    enum doctor_severity severity;
    enum doctor_scope scope;
    enum doctor_verdict (*test)(struct doctor_case *c);
    bool (*when)(const struct doctor_case *c);  /* NULL: always */

    /* What a shared test looks at: one of these. */
    enum doctor_fact fact;
    bool (*measure)(const struct doctor_case *c, int64_t *out); /* false: the
                                                rule does not apply here */
    unsigned char may[DOCTOR_RULE_PERMISSIONS]; /* up to MAY_NONE */

    /* What it compares that with: one of these. */
    const char *good;
    int64_t limit;              /* or LIMIT_* */

    /* What it says, with in braces
     *   {}       the value       {s}      nothing if it is 1, else an s
     *   {limit}  the limit       {beat}   ms from one renewal to the next
     *   {words}  of the server's error */
    const char *fine;           /* NULL: the same as `found` */
    const char *found;
    const char *unseen;         /* NULL: what is not seen is not judged */

    const char *meaning;
    const char *advice;
};

extern const struct doctor_rule doctor_rules_server[];
extern const struct doctor_rule doctor_rules_topology[];

/* The shared tests. Fine is:
 *
 * doctor_equals   - the fact `good`.
 * doctor_at_least - a number of at least `limit`. doctor_at_most - likewise.
 * doctor_within   - a number from 1 to `limit`.
 * doctor_outside  - 0, or a number above `limit`.
 * doctor_permits  - that the server lets us do each of `may` that is needed.
 * doctor_answers  - that it answers may[0] without an error.
 * doctor_always   - nothing: `when` (or `measure`) has found it. */
enum doctor_verdict doctor_equals(struct doctor_case *c);
enum doctor_verdict doctor_at_least(struct doctor_case *c);
enum doctor_verdict doctor_at_most(struct doctor_case *c);
enum doctor_verdict doctor_within(struct doctor_case *c);
enum doctor_verdict doctor_outside(struct doctor_case *c);
enum doctor_verdict doctor_permits(struct doctor_case *c);
enum doctor_verdict doctor_answers(struct doctor_case *c);
enum doctor_verdict doctor_always(struct doctor_case *c);

/* Verdicts of other tests: as printf into c->text. */
enum doctor_verdict doctor_found(struct doctor_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum doctor_verdict doctor_fine(struct doctor_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum doctor_verdict doctor_unseen(struct doctor_case *c, const char *what);

/* What several rules ask:
 *
 * doctor_is_refused - does the ACL forbid the command, or is there none?
 * doctor_is_sharded - will holdfast send messages by SPUBLISH?
 * doctor_in_cluster - is it a node of the cluster that the URL names?
 * doctor_replica_count - replicas that a master is known to have, connected or
 *                     not.
 * doctor_beat_ms    - from one renewal to the next. */
bool doctor_is_refused(const struct doctor_server *s,
                       enum doctor_permission permission);
bool doctor_is_sharded(const struct doctor_facts *facts);
bool doctor_in_cluster(const struct doctor_case *c);
int64_t doctor_replica_count(const struct doctor_facts *facts,
                             const struct doctor_server *master);
int64_t doctor_beat_ms(const struct doctor_facts *facts);

#endif
