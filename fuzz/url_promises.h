/* What must hold of a URL that is taken, and of one that is refused. */
#ifndef FUZZ_URL_PROMISES_H
#define FUZZ_URL_PROMISES_H

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "net/base/url.h"
#include "net/net.h"
#include "tests/support/must.h"

/* %XX for every byte, and the names of options. The fuzzer's inputs are shorter than
 * a login may be: FUZZ_LOGIN_MAX bytes of each are enough. */
#define FUZZ_LOGIN_MAX 8192
#define TEXT_MAX (3 * (sizeof(struct hf_url) + 2 * FUZZ_LOGIN_MAX) + 1024)

/* ---- the URL as text again, every byte escaped ---- */

static inline char *escape(char *to, const char *bytes)
{
    for (; *bytes; bytes++)
        to += sprintf(to, "%%%02x", (unsigned)(unsigned char)*bytes);
    *to = '\0';
    return to;
}

static inline char *write_option(char *to, const char *name, const char *text)
{
    return *text ? escape(to + sprintf(to, "&%s=", name), text) : to;
}

static inline char *write_tls(char *to, const struct hf_tls_options *tls)
{
    to = write_option(to, "tls_ca", tls->ca_file);
    to = write_option(to, "tls_ca_dir", tls->ca_dir);
    to = write_option(to, "tls_crl", tls->crl_file);
    to = write_option(to, "tls_cert", tls->cert_file);
    to = write_option(to, "tls_key", tls->key_file);
    to = write_option(to, "tls_key_password", tls->key_password);
    to = write_option(to, "tls_sni", tls->server_name);
    to = write_option(to, "tls_ciphers", tls->ciphers);
    to = write_option(to, "tls_ciphersuites", tls->ciphersuites);
    to = write_option(to, "tls_alpn", tls->alpn);
    return to + sprintf(to, "%s", tls->is_unverified ? "&tls_verify=no" : "");
}

static inline void write_options(char *to, const struct hf_url *u)
{
    to += sprintf(to, "?db=%u", (unsigned)u->database);
    to = write_option(to, "client_name", u->client_name);
    to = write_option(to, "label", u->label);
    if (u->protocol)
        to += sprintf(to, "&protocol=%d", u->protocol);
    if (u->connect_timeout_ms)
        to += sprintf(to, "&connect_timeout=%lldms",
                      (long long)u->connect_timeout_ms);
    if (u->timeout_ms)
        to += sprintf(to, "&timeout=%lldms", (long long)u->timeout_ms);
    if (u->idle_check_ms)
        to += sprintf(to, "&idle_check=%lldms", (long long)u->idle_check_ms);
    if (u->replicas > 0)
        to += sprintf(to, "&replicas=%d", u->replicas);
    if (u->replicas < 0)
        to += sprintf(to, "&replicas=%s",
                      u->replicas == HF_REPLICAS_ALL ? "all" : "majority");
    if (u->replicas_timeout_ms)
        to += sprintf(to, "&replicas_timeout=%lldms",
                      (long long)u->replicas_timeout_ms);
    (void)write_tls(to, hf_url_tls(u));
}

static inline char *write_host(char *to, const struct hf_url *u)
{
    bool is_ipv6 = strchr(u->host, ':') != NULL;

    to = escape(to + sprintf(to, is_ipv6 ? "[" : ""), u->host);
    return to + sprintf(to, is_ipv6 ? "]:%u/" : ":%u/", (unsigned)u->port);
}

static inline char *write_login(char *to, const struct hf_login *login)
{
    to = escape(to, login ? login->user : "");
    return escape(to + sprintf(to, ":"), login ? login->password : "");
}

static inline void write_out(const struct hf_url *u, char *to)
{
    static const char *const schemes[] = {"redis", "rediss", "unix"};

    if (u->path[0] == '@') {
        to = escape(to + sprintf(to, "unix:@"), u->path + 1);
    } else {
        to = write_login(to + sprintf(to, "%s://", schemes[u->kind]), u->login);
        to += sprintf(to, "@");
        to = u->kind == HF_URL_UNIX ? escape(to + sprintf(to, "/"), u->path + 1)
                                    : write_host(to, u);
    }
    write_options(to, u);
}

/* ---- promises ---- */

static inline void must_have_address(const struct hf_url *u)
{
    struct sockaddr_un socket;
    size_t len;
    char address[400];

    must(strlen(hf_url_address(u, address, sizeof address)) >= 3);
    if (u->kind != HF_URL_UNIX)
        return;
    len = hf_url_sockaddr(u, &socket);
    must(len <= sizeof socket && socket.sun_family == AF_UNIX);
    must(strcmp(socket.sun_path + (u->path[0] == '@'),
                u->path + (u->path[0] == '@')) == 0);
}

