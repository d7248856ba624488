/* What the members of a quorum have said, for an error. */
#include <stdio.h>
#include <string.h>

#include "lock/quorum_hold.h"
#include "lock/records.h"
#include "net/base/error.h"

void hf_quorum_say(struct hf_quorum_seat *seat, hf_status status,
                   const char *text)
{
    seat->status = status;
    (void)snprintf(seat->said, sizeof seat->said, "%.*s", QUORUM_SAID_MAX - 1,
                   text);
}

void hf_quorum_note(struct hf_quorum_seat *seat, hf_status status,
                    const struct hf_error *err)
{
    if (status == HF_OK)
        hf_quorum_say(seat, status, "yes");
    else if (status == HF_CANCELLED)
        hf_quorum_say(seat, status, "no answer in time");
    else
        hf_quorum_say(seat, status,
                      err->status == status ? err->text
                                            : hf_status_text(status));
}

uint32_t hf_quorum_count_yes(const struct hf_quorum_hold *hold)
{
    uint32_t yes = 0;

    for (uint32_t i = 0; i < hold->turn.count; i++)
        yes += hold->seats[i].status == HF_OK;
    return yes;
}

/* "; a:6379: yes". Of an error that has the address, what follows that. */
static size_t put_said(const struct hf_quorum_seat *seat, char *dst,
                       size_t room)
{
    const struct hf_lock *lock = seat->hold->quorum->members[seat->member];
    const char *address = hf_client_address(lock->client);
    const char *named = strstr(seat->said, address);
    int len = snprintf(dst, room, "%s%s%s%s", seat->member ? "; " : "",
                       named ? "" : address, named ? "" : ": ",
                       named ? named : seat->said);

    return len < 0 ? 0 : (size_t)len < room ? (size_t)len : room - 1;
}

hf_status hf_quorum_tell_all(struct hf_error *err, hf_status status,
                             const struct hf_quorum_hold *hold)
{
    char all[HF_ERROR_TEXT_MAX];
    size_t len = 0;

    for (uint32_t i = 0; i < hold->turn.count; i++)
        len += put_said(&hold->seats[i], all + len, sizeof all - len);
    return hf_error_set(err, status, "%u of %u said yes, %u are needed: %s",
                        (unsigned)hf_quorum_count_yes(hold),
                        (unsigned)hold->turn.count,
                        (unsigned)hold->turn.needed, all);
}
