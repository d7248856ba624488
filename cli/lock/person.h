/* Requests a confirmation from the person at the terminal. */
#ifndef CLI_PERSON_H
#define CLI_PERSON_H

#include <stdbool.h>

/* cli_person_can_answer - returns whether standard input and standard error are terminals.
 * cli_person_says_yes - reads the reply to a prompt that was printed. */
bool cli_person_can_answer(void);
bool cli_person_says_yes(void);

#endif
