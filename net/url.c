/* Server URLs, read strictly: what is ambiguous or misspelled is refused with
 * its position. A lock taken on the wrong server protects nothing.
 *
 * U1  An error's text is made of constants and a position: whatever of the URL
 *     it quoted could turn out to be a password.
 * U2  No host is assumed: with an unset variable in it, redis://:pw@$HOST must
 *     not become localhost.
 * U3  Only ASCII, only by value: no locale, no strtol with its signs, spaces
 *     and octal numbers.
 *
 * Sources: IANA "redis"; RFC 3986 "Authority", "Percent-Encoding"; RFC 6874
 * (zones of IPv6 addresses). */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "net/net.h"

#define DEFAULT_PORT 6379
#define DATABASE_MAX INT32_MAX /* the server keeps it in an int */

struct span {
    const char *from;
    const char *to;              /* behind the last character */
};

/* Where reading stands. */
struct scan {
    const char *text;
    const char *at;
    struct hf_error *err;
};

static hf_status refuse(const struct scan *s, const char *at, const char *why)
{
    return hf_error_set(s->err, HF_E_INVAL,
                        "the URL is wrong at character %zu: %s",
                        (size_t)(at - s->text) + 1, why);
}

static const char *find(struct span in, char c)
{
    return memchr(in.from, c, (size_t)(in.to - in.from));
}

/* ---- characters ---- */

static bool is_plain(unsigned char c)
{
    return c > ' ' && c != 127;
}

/* A file that was read with its newline, an address pasted with a space. */
static hf_status check_text(const struct scan *s)
{
    for (const char *p = s->text; *p; p++)
        if (!is_plain((unsigned char)*p))
            return refuse(s, p, "a space or control character");
    return HF_OK;
}

static bool is_any(unsigned char c)
{
    return c != '\0';
}

/* Bytes above 127 are left to the resolver, which may know the name. */
static bool is_of_name(unsigned char c)
{
    return is_plain(c) && !strchr("/?#[]@:%\\", c);
}

static bool is_of_literal(unsigned char c)
{
    return is_of_name(c) || c == ':' || c == '%';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The byte that %XX stands for, or -1. Reads no further than it understands:
 * neither the end of the text nor a delimiter is a digit. */
static int escaped(const char *percent)
{
    int high = hex_value(percent[1]);
    int low = high < 0 ? -1 : hex_value(percent[2]);

    return low < 0 ? -1 : high * 16 + low;
}

/* ---- parts ---- */

/* Percent-decodes a part of the text into dst, if every byte of it may be. */
static hf_status decode(const struct scan *s, struct span part, char *dst,
                        size_t room, bool (*may_be)(unsigned char))
{
    size_t len = 0;

    for (const char *p = part.from; p < part.to; p++) {
        const char *start = p;
        int c = (unsigned char)*p;

        if (c == '%') {
            c = escaped(p);
            p += 2;
        }
        if (c < 0)
            return refuse(s, start, "after % come two hexadecimal digits");
        if (!may_be((unsigned char)c))
            return refuse(s, start, "this character is not allowed here");
        if (len + 1 == room)
            return refuse(s, start, "this part of the URL is too long");
        dst[len++] = (char)c;
    }
    dst[len] = '\0';
    return HF_OK;
}

/* Digits and nothing else: no sign, no leading zero. */
static hf_status number(const struct scan *s, struct span part, uint32_t min,
                        uint32_t max, const char *why, uint32_t *out)
{
    uint64_t n = 0;

    if (part.from == part.to)
        return refuse(s, part.from, why);
    for (const char *p = part.from; p < part.to; p++) {
        bool is_digit = *p >= '0' && *p <= '9';

        if (!is_digit || (n == 0 && p > part.from))
            return refuse(s, p, why);
        n = n * 10 + (uint64_t)(*p - '0');
        if (n > max)
            return refuse(s, p, why);
    }
    if (n < min)
        return refuse(s, part.from, why);
    *out = (uint32_t)n;
    return HF_OK;
}

/* ---- scheme ---- */

/* valkey and valkeys: as valkey-cli spells them. */
static const struct {
    const char *name;
    int kind;
} schemes[] = {
    {"redis://", HF_URL_TCP},       {"rediss://", HF_URL_TLS},
    {"valkey://", HF_URL_TCP},      {"valkeys://", HF_URL_TLS},
    {"unix://", HF_URL_UNIX},       {"redis+unix://", HF_URL_UNIX},
    {"redis-socket://", HF_URL_UNIX},
};

/* Schemes have no case (RFC 3986, 3.1); `name` is in lower case. */
static bool begins_with(const char *text, const char *name)
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

static hf_status scan_scheme(struct hf_url *u, struct scan *s)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (!begins_with(s->at, schemes[i].name))
            continue;
        u->kind = schemes[i].kind;
        s->at += strlen(schemes[i].name);
        return HF_OK;
    }
    return refuse(s, s->at, "it begins with redis://, rediss:// or unix://");
}

