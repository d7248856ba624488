/* What discovery (discover.c) remembers. Private to net/. [locked] */
#ifndef HF_DISCOVERY_H
#define HF_DISCOVERY_H

#include "net/net.h"
#include "net/route/round.h"
#include "net/route/slot.h"

struct hf_router;
struct hf_server;
struct hf_slot_map;

/* How a round of asking ended. */
enum hf_discovery_end {
    HF_MAP_CONFIRMED,           /* the map in force is right */
    HF_MAP_UNKNOWN,             /* there is none, and nobody could name one */
    HF_MAP_UNKNOWN_FOR_GOOD     /* and asking again would not help */
};

/* What the router is told, and asked. */
struct hf_discovery_events {
    /* This map is to be in force; it is the router's then. */
    void (*on_map)(struct hf_router *router, struct hf_slot_map *map);
    /* A round has ended. */
    void (*on_end)(struct hf_router *router, enum hf_discovery_end end);
    /* Does anything wait for a map, or for a server that is down? */
    bool (*is_waited_for)(struct hf_router *router);
};

struct hf_discovery {
    const struct hf_discovery_events *events; /* set once */
    struct hf_timer timer;        /* the next round, or the next to be asked */
    struct hf_round round;
    uint32_t round_number;
    uint32_t next_seed;
    uint32_t next_node;           /* of the map */
    uint32_t failures;            /* rounds in a row */
    int64_t ended_ms;             /* the last round */
    struct hf_server *hint;       /* the server to ask first */
    struct hf_slot_map *best;     /* of maps that were worse than ours */
    uint64_t learned[HF_SLOTS / 64]; /* slots of MOVED since the round began */
    uint32_t learned_count;       /* MOVED, ever */
    bool is_wanted_again;
    bool is_final;                /* each attempt that failed would fail again */
    bool is_told;                 /* router->error comes from a reachable server,
                                     in this round, */
    bool was_told;                /* or in the one before (DISCOVER-5) */
};

#endif
