/* Requests a confirmation from the person at the terminal. */
/* Tests: tests/live/cli/test_run_status.c. */
#include "cli/lock/person.h"

#include <stdio.h>
#include <unistd.h>

bool cli_person_can_answer(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

bool cli_person_says_yes(void)
{
    char answer[16];

    if (!fgets(answer, sizeof answer, stdin)) {
        (void)fputc('\n', stderr);
        return false;
    }
    return answer[0] == 'y' || answer[0] == 'Y';
}
