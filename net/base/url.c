/* Server URLs, read strictly: a URL that is ambiguous or misspelled is refused with the position.
 * A lock on the wrong server protects nothing.
 *
 * URL-1  The text of an error consists of constants and a position: any part of the URL that it
 *        quoted could be a password.
 * URL-2  There is no default host: redis://:pw@$HOST with an unset variable must not become
 *        localhost.
 * URL-3  Only ASCII, compared by value: no locale, and no strtol with its signs, spaces and octal
 *        numbers.
 *
 * Sources: IANA "redis"; RFC 3986 "Authority", "Percent-Encoding"; RFC 6874 (zones of IPv6
 * addresses). */
/* Tests: tests/test_net_url.c. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "net/base/endpoint.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/url_scan.h"
#include "net/base/utf8.h"

#define SERVER_PORT 6379   /* the default ports of Redis and of its sentinels */
#define SENTINEL_PORT 26379

static const char *find_char_in_span(struct hf_span in, char c)
{
    return memchr(in.from, c, (size_t)(in.to - in.from));
}

/* ---- characters ---- */

static bool is_printable_char(unsigned char c)
{
    return c > ' ' && c != 127;
}

/* A file that was read with its newline, an address pasted with a space. */
static hf_status check_url_text(const struct hf_scan *s)
{
    const char *variable = strstr(s->text, "${");

    for (const char *p = s->text; *p; p++)
        if (!is_printable_char((unsigned char)*p))
            return hf_scan_refuse(s, p, "a space or control character");
    if (variable)
        return hf_scan_refuse(s, variable, "this variable was not replaced; in a password, $ is"
                              " written %24");
    return HF_OK;
}

/* Bytes above 127 are left to the resolver, which may know the name. */
static bool is_host_name_char(unsigned char c)
{
    return is_printable_char(c) && !strchr("/?#[]@:%\\$", c);
}

static bool is_ip_literal_char(unsigned char c)
{
    return is_host_name_char(c) || c == ':' || c == '%';
}

/* ---- scheme ---- */

/* valkey and valkeys: as valkey-cli spells them. */
static const struct {
    const char *name;
    unsigned kind;
    unsigned topology;
} schemes[] = {
    {"redis://", HF_URL_TCP, HF_STANDALONE},
    {"rediss://", HF_URL_TLS, HF_STANDALONE},
    {"valkey://", HF_URL_TCP, HF_STANDALONE},
    {"valkeys://", HF_URL_TLS, HF_STANDALONE},
    {"unix://", HF_URL_UNIX, HF_STANDALONE},
    {"redis+unix://", HF_URL_UNIX, HF_STANDALONE},
    {"redis-socket://", HF_URL_UNIX, HF_STANDALONE},
    {"redis+cluster://", HF_URL_TCP, HF_CLUSTER},
    {"rediss+cluster://", HF_URL_TLS, HF_CLUSTER},
    {"valkey+cluster://", HF_URL_TCP, HF_CLUSTER},
    {"valkeys+cluster://", HF_URL_TLS, HF_CLUSTER},
    {"redis+sentinel://", HF_URL_TCP, HF_SENTINEL},
    {"rediss+sentinel://", HF_URL_TLS, HF_SENTINEL},
    {"valkey+sentinel://", HF_URL_TCP, HF_SENTINEL},
    {"valkeys+sentinel://", HF_URL_TLS, HF_SENTINEL},
};

/* Schemes have no case (RFC 3986, 3.1); `name` is in lower case. */
static bool begins_with_ignoring_case(const char *text, const char *name)
{
    for (; *name; text++, name++) {
        char c = *text;

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c != *name)
            return false;
    }
    return true;
}

#define URL_BEGINNINGS                                                              \
    "it begins with redis://, rediss://, redis+cluster://, redis+sentinel://, unix:// " \
    "or unix:@"

