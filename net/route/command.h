/* Operations on all pending commands. Private to net/. [locked] */
#ifndef HF_COMMAND_H
#define HF_COMMAND_H

struct hf_router;
struct hf_server;

/* hf_commands_reroute   - looks up the server of each of these commands in the new map
 *                            (ROUTE-2, ROUTE-3).
 * hf_commands_requeue_unsent   - moves unsent commands to `pending`. Commands that were sent
 *                            wait for their reply, or the end of the connection.
 * hf_commands_send_pending       - sends the commands in `pending`.
 * hf_commands_fail_pending - ends the waiting commands as UNSENT, with router->map_error.
 * hf_commands_fail_never_retried     - after a failed attempt to connect: commands with
 *                            is_never_retried that wait for this server's link end UNSENT.
 * hf_commands_end_probes   - a handshake of this server's main link has ended: commands with
 *                            is_probe that were not sent end ANSWERED.
 * hf_commands_fail_pending_never_retried - after a round without a map: commands with
 *                            is_never_retried in `pending` end UNSENT. */
void hf_commands_reroute(struct hf_server *server);
void hf_commands_requeue_unsent(struct hf_server *server);
void hf_commands_send_pending(struct hf_router *router);
void hf_commands_fail_pending(struct hf_router *router);
void hf_commands_fail_never_retried(struct hf_server *server);
void hf_commands_end_probes(struct hf_server *server);
void hf_commands_fail_pending_never_retried(struct hf_router *router);

#endif
