/* How long this process did not run. See stops.h. */
/* Tests: tests/test_cli_run_state.c, tests/live/cli/test_run_guard.c. */
#include "cli/run/stops.h"

#include "net/net.h"

/* A renewal is sent after a third of the time for which the last one is safe, and the
 * stop signal comes after half of it or later. A stop that leaves no time between the
 * two is longer than a twelfth; a busy machine makes shorter delays. */
#define SPAN_PARTS 12
#define LEAST_MS 20
#define LATE_PART_OF_BEAT 4     /* of that: shorter delays are not counted */
#define MOST_MS 200             /* of a fixed lease, whose length says nothing */

void cli_stops_init(struct cli_stops *s)
{
    *s = (struct cli_stops){.next_check_ms = HF_NEVER, .expected_ms = HF_NEVER};
}

static int64_t least_suspension_ms(const struct cli_stops *s)
{
    return s->safe_span_ms / SPAN_PARTS > LEAST_MS ? s->safe_span_ms / SPAN_PARTS : LEAST_MS;
}

void cli_stops_record(struct cli_stops *s, int64_t now_ms)
{
    s->late_ms = now_ms > s->expected_ms ? now_ms - s->expected_ms : 0;
    if (s->late_ms > least_suspension_ms(s) / LATE_PART_OF_BEAT)
        s->suspended_ms += s->late_ms;
}

void cli_stops_renewed(struct cli_stops *s, int64_t span_ms)
{
    s->suspended_ms = 0;
    s->safe_span_ms = span_ms;
}

void cli_stops_set_next(struct cli_stops *s, int64_t next_ms)
{
    s->expected_ms = next_ms < s->next_check_ms ? next_ms : s->next_check_ms;
}

bool cli_stops_matter(const struct cli_stops *s, bool is_renewed)
{
    if (is_renewed)
        return s->suspended_ms >= least_suspension_ms(s);
    return s->late_ms >= (least_suspension_ms(s) < MOST_MS ? least_suspension_ms(s) : MOST_MS);
}
