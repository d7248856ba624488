/* The format of histories: what is written is read again, whatever bytes its
 * names have, and a line that is wrong is said to be. */
#include <stdio.h>
#include <string.h>

#include "tests/judge/history.h"
#include "tests/support/suite.h"

static const char *const lines[] = {
    "0 w over",
    ("1000000 c1 ask call=1 op=acquire lock=a kind=plain owner=c1:7 lease=500 "
     "wait=-1 due=7000000"),
    "1000400 c1 end call=1 owner=c1:7 hold=u:70000000001 status=HF_OK token=4",
    "1000400 c1 safe lock=a kind=fenced owner=c1:7 until=never",
    "5 s1 held lock=%20%25%3D%00%7F%0A kind=read owner=o count=2 until=9 by=peer",
    "5 s1 freed lock=\xc3\xa4 kind=write owner=o why=expired",
    "5 s2 master instead=s1",
    "5 s2 clock ppm=-20000 step=-5",
    "6 s1 key type=hash name=a of=a may=token",
    "7 w fault lock=a what=cut on=c1,s2 state=begin",
    "9007199254740992 c1 end call=9223372036854775806 token=9223372036854775806",
    "7 c1 clock step=-9007199254740992",
};

static struct history_event must_read(const char *text, char *room)
{
    struct history_event event;

    strcpy(room, text);
    ck_assert_ptr_null(history_read(&event, room, strlen(room)));
    return event;
}

START_TEST(a_line_that_is_read_and_written_means_the_same)
{
    char room[512], written[512], again[512];
    struct history_event event = must_read(lines[_i], room);
    size_t len = history_write(&event, written, sizeof written);

    ck_assert_uint_eq(len, strlen(written));
    ck_assert_uint_eq(len, strlen(lines[_i]) + 1);
    written[len - 1] = '\0';
    event = must_read(written, room);
    history_write(&event, again, sizeof again);
    again[len - 1] = '\0';
    ck_assert_str_eq(written, again);
}
END_TEST

START_TEST(each_key_lands_in_its_field)
{
    char room[512];
    struct history_event event = must_read(lines[1], room);

    ck_assert_int_eq(event.time_us, 1000000);
    ck_assert(event.source.role == 'c' && event.source.number == 1);
    ck_assert(event.what == HISTORY_ASK && event.op == HISTORY_OP_ACQUIRE);
    ck_assert(event.kind == HISTORY_KIND_PLAIN && event.wait_ms == -1);
    ck_assert(event.due_us == 7000000 && event.until_us == HISTORY_NONE);
    ck_assert(event.owner.len == 4 && !event.hold.at);
    event = must_read(lines[4], room);
    ck_assert(event.lock.len == 6 && memcmp(event.lock.at, " %=\0\x7f\n", 6) == 0);
}
END_TEST

START_TEST(unknown_events_and_keys_are_ignored)
{
    char room[512];
    struct history_event event = must_read("3 c2 danced how=well n=4", room);

    ck_assert(event.what == HISTORY_OTHER && event.n == 4);
    event = must_read("3 c2 ask call=1 op=steal", room);
    ck_assert(event.what == HISTORY_ASK && event.op == HISTORY_NO_OP);
}
END_TEST

static const char *const wrong[] = {
    "", "x c1 go", "-", "1", "1 c1", "1 x1 go", "1 c-1 go", "1 c1 go alone",
    "1 c1 end call=", "1 c1 end call=x", "1 c1 end call=99999999999999999999",
    "1 c1 end call=9223372036854775807", "9007199254740993 c1 go",
    "1 c1 safe until=9007199254740993", "1 c1 clock step=-9007199254740993",
    "1 c1 safe lock=%4", "1 c1 safe lock=%zz", "1 s1 master instead=q"};

START_TEST(an_invalid_line_is_reported)
{
    char room[512];
    struct history_event event;

    strcpy(room, wrong[_i]);
    ck_assert_ptr_nonnull(history_read(&event, room, strlen(room)));
}
END_TEST

START_TEST(a_line_that_finds_no_room_is_not_written)
{
    char room[512], written[512];
    struct history_event event = must_read(lines[4], room);
    size_t len = history_write(&event, written, sizeof written);

    for (size_t size = 1; size <= len; size++)
        ck_assert_uint_eq(history_write(&event, written, size), 0);
}
END_TEST

START_TEST(headers_set_bounds_and_rules)
{
    static const char *const text[] = {
        HISTORY_FIRST_LINE, "# wake_ms 50", "# slack_ms 7", "# judge 170",
        "# seed 4", "#", "# no number", "# settle_ms 99999999999999999999"};
    struct history_header header;

    history_header_init(&header);
    ck_assert(header.judged == UINT32_MAX && header.ppm == 10000);
    for (int i = 0; i < ROWS(text); i++)
        history_header_read(&header, text[i], strlen(text[i]));
    ck_assert(header.wake_ms == 50 && header.slack_ms == 7);
    ck_assert_int_eq(header.settle_ms, HISTORY_BOUND_MAX);
    ck_assert(header.look_ms == HISTORY_NONE && header.ppm == 10000);
    ck_assert_uint_eq(header.judged, 1u << 1 | 1u << 7 | 1u << 10);
}
END_TEST

static Suite *history_suite(void)
{
    Suite *s = suite_create("history");
    TCase *tc = tcase_create("format");

    tcase_add_loop_test(tc, a_line_that_is_read_and_written_means_the_same, 0,
                        ROWS(lines));
    tcase_add_test(tc, each_key_lands_in_its_field);
    tcase_add_test(tc, unknown_events_and_keys_are_ignored);
    tcase_add_loop_test(tc, an_invalid_line_is_reported, 0, ROWS(wrong));
    tcase_add_test(tc, a_line_that_finds_no_room_is_not_written);
    tcase_add_test(tc, headers_set_bounds_and_rules);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return suite_run(history_suite());
}
