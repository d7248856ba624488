/* What `holdfast doctor` asks, and of which servers. Pure: no server is asked
 * here.
 *
 * Nothing that is asked changes anything. What holdfast itself does is tried in
 * a form that the server refuses once it has looked at the ACL and at its own
 * state: HSET with a word too many, PEXPIRE to a time that is no number. DEL
 * and PUBLISH are of names that nobody has. */
#ifndef CLI_DOCTOR_QUESTIONS_H
#define CLI_DOCTOR_QUESTIONS_H

#include "cli/doctor/answers.h"

/* What replaces the names in questions. */
struct doctor_names {
    const char *key;            /* of the lock, or the scratch name */
    const char *channel;        /* its channel */
    const char *scratch;        /* that nobody uses */
    const char *scratch_channel;
    const char *user;           /* whose ACL counts */
    const char *master;         /* the name that sentinels have for it */
};

struct doctor_question {
    unsigned who;               /* a sum of ASK_* */
    const char *words;          /* parted by spaces */
    enum doctor_permission permission;  /* that it tries */
    enum doctor_fact fact;      /* that it asks for; FACT_NONE: several */
    doctor_reader *read;        /* for a reply that is no error; may be NULL */
};

enum {
    ASK_NODE = 1,               /* a server that has keys */
    ASK_IN_CLUSTER = 2,         /* one of a cluster */
    ASK_SENTINEL = 4,
    ASK_ALL = ASK_NODE | ASK_SENTINEL
};

#define DOCTOR_WORDS_MAX 6
extern const struct doctor_question doctor_questions[];
extern const size_t doctor_question_count;

/* Questions that subscribe come last: in RESP2 the connection cannot do
 * anything else after them. */
bool doctor_question_subscribes(const struct doctor_question *q);

/* doctor_question_is_for - is it to be asked of this server?
 * doctor_question_words  - its arguments; returns how many.
 * doctor_question_read   - the reply, an error too.
 * doctor_channel - the channel of a lock, as Redisson names it (WIRE 2.4), for
 *   free(); NULL: no memory. */
bool doctor_question_is_for(const struct doctor_question *q,
                            const struct doctor_facts *facts,
                            const struct doctor_server *s);
size_t doctor_question_words(const struct doctor_question *q,
                             const struct doctor_names *names,
                             struct hf_resp_arg argv[DOCTOR_WORDS_MAX]);
void doctor_question_read(const struct doctor_question *q,
                          struct doctor_facts *facts, struct doctor_server *s,
                          struct hf_resp_value value);
char *doctor_channel(const char *name);

#endif