static hf_status scan_scheme(struct hf_url *u, struct hf_scan *s)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (!begins_with_ignoring_case(s->at, schemes[i].name))
            continue;
        u->kind = schemes[i].kind;
        s->seeds->topology = schemes[i].topology;
        s->at += strlen(schemes[i].name);
        return HF_OK;
    }
    if (!*s->at)
        return hf_scan_refuse(s, s->at, "it is empty");
    return hf_scan_refuse(s, s->at,
                          *s->at == '"' || *s->at == '\'' ? "without the quotes, " URL_BEGINNINGS
                                                          : URL_BEGINNINGS);
}

/* ---- user and password ---- */

static hf_status refuse_at_sign_without_user(const struct hf_url *u, const struct hf_scan *s,
                                             const char *end)
{
    /* Only after unix:// may a path or an option contain an @. Elsewhere it ends a
     * password that contains the preceding / or ?. */
    if (u->kind != HF_URL_UNIX && strchr(end, '@'))
        return hf_scan_refuse(s, end,
                              "in a user or password, / is written %2F, ? is"
                              " %3F and # is %23; in an option, @ is %40");
    return HF_OK;
}

/* Neither of them: no login. */
static hf_status create_login_if_given(const struct hf_scan *s, struct hf_login **out,
                                       const char *user, const char *password)
{
    struct hf_error err = {0};

    if ((!user || !*user) && (!password || !*password))
        return HF_OK;
    *out = hf_login_new(user, password, &err);
    return *out ? HF_OK : hf_error_set(s->err, err.status, "%s", err.text);
}

/* Up to the @ of the authority, which ends at `end`. A name alone is refused:
 * redis-cli takes it for a password, others for a user. */
static hf_status scan_user_and_password(struct hf_url *u, struct hf_scan *s, const char *end)
{
    const char *at = find_char_in_span((struct hf_span){s->at, end}, '@');
    char *user = NULL, *password = NULL;
    const char *colon;
    hf_status rc;

    if (!at)
        return refuse_at_sign_without_user(u, s, end);
    if (find_char_in_span((struct hf_span){at + 1, end}, '@'))
        return hf_scan_refuse(s, at, "in a user or password, @ is written %40");
    colon = find_char_in_span((struct hf_span){s->at, at}, ':');
    if (!colon)
        return hf_scan_refuse(s, at,
                              "before @ stands user:password or :password");
    if ((rc = hf_scan_secret(s, (struct hf_span){s->at, colon}, &user)) == HF_OK &&
        (rc = hf_scan_secret(s, (struct hf_span){colon + 1, at}, &password)) == HF_OK)
        rc = create_login_if_given(s, &u->login, user, password);
    hf_scan_free_secret(user);
    hf_scan_free_secret(password);
    s->at = at + 1;
    return rc;
}

/* ---- host and port ---- */

static hf_status scan_ip_literal(struct hf_url *u, struct hf_scan *s,
                                 const char *end)
{
    struct hf_span part = {s->at + 1, find_char_in_span((struct hf_span){s->at, end}, ']')};
    const char *zone;
    hf_status rc;

    if (!part.to)
        return hf_scan_refuse(s, s->at, "this [ has no ]");
    rc = hf_scan_decode(s, part, u->host, sizeof u->host, is_ip_literal_char);
    zone = find_char_in_span(part, '%');
    if ((rc < 0 || !hf_host_is_ipv6(u->host)) && zone && strncmp(zone, "%25", 3) != 0)
        return hf_scan_refuse(s, zone, "the zone of an IPv6 address comes after %25: "
                                       "[fe80::1%25eth0]");
    if (rc < 0)
        return rc;
    if (!hf_host_is_ipv6(u->host))
        return hf_scan_refuse(s, part.from,
                              "brackets are for an IPv6 address; its zone"
                              " follows %25");
    s->at = part.to + 1;
    return HF_OK;
}

static hf_status scan_host_name(struct hf_url *u, struct hf_scan *s, const char *end)
{
    const char *colon = find_char_in_span((struct hf_span){s->at, end}, ':');
    struct hf_span part = {s->at, colon ? colon : end};

    if (colon && find_char_in_span((struct hf_span){colon + 1, end}, ':'))
        return hf_scan_refuse(s, s->at, "an IPv6 address stands in brackets");
    if (part.from == part.to)
        return hf_scan_refuse(s, s->at, "the host is missing");
    s->at = part.to;
    return hf_scan_decode(s, part, u->host, sizeof u->host, is_host_name_char);
}