/* ---- user and password ---- */

static hf_status no_user(const struct hf_url *u, const struct scan *s,
                         const char *end)
{
    /* Only a socket's path may hold an @; elsewhere it ends a password, of
     * which the / or ? before it was meant to be a part. */
    if (u->kind != HF_URL_UNIX && strchr(end, '@'))
        return refuse(s, end, "in a user or password, / is written %2F,"
                              " ? is %3F and # is %23");
    return HF_OK;
}

/* Up to the @ of the authority, which ends at `end`. A name alone is refused:
 * redis-cli takes it for a password, others for a user. */
static hf_status scan_user(struct hf_url *u, struct scan *s, const char *end)
{
    const char *at = find((struct span){s->at, end}, '@');
    const char *colon;
    hf_status rc;

    if (!at)
        return no_user(u, s, end);
    if (find((struct span){at + 1, end}, '@'))
        return refuse(s, at, "in a user or password, @ is written %40");
    colon = find((struct span){s->at, at}, ':');
    if (!colon)
        return refuse(s, at, "before @ stands user:password or :password");
    if ((rc = decode(s, (struct span){s->at, colon}, u->user, sizeof u->user,
                     is_any)) < 0 ||
        (rc = decode(s, (struct span){colon + 1, at}, u->password,
                     sizeof u->password, is_any)) < 0)
        return rc;
    u->has_password = u->user[0] || u->password[0];
    s->at = at + 1;
    return HF_OK;
}

/* ---- host and port ---- */

static bool is_ipv6(const char *host)
{
    size_t len = strcspn(host, "%");
    char address[INET6_ADDRSTRLEN];
    struct in6_addr ignored;

    if (len >= sizeof address || (host[len] == '%' && !host[len + 1]))
        return false;
    memcpy(address, host, len);
    address[len] = '\0';
    return inet_pton(AF_INET6, address, &ignored) == 1;
}

static hf_status scan_literal(struct hf_url *u, struct scan *s, const char *end)
{
    struct span part = {s->at + 1, find((struct span){s->at, end}, ']')};
    hf_status rc;

    if (!part.to)
        return refuse(s, s->at, "this [ has no ]");
    rc = decode(s, part, u->host, sizeof u->host, is_of_literal);
    if (rc < 0)
        return rc;
    if (!is_ipv6(u->host))
        return refuse(s, part.from, "in brackets stands an IPv6 address");
    s->at = part.to + 1;
    return HF_OK;
}

static hf_status scan_name(struct hf_url *u, struct scan *s, const char *end)
{
    const char *colon = find((struct span){s->at, end}, ':');
    struct span part = {s->at, colon ? colon : end};

    if (colon && find((struct span){colon + 1, end}, ':'))
        return refuse(s, s->at, "an IPv6 address stands in brackets");
    if (part.from == part.to)
        return refuse(s, s->at, "the host is missing");
    s->at = part.to;
    return decode(s, part, u->host, sizeof u->host, is_of_name);
}

