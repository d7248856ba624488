/* Labels of clients (lock/label.h) in a run: what their keys have, and what others are told of
 * them. The history has no line about a label: what is wrong is found here (sim_fail, "label").
 *
 * Always:
 *   A label key is a string with a TTL and the text of the client that its name has. Whoever
 *   reads a label gets this text, or none; and so does the error of a call that has timed out.
 *
 * In plans whose only faults are deaths of programs:
 *   LABELS-1  A client that has held a lock, or one lock after the other, for half a second has a
 *             label, and so has the process that died then. It lasts as long as the lock. Shorter
 *             holds have none.
 *   LABELS-2  The label lasts longer than the locks by at most the watchdog timeout, and is
 *             not written while nothing is held or requested.
 *   LABELS-3  A client that is closed while nothing is held leaves no label. What stays held
 *             when it is closed has one.
 *   LABELS-4  Who reads a label that is stored gets it. The error of a call that has waited for a
 *             while for a holder with a label has it.
 *   LABELS-5  After a refusal by the ACL a client sends no further SET. */
#ifndef SIM_LABELS_H
#define SIM_LABELS_H

#include "lock/label.h"
#include "tests/sim/call.h"
#include "tests/sim/observer.h"

/* labels_begin  - begins to look at the keys, if the plan has labels.
 * labels_text   - returns the label of a program's next client; NULL: it has none.
 * labels_opened - this client of the program has the label.
 * labels_ended  - the program's client has ended: it was closed within that time; 0: it had none,
 *                 or was freed or killed.
 * labels_held   - a server has this hold until then.
 * labels_freed  - a server no longer has this hold.
 * labels_change - a key of a server has changed.
 * labels_error  - a server has refused a command by its ACL.
 * labels_read   - begins to read the label of a holder of the lock.
 * labels_told   - an acquire of this call has ended.
 * labels_last_ms - returns how long a label outlasts the locks of its client.
 * labels_free   - accepts a run without labels. */
void labels_begin(struct sim *sim);
const char *labels_text(struct sim *sim, int64_t program);
void labels_opened(struct sim *sim, int64_t program, const char *uuid);
void labels_ended(struct sim *sim, int64_t program, int64_t close_ms);
void labels_held(struct sim *sim, const char *field, int64_t until_us);
void labels_freed(struct sim *sim, const char *field);
void labels_change(struct observer *w, struct model *m, const struct model_change *c);
void labels_error(struct sim *sim, const struct model_error *e);
void labels_read(struct program *p, int64_t lock);
void labels_told(const struct call *c, hf_status status, const struct hf_error *err);
int64_t labels_last_ms(const struct plan *plan);
void labels_free(struct sim *sim);

#endif
