/* The push that answers SUBSCRIBE or one of its kin (CONN-7). Pure. Private to
 * net/. */
#ifndef HF_CONFIRMATION_H
#define HF_CONFIRMATION_H

#include "net/link/request.h"

/* The place's own: the request may be given up before the push comes. */
struct hf_confirmation {
    struct hf_request *request;   /* NULL: given up */
    uint32_t pushes;              /* to come: 2 if the channel is named twice
                                     (CONN-9) */
    uint32_t kind_len;
    uint32_t channel_len;
    char text[];                  /* kind, channel */
};

/* hf_confirmation_new  - of this command: the push has its name and its
 *                        channel. NULL: no memory.
 * hf_confirmation_free - takes it.
 * hf_confirmation_is   - is it this push? */
struct hf_confirmation *hf_confirmation_new(const struct hf_mem *mem,
                                            struct hf_request *request,
                                            const struct hf_resp_arg *argv,
                                            size_t argc);
void hf_confirmation_free(const struct hf_mem *mem, struct hf_confirmation *x);
bool hf_confirmation_is(const struct hf_confirmation *x,
                        struct hf_resp_value push);

#endif
