/* Options that are set by name, and how they join those of a URL. */
#include <check.h>
#include <string.h>

#include "lock/connect.h"
#include "net/base/named_options.h"
#include "tests/support/suite.h"

static char words[512];
static struct hf_error err;
static struct hf_url url;
static struct hf_seeds seeds;
static int64_t watchdog_ms;

static void setup(void)
{
    memset(words, 0, sizeof words);
    memset(&url, 0, sizeof url);
    memset(&seeds, 0, sizeof seeds);
    watchdog_ms = 7;
    err.text[0] = '\0';
}

static void teardown(void)
{
    hf_url_wipe(&url);
    hf_seeds_wipe(&seeds);
}

static hf_status set(const char *name, const char *value)
{
    return hf_named_options_set(words, sizeof words, name, value, &err);
}

static void set_ok(const char *name, const char *value)
{
    ck_assert_msg(set(name, value) == HF_OK, "%s", err.text);
}

static hf_status parse(const char *text)
{
    return hf_named_options_parse(&url, &seeds, text, words, &watchdog_ms, &err);
}

static void parse_ok(const char *text)
{
    ck_assert_msg(parse(text) == HF_OK, "%s", err.text);
}

/* ---- setting ---- */

START_TEST(what_is_set_takes_precedence_over_the_url)
{
    set_ok("timeout", "500ms");
    set_ok("db", "3");
    set_ok("client_name", "me");
    set_ok("label", "me & co");
    set_ok("replicas", "majority");
    set_ok("tracking", "on");
    parse_ok("redis://h/1?timeout=9s&idle_check=4s&client_name=you");
    ck_assert_int_eq(url.timeout_ms, 500);
    ck_assert_uint_eq(url.database, 3);
    ck_assert_str_eq(url.client_name, "me");
    ck_assert_str_eq(url.label, "me & co");
    ck_assert_int_eq(url.replicas, HF_REPLICAS_MAJORITY);
    ck_assert(url.is_tracking);
    ck_assert_int_eq(url.idle_check_ms, 4000);
    ck_assert_int_eq(watchdog_ms, 7);
}
END_TEST

START_TEST(the_last_value_of_a_name_counts)
{
    set_ok("timeout", "1s");
    set_ok("db", "2");
    set_ok("timeout", "3s");
    parse_ok(NULL);
    ck_assert_int_eq(url.timeout_ms, 3000);
    ck_assert_uint_eq(url.database, 2);
    ck_assert_str_eq(words, "&db=2&timeout=3s");
}
END_TEST

START_TEST(an_option_can_be_taken_back)
{
    set_ok("timeout", "1s");
    set_ok("db", "2");
    set_ok("timeout", NULL);
    set_ok("timeout", NULL);
    ck_assert_str_eq(words, "&db=2");
    set_ok("db", NULL);
    ck_assert_str_eq(words, "");
    set_ok("password", "secret");
    set_ok("password", NULL);
    for (size_t i = 0; i < sizeof words; i++) /* and no part of it stays */
        ck_assert_int_eq(words[i], 0);
}
END_TEST

/* "timeout" is the end of "connect_timeout" and the beginning of none. */
START_TEST(names_that_contain_each_other_are_two)
{
    set_ok("connect_timeout", "1s");
    set_ok("timeout", "2s");
    set_ok("tls_ca", "/ca");
    set_ok("tls_ca_dir", "/dir");
    set_ok("tls_ca", NULL);
    set_ok("timeout", "3s");
    parse_ok("rediss://h");
    ck_assert_int_eq(url.connect_timeout_ms, 1000);
    ck_assert_int_eq(url.timeout_ms, 3000);
    ck_assert_str_eq(hf_url_tls(&url)->ca_dir, "/dir");
    ck_assert_str_eq(hf_url_tls(&url)->ca_file, "");
}
END_TEST

