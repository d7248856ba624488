/* The options of a server URL, after its '?': a table with the name of each, how it is
 * read, and its place in struct hf_url. */
/* Tests: tests/test_net_url.c. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "net/base/error.h"
#include "net/base/url_scan.h"
#include "net/base/word_distance.h"

#define LONG_WORD 6 /* bytes; two changes of a shorter word give an unrelated one */

/* A timeout of more than a day is a slip, not a wish. */
#define TIME_MAX_MS (24 * 60 * 60 * 1000)

static bool is_span_equal_to(struct hf_span span, const char *text)
{
    size_t len = strlen(text);

    return (size_t)(span.to - span.from) == len &&
           memcmp(span.from, text, len) == 0;
}

/* ---- values ---- */

/* The place of an option's value. */
struct target_field {
    void *ptr;
    size_t size;
};

static hf_status set_text(const struct hf_scan *s, struct hf_span value,
                          struct target_field to)
{
    return hf_scan_decode(s, value, to.ptr, to.size, NULL);
}

static hf_status set_secret(const struct hf_scan *s, struct hf_span value,
                            struct target_field to)
{
    return hf_scan_secret(s, value, to.ptr);
}

/* What a server takes for a client's name, and no other: elsewhere it would
 * just have none (CLIENT SETNAME). So are names in certificates, and ALPN's. */
static bool is_word_char(unsigned char c)
{
    return c > ' ' && c < 127;
}

static hf_status set_printable_word(const struct hf_scan *s, struct hf_span value,
                                    struct target_field to)
{
    return hf_scan_decode(s, value, to.ptr, to.size, is_word_char);
}

/* Text for people. What is not UTF-8 is found later (client_options.c). */
static bool is_line_char(unsigned char c)
{
    return c >= ' ' && c != 127;
}

static hf_status set_printable_line(const struct hf_scan *s, struct hf_span value,
                                    struct target_field to)
{
    return hf_scan_decode(s, value, to.ptr, to.size, is_line_char);
}

static hf_status set_database(const struct hf_scan *s, struct hf_span value,
                              struct target_field to)
{
    return hf_scan_database(s, value, to.ptr);
}

static hf_status set_protocol(const struct hf_scan *s, struct hf_span value,
                              struct target_field to)
{
    uint32_t n = 0;
    hf_status rc = hf_scan_number(s, value, 2, 3, "the protocol is 2 or 3", &n);

    *(int *)to.ptr = (int)n;
    return rc;
}

static const struct {
    const char *name;
    uint32_t ms;
} units[] = {{"ms", 1}, {"s", 1000}, {"", 1000}, {"m", 60 * 1000}};

static hf_status set_time(const struct hf_scan *s, struct hf_span value,
                          struct target_field to)
{
    static const char why[] = "a time is 500ms, 5s or 2m, from 1ms to a day";
    const char *unit = value.from + strspn(value.from, "0123456789");
    uint32_t n = 0;
    hf_status rc;

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!is_span_equal_to((struct hf_span){unit, value.to}, units[i].name))
            continue;
        rc = hf_scan_number(s, (struct hf_span){value.from, unit}, 1,
                            TIME_MAX_MS / units[i].ms, why, &n);
        *(int64_t *)to.ptr = (int64_t)n * units[i].ms;
        return rc;
    }
    return hf_scan_refuse(s, unit, why);
}

static hf_status set_tls_verify(const struct hf_scan *s, struct hf_span value,
                                struct target_field to)
{
    *(bool *)to.ptr = is_span_equal_to(value, "no");
    return *(bool *)to.ptr || is_span_equal_to(value, "yes")
               ? HF_OK
               : hf_scan_refuse(s, value.from, "write yes or no");
}

static hf_status set_sentinel_tls(const struct hf_scan *s, struct hf_span value,
                                  struct target_field to)
{
    bool is_no = is_span_equal_to(value, "no");
    int which = is_no ? HF_SENTINEL_TLS_NO : HF_SENTINEL_TLS_YES;

