/* TLS over a connected socket, by OpenSSL (tls_openssl*.c); tls_none.c is for a build without
 * TLS. Private to net/. Under the loop's lock. */
#ifndef HF_TLS_H
#define HF_TLS_H

#include "net/wire/tls_context.h"

struct hf_tls;

/* hf_tls_new  - prepares TLS over `fd`, which does not block and remains the caller's.
 *               HF_E_NOMEM.
 * hf_tls_free - sends close_notify if `is_polite`, which must be false in a forked child, and
 *               frees. Never waits. Called before `fd` is closed. NULL is allowed. */
hf_status hf_tls_new(struct hf_tls **out, struct hf_tls_context *context,
                     int fd) HF_MUST_CHECK;
void hf_tls_free(struct hf_tls *tls, bool is_polite);

/* hf_tls_handshake - continues the handshake. Returns
 *   HF_OK         it is complete, and the peer has passed the checks
 *   HF_RESP_MORE  call again when the descriptor is ready for hf_tls_wanted_events()
 *   HF_E_CONNECT  the connection ended: a retry may help
 *   HF_E_TLS      the peer has not passed the checks, does not speak TLS, or refuses this
 *                 client: a retry will not help
 *   HF_E_NOMEM
 * hf_tls_read, hf_tls_write - return what hf_socket_read and hf_socket_write return, or
 *   HF_TLS_FAILED: hf_tls_error says why. Before the handshake is complete they return only
 *   that. HF_SOCKET_EOF: the peer sent close_notify; an end without it is HF_TLS_FAILED. Fewer
 *   bytes than requested mean that more would have blocked. A write that is repeated must
 *   begin with the same bytes; their address may differ, and more may follow. The reason of a
 *   write that failed may be found by the next read.
 * hf_tls_wanted_events - returns HF_READ, HF_WRITE or both. When the descriptor is ready for one of
 *   them, try *both* to read and to write, because a read may wait until it can write.
 * hf_tls_has_more - returns whether the caller must read again even if the descriptor is not
 *   readable: bytes were taken from the socket but not read, or the end is known (a write may
 *   have found it). Check it after the handshake, after each read, and after a write that
 *   returned HF_TLS_FAILED. */
#define HF_TLS_FAILED (-100001)
hf_status hf_tls_handshake(struct hf_tls *tls) HF_MUST_CHECK;
long hf_tls_read(struct hf_tls *tls, void *ptr, size_t room);
long hf_tls_write(struct hf_tls *tls, const void *ptr, size_t len);
int hf_tls_wanted_events(const struct hf_tls *tls);
bool hf_tls_has_more(const struct hf_tls *tls);

/* hf_tls_error - returns why the handshake, a read or a write failed: a status of
 *   hf_tls_handshake and a line, for example "the server's certificate has expired (subject
 *   CN=..., issuer CN=..., valid ...)". Lent until hf_tls_free.
 * hf_tls_is_resumed - returns whether the handshake resumed an earlier session. */
const struct hf_error *hf_tls_error(const struct hf_tls *tls);
bool hf_tls_is_resumed(const struct hf_tls *tls);

#endif
