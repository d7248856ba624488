/* Declares the keys that scripts derive. Private to lock/.
 *
 * Some servers (Dragonfly) refuse keys that the request does not declare. After the first
 * refusal a client also declares the keys that scripts derive. The queue of a fair lock has a
 * known name. The keys of read holds (WIRE 12) depend on the holds of other owners, so the
 * client lists the holds first:
 *
 *   1. EVAL hold_keys.lua   replies {owner, field, first hold, last hold, ...}
 *   2. EVALSHA the script   with the keys of these holds after its own keys. The script does
 *                           not read them
 *
 * DECLARE-1  The holds may change between these two requests. Then the script needs a key that
 *            was not declared, and the server refuses it. A release or an acquire has changed
 *            nothing, and a renewal at most the TTL of the lock. The holds are listed again,
 *            until the deadline.
 * DECLARE-2  As long as no server has refused a key, the client sends one request, without
 *            these keys. */
#ifndef HF_DECLARE_H
#define HF_DECLARE_H

#include "resp/resp.h"

/* One for each client. */
struct hf_declare_state {
    const struct hf_mem *mem;
    bool must_declare;            /* a server has refused keys that were not declared */
};

/* The keys that a script derives. */
enum hf_derived {
    HF_DERIVES_NONE,
    HF_DERIVES_QUEUE,             /* the queue of a fair lock */
    HF_DERIVES_PLACES,            /* the queue, and the key with the ends of its places */
    HF_DERIVES_OWN,               /* the hold keys of the owner. This and the next one
                                     need the list of holds */
    HF_DERIVES_ALL,               /* the hold keys of all owners */
};

/* A request for which keys are declared. All pointers are borrowed. */
struct hf_declare_request {
    const struct hf_resp_arg *argv;
    size_t argc;
    size_t first_key, keys_count;         /* where its own keys are; the first is the lock */
    struct hf_resp_arg owner_field;       /* the owner's field in the lock's hash */
    struct hf_resp_arg wanted_hold_count; /* the hold count to reach; "": none */
    enum hf_derived derived_keys;
};

/* The arguments of a request, and the texts of the derived keys, in one allocation. */
struct hf_declared_args;

/* hf_declared_args_for_listing - returns the arguments of the request that lists the holds; NULL:
 *   no memory. */
struct hf_declared_args *hf_declared_args_for_listing(const struct hf_declare_state *state,
                                                      const struct hf_declare_request *request)
    HF_MUST_CHECK;

/* hf_declared_args_new - returns the arguments of the request, with the derived keys; NULL: no
 *   memory. `reply` is that of hf_declared_args_for_listing, or {0} if the derived keys do not need
 *   it. */
struct hf_declared_args *hf_declared_args_new(const struct hf_declare_state *state,
                                              const struct hf_declare_request *request,
                                              struct hf_resp_value reply) HF_MUST_CHECK;

/* hf_declared_args_argv - returns the arguments, and their number in *argc. */
struct hf_resp_arg *hf_declared_args_argv(struct hf_declared_args *declared, size_t *argc);

/* hf_declared_args_free - frees the arguments. NULL is allowed. */
void hf_declared_args_free(struct hf_declared_args *declared);

#endif
