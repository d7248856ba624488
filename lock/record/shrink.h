/* Frees memory that an idle object does not need, a second after its last use, so that an
 * object that is used all the time allocates nothing. Private to lock/. [locked]
 *
 * SHRINK-1  One timer of the client serves all objects. An idle client has at most two
 *           wake-ups after its last call or renewal.
 * SHRINK-2  An object that is in use when its time comes is left alone. Its next end of use
 *           calls hf_shrink_later again. */
#ifndef HF_SHRINK_H
#define HF_SHRINK_H

#include "lock/record/records.h"

/* hf_shrink_init - no object waits. */
void hf_shrink_init(struct hf_client *client);

/* hf_shrink_fini - stops the timer. */
void hf_shrink_fini(struct hf_client *client);

/* hf_shrink_later - the object is idle from now on: free_memory is called in a second. */
void hf_shrink_later(struct hf_client *client, struct hf_shrink *shrink);

/* hf_shrink_cancel - the object is used again, or will be freed. */
void hf_shrink_cancel(struct hf_shrink *shrink);

#endif
