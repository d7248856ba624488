/* Those who wait for room in a connection's queue, first come first served; the
 * urgent ones before all others. Private to net/. */
#ifndef HF_ROOM_H
#define HF_ROOM_H

#include "net/link/conn.h"

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
