/* The facts of `holdfast doctor` about the servers that it has queried. visit.c collects them, and
 * findings.c applies the rules to them. */
#ifndef CLI_DOCTOR_FACTS_H
#define CLI_DOCTOR_FACTS_H

#include "net/net.h"
#include "net/route/slot.h"

/* The limit of servers: a hundred masters with a replica each, and some more. */
#define DOCTOR_SERVERS_MAX 256

/* Facts that a server reports about itself, as text. cli/doctor/answers.c has the source of
 * each. */
enum doctor_fact {
    FACT_NONE,
    FACT_VERSION,               /* of Redis, or the compatible one */
    FACT_VALKEY,
    FACT_CLUSTER_ENABLED,
    FACT_LOADING,
    FACT_ASYNC_LOADING,
    FACT_ROLE,
    FACT_MASTER_LINK,
    FACT_REPLICAS,              /* connected ones */
    FACT_LAG,                   /* seconds, of the worst of them */
    FACT_USED_MEMORY,
    FACT_MAXMEMORY,
    FACT_POLICY,
    FACT_AOF,
    FACT_AOF_WRITE,
    FACT_CLIENTS,
    FACT_SAVE,
    FACT_FSYNC,
    FACT_MIN_REPLICAS,
    FACT_READ_ONLY,
    FACT_IDLE_TIMEOUT,
    FACT_KEEPALIVE,
    FACT_BUSY_MS,
    FACT_MAXCLIENTS,
    FACT_FULL_COVERAGE,
    FACT_NODE_TIMEOUT,
    FACT_ACL_USER,
    FACT_ACL_KEYS,              /* patterns */
    FACT_ACL_CHANNELS,
    FACT_ID,                    /* in a cluster, or of a sentinel */
    FACT_CLUSTER_STATE,
    FACT_EPOCH,
    FACT_FAILED_NODES,          /* their addresses; "" if there are none */
    FACT_MASTER,                /* HOST:PORT, as this sentinel says it */
    FACT_QUORUM,
    FACT_OTHER_SENTINELS,
    FACT_DOWN_AFTER,
    FACT_CKQUORUM,              /* the answer's words */
    DOCTOR_FACTS
};

/* The commands of holdfast. Each is tried on the server, without effect. */
enum doctor_permission {
    MAY_NONE,
    MAY_PING,
    MAY_EVALSHA,
    MAY_EVAL,
    MAY_EXISTS,                 /* what its scripts call, from here */
    MAY_HEXISTS,
    MAY_HSET,
    MAY_PEXPIRE,
    MAY_HSCAN,
    MAY_PTTL,
    MAY_DEL,
    MAY_HGET,
    MAY_HLEN,                   /* to here */
    MAY_DERIVE,                 /* scripts may use keys that are not declared */
    MAY_PUBLISH,
    MAY_SPUBLISH,
    MAY_SUBSCRIBE,
    MAY_SSUBSCRIBE,
    MAY_WAIT,
    MAY_KILL,
    MAY_CLIENT_ID,
    MAY_TRACKING,
    MAY_CACHING,
    MAY_SET_LABEL,
    MAY_GET_LABEL,
    MAY_INFO,
    MAY_CONFIG,
    MAY_TIME,
    MAY_ROLE,
    MAY_CLUSTER_SLOTS,
    MAY_SHARDNUMSUB,            /* knows sharded messages */
    MAY_SENTINEL_MASTER,
    DOCTOR_PERMISSIONS
};

/* Their commands, for messages. */
extern const char *const doctor_permission_names[DOCTOR_PERMISSIONS];

enum doctor_may {
    MAY_NOT_ANSWERED,       /* no reply, or not requested */
    MAY_PERMITTED,
    MAY_FORBIDDEN_COMMAND,  /* the ACL forbids the command */
    MAY_FORBIDDEN_KEY,      /* the ACL forbids this key */
    MAY_FORBIDDEN_CHANNEL,  /* the ACL forbids this channel */
    MAY_UNKNOWN_COMMAND,    /* no such command: renamed, or too old */
    MAY_OTHER_ERROR         /* another error: the server's state */
};

struct doctor_answer {
    enum doctor_may permission;
    char error_text[96];        /* of the error */
};

/* Its clock compared with ours, with an error of up to half the round trip. */
struct doctor_clock {
    bool is_known;
    int64_t ahead_us;
    int64_t round_trip_us;
};

/* The reports of a node about its cluster. */
struct doctor_cluster_view {
    bool is_known;
    uint64_t owners_digest;              /* of the slots' owners: equal digests, equal views */
    uint32_t covered_slots;              /* slots that have an owner */
    uint32_t nodes_without_address;      /* nodes without an address, or without a port for our kind
                                            of connection */
    uint8_t claimed_slots[HF_SLOTS / 8]; /* slots that it claims, the lowest bit first */
};

struct doctor_server {
    bool is_sentinel;
    bool is_seed;               /* the URL names it */
    enum { SAID_NOTHING, SAID_MASTER, SAID_REPLICA } role_said_by_others; /* by others; with
                                   HF_REPLICATED, by itself */
    int master_index;           /* index of its master; -1: not known */
    char id[72];                /* in a cluster; "": not known */
    char master_id[72];
    char host[256];
    uint16_t port;
    char address[280];

    bool is_reached;
    char connect_error[HF_ERROR_TEXT_MAX]; /* why not */
    int protocol;
    const char *facts[DOCTOR_FACTS];       /* NULL: not seen */
    struct doctor_answer permissions[DOCTOR_PERMISSIONS];
    struct doctor_clock clock;
    struct doctor_cluster_view cluster_view;
    bool leads_to_several;      /* connections to its address lead to several processes */
};

struct doctor_facts {
    /* From the URL and the options. */
    int topology;               /* HF_STANDALONE, ... */
    int sharded;                /* HF_SHARDED_* */
    int replicas;               /* that must confirm a lock; HF_REPLICAS_* */
    int protocol;               /* the requested number */
    bool is_tracking;           /* tracking=on */
    bool is_tls;
    bool is_unverified;
    int64_t ttl_ms;             /* of the watchdog */
    const char *name;           /* a lock's, to try the ACL with; NULL: none */
    const struct hf_address_map *address_map; /* of addresses that servers announce; NULL: none */

    struct doctor_server *servers[DOCTOR_SERVERS_MAX];
    uint32_t servers_count;
    bool has_more_servers;      /* there are more */
};

/* doctor_facts_fini - frees the servers and their facts.
 * doctor_server_new - adds a server without facts. NULL: no memory, or there are
 *                     DOCTOR_SERVERS_MAX (has_more_servers is set).
 * doctor_fact_set   - stores a copy of `len` bytes as printable text, if the fact is unknown.
 *                     Without memory it remains unknown. */
void doctor_facts_fini(struct doctor_facts *facts);
struct doctor_server *doctor_server_new(struct doctor_facts *facts,
                                        const char *host, uint16_t port);
void doctor_fact_set(struct doctor_server *s, enum doctor_fact fact,
                     const char *ptr, size_t len);

/* doctor_fact_number - reads a fact that is a number. False: it is unknown, or not a number.
 * doctor_fact_is - returns whether the fact is that text; false if it is unknown.
 * doctor_is_master - returns whether the server reports that it is a master; otherwise whether
 *   others do. */
bool doctor_fact_number(const struct doctor_server *s, enum doctor_fact fact,
                        int64_t *out);
bool doctor_fact_is(const struct doctor_server *s, enum doctor_fact fact,
                    const char *text);
bool doctor_is_master(const struct doctor_server *s);

#endif
