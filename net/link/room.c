/* Waiting for room. See room.h. */
#include "net/link/conn.h"
#include "net/link/room.h"

static struct hf_room *room_of(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_room, node);
}

void hf_rooms_init(struct hf_rooms *rooms)
{
    hf_list_init(&rooms->waiting);
    hf_list_init(&rooms->stop.node);
    rooms->stop.is_urgent = false;
}

void hf_rooms_add(struct hf_rooms *rooms, struct hf_room *room)
{
    bool is_serving = !hf_list_is_empty(&rooms->stop.node);
    struct hf_list *next = &rooms->waiting;

    if (room->is_urgent)
        for (next = is_serving ? rooms->stop.node.next : next->next;
             next != &rooms->waiting && room_of(next)->is_urgent;
             next = next->next)
            continue;
    hf_list_push(next, &room->node);
}

static void tell(struct hf_room *room, hf_status status)
{
    hf_list_remove(&room->node);
    room->ready(room, status);
}

/* The stop stands behind those that wait now, so that neither one who comes
 * meanwhile nor one who goes can lead us astray. */
static bool is_next(const struct hf_rooms *rooms)
{
    return rooms->waiting.next != &rooms->stop.node;
}

void hf_rooms_serve(struct hf_rooms *rooms, const struct hf_conn *conn)
{
    hf_list_push(&rooms->waiting, &rooms->stop.node);
    while (is_next(rooms) &&
           hf_conn_has_room(conn, room_of(rooms->waiting.next)->bytes))
        tell(room_of(rooms->waiting.next), HF_OK);
    hf_list_remove(&rooms->stop.node);
}

void hf_rooms_tell_all(struct hf_rooms *rooms, hf_status status)
{
    hf_list_push(&rooms->waiting, &rooms->stop.node);
    while (is_next(rooms))
        tell(room_of(rooms->waiting.next), status);
    hf_list_remove(&rooms->stop.node);
}
