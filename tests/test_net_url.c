/* Server URLs: what is taken, what is refused and where. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/net.h"

#define IPV6_ZONE "fe80::1%eth0"

/* ---- what is taken ---- */

static const struct taken {
    const char *text;
    int kind;
    const char *host;          /* or the socket's path */
    uint16_t port;
    uint32_t database;
    const char *user;
    const char *password;      /* NULL: none is given */
} taken[] = {
    {"redis://localhost", HF_URL_TCP, "localhost", 6379, 0, "", NULL},
    {"rediss://localhost", HF_URL_TLS, "localhost", 6379, 0, "", NULL},
    {"valkey://localhost", HF_URL_TCP, "localhost", 6379, 0, "", NULL},
    {"valkeys://localhost", HF_URL_TLS, "localhost", 6379, 0, "", NULL},
    {"REDISS://LocalHost", HF_URL_TLS, "LocalHost", 6379, 0, "", NULL},

    {"redis://h:1", HF_URL_TCP, "h", 1, 0, "", NULL},
    {"redis://h:65535", HF_URL_TCP, "h", 65535, 0, "", NULL},
    {"redis://10.0.0.7:7000", HF_URL_TCP, "10.0.0.7", 7000, 0, "", NULL},
    {"redis://a-b.c_d.example.:7000", HF_URL_TCP, "a-b.c_d.example.", 7000, 0,
     "", NULL},
    {"redis://caf%C3%A9.example", HF_URL_TCP, "caf\xc3\xa9.example", 6379, 0,
     "", NULL},

    {"redis://[::1]", HF_URL_TCP, "::1", 6379, 0, "", NULL},
    {"redis://[2001:db8::7]:7000/3", HF_URL_TCP, "2001:db8::7", 7000, 3, "",
     NULL},
    {"redis://[::ffff:10.0.0.7]", HF_URL_TCP, "::ffff:10.0.0.7", 6379, 0, "",
     NULL},
    {"redis://[fe80::1%25eth0]:7000", HF_URL_TCP, IPV6_ZONE, 7000, 0, "", NULL},

    {"redis://h/", HF_URL_TCP, "h", 6379, 0, "", NULL},
    {"redis://h/0", HF_URL_TCP, "h", 6379, 0, "", NULL},
    {"redis://h/15", HF_URL_TCP, "h", 6379, 15, "", NULL},
    {"redis://h/2147483647", HF_URL_TCP, "h", 6379, 2147483647, "", NULL},
    {"redis://h?db=2", HF_URL_TCP, "h", 6379, 2, "", NULL},
    {"redis://h/?db=2", HF_URL_TCP, "h", 6379, 2, "", NULL},

    {"redis://:pw@h", HF_URL_TCP, "h", 6379, 0, "", "pw"},
    {"redis://me:pw@h:7000/2", HF_URL_TCP, "h", 7000, 2, "me", "pw"},
    {"redis://me:@h", HF_URL_TCP, "h", 6379, 0, "me", ""},
    {"redis://:@h", HF_URL_TCP, "h", 6379, 0, "", NULL},
    {"redis://me:a:b:c@h", HF_URL_TCP, "h", 6379, 0, "me", "a:b:c"},
    {"redis://m%40x%3Ay:p%40w%3a%2F%3f%23%25@h", HF_URL_TCP, "h", 6379, 0,
     "m@x:y", "p@w:/?#%"},
    {"redis://:%01%20%7f%FF@h", HF_URL_TCP, "h", 6379, 0, "",
     "\x01 \x7f\xff"},
    {"redis://:!$&'()*+,;=-._~[]|^`{}\"<>\\@h", HF_URL_TCP, "h", 6379, 0, "",
     "!$&'()*+,;=-._~[]|^`{}\"<>\\"},

    {"unix:///run/redis.sock", HF_URL_UNIX, "/run/redis.sock", 0, 0, "", NULL},
    {"redis+unix:///s", HF_URL_UNIX, "/s", 0, 0, "", NULL},
    {"redis-socket:///s", HF_URL_UNIX, "/s", 0, 0, "", NULL},
    {"unix:///s?db=2", HF_URL_UNIX, "/s", 0, 2, "", NULL},
    {"unix://me:pw@/s?db=0", HF_URL_UNIX, "/s", 0, 0, "me", "pw"},
    {"unix:///run/a@b%20c%3F.sock", HF_URL_UNIX, "/run/a@b c?.sock", 0, 0, "",
     NULL},
};

static void check_taken(const struct hf_url *u, const struct taken *t)
{
    bool is_unix = t->kind == HF_URL_UNIX;

    ck_assert_int_eq((int)u->kind, t->kind);
    ck_assert_str_eq(u->host, is_unix ? "" : t->host);
    ck_assert_str_eq(u->path, is_unix ? t->host : "");
    ck_assert_int_eq(u->port, t->port);
    ck_assert_uint_eq(u->database, t->database);
    ck_assert_str_eq(u->user, t->user);
    ck_assert_int_eq(u->has_password, t->password != NULL);
    ck_assert_str_eq(u->password, t->password ? t->password : "");
}

