/* The pipe that wakes the thread in the poller, which watches it like any other descriptor.
 * Private to net/. */
#ifndef HF_WAKE_PIPE_H
#define HF_WAKE_PIPE_H

#include "net/net.h"

/* hf_wake_pipe_open  - opens both ends, which do not block; fd[0] must be watched for HF_READ.
 *                      HF_E_SYSTEM.
 * hf_wake_pipe_close - closes both ends; -1 is allowed.
 * hf_wake_pipe_write - makes fd[0] readable. Returns false if it could not (errno).
 * hf_wake_pipe_drain - reads all bytes, so that fd[0] is no longer readable. */
hf_status hf_wake_pipe_open(int fd[2]) HF_MUST_CHECK;
void hf_wake_pipe_close(const int fd[2]);
bool hf_wake_pipe_write(const int fd[2]);
void hf_wake_pipe_drain(const int fd[2]);

#endif
