/* Sockets that never block and never outlive an exec: the only file that
 * makes, reads, writes and closes one (but for OpenSSL, which reads and writes
 * by itself). Private to net/. */
#ifndef HF_SOCKET_H
#define HF_SOCKET_H

#include <sys/socket.h>

#include "net/net.h"

/* hf_socket_connect - begins to connect; *fd is set on HF_OK, and is writable
 *                     once it is connected or failed. HF_E_CONNECT: errno.
 * hf_socket_error   - the errno of a connect that ended; 0: connected. Refused,
 *                     too, is a socket that was connected to itself: a port of this
 *                     machine on which nobody listens may be picked for our end
 *                     too.
 * hf_socket_close   - of one that is watched no more. */
hf_status hf_socket_connect(int *fd, const struct sockaddr *address,
                            socklen_t len) HF_MUST_CHECK;
int hf_socket_error(int fd);
void hf_socket_close(int fd);

/* Both: > 0 bytes moved; 0: it would block; < 0: the negative errno, or
 * HF_SOCKET_EOF when the peer has closed. Never raises SIGPIPE. */
#define HF_SOCKET_EOF (-100000)
long hf_socket_read(int fd, void *ptr, size_t room);
long hf_socket_write(int fd, const void *ptr, size_t len);

#endif