    if (!is_no && !is_span_equal_to(value, "yes"))
        return hf_scan_refuse(s, value.from, "write yes or no");
    memcpy(to.ptr, &which, sizeof which);
    return HF_OK;
}

static hf_status set_tracking(const struct hf_scan *s, struct hf_span value,
                              struct target_field to)
{
    *(bool *)to.ptr = is_span_equal_to(value, "on");
    return *(bool *)to.ptr || is_span_equal_to(value, "off")
               ? HF_OK
               : hf_scan_refuse(s, value.from, "write on or off");
}

static hf_status set_sharded(const struct hf_scan *s, struct hf_span value,
                             struct target_field to)
{
    static const char *const names[] = {
        [HF_SHARDED_AUTO] = "auto", [HF_SHARDED_ON] = "on",
        [HF_SHARDED_OFF] = "off",   [HF_SHARDED_BOTH] = "both"};

    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (is_span_equal_to(value, names[i])) {
            memcpy(to.ptr, &i, sizeof i);
            return HF_OK;
        }
    return hf_scan_refuse(s, value.from, "write auto, on, off or both");
}

static hf_status set_replicas(const struct hf_scan *s, struct hf_span value,
                              struct target_field to)
{
    static const char why[] = "write a number from 0 to 1024, majority or all";
    uint32_t n = 0;
    hf_status rc = HF_OK;
    int replicas;

    if (is_span_equal_to(value, "all")) {
        replicas = HF_REPLICAS_ALL;
    } else if (is_span_equal_to(value, "majority")) {
        replicas = HF_REPLICAS_MAJORITY;
    } else {
        rc = hf_scan_number(s, value, 0, 1024, why, &n);
        replicas = (int)n;
    }
    memcpy(to.ptr, &replicas, sizeof replicas);
    return rc;
}

/* One entry more. */
static hf_status add_address_map_entry(const struct hf_scan *s, struct hf_span value,
                                       struct target_field to)
{
    char entry[2 * HF_HOST_MAX + 64];
    struct hf_address_map **map = to.ptr;
    const char *why;
    hf_status rc = hf_scan_decode(s, value, entry, sizeof entry, is_word_char);

    if (rc < 0)
        return rc;
    if (!*map && !(*map = hf_address_map_new()))
        return hf_error_set(s->err, HF_E_NOMEM, "out of memory");
    why = hf_address_map_add(*map, (struct hf_text){entry, strlen(entry)});
    return why ? hf_scan_refuse(s, value.from, why) : HF_OK;
}

/* ---- the table ---- */

#define URL_FIELD(name)                                                        \
    offsetof(struct hf_url, name), sizeof((struct hf_url *)0)->name,           \
        HF_STANDALONE
#define TLS_FIELD(name)                                                        \
    offsetof(struct hf_tls_options, name),                                     \
        sizeof((struct hf_tls_options *)0)->name, APPLIES_TO_TLS
#define SEEDS_FIELD(name)                                                      \
    offsetof(struct hf_seeds, name), sizeof((struct hf_seeds *)0)->name
#define SCAN_FIELD(name)                                                       \
    offsetof(struct hf_scan, name), sizeof((struct hf_scan *)0)->name

enum { DB }; /* the one that has another way to be given */
#define APPLIES_TO_SEEDS (-1) /* of seeds, whatever their topology */
#define APPLIES_BY_NAME (-2) /* not in a URL; in the scan */
#define APPLIES_TO_TLS (-3) /* of all topologies, in the options of TLS */

