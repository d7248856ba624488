/* What endangers locks, judged from facts. Pure.
 *
 * A rule has a name that stays, a severity, a sentence on what its finding
 * means for locks, and what to do about it. rules_server.c has those
 * that look at one server, rules_topology.c those that look at how several
 * stand together.
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

#define DOCTOR_FOUND_MAX 512

struct doctor_found {
    char text[DOCTOR_FOUND_MAX];
};

/* What a rule makes of the facts. */
enum doctor_verdict {
    VERDICT_NONE,               /* it does not apply here */
    VERDICT_FINE,
    VERDICT_FOUND,
    VERDICT_UNSEEN              /* found->text: what could not be seen */
};

/* Whom a rule is about. */
enum doctor_scope {
    OF_ANY,                     /* each server, reached or not */
    OF_NODE,                    /* each that has keys and was reached */
    OF_MASTER,                  /* of these, masters */
    OF_REPLICA,
    OF_SENTINEL,                /* each that was reached */
    OF_ALL                      /* the whole; the server is NULL */
};

struct doctor_rule {
    const char *id;             /* NULL ends a table */
    enum doctor_severity severity;
    enum doctor_scope scope;
    /* Says in *found what it saw. */
    enum doctor_verdict (*judge)(const struct doctor_facts *facts,
                                 const struct doctor_server *s,
                                 struct doctor_found *found);
    const char *meaning;
    const char *advice;
};

extern const struct doctor_rule doctor_rules_server[];
extern const struct doctor_rule doctor_rules_topology[];

/* As printf into *found; return the verdict of their name. */
enum doctor_verdict doctor_found(struct doctor_found *found, const char *format,
                                 ...) __attribute__((format(printf, 2, 3)));
enum doctor_verdict doctor_fine(struct doctor_found *found, const char *format,
                                ...) __attribute__((format(printf, 2, 3)));
enum doctor_verdict doctor_unseen(struct doctor_found *found, const char *what);

/* What several rules ask:
 *
 * doctor_may        - a deed that was tried: FINE, FOUND (with the server's
 *                     words), UNSEEN. `what` for the text.
 * doctor_is_sharded - will holdfast send messages by SPUBLISH?
 * doctor_is_plain   - by PUBLISH? With sharded=both, by both.
 * doctor_replica_count - replicas that a master is known to have, connected or
 *                     not.
 * doctor_beat_ms    - from one renewal to the next. */
enum doctor_verdict doctor_may(const struct doctor_server *s,
                               enum doctor_deed deed, const char *what,
                               struct doctor_found *found);
bool doctor_is_sharded(const struct doctor_facts *facts);
bool doctor_is_plain(const struct doctor_facts *facts);
int64_t doctor_replica_count(const struct doctor_facts *facts,
                             const struct doctor_server *master);
int64_t doctor_beat_ms(const struct doctor_facts *facts);

struct doctor_finding {
    enum doctor_severity severity;
    const char *rule;
    const char *address;        /* "": of the whole; borrowed from the facts */
    const char *meaning;
    const char *advice;
    char text[DOCTOR_FOUND_MAX];
};

struct doctor_findings {
    struct doctor_finding *list;/* worst first, then in the order of servers */
    uint32_t count;
    uint32_t room;
    uint32_t by[DOCTOR_SEVERITIES];
    bool is_broken;             /* there was no memory for all */
};

/* doctor_judge - all rules, of all servers. What is fine is among the findings.
 *   What a server does not let us see is one finding of it.
 * doctor_findings_fini - frees them. */
void doctor_judge(const struct doctor_facts *facts,
                  struct doctor_findings *out);
void doctor_findings_fini(struct doctor_findings *findings);

#endif
