/* Whether the words of a server may hold a URL's password. */
#include <string.h>

#include "net/base/url.h"

/* Fewer bytes of a password are no secret: they stand in any sentence. */
#define STRETCH 4
/* No refusal needs more, and looking costs this times the password. */
#define WORDS_MAX 4096

/* What Redis and Valkey say, whatever the password is. */
static const char *const ordinary[] = {
    "WRONGPASS invalid username-password pair or user is disabled.",
    "WRONGPASS invalid username-password pair",
    "NOAUTH Authentication required.",
    "NOAUTH HELLO must be called with the client already authenticated, "
    "otherwise the HELLO <proto> AUTH <user> <pass> option can be used to "
    "authenticate the client and select the RESP protocol version at the same "
    "time",
    "ERR invalid password",
    "ERR Client sent AUTH, but no password is set",
    ("ERR AUTH <password> called without any password configured for the "
     "default user. Are you sure your configuration is correct?"),
};

static bool is_ordinary(const char *ptr, size_t len)
{
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
        if (strlen(ordinary[i]) == len && memcmp(ordinary[i], ptr, len) == 0)
            return true;
    return false;
}

bool hf_url_password_is_in(const struct hf_url *url, const char *ptr,
                           size_t len)
{
    size_t whole = strlen(url->password);
    size_t stretch = whole < STRETCH ? whole : STRETCH;

    if (whole == 0 || is_ordinary(ptr, len))
        return false;
    if (len > WORDS_MAX)
        return true;
    for (size_t i = 0; i + stretch <= whole; i++)
        if (memmem(ptr, len, url->password + i, stretch))
            return true;
    return false;
}
