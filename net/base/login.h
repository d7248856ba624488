/* A login: a user and a password, in memory that is wiped when it is freed. */
#ifndef HF_LOGIN_H
#define HF_LOGIN_H

#include "net/net.h"

/* It never changes, so that any number of links may use it. Allocated by malloc and
 * not by a client's hf_mem: a program that is asked for credentials may answer after
 * the client was freed. */
struct hf_login {
    _Atomic uint32_t references;
    uint32_t user_len;          /* each 0 to HF_LOGIN_MAX bytes, no NUL */
    uint32_t password_len;
    const char *user;           /* "": the server's default user */
    const char *password;
    char text[];                /* both, each with a NUL */
};

/* hf_login_new   - copies both texts (NULL: ""). NULL with *err filled in: one is
 *                  longer than HF_LOGIN_MAX (HF_E_INVAL), or HF_E_NOMEM.
 * hf_login_ref   - one more reference; returns it. Takes NULL.
 * hf_login_unref - one less; the last one wipes and frees it. Takes NULL.
 * hf_login_is    - do both have the same user and password? NULL: no login.
 * hf_login_is_in - may these words of a server hold the password, or a part of it
 *                  that says something? Then they are not shown. False for what
 *                  Redis says to every password, and for NULL. All: any thread. */
struct hf_login *hf_login_new(const char *user, const char *password,
                              struct hf_error *err) HF_MUST_CHECK;
struct hf_login *hf_login_ref(struct hf_login *login);
void hf_login_unref(struct hf_login *login);
bool hf_login_is(const struct hf_login *a, const struct hf_login *b);
bool hf_login_is_in(const struct hf_login *login, const char *ptr, size_t len);

#endif
