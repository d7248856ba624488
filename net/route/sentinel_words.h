/* What sentinels say, and what a server says of its own role. Pure. Private to
 * net/.
 *
 * Whatever a sentinel says is a hint: the server at the address that it gives
 * is asked for its ROLE before it is believed to be the master (S3, S5). */
#ifndef HF_SENTINEL_WORDS_H
#define HF_SENTINEL_WORDS_H

#include "net/base/endpoint.h"

/* All below: *out is left alone unless HF_OK.
 * HF_E_SERVER    an error reply: not a sentinel, not allowed
 * HF_E_PROTOCOL  not the shape, an address that is none */

/* hf_sentinel_master_read - the reply to SENTINEL GET-MASTER-ADDR-BY-NAME.
 *   HF_E_INVAL: this sentinel does not know the name (null) (S2). */
hf_status hf_sentinel_master_read(struct hf_endpoint *out,
                                  struct hf_resp_value reply,
                                  struct hf_error *err) HF_MUST_CHECK;

/* More than anybody runs: a sentinel's list is bounded by this (S14). */
#define HF_SENTINELS_MAX 32

struct hf_sentinel_list {
    uint32_t count;
    struct hf_endpoint each[HF_SENTINELS_MAX];
};

/* hf_sentinel_list_read - the reply to SENTINEL SENTINELS name: all that this
 *   sentinel knows, itself not among them; RESP2's flat arrays or RESP3's maps.
 *   Each address once; what is behind HF_SENTINELS_MAX of them is not read.
 *   An unknown name is HF_E_SERVER here. */
hf_status hf_sentinel_list_read(struct hf_sentinel_list *out,
                                struct hf_resp_value reply,
                                struct hf_error *err) HF_MUST_CHECK;

struct hf_role {
    enum { HF_ROLE_MASTER, HF_ROLE_REPLICA, HF_ROLE_SENTINEL } kind;
    uint32_t replicas;          /* of a master: connected ones */
    struct hf_endpoint master;   /* of a replica */
    bool is_linked;             /* a replica that has its master's data */
};

/* hf_role_read - the reply to ROLE. */
hf_status hf_role_read(struct hf_role *out, struct hf_resp_value reply,
                       struct hf_error *err) HF_MUST_CHECK;

struct hf_switch_master {
    struct hf_text name;        /* borrowed: part of the message */
    struct hf_endpoint from;
    struct hf_endpoint to;
};

/* hf_switch_master_read - the message of channel +switch-master: "name old-host
 *   old-port new-host new-port". false: it is none. */
bool hf_switch_master_read(struct hf_switch_master *out,
                           struct hf_text message);

#endif
