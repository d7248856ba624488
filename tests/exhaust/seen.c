/* Open addressing, linear probing; twice the room when it is half full. */
#include <stdlib.h>

#include "tests/exhaust/seen.h"
#include "tests/support/must.h"

#define ROOM_FIRST (UINT64_C(1) << 16)

static void take_room(struct seen *seen, uint64_t room)
{
    seen->hashes = calloc(room, sizeof *seen->hashes);
    must(seen->hashes != NULL);
    seen->room = room;
    seen->count = 0;
}

void seen_init(struct seen *seen)
{
    take_room(seen, ROOM_FIRST);
}

void seen_fini(struct seen *seen)
{
    free(seen->hashes);
}

static void grow(struct seen *seen)
{
    struct seen old = *seen;

    take_room(seen, 2 * old.room);
    for (uint64_t i = 0; i < old.room; i++)
        if (old.hashes[i])
            (void)seen_add(seen, old.hashes[i]);
    free(old.hashes);
}

bool seen_add(struct seen *seen, uint64_t hash)
{
    uint64_t at;

    hash += hash == 0;
    if (seen->count >= seen->room / 2)
        grow(seen);
    at = (hash >> 20) & (seen->room - 1);
    for (; seen->hashes[at]; at = (at + 1) & (seen->room - 1))
        if (seen->hashes[at] == hash)
            return false;
    seen->hashes[at] = hash;
    seen->count++;
    return true;
}
