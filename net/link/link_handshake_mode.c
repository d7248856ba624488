/* Chooses the mode of a link's next handshake, from the results of the earlier ones.
 *
 * LINK-6  A peer that closes the connection in the handshake may be a proxy whose
 *         server is away, or one that does not have the command (twemproxy). If
 *         nothing was answered, the next handshake begins with PING. If it was
 *         closed after an answer, the next handshake is plainer (RESP3, RESP2,
 *         BARE); but not if a handshake in the best mode once succeeded, and
 *         not BARE if there is a predecessor, because CLIENT KILL needs that. The
 *         attempt has failed only when no other handshake is left, because a caller
 *         may want a single attempt (connect_once).
 *         After the loss of a READY connection the best mode is tried again, with
 *         PING first if the lost connection had another mode.
 * LINK-7  A server may accept HELLO 3 and then refuse commands on a connection
 *         that has subscriptions, as in RESP2. From then on the link uses RESP2,
 *         where subscriptions have a connection of their own. */
/* Tests: tests/test_net_link_connect.c, tests/test_net_link_rival.c,
 *        tests/live/server/test_less.c. */
#include <string.h>

#include "net/base/assert.h"

#include "net/link/link_inner.h"

enum hf_handshake_mode hf_link_best_handshake_mode(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return link->options.protocol == 2 ? HANDSHAKE_RESP2 : HANDSHAKE_RESP3;
}

static enum hf_handshake_mode plainest_handshake_mode(const struct hf_link *link)
{
    return link->conn.predecessor.client_id != 0 ? HANDSHAKE_RESP2 : HANDSHAKE_BARE;
}

bool hf_link_learn_from_hangup(struct hf_link *link)
{
    struct hf_handshake *handshake = hf_conn_handshake(&link->conn);
    bool was_careful = handshake->probes_with_ping_first;

    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (!handshake->has_answered) {
        handshake->probes_with_ping_first = true;
        return !was_careful;
    }
    if (link->used_best_mode || handshake->mode == plainest_handshake_mode(link))
        return false;
    handshake->mode++;
    return true;
}

void hf_link_forget_handshake_mode(struct hf_link *link)
{
    struct hf_handshake *handshake = hf_conn_handshake(&link->conn);

    HF_ASSERT(hf_loop_is_locked(link->loop));
    handshake->probes_with_ping_first = handshake->mode != hf_link_best_handshake_mode(link);
    handshake->mode = hf_link_best_handshake_mode(link);
}

/* "ERR Can't execute 'evalsha': only (P|S)SUBSCRIBE / ... are allowed in this
 * context": the server has not executed the command. */
static bool is_refusal_to_subscriber(struct hf_resp_value reply)
{
    const char *ptr;
    size_t len;

    return hf_resp_bytes(reply, &ptr, &len) == HF_OK &&
           memmem(ptr, len, "SUBSCRIBE", 9) &&
           memmem(ptr, len, "allowed in this context", 23);
}

static void reconnect_with_resp2(struct hf_link *link)
{
    link->options.protocol = 2;
    hf_conn_handshake(&link->conn)->mode = HANDSHAKE_RESP2;
    hf_conn_condemn(&link->conn, HF_E_PROTOCOL,
                    "the server refuses commands on a connection with subscriptions: "
                    "RESP2 from now on");
}

void hf_link_check_error_reply(struct hf_link *link, struct hf_resp_value error)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (hf_link_is_logged_out(link, error))
        hf_conn_condemn(&link->conn, HF_E_CONNECT,
                        "the server no longer knows the login of this connection "
                        "(NOAUTH)");
    else if (link->last_protocol == 3 && is_refusal_to_subscriber(error))
        reconnect_with_resp2(link);
}
