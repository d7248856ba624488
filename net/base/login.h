/* A login: a user and a password, in memory that is wiped when it is freed. */
#ifndef HF_LOGIN_H
#define HF_LOGIN_H

#include "net/net.h"

/* It never changes, so that any number of links may use it. It is allocated by malloc and
 * not by a client's hf_mem, because a program may pass credentials after the client was
 * freed. */
struct hf_login {
    _Atomic uint32_t references;
    uint32_t user_len;          /* each 0 to HF_LOGIN_MAX bytes, no NUL */
    uint32_t password_len;
    const char *user;           /* "": the server's default user */
    const char *password;
    char text[];                /* both, each with a NUL */
};

/* Any thread may call these functions. */

/* hf_login_new - copies both texts (NULL: "") and returns a login with one reference. NULL:
 *   *err is filled in; HF_E_INVAL (a text is longer than HF_LOGIN_MAX) or HF_E_NOMEM. */
struct hf_login *hf_login_new(const char *user, const char *password,
                              struct hf_error *err) HF_MUST_CHECK;

/* hf_login_replace - replaces the user, the password or both in *login, which may be NULL. NULL:
 *   that part is kept. HF_E_INVAL, HF_E_NOMEM; then *login is unchanged. */
hf_status hf_login_replace(struct hf_login **login, const char *user, const char *password,
                           struct hf_error *err) HF_MUST_CHECK;

/* hf_login_ref - adds a reference, and returns the login. NULL is allowed. */
struct hf_login *hf_login_ref(struct hf_login *login);

/* hf_login_unref - removes a reference. The last one overwrites and frees the login. NULL is
 *   allowed. */
void hf_login_unref(struct hf_login *login);

/* hf_login_is_equal - returns whether both have the same user and password. NULL: no login. */
bool hf_login_is_equal(const struct hf_login *a, const struct hf_login *b);

/* hf_login_appears_in - returns whether this text of a server may contain the password, or a part
 *   that reveals something of it. Such a text must not be shown. False for the texts that
 *   Redis sends for every password, and if `login` is NULL. */
bool hf_login_appears_in(const struct hf_login *login, const char *ptr, size_t len);

#endif