static const struct option_row {
    const char *name;
    hf_status (*set_value)(const struct hf_scan *s, struct hf_span value,
                             struct target_field to);
    size_t target_offset;        /* in struct hf_url, hf_tls_options, hf_seeds or hf_scan */
    size_t target_size;
    int applies_to;              /* whose option it is; 0: of all, in the URL */
} options[] = {
    [DB] = {"db", set_database, URL_FIELD(database)},
    {"protocol", set_protocol, URL_FIELD(protocol)},
    {"client_name", set_printable_word, URL_FIELD(client_name)},
    {"label", set_printable_line, URL_FIELD(label)},
    {"connect_timeout", set_time, URL_FIELD(connect_timeout_ms)},
    {"timeout", set_time, URL_FIELD(timeout_ms)},
    {"idle_check", set_time, URL_FIELD(idle_check_ms)},
    {"replicas", set_replicas, URL_FIELD(replicas)},
    {"replicas_timeout", set_time, URL_FIELD(replicas_timeout_ms)},
    {"tracking", set_tracking, URL_FIELD(is_tracking)},
    {"map", add_address_map_entry, SEEDS_FIELD(address_map), APPLIES_TO_SEEDS},
    {"tls_ca", set_text, TLS_FIELD(ca_file)},
    {"tls_ca_dir", set_text, TLS_FIELD(ca_dir)},
    {"tls_crl", set_text, TLS_FIELD(crl_file)},
    {"tls_cert", set_text, TLS_FIELD(cert_file)},
    {"tls_key", set_text, TLS_FIELD(key_file)},
    {"tls_key_password", set_text, TLS_FIELD(key_password)},
    {"tls_sni", set_printable_word, TLS_FIELD(server_name)},
    {"tls_ciphers", set_text, TLS_FIELD(ciphers)},
    {"tls_ciphersuites", set_text, TLS_FIELD(ciphersuites)},
    {"tls_alpn", set_printable_word, TLS_FIELD(alpn)},
    {"tls_verify", set_tls_verify, TLS_FIELD(is_unverified)},
    {"sharded", set_sharded, SEEDS_FIELD(sharded), HF_CLUSTER},
    {"sentinel_user", set_secret, SCAN_FIELD(sentinel_user), HF_SENTINEL},
    {"sentinel_password", set_secret, SCAN_FIELD(sentinel_password), HF_SENTINEL},
    {"sentinel_tls", set_sentinel_tls, offsetof(struct hf_url, sentinel_tls),
     sizeof((struct hf_url *)0)->sentinel_tls, HF_SENTINEL},
    {"url", set_secret, SCAN_FIELD(url), APPLIES_BY_NAME},
    {"user", set_secret, SCAN_FIELD(user), APPLIES_BY_NAME},
    {"password", set_secret, SCAN_FIELD(password), APPLIES_BY_NAME},
    {"watchdog", set_time, SCAN_FIELD(watchdog_ms), APPLIES_BY_NAME},
    {"ttl", set_time, SCAN_FIELD(watchdog_ms), APPLIES_BY_NAME},
};

static_assert(HF_STANDALONE == 0, "what is of no topology is of the URL");
#define OPTIONS (sizeof options / sizeof *options)

static bool is_tls_option(const struct option_row *o)
{
    return o->applies_to == APPLIES_TO_TLS;
}

/* The struct that has its value. */
static void *struct_of_option(struct hf_url *u, struct hf_scan *s, const struct option_row *o)
{
    if (is_tls_option(o))
        return u->tls;
    if (o->set_value == set_secret || o->applies_to == APPLIES_BY_NAME)
        return s;
    return o->applies_to && o->set_value != set_sentinel_tls ? (void *)s->seeds : (void *)u;
}

static hf_status read_option(struct hf_url *u, struct hf_scan *s, const struct option_row *o,
                             struct hf_span value)
{
    if (is_tls_option(o) && !hf_url_writable_tls(u))
        return hf_error_set(s->err, HF_E_NOMEM, "out of memory");
    return o->set_value(s, value,
                        (struct target_field){(char *)struct_of_option(u, s, o) + o->target_offset,
                                              o->target_size});
}

/* Returns whether the option exists for URLs of this kind. */
static bool applies_to_url(const struct hf_scan *s, const struct option_row *o)
{
    return o->applies_to == 0 || o->applies_to == APPLIES_TO_SEEDS ||
           o->applies_to == APPLIES_TO_TLS ||
           o->applies_to == (int)s->seeds->topology;
}

