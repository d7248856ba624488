/* Logins, and whether the words of a server may hold a password. */
/* Tests: tests/test_net_handshake.c, tests/live/server/test_credentials.c. */
#include "net/base/login.h"

#include <stdatomic.h>
#include <string.h>

#include "net/base/error.h"
#include "net/base/mem.h"

/* ---- shared text ---- */

static size_t login_size_in_bytes(size_t user_len, size_t password_len)
{
    return sizeof(struct hf_login) + user_len + password_len + 2;
}

struct hf_login *hf_login_new(const char *user, const char *password,
                              struct hf_error *err)
{
    size_t user_len = user ? strlen(user) : 0;
    size_t password_len = password ? strlen(password) : 0;
    struct hf_login *login;

    if (user_len > HF_LOGIN_MAX || password_len > HF_LOGIN_MAX) {
        (void)hf_error_set(err, HF_E_INVAL, "the %s is longer than %d bytes",
                           user_len > HF_LOGIN_MAX ? "user" : "password",
                           HF_LOGIN_MAX);
        return NULL;
    }
    login = hf_mem_new(&hf_mem_libc, login_size_in_bytes(user_len, password_len));
    if (!login) {
        (void)hf_error_set(err, HF_E_NOMEM, "out of memory");
        return NULL;
    }
    login->references = 1;
    login->user_len = (uint32_t)user_len;
    login->password_len = (uint32_t)password_len;
    login->user = login->text;
    login->password = login->text + user_len + 1;
    if (user)
        memcpy(login->text, user, user_len);
    if (password)
        memcpy(login->text + user_len + 1, password, password_len);
    return login;
}

struct hf_login *hf_login_ref(struct hf_login *login)
{
    if (login)
        atomic_fetch_add(&login->references, 1);
    return login;
}

void hf_login_unref(struct hf_login *login)
{
    size_t size;

    if (!login || atomic_fetch_sub(&login->references, 1) > 1)
        return;
    size = login_size_in_bytes(login->user_len, login->password_len);
    explicit_bzero(login, size);
    hf_mem_free(&hf_mem_libc, login, size);
}

bool hf_login_is_equal(const struct hf_login *a, const struct hf_login *b)
{
    if (!a || !b)
        return a == b;
    return strcmp(a->user, b->user) == 0 && strcmp(a->password, b->password) == 0;
}

/* ---- words of a server ---- */

/* Fewer bytes of a password are not a secret: they occur in any sentence. */
#define STRETCH_OF_WORDS 4
/* A refusal does not need more, and the search costs this times the password. */
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

static bool is_ordinary_word(const char *ptr, size_t len)
{
    for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
        if (strlen(ordinary[i]) == len && memcmp(ordinary[i], ptr, len) == 0)
            return true;
    return false;
}

bool hf_login_appears_in(const struct hf_login *login, const char *ptr, size_t len)
{
    size_t whole = login ? login->password_len : 0;
    size_t stretch = whole < STRETCH_OF_WORDS ? whole : STRETCH_OF_WORDS;

    if (whole == 0 || is_ordinary_word(ptr, len))
        return false;
    if (len > WORDS_MAX)
        return true;
    for (size_t i = 0; i + stretch <= whole; i++)
        if (memmem(ptr, len, login->password + i, stretch))
            return true;
    return false;
}

hf_status hf_login_replace(struct hf_login **login, const char *user, const char *password,
                           struct hf_error *err)
{
    struct hf_login *old = *login, *new;
    struct hf_error ignored;

    if (!user && !password)
        return HF_OK;
    if (!err)
        err = &ignored;
    new = hf_login_new(user ? user : old ? old->user : "",
                       password ? password : old ? old->password : "", err);
    if (!new)
        return err->status;
    *login = new;
    hf_login_unref(old);
    return HF_OK;
}