static inline void must_be_whole(const struct hf_url *u)
{
    must(u->kind == HF_URL_UNIX ? u->path[0] && !u->host[0]
                                : u->port > 0 && u->host[0] && !u->path[0]);
    must(!u->login || u->login->user[0] || u->login->password[0]);
    must(u->protocol == 0 || u->protocol == 2 || u->protocol == 3);
}

/* Logins and options of TLS by what they say, all else by its bytes. */
static inline void must_be_same(const struct hf_url *a, const struct hf_url *b)
{
    struct hf_url other = *b;

    other.login = a->login;
    other.tls = a->tls;
    must(memcmp(hf_url_tls(a), hf_url_tls(b), sizeof *a->tls) == 0);
    must(hf_login_is_equal(a->login, b->login));
    must(memcmp(a, &other, sizeof other) == 0);
}

static inline void must_be_same_seeds(const struct hf_seeds *a, const struct hf_seeds *b)
{
    struct hf_seeds other = *b;

    other.sentinel_login = a->sentinel_login;
    other.address_map = a->address_map;
    must(hf_login_is_equal(a->sentinel_login, b->sentinel_login));
    must(!a->address_map == !b->address_map);
    must(!a->address_map ||
         memcmp(a->address_map->text, b->address_map->text, sizeof a->address_map->text) == 0);
    must(memcmp(a, &other, sizeof other) == 0);
}

static inline void must_come_back(const struct hf_url *u)
{
    struct hf_url again;
    char text[TEXT_MAX];

    write_out(u, text);
    must(hf_url_parse(&again, text, NULL) == HF_OK);
    must_be_same(u, &again);
    hf_url_wipe(&again);
}

/* The same mistake behind it, with these passwords and with others. */
static inline void must_hide_passwords(const struct hf_url *u)
{
    struct hf_tls_options tls = *hf_url_tls(u);
    struct hf_url other = *u, ignored;
    struct hf_error with, without;
    char text[TEXT_MAX];

    if (u->login) {
        char *password = strdup(u->login->password);

        memset(password, 'x', strlen(password));
        other.login = hf_login_new(u->login->user, password, NULL);
        free(password);
    }
    memset(tls.key_password, 'x', strlen(tls.key_password));
    other.tls = &tls;
    write_out(u, text);
    must(hf_url_parse(&ignored, strcat(text, "#"), &with) == HF_E_INVAL);
    write_out(&other, text);
    must(hf_url_parse(&ignored, strcat(text, "#"), &without) == HF_E_INVAL);
    must(strcmp(with.text, without.text) == 0);
    hf_login_unref(other.login);
}

/* What is given at once wins over what stands in the URL, and what is not given
 * leaves it alone: piece by piece the URL's TLS options move into another URL,
 * over whatever that had. Only rediss:// takes any. */
static inline void must_take_tls(const struct hf_url *u)
{
    const struct hf_tls_options none = {0}, *given = hf_url_tls(u);
    struct hf_tls_options older = {.ca_file = "/an/older/one", .alpn = "older"};
    struct hf_url to = *u;
    struct hf_error e;

    must(hf_url_set_tls(&to, &none, &e) == HF_OK);
    must(to.tls == u->tls);
    to.tls = NULL;
    must(hf_url_set_tls(&to, given, &e) == HF_OK);
    must(memcmp(hf_url_tls(&to), given, sizeof none) == 0);
    free(to.tls);
    to.tls = &older;
    must(hf_url_set_tls(&to, given, &e) == HF_OK);
    must(strcmp(older.ca_file, given->ca_file[0] ? given->ca_file : "/an/older/one") == 0);
    must(strcmp(older.alpn, given->alpn[0] ? given->alpn : "older") == 0);
}

static inline void must_take_tls_only_for_tls(const struct hf_url *u)
{
    const struct hf_tls_options given = {.ca_file = "/a", .server_name = "b"};
    struct hf_tls_options tls = *hf_url_tls(u);
    struct hf_url to = *u;
    struct hf_error e = {0};
    hf_status rc;

    to.tls = &tls;
    rc = hf_url_set_tls(&to, &given, &e);
    must(rc == (u->kind == HF_URL_TLS ? HF_OK : HF_E_INVAL));
    must(e.status == rc);
    must(rc == HF_OK ? strcmp(tls.server_name, "b") == 0
                     : memcmp(&tls, hf_url_tls(u), sizeof tls) == 0);
}

