/* Reads the replies to `holdfast doctor` into facts. Pure. A reply of an unexpected form changes
 * nothing. */
#ifndef CLI_DOCTOR_ANSWERS_H
#define CLI_DOCTOR_ANSWERS_H

#include "cli/doctor/facts.h"

struct doctor_reply {
    struct hf_resp_value reply_value;
    enum doctor_fact fact;      /* the requested fact; FACT_NONE: several */
    struct doctor_server *server;   /* that replies */
    struct doctor_facts *facts;
};

/* doctor_read_text   - reads a reply that is the fact itself.
 * doctor_read_config - reads one setting of CONFIG GET.
 * doctor_read_lines  - reads INFO and CLUSTER INFO.
 * doctor_read_user   - reads the patterns of ACL GETUSER.
 * doctor_read_slots  - reads the map of CLUSTER SLOTS, and adds new nodes.
 * doctor_read_nodes  - reads the failed nodes of CLUSTER NODES.
 * doctor_read_master, doctor_read_replicas, doctor_read_sentinels - read SENTINEL MASTER,
 *   REPLICAS and SENTINELS, and add new servers. */
typedef void doctor_reader(const struct doctor_reply *reply);
doctor_reader doctor_read_text, doctor_read_config, doctor_read_lines,
    doctor_read_user, doctor_read_slots, doctor_read_nodes, doctor_read_master,
    doctor_read_replicas, doctor_read_sentinels;

/* doctor_answer_read - interprets a reply, or an error, to a command that was tried.
 * doctor_time_read - reads the reply to TIME, in us. False: not a time before the year 5000. */
struct doctor_answer doctor_answer_read(struct hf_resp_value reply);
bool doctor_time_read(struct hf_resp_value reply, int64_t *us);

#endif