/* The command calls it --ttl. */
START_TEST(ttl_is_another_name_of_watchdog)
{
    set_ok("ttl", "30s");
    parse_ok("redis://h");
    ck_assert_int_eq(watchdog_ms, 30000);
}
END_TEST

/* Each byte of a value stays what it is. */
START_TEST(a_value_has_any_bytes)
{
    char value[256];

    for (int c = 1; c < 256; c++)
        value[c - 1] = (char)c;
    value[255] = '\0';
    memset(words, 0, sizeof words);
    value[100] = '\0';
    set_ok("password", value);
    set_ok("user", "a&b=c%41#?@ä");
    parse_ok("redis://h");
    ck_assert_str_eq(url.login->password, value);
    ck_assert_str_eq(url.login->user, "a&b=c%41#?@ä");
}
END_TEST

START_TEST(user_and_password_replace_those_of_the_url_one_by_one)
{
    set_ok("password", "new");
    parse_ok("redis://me:old@h");
    ck_assert_str_eq(url.login->user, "me");
    ck_assert_str_eq(url.login->password, "new");
}
END_TEST

START_TEST(the_url_is_an_option_too)
{
    set_ok("url", "redis+sentinel://:x%40y@a,b/master/2?timeout=4s");
    set_ok("sentinel_user", "watcher");
    set_ok("sentinel_password", "pass");
    set_ok("sentinel_tls", "yes");
    set_ok("watchdog", "2m");
    parse_ok(NULL);
    ck_assert_int_eq(seeds.topology, HF_SENTINEL);
    ck_assert_uint_eq(seeds.hosts_count, 2);
    ck_assert_str_eq(url.login->password, "x@y");
    ck_assert_str_eq(seeds.sentinel_login->user, "watcher");
    ck_assert_str_eq(seeds.sentinel_login->password, "pass");
    ck_assert_int_eq(url.sentinel_tls, HF_SENTINEL_TLS_YES);
    ck_assert_int_eq(url.timeout_ms, 4000);
    ck_assert_uint_eq(url.database, 2);
    ck_assert_int_eq(watchdog_ms, 120000);
}
END_TEST

START_TEST(a_url_in_the_struct_takes_precedence)
{
    set_ok("url", "redis://other");
    parse_ok("redis://mine");
    ck_assert_str_eq(url.host, "mine");
}
END_TEST

START_TEST(without_a_url_the_server_is_here)
{
    parse_ok(NULL);
    ck_assert_str_eq(url.host, "127.0.0.1");
    ck_assert_uint_eq(url.port, 6379);
}
END_TEST

START_TEST(map_may_be_given_several_times)
{
    set_ok("map", "a=b");
    set_ok("map", "c=d");
    ck_assert_str_eq(words, "&map=a%3Db&map=c%3Dd");
    parse_ok("redis+cluster://a,c");
    ck_assert_ptr_nonnull(seeds.address_map);
    set_ok("map", NULL);
    ck_assert_str_eq(words, "");
}
END_TEST

/* ---- refused ---- */

static const struct {
    const char *name, *value, *says;
} wrong[] = {
    {"timeot", "1s", "unknown option 'timeot'; did you mean 'timeout'?"},
    {"tls_cert_", "x", "did you mean 'tls_cert'?"},
    {"pasword", "hush", "did you mean 'password'?"},
    {"bd", "1", "did you mean 'db'?"},
    {"ssl_ca_certs", "x", "tls_ca=FILE replaces it"},
    {"frobnicate", "x", "unknown option 'frobnicate': the names are"},
    {"", "x", "unknown option ''"},
    {"a\nb", "x", "unknown option 'a\\x0ab'"},
    {"timeout", "hush", "option timeout: a time is"},
    {"timeout", "", "option timeout: a value is missing"},
    {"timeout", "1s&db=3", "option timeout: a time is"},
    {"db", "-1", "option db: the database is"},
    {"protocol", "4", "option protocol: the protocol is 2 or 3"},
    {"tls_verify", "perhaps", "option tls_verify: write yes or no"},
    {"sharded", "hush", "option sharded: write auto"},
    {"watchdog", "hush", "option watchdog: a time is"},
    {"client_name", "a b", "option client_name: this character"},
    {"label", "a\033b", "option label: this character"},
    {"map", "hush", "option map: "},
};

