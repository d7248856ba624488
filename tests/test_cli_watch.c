/* What `holdfast watch` makes of two looks at a lock. */
#include "cli/lock/watch_events.h"

#include <check.h>
#include <string.h>

#include "tests/support/suite.h"

#define A "6e3814a1-e847-452b-a982-45baf93a1df2:1"
#define B "0e3814a1-e847-452b-a982-45baf93a1df2:2"

/* A look that was asked for at 1000 ms on our clock, and answered then. */
struct seen {
    const char *holder;         /* NULL: it is free */
    enum hf_lock_kind kind;
    int64_t holders, count, ttl_ms;
    int64_t sent_ms, took_ms;
};

static const struct seen is_free = {.sent_ms = 1000};

static struct cli_snapshot look_of(const struct seen *seen)
{
    struct cli_snapshot look = {.sent_ms = seen->sent_ms,
                            .answered_ms = seen->sent_ms + seen->took_ms,
                            .info = {.ttl_ms = -2}};

    if (!seen->holder)
        return look;
    look.info = (struct hf_lock_info){.is_locked = true,
                                      .ttl_ms = seen->ttl_ms,
                                      .hold_count = seen->count,
                                      .holder_len = strlen(seen->holder),
                                      .kind = seen->kind,
                                      .holders = seen->holders};
    (void)strcpy(look.info.holder, seen->holder);
    return look;
}

/* The words of all events, with a space between them. */
static const char *happened(const struct cli_snapshot *before,
                            const struct cli_snapshot *now)
{
    static char words[100];
    enum cli_watch_event events[CLI_WATCH_EVENTS_MAX];
    size_t count = cli_watch_compare(events, before, now);

    *words = '\0';
    for (size_t i = 0; i < count; i++) {
        (void)strcat(words, i ? " " : "");
        (void)strcat(words, cli_watch_word(events[i]));
    }
    return words;
}

#define HELD(BY, COUNT, TTL, ASKED) \
    {BY, HF_KIND_PLAIN, 1, COUNT, TTL, ASKED, 0}
#define SHARED(N, TTL, ASKED) {A, HF_KIND_READ, N, 1, TTL, ASKED, 0}

static const struct {
    struct seen before, now;
    const char *events;
} cases[] = {
    /* One hold begins and ends. */
    {{.sent_ms = 1000}, {.sent_ms = 1500}, ""},
    {{.sent_ms = 1000}, HELD(A, 1, 30000, 1500), "acquired"},
    {HELD(A, 1, 30000, 1000), HELD(A, 1, 29500, 1500), ""},
    {HELD(A, 1, 30000, 1000), {.sent_ms = 1500}, "released"},
    {HELD(A, 1, 400, 1000), {.sent_ms = 1500}, "expired"},
    {HELD(A, 1, 500, 1000), {.sent_ms = 1499}, "expired"},
    {HELD(A, 1, 600, 1000), {.sent_ms = 1500}, "released"},
    {HELD(A, 1, -1, 1000), {.sent_ms = 90000}, "released"},
    /* It passes from one to another. */
    {HELD(A, 1, 30000, 1000), HELD(B, 1, 30000, 1500), "released acquired"},
    {HELD(A, 1, 400, 1000), HELD(B, 1, 30000, 1500), "expired acquired"},
    /* Of one hold. */
    {HELD(A, 1, 30000, 1000), HELD(A, 2, 30000, 1500), "reentered"},
    {HELD(A, 2, 30000, 1000), HELD(A, 1, 30000, 1500), "partly_released"},
    {HELD(A, 1, 20000, 1000), HELD(A, 1, 29900, 1500), "renewed"},
    {HELD(A, 1, 30000, 1000), HELD(A, 1, 5000, 1500), "shortened"},
    {HELD(A, 1, 30000, 1000), HELD(A, 1, -1, 1500), "renewed"},
    {HELD(A, 1, -1, 1000), HELD(A, 1, 30000, 1500), "shortened"},
    {HELD(A, 1, -1, 1000), HELD(A, 1, -1, 1500), ""},
    /* A slow answer is no renewal, nor is a millisecond. */
    {{A, HF_KIND_PLAIN, 1, 1, 30000, 1000, 400},
     {A, HF_KIND_PLAIN, 1, 1, 29500, 1800, 0}, ""},
    {HELD(A, 1, 30000, 1000), {A, HF_KIND_PLAIN, 1, 1, 30000, 1500, 600},
     "renewed"},
    {HELD(A, 1, 30000, 1000), HELD(A, 1, 29503, 1500), ""},
    /* A lease of 2,000 or 285,000 years. */
    {HELD(A, 1, INT64_C(63000000000000), 1000),
     HELD(A, 1, INT64_C(62999999999500), 1500), ""},
    {HELD(A, 1, INT64_C(9000000000000000), 1000),
     HELD(A, 1, INT64_C(8999999999999500), 1500), ""},
    {HELD(A, 1, INT64_C(9000000000000000), 1000), HELD(A, 1, INT64_MAX, 1500), "renewed"},
    /* Several hold it. */
    {{.sent_ms = 1000}, SHARED(2, 30000, 1500), "acquired"},
    {SHARED(1, 30000, 1000), SHARED(2, 30000, 1500), "joined"},
    {SHARED(2, 30000, 1000), SHARED(1, 29500, 1500), "left"},
    {SHARED(2, 20000, 1000), SHARED(2, 30000, 1500), "renewed"},
    {SHARED(1, 30000, 1000), {.sent_ms = 1500}, "released"},
    {SHARED(1, 400, 1000), {.sent_ms = 1500}, "expired"},
    /* Who holds it is of another kind: a fair one is plain if nobody waits. */
    {HELD(A, 1, 30000, 1000), {A, HF_KIND_FAIR, 1, 1, 29500, 1500, 0}, ""},
    {HELD(A, 1, 30000, 1000), SHARED(1, 30000, 1500), "released acquired"},
    {{A, HF_KIND_READ, 1, 1, 30000, 1000, 0},
     {A, HF_KIND_WRITE, 1, 1, 30000, 1500, 0}, "released acquired"},
};

START_TEST(two_looks_show_the_event)
{
    struct cli_snapshot before = look_of(&cases[_i].before);
    struct cli_snapshot now = look_of(&cases[_i].now);

    ck_assert_str_eq(happened(&before, &now), cases[_i].events);
}
END_TEST

START_TEST(the_first_look_reports_the_state)
{
    static const struct seen held = HELD(A, 1, 30000, 1000);
    struct cli_snapshot before = {.is_first = true};
    struct cli_snapshot now = look_of(&is_free);

    ck_assert_str_eq(happened(&before, &now), "free");
    now = look_of(&held);
    ck_assert_str_eq(happened(&before, &now), "held");
}
END_TEST

START_TEST(released_and_expired_name_the_former_holder)
{
    ck_assert(cli_watch_is_of_earlier_hold(CLI_WATCH_RELEASED));
    ck_assert(cli_watch_is_of_earlier_hold(CLI_WATCH_EXPIRED));
    ck_assert(!cli_watch_is_of_earlier_hold(CLI_WATCH_ACQUIRED));
    ck_assert(!cli_watch_is_of_earlier_hold(CLI_WATCH_LEFT));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli/watch");
    TCase *c = tcase_create("events");

    tcase_add_loop_test(c, two_looks_show_the_event, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(c, the_first_look_reports_the_state);
    tcase_add_test(c, released_and_expired_name_the_former_holder);
    suite_add_tcase(s, c);
    return suite_run(s);
}
