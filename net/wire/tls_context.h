/* The settings and the session of TLS that all connections to one server share. */
#ifndef HF_TLS_CONTEXT_H
#define HF_TLS_CONTEXT_H

#include "net/net.h"

/* A context has the settings that were read from files, and the session to resume. It is for one
 * server name, so that a session is never offered to another server.
 *
 * hf_tls_context_new - reads the files. The certificate must name options->server_name or, if
 *   that is not set, `host` (a name or an IP literal): in upper or lower case, an IP literal
 *   without its zone, "*.a.test" for one label; the CN of the subject only if the certificate
 *   has no DNS name. The password of the key is not kept. Sets *out only on HF_OK, and *err,
 *   which may be NULL, only on failure:
 *     HF_E_INVAL  there is no name to check, or no certificate could have it; a key without a
 *                 certificate
 *     HF_E_TLS    the line names the file and the fault; or TLS is not built in
 *     HF_E_NOMEM
 * hf_tls_context_share - makes a context for another host from one with the same options. It
 *   shares the contents of files, so that they are read once for all hosts of a cluster.
 * hf_tls_context_take_settings - lets new connections of `context` use the contents that `of`
 *   has read later from the same files. Existing connections keep the earlier contents, also
 *   if their handshake is not complete. Earlier sessions are not resumed, because another CA
 *   had verified them.
 * hf_tls_context_free - frees a context that no link uses. NULL is allowed. */
struct hf_tls_context;
hf_status hf_tls_context_new(struct hf_tls_context **out,
                             const struct hf_mem *mem,
                             const struct hf_tls_options *options,
                             const char *host, struct hf_error *err)
    HF_MUST_CHECK;
hf_status hf_tls_context_share(struct hf_tls_context **out,
                               const struct hf_tls_context *of,
                               const struct hf_tls_options *options,
                               const char *host, struct hf_error *err)
    HF_MUST_CHECK;
void hf_tls_context_take_settings(struct hf_tls_context *context,
                                  const struct hf_tls_context *of);
void hf_tls_context_free(struct hf_tls_context *context);

#endif
