/* A history as a person reads it. */
#ifndef SIM_STORY_H
#define SIM_STORY_H

#include <stdio.h>

/* story_tell - a sentence for each line of a history, with its time in seconds
 *              since the first line; what says nothing to a person (renewals
 *              that only prolong, messages) is left out. */
void story_tell(FILE *history, FILE *to);

#endif
