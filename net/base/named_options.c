/* Options by name, as a text. The table of names is that of URLs: url_query.c. */
/* Tests: tests/test_net_url_words.c. */
#include "net/base/named_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/url_scan.h"

#define URL_DEFAULT "redis://127.0.0.1:6379"

/* ---- setting ---- */

/* Bytes that need no percent. */
static bool needs_no_percent(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("-._~/:", c);
}

static size_t percent_encoded_len(const char *value)
{
    size_t len = 0;

    for (; *value; value++)
        len += needs_no_percent(*value) ? 1 : 3;
    return len;
}

static char *percent_encode(char *dst, const char *value)
{
    static const char digits[] = "0123456789ABCDEF";

    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;

        if (needs_no_percent(*value)) {
            *dst++ = *value;
            continue;
        }
        *dst++ = '%';
        *dst++ = digits[c >> 4];
        *dst++ = digits[c & 15];
    }
    *dst = '\0';
    return dst;
}

/* The option of that name in the text, from its '&'; its end if it has none. */
static char *find_option_in_words(char *words, const char *name)
{
    size_t len = strlen(name);

    for (; *words; words += 1 + strcspn(words + 1, "&"))
        if (strncmp(words + 1, name, len) == 0 && words[1 + len] == '=')
            break;
    return words;
}

/* 0 at the end of the text. */
static size_t option_len_at(const char *at)
{
    return *at ? 1 + strcspn(at + 1, "&") : 0;
}

/* Removes the option at `at`, if it is not the end of the text. It may be a password. */
static void wipe_option_at(char *at)
{
    size_t len = option_len_at(at), rest = strlen(at) - len;

    memmove(at, at + len, rest + 1);
    explicit_bzero(at + rest, len);
}

static void remove_option_of_name(char *words, const char *name)
{
    while (*find_option_in_words(words, name))
        wipe_option_at(find_option_in_words(words, name));
}

/* Reads one option, only to find out whether it is valid. */
static hf_status try_named_option(const char *word, struct hf_error *err)
{
    struct hf_seeds seeds = {0};
    struct hf_url url = {0};
    struct hf_scan s = {.text = word, .at = word, .err = err, .seeds = &seeds};
    hf_status rc = hf_scan_check_option(&url, &s);

    hf_scan_free_secrets(&s);
    hf_url_wipe(&url);
    hf_seeds_wipe(&seeds);
    return rc;
}

hf_status hf_named_options_set(char *words, size_t room, const char *name, const char *value,
                               struct hf_error *err)
{
    size_t used = strlen(words), replaced, more;
    bool is_repeatable = false;
    const char *known = hf_scan_find_option(name, &is_repeatable, err);
    char *word;
    hf_status rc;

    HF_ASSERT(used < room);
    if (!known)
        return HF_E_INVAL;
    if (!value) {
        remove_option_of_name(words, known);
        return HF_OK;
    }
    replaced = is_repeatable ? 0 : option_len_at(find_option_in_words(words, known));
    more = 2 + strlen(known) + percent_encoded_len(value);
    if (more >= room - used + replaced)
        return hf_error_set(err, HF_E_LIMIT,
                            "option %s: the options set by name would take more than %zu bytes",
                            known, room - 1);
    if (!(word = malloc(more + 1))) /* the text may lack room for the former value and the new */
        return hf_error_set(err, HF_E_NOMEM, "out of memory");
    (void)percent_encode(word + snprintf(word, more + 1, "&%s=", known), value);
    if ((rc = try_named_option(word, err)) == HF_OK) {
        if (!is_repeatable)
            wipe_option_at(find_option_in_words(words, known));
        memcpy(words + used - replaced, word, more + 1);
    }
    hf_scan_free_secret(word);
    return rc;
}

/* ---- reading ---- */

static hf_status apply_options(struct hf_url *u, struct hf_scan *s, struct hf_seeds *seeds,
                               const char *words)
{
    hf_status rc;

    s->at = words;
    s->seeds = seeds;
    if ((rc = hf_scan_named_options(u, s, false)) < 0 ||
        (rc = hf_login_replace(&u->login, s->user, s->password, s->err)) < 0)
        return rc;
    if (seeds->topology == HF_CLUSTER && u->database != 0)
        return hf_error_set(s->err, HF_E_INVAL, "option db: a cluster has database 0 alone");
    return hf_login_replace(&seeds->sentinel_login, s->sentinel_user, s->sentinel_password,
                            s->err);
}

hf_status hf_named_options_parse(struct hf_url *out, struct hf_seeds *seeds, const char *text,
                                 const char *words, int64_t *watchdog_ms, struct hf_error *err)
{
    struct hf_seeds found = {0};
    struct hf_url u = {0};
    struct hf_scan s = {.text = words, .at = words, .err = err, .seeds = &found};
    hf_status rc = hf_scan_named_options(&u, &s, true);

    if (rc == HF_OK)
        rc = hf_url_parse_seeds(&u, &found, text ? text : s.url ? s.url : URL_DEFAULT, err);
    if (rc == HF_OK)
        rc = apply_options(&u, &s, &found, words);
    if (rc == HF_OK) { /* last: a failure leaves all three alone */
        hf_url_hand_over(out, seeds, &u, &found);
        *watchdog_ms = s.watchdog_ms ? s.watchdog_ms : *watchdog_ms;
    }
    hf_scan_free_secrets(&s);
    hf_url_wipe(&u);
    hf_seeds_wipe(&found);
    return rc;
}
