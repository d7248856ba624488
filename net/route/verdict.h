/* What follows from the verdict of a topology on an error reply. Private to net/.
 * [locked] */
#ifndef HF_VERDICT_H
#define HF_VERDICT_H

#include "net/route/router.h"
#include "net/route/topology.h"

#define HOPS_MAX 5             /* redirections of one command, as in Jedis and Lettuce; the
                                  cluster specification names no number */
#define HOPS_STOPPED 255       /* hops of a command that is not redirected */

/* hf_verdict_ends_command - decides whether the error reply is passed to the owner of the
 *   command.
 *     verdict, r   what hf_topology.classify_error_reply returned for `reply`
 *   True: it is passed on. If a new connection or a new map may help, they are
 *   requested; command->is_error_temporary and names_itself are set.
 *   False: the caller sends the command to another server. */
bool hf_verdict_ends_command(struct hf_command *command, enum hf_verdict verdict,
                             const struct hf_redirection *r, struct hf_resp_value reply);

#endif
