/* What the errors of a link say. */
/* Tests: tests/test_net_link_connect.c. */
#include <stdio.h>

#include "net/base/error.h"
#include "net/base/assert.h"
#include "net/link/link_inner.h"

void hf_link_fill_error(struct hf_link *link, hf_status status, const char *what,
                        const char *why)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    (void)hf_error_set(&link->error, status, "%s: %s%s%s", link->address,
                        what, why[0] ? ": " : "", why);
}

void hf_link_fill_not_dialed(struct hf_link *link)
{
    char why[HF_ERROR_TEXT_MAX], text[2 * HF_ERROR_TEXT_MAX], hint[400] = "";

    HF_ASSERT(hf_loop_is_locked(link->loop));
    (void)hf_dial_error(&link->dial, why, sizeof why);
    if (link->announced_by[0] && link->last_protocol == 0) /* it was never reached */
        (void)snprintf(hint, sizeof hint,
                       "; %s announced this address: behind NAT, is --map missing?",
                       link->announced_by);
    (void)snprintf(text, sizeof text, "%s%s", hf_errno_name_limit(why, sizeof why), hint);
    hf_link_fill_error(link, HF_E_CONNECT, text, "");
}

void hf_link_name_late_step(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->state == HF_LINK_FETCHING)
        hf_link_fill_error(link, HF_E_CONNECT,
            "no credentials: the callback has not answered in time", "");
    else if (link->state == HF_LINK_DIALING)
        hf_link_fill_not_dialed(link);
    else if (link->state == HF_LINK_SECURING)
        hf_link_fill_error(link, HF_E_CONNECT, HF_STREAM_IS_LATE, "");
    else if (link->state == HF_LINK_HANDSHAKE)
        hf_link_fill_error(link, HF_E_CONNECT,
            "connected, but the server did not answer HELLO in time", "");
}
