/* Whether a caller that waits for a reply looks for it for a while before it
 * sleeps, and for how long. A plain computation: the loop does the looking and
 * the sleeping. Private to net/.
 *
 * A reply from a server nearby comes within some 15 us; where there are several
 * processors, to sleep and be woken takes 25 us or more (performance.md, 6 and
 * 10.10). Where the server waits for the very processor on which we look, or is
 * far away, looking only burns time. So both are tried, and the quicker is used:
 *
 * S1  What either takes is averaged. A look that found nothing counts as long as
 *     the wait took in the end, and its own time on top, for it was in vain.
 * S2  The one that is not preferred is tried again now and then, seldom enough
 *     to cost nothing.
 * S3  The budget of a look is twice the average of a wait by looking, at most
 *     SPIN_MAX_US: a rare long wait costs no more. */
#ifndef HF_SPIN_H
#define HF_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define SPIN_MAX_US 50
#define SPIN_MIN_US 10

struct hf_spin {
    bool is_possible;     /* there is a processor for the other side */
    uint32_t turn;
    uint32_t looked;      /* averages, in eighths of a microsecond */
    uint32_t slept;
};

/* How to wait this time. */
struct hf_spin_plan {
    uint32_t look_us;     /* 0: sleep at once */
    bool is_measured;     /* hf_spin_note is to be told how it went */
};

/* hf_spin_init - for so many processors.
 * hf_spin_plan - for the next wait.
 * hf_spin_note - how long the wait took in all, and whether looking (if that
 *                was planned) found what was waited for. */
void hf_spin_init(struct hf_spin *spin, long processors);
struct hf_spin_plan hf_spin_plan(struct hf_spin *spin);
void hf_spin_note(struct hf_spin *spin, struct hf_spin_plan plan,
                  bool is_found, int64_t took_us);

#endif
