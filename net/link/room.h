/* Those who wait for room in a connection's queue, first come first served; the
 * urgent ones before all others. Private to net/. */
#ifndef HF_ROOM_H
#define HF_ROOM_H

#include "resp/base.h"

struct hf_conn;
struct hf_link;

/* Who waits until a full link takes more: a field of it.
 *
 * [locked] `ready` is called once. HF_OK: there is room for so many bytes, for
 * you, until you return: submit now. HF_E_CLOSED: the link is being freed. Else
 * it was refused, see hf_link_error. It may wait again, or be freed. */
struct hf_room {
    /* Set by the owner. */
    void (*ready)(struct hf_room *room, hf_status status);
    bool is_urgent;             /* goes before all that are not */
    /* The link's own. */
    struct hf_list node;
    struct hf_link *link;
    size_t bytes;
};

struct hf_rooms {
    struct hf_list waiting;
    struct hf_room stop;          /* stands among them while some are served */
};

/* hf_rooms_add      - behind all that are as urgent.
 * hf_rooms_serve    - calls `ready` while there is room for the first of those
 *                     that wait now; who waits again has his turn next time.
 * hf_rooms_tell_all - calls it with a failure, for each that waits now. Neither
 *                     from within `ready`. */
void hf_rooms_init(struct hf_rooms *rooms);
void hf_rooms_add(struct hf_rooms *rooms, struct hf_room *room);
void hf_rooms_serve(struct hf_rooms *rooms, const struct hf_conn *conn);
void hf_rooms_tell_all(struct hf_rooms *rooms, hf_status status);

static inline bool hf_rooms_is_empty(const struct hf_rooms *rooms)
{
    return hf_list_is_empty(&rooms->waiting);
}

#endif
