/* Reads the labels of the holders and waiters in a list. */
#ifndef CLI_LS_LABELS_H
#define CLI_LS_LABELS_H

#include "cli/ls/list.h"

/* ls_labels_read - sets the label of each lock in the list whose holder has one, and of each
 *   waiter, with one request for each client that holds locks or waits. A label that cannot be
 *   read is "". Returns CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error. */
int ls_labels_read(struct ls_list *list, struct hf_client *client);

#endif
