/* What follows from the verdict of a topology on an error reply. Private to net/.
 * [locked] */
#ifndef HF_VERDICT_H
#define HF_VERDICT_H

#include "net/route/router.h"
#include "net/route/topology.h"

#define HOPS_MAX 5             /* redirections of one command */
#define HOPS_STAY 255          /* hops of a command that is not redirected */

/* hf_verdict_ends - does the owner of the command see this error? Then the
 *   connection is replaced and the map requested, if that may help, and
 *   was_put_off and names_itself are set. False: the command goes elsewhere. */
bool hf_verdict_ends(struct hf_command *command, enum hf_verdict verdict,
                     const struct hf_redirection *r, struct hf_resp_value reply);

#endif
