/* A round of asking for the map, as a pure machine: events and times go in,
 * what to do next comes out. It knows no server and no map. Private to net/.
 *
 *   quiet -due-> asking -nobody_left-> listening -> quiet
 *
 * ROUND-1  The next server is asked as soon as the one before has answered or
 *          failed, or has been silent for STAGGER_MS.
 * ROUND-2  The first answer with the map in force, or a better one, ends the
 *          round, even if that answer belongs to an earlier round.
 * ROUND-3  A worse map is adopted only if nobody can have a better one: every
 *          server has answered or failed, or a silent server has been silent
 *          for patience_ms.
 * ROUND-4  Silent servers hold nobody up. If nothing is heard for SILENCE_MS,
 *          and others have answered or failed, the round ends. The probes of
 *          the silent servers stay under way: a server that is merely far away
 *          must be heard some time.
 * ROUND-5  A round that ended for silence with a worse map, which was not
 *          adopted, is followed by another one: during a failover the servers
 *          may say something better at any moment.
 * ROUND-6  A round that goes on has a time at which it is due, unless nothing
 *          at all was heard: then each probe's own deadline is an event. */
#ifndef HF_ROUND_H
#define HF_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#define HF_ROUND_STAGGER_MS 100
#define HF_ROUND_SILENCE_MS 100
/* Before the round of ROUND-5; and a millisecond for each server that was
 * asked, so that a large cluster is asked less often. */
#define HF_ROUND_PAUSE_MS 100

struct hf_round {
    int64_t patience_ms;          /* set once: how long one may be silent */
    bool is_running;
    bool is_exhausted;            /* nobody is left to be asked */
    bool is_heard;                /* one has answered or failed */
    bool has_worse;               /* one has answered with a worse map */
    uint32_t under_way;           /* probes, of earlier rounds, too */
    uint32_t asked;               /* in this round */
    int64_t due_ms;               /* while it runs; HF_NEVER: not by time */
    int64_t silent_since_ms;      /* the first of the rounds in a row that ended
                                     by ROUND-5 did so; HF_NEVER: none */
};

enum hf_round_action {
    HF_ROUND_WAIT,
    HF_ROUND_ASK,                 /* the next; then hf_round_asked or _nobody_left */
    HF_ROUND_TAKE,                /* over: the answer's map is right */
    HF_ROUND_AGAIN,               /* over: nothing is adopted, and another round is
                                     due at due_ms */
    HF_ROUND_GIVE_UP              /* over: the best of the worse maps is adopted, if
                                     there is one */
};

enum hf_round_answer { HF_ROUND_SAME, HF_ROUND_BETTER, HF_ROUND_WORSE };

/* hf_round_init
 * hf_round_reset - no round runs, and none had silent servers. Probes stay.
 * hf_round_due   - begins a round, or its time has come.
 *
 * hf_round_asked       - a probe is under way.
 * hf_round_nobody_left - every server was asked in this round, or is still to
 *                        answer a probe of an earlier one.
 *
 * hf_round_probe_ended - before each answer and failure, and alone if it was
 *                        cancelled.
 * hf_round_answered    - TAKE, or WAIT until due_ms; so, too, while no round
 *                        runs: then a worse map is of no use.
 * hf_round_failed      - a probe did. WAIT until due_ms. */
void hf_round_init(struct hf_round *r, int64_t patience_ms);
void hf_round_reset(struct hf_round *r);
enum hf_round_action hf_round_due(struct hf_round *r, int64_t now_ms);
void hf_round_asked(struct hf_round *r, int64_t now_ms);
void hf_round_nobody_left(struct hf_round *r, int64_t now_ms);
void hf_round_probe_ended(struct hf_round *r);
enum hf_round_action hf_round_answered(struct hf_round *r, int64_t now_ms,
                                       enum hf_round_answer answer);
void hf_round_failed(struct hf_round *r, int64_t now_ms);

#endif
