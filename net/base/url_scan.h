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
    const char *tls_at;          /* the first option of TLS in a URL that is plain; NULL:
                                    none. It is right with sentinel_tls=yes */
    char *sentinel_user;         /* from hf_scan_secret; NULL: not given */
    char *sentinel_password;
};

/* hf_scan_refuse - fills the error with the position `at` and the reason `why`, a constant,
 *   and nothing of the text (URL-1). Returns HF_E_INVAL. */
hf_status hf_scan_refuse(const struct hf_scan *s, const char *at,
                         const char *why);

/* hf_scan_decode - writes `part`, percent-decoded and followed by a NUL, to dst. HF_E_INVAL: a
 *   byte is NUL or `may_be` refuses it (NULL: all are allowed), or `room` is too small. */
hf_status hf_scan_decode(const struct hf_scan *s, struct hf_span part,
                         char *dst, size_t room, bool (*may_be)(unsigned char))
    HF_MUST_CHECK;

/* hf_scan_secret - decodes up to HF_LOGIN_MAX bytes into new memory, which hf_scan_wipe must
 *   free. *out is replaced only with HF_OK. HF_E_INVAL, HF_E_NOMEM. */
hf_status hf_scan_secret(const struct hf_scan *s, struct hf_span part, char **out)
    HF_MUST_CHECK;

/* hf_scan_wipe - overwrites and frees such a text. NULL is allowed. */
void hf_scan_wipe(char *text);

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

#endif
