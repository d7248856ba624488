/* Whether a caller that waits for a reply looks for it for a while before it
 * sleeps, and for how long. A plain computation: the loop looks and sleeps.
 * Private to net/.
 *
 * Where a processor is woken late, both sides of a connection pay: the client
 * sleeps because the server was woken late, and the server because the client
 * was. A client that looks for a reply again and again keeps both awake, but
 * one look alone finds nothing: that server is asleep. So looking and sleeping
 * are two regimes, and whole bursts of either are compared:
 *
 * SPIN-1  One regime is in use. Now and then some waits of it are measured,
 *         then as many of the other. The first waits of the other are not
 *         counted.
 * SPIN-2  A command costs its share of the time, twice, and of the processor
 *         time of the waits. The regime that costs clearly less, in several
 *         comparisons in a row, is used from then on. Time between the waits
 *         counts: a server on our processor runs while we write, before other
 *         callers add their commands; each look finds a reply at once, and
 *         there are fewer of them.
 * SPIN-3  Each comparison that confirms the regime doubles the number of waits
 *         until the next, up to a limit. Each look in vain brings it nearer.
 * SPIN-4  A look takes no longer than a sleep was measured to take, and
 *         SPIN_MAX_US at most: it wastes no more than the sleep that it is to
 *         save. Looking that finds little ends at once, in a trial and in use.
 * SPIN-5  Sleeping may seem cheap as long as looking has kept both sides awake.
 *         Each return to looking doubles the number of comparisons that
 *         sleeping must win.
 * SPIN-6  With one processor nobody looks, and nothing is measured. */
#ifndef HF_SPIN_H
#define HF_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* The bounds of SPIN-4: the longest look, and the shortest one, because a round trip takes
 * longer than a shorter one. */
#define SPIN_MAX_US 200
#define SPIN_MIN_US 10

enum hf_spin_regime { SPIN_SLEEP, SPIN_LOOK, SPIN_REGIMES };

/* STEADY -> OWN -> SETTLE -> OTHER -> STEADY, or once more from OWN
 *
 * STEADY: the regime is in use. OWN: in use, and measured. SETTLE: the other is
 * begun. OTHER: that is measured. */
enum hf_spin_phase { SPIN_STEADY, SPIN_OWN, SPIN_SETTLE, SPIN_OTHER };

struct hf_spin {
    bool is_possible;            /* there is a processor for the other side */
    enum hf_spin_regime regime;
    enum hf_spin_phase phase;
    uint32_t left;               /* waits until the phase is over */
    uint32_t steady;             /* waits of the next steady phase */
    uint32_t wins;               /* of the other regime, in a row */
    uint32_t wins_to_sleep;      /* that end the looking */
    uint32_t slept_us;           /* a wait by sleeping, on average */
    struct hf_spin_tally {       /* of this comparison */
        uint32_t waits;
        uint32_t found;          /* by looking */
        uint64_t answered;
        uint64_t us;
        uint64_t cpu_us;
    } tally[SPIN_REGIMES];
};

/* How to wait this time. */
struct hf_spin_plan {
    uint32_t look_us;            /* 0: sleep at once */
    bool is_measured;            /* hf_spin_note needs all of the wait */
};

/* How it went. */
struct hf_spin_wait {
    bool is_found;               /* by looking */
    uint32_t answered;           /* callers that got their answer by it */
    int64_t us;                  /* how long it took; if measured */
    int64_t between_us;          /* since the wait before; if both are measured */
    int64_t cpu_us;              /* the thread's processor time; if measured */
};

/* hf_spin_init - for so many processors.
 * hf_spin_plan - for the next wait.
 * hf_spin_note - how that wait went; once after each plan that looks or is
 *                measured. */
void hf_spin_init(struct hf_spin *spin, long processors);
struct hf_spin_plan hf_spin_plan(struct hf_spin *spin);
void hf_spin_note(struct hf_spin *spin, struct hf_spin_plan plan,
                  const struct hf_spin_wait *wait);

#endif
