/* Until when a hold is certain to be ours, as a pure machine. Its events: a
 * command that may set the key's TTL is handed out; then it is answered,
 * refused, or its outcome is unknown. Private to lock/.
 *
 * The server keeps the TTL of the command that it executed last. The client
 * often cannot know which one that is: answers come late or never, and the
 * server may execute a command long after its call has ended. So each command
 * that may be the last one is a claim, and the hold is safe until the first
 * claim ends.
 *
 * CLAIM-1  A command is a claim from the moment it is handed out. It is one no
 *          longer when it is known that it was not executed, or that another
 *          command was executed later.
 * CLAIM-2  A claim ends at its sending + its lease - drift: the server begins
 *          to count after we sent, so our clock runs out first.
 * CLAIM-3  The last command was executed after every command that was answered.
 *          So a claim counts from the latest sending that was answered, if that
 *          is later than its own.
 * CLAIM-4  An answer to command B ends the claim of command A, if A's call had
 *          ended before B was handed out and one of these holds: A was
 *          answered, too; or both were sent on one stream (hf_request.stream),
 *          where A was executed before B or never will be. If both are answered
 *          on one stream, the later answer is of the command that was executed
 *          later.
 *
 * At most two commands of a hold are under way: a call of its owner, and a
 * renewal.
 *
 * Sources: LEASE; REDLOCK "Safety arguments"; design 6, 11; faults 6. */
#ifndef HF_CLAIMS_H
#define HF_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

enum hf_claim_by { CLAIM_BY_CALL, CLAIM_BY_RENEWAL, CLAIM_BYS };

/* How a command was sent. A stream is one connection, or several of which each
 * is known to have ended on the server before the next one was used; 0:
 * none. */
struct hf_sending {
    int64_t sent_ms;            /* the sending that was answered */
    uint64_t stream;            /* of the last sending */
    uint64_t stray;             /* of an earlier one that had no answer;
                                   HF_STREAM_MANY: of several; 0: none */
};
#define HF_STREAM_MANY UINT64_MAX

struct hf_claim_asked {
    int64_t since_ms;
    int64_t lease_ms;           /* 0: nothing is under way */
    uint32_t step;              /* when it was handed out */
};

struct hf_claim_unknown {
    int64_t since_ms;
    int64_t lease_ms;           /* 0: no claim */
    uint64_t stream;            /* where it was sent; HF_STREAM_MANY */
    uint32_t step;              /* when its call ended */
};

/* One for each stream: a client usually has two to a server, with replicas.
 * Claims beyond that are merged. */
#define CLAIM_UNKNOWNS 2

struct hf_claims {
    int64_t end_ms;             /* INT64_MIN: never granted */
    int64_t shortest_ms;        /* the lease of the claim that ends first */
    int64_t proved_ms;          /* the latest sending that was answered */
    int64_t answered_ms;        /* the lease of what was answered last */
    int64_t set_ms;             /* the lease of the last answer that was not a
                                   look: what the owner's calls set again */
    uint64_t answered_stream;
    uint32_t answered_step;
    uint32_t step;              /* handings out and ends, counted */
    uint32_t look_step;         /* when the last look was handed out */
    struct hf_claim_asked asked[CLAIM_BYS];
    struct hf_claim_unknown unknown[CLAIM_UNKNOWNS];
};

/* hf_claims_drift_ms - the margin for clocks that run at different rates: a
 * hundredth of the lease and 2 ms. Source: REDLOCK "Safety arguments". */
int64_t hf_claims_drift_ms(int64_t lease_ms);

/* hf_claims_init     - no command has been handed out.
 * hf_claims_add      - a command is handed out that sets the TTL to `lease_ms`.
 *                     The one before it of the same kind (`by`) must have
 *                     ended.
 * hf_claims_answered - it was executed.
 * hf_claims_unknown  - it ended without an answer; the server may have executed
 *                     it, or may execute it later. With how->stream 0 it was
 *                     never sent, and is no claim.
 * hf_claims_refused  - it was not executed, and never will be.
 * hf_claims_look     - a command is handed out that only reads the key's TTL.
 * hf_claims_looked   - that was `ttl_ms` (> 0): as if the command had set it,
 *                     or set_ms, if that is less.
 *   The three before these three do nothing if no command of that kind is under way. */
void hf_claims_init(struct hf_claims *c);
void hf_claims_add(struct hf_claims *c, enum hf_claim_by by, int64_t now_ms,
                  int64_t lease_ms);
void hf_claims_answered(struct hf_claims *c, enum hf_claim_by by,
                       const struct hf_sending *how);
void hf_claims_unknown(struct hf_claims *c, enum hf_claim_by by,
                      const struct hf_sending *how);
void hf_claims_refused(struct hf_claims *c, enum hf_claim_by by);
void hf_claims_look(struct hf_claims *c);
void hf_claims_looked(struct hf_claims *c, const struct hf_sending *how,
                      int64_t ttl_ms);

#endif
