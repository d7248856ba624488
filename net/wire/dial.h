/* Connects a socket to the server of a URL: resolves the name and races its addresses (race.h).
 * It has no deadline of its own: the caller stops it. Private to net/; under the loop's lock. */
#ifndef HF_DIAL_H
#define HF_DIAL_H

#include "net/base/url.h"
#include "net/wire/race.h"

/* Room for each address that failed and the reason; what does not fit is cut. */
#define DIAL_WHY_MAX 256

/* One attempt after another to connect; a field of its owner. */
struct hf_dial {
    /* Set once. */
    struct hf_loop *loop;
    const struct hf_url *url;
    void (*done)(struct hf_dial *dial, int fd);

    struct hf_resolve *pending_lookup; /* NULL: not resolving */
    struct hf_timer timer;             /* when another address may start */
    struct hf_race race;
    struct hf_racer {             /* one for each of race.addresses */
        struct hf_dial *dial;
        struct hf_io io;          /* io.fd < 0: not running */
    } racers[HF_ADDRESSES_MAX];
    int64_t resolved_ms;          /* when the name was resolved; 0: not in this attempt */
    unsigned winner_index;
    char failure_text[DIAL_WHY_MAX];
};

/* hf_dial_init  - initializes an idle dial; `url` is borrowed as long as the dial exists.
 * hf_dial_start - starts an idle dial. The thread that drives the loop calls `done` once, after
 *   this call has returned: with a connected socket, which does not block, has the
 *   close-on-exec flag and belongs to the owner; or with -1 if no address is left. The dial is
 *   then idle again.
 * hf_dial_stop  - closes all sockets; `done` will not be called. Only the thread that drives the
 *   loop may call it, or any thread while none drives. An idle dial is allowed. */
void hf_dial_init(struct hf_dial *dial, struct hf_loop *loop,
                  const struct hf_url *url,
                  void (*done)(struct hf_dial *dial, int fd));
void hf_dial_start(struct hf_dial *dial);
void hf_dial_stop(struct hf_dial *dial);

/* hf_dial_worked - notes that the last socket works: the next dial begins with its address. An
 *   address without this call counts as failed.
 * hf_dial_avoid_address  - notes that the server at that address does not serve: the next dial
 *   begins with another address, if there is one. */
void hf_dial_worked(struct hf_dial *dial);
void hf_dial_avoid_address(struct hf_dial *dial);

/* hf_dial_adopt - copies from `from` which address worked or was connected. Both dials are idle
 *   and have the same URL. */
void hf_dial_adopt(struct hf_dial *dial, const struct hf_dial *from);

/* hf_dial_error - writes one line to dst and returns dst: why there was no connection ("cannot
 *   connect: Connection refused", "cannot resolve the name: ..."), or, of a dial that has not
 *   ended, why there is none yet ("cannot connect in time"). */
char *hf_dial_error(const struct hf_dial *dial, char *dst, size_t room);

#endif