static const struct option_row *option_named(const struct hf_scan *s,
                                             struct hf_span name)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (applies_to_url(s, &options[i]) && is_span_equal_to(name, options[i].name))
            return &options[i];
    return NULL;
}

/* ---- options of other libraries ---- */

/* Names that redis-py, celery, node-redis, Spring and hosting services use. They are
 * named in the error, and what replaces them here. Names that are in no list may be a
 * part of a password and are not quoted (URL-1). */
static const struct {
    const char *name, *advice;
} foreign[] = {
    {"ssl_cert_reqs", "with rediss://, certificates are checked; tls_verify=no does not"},
    {"ssl_ca_certs", "tls_ca=FILE replaces it"},
    {"ssl_certfile", "tls_cert=FILE replaces it"},
    {"ssl_keyfile", "tls_key=FILE replaces it"},
    {"ssl_check_hostname", "it is always done, except with tls_verify=no"},
    {"ssl", "rediss:// replaces it"},
    {"tls", "rediss:// replaces it"},
    {"sslmode", "rediss:// replaces it"},
    {"family", "IPv4 and IPv6 are both tried"},
    {"decode_responses", "it has no meaning here: leave it out"},
    {"encoding", "it has no meaning here: leave it out"},
    {"health_check_interval", "connections are always checked: leave it out"},
    {"socket_timeout", "timeout=5s replaces it"},
    {"socket_connect_timeout", "connect_timeout=5s replaces it"},
    {"connectTimeout", "connect_timeout=5s replaces it"},
    {"commandTimeout", "timeout=5s replaces it"},
    {"socket_keepalive", "connections are always checked: leave it out"},
    {"retry_on_timeout", "requests are always retried: leave it out"},
    {"max_connections", "there is one connection: leave it out"},
    {"pool_size", "there is one connection: leave it out"},
    {"virtual_host", "db=N replaces it"},
    {"database", "db=N replaces it"},
    {"clientName", "client_name=NAME replaces it"},
    {"client", "client_name=NAME replaces it"},
    {"password", "it comes before the host: redis://:PASSWORD@host"},
    {"username", "it comes before the host: redis://USER:PASSWORD@host"},
    {"master_name", "redis+sentinel://host/NAME replaces it"},
    {"sentinelMasterId", "redis+sentinel://host/NAME replaces it"},
};

/* Refuses an option of holdfast that another kind of URL has. */
static hf_status refuse_option_of_other_url(const struct hf_scan *s, struct hf_span name)
{
    char why[200];

    for (size_t i = 0; i < OPTIONS; i++)
        if (options[i].applies_to > 0 && is_span_equal_to(name, options[i].name)) {
            (void)snprintf(why, sizeof why, "'%s' is for %s URLs", options[i].name,
                           options[i].applies_to == HF_CLUSTER ? "redis+cluster://"
                                                             : "redis+sentinel://");
            return hf_scan_refuse(s, name.from, why);
        }
    return HF_OK;
}

static hf_status refuse_option_of_other_library(const struct hf_scan *s, struct hf_span name)
{
    char why[200];

    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (is_span_equal_to(name, foreign[i].name)) {
            (void)snprintf(why, sizeof why, "'%s' is not an option here: %s",
                           foreign[i].name, foreign[i].advice);
            return hf_scan_refuse(s, name.from, why);
        }
    return HF_OK;
}

/* ---- one option ---- */

static bool is_shown_in_message(const struct hf_scan *s, const struct option_row *o, bool is_tls)
{
    return applies_to_url(s, o) && (is_tls || !is_tls_option(o));
}

/* The option that is probably meant, of those of this URL, or of all if `s` is NULL. NULL:
 * none is near. */
