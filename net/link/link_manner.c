/* In which manner a link greets its server, and what it learns of that.
 *
 * LINK-6  A peer that closes the connection in the greeting may be a proxy whose
 *         server is away, or one that does not have the command (twemproxy). If
 *         nothing was answered, the next greeting begins with PING. If it was
 *         closed after an answer, the next greeting is plainer (RESP3, RESP2,
 *         BARE); but not if a connection was once greeted in the best manner, and
 *         not BARE if there is a predecessor, because CLIENT KILL needs that. The
 *         attempt has failed only when no other greeting is left, because a caller
 *         may want a single attempt (connect_once).
 *         After the loss of a READY connection the best manner is tried again, with
 *         PING first if the lost connection was greeted in another manner.
 * LINK-7  A server may accept HELLO 3 and then refuse commands on a connection
 *         that has subscriptions, as in RESP2. From then on the link uses RESP2,
 *         where subscriptions have a connection of their own. */
/* Tests: tests/test_net_link_connect.c, tests/test_net_link_rival.c,
 *        tests/live/server/test_less.c. */
#include <string.h>

#include "net/link/link_inner.h"

enum hf_greet_manner hf_link_best_manner(const struct hf_link *link)
{
    return link->options.protocol == 2 ? GREET_RESP2 : GREET_RESP3;
}

static enum hf_greet_manner plainest(const struct hf_link *link)
{
    return link->conn.predecessor.id != 0 ? GREET_RESP2 : GREET_BARE;
}

bool hf_link_learn_from_hangup(struct hf_link *link)
{
    struct hf_greeting *greeting = hf_conn_greeting(&link->conn);
    bool was_careful = greeting->is_careful;

    if (!greeting->has_answered) {
        greeting->is_careful = true;
        return !was_careful;
    }
    if (link->is_fluent || greeting->manner == plainest(link))
        return false;
    greeting->manner++;
    return true;
}

void hf_link_forget_manner(struct hf_link *link)
{
    struct hf_greeting *greeting = hf_conn_greeting(&link->conn);

    greeting->is_careful = greeting->manner != hf_link_best_manner(link);
    greeting->manner = hf_link_best_manner(link);
}

/* "ERR Can't execute 'evalsha': only (P|S)SUBSCRIBE / ... are allowed in this
 * context": the server has not executed the command. */
static bool is_refused_to_subscribers(struct hf_resp_value reply)
{
    const char *ptr;
    size_t len;

    return hf_resp_bytes(reply, &ptr, &len) == HF_OK &&
           memmem(ptr, len, "SUBSCRIBE", 9) &&
           memmem(ptr, len, "allowed in this context", 23);
}

bool hf_link_needs_resp2(const struct hf_link *link, struct hf_resp_value reply)
{
    return hf_resp_is_error(reply) && link->protocol == 3 &&
           is_refused_to_subscribers(reply);
}

void hf_link_use_resp2(struct hf_link *link)
{
    link->options.protocol = 2;
    hf_conn_greeting(&link->conn)->manner = GREET_RESP2;
    hf_conn_condemn(&link->conn, HF_E_PROTOCOL,
                    "the server refuses commands on a connection with subscriptions: "
                    "RESP2 from now on");
}