START_TEST(url_is_taken_apart_into_its_parts)
{
    struct hf_url u;
    struct hf_error e = {HF_OK, ""};

    memset(&u, 0x5a, sizeof u);
    ck_assert_int_eq(hf_url_parse(&u, taken[_i].text, &e), HF_OK);
    check_taken(&u, &taken[_i]);
    ck_assert_int_eq(e.status, HF_OK);
}
END_TEST

/* ---- what is refused ---- */

#define SECRET "S3cr3t"

static const struct refused {
    const char *text;
    unsigned position;
    const char *why;           /* a part of the text */
} refused[] = {
    {"", 1, "begins with"},
    {"redis", 1, "begins with"},
    {"redis:/h", 1, "begins with"},
    {"localhost:6379", 1, "begins with"},
    {"http://" SECRET "@h", 1, "begins with"},
    {"redis+tls://h", 1, "begins with"},
    {":" SECRET "@h", 1, "begins with"},

    {"redis://h\n", 10, "space or control"},
    {"redis://:" SECRET " @h", 16, "space or control"},
    {"\x7fredis://h", 1, "space or control"},

    {"redis://", 9, "host is missing"},
    {"redis:///3", 9, "host is missing"},
    {"redis://:7000", 9, "host is missing"},
    {"redis://:" SECRET "@", 17, "host is missing"},
    {"redis://:" SECRET "@:7000", 17, "host is missing"},
    {"redis://h%", 10, "hexadecimal"},
    {"redis://h%2", 10, "hexadecimal"},
    {"redis://h%2g", 10, "hexadecimal"},
    {"redis://h%-1", 10, "hexadecimal"},
    {"redis://h%00", 10, "not allowed here"},
    {"redis://h%2fx", 10, "not allowed here"},
    {"redis://h%3a7000", 10, "not allowed here"},
    {"redis://h%20", 10, "not allowed here"},
    {"redis://a]b", 10, "not allowed here"},
    {"redis://a\\b", 10, "not allowed here"},

    {"redis://::1", 9, "brackets"},
    {"redis://::1:6379/0", 9, "brackets"},
    {"redis://[::1", 9, "no ]"},
    {"redis://[]", 10, "IPv6"},
    {"redis://[localhost]", 10, "IPv6"},
    {"redis://[127.0.0.1]", 10, "IPv6"},
    {"redis://[::1%25]", 10, "IPv6"},
    {"redis://[1:2:3:4:5:6:7:8:9]", 10, "IPv6"},
    {"redis://[::1%eth0]", 13, "hexadecimal"},
    {"redis://[::1]7000", 14, "after the host"},

    {"redis://h:", 11, "port"},
    {"redis://h:0", 11, "port"},
    {"redis://h:65536", 15, "port"},
    {"redis://h:99999999999999999999999", 15, "port"},
    {"redis://h:-1", 11, "port"},
    {"redis://h:+1", 11, "port"},
    {"redis://h:0x1", 12, "port"},
    {"redis://h:007", 12, "port"},
    {"redis://h:70a", 13, "port"},
    {"redis://h:7%30", 12, "port"},
    {"redis://h:/0", 11, "port"},

    {"redis://h/x", 11, "database"},
    {"redis://h/-1", 11, "database"},
    {"redis://h/01", 12, "database"},
    {"redis://h/1/", 12, "database"},
    {"redis://h/2147483648", 20, "database"},
    {"redis://h?db=", 14, "database"},
    {"redis://h?db=1x", 15, "database"},
    {"redis://h/1?db=1", 13, "twice"},
    {"redis://h?db=1&db=1", 16, "twice"},
    {"redis://h?", 11, "db=N"},
    {"redis://h?db=1&", 16, "db=N"},
    {"redis://h?db", 11, "db=N"},
    {"redis://h?DB=1", 11, "db=N"},
    {"redis://h?password=" SECRET, 11, "db=N"},
    {"redis://h#" SECRET, 10, "%23"},
    {"redis://h?db=1#x", 15, "%23"},

    {"redis://" SECRET "@h", 15, "user:password"},
    {"redis://@h", 9, "user:password"},
    {"redis://:a@" SECRET "@h", 11, "%40"},
    {"redis://:a/" SECRET "@h", 11, "%2F"},
    {"redis://:a?" SECRET "@h", 11, "%2F"},
    {"redis://:a#" SECRET "@h", 11, "%2F"},
    {"redis://:" SECRET "%@h", 16, "hexadecimal"},
    {"redis://:" SECRET "%zz@h", 16, "hexadecimal"},
    {"redis://:" SECRET "%00@h", 16, "not allowed here"},
    {"redis://u%00:" SECRET "@h", 10, "not allowed here"},
    {"redis://:" SECRET "@h:x", 19, "port"},

    {"unix://", 8, "path"},
    {"unix:///", 8, "path"},
    {"unix://?db=1", 8, "path"},
    {"unix://s", 8, "no host"},
    {"unix://host/s", 8, "no host"},
    {"unix://:" SECRET "@host/s", 16, "no host"},
    {"unix:///s%00", 10, "not allowed here"},
    {"unix:///s?db=x", 14, "database"},
    {"unix:///s?dbs=1", 11, "db=N"},
    {"unix:///s#x", 10, "%23"},
};