static const struct option_row *nearest_option(const struct hf_scan *s, struct hf_span name,
                                               bool is_tls)
{
    size_t len = (size_t)(name.to - name.from);
    int best = len >= LONG_WORD ? 3 : 2;
    const struct option_row *near = NULL;

    for (size_t i = 0; i < OPTIONS && len <= HF_WORD_MAX; i++) {
        int distance =
            hf_word_distance(name.from, len, options[i].name, strlen(options[i].name));

        if (distance >= best || (s && !is_shown_in_message(s, &options[i], is_tls)))
            continue;
        best = distance;
        near = &options[i];
    }
    return near;
}

static hf_status refuse_unknown_option(const struct hf_scan *s, struct hf_span name,
                                       bool is_tls)
{
    const struct option_row *near = nearest_option(s, name, is_tls);
    char why[460];
    size_t len = (size_t)snprintf(why, sizeof why, "%s%s%she options here are",
                                  near ? "did you mean '" : "", near ? near->name : "",
                                  near ? "'? T" : "t");

    for (size_t i = 0; i < OPTIONS && len < sizeof why; i++)
        if (is_shown_in_message(s, &options[i], is_tls))
            len += (size_t)snprintf(why + len, sizeof why - len, "%s %s",
                                    i ? "," : "", options[i].name);
    return hf_scan_refuse(s, name.from, why);
}

static hf_status scan_option(struct hf_url *u, struct hf_scan *s,
                             unsigned *given)
{
    struct hf_span name = {s->at + 1, s->at + 1 + strcspn(s->at + 1, "=&#")};
    struct hf_span value = {name.to + (*name.to == '='),
                            name.to + strcspn(name.to, "&#")};
    const struct option_row *o = option_named(s, name);
    unsigned bit;
    hf_status rc;

    if (!o &&
        ((rc = refuse_option_of_other_url(s, name)) < 0 ||
         (rc = refuse_option_of_other_library(s, name)) < 0))
        return rc;
    if (!o)
        return refuse_unknown_option(s, name, hf_url_uses_tls(u));
    if (is_tls_option(o) && u->kind != HF_URL_TLS && !s->first_tls_option)
        s->first_tls_option = name.from;
    bit = 1u << (o - options);
    if (*given & bit && o->set_value != add_address_map_entry)
        return hf_scan_refuse(s, name.from, "this is given twice");
    if (value.from == value.to)
        return hf_scan_refuse(s, value.from, "a value is missing: name=value");
    *given |= bit;
    s->at = value.to;
    return read_option(u, s, o, value);
}

hf_status hf_scan_query(struct hf_url *u, struct hf_scan *s, bool has_database)
{
    unsigned given = has_database ? 1u << DB : 0;
    hf_status rc = HF_OK;

    while (rc == HF_OK && (*s->at == '?' || *s->at == '&'))
        rc = scan_option(u, s, &given);
    if (rc == HF_OK && *s->at)
        return hf_scan_refuse(s, s->at,
                              "in a password or an option, # is written %23");
    if (rc == HF_OK && s->first_tls_option && !hf_url_uses_tls(u))
        return hf_scan_refuse(s, s->first_tls_option, "this needs TLS: rediss:// or rediss+...://");
    return rc;
}

/* ---- options by name ---- */

static const struct option_row *table_row_of_option(struct hf_span name)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (is_span_equal_to(name, options[i].name))
            return &options[i];
    return NULL;
}

/* The name is the program's, and no part of a password: it may be quoted. */
static hf_status refuse_unknown_name(const char *name, struct hf_error *err)
{
    size_t len = strlen(name);
    const struct option_row *near = nearest_option(NULL, (struct hf_span){name, name + len}, true);
    char quoted[HF_WORD_MAX * 4];

    (void)hf_error_quote(quoted, sizeof quoted, name, len);
    if (near)
        return hf_error_set(err, HF_E_INVAL, "unknown option '%s'; did you mean '%s'?",
                            quoted, near->name);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strcmp(name, foreign[i].name) == 0)
            return hf_error_set(err, HF_E_INVAL, "unknown option '%s': %s", quoted,
                                foreign[i].advice);
    return hf_error_set(err, HF_E_INVAL,
                        "unknown option '%s': the names are those of options in a URL, and "
                        "url, user, password and watchdog (or ttl)", quoted);
}

