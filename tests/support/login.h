/* A login of a test: it borrows both texts and need not be freed. The next call
 * replaces it. */
#ifndef TEST_LOGIN_H
#define TEST_LOGIN_H

#include <string.h>

#include "net/base/login.h"

/* NULL as the password: no login. */
static inline struct hf_login *login_of(const char *user, const char *password)
{
    static struct hf_login login;

    if (!password)
        return NULL;
    login.references = 1u << 20; /* no test frees it */
    login.user_len = (uint32_t)strlen(user);
    login.password_len = (uint32_t)strlen(password);
    login.user = user;
    login.password = password;
    return &login;
}

#endif
