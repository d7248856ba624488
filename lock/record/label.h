/* The label of this client (lock/label.h): when it is written to the server. Private to lock/.
 * All functions: [locked].
 *
 * LABEL-1  A hold, or a place in a queue, that ends within LABEL_AFTER_MS costs no request, also if
 *          other calls are pending then, or another hold begins.
 * LABEL-2  Later, the label stays on the server for as long as a hold or a place may stay there.
 *          While the server replies, one request for each watchdog timeout is enough for this, and
 *          one more for a longer lease. A hold that was lost counts as ended.
 * LABEL-3  hf_client_close, after the pending releases have ended, deletes the label if nothing is
 *          held; otherwise it stores the label, if LABEL-1 has prevented that. It waits at most
 *          LABEL_CLOSE_MS for this.
 * LABEL-4  After the server has refused the right (NOPERM), no further request is sent. */
#ifndef HF_LABEL_RECORD_H
#define HF_LABEL_RECORD_H

#include "lock/label.h"
#include "lock/record/records.h"

#define LABEL_CLOSE_MS 100

/* hf_label_open  - keeps a copy of the text for the client. HF_E_NOMEM.
 * hf_label_note_needed  - a hold of this client, or its place in a queue, may stay on the server
 *                  for this time from now. Without a label it does nothing.
 * hf_label_close - begins LABEL-3, for hf_client_close. client->is_closing_label is true until it
 *                  has ended; then client->closing_waiter is woken.
 * hf_label_free  - also without a label. */
hf_status hf_label_open(struct hf_client *client, const char *text) HF_MUST_CHECK;
void hf_label_note_needed(struct hf_client *client, int64_t for_ms);
void hf_label_close(struct hf_client *client);
void hf_label_free(struct hf_client *client);

/* hf_label_dump_text - describes its state for hf_client_dump. Returns dst; NULL: there is no
 *   label. */
#define LABEL_DUMP_MAX (HF_LABEL_MAX + 100)
const char *hf_label_dump_text(const struct hf_client *client, char dst[LABEL_DUMP_MAX]);

#endif
