/* What servers answer to `holdfast doctor`, read into facts. Pure. An answer of
 * an unexpected form changes nothing. */
#ifndef CLI_DOCTOR_ANSWERS_H
#define CLI_DOCTOR_ANSWERS_H

#include "cli/doctor/facts.h"

struct doctor_reply {
    struct hf_resp_value value;
    enum doctor_fact fact;      /* the requested fact; FACT_NONE: several */
    struct doctor_server *server;   /* that replies */
    struct doctor_facts *facts;
};

/* doctor_read_text   - the reply is the fact.
 * doctor_read_config - of CONFIG GET, one setting.
 * doctor_read_lines  - of INFO and CLUSTER INFO.
 * doctor_read_user   - the ACL's patterns, of ACL GETUSER.
 * doctor_read_slots  - of CLUSTER SLOTS: the view, and nodes that are new.
 * doctor_read_nodes  - of CLUSTER NODES: those that failed.
 * doctor_read_master, doctor_read_replicas, doctor_read_sentinels - of SENTINEL
 *   MASTER, REPLICAS and SENTINELS; they add servers that are new, too. */
typedef void doctor_reader(const struct doctor_reply *reply);
doctor_reader doctor_read_text, doctor_read_config, doctor_read_lines,
    doctor_read_user, doctor_read_slots, doctor_read_nodes, doctor_read_master,
    doctor_read_replicas, doctor_read_sentinels;

/* doctor_answer_read - interprets a reply, or an error, to a command that was tried.
 * doctor_time_read - reads the reply to TIME, in us. False: not a time before the year 5000. */
struct doctor_answer doctor_answer_read(struct hf_resp_value reply);
bool doctor_time_read(struct hf_resp_value reply, int64_t *us);

#endif
