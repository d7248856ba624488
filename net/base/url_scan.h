/* Reads the text of a URL strictly, and reports the position of an error. Private to url*.c. */
#ifndef HF_URL_SCAN_H
#define HF_URL_SCAN_H

#include "net/base/url.h"
#include "net/net.h"

struct hf_span {
    const char *from;
    const char *to;              /* after the last character */
};

/* The current position, and the results that are not in a struct hf_url. */
struct hf_scan {
    const char *text;
    const char *at;
    struct hf_error *err;
    struct hf_seeds *seeds;
    const char *first_tls_option; /* the first option of TLS in a URL that is plain; NULL: none. It
                                     is right with sentinel_tls=yes */
    char *sentinel_user;          /* from hf_scan_secret; NULL: not given */
    char *sentinel_password;

    /* What a program sets by name (named_options.h), and a URL has elsewhere or not at all. */
    const char *option_name;     /* the one that is read, for errors; NULL: this is a URL */
    char *url;                   /* these three from hf_scan_secret; NULL: not given */
    char *user;
    char *password;
    int64_t watchdog_ms;         /* 0: not given */
};

/* hf_scan_refuse - fills the error with the position `at`, or the name of the option, and the
 *   reason `why`, a constant, and nothing of the text (URL-1). Returns HF_E_INVAL. */
hf_status hf_scan_refuse(const struct hf_scan *s, const char *at,
                         const char *why);

/* hf_scan_decode - writes `part`, percent-decoded and followed by a NUL, to dst. HF_E_INVAL: a
 *   byte is NUL or `may_be` refuses it (NULL: all are allowed), or `room` is too small. */
hf_status hf_scan_decode(const struct hf_scan *s, struct hf_span part,
                         char *dst, size_t room, bool (*may_be)(unsigned char))
    HF_MUST_CHECK;

/* hf_scan_secret - decodes up to HF_LOGIN_MAX bytes into new memory, which hf_scan_free_secret must
 *   free. *out is replaced only with HF_OK. HF_E_INVAL, HF_E_NOMEM. */
hf_status hf_scan_secret(const struct hf_scan *s, struct hf_span part, char **out)
    HF_MUST_CHECK;

/* hf_scan_free_secret  - overwrites and frees the text of a secret. NULL is allowed.
 * hf_scan_free_secrets - overwrites and frees the secrets in *s. */
void hf_scan_free_secret(char *text);
void hf_scan_free_secrets(struct hf_scan *s);

/* hf_scan_number - reads a decimal number from `least` to `most`, without a sign or leading
 *   zeros. Otherwise HF_E_INVAL with the reason `why`. */
hf_status hf_scan_number(const struct hf_scan *s, struct hf_span part,
                         uint32_t least, uint32_t most, const char *why,
                         uint32_t *out) HF_MUST_CHECK;

/* hf_scan_database - reads the number of a database in the same way. */
hf_status hf_scan_database(const struct hf_scan *s, struct hf_span part,
                           uint32_t *out) HF_MUST_CHECK;

/* hf_scan_query - reads all options, from the '?' at s->at, if there is one, to the end of the
 *   text. `has_database`: the path contains the database. */
hf_status hf_scan_query(struct hf_url *u, struct hf_scan *s,
                        bool has_database) HF_MUST_CHECK;

/* hf_scan_named_options - reads the options that were set by name, "&name=value&name=value", from
 *   s->at to the end of the text: those that a URL has elsewhere or not at all (`of_client`), or
 *   all others. They replace those of the URL in *u and *s->seeds. */
hf_status hf_scan_named_options(struct hf_url *u, struct hf_scan *s, bool of_client) HF_MUST_CHECK;

/* hf_scan_find_option - returns the name of this option as the table has it, which any URL, or a
 *   program by name, may have. NULL: there is none, and *err says what was perhaps meant.
 *   *is_repeatable receives whether it may be given several times. */
const char *hf_scan_find_option(const char *name, bool *is_repeatable, struct hf_error *err);

/* hf_scan_check_option - reads one option, at s->at as above, whichever URL it is for, to find an
 *   error in its value. */
hf_status hf_scan_check_option(struct hf_url *u, struct hf_scan *s) HF_MUST_CHECK;

#endif
