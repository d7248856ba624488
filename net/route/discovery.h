/* The state of discovery (discover.c). Private to net/. [locked] */
#ifndef HF_DISCOVERY_H
#define HF_DISCOVERY_H

#include "net/net.h"
#include "net/route/round.h"
#include "net/route/slot.h"

struct hf_router;
struct hf_server;
struct hf_slot_map;

/* How a discovery round ended. */
enum hf_discovery_end {
    HF_MAP_CONFIRMED,           /* the map in force is right */
    HF_MAP_KEPT,                /* no server returned a better map */
    HF_MAP_UNKNOWN,             /* there is no map, and no server returned one */
    HF_MAP_UNKNOWN_FOR_GOOD     /* the same, and a retry would fail in the same way */
};

/* Callbacks of the router. */
struct hf_discovery_events {
    /* Puts this map into force, and takes it. */
    void (*on_map)(struct hf_router *router, struct hf_slot_map *map);
    /* A round has ended. */
    void (*on_end)(struct hf_router *router, enum hf_discovery_end end);
    /* Returns whether a command or subscription waits for a map, or for a server that
     * is down. */
    bool (*is_waited_for)(struct hf_router *router);
};

struct hf_discovery {
    const struct hf_discovery_events *events; /* set once */
    struct hf_timer round_timer;        /* for the next round, or the next server */
    struct hf_round round;
    uint32_t round_number;
    uint32_t next_seed;
    uint32_t next_node;                 /* of the map, modulo the number of its nodes */
    uint32_t nodes_passed;              /* of the map, in this round */
    uint32_t failed_rounds;             /* successive rounds without a map that leads to reachable
                                           masters */
    uint32_t denied_round;              /* the last round in which, or before which, a node refused
                                           a slot (ANNOUNCED-4) */
    bool has_reported_trouble;          /* on_trouble was called since `failed_rounds` was 0 */
    int64_t pause_ms;                   /* after the last round: DISCOVER-6 */
    int64_t last_round_ended_ms;        /* when the last round ended */
    struct hf_server *next_server_hint; /* the server to query first */
    struct hf_slot_map *best_map;       /* the best map that was worse than the one in force */
    bool has_heard_map;                 /* a reply of this round contained the map in force */
    uint32_t moved_replies_count;       /* MOVED replies since the router was created */
    bool is_wanted_again;               /* another round follows this one */
    bool was_followed_at_once;          /* the last round was followed by another at once, because a
                                           command or a subscription waited */
    bool is_failure_final;              /* each failed attempt would fail in the same way */
    bool has_server_error;              /* router->map_error comes from a reachable server, in this
                                           round, */
    bool had_server_error_before;       /* or in the previous one (DISCOVER-5) */
};

#endif
