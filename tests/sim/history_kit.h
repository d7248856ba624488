/* Histories of runs that must be good, for tests that read them. */
#ifndef SIM_HISTORY_KIT_H
#define SIM_HISTORY_KIT_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/judge/history.h"
#include "tests/sim/run.h"

/* history_of_plan - executes the plan, which must not fail, and returns its history, for free().
 *   HF_TELL_STORY: also writes it to standard error. */
static inline char *history_of_plan(const struct plan *plan)
{
    struct run_result r;
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream(&text, &len);

    ck_assert_ptr_nonnull(file);
    run_plan(plan, file, &r);
    (void)fclose(file);
    if (getenv("HF_TELL_STORY"))
        (void)fputs(text, stderr);
    ck_assert_msg(!r.has_failed, "%s: %s", r.property, r.text);
    return text;
}

/* history_next - reads the next event into *e, and moves *rest, which begins at the history and
 *   is written to. Returns false at the end of the plan; what follows it only ends the run. */
static inline bool history_next(char **rest, struct history_event *e)
{
    char *line;

    while ((line = strsep(rest, "\n"))) {
        if (line[0] == '\0' || line[0] == '#')
            continue;
        ck_assert_ptr_null(history_read(e, line, strlen(line)));
        return e->what != HISTORY_OVER && e->what != HISTORY_QUIET;
    }
    return false;
}

#endif