/* The error has the name, but nothing of the value: it may be a password. */
START_TEST(what_is_wrong_is_refused_when_it_is_set)
{
    set_ok("db", "5");
    ck_assert_int_eq(set(wrong[_i].name, wrong[_i].value), HF_E_INVAL);
    ck_assert_msg(strstr(err.text, wrong[_i].says) != NULL, "%s", err.text);
    ck_assert_ptr_null(strstr(err.text, "hush"));
    ck_assert_str_eq(words, "&db=5");
    for (size_t i = strlen(words); i < sizeof words; i++)
        ck_assert_int_eq(words[i], 0);
}
END_TEST

static const struct {
    const char *name, *value, *url, *says;
} elsewhere[] = {
    {"tls_ca", "/ca", "redis://h", "option tls_ca: this needs TLS"},
    {"tls_ca", "/ca", "redis+sentinel://h/m?sentinel_tls=yes", NULL},
    {"sharded", "on", "redis://h", "'sharded' is for redis+cluster:// URLs"},
    {"sharded", "on", "redis+cluster://h", NULL},
    {"sentinel_user", "u", "redis+cluster://h", "'sentinel_user' is for redis+sentinel"},
    {"db", "1", "redis+cluster://h", "option db: a cluster has database 0"},
    {"url", "redis://:hush@", NULL, "the URL is wrong at character"},
    {"timeout", "1s", "http://hush", "the URL is wrong at character 1"},
};

START_TEST(what_is_not_for_the_url_is_refused_with_it)
{
    set_ok(elsewhere[_i].name, elsewhere[_i].value);
    if (!elsewhere[_i].says) {
        parse_ok(elsewhere[_i].url);
        return;
    }
    ck_assert_int_eq(parse(elsewhere[_i].url), HF_E_INVAL);
    ck_assert_msg(strstr(err.text, elsewhere[_i].says) != NULL, "%s", err.text);
    ck_assert_ptr_null(strstr(err.text, "hush"));
    ck_assert_ptr_null(url.login);
    ck_assert_str_eq(url.host, "");
}
END_TEST

/* A room that is one byte too small, and one that is enough. */
START_TEST(the_text_has_a_limit)
{
    char small[] = "&db=2\0-----------";
    size_t need = sizeof "&db=2&timeout=3s";

    ck_assert_int_eq(hf_named_options_set(small, need - 1, "timeout", "3s", &err), HF_E_LIMIT);
    ck_assert_ptr_nonnull(strstr(err.text, "option timeout: "));
    ck_assert_str_eq(small, "&db=2");
    ck_assert_str_eq(small + sizeof "&db=2", "-----------");
    ck_assert_int_eq(hf_named_options_set(small, need, "timeout", "3s", &err), HF_OK);
    ck_assert_str_eq(small, "&db=2&timeout=3s");
}
END_TEST

/* The new value has the bytes of the one that it replaces, to the last; a value that is too long
 * or wrong leaves the former one. */
