/* The state of a command. Private to net/route.
 *
 *   IDLE          -submit_to_server-> SENT              most commands, at once
 *                 -wait_for_output_space-> AWAITS_SPACE  the output of its server is full
 *                 -wait_for_map-> AWAITS_MAP            its server is not known
 *   AWAITS_MAP    -hf_commands_send_pending-> IDLE, and again as above
 *   AWAITS_SPACE  -on_output_space-> SENT, or AWAITS_SPACE again
 *   SENT          -on_request_done-> IDLE, or REPLIED while the reply to WAIT is awaited
 *   REPLIED       -on_wait_reply-> IDLE
 *   any           -detach_from_list_or_link-> IDLE    cancelled, redirected, or sent to another
 *                                                     server
 *
 * What is true in each state (hf_command_ok):
 * IDLE          it is in no list and has no timer
 * AWAITS_MAP    it is in the list of its router, has no server, and its timer is its deadline
 * AWAITS_SPACE  it is in the list of its server, and awaits space in that output
 * SENT          it is in the list of its server: queued in the link, or written
 * REPLIED       the same; its reply was reported, and that of WAIT is awaited */
#ifndef HF_COMMAND_STATE_H
#define HF_COMMAND_STATE_H

#include "net/route/router.h"

enum hf_command_state {
    HF_COMMAND_IDLE,
    HF_COMMAND_AWAITS_MAP,
    HF_COMMAND_AWAITS_SPACE,
    HF_COMMAND_SENT,
    HF_COMMAND_REPLIED
};

/* hf_command_set_state - sets the state; nothing else does. */
void hf_command_set_state(struct hf_command *c, enum hf_command_state state);

/* hf_command_ok - returns whether the facts of its state hold: its list, its server and its
 *   timer. For HF_ASSERT, at the beginning and the end of an event. */
bool hf_command_ok(const struct hf_command *c);

#endif
