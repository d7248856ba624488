/* A question that a person at the terminal answers. */
#ifndef CLI_PERSON_H
#define CLI_PERSON_H

#include <stdbool.h>

/* cli_person_can_answer - both ends are terminals: one to ask, one to answer.
 * cli_person_says_yes   - reads the answer to a question that was printed. */
bool cli_person_can_answer(void);
bool cli_person_says_yes(void);

#endif