static hf_status scan_port(struct hf_url *u, struct hf_scan *s, const char *end)
{
    uint32_t port = s->seeds->topology == HF_SENTINEL ? SENTINEL_PORT
                                                      : SERVER_PORT;
    hf_status rc = HF_OK;

    if (s->at < end && *s->at != ':')
        return hf_scan_refuse(s, s->at, "after the host comes : and the port");
    if (s->at < end)
        rc = hf_scan_number(s, (struct hf_span){s->at + 1, end}, 1, UINT16_MAX,
                            "the port is a number from 1 to 65535", &port);
    u->port = (uint16_t)port;
    s->at = end;
    return rc;
}

static hf_status scan_host(struct hf_url *u, struct hf_scan *s, const char *end)
{
    hf_status rc =
        *s->at == '[' ? scan_ip_literal(u, s, end) : scan_host_name(u, s, end);

    return rc < 0 ? rc : scan_port(u, s, end);
}

/* Reads several hosts; the first is also that of the URL. */
static hf_status scan_several_hosts(struct hf_url *u, struct hf_scan *s, const char *end)
{
    struct hf_seeds *seeds = s->seeds;
    hf_status rc = HF_OK;

    do {
        const char *comma = find_char_in_span((struct hf_span){s->at, end}, ',');

        if (seeds->hosts_count == HF_SEEDS_MAX)
            return hf_scan_refuse(s, s->at, "more than 16 hosts");
        memset(u->host, 0, sizeof u->host); /* the previous host may be longer */
        rc = scan_host(u, s, comma ? comma : end);
        memcpy(seeds->hosts[seeds->hosts_count].host, u->host, sizeof u->host);
        seeds->hosts[seeds->hosts_count++].port = u->port;
        s->at += comma != NULL;
        if (!comma)
            break;
    } while (rc == HF_OK);
    memcpy(u->host, seeds->hosts[0].host, sizeof u->host);
    u->port = seeds->hosts[0].port;
    return rc;
}

/* A comma that is written in another way; NULL: there is none. */
static const char *find_encoded_comma(const char *at, const char *end)
{
    for (; at != end; at++)
        if (*at == ';' || (end - at >= 3 && strncasecmp(at, "%2c", 3) == 0))
            return at;
    return NULL;
}

static hf_status scan_hosts(struct hf_url *u, struct hf_scan *s, const char *end)
{
    const char *odd = find_encoded_comma(s->at, end);
    unsigned several = find_char_in_span((struct hf_span){s->at, end}, ',') ? HF_REPLICATED
                                                              : HF_STANDALONE;

    if (odd)
        return hf_scan_refuse(s, odd, "write a plain comma between hosts: a,b");
    if (s->seeds->topology == HF_STANDALONE)
        s->seeds->topology = several;
    return s->seeds->topology == HF_STANDALONE ? scan_host(u, s, end)
                                               : scan_several_hosts(u, s, end);
}

/* ---- path ---- */

static hf_status scan_socket_path(struct hf_url *u, struct hf_scan *s,
                                  const char *from)
{
    struct hf_span part = {from, from + strcspn(from, "?#")};

    if (part.to - part.from < 2)
        return hf_scan_refuse(s, from, "the path of the socket is missing");
    s->at = part.to;
    return hf_scan_decode(s, part, u->path, sizeof u->path, NULL);
}

static hf_status scan_unix_place(struct hf_url *u, struct hf_scan *s,
                                 const char *end)
{
    if (s->at < end)
        return hf_scan_refuse(s, s->at, "a Unix URL has no host: unix:///path");
    return scan_socket_path(u, s, end);
}

