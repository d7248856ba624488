/* From a URL to a connected socket: resolves the name and races its addresses
 * (race.h). Gives up never by itself: the caller has the deadline. Private to
 * net/; under the loop's lock. */
#ifndef HF_DIAL_H
#define HF_DIAL_H

#include "net/base/url.h"
#include "net/wire/race.h"

/* The address and the reason of each that failed, as far as they fit. */
#define DIAL_WHY_MAX 256

/* A field of what dials. */
struct hf_dial {
    /* Set once. */
    struct hf_loop *loop;
    const struct hf_url *url;
    void (*done)(struct hf_dial *dial, int fd);

    struct hf_resolve *resolve;   /* NULL: not resolving */
    struct hf_timer timer;        /* when another may start */
    struct hf_race race;
    struct hf_racer {             /* as race.addresses */
        struct hf_dial *dial;
        struct hf_io io;          /* io.fd < 0: not running */
    } racers[HF_ADDRESSES_MAX];
    unsigned winner;
    char why[DIAL_WHY_MAX];
};

/* hf_dial_init  - idle; `url` is borrowed for good.
 * hf_dial_start - an idle one. `done` is called once, by the thread that drives
 *   the loop, and never from here: with a connected socket, non-blocking and
 *   close-on-exec, which is the owner's from here on; or with -1, when no
 *   address is left. The dial is idle again by then.
 * hf_dial_stop  - `done` will not be called, all sockets are closed: by the thread
 *   that drives the loop, or while none does. An idle one may be stopped. */
void hf_dial_init(struct hf_dial *dial, struct hf_loop *loop,
                  const struct hf_url *url,
                  void (*done)(struct hf_dial *dial, int fd));
void hf_dial_start(struct hf_dial *dial);
void hf_dial_stop(struct hf_dial *dial);

/* hf_dial_worked - the socket that `done` was given has proved good: the next
 *   dial begins with its address. Until then that is one that failed.
 * hf_dial_doubt  - that address leads to a server that does not serve: the next
 *   dial begins with another address, if there is one. */
void hf_dial_worked(struct hf_dial *dial);
void hf_dial_doubt(struct hf_dial *dial);

/* hf_dial_adopt - knows what `from` knows: which address worked, or was connected.
 *   Both are idle, and of the same URL. */
void hf_dial_adopt(struct hf_dial *dial, const struct hf_dial *from);

/* hf_dial_error - one line: why there was no connection ("cannot connect:
 *   Connection refused", "cannot resolve the name: ..."); of one not stopped
 *   yet, why there is none ("cannot connect in time"). Returns dst. */
char *hf_dial_error(const struct hf_dial *dial, char *dst, size_t room);

#endif
