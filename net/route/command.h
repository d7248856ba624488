/* Commands that are under way, all at once. Private to net/. [locked] */
#ifndef HF_COMMAND_H
#define HF_COMMAND_H

struct hf_router;
struct hf_server;

/* hf_commands_reconsider   - commands of a server look at the new map (ROUTE-2,
 *                            ROUTE-3).
 * hf_commands_bring_back   - what has not left waits for the map; what has, for
 *                            its reply or the end of its connection.
 * hf_commands_resume       - pending commands try again.
 * hf_commands_fail_pending - they end UNSENT, for the reason in router->error.
 * hf_commands_end_once     - an attempt to connect to the server failed:
 *                            commands that are sent once, and wait for that
 *                            link, end UNSENT.
 * hf_commands_end_pending_once - likewise those that are pending: a round has
 *                            ended without a map. */
void hf_commands_reconsider(struct hf_server *server);
void hf_commands_bring_back(struct hf_server *server);
void hf_commands_resume(struct hf_router *router);
void hf_commands_fail_pending(struct hf_router *router);
void hf_commands_end_once(struct hf_server *server);
void hf_commands_end_pending_once(struct hf_router *router);

#endif