/* Whether there was a number is not to be seen from the number. */
static hf_status scan_database(struct hf_url *u, struct hf_scan *s,
                               bool *is_given)
{
    struct hf_span part = {s->at + 1, s->at + strcspn(s->at, "?#")};

    *is_given = *s->at == '/' && part.from < part.to;
    s->at = part.to;
    return *is_given ? hf_scan_database(s, part, &u->database) : HF_OK;
}

static hf_status scan_master_name(struct hf_scan *s)
{
    struct hf_span part = {s->at + (*s->at == '/'), NULL};

    part.to = part.from + strcspn(part.from, "/?#");
    if (part.from == part.to)
        return hf_scan_refuse(s, part.from,
                              "the master's name is missing: ...host/name");
    s->at = part.to;
    return hf_scan_decode(s, part, s->seeds->master, sizeof s->seeds->master,
                          NULL);
}

/* ---- the whole ---- */

static hf_status refuse_database_of_cluster(const struct hf_url *u,
                                            const struct hf_scan *s, const char *at)
{
    if (s->seeds->topology == HF_CLUSTER && u->database != 0)
        return hf_scan_refuse(s, at, "a cluster has database 0 alone");
    return HF_OK;
}

/* Up to the options. */
static hf_status scan_hosts_and_path(struct hf_url *u, struct hf_scan *s,
                                     const char *end, bool *has_database)
{
    hf_status rc;

    if (u->kind == HF_URL_UNIX)
        return scan_unix_place(u, s, end);
    rc = scan_hosts(u, s, end);
    if (rc == HF_OK && s->seeds->topology == HF_SENTINEL)
        rc = scan_master_name(s);
    return rc < 0 ? rc : scan_database(u, s, has_database);
}

static hf_status scan_after_scheme(struct hf_url *u, struct hf_scan *s, const char *end)
{
    bool has_database = false;
    hf_status rc;

    if ((rc = scan_user_and_password(u, s, end)) < 0 ||
        (rc = scan_hosts_and_path(u, s, end, &has_database)) < 0 ||
        (rc = hf_scan_query(u, s, has_database)) < 0)
        return rc;
    return refuse_database_of_cluster(u, s, end);
}

/* It cannot contain a user or password: the @ belongs to the name. */
static hf_status scan_abstract_socket(struct hf_url *u, struct hf_scan *s)
{
    hf_status rc = scan_socket_path(u, s, s->at + strlen("unix:"));

    u->kind = HF_URL_UNIX;
    return rc < 0 ? rc : hf_scan_query(u, s, false);
}

static hf_status scan_url(struct hf_url *u, struct hf_scan *s)
{
    hf_status rc;

    if ((rc = check_url_text(s)) < 0)
        return rc;
    if (begins_with_ignoring_case(s->at, "unix:@"))
        return scan_abstract_socket(u, s);
    if ((rc = scan_scheme(u, s)) < 0)
        return rc;
    return scan_after_scheme(u, s, s->at + strcspn(s->at, "/?#"));
}

void hf_url_hand_over(struct hf_url *out, struct hf_seeds *seeds, struct hf_url *from,
                      struct hf_seeds *found)
{
    memcpy(out, from, sizeof *from);
    memcpy(seeds, found, sizeof *found);
    from->login = NULL;
    from->tls = NULL;
    found->sentinel_login = NULL;
    found->address_map = NULL;
}

hf_status hf_url_parse_seeds(struct hf_url *out, struct hf_seeds *seeds,
                             const char *text, struct hf_error *err)
{
    struct hf_seeds found;
    struct hf_scan s = {.text = text, .at = text, .err = err, .seeds = &found};
    struct hf_url u;
    hf_status rc;

    memset(&u, 0, sizeof u); /* also padding, so that equal URLs compare equal */
    memset(&found, 0, sizeof found);
    rc = scan_url(&u, &s);
    if (rc == HF_OK)
        rc = create_login_if_given(&s, &found.sentinel_login, s.sentinel_user,
                                   s.sentinel_password);
    hf_scan_free_secrets(&s);
    if (rc == HF_OK) /* last: a failure leaves both alone */
        hf_url_hand_over(out, seeds, &u, &found);
    hf_url_wipe(&u);
    hf_seeds_wipe(&found);
    return rc;
}

