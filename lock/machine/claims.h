/* Until when a hold is certain, as a pure machine. Its events: a command that may set the
 * TTL of the key is submitted; then it is answered, refused, or its outcome is unknown.
 * Private to lock/.
 *
 * The server keeps the TTL that the last executed command has set. The client often cannot
 * know which command that is: replies come late or never, and the server may execute a
 * command long after its call has ended. So each command that may be the last one is a
 * claim, and the hold is safe until the first claim ends.
 *
 * CLAIM-1  A command is a claim from the moment at which it is submitted. It ceases to be
 *          one when it is known that it was not executed, or that another command was
 *          executed later.
 * CLAIM-2  A claim ends at: time of sending + lease - drift. The server begins to count
 *          after the command was sent, so our clock reaches the end first.
 * CLAIM-3  The last command was executed after every command that was answered. So a claim
 *          counts from the latest sending that was answered, if that is later than its
 *          own.
 * CLAIM-4  A reply to command B ends the claim of command A if A's call had ended before B
 *          was submitted, and one of these is true: A was also answered; or both were sent
 *          on one stream (hf_request.stream), where A was executed before B or never will
 *          be. If both are answered on one stream, the command of the later reply was
 *          executed later.
 * CLAIM-5  An extension never shortens the TTL, whenever the server executes it. So it is not a
 *          claim before its reply, nor if its outcome is unknown. Its reply has the TTL that it
 *          left, and counts as a command that set this TTL.
 *
 * At most two commands of a hold are pending: a call of its owner, and a renewal.
 *
 * Sources: LEASE; REDLOCK "Safety arguments"; design 6, 11; faults 6. */
#ifndef HF_CLAIMS_H
#define HF_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

enum hf_claim_by { CLAIM_BY_CALL, CLAIM_BY_RENEWAL, CLAIM_BY_COUNT };

/* How a command was sent. A stream is one connection, or several connections of which each
 * is known to have ended on the server before the next one was used; 0: none. */
struct hf_sending {
    int64_t sent_ms;            /* time of the sending that was answered */
    uint64_t stream;            /* of the last sending */
    uint64_t unanswered_stream; /* of an earlier sending without a reply; HF_STREAM_MANY:
                                   of several; 0: there is none */
};
#define HF_STREAM_MANY UINT64_MAX

/* A command that is pending. */
struct hf_claim_sent {
    int64_t since_ms;           /* when it was submitted */
    int64_t lease_ms;           /* 0: none is pending */
    uint32_t step;              /* hf_claims.step at that time */
};

/* A command whose call has ended and whose outcome is unknown. */
struct hf_claim_unknown {
    int64_t since_ms;           /* when it was submitted */
    int64_t lease_ms;           /* 0: no claim */
    uint64_t stream;            /* where it was sent; or HF_STREAM_MANY */
    uint32_t step;              /* hf_claims.step when its call ended */
};

/* One for each stream: with replicas, a client usually has two to a server. Further claims
 * are merged into the last one. */
#define CLAIM_UNKNOWNS_MAX 2

struct hf_claims {
    int64_t end_ms;                /* the safe moment; INT64_MIN: never granted */
    int64_t lease_of_first_end_ms; /* the lease of the claim that ends first */
    int64_t proved_held_at_ms;     /* the latest sending that was answered */
    int64_t answered_lease_ms;     /* the lease of the last command that was answered */
    int64_t owner_lease_ms;        /* the same, without looks: the lease that the calls of the owner
                                      keep setting */
    uint64_t answered_stream;
    uint32_t answered_step;
    uint32_t step;                 /* counts submissions and ends of commands */
    uint32_t last_look_step;       /* `step` when the last look was submitted */
    uint32_t last_extend_step;     /* the same of the last extension */
    struct hf_claim_sent sent[CLAIM_BY_COUNT];
    struct hf_claim_unknown unknown[CLAIM_UNKNOWNS_MAX];
};

/* hf_claims_has_unknown - returns whether there is a claim whose outcome is unknown. For
 *   HF_ASSERT. */
bool hf_claims_has_unknown(const struct hf_claims *c);

/* hf_claims_drift_ms - returns the margin for clocks that run at different rates: a
 *   hundredth of the lease, and 2 ms. Source: REDLOCK "Safety arguments". */
int64_t hf_claims_drift_ms(int64_t lease_ms);

/* hf_claims_init - begins without any command. */
void hf_claims_init(struct hf_claims *c);

/* hf_claims_add - a command that sets the TTL to `lease_ms` (> 0) is submitted. The previous
 *   command of the same kind (`by`) must have ended. */
void hf_claims_add(struct hf_claims *c, enum hf_claim_by by, int64_t now_ms,
                  int64_t lease_ms);

/* hf_claims_answered - the server executed the pending command of that kind. This and the
 *   next two do nothing if no command of that kind is pending. */
void hf_claims_answered(struct hf_claims *c, enum hf_claim_by by,
                       const struct hf_sending *how);

/* hf_claims_unknown - it ended without a reply; the server may have executed it, or may still
 *   do so. If how->stream is 0, it was never sent and is not a claim. */
void hf_claims_unknown(struct hf_claims *c, enum hf_claim_by by,
                      const struct hf_sending *how);

/* hf_claims_refused - the server did not execute it and never will. */
void hf_claims_refused(struct hf_claims *c, enum hf_claim_by by);

/* hf_claims_are_settled - returns whether a command was answered, and no other one may be the
 *   last. */
bool hf_claims_are_settled(const struct hf_claims *c);

/* hf_claims_is_order_unknown - returns whether it is not known which of the last two commands that
 *   were answered was executed last, so that the shorter of their leases counts. */
bool hf_claims_is_order_unknown(const struct hf_claims *c);

/* hf_claims_restore - begins with such claims again, from the values of their members. */
void hf_claims_restore(struct hf_claims *c, int64_t proved_ms, int64_t answered_ms,
                       int64_t set_ms, uint64_t stream);

/* hf_claims_look_sent - a command that only reads the TTL is submitted. */
void hf_claims_look_sent(struct hf_claims *c);

/* hf_claims_look_answered - its reply was `ttl_ms` (> 0). This counts as if the command had set the
 *   TTL to ttl_ms, or to owner_lease_ms if that is less. */
void hf_claims_look_answered(struct hf_claims *c, const struct hf_sending *how,
                             int64_t ttl_ms);

/* hf_claims_extend - a command is submitted that extends the TTL to a lease, and never shortens
 *   it (CLAIM-5). */
void hf_claims_extend(struct hf_claims *c);

/* hf_claims_extended - its reply: the TTL is `ttl_ms` (> 0), at least `lease_ms`. What is more
 *   than lease_ms and owner_lease_ms does not count. */
void hf_claims_extended(struct hf_claims *c, const struct hf_sending *how,
                        int64_t ttl_ms, int64_t lease_ms);

#endif
