/* Sockets that never block and have the close-on-exec flag. Only socket.c opens, reads, writes and
 * closes them, except that OpenSSL reads and writes by itself. Private to net/. */
#ifndef HF_SOCKET_H
#define HF_SOCKET_H

#include <sys/socket.h>

#include "net/net.h"

/* hf_socket_connect - begins to connect. Sets *fd on HF_OK; it becomes writable when it is
 *                     connected or has failed. HF_E_CONNECT (errno).
 * hf_socket_error   - returns the errno of a connect that has ended; 0: connected. A socket that
 *                     is connected to itself counts as refused: the kernel may choose a port
 *                     without a listener as the port of our own end.
 * hf_socket_close   - closes a socket that is no longer watched. */
hf_status hf_socket_connect(int *fd, const struct sockaddr *address,
                            socklen_t len) HF_MUST_CHECK;
int hf_socket_error(int fd);
void hf_socket_close(int fd);

/* hf_socket_read, hf_socket_write - return the number of bytes; 0: it would block; < 0: the
 * negative errno, or HF_SOCKET_EOF if the peer has closed. They never raise SIGPIPE. */
#define HF_SOCKET_EOF (-100000)
long hf_socket_read(int fd, void *ptr, size_t room);
long hf_socket_write(int fd, const void *ptr, size_t len);

#endif
