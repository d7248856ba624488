/* Decides which address of a server is tried when: RFC 8305, as far as getaddrinfo allows, which
 * replies for both families at once. A plain computation: it takes addresses, results and the
 * time, and returns the address to start. Private to net/.
 *
 * RACE-1  The order is that of the resolver (RFC 6724), with the families interleaved. The
 *         address that worked last is the first; if the name no longer has it, an address of
 *         its family is.
 * RACE-2  The next address starts RACE_DELAY_MS after the last one, or at once when one has
 *         failed; each starts once. The first one that is connected wins.
 * RACE-3  Addresses that were tried since one last worked did not help, so the next race begins
 *         after them. So an address that drops all packets, or accepts and is silent, does not
 *         delay the others, however short a race is. An address whose server does not serve
 *         counts as tried. */
#ifndef HF_RACE_H
#define HF_RACE_H

#include "net/wire/resolve.h"

/* RFC 8305, 5: "Connection Attempt Delay". */
#define RACE_DELAY_MS 250

/* All zeros: no address has worked yet. */
struct hf_race {
    struct hf_addresses addresses;
    unsigned first_index;         /* the index of the first one to start; may be greater by their
                                     count */
    unsigned started_count;
    unsigned running_count;       /* of these */
    int64_t next_start_ms;        /* when another one may start */

    /* From race to race. */
    unsigned tried_since_success;        /* addresses started since one worked */
    struct hf_address last_good_address; /* the address that worked; len 0: none */
};

/* hf_race_begin   - begins a race of these addresses, which are copied.
 * hf_race_next    - returns the index of the address to start now, which counts as running
 *                   then; -1: none.
 * hf_race_due_ms  - returns when to call hf_race_next; HF_NEVER: all addresses have started.
 * hf_race_failed  - notes that a running address has failed.
 * hf_race_is_lost - returns whether no address is running and none is left.
 * hf_race_worked  - notes that this address works: it is the favourite.
 * hf_race_avoid_favourite   - notes that the favourite does not help now: the next race begins
 *                   after it. */
void hf_race_begin(struct hf_race *race, const struct hf_addresses *found,
                   int64_t now_ms);
int hf_race_next(struct hf_race *race, int64_t now_ms);
int64_t hf_race_due_ms(const struct hf_race *race);
void hf_race_failed(struct hf_race *race, int64_t now_ms);
bool hf_race_is_lost(const struct hf_race *race);
void hf_race_worked(struct hf_race *race, unsigned index);
void hf_race_avoid_favourite(struct hf_race *race);

#endif
