/* What people write behind options: durations, numbers, signals, servers. */
#include <check.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>

#include "cli/base/label.h"
#include "cli/base/same_server.h"
#include "cli/base/values.h"
#include "tests/support/suite.h"

#define YEARS_MS CLI_DURATION_MAX_MS

/* ---- durations ---- */

static const struct {
    const char *text;
    int64_t ms;
} good[] = {
    {"0", 0},
    {"1", 1000},
    {"30", 30000},
    {"1.5", 1500},
    {".5", 500},
    {"2.", 2000},
    {"250ms", 250},
    {"30s", 30000},
    {"5m", 300000},
    {"2h", 7200000},
    {"1.5h", 5400000},
    {"0.5ms", 1},
    {"0.001", 1},
    {"0.0001", 1},
    {"1.0000000001", 1001},      /* the tenth digit rounds up, too */
    {"1.00000000000000000000", 1000},
    {"0.000", 0},
    {"0000000000000000000000000000001s", 1000},
    {"87600h", YEARS_MS},
    {"315360000", YEARS_MS},
};

START_TEST(duration_is_milliseconds)
{
    int64_t ms = -1;

    ck_assert_msg(cli_duration_parse(good[_i].text, &ms), "%s", good[_i].text);
    ck_assert_int_eq(ms, good[_i].ms);
}
END_TEST

static const char *const bad[] = {
    "",      " ",     ".",     "s",     "ms",    "-1",        "+1",
    "1 s",   " 1",    "1s ",   "1S",    "1d",    "1e3",       "0x10",
    "1,5",   "1.5.5", "1ss",   "inf",   "nan",   "five",      "87600.1h",
    "87601h", "315360001", "99999999999999999999999999999999", "1.5x", "--",
    "\xd9\xa1", "1min",
};

START_TEST(invalid_durations_are_refused)
{
    int64_t ms = -1;

    ck_assert_msg(!cli_duration_parse(bad[_i], &ms), "%s", bad[_i]);
    ck_assert_int_eq(ms, -1);
}
END_TEST

/* A locale that writes 1,5 changes nothing. Without that locale installed, this
 * asks the same in the C locale. */
START_TEST(locales_do_not_matter)
{
    int64_t ms = -1;

    (void)setlocale(LC_ALL, "de_DE.UTF-8");
    ck_assert(cli_duration_parse("1.5", &ms));
    ck_assert_int_eq(ms, 1500);
    ck_assert(!cli_duration_parse("1,5", &ms));
}
END_TEST

/* ---- numbers ---- */

START_TEST(number_is_taken_within_its_limits_only)
{
    int n = -1;

    ck_assert(cli_number_parse("0", 0, 255, &n) && n == 0);
    ck_assert(cli_number_parse("255", 0, 255, &n) && n == 255);
    ck_assert(!cli_number_parse("256", 0, 255, &n));
    ck_assert(!cli_number_parse("0", 1, 255, &n));
    ck_assert(!cli_number_parse("", 0, 255, &n));
    ck_assert(!cli_number_parse("-1", 0, 255, &n));
    ck_assert(!cli_number_parse("1x", 0, 255, &n));
    ck_assert(!cli_number_parse("4294967296", 0, 255, &n));
    ck_assert(!cli_number_parse("18446744073709551617", 0, 255, &n));
    ck_assert_int_eq(n, 255);
}
END_TEST

/* ---- signals ---- */

