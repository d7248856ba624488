/* TLS over a connected socket: by OpenSSL (tls_openssl*.c), or not built in
 * (tls_none.c). Private to net/. Under the loop's lock. */
#ifndef HF_TLS_H
#define HF_TLS_H

#include "net/wire/tls_context.h"

struct hf_tls;

/* hf_tls_new  - over `fd`, non-blocking, which stays the caller's. HF_E_NOMEM.
 * hf_tls_free - says goodbye (close_notify) if `is_polite`: not in a forked
 *               child. Never waits. Takes NULL. Before `fd` is closed. */
hf_status hf_tls_new(struct hf_tls **out, struct hf_tls_context *context,
                     int fd) HF_MUST_CHECK;
void hf_tls_free(struct hf_tls *tls, bool is_polite);

/* hf_tls_handshake - goes on with it:
 *   HF_OK         it is done, and the peer has passed the checks
 *   HF_RESP_MORE  call again when the descriptor is ready for hf_tls_wants()
 *   HF_E_CONNECT  the connection ended: trying again may help
 *   HF_E_TLS      the peer has not passed the checks, does not speak TLS, or does
 *                 not want us: trying again will not help
 *   HF_E_NOMEM
 * hf_tls_read, hf_tls_write - as hf_socket_read and hf_socket_write, and
 *   HF_TLS_FAILED: hf_tls_error says why. Before the handshake is HF_OK that is
 *   their only answer. HF_SOCKET_EOF is the peer's goodbye; an end without one
 *   is HF_TLS_FAILED. Fewer bytes than could be moved mean that more would have
 *   blocked. A write that is tried again must come with the same bytes, perhaps
 *   at another address, perhaps with more of them behind. A write that failed
 *   may have its reason in what the next read finds.
 * hf_tls_wants - HF_READ, HF_WRITE or both: when the descriptor is ready for
 *   one of them, try again *both* to read and to write what is left: a read may
 *   wait for room to write.
 * hf_tls_has_more - read again, whatever the descriptor says: bytes have left
 *   the socket that nobody has read, or the end is known (a write may have
 *   found it). To be asked after the handshake, after a read, and after a write
 *   that was HF_TLS_FAILED. */
#define HF_TLS_FAILED (-100001)
hf_status hf_tls_handshake(struct hf_tls *tls) HF_MUST_CHECK;
long hf_tls_read(struct hf_tls *tls, void *ptr, size_t room);
long hf_tls_write(struct hf_tls *tls, const void *ptr, size_t len);
int hf_tls_wants(const struct hf_tls *tls);
bool hf_tls_has_more(const struct hf_tls *tls);

/* hf_tls_error - why the handshake failed, or a read or write was
 *   HF_TLS_FAILED: the statuses of hf_tls_handshake, and a line as "the
 *   server's certificate has expired (subject CN=..., issuer CN=..., valid
 *   ...)". Lent until hf_tls_free.
 * hf_tls_is_resumed - did the handshake resume an earlier session? */
const struct hf_error *hf_tls_error(const struct hf_tls *tls);
bool hf_tls_is_resumed(const struct hf_tls *tls);

#endif
