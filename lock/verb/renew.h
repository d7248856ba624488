/* The watchdog: renews the holds in client->due_holds at the end of a turn.
 * Private to lock/. */
#ifndef HF_RENEW_H
#define HF_RENEW_H

#include "lock/record/records.h"

/* hf_watchdog_init - no hold is due. */
void hf_watchdog_init(struct hf_client *client);

/* hf_watchdog_fini - frees pending batches. */
void hf_watchdog_fini(struct hf_client *client);

#endif
