/* The pipe that wakes the thread which sleeps in the poller: it is watched there
 * like any descriptor. Private to net/. */
#ifndef HF_WAKE_PIPE_H
#define HF_WAKE_PIPE_H

#include "net/net.h"

/* hf_wake_pipe_open  - both ends, non-blocking; fd[0] is to be watched for
 *                      HF_READ. HF_E_SYSTEM
 * hf_wake_pipe_close - takes -1, too.
 * hf_wake_pipe_write - makes fd[0] readable. false: it is not (errno).
 * hf_wake_pipe_drain - fd[0] is not readable any more. */
hf_status hf_wake_pipe_open(int fd[2]) HF_MUST_CHECK;
void hf_wake_pipe_close(const int fd[2]);
bool hf_wake_pipe_write(const int fd[2]);
void hf_wake_pipe_drain(const int fd[2]);

#endif
