/* TLS: what the connections to one server share. */
#ifndef HF_TLS_CONTEXT_H
#define HF_TLS_CONTEXT_H

#include "net/net.h"

/* A context is what the connections to one server share: settings read from
 * files, and the session to be resumed. It serves one server name, so that a
 * session is never offered to another.
 *
 * hf_tls_context_new - reads the files. `host` is what the certificate must
 *   name (a name or an IP literal), unless options->server_name does: in
 *   any case, an IP literal without its zone, "*.a.test" for one label; the
 *   subject's CN only where the certificate holds no DNS name at all. The
 *   password of the key is not kept. *out is set only on HF_OK; *err, which may
 *   be NULL, only on failure:
 *     HF_E_INVAL  no name to check, or none that a certificate could hold; a
 *                 key without a certificate
 *     HF_E_TLS    with a line that names the file and says what is wrong with
 *                 it; or TLS is not built in
 *     HF_E_NOMEM
 * hf_tls_context_share - the same for another host, of a context with the same
 *   options: what was read from files is shared, and read once however many
 *   hosts a cluster announces.
 * hf_tls_context_take_settings - new connections of `context` use what `of` has read from
 *   the same files later. Connections that exist keep the earlier contents, also if their
 *   handshake is not done. Earlier sessions are not resumed: another CA had judged them.
 * hf_tls_context_free - its links are gone. Takes NULL. */
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