START_TEST(a_value_may_replace_one_that_fills_the_text)
{
    char full[] = "&timeout=3s&db=2\0-----------";

    ck_assert_int_eq(hf_named_options_set(full, sizeof "&timeout=3s&db=2", "timeout", "4s", &err),
                     HF_OK);
    ck_assert_str_eq(full, "&db=2&timeout=4s");
    ck_assert_int_eq(hf_named_options_set(full, sizeof "&timeout=3s&db=2", "timeout", "45s", &err),
                     HF_E_LIMIT);
    ck_assert_int_eq(hf_named_options_set(full, sizeof "&timeout=3s&db=2", "timeout", "4x", &err),
                     HF_E_INVAL);
    ck_assert_str_eq(full, "&db=2&timeout=4s");
    ck_assert_int_eq(hf_named_options_set(full, sizeof "&timeout=3s&db=2", "db", "3", &err), HF_OK);
    ck_assert_str_eq(full, "&timeout=4s&db=3");
    ck_assert_int_eq(hf_named_options_set(full, sizeof "&timeout=3s&db=2", "db", NULL, &err),
                     HF_OK);
    ck_assert_int_eq(hf_named_options_set(full, sizeof "&timeout=3s&db=2", "timeout", "10000ms",
                                          &err),
                     HF_OK);
    ck_assert_str_eq(full, "&timeout=10000ms");
    ck_assert_str_eq(full + sizeof "&timeout=3s&db=2", "-----------");
}
END_TEST

/* Each entry of `address_map` is one more, so none has the bytes of another. */
START_TEST(one_more_entry_of_map_replaces_none)
{
    char full[] = "&map=a%3Db\0----------";

    ck_assert_int_eq(hf_named_options_set(full, sizeof "&map=a%3Db", "map", "c=d", &err),
                     HF_E_LIMIT);
    ck_assert_str_eq(full, "&map=a%3Db");
    ck_assert_str_eq(full + sizeof "&map=a%3Db", "----------");
}
END_TEST

/* A long password can be rotated: two of them have no room in the options of a client. */
START_TEST(a_long_password_can_be_set_again)
{
    char long_words[HF_CLIENT_WORDS_MAX] = "", password[1300];

    for (int i = 0; i < 3; i++) {
        memset(password, 'a' + i, sizeof password - 1);
        password[sizeof password - 1] = '\0';
        ck_assert_msg(hf_named_options_set(long_words, sizeof long_words, "password", password,
                                           &err) ==
                          HF_OK,
                      "%s", err.text);
        ck_assert_uint_eq(strlen(long_words), strlen("&password=") + strlen(password));
        ck_assert_str_eq(long_words + strlen("&password="), password);
        for (size_t n = strlen(long_words); n < sizeof long_words; n++)
            ck_assert_int_eq(long_words[n], 0);
    }
}
END_TEST

START_TEST(a_text_that_nobody_set_is_refused)
{
    strcpy(words, "&nothing=1");
    ck_assert_int_eq(parse(NULL), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "there is no such option"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/url words");
    TCase *c = tcase_create("words");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, what_is_set_takes_precedence_over_the_url);
    tcase_add_test(c, the_last_value_of_a_name_counts);
    tcase_add_test(c, an_option_can_be_taken_back);
    tcase_add_test(c, names_that_contain_each_other_are_two);
    tcase_add_test(c, ttl_is_another_name_of_watchdog);
    tcase_add_test(c, a_value_has_any_bytes);
    tcase_add_test(c, user_and_password_replace_those_of_the_url_one_by_one);
    tcase_add_test(c, the_url_is_an_option_too);
    tcase_add_test(c, a_url_in_the_struct_takes_precedence);
    tcase_add_test(c, without_a_url_the_server_is_here);
    tcase_add_test(c, map_may_be_given_several_times);
    tcase_add_loop_test(c, what_is_wrong_is_refused_when_it_is_set, 0, ROWS(wrong));
    tcase_add_loop_test(c, what_is_not_for_the_url_is_refused_with_it, 0, ROWS(elsewhere));
    tcase_add_test(c, the_text_has_a_limit);
    tcase_add_test(c, a_value_may_replace_one_that_fills_the_text);
    tcase_add_test(c, one_more_entry_of_map_replaces_none);
    tcase_add_test(c, a_long_password_can_be_set_again);
    tcase_add_test(c, a_text_that_nobody_set_is_refused);
    suite_add_tcase(s, c);
    return suite_run(s);
}