static inline void must_be_taken(const struct hf_url *u)
{
    must_be_whole(u);
    must_have_address(u);
    must_come_back(u);
    must_hide_passwords(u);
    must_take_tls(u);
    must_take_tls_only_for_tls(u);
}

/* ---- more than one server ---- */

/* Of an entry of three characters, "&map=" and what they may become are most. */
#define SEEDS_TEXT_MAX                                                         \
    (TEXT_MAX + 3 * (sizeof(struct hf_seeds) + 2 * FUZZ_LOGIN_MAX) +           \
     4 * HF_ADDRESS_MAP_MAX)

static inline char *write_seeds(char *to, const struct hf_url *u,
                                const struct hf_seeds *seeds)
{
    for (uint32_t i = 0; i < seeds->hosts_count; i++) {
        struct hf_url one = *u;

        memcpy(one.host, seeds->hosts[i].host, sizeof one.host);
        one.port = seeds->hosts[i].port;
        to = write_host(to + sprintf(to, i ? "," : ""), &one) - 1;
    }
    return to + sprintf(to, "/");
}

static inline void write_out_seeds(const struct hf_url *u,
                                   const struct hf_seeds *seeds, char *to)
{
    static const char *const sharded[] = {"auto", "on", "off", "both"};
    static const char *const schemes[] = {
        [HF_CLUSTER] = "+cluster", [HF_SENTINEL] = "+sentinel", [HF_REPLICATED] = ""};
    bool is_cluster = seeds->topology == HF_CLUSTER;

    to += sprintf(to, "redis%s%s://", u->kind == HF_URL_TLS ? "s" : "",
                  schemes[seeds->topology]);
    to = write_login(to, u->login);
    to = write_seeds(to + sprintf(to, "@"), u, seeds);
    to = escape(to, seeds->master);
    write_options(to, u);
    to += strlen(to);
    for (const char *p = seeds->address_map ? seeds->address_map->text : ""; *p; p += strlen(p) + 1)
        to = write_option(to, "map", p);
    if (is_cluster)
        (void)sprintf(to, "&sharded=%s", sharded[seeds->sharded]);
    if (!seeds->sentinel_login)
        return;
    to = write_option(to, "sentinel_user", seeds->sentinel_login->user);
    (void)write_option(to, "sentinel_password", seeds->sentinel_login->password);
}

/* Of one server: as hf_url_parse has it. Of more: the first is the URL's, each
 * is whole, and all of it comes back. */
static inline void must_be_taken_seeds(const struct hf_url *u,
                                       const struct hf_seeds *seeds,
                                       const char *text)
{
    struct hf_seeds seeds_again;
    char again[SEEDS_TEXT_MAX];
    struct hf_url one;

    memset(&one, 0, sizeof one);
    must((hf_url_parse(&one, text, NULL) == HF_OK) == (seeds->hosts_count == 0));
    must((seeds->hosts_count == 0) == (seeds->topology == HF_STANDALONE));
    if (seeds->hosts_count == 0) {
        must_be_same(&one, u);
        hf_url_wipe(&one);
        return;
    }
    must(seeds->hosts_count <= HF_SEEDS_MAX && u->kind != HF_URL_UNIX);
    must(strcmp(u->host, seeds->hosts[0].host) == 0);
    must(u->port == seeds->hosts[0].port);
    must(!seeds->master[0] == (seeds->topology != HF_SENTINEL));
    must(seeds->topology != HF_REPLICATED || seeds->hosts_count > 1);
    for (uint32_t i = 0; i < seeds->hosts_count; i++)
        must(seeds->hosts[i].host[0] && seeds->hosts[i].port);
    write_out_seeds(u, seeds, again);
    must(hf_url_parse_seeds(&one, &seeds_again, again, NULL) == HF_OK);
    must_be_same(u, &one);
    must_be_same_seeds(seeds, &seeds_again);
    hf_url_wipe(&one);
    hf_seeds_wipe(&seeds_again);
}

/* ---- what is refused ---- */

static inline void must_be_refused(const struct hf_url *u, const char *text,
                                   const struct hf_error *e)
{
    static const struct hf_url untouched;
    size_t position = 0;

    must(e->status == HF_E_INVAL);
    must(sscanf(e->text, "the URL is wrong at character %zu: ", &position) ==
         1);
    must(position >= 1 && position <= strlen(text) + 1);
    must(memcmp(u, &untouched, sizeof *u) == 0);
}

#endif
