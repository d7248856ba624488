/* Server URLs: what is taken, what is refused and where. */
#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "net/base/url.h"
#include "net/net.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))
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
    {"rediss://[fe80::1%25e%74h0]", HF_URL_TLS, IPV6_ZONE, 6379, 0, "", NULL},
    {"redis://[fe80::1%257]", HF_URL_TCP, "fe80::1%7", 6379, 0, "", NULL},

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
    {"unix:///@s", HF_URL_UNIX, "/@s", 0, 0, "", NULL},
    {"unix:@s", HF_URL_UNIX, "@s", 0, 0, "", NULL},
    {"UNIX:@a/b:c@d%20?db=2", HF_URL_UNIX, "@a/b:c@d ", 0, 2, "", NULL},
    {"unix:@@", HF_URL_UNIX, "@@", 0, 0, "", NULL},
};

/* NULL as the password: there is no login. */
static void check_login(const struct hf_login *login, const char *user,
                        const char *password)
{
    ck_assert_int_eq(login != NULL, password != NULL);
    if (!login)
        return;
    ck_assert_str_eq(login->user, user);
    ck_assert_str_eq(login->password, password);
    ck_assert_uint_eq(login->user_len, strlen(user));
    ck_assert_uint_eq(login->password_len, strlen(password));
}

static void check_taken(const struct hf_url *u, const struct taken *t)
{
    bool is_unix = t->kind == HF_URL_UNIX;

    ck_assert_int_eq((int)u->kind, t->kind);
    ck_assert_str_eq(u->host, is_unix ? "" : t->host);
    ck_assert_str_eq(u->path, is_unix ? t->host : "");
    ck_assert_int_eq(u->port, t->port);
    ck_assert_uint_eq(u->database, t->database);
    check_login(u->login, t->user, t->password);
}

START_TEST(url_is_taken_apart_into_its_parts)
{
    struct hf_url u;
    struct hf_error e = {.text = ""};

    memset(&u, 0x5a, sizeof u);
    ck_assert_int_eq(hf_url_parse(&u, taken[_i].text, &e), HF_OK);
    check_taken(&u, &taken[_i]);
    ck_assert_int_eq(e.status, HF_OK);
    hf_url_wipe(&u);
}
END_TEST

/* ---- options ---- */

#define DAY_MS (24 * 60 * 60 * 1000)

