/* The holder for which a call waits, as messages name it, with its label. Private to lock/. All
 * functions: [locked].
 *
 * The label is read for each holder, and only for a client that has a label itself, when a call
 * that may time out has waited for LABEL_AFTER_MS or half of its time; once more, if there was
 * none. Its queue keeps it, because all waiters of a queue wait for the same holder. */
#ifndef HF_HOLDER_H
#define HF_HOLDER_H

#include "lock/record/records.h"

/* hf_holder_note     - a reply named the holder for which `op` waits.
 * hf_holder_fill_timeout - returns `status`; if this is HF_TIMEOUT, fills the error of the call,
 *                      which names the holder.
 * hf_holder_label    - returns the label of a holder if the queue, which may be NULL, knows it;
 *                      otherwise "".
 * hf_holder_free     - for the end of a queue. */
void hf_holder_note(struct hf_op *op, const struct hf_lock_info *info);
hf_status hf_holder_fill_timeout(struct hf_op *op, hf_status status);
const char *hf_holder_label(const struct hf_wait_queue *line, const char *holder, size_t len);
void hf_holder_free(struct hf_wait_queue *line);

#endif