static hf_status scan_port(struct hf_url *u, struct scan *s, const char *end)
{
    uint32_t port = DEFAULT_PORT;
    hf_status rc = HF_OK;

    if (s->at < end && *s->at != ':')
        return refuse(s, s->at, "after the host comes : and the port");
    if (s->at < end)
        rc = number(s, (struct span){s->at + 1, end}, 1, UINT16_MAX,
                    "the port is a number from 1 to 65535", &port);
    u->port = (uint16_t)port;
    s->at = end;
    return rc;
}

static hf_status scan_host(struct hf_url *u, struct scan *s, const char *end)
{
    hf_status rc =
        *s->at == '[' ? scan_literal(u, s, end) : scan_name(u, s, end);

    return rc < 0 ? rc : scan_port(u, s, end);
}

/* ---- path and query ---- */

static const char database_why[] = "the database is a number from 0";

static hf_status scan_socket(struct hf_url *u, struct scan *s, const char *end)
{
    struct span part = {end, end + strcspn(end, "?#")};

    if (s->at < end)
        return refuse(s, s->at, "a Unix URL has no host: unix:///path");
    if (part.to - part.from < 2)
        return refuse(s, s->at, "the path of the socket is missing");
    s->at = part.to;
    return decode(s, part, u->path, sizeof u->path, is_any);
}

/* Whether there was a number is not to be seen from the number. */
static hf_status scan_database(struct hf_url *u, struct scan *s, bool *is_given)
{
    struct span part = {s->at + 1, s->at + strcspn(s->at, "?#")};

    *is_given = *s->at == '/' && part.from < part.to;
    s->at = part.to;
    if (!*is_given)
        return HF_OK;
    return number(s, part, 0, DATABASE_MAX, database_why, &u->database);
}

static hf_status scan_option(struct hf_url *u, struct scan *s, bool *is_given)
{
    static const char db[] = "db=";
    const char *key = s->at + 1;
    const char *end = key + strcspn(key, "&#");

    if (strncmp(key, db, strlen(db)) != 0)
        return refuse(s, key, "the one option is db=N");
    if (*is_given)
        return refuse(s, key, "the database is given twice");
    *is_given = true;
    s->at = end;
    return number(s, (struct span){key + strlen(db), end}, 0, DATABASE_MAX,
                  database_why, &u->database);
}

static hf_status scan_query(struct hf_url *u, struct scan *s, bool is_given)
{
    hf_status rc = HF_OK;

    while (rc == HF_OK && (*s->at == '?' || *s->at == '&'))
        rc = scan_option(u, s, &is_given);
    if (rc == HF_OK && *s->at)
        return refuse(s, s->at, "in a user or password, # is written %23");
    return rc;
}

/* ---- the whole ---- */

static hf_status scan_rest(struct hf_url *u, struct scan *s, const char *end)
{
    bool is_given = false;
    hf_status rc;

    if ((rc = scan_user(u, s, end)) < 0)
        return rc;
    if (u->kind == HF_URL_UNIX)
        rc = scan_socket(u, s, end);
    else if ((rc = scan_host(u, s, end)) == HF_OK)
        rc = scan_database(u, s, &is_given);
    return rc < 0 ? rc : scan_query(u, s, is_given);
}

static hf_status scan_url(struct hf_url *u, struct scan *s)
{
    hf_status rc;

    if ((rc = check_text(s)) < 0 || (rc = scan_scheme(u, s)) < 0)
        return rc;
    return scan_rest(u, s, s->at + strcspn(s->at, "/?#"));
}

hf_status hf_url_parse(struct hf_url *out, const char *text,
                       struct hf_error *err)
{
    struct scan s = {.text = text, .at = text, .err = err};
    struct hf_url u;
    hf_status rc;

    memset(&u, 0, sizeof u); /* padding too: what is equal compares equal */
    rc = scan_url(&u, &s);
    if (rc == HF_OK)
        memcpy(out, &u, sizeof u); /* last: a failure leaves *out alone */
    explicit_bzero(&u, sizeof u);
    return rc;
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