static void check_refused(const char *text, unsigned position, const char *why)
{
    struct hf_url u, before;
    struct hf_error e = {HF_OK, ""};
    char start[80];

    memset(&u, 0x5a, sizeof u);
    memcpy(&before, &u, sizeof u);
    ck_assert_int_eq(hf_url_parse(&u, text, &e), HF_E_INVAL);
    ck_assert_mem_eq(&u, &before, sizeof u);
    ck_assert_int_eq(e.status, HF_E_INVAL);
    (void)snprintf(start, sizeof start, "the URL is wrong at character %u: ",
                   position);
    ck_assert_msg(strncmp(e.text, start, strlen(start)) == 0,
                  "\"%s\", not at %u", e.text, position);
    ck_assert_msg(strstr(e.text, why) != NULL, "\"%s\" lacks \"%s\"", e.text,
                  why);
    ck_assert_ptr_null(strstr(e.text, SECRET));
}

START_TEST(error_points_at_the_character_and_hides_the_password)
{
    check_refused(refused[_i].text, refused[_i].position, refused[_i].why);
    ck_assert_int_eq(hf_url_parse(&(struct hf_url){0}, refused[_i].text, NULL),
                     HF_E_INVAL);
}
END_TEST

/* ---- limits ---- */

/* Each part at its limit, and one above it. */
static const struct limit {
    const char *before;
    size_t max;
    const char *after;
} limits[] = {
    {"redis://", sizeof((struct hf_url *)0)->host - 1, ":7000/3"},
    {"redis://", sizeof((struct hf_url *)0)->user - 1, ":pw@h"},
    {"redis://:", sizeof((struct hf_url *)0)->password - 1, "@h"},
    {"unix:///", sizeof((struct hf_url *)0)->path - 2, "?db=3"},
};

static char *with_a_part_of(const struct limit *l, size_t len)
{
    char *text = calloc(1, strlen(l->before) + len + strlen(l->after) + 1);
    char *at = text;

    ck_assert_ptr_nonnull(text);
    at = stpcpy(at, l->before);
    memset(at, 'x', len);
    strcpy(at + len, l->after);
    return text;
}

START_TEST(part_at_its_limit_is_taken_and_one_byte_more_is_not)
{
    const struct limit *l = &limits[_i];
    char *fits = with_a_part_of(l, l->max);
    char *too_long = with_a_part_of(l, l->max + 1);
    struct hf_url u;

    ck_assert_int_eq(hf_url_parse(&u, fits, NULL), HF_OK);
    check_refused(too_long, (unsigned)(strlen(l->before) + l->max + 1),
                  "too long");
    free(fits);
    free(too_long);
}
END_TEST

/* Every beginning of every row, in a block that ends where the text does, so
 * that the sanitizer sees who reads on. */
START_TEST(text_that_breaks_off_anywhere_is_read_no_further)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        for (size_t len = 0; len <= strlen(refused[i].text); len++) {
            char *text = strndup(refused[i].text, len);
            struct hf_url u;

            ck_assert_ptr_nonnull(text);
            (void)hf_url_parse(&u, text, NULL); /* either is right */
            free(text);
        }
    }
}
END_TEST

/* ---- addresses ---- */

static const struct {
    const char *url;
    const char *address;
} addresses[] = {
    {"redis://127.0.0.1", "127.0.0.1:6379"},
    {"rediss://me:" SECRET "@h.example:7000/3", "h.example:7000"},
    {"redis://[::1]", "[::1]:6379"},
    {"redis://[fe80::1%25eth0]:1", "[" IPV6_ZONE "]:1"},
    {"unix://me:" SECRET "@/run/redis.sock?db=1", "unix:/run/redis.sock"},
};

START_TEST(address_is_what_a_person_would_write)
{
    struct hf_url u;
    char text[300], cut[5];

    ck_assert_int_eq(hf_url_parse(&u, addresses[_i].url, NULL), HF_OK);
    ck_assert_ptr_eq(hf_url_address(&u, text, sizeof text), text);
    ck_assert_str_eq(text, addresses[_i].address);
    ck_assert_uint_eq(strlen(hf_url_address(&u, cut, sizeof cut)), 4);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/url");
    TCase *c = tcase_create("url");
    SRunner *r = srunner_create(s);
    int failed;

    tcase_add_loop_test(c, url_is_taken_apart_into_its_parts, 0,
                        (int)(sizeof taken / sizeof *taken));
    tcase_add_loop_test(c, error_points_at_the_character_and_hides_the_password,
                        0, (int)(sizeof refused / sizeof *refused));
    tcase_add_loop_test(c, part_at_its_limit_is_taken_and_one_byte_more_is_not,
                        0, (int)(sizeof limits / sizeof *limits));
    tcase_add_test(c, text_that_breaks_off_anywhere_is_read_no_further);
    tcase_add_loop_test(c, address_is_what_a_person_would_write, 0,
                        (int)(sizeof addresses / sizeof *addresses));
    suite_add_tcase(s, c);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
