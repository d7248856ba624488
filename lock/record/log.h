/* Lines for the log callback of the client. Private to lock/. */
#ifndef HF_LOG_H
#define HF_LOG_H

#include "lock/record/records.h"

/* hf_client_log - queues a line for the log callback, which is called later without the
 * loop's lock. */
void hf_client_log(struct hf_client *client, enum hf_log_level level,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