const char *hf_scan_find_option(const char *name, bool *is_repeatable, struct hf_error *err)
{
    const struct option_row *o = table_row_of_option((struct hf_span){name, name + strlen(name)});

    if (!o) {
        (void)refuse_unknown_name(name, err);
        return NULL;
    }
    *is_repeatable = o->set_value == add_address_map_entry;
    return o->name;
}

/* The next one. Its name is in the table, because hf_scan_find_option has found it. */
static const struct option_row *next_option_word(struct hf_scan *s, struct hf_span *value)
{
    struct hf_span name = {s->at + 1, s->at + 1 + strcspn(s->at + 1, "=")};
    const struct option_row *o = table_row_of_option(name);

    *value = (struct hf_span){name.to + (*name.to == '='), name.to + strcspn(name.to, "&")};
    s->at = value->to;
    s->option_name = o ? o->name : "?";
    return o;
}

hf_status hf_scan_check_option(struct hf_url *u, struct hf_scan *s)
{
    struct hf_span value;
    const struct option_row *o = next_option_word(s, &value);

    if (!o)
        return hf_scan_refuse(s, s->at, "there is no such option");
    if (value.from >= value.to)
        return hf_scan_refuse(s, s->at, "a value is missing");
    return read_option(u, s, o, value);
}

static hf_status scan_named_option(struct hf_url *u, struct hf_scan *s, const struct option_row *o,
                                   struct hf_span value)
{
    if (!applies_to_url(s, o) && o->applies_to != APPLIES_BY_NAME)
        return refuse_option_of_other_url(s, (struct hf_span){o->name, o->name + strlen(o->name)});
    if (is_tls_option(o) && u->kind != HF_URL_TLS && !s->first_tls_option)
        s->first_tls_option = o->name;
    return read_option(u, s, o, value);
}

hf_status hf_scan_named_options(struct hf_url *u, struct hf_scan *s, bool of_client)
{
    hf_status rc = HF_OK;

    while (rc == HF_OK && *s->at) {
        struct hf_span value;
        const struct option_row *o = next_option_word(s, &value);

        if (!o)
            return hf_scan_refuse(s, s->at, "there is no such option");
        if ((o->applies_to == APPLIES_BY_NAME) == of_client)
            rc = scan_named_option(u, s, o, value);
    }
    if (rc < 0 || !s->first_tls_option || hf_url_uses_tls(u))
        return rc;
    s->option_name = s->first_tls_option;
    return hf_scan_refuse(s, s->at, "this needs TLS: rediss:// or rediss+...://");
}

/* ---- options from elsewhere ---- */

static hf_status set_tls_option_from_program(struct hf_url *url, const struct option_row *o,
                                             const void *from, struct hf_error *err)
{
    if (!hf_url_uses_tls(url))
        return hf_error_set(err, HF_E_INVAL,
                            "%s needs TLS, and the URL does not begin with rediss",
                            o->name);
    if (!hf_url_writable_tls(url))
        return hf_error_set(err, HF_E_NOMEM, "out of memory");
    memcpy((char *)url->tls + o->target_offset, from, o->target_size);
    return HF_OK;
}

hf_status hf_url_set_tls(struct hf_url *url, const struct hf_tls_options *tls,
                         struct hf_error *err)
{
    hf_status rc = HF_OK;

    for (const struct option_row *o = options; o < options + OPTIONS; o++) {
        const char *from = (const char *)tls + o->target_offset;

        if (rc == HF_OK && is_tls_option(o) &&
            *from) /* of a given text, and of true, this is not 0 */
            rc = set_tls_option_from_program(url, o, from, err);
    }
    return rc;
}
