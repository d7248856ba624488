/* The order in which the holds that are due in one turn are renewed. Private to lock/. */
#ifndef HF_DUE_ORDER_H
#define HF_DUE_ORDER_H

#include "lock/record/records.h"

/* hf_due_holds_sort - sorts the holds of client->due_holds (a list of hold_work.due_node) so that
 *   those that one script call can renew are adjacent; otherwise their order remains. It
 *   allocates nothing. Cost: linear. */
void hf_due_holds_sort(struct hf_list *due_holds);

#endif
