/* Prints a history as sentences. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdio.h>

/* trace_print - prints a sentence for each line of a history, with its time in seconds since
 *              the first line. It leaves out lines that explain nothing: renewals that only
 *              extend a lease, and messages. */
void trace_print(FILE *history, FILE *to);

#endif
