/* The push that confirms SUBSCRIBE, UNSUBSCRIBE or a similar command (CONN-7). Pure. Private
 * to net/. */
#ifndef HF_SUBSCRIBE_PUSH_H
#define HF_SUBSCRIBE_PUSH_H

#include "net/link/request.h"

/* It belongs to the place of the request in the connection's queue, because the request may
 * be cancelled before the push arrives. */
struct hf_subscribe_push {
    struct hf_request *request;   /* NULL: cancelled */
    uint32_t pushes_awaited;      /* pushes to await: 2 if the command names the channel twice
                                     (CONN-9) */
    uint32_t kind_len;
    uint32_t channel_len;
    char kind_and_channel[];      /* kind, channel */
};

/* hf_subscribe_push_new - creates the confirmation of this command: a push with the command's
 *   name and channel. NULL: no memory. */
struct hf_subscribe_push *hf_subscribe_push_new(const struct hf_mem *mem,
                                                struct hf_request *request,
                                                const struct hf_resp_arg *argv,
                                                size_t argc);

/* hf_subscribe_push_free - frees it. */
void hf_subscribe_push_free(const struct hf_mem *mem, struct hf_subscribe_push *x);

/* hf_subscribe_push_matches - returns whether this push is the confirmation. */
bool hf_subscribe_push_matches(const struct hf_subscribe_push *x,
                               struct hf_resp_value push);

#endif
