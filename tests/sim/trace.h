/* A history as a person reads it. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdio.h>

/* trace_print - a sentence for each line of a history, with its time in seconds
 *              since the first line; what says nothing to a person (renewals
 *              that only prolong, messages) is left out. */
void trace_print(FILE *history, FILE *to);

#endif
