/* Options that a program sets by name: those of a URL, and "url", "user", "password" and
 * "watchdog". They are kept as a text in memory of the caller: "&name=value&name=value", with
 * percent-encoded values. */
#ifndef HF_NAMED_OPTIONS_H
#define HF_NAMED_OPTIONS_H

#include "net/base/url.h"

/* hf_named_options_set - sets an option in the text, which is "" or has others. An option that was
 *   set is replaced, except `map`, which gets one entry more. `value` NULL: it is no longer set.
 *   HF_E_INVAL: there is no such option, or its value is wrong; HF_E_LIMIT: the text would be
 *   longer than `room`, its NUL included; HF_E_NOMEM. Then the text is unchanged. */
hf_status hf_named_options_set(char *words, size_t room, const char *name, const char *value,
                               struct hf_error *err) HF_MUST_CHECK;

/* hf_named_options_parse - hf_url_parse_seeds, followed by the options of the text, which replace
 *   those of the URL.
 *   text         the URL. NULL: the option "url"; without it, redis://127.0.0.1:6379
 *   watchdog_ms  receives the option "watchdog", or is unchanged
 * HF_E_INVAL: also if an option is not for this URL. */
hf_status hf_named_options_parse(struct hf_url *out, struct hf_seeds *seeds, const char *text,
                                 const char *words, int64_t *watchdog_ms,
                                 struct hf_error *err) HF_MUST_CHECK;

#endif