hf_status hf_url_parse(struct hf_url *out, const char *text,
                       struct hf_error *err)
{
    struct hf_scan whole = {.text = text, .at = text, .err = err};
    struct hf_seeds seeds;
    struct hf_url u;
    hf_status rc;

    memset(&u, 0, sizeof u);
    memset(&seeds, 0, sizeof seeds);
    rc = hf_url_parse_seeds(&u, &seeds, text, err);
    if (rc == HF_OK && seeds.topology != HF_STANDALONE)
        rc = hf_scan_refuse(&whole, text,
                            "only one server is accepted here: redis:// with one host");
    if (rc == HF_OK) {
        memcpy(out, &u, sizeof u);
        u.login = NULL;
        u.tls = NULL;
    }
    hf_url_wipe(&u);
    hf_seeds_wipe(&seeds);
    return rc;
}

const struct hf_tls_options *hf_url_tls(const struct hf_url *url)
{
    static const struct hf_tls_options none;

    return url->tls ? url->tls : &none;
}

struct hf_tls_options *hf_url_writable_tls(struct hf_url *url)
{
    if (!url->tls)
        url->tls = hf_mem_new(&hf_mem_libc, sizeof *url->tls);
    return url->tls;
}

static void free_tls_options(struct hf_tls_options *tls)
{
    if (!tls)
        return;
    explicit_bzero(tls, sizeof *tls); /* the password of the key */
    hf_mem_free(&hf_mem_libc, tls, sizeof *tls);
}

void hf_url_wipe(struct hf_url *url)
{
    hf_login_unref(url->login);
    free_tls_options(url->tls);
    explicit_bzero(url, sizeof *url);
}

void hf_seeds_wipe(struct hf_seeds *seeds)
{
    hf_login_unref(seeds->sentinel_login);
    hf_address_map_unref(seeds->address_map);
    explicit_bzero(seeds, sizeof *seeds);
}

hf_status hf_url_check_label(const char *label, struct hf_error *err)
{
    size_t len = strlen(label), max = sizeof((struct hf_url *)0)->label - 1;
    bool is_ok = len <= max;
    uint32_t code;

    for (size_t i = 0, step; is_ok && i < len; i += step) {
        step = hf_utf8_read(&code, label + i, len - i);
        is_ok = step > 0 && hf_utf8_is_printable(code);
    }
    return is_ok ? HF_OK
                 : hf_error_set(err, HF_E_INVAL,
                                "a label has at most %zu bytes of UTF-8, without control "
                                "characters", max);
}

void hf_url_set_server(struct hf_url *url, const char *host, uint16_t port,
                       const struct hf_seeds *seeds)
{
    (void)snprintf(url->host, sizeof url->host, "%s", host);
    url->ip[0] = '\0';
    url->port = port;
    if (!seeds)
        return;
    url->login = seeds->sentinel_login;
    url->database = 0;
    if (url->sentinel_tls != HF_SENTINEL_TLS_SAME)
        url->kind = url->sentinel_tls == HF_SENTINEL_TLS_YES ? HF_URL_TLS : HF_URL_TCP;
}

char *hf_url_address(const struct hf_url *url, char *dst, size_t room)
{
    bool is_ipv6_literal = strchr(url->host, ':') != NULL;

    if (url->kind == HF_URL_UNIX)
        (void)snprintf(dst, room, "unix:%s", url->path); /* cut is fine */
    else
        (void)snprintf(dst, room, is_ipv6_literal ? "[%s]:%u" : "%s:%u",
                       url->host, (unsigned)url->port);
    return dst;
}

size_t hf_url_sockaddr(const struct hf_url *url, struct sockaddr_un *out)
{
    size_t len = strlen(url->path);

    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    memcpy(out->sun_path, url->path, len);
    if (url->path[0] != '@')
        return sizeof *out;
    out->sun_path[0] =
        '\0'; /* of an abstract name each byte counts (unix(7)) */
    return offsetof(struct sockaddr_un, sun_path) + len;
}