static const struct asked {
    const char *text;
    struct hf_url url;         /* what of it the options say */
} asked[] = {
    {"redis://h?protocol=2", {.protocol = 2}},
    {"redis://h?protocol=3", {.protocol = 3}},
    {"redis://h?client_name=a", {.client_name = "a"}},
    {"redis://h?client_name=%21b%26%3d=%7e", {.client_name = "!b&==~"}},
    {"redis://h?label=web3%204711%20backup%20%c3%bc", {.label = "web3 4711 backup \xc3\xbc"}},
    {"unix:///s?client_name=me@here", {.client_name = "me@here"}},
    {"unix:@s?client_name=me@here", {.client_name = "me@here"}},

    {"redis://h?timeout=1ms", {.timeout_ms = 1}},
    {"redis://h?timeout=1", {.timeout_ms = 1000}},
    {"redis://h?timeout=2s", {.timeout_ms = 2000}},
    {"redis://h?timeout=3m", {.timeout_ms = 180000}},
    {"redis://h?timeout=86400000ms", {.timeout_ms = DAY_MS}},
    {"redis://h?timeout=86400s", {.timeout_ms = DAY_MS}},
    {"redis://h?timeout=86400", {.timeout_ms = DAY_MS}},
    {"redis://h?timeout=1440m", {.timeout_ms = DAY_MS}},
    {"redis://h?connect_timeout=250ms", {.connect_timeout_ms = 250}},
    {"redis://h?idle_check=2m", {.idle_check_ms = 120000}},

    {"rediss://h?tls_ca=/a%20b", {.tls = &(struct hf_tls_options){.ca_file = "/a b"}}},
    {"rediss://h?tls_ca_dir=/d?", {.tls = &(struct hf_tls_options){.ca_dir = "/d?"}}},
    {"rediss://h?tls_crl=crl", {.tls = &(struct hf_tls_options){.crl_file = "crl"}}},
    {"rediss://h?tls_cert=c.pem", {.tls = &(struct hf_tls_options){.cert_file = "c.pem"}}},
    {"rediss://h?tls_key=caf\xc3\xa9",
     {.tls = &(struct hf_tls_options){.key_file = "caf\xc3\xa9"}}},
    {"rediss://h?tls_key_password=%01p%40+w%ff",
     {.tls = &(struct hf_tls_options){.key_password = "\x01p@+w\xff"}}},
    {"redis://h?replicas=0", {.replicas = 0}},
    {"redis://h?replicas=1", {.replicas = 1}},
    {"redis://h?replicas=1024", {.replicas = 1024}},
    {"redis://h?replicas=all", {.replicas = HF_REPLICAS_ALL}},
    {"redis://h?replicas=majority&replicas_timeout=3",
     {.replicas = HF_REPLICAS_MAJORITY, .replicas_timeout_ms = 3000}},
    {"rediss://h?tls_sni=other", {.tls = &(struct hf_tls_options){.server_name = "other"}}},
    {"rediss://h?tls_ciphers=ALL:!x%20y", {.tls = &(struct hf_tls_options){.ciphers = "ALL:!x y"}}},
    {"rediss://h?tls_ciphersuites=T_A:T_B",
     {.tls = &(struct hf_tls_options){.ciphersuites = "T_A:T_B"}}},
    {"rediss://h?tls_alpn=redis", {.tls = &(struct hf_tls_options){.alpn = "redis"}}},
    {"rediss://h?tls_verify=no", {.tls = &(struct hf_tls_options){.is_unverified = true}}},
    {"rediss://h?tls_verify=yes", {.tls = &(struct hf_tls_options){.is_unverified = false}}},

    {"redis://h/7?timeout=5&client_name=n&protocol=2&connect_timeout=6",
     {.database = 7, .protocol = 2, .client_name = "n", .timeout_ms = 5000,
      .connect_timeout_ms = 6000}},
    {"valkeys://h/?tls_verify=no&tls_ca=a&tls_ca_dir=b&tls_crl=c&tls_cert=d&"
     "tls_key=e&tls_key_password=f&tls_sni=g&tls_ciphers=h&tls_ciphersuites=i&"
     "tls_alpn=j&db=1&protocol=3&client_name=k&connect_timeout=1&timeout=2",
     {.database = 1, .protocol = 3, .client_name = "k",
      .connect_timeout_ms = 1000, .timeout_ms = 2000,
      .tls = &(struct hf_tls_options){"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                      true}}},
};

static void check_tls(const struct hf_tls_options *t,
                      const struct hf_tls_options *expected)
{
    ck_assert_str_eq(t->ca_file, expected->ca_file);
    ck_assert_str_eq(t->ca_dir, expected->ca_dir);
    ck_assert_str_eq(t->crl_file, expected->crl_file);
    ck_assert_str_eq(t->cert_file, expected->cert_file);
    ck_assert_str_eq(t->key_file, expected->key_file);
    ck_assert_str_eq(t->key_password, expected->key_password);
    ck_assert_str_eq(t->server_name, expected->server_name);
    ck_assert_str_eq(t->ciphers, expected->ciphers);
    ck_assert_str_eq(t->ciphersuites, expected->ciphersuites);
    ck_assert_str_eq(t->alpn, expected->alpn);
    ck_assert_int_eq(t->is_unverified, expected->is_unverified);
}

static void check_options(const struct hf_url *u, const struct hf_url *expected)
{
    ck_assert_uint_eq(u->database, expected->database);
    ck_assert_str_eq(u->client_name, expected->client_name);
    ck_assert_str_eq(u->label, expected->label);
    ck_assert_int_eq(u->protocol, expected->protocol);
    ck_assert_int_eq(u->connect_timeout_ms, expected->connect_timeout_ms);
    ck_assert_int_eq(u->timeout_ms, expected->timeout_ms);
    ck_assert_int_eq(u->idle_check_ms, expected->idle_check_ms);
    ck_assert_int_eq(u->replicas, expected->replicas);
    ck_assert_int_eq(u->replicas_timeout_ms, expected->replicas_timeout_ms);
    check_tls(hf_url_tls(u), hf_url_tls(expected));
}

/* And nothing but what they say. */
START_TEST(options_go_where_they_belong)
{
    struct hf_url u;
    struct hf_error e = {.text = ""};

    memset(&u, 0x5a, sizeof u);
    ck_assert_msg(hf_url_parse(&u, asked[_i].text, &e) == HF_OK, "%s", e.text);
    check_options(&u, &asked[_i].url);
    hf_url_wipe(&u);
}
END_TEST

/* ---- what is refused ---- */

#define SECRET "S3cr3t"

static const struct refused {
    const char *text;
    unsigned position;
    const char *why;           /* a part of the text */
} refused[] = {
    {"", 1, "it is empty"},
    {"redis", 1, "begins with"},
    {"redis:/h", 1, "begins with"},
    {"localhost:6379", 1, "begins with"},
    {"http://" SECRET "@h", 1, "begins with"},
    {"redis+tls://h", 1, "begins with"},
    {":" SECRET "@h", 1, "begins with"},

    {"redis://h\n", 10, "space or control"},
    {"\"redis://h\"", 1, "without the quotes"},
    {"'redis://h'", 1, "without the quotes"},
    {"redis://:${" SECRET "}@h", 10, "was not replaced"},
    {"redis://h:${PORT}", 11, "was not replaced"},
    {"redis://$HOST:1", 9, "not allowed here"},
    {"redis://:" SECRET " @h", 16, "space or control"},
    {"\x7fredis://h", 1, "space or control"},

    {"redis://", 9, "host is missing"},
    {"redis:///3", 9, "host is missing"},
    {"redis://h1:1,h2:2", 1, "only one server is accepted"},
    {"rediss://:" SECRET "@a,b/1", 1, "only one server is accepted"},
    {"redis://a;b", 10, "between hosts"},
    {"redis+cluster://a:1;b:2/0", 20, "between hosts"},
    {"redis://a%2Cb", 10, "between hosts"},
    {"redis://:" SECRET "@a%2cb:1", 18, "between hosts"},
    {"redis://a,", 11, "host is missing"},
    {"redis://,a", 9, "host is missing"},
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
    {"redis://a%25b", 10, "not allowed here"},

    {"redis://::1", 9, "brackets"},
    {"redis://::1:6379/0", 9, "brackets"},
    {"redis://[::1", 9, "no ]"},
    {"redis://[]", 10, "IPv6"},
    {"redis://[localhost]", 10, "IPv6"},
    {"redis://[127.0.0.1]", 10, "IPv6"},
    {"redis://[::1%25]", 10, "IPv6"},
    {"redis://[1:2:3:4:5:6:7:8:9]", 10, "IPv6"},
    {"redis://[::1%eth0]", 13, "after %25"},
    {"redis://[fe80::1%ee]", 17, "after %25"},
    {"redis://[fe80::1%2", 9, "no ]"},
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
    {"redis://h?db=1x", 15, "database"},
    {"redis://h?db=-1", 14, "database"},
    {"redis://h?db=%31", 14, "database"},
    {"redis://h?db=2147483648", 23, "database"},
    {"redis://h?tracking=yes", 20, "on or off"},
    {"redis://h/1?db=1", 13, "twice"},
    {"redis://h?db=1&db=1", 16, "twice"},

    {"redis://h?", 11, "options here are"},
    {"redis://h?db=1&", 16, "options here are"},
    {"redis://h?&db=1", 11, "options here are"},
    {"redis://h?d", 11, "options here are"},
    {"redis://h?dbx=1", 11, "options here are"},
    {"redis://h?DB=1", 11, "options here are"},
    {"redis://h?timout=1", 11, "did you mean 'timeout'? The options here are db,"},
    {"redis://h?db=1&conect_timeout=1", 16, "did you mean 'connect_timeout'?"},
    {"rediss://h?tls_cert_=x", 12, "did you mean 'tls_cert'?"},
    {"redis://h?xyz=1", 11, ": the options here are db,"},
    {"redis://h?%64b=1", 11, "options here are"},
    {"redis://h?=" SECRET, 11, "options here are"},
    {"redis://h?password=" SECRET, 11, "not an option here: it comes before the host"},
    {"redis://h?ssl_cert_reqs=none", 11, "'ssl_cert_reqs' is not an option here"},
    {"redis://h?sentinel_tls=no", 11, "'sentinel_tls' is for redis+sentinel:// URLs"},
    {"redis://h?sharded=on", 11, "'sharded' is for redis+cluster:// URLs"},
    {"redis://h?family=0", 11, "'family' is not an option here: IPv4"},
    {"redis://h?db=1&socket_timeout=5", 16, "timeout=5s replaces it"},
    {"redis://h?decode_responses=True", 11, "leave it out"},
    {"redis://h?secretname=1", 11, "options here are"},
    {"rediss://h?tls=" SECRET, 12, "not an option here: rediss:"},
    {"redis://h?db", 13, "value is missing"},
    {"redis://h?db=", 14, "value is missing"},
    {"redis://h?db&timeout=1", 13, "value is missing"},
    {"redis://h?db=&timeout=1", 14, "value is missing"},
    {"redis://h?client_name=", 23, "value is missing"},
    {"rediss://h?tls_ca=&tls_key=x", 19, "value is missing"},
    {"rediss://h?tls_key_password=", 29, "value is missing"},

    {"redis://h?protocol=1", 20, "2 or 3"},
    {"redis://h?protocol=4", 20, "2 or 3"},
    {"redis://h?protocol=22", 21, "2 or 3"},
    {"redis://h?protocol=x", 20, "2 or 3"},
    {"redis://h?protocol=2&protocol=3", 22, "twice"},

    {"redis://h?client_name=a%20b", 24, "not allowed here"},
    {"redis://h?client_name=a%7f", 24, "not allowed here"},
    {"redis://h?client_name=\xc3\xa9", 23, "not allowed here"},
    {"redis://h?client_name=%00", 23, "not allowed here"},
    {"redis://h?client_name=%4", 23, "hexadecimal"},
    {"redis://h?client_name=a%&db=1", 24, "hexadecimal"},
    {"redis://h?client_name=a#" SECRET, 24, "%23"},
    {"redis://h?client_name=a@b", 10, "@ is %40"},

    {"redis://h?replicas=-1", 20, "0 to 1024"},
    {"redis://h?replicas=1025", 23, "0 to 1024"},
    {"redis://h?replicas=most", 20, "0 to 1024"},
    {"redis://h?replicas=1&replicas=1", 22, "twice"},
    {"redis://h?replicas_timeout=0", 28, "a time is"},
    {"redis://h?timeout=0", 19, "a time is"},
    {"redis://h?timeout=0ms", 19, "a time is"},
    {"redis://h?timeout=01", 20, "a time is"},
    {"redis://h?timeout=-1", 19, "a time is"},
    {"redis://h?timeout=1.5s", 20, "a time is"},
    {"redis://h?timeout=ms", 19, "a time is"},
    {"redis://h?timeout=1h", 20, "a time is"},
    {"redis://h?timeout=1sec", 20, "a time is"},
    {"redis://h?timeout=1S", 20, "a time is"},
    {"redis://h?timeout=1%73", 20, "a time is"},
    {"redis://h?timeout=86400001ms", 26, "a time is"},
    {"redis://h?timeout=86401s", 23, "a time is"},
    {"redis://h?timeout=86401", 23, "a time is"},
    {"redis://h?timeout=1441m", 22, "a time is"},
    {"redis://h?connect_timeout=99999999999999999999", 31, "a time is"},

    {"redis://h?tls_ca=x", 11, "rediss://"},
    {"redis://h?db=1&tls_verify=no", 16, "rediss://"},
    {"unix:///s?tls_key_password=" SECRET, 11, "rediss://"},
    {"unix:@s?tls_sni=x", 9, "rediss://"},
    {"rediss://h?tls_verify=", 23, "value is missing"},
    {"rediss://h?tls_verify=maybe", 23, "yes or no"},
    {"rediss://h?tls_verify=No", 23, "yes or no"},
    {"rediss://h?tls_ca=x&tls_ca=x", 21, "twice"},
    {"rediss://h?tls_ca=%00", 19, "not allowed here"},
    {"rediss://h?tls_key_password=" SECRET "%00", 35, "not allowed here"},
    {"rediss://h?tls_key_password=" SECRET "%", 35, "hexadecimal"},
    {"rediss://h?tls_key_password=" SECRET "&tls_key_password=" SECRET, 36,
     "twice"},
    {"rediss://h?tls_sni=a%0Ab", 21, "not allowed here"},
    {"rediss://h?tls_alpn=a%20b", 22, "not allowed here"},

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
    {"unix:///s?dbs=1", 11, "options here are"},
    {"unix:///s#x", 10, "%23"},
    {"unix:", 1, "begins with"},
    {"unix:/run/redis.sock", 1, "begins with"},
    {"unix:u:" SECRET "@s", 1, "begins with"},
    {"redis+unix:@s", 1, "begins with"},
    {"unix:@", 6, "path"},
    {"unix:@?db=1", 6, "path"},
    {"unix:@s%00", 8, "not allowed here"},
    {"unix:@s#x", 8, "%23"},
};

static void check_refused(const char *text, unsigned position, const char *why)
{
    struct hf_url u, before;
    struct hf_error e = {.text = ""};
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

/* URL-2, URL-3, URL-1 */
START_TEST(error_points_at_the_character_and_hides_the_password)
{
    check_refused(refused[_i].text, refused[_i].position, refused[_i].why);
    ck_assert_int_eq(hf_url_parse(&(struct hf_url){0}, refused[_i].text, NULL),
                     HF_E_INVAL);
}
END_TEST

START_TEST(unknown_option_is_answered_with_those_there_are)
{
    static const char some[] = " options here are db, protocol, client_name, "
                               "label, connect_timeout, timeout, idle_check, replicas, "
                               "replicas_timeout, tracking, map";
    static const char tls[] = ", tls_ca, tls_ca_dir, tls_crl, tls_cert, "
                              "tls_key, tls_key_password, tls_sni, "
                              "tls_ciphers, tls_ciphersuites, tls_alpn, "
                              "tls_verify";
    char all[sizeof some + sizeof tls];
    struct hf_error e;
    struct hf_url u;

    (void)hf_url_parse(&u, "redis://h?x=1", &e);
    ck_assert_str_eq(strstr(e.text, " options"), some);
    (void)hf_url_parse(&u, "rediss://h?x=1", &e);
    ck_assert_str_eq(strstr(e.text, " options"),
                     strcat(strcpy(all, some), tls));
}
END_TEST

/* ---- limits ---- */

/* Each part at its limit, and one above it. */
#define MAX(field) (sizeof((struct hf_url *)0)->field - 1)
#define TLS_MAX(field) (sizeof((struct hf_tls_options *)0)->field - 1)

static const struct limit {
    const char *before;
    size_t max;
    const char *after;
} limits[] = {
    {"redis://", MAX(host), ":7000/3"},
    {"redis://", HF_LOGIN_MAX, ":pw@h"},
    {"redis://:", HF_LOGIN_MAX, "@h"},
    {"unix:///", MAX(path) - 1, "?db=3"},
    {"unix:@", MAX(path) - 1, "?db=3"},
    {"redis://h?client_name=", MAX(client_name), "&db=3"},
    {"rediss://h?tls_ca=", TLS_MAX(ca_file), "&db=3"},
    {"rediss://h?tls_ca_dir=", TLS_MAX(ca_dir), "&db=3"},
    {"rediss://h?tls_crl=", TLS_MAX(crl_file), "&db=3"},
    {"rediss://h?tls_cert=", TLS_MAX(cert_file), "&db=3"},
    {"rediss://h?tls_key=", TLS_MAX(key_file), "&db=3"},
    {"rediss://h?tls_key_password=", TLS_MAX(key_password), "&db=3"},
    {"rediss://h?tls_sni=", TLS_MAX(server_name), "&db=3"},
    {"rediss://h?tls_ciphers=", TLS_MAX(ciphers), "&db=3"},
    {"rediss://h?tls_ciphersuites=", TLS_MAX(ciphersuites), "&db=3"},
    {"rediss://h?tls_alpn=", TLS_MAX(alpn), "&db=3"},
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
    hf_url_wipe(&u);
    check_refused(too_long, (unsigned)(strlen(l->before) + l->max + 1),
                  "too long");
    free(fits);
    free(too_long);
}
END_TEST

/* Every beginning of a row, in a block that ends where the text does, so that
 * the sanitizer sees who reads on. */
static void break_off(const char *row)
{
    for (size_t len = 0; len <= strlen(row); len++) {
        char *text = strndup(row, len);
        struct hf_url u = {0};

        ck_assert_ptr_nonnull(text);
        (void)hf_url_parse(&u, text, NULL); /* either is right */
        hf_url_wipe(&u);
        free(text);
    }
}

START_TEST(text_that_breaks_off_anywhere_is_read_no_further)
{
    for (int i = 0; i < COUNT(refused); i++)
        break_off(refused[i].text);
    for (int i = 0; i < COUNT(asked); i++)
        break_off(asked[i].text);
}
END_TEST

/* ---- more than one server ---- */

static const struct seeded {
    const char *text;
    struct hf_seeds seeds;
    int kind;                  /* of the URL */
    const char *user, *password;    /* at the sentinels */
} seeded[] = {
    {"redis://h", {.topology = HF_STANDALONE}, .kind = HF_URL_TCP},
    {"redis+cluster://h",
     {.topology = HF_CLUSTER, .hosts_count = 1, .hosts = {{"h", 6379}}}, .kind = HF_URL_TCP},
    {"redis+cluster://me:pw@h:7000,[::1]:7001,a.b,[::2]/?sharded=off",
     {.topology = HF_CLUSTER, .hosts_count = 4,
      .hosts = {{"h", 7000}, {"::1", 7001}, {"a.b", 6379}, {"::2", 6379}},
      .sharded = HF_SHARDED_OFF},
     .kind = HF_URL_TCP},
    {"rediss+cluster://longer,h?sharded=on&tls_ca=x",
     {.topology = HF_CLUSTER, .hosts_count = 2,
      .hosts = {{"longer", 6379}, {"h", 6379}}, .sharded = HF_SHARDED_ON},
     .kind = HF_URL_TLS},
    {"valkeys+cluster://h/0?sharded=auto",
     {.topology = HF_CLUSTER, .hosts_count = 1, .hosts = {{"h", 6379}}}, .kind = HF_URL_TLS},
    {"redis+cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
     {.topology = HF_CLUSTER, .hosts_count = HF_SEEDS_MAX,
      .hosts = {{"1", 6379}, {"2", 6379}, {"3", 6379}, {"4", 6379},
                {"5", 6379}, {"6", 6379}, {"7", 6379}, {"8", 6379},
                {"9", 6379}, {"10", 6379}, {"11", 6379}, {"12", 6379},
                {"13", 6379}, {"14", 6379}, {"15", 6379}, {"16", 6379}}},
     .kind = HF_URL_TCP},
    {"redis+sentinel://s,[::1]:1/my%20master/3?sentinel_user=a&"
     "sentinel_password=%40",
     {.topology = HF_SENTINEL, .hosts_count = 2, .hosts = {{"s", 26379}, {"::1", 1}},
      .master = "my master"},
     .kind = HF_URL_TCP, .user = "a", .password = "@"},
    {"redis://me:pw@a:7000,[::1],b/3?replicas=1",
     {.topology = HF_REPLICATED, .hosts_count = 3,
      .hosts = {{"a", 7000}, {"::1", 6379}, {"b", 6379}}},
     .kind = HF_URL_TCP},
    {"valkeys://longer,h?tls_ca=x",
     {.topology = HF_REPLICATED, .hosts_count = 2, .hosts = {{"longer", 6379}, {"h", 6379}}},
     .kind = HF_URL_TLS},
};

/* Whichever option comes first. */
START_TEST(sentinels_have_their_own_tls)
{
    static const struct {
        const char *text;
        unsigned at_servers, at_sentinels;
    } urls[] = {
        {"redis+sentinel://s/m", HF_URL_TCP, HF_URL_TCP},
        {"rediss+sentinel://s/m", HF_URL_TLS, HF_URL_TLS},
        {"rediss+sentinel://s/m?sentinel_tls=no&tls_ca=f", HF_URL_TLS, HF_URL_TCP},
        {"rediss+sentinel://s/m?sentinel_tls=yes", HF_URL_TLS, HF_URL_TLS},
        {"redis+sentinel://s/m?tls_ca=f&sentinel_tls=yes", HF_URL_TCP, HF_URL_TLS},
        {"redis+sentinel://s/m?sentinel_tls=yes&tls_ca=f", HF_URL_TCP, HF_URL_TLS},
    };

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct hf_seeds seeds;
        struct hf_url u, moved;

        ck_assert_int_eq(hf_url_parse_seeds(&u, &seeds, urls[i].text, NULL), HF_OK);
        moved = u;
        hf_url_set_server(&moved, "m", 1, NULL);
        ck_assert_uint_eq(moved.kind, urls[i].at_servers);
        hf_url_set_server(&moved, "s", 2, &seeds);
        ck_assert_uint_eq(moved.kind, urls[i].at_sentinels);
        hf_url_wipe(&u);
        hf_seeds_wipe(&seeds);
    }
}
END_TEST

/* Any number of them, in any topology. */
START_TEST(addresses_to_map_are_kept)
{
    struct hf_endpoint at = {"10.0.0.5", 7002};
    struct hf_seeds seeds;
    struct hf_url u;

    ck_assert_int_eq(
        hf_url_parse_seeds(&u, &seeds,
                           "redis+cluster://h?map=10.0.0.5:7001=db1:17001&timeout=1s"
                           "&map=10.0.0.5:7002=[::1%25x]:17002",
                           NULL),
        HF_OK);
    ck_assert(hf_address_map_apply(seeds.address_map, &at));
    ck_assert_str_eq(at.host, "::1%x");
    ck_assert_uint_eq(at.port, 17002);
    hf_seeds_wipe(&seeds);
    ck_assert_int_eq(hf_url_parse_seeds(&u, &seeds, "redis://h?map=a=b", NULL), HF_OK);
    ck_assert_ptr_nonnull(seeds.address_map);
    hf_seeds_wipe(&seeds);
    ck_assert_int_eq(hf_url_parse_seeds(&u, &seeds, "redis://h", NULL), HF_OK);
    ck_assert_ptr_null(seeds.address_map); /* the space is only for those who need it */
}
END_TEST

START_TEST(seeds_are_taken_apart_into_hosts)
{
    const struct seeded *t = &seeded[_i];
    struct hf_seeds seeds;
    struct hf_url u;

    memset(&seeds, 0x5a, sizeof seeds);
    ck_assert_int_eq(hf_url_parse_seeds(&u, &seeds, t->text, NULL), HF_OK);
    ck_assert_int_eq((int)seeds.topology, (int)t->seeds.topology);
    ck_assert_int_eq((int)seeds.sharded, (int)t->seeds.sharded);
    ck_assert_uint_eq(seeds.hosts_count, t->seeds.hosts_count);
    ck_assert_mem_eq(seeds.hosts, t->seeds.hosts, sizeof seeds.hosts);
    ck_assert_str_eq(seeds.master, t->seeds.master);
    check_login(seeds.sentinel_login, t->user, t->password);
    hf_seeds_wipe(&seeds);
    ck_assert_int_eq((int)u.kind, t->kind);
    if (seeds.hosts_count > 0) {
        ck_assert_str_eq(u.host, seeds.hosts[0].host);
        ck_assert_int_eq(u.port, seeds.hosts[0].port);
    }
    hf_url_wipe(&u);
    if (seeds.hosts_count == 0)
        return;
    ck_assert_int_eq(hf_url_parse(&u, t->text, NULL), HF_E_INVAL);
}
END_TEST

static const struct {
    const char *text;
    const char *mark;          /* where the error points: at this, first */
} no_seeds[] = {
    {"redis+cluster://", ""},
    {"redis+cluster://,h", ",h"},
    {"redis+cluster://h,", ""},
    {"redis+cluster://h,,i", ",i"},
    {"redis+cluster://h, i", " i"},
    {"redis+cluster://h:0,i", "0,i"},
    {"redis+cluster://h,i:65536", ""},
    {"redis+cluster://h,::1", "::1"},
    {"redis+cluster://h,[::1,i", "[::1"},
    {"redis+cluster://h/1", ""},
    {"redis+cluster://h?db=1", ""},
    {"redis+cluster://h?sharded=yes", "yes"},
    {"redis+cluster://h?sharded=", ""},
    {"redis+cluster://h?sentinel_user=a", "sentinel_user"},
    {"redis+cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "17"},
    {"redis://h?sharded=on", "sharded"},
    {"redis://h,i?sharded=on", "sharded"},
    {"redis://h,i?sentinel_user=a", "sentinel_user"},
    {"redis://h,,i", ",i"},
    {"redis://h,i:0", "0"},
    {"redis://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "17"},
    {"redis://h,i?tls_ca=a", "tls_ca"},
    {"unix+cluster:///s", ""},
    {"redis+cluster+cluster://h", ""},
    {"redis+sentinel://h", ""},
    {"redis+sentinel://h/", ""},
    {"redis+sentinel://h/m?sharded=on", "sharded"},
    {"redis+cluster://h?sentinel_tls=yes", "sentinel_tls"},
    {"redis://h?sentinel_tls=no", "sentinel_tls"},
    {"redis+sentinel://h/m?sentinel_tls=1", "1"},
    {"redis+sentinel://h/m?tls_ca=a", "tls_ca"},
    {"redis+sentinel://h/m?tls_ca=a&sentinel_tls=no", "tls_ca"},
    {"redis+cluster://h?map=zz", "zz"},
    {"redis+cluster://h?map=a=b&map=a=c", "a=c"},
};

/* "" as a mark: anywhere. */
START_TEST(wrong_seeds_are_refused_and_leave_no_trace)
{
    const char *text = no_seeds[_i].text;
    struct hf_seeds seeds, before;
    struct hf_url u;
    struct hf_error e;
    size_t position;

    memset(&seeds, 0x5a, sizeof seeds);
    before = seeds;
    ck_assert_int_eq(hf_url_parse_seeds(&u, &seeds, text, &e), HF_E_INVAL);
    ck_assert_mem_eq(&seeds, &before, sizeof seeds);
    ck_assert_int_eq(sscanf(e.text, "the URL is wrong at character %zu",
                            &position),
                     1);
    ck_assert_uint_le(position, strlen(text) + 1);
    if (no_seeds[_i].mark[0])
        ck_assert_msg(strstr(text, no_seeds[_i].mark) == text + position - 1,
                      "%s", e.text);
}
END_TEST

/* ---- TLS from elsewhere ---- */

static struct hf_tls_options all_tls = {"A", "B", "C", "D", "E", "F",
                                        "G", "H", "I", "J", true};

START_TEST(explicit_tls_options_override_the_url)
{
    struct hf_url u;

    ck_assert_int_eq(hf_url_parse(&u, "rediss://h?tls_ca=a&tls_sni=g", NULL),
                     HF_OK);
    ck_assert_int_eq(hf_url_set_tls(&u, &all_tls, NULL), HF_OK);
    check_options(&u, &(struct hf_url){.tls = &all_tls});
    hf_url_wipe(&u);
}
END_TEST

START_TEST(other_tls_options_come_from_the_url)
{
    const struct hf_tls_options key = {.key_file = "key"};
    struct hf_url u;

    ck_assert_int_eq(
        hf_url_parse(&u, "rediss://h?tls_ca=a&tls_key=b&tls_verify=no", NULL),
        HF_OK);
    ck_assert_int_eq(hf_url_set_tls(&u, &key, NULL), HF_OK);
    check_tls(hf_url_tls(&u), &(struct hf_tls_options){.ca_file = "a",
                                                       .key_file = "key",
                                                       .is_unverified = true});
    hf_url_wipe(&u);
}
END_TEST

START_TEST(tls_is_only_for_urls_of_tls)
{
    static const char *const urls[] = {"redis://h", "unix:///s", "unix:@s"};
    const struct hf_tls_options none = {.alpn = ""};
    const struct hf_tls_options last = {.is_unverified = true};
    struct hf_error e;
    struct hf_url u, before;

    ck_assert_int_eq(hf_url_parse(&u, urls[_i], NULL), HF_OK);
    before = u;
    ck_assert_int_eq(hf_url_set_tls(&u, &none, &e), HF_OK);
    ck_assert_int_eq(hf_url_set_tls(&u, &last, &e), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(e.text, "tls_verify"));
    check_options(&u, &before);
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
    {"unix:@redis?client_name=x", "unix:@redis"},
};

START_TEST(address_is_formatted_for_a_person)
{
    struct hf_url u;
    char text[300], cut[5];

    ck_assert_int_eq(hf_url_parse(&u, addresses[_i].url, NULL), HF_OK);
    ck_assert_ptr_eq(hf_url_address(&u, text, sizeof text), text);
    ck_assert_str_eq(text, addresses[_i].address);
    ck_assert_uint_eq(strlen(hf_url_address(&u, cut, sizeof cut)), 4);
    hf_url_wipe(&u);
}
END_TEST

/* Sentinels have a login of their own, or none; a master has the URL's. */
START_TEST(moved_url_has_the_login_of_the_server_that_it_goes_to)
{
    static const char *const logins[] = {
        "", "?sentinel_user=s&sentinel_password=t", "?sentinel_password=t"};
    struct hf_seeds seeds;
    struct hf_url u, at_sentinel, at_master;
    char text[100];

    (void)snprintf(text, sizeof text, "redis+sentinel://me:" SECRET "@h/m/3%s",
                   logins[_i]);
    ck_assert_int_eq(hf_url_parse_seeds(&u, &seeds, text, NULL), HF_OK);
    at_sentinel = at_master = u;
    hf_url_set_server(&at_sentinel, "other", 7, &seeds);
    ck_assert_str_eq(at_sentinel.host, "other");
    ck_assert_uint_eq(at_sentinel.port, 7);
    check_login(at_sentinel.login, _i == 1 ? "s" : "", _i > 0 ? "t" : NULL);
    ck_assert_uint_eq(at_sentinel.database, 0);
    hf_url_set_server(&at_master, "other", 7, NULL);
    ck_assert_str_eq(at_master.host, "other");
    ck_assert_uint_eq(at_master.port, 7);
    check_login(at_master.login, "me", SECRET);
    ck_assert_uint_eq(at_master.database, 3);
    hf_url_wipe(&u);
    hf_seeds_wipe(&seeds);
}
END_TEST

static const struct {
    const char *url;
    const char *path;
    size_t len;                /* that count */
} sockets[] = {
    {"unix:///run/s", "/run/s", sizeof(struct sockaddr_un)},
    {"unix:///@s", "/@s", sizeof(struct sockaddr_un)},
    {"unix:@ab", "\0ab", offsetof(struct sockaddr_un, sun_path) + 3},
    {"unix:@@", "\0@", offsetof(struct sockaddr_un, sun_path) + 2},
};

START_TEST(socket_is_a_file_or_an_abstract_name)
{
    char path[sizeof((struct sockaddr_un *)0)->sun_path] = "";
    struct sockaddr_un un;
    struct hf_url u;

    memset(&un, 0x5a, sizeof un);
    memcpy(path, sockets[_i].path, strlen(sockets[_i].path + 1) + 1);
    ck_assert_int_eq(hf_url_parse(&u, sockets[_i].url, NULL), HF_OK);
    ck_assert_uint_eq(hf_url_sockaddr(&u, &un), sockets[_i].len);
    ck_assert_int_eq(un.sun_family, AF_UNIX);
    ck_assert_mem_eq(un.sun_path, path, sizeof path);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/url");
    TCase *c = tcase_create("url");

    tcase_add_loop_test(c, url_is_taken_apart_into_its_parts, 0, COUNT(taken));
    tcase_add_loop_test(c, options_go_where_they_belong, 0, COUNT(asked));
    tcase_add_loop_test(c, error_points_at_the_character_and_hides_the_password,
                        0, COUNT(refused));
    tcase_add_test(c, unknown_option_is_answered_with_those_there_are);
    tcase_add_loop_test(c, part_at_its_limit_is_taken_and_one_byte_more_is_not,
                        0, COUNT(limits));
    tcase_add_test(c, text_that_breaks_off_anywhere_is_read_no_further);
    tcase_add_test(c, sentinels_have_their_own_tls);
    tcase_add_test(c, addresses_to_map_are_kept);
    tcase_add_loop_test(c, seeds_are_taken_apart_into_hosts, 0, COUNT(seeded));
    tcase_add_loop_test(c, wrong_seeds_are_refused_and_leave_no_trace, 0,
                        COUNT(no_seeds));
    tcase_add_test(c, explicit_tls_options_override_the_url);
    tcase_add_test(c, other_tls_options_come_from_the_url);
    tcase_add_loop_test(c, tls_is_only_for_urls_of_tls, 0, 3);
    tcase_add_loop_test(c, address_is_formatted_for_a_person,
                        0, COUNT(addresses));
    tcase_add_loop_test(
        c, moved_url_has_the_login_of_the_server_that_it_goes_to, 0, 3);
    tcase_add_loop_test(c, socket_is_a_file_or_an_abstract_name, 0,
                        COUNT(sockets));
    suite_add_tcase(s, c);
    return suite_run(s);
}
