/* A build without TLS: a request for TLS is an error. No context is ever created, so no
 * connection either. */
/* Tests: tests/test_net_tls_none.c. */

#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/wire/tls.h"

const char *hf_tls_library(void)
{
    return NULL;
}

hf_status hf_tls_context_new(struct hf_tls_context **out,
                             const struct hf_mem *mem,
                             const struct hf_tls_options *options,
                             const char *host, struct hf_error *err)
{
    (void)out;
    (void)mem;
    (void)options;
    (void)host;
    return hf_error_set(err, HF_E_TLS,
                        "TLS is not built in; build holdfast with TLS=yes "
                        "(it needs OpenSSL), or use redis://");
}

hf_status hf_tls_context_share(struct hf_tls_context **out,
                               const struct hf_tls_context *of,
                               const struct hf_tls_options *options,
                               const char *host, struct hf_error *err)
{
    HF_ASSERT(!of);
    (void)of;
    return hf_tls_context_new(out, NULL, options, host, err);
}

void hf_tls_context_take_settings(struct hf_tls_context *context,
                                  const struct hf_tls_context *of)
{
    HF_ASSERT(!context && !of);
    (void)context;
    (void)of;
}

void hf_tls_context_free(struct hf_tls_context *context)
{
    HF_ASSERT(!context);
    (void)context;
}

hf_status hf_tls_new(struct hf_tls **out, struct hf_tls_context *context,
                     int fd)
{
    (void)out;
    (void)context;
    (void)fd;
    return HF_E_TLS;
}

void hf_tls_free(struct hf_tls *tls, bool is_polite)
{
    HF_ASSERT(!tls);
    (void)tls;
    (void)is_polite;
}

hf_status hf_tls_handshake(struct hf_tls *tls)
{
    (void)tls;
    return HF_E_TLS;
}

long hf_tls_read(struct hf_tls *tls, void *ptr, size_t room)
{
    (void)tls;
    (void)ptr;
    (void)room;
    return HF_TLS_FAILED;
}

long hf_tls_write(struct hf_tls *tls, const void *ptr, size_t len)
{
    (void)tls;
    (void)ptr;
    (void)len;
    return HF_TLS_FAILED;
}

int hf_tls_wanted_events(const struct hf_tls *tls)
{
    (void)tls;
    return 0;
}

bool hf_tls_has_more(const struct hf_tls *tls)
{
    (void)tls;
    return false;
}

const struct hf_error *hf_tls_error(const struct hf_tls *tls)
{
    (void)tls;
    return NULL;
}

bool hf_tls_is_resumed(const struct hf_tls *tls)
{
    (void)tls;
    return false;
}
