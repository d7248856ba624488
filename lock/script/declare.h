/* Declaring keys that scripts derive. Private to lock/.
 *
 * Some servers (Dragonfly) refuse keys that are not among those which the request declares.
 * After the first refusal a client also declares the keys that scripts derive. The queue of a
 * fair lock has a known name. The keys of read holds (WIRE 12) depend on the holds of other
 * owners, so the client lists the holds first:
 *
 *   EVAL hold_keys.lua      {owner, field, first hold, last hold, ...}
 *   EVALSHA the script      with these keys after its own, which it ignores
 *
 * DECLARE-1  The holds may change between these two requests. Then the script needs a key that was not
 *            declared: it is refused, and a release or acquire has changed nothing, a renewal
 *            at most the TTL of the lock. The holds are listed again, until the deadline.
 * DECLARE-2  A server that refuses nothing receives one request, without these keys. */
#ifndef HF_DECLARE_H
#define HF_DECLARE_H

#include "resp/resp.h"

/* Of a client. */
struct hf_declaring {
    const struct hf_mem *mem;
    bool is_needed;               /* a server has refused keys that were not declared */
};

/* The keys that a script derives. */
enum hf_derived {
    HF_DERIVES_NONE,
    HF_DERIVES_QUEUE,             /* the queue of a fair lock */
    HF_DERIVES_PLACES,            /* the queue, and until when its places are valid */
    HF_DERIVES_OWN,               /* the hold keys of the owner; from here on holds are
                                     listed */
    HF_DERIVES_ALL,               /* the hold keys of all owners */
};

/* A request for which keys are declared. All is borrowed. */
struct hf_declares {
    const struct hf_resp_arg *argv;
    size_t argc;
    size_t first_key, keys;       /* where its own keys are; the first is the lock */
    struct hf_resp_arg owner;     /* its field */
    struct hf_resp_arg count;     /* the hold count to reach; "": none */
    enum hf_derived derives;
};

/* Arguments in memory of their own. */
struct hf_declared;

/* hf_declared_list - returns the arguments of the request that lists the holds; NULL: no
 *                    memory.
 * hf_declared_new  - returns the arguments of the request, with the derived keys; NULL: no
 *                    memory. `reply` lists the holds, if they are needed; else it is {0}.
 * hf_declared_argv - returns the arguments, and sets their number.
 * hf_declared_free - frees them. NULL is allowed. */
struct hf_declared *hf_declared_list(const struct hf_declaring *declaring,
                                     const struct hf_declares *request) HF_MUST_CHECK;
struct hf_declared *hf_declared_new(const struct hf_declaring *declaring,
                                    const struct hf_declares *request,
                                    struct hf_resp_value reply) HF_MUST_CHECK;
struct hf_resp_arg *hf_declared_argv(struct hf_declared *declared, size_t *argc);
void hf_declared_free(struct hf_declared *declared);

#endif
