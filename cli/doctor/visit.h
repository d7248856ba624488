/* Queries servers for the facts of `holdfast doctor`. */
#ifndef CLI_DOCTOR_VISIT_H
#define CLI_DOCTOR_VISIT_H

#include "cli/doctor/facts.h"
#include "net/base/url.h"

struct doctor_visit_plan {
    const struct hf_url *url;           /* user, TLS, a lone host, a connect
                                           timeout */
    const struct hf_seeds *seeds;
    int64_t timeout_ms;                 /* of an answer */
    bool queries_info_alone;               /* INFO, of the servers that the URL names */
};

/* doctor_visit - queries all servers that the URL names and all that these name, at the same time,
 *   in rounds, until no server names a new one. It is also a fact if a server cannot be reached or
 *   does not reply in time. `facts` contains the URL and the options. HF_E_NOMEM,
 *   HF_E_SYSTEM. */
hf_status doctor_visit(struct doctor_facts *facts, const struct doctor_visit_plan *plan,
                       struct hf_error *err);

#endif
