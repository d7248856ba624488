/* A URL's text, read strictly: pieces of it, what they decode to, and where one
 * is wrong. What url.c and url_query.c share; private to them. */
#ifndef HF_URL_SCAN_H
#define HF_URL_SCAN_H

#include "net/base/url.h"
#include "net/net.h"

struct hf_span {
    const char *from;
    const char *to;              /* behind the last character */
};

/* Where reading stands. */
struct hf_scan {
    const char *text;
    const char *at;
    struct hf_error *err;
    struct hf_seeds *seeds;
    char *sentinel_user;         /* hf_scan_secret; NULL: not given */
    char *sentinel_password;
};

/* hf_scan_refuse - HF_E_INVAL: the text is wrong at `at`, and why: constants of
 *   ours, nothing of the text (URL-1).
 * hf_scan_decode - `part`, percent-decoded, with a NUL behind it; no byte of it
 *   is NUL, each `may_be` (NULL: anything), and all fit into `room`.
 * hf_scan_secret - the same, of up to HF_LOGIN_MAX bytes, in memory of its own for
 *   hf_scan_wipe; *out is replaced only on HF_OK. HF_E_NOMEM.
 * hf_scan_wipe   - wipes and frees such a text; takes NULL.
 * hf_scan_number - `part` is digits and nothing else, no sign, no leading zero:
 *   a number from `least` to `most`, or else `why`.
 * hf_scan_database - likewise; a database's number. */
hf_status hf_scan_refuse(const struct hf_scan *s, const char *at,
                         const char *why);
hf_status hf_scan_decode(const struct hf_scan *s, struct hf_span part,
                         char *dst, size_t room, bool (*may_be)(unsigned char))
    HF_MUST_CHECK;
hf_status hf_scan_secret(const struct hf_scan *s, struct hf_span part, char **out)
    HF_MUST_CHECK;
void hf_scan_wipe(char *text);
hf_status hf_scan_number(const struct hf_scan *s, struct hf_span part,
                         uint32_t least, uint32_t most, const char *why,
                         uint32_t *out) HF_MUST_CHECK;
hf_status hf_scan_database(const struct hf_scan *s, struct hf_span part,
                           uint32_t *out) HF_MUST_CHECK;

/* hf_scan_query - all options, from the '?' that s->at is at, if any, to the
 *   end of the text. `has_database`: that was given in front of them. */
hf_status hf_scan_query(struct hf_url *u, struct hf_scan *s,
                        bool has_database) HF_MUST_CHECK;

#endif
