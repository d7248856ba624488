/* Names of servers that change: FAULT_NAMES. The history has no line for it, so the client must
 * cope. */
#ifndef SIM_NAMES_H
#define SIM_NAMES_H

#include "tests/sim/site.h"

/* What becomes of the name, besides that all connections are closed. */
enum names_way {
    NAMES_STOP,  /* the resolver does not answer until the end */
    NAMES_MOVE,  /* the server is at another address from now on, and its name leads there */
    NAMES_LATE,  /* the server is there, and its name leads there only at the end */
    NAMES_SHARE, /* the same, and until the end the name has two addresses, the first of a machine
                    that is not there */
    NAMES_WAYS
};
#define NAMES_IGNORES 4 /* with one of these: no packet is answered at an address where no server
                           is; otherwise connections are refused */
#define NAMES_WAY(n) ((enum names_way)((n) % NAMES_WAYS))

/* names_new   - the other address of the server of this site.
 * names_other - its listener there. */
struct site_names *names_new(const struct site *site);
struct listener *names_other(const struct site_names *names);

#endif
