/* Which of a server's addresses is tried when: RFC 8305, as far as getaddrinfo
 * allows, which answers for both families at once. A plain computation:
 * addresses, what became of them and the time go in, what to start comes out.
 * Private to net/.
 *
 * RACE-1  The order is the resolver's (RFC 6724), with the families
 *         interleaved. First comes the address that worked last or, if it is
 *         gone, one of its family.
 * RACE-2  The next address starts RACE_DELAY_MS after the last one, or at once
 *         when one has failed; each starts once. The first that is connected
 *         wins.
 * RACE-3  The addresses tried since one last worked did not help, so the next
 *         race begins behind them. An address that drops all packets, or
 *         accepts and is silent, is in nobody's way, however short the time of
 *         a race. An address whose server does not serve counts as tried. */
#ifndef HF_RACE_H
#define HF_RACE_H

#include "net/wire/resolve.h"

/* RFC 8305, 5: "Connection Attempt Delay". */
#define RACE_DELAY_MS 250

/* All zeros: nothing has ever worked. */
struct hf_race {
    struct hf_addresses addresses;
    unsigned first;               /* starts first: its index, or more by their
                                     count */
    unsigned started;
    unsigned running;             /* of these */
    int64_t next_ms;              /* when another may start */

    /* From race to race. */
    unsigned futile;              /* started since an address worked */
    struct hf_address favourite;  /* the one that did; len 0: none yet */
};

/* hf_race_begin  - among these addresses, which are copied.
 * hf_race_next   - the index of the address to start now, which is running from
 *                  here on; -1: none.
 * hf_race_due_ms - when to ask for the next; HF_NEVER: all have started.
 * hf_race_failed - one of those running did.
 * hf_race_is_lost - none is running, and none is left.
 * hf_race_worked - this address did: it is the favourite.
 * hf_race_doubt  - the favourite does not help now: the next race begins behind
 *                  it. */
void hf_race_begin(struct hf_race *race, const struct hf_addresses *found,
                   int64_t now_ms);
int hf_race_next(struct hf_race *race, int64_t now_ms);
int64_t hf_race_due_ms(const struct hf_race *race);
void hf_race_failed(struct hf_race *race, int64_t now_ms);
bool hf_race_is_lost(const struct hf_race *race);
void hf_race_worked(struct hf_race *race, unsigned index);
void hf_race_doubt(struct hf_race *race);

#endif
