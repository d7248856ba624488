/* A discovery round, as a pure machine: servers are queried for the map until one
 * returns a good one. It receives events and times and returns the next action; it
 * knows no server and no map. Private to net/.
 *
 *   quiet      -begin-> querying               hf_round_step, at due_ms
 *   querying   -hf_round_nobody_left-> listening
 *   either     -end_round-> quiet              a good reply, or the silence has lasted
 *   listening  -again-> quiet                  and due again (ROUND-5)
 *   any        -hf_round_reset-> quiet
 *
 * What is true in each state (round_ok):
 * quiet      it is due only if a round ended by ROUND-5
 * querying   it is due: the next server is queried
 * listening  no server is left to query; it is due, unless nothing was received at all
 *
 * ROUND-1  The next server is queried as soon as the previous one has replied or
 *          failed, or has been silent for stagger_ms.
 * ROUND-2  The first reply that contains the map in force, or a better one, ends the
 *          round, even if the reply belongs to an earlier round. It does not where
 *          ANNOUNCED-2, ANNOUNCED-4 or DISCOVER-9 says so.
 * ROUND-3  A worse map is adopted only if no server can have a better one: every
 *          server has replied or failed, or a silent server has been silent for
 *          patience_ms. It is also adopted after SILENCE_MS if it is SETTLED: the caller
 *          knows that no reply of a silent server can provide a better one.
 * ROUND-4  Silent servers delay nothing. If nothing is received for SILENCE_MS, and
 *          others have replied or failed, the round ends. The probes of the silent
 *          servers remain pending, so that a distant server is heard at last.
 * ROUND-5  A round that ended because of silence, with a worse map that was not
 *          adopted, is followed by another one: during a failover the servers may
 *          report a better map at any moment. The pause doubles with each of them in a
 *          row, from HF_ROUND_PAUSE_MS to HF_ROUND_PAUSE_MAX_MS, and ends when
 *          patience_ms has passed.
 * ROUND-6  A running round has a time at which it is due, unless nothing was received
 *          at all: in that case each probe's deadline is an event. */
#ifndef HF_ROUND_H
#define HF_ROUND_H

#include <stdbool.h>
#include <stdint.h>

/* Longer than a round trip in one region, so that usually one server is queried, and
 * short beside a failover. Chosen. */
#define HF_ROUND_STAGGER_MS 100
#define HF_ROUND_SILENCE_MS 100
/* The pause before the round of ROUND-5. One millisecond is added for each queried
 * server, so that a large cluster is queried less often. */
#define HF_ROUND_PAUSE_MS 100
#define HF_ROUND_PAUSE_MAX_MS 1000

struct hf_round {
    int64_t patience_ms;          /* ROUND-3; set once */
    int64_t stagger_ms;           /* ROUND-1; set once. 0: all servers are queried at once */
    bool is_running;
    bool are_all_queried;         /* no further server can be queried */
    bool has_reply_or_failure;    /* a server has replied or failed */
    bool has_worse_map;           /* a server has returned a worse map */
    bool is_settled;              /* the last worse map was HF_ROUND_SETTLED */
    uint32_t pending_probes;      /* pending probes, of earlier rounds also */
    uint32_t retried_rounds;      /* successive rounds that ended by ROUND-5 */
    uint32_t queried_servers;     /* servers that were queried in this round */
    int64_t due_ms;               /* while it runs; HF_NEVER: no time is set */
    int64_t silent_since_ms;      /* the end of the first of successive rounds that ended by
                                     ROUND-5; HF_NEVER: none */
};

enum hf_round_action {
    HF_ROUND_WAIT,
    HF_ROUND_QUERY,               /* query the next server; hf_round_queried or
                                     hf_round_nobody_left must follow */
    HF_ROUND_ADOPT,               /* the round has ended: adopt the map of the reply */
    HF_ROUND_RETRY,               /* the round has ended without a map; another one is
                                     due at due_ms */
    HF_ROUND_ADOPT_BEST           /* the round has ended: adopt the best of the worse
                                     maps, if there is one */
};

enum hf_round_answer {
    HF_ROUND_SAME,
    HF_ROUND_BETTER,
    HF_ROUND_WORSE,
    HF_ROUND_SETTLED              /* as WORSE, but no silent server can have a better map
                                     (ROUND-3) */
};

/* hf_round_init - no round runs. */
void hf_round_init(struct hf_round *r, int64_t patience_ms, int64_t stagger_ms);

/* hf_round_reset - ends the round, and forgets that earlier rounds had silent servers.
 *   Pending probes remain. */
void hf_round_reset(struct hf_round *r);

/* hf_round_step - begins a round if none runs, and returns the next action. Call it at due_ms. */
enum hf_round_action hf_round_step(struct hf_round *r, int64_t now_ms);

/* hf_round_queried - a probe was sent, after HF_ROUND_QUERY. */
void hf_round_queried(struct hf_round *r, int64_t now_ms);

/* hf_round_nobody_left - after HF_ROUND_QUERY: every server was queried in this round, or
 *   has not replied to a probe of an earlier one. */
void hf_round_nobody_left(struct hf_round *r, int64_t now_ms);

/* hf_round_probe_ended - a probe ended. Precedes hf_round_answered or hf_round_failed; a
 *   cancelled probe is reported by this alone. */
void hf_round_probe_ended(struct hf_round *r);

/* hf_round_answered - a probe had a reply. Returns ADOPT, or WAIT until due_ms. While no
 *   round runs, a worse map is ignored. */
enum hf_round_action hf_round_answered(struct hf_round *r, int64_t now_ms,
                                       enum hf_round_answer answer);

/* hf_round_failed - a probe failed. The round waits until due_ms. */
void hf_round_failed(struct hf_round *r, int64_t now_ms);

#endif
