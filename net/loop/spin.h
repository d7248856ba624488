/* Whether a caller that waits for a reply polls for a while before it sleeps, and for how long.
 * A plain computation: the loop polls and sleeps. Private to net/.
 *
 * If processors wake up late, both sides of a connection wait for each other: the client sleeps
 * because the server woke up late, and the server sleeps because the client did. A client that
 * polls all the time keeps both awake, but a single poll finds nothing, because the server still
 * sleeps. So polling ("look") and sleeping are two regimes, and whole series of waits are
 * compared:
 *
 * SPIN-1  One regime is in use. From time to time some of its waits are measured, then as many
 *         waits of the other. The first waits of the other regime are not counted.
 * SPIN-2  The cost of a command is twice its share of the time, and its share of the processor
 *         time of the waits. The regime that costs clearly less, in several comparisons in a
 *         row, is used from then on. The time between waits counts: a server on the same
 *         processor runs while the client writes, before other callers add their commands; then
 *         each look finds a reply at once, but with fewer commands.
 * SPIN-3  Each comparison that confirms the regime doubles the number of waits until the next
 *         comparison, up to a limit. Each look that finds nothing reduces it.
 * SPIN-4  A look takes no longer than a sleep was measured to take, and SPIN_MAX_US at most, so
 *         it wastes no more time than the sleep that it replaces. Looking ends at once if it
 *         finds little, in a comparison and in use.
 * SPIN-5  Sleeping may seem cheap while looking has kept both sides awake. Each return to
 *         looking doubles the number of comparisons that sleeping must win.
 * SPIN-6  With one processor, no caller looks, and nothing is measured. */
#ifndef HF_SPIN_H
#define HF_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* The bounds of SPIN-4: the longest look, and the shortest one, because a round trip takes
 * longer than a shorter one. */
#define SPIN_MAX_US 200
#define SPIN_MIN_US 10

enum hf_spin_regime { SPIN_SLEEP, SPIN_LOOK, SPIN_REGIMES };

/* STEADY -> MEASURE_OWN -> SETTLE -> MEASURE_OTHER -> STEADY, or once more from MEASURE_OWN
 *
 * STEADY: the regime is in use. MEASURE_OWN: it is in use and measured. SETTLE: the other
 * regime is used, but not measured yet. MEASURE_OTHER: the other regime is measured. */
enum hf_spin_phase { SPIN_STEADY, SPIN_MEASURE_OWN, SPIN_SETTLE, SPIN_MEASURE_OTHER };

struct hf_spin {
    bool is_possible;            /* there is a processor for the other side */
    enum hf_spin_regime regime;
    enum hf_spin_phase phase;
    uint32_t phase_waits_left;   /* waits until the phase ends */
    uint32_t steady_waits;       /* waits of the next steady phase */
    uint32_t wins_in_a_row;      /* comparisons that the other regime has won in a row */
    uint32_t wins_to_sleep;      /* wins of sleeping that end looking */
    uint32_t average_sleep_us;   /* the average duration of a sleep */
    struct hf_spin_tally {       /* sums of this comparison */
        uint32_t waits_count;
        uint32_t found_by_looking; /* by looking */
        uint64_t callers_answered;
        uint64_t duration_us;
        uint64_t cpu_us;
    } tally[SPIN_REGIMES];
};

/* How to wait this time. */
struct hf_spin_plan {
    uint32_t look_us;            /* 0: sleep at once */
    bool is_measured;            /* hf_spin_note needs all of the wait */
};

/* How a wait went. */
struct hf_spin_result {
    bool is_found_by_looking;    /* by looking */
    uint32_t callers_answered;   /* callers that received their reply */
    int64_t duration_us;         /* its duration; if measured */
    int64_t between_us;          /* since the wait before; if both are measured */
    int64_t cpu_us;              /* the thread's processor time; if measured */
};

/* hf_spin_init - begins with SPIN_SLEEP, on a machine with this number of processors.
 * hf_spin_plan - returns how the next wait must be done.
 * hf_spin_note - takes how that wait went. It is called once after each plan that looks or is
 *                measured. */
void hf_spin_init(struct hf_spin *spin, long processors);
struct hf_spin_plan hf_spin_plan(struct hf_spin *spin);
void hf_spin_note(struct hf_spin *spin, struct hf_spin_plan plan,
                  const struct hf_spin_result *wait);

#endif
