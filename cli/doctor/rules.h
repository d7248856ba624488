/* What endangers locks: a table of rules, each a test of facts. Pure.
 *
 * A rule has a name that never changes, a severity, a sentence about the effect on locks, and the
 * remedy. rules_server.c has the rules about one server, rules_topology.c those about several
 * servers. rule_tests.c has the tests that many rules share.
 *
 * Severities
 *   unsafe   two clients can hold one lock, or no lock can be used
 *   warning  a failure can have that effect; or locks are acquired later, or lost earlier, than
 *            necessary
 *   note     information; does not affect the exit code */
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

/* The servers to which a rule applies. */
enum doctor_scope {
    SCOPE_ANY,                  /* each server, reached or not */
    SCOPE_NODE,                 /* each that has keys and was reached */
    SCOPE_MASTER,               /* of these, masters */
    SCOPE_REPLICA,
    SCOPE_SENTINEL,             /* each that was reached */
    SCOPE_WHOLE                 /* the whole; the server is NULL */
};

enum doctor_verdict {
    VERDICT_NONE,               /* the rule does not apply here */
    VERDICT_FINE,
    VERDICT_FOUND,
    VERDICT_UNSEEN
};

#define DOCTOR_TEXT_MAX 512   /* a line of a finding */

/* One rule, applied to one server. */
struct doctor_rule_on_server {
    const struct doctor_rule *rule;
    const struct doctor_facts *facts;
    const struct doctor_server *server;
    char value_text[DOCTOR_TEXT_MAX]; /* the value, or why it is unknown */
};

/* Values in place of a limit that is computed. */
enum {
    LIMIT_RENEWAL_MS = -1,      /* from one renewal to the next */
    LIMIT_RENEWAL_S = -2,
    LIMIT_REPLICAS = -3         /* that must have a lock */
};

#define DOCTOR_RULE_PERMISSIONS 4   /* commands that one rule tries, at most */

struct doctor_rule {
    const char *id;             /* NULL ends a table */
    enum doctor_severity severity;
    enum doctor_scope scope;
    enum doctor_verdict (*test)(struct doctor_rule_on_server *c);
    bool (*applies_when)(const struct doctor_rule_on_server *c); /* NULL: always */

    /* What a shared test looks at: one of these. */
    enum doctor_fact fact;
    bool (*measure)(const struct doctor_rule_on_server *c, int64_t *out); /* false: the
                                                rule does not apply here */
    unsigned char permissions[DOCTOR_RULE_PERMISSIONS]; /* up to MAY_NONE */

    /* What it compares that with: one of these. */
    const char *good_value;
    int64_t limit;              /* or LIMIT_* */

    /* What it says, with in braces
     *   {}       the value       {s}      nothing if it is 1, else an s
     *   {limit}  the limit       {beat}   ms from one renewal to the next
     *   {words}  of the server's error */
    const char *fine_text;      /* NULL: the same as `found_text` */
    const char *found_text;
    const char *unseen_text;    /* NULL: an unknown fact is not judged */

    const char *meaning;
    const char *advice;
};

extern const struct doctor_rule doctor_rules_server[];
extern const struct doctor_rule doctor_rules_topology[];

/* The shared tests. The check passes if
 *
 * doctor_test_equals   - the fact is `good_value`.
 * doctor_test_at_least - it is a number of at least `limit`. doctor_test_at_most - of at most
 *   `limit`.
 * doctor_test_within   - it is a number from 1 to `limit`.
 * doctor_test_outside  - it is 0, or a number above `limit`.
 * doctor_test_permits  - the server permits each of `permissions` that is needed.
 * doctor_test_answers  - it replies to may[0] without an error.
 * doctor_test_always   - never: `applies_when` (or `measure`) has found the problem. */
enum doctor_verdict doctor_test_equals(struct doctor_rule_on_server *c);
enum doctor_verdict doctor_test_at_least(struct doctor_rule_on_server *c);
enum doctor_verdict doctor_test_at_most(struct doctor_rule_on_server *c);
enum doctor_verdict doctor_test_within(struct doctor_rule_on_server *c);
enum doctor_verdict doctor_test_outside(struct doctor_rule_on_server *c);
enum doctor_verdict doctor_test_permits(struct doctor_rule_on_server *c);
enum doctor_verdict doctor_test_answers(struct doctor_rule_on_server *c);
enum doctor_verdict doctor_test_always(struct doctor_rule_on_server *c);

/* Verdicts of other tests: as printf into c->value_text. */
enum doctor_verdict doctor_verdict_found(struct doctor_rule_on_server *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum doctor_verdict doctor_verdict_fine(struct doctor_rule_on_server *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum doctor_verdict doctor_verdict_unseen(struct doctor_rule_on_server *c, const char *what);

/* Used by several rules:
 *
 * doctor_is_refused - returns whether the ACL forbids the command, or it does not exist.
 * doctor_is_sharded - returns whether holdfast will publish by SPUBLISH.
 * doctor_in_cluster - returns whether it is a node of the cluster that the URL names.
 * doctor_replica_count - returns the number of replicas that a master is known to have,
 *                     connected or not.
 * doctor_renewal_interval_ms    - returns the time between two renewals. */
bool doctor_is_refused(const struct doctor_server *s,
                       enum doctor_permission permission);
bool doctor_is_sharded(const struct doctor_facts *facts);
bool doctor_in_cluster(const struct doctor_rule_on_server *c);
int64_t doctor_replica_count(const struct doctor_facts *facts,
                             const struct doctor_server *master);
int64_t doctor_renewal_interval_ms(const struct doctor_facts *facts);

#endif
