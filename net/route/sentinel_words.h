/* Parses the replies and messages of sentinels, and the reply to ROLE. Pure. Private to
 * net/.
 *
 * The reply of a sentinel is a hint: the named server is used as the master only after it
 * has reported this role itself (S3, S5). */
#ifndef HF_SENTINEL_WORDS_H
#define HF_SENTINEL_WORDS_H

#include "net/base/endpoint.h"

/* All functions below leave *out unchanged unless they return HF_OK.
 * HF_E_SERVER    an error reply: not a sentinel, or not permitted
 * HF_E_PROTOCOL  another form of reply, or an invalid address */

/* hf_sentinel_master_read - parses the reply to SENTINEL GET-MASTER-ADDR-BY-NAME.
 *   HF_E_INVAL: this sentinel does not know the name (null) (S2). */
hf_status hf_sentinel_master_read(struct hf_endpoint *out,
                                  struct hf_resp_value reply,
                                  struct hf_error *err) HF_MUST_CHECK;

/* The maximum of a sentinel's list, more than any deployment uses (S14). */
#define HF_SENTINELS_MAX 32

struct hf_sentinel_list {
    uint32_t count;
    struct hf_endpoint sentinels[HF_SENTINELS_MAX];
};

/* hf_sentinel_list_read - parses the reply to SENTINEL SENTINELS name, which lists the
 *   other sentinels that this one knows, as flat arrays (RESP2) or maps (RESP3). Each
 *   address is stored once; addresses after the first HF_SENTINELS_MAX are not read. An
 *   unknown name is HF_E_SERVER here. */
hf_status hf_sentinel_list_read(struct hf_sentinel_list *out,
                                struct hf_resp_value reply,
                                struct hf_error *err) HF_MUST_CHECK;

struct hf_role {
    enum { HF_ROLE_MASTER, HF_ROLE_REPLICA, HF_ROLE_SENTINEL } kind;
    uint32_t connected_replicas; /* of a master: the number of connected replicas */
    int64_t offset;              /* of a master: its replication offset; 0: unknown */
    struct hf_endpoint master;   /* of a replica */
    bool has_data_of_master;    /* a replica that has its master's data */
};

/* hf_role_read - parses the reply to ROLE. */
hf_status hf_role_read(struct hf_role *out, struct hf_resp_value reply,
                       struct hf_error *err) HF_MUST_CHECK;

struct hf_switch_master {
    struct hf_text master_name; /* borrowed: part of the message */
    struct hf_endpoint old_master;
    struct hf_endpoint new_master;
};

/* hf_switch_master_read - parses a message of the channel +switch-master: "name old-host
 *   old-port new-host new-port". Returns false if it has another form. */
bool hf_switch_master_read(struct hf_switch_master *out,
                           struct hf_text message);

#endif
