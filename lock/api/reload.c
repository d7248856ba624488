/* Replaces what identifies a client and its servers while the client runs: user and password,
 * and the TLS files. */
/* Tests: tests/live/server/test_credentials.c, tests/live/tls/test_tls.c. */
#include "lock/connect.h"

#include <string.h>

#include "lock/record/records.h"
#include "net/base/error.h"
#include "net/base/sized.h"

/* ---- credentials ---- */

static bool is_login_text_too_long(const char *text)
{
    return text && strlen(text) > HF_LOGIN_MAX;
}

static const struct hf_sized credentials_size = HF_SIZED(hf_credentials, password);

hf_status hf_client_answer_credentials(struct hf_client *client, uint64_t id,
                                       const struct hf_credentials *credentials,
                                       const char *why)
{
    struct hf_credentials known = {0};
    struct hf_error reason;
    bool is_taken;

    if (hf_loop_forked(client->loop))
        return HF_E_FORKED;
    if (credentials &&
        hf_sized_read(&known, &credentials_size, credentials, NULL) < 0)
        return HF_E_INVAL;
    credentials = credentials ? &known : NULL;
    if (credentials &&
        (is_login_text_too_long(credentials->user) ||
         is_login_text_too_long(credentials->password)))
        return HF_E_INVAL;
    hf_error_set(&reason, HF_E_CONNECT, "%s", why ? why : "the callback gave no reason");
    hf_loop_lock(client->loop);
    is_taken = hf_router_answer_credentials(client->router, id, credentials, &reason);
    hf_loop_unlock(client->loop);
    return is_taken ? HF_OK : HF_E_INVAL;
}

/* ---- TLS files ---- */

hf_status hf_client_reload(struct hf_client *client, struct hf_error *err)
{
    if (hf_loop_forked(client->loop))
        return hf_error_set(err, HF_E_FORKED, "%s", hf_status_text(HF_E_FORKED));
    return hf_router_reload(client->router, err);
}