START_TEST(signal_has_a_name_or_a_number)
{
    char room[CLI_SIGNAL_NAME_MAX];
    int n = -1;

    ck_assert(cli_signal_parse("TERM", &n) && n == SIGTERM);
    ck_assert(cli_signal_parse("SIGINT", &n) && n == SIGINT);
    ck_assert(cli_signal_parse("sigusr1", &n) && n == SIGUSR1);
    ck_assert(cli_signal_parse("9", &n) && n == SIGKILL);
    ck_assert(!cli_signal_parse("", &n));
    ck_assert(!cli_signal_parse("SIG", &n));
    ck_assert(!cli_signal_parse("0", &n));
    ck_assert(!cli_signal_parse("STOP", &n)); /* ends nothing */
    ck_assert(!cli_signal_parse("CHLD", &n));
    ck_assert(!cli_signal_parse("999", &n));
    ck_assert_int_eq(n, SIGKILL);
    ck_assert_str_eq(cli_signal_name(SIGTERM, room), "TERM");
    ck_assert_str_eq(cli_signal_name(40, room), "40");
}
END_TEST

/* ---- servers ---- */

static const struct {
    const char *a, *b;
    bool is_same;
} servers[] = {
    {"redis://a", "redis://a:6379", true},
    {"redis://a", "redis://A/3", true},
    {"redis://a", "rediss://user:word@a", true},
    {"redis://localhost", "redis://127.0.0.1", true},
    {"redis://[::1]", "redis://localhost", true},
    {"unix:///tmp/s", "redis+unix:///tmp/s?db=1", true},
    {"redis+cluster://a,b", "redis+cluster://c,b", true},
    {"redis+sentinel://a:26379,b:26379/m", "redis+sentinel://b:26379/m", true},
    {"redis://a", "redis://b", false},
    {"redis://a:1", "redis://a:2", false},
    {"redis://a", "unix:///a", false},
    {"unix:///tmp/s", "unix:///tmp/t", false},
    {"redis+cluster://a,b", "redis+cluster://c,d", false},
    {"redis+sentinel://a:26379/m", "redis+sentinel://a:26379/n", false},
    {"redis://a", "no URL", false},
    {"no URL", "no URL", false},
};

START_TEST(two_urls_may_lead_to_one_server)
{
    ck_assert_int_eq(cli_same_server(servers[_i].a, servers[_i].b),
                     servers[_i].is_same);
    ck_assert_int_eq(cli_same_server(servers[_i].b, servers[_i].a),
                     servers[_i].is_same);
}
END_TEST

/* ---- labels ---- */

#define LONG "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"

static const struct {
    const char *host, *program, *label;
} labels[] = {
    {"web3", "/usr/bin/backup", "web3 4711 backup"},
    {"web3.example.com", "backup", "web3.example.com 4711 backup"},
    {"web3", "bin/", "web3 4711 bin/"},
    {"web3", "a\033[2J\nb", "web3 4711 a [2J b"},
    {"web3", "\xff", "web3 4711 ?"},
    {LONG, LONG, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcd 4711 "
                 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcd"},
};

/* Not longer than the library accepts, and without what a terminal executes. */
START_TEST(the_default_label_is_a_line)
{
    char label[HF_LABEL_MAX + 1];

    cli_label_format(label, labels[_i].host, 4711, labels[_i].program);
    ck_assert_str_eq(label, labels[_i].label);
    cli_label_format(label, LONG, INT_MAX, LONG);
    ck_assert_uint_le(strlen(label), HF_LABEL_MAX);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli/values");
    TCase *durations = tcase_create("durations");
    TCase *rest = tcase_create("numbers and signals");

    tcase_add_loop_test(durations, duration_is_milliseconds, 0,
                        sizeof good / sizeof *good);
    tcase_add_loop_test(durations, invalid_durations_are_refused, 0,
                        sizeof bad / sizeof *bad);
    tcase_add_test(durations, locales_do_not_matter);
    tcase_add_test(rest, number_is_taken_within_its_limits_only);
    tcase_add_test(rest, signal_has_a_name_or_a_number);
    tcase_add_loop_test(rest, two_urls_may_lead_to_one_server, 0, ROWS(servers));
    tcase_add_loop_test(rest, the_default_label_is_a_line, 0, ROWS(labels));
    suite_add_tcase(s, durations);
    suite_add_tcase(s, rest);
    return suite_run(s);
}
