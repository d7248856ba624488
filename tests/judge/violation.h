/* How a violation is told. Private to the judge. */
#ifndef CHECK_VIOLATION_H
#define CHECK_VIOLATION_H

#include "tests/judge/state.h"

/* violate - a new one. What is not judged, or beyond what is kept, is written where
 *           nobody reads it.
 * say     - words of it, behind those that it has. Arguments are names, numbers and
 *           times: they do not belong to its kind (judge.h).
 * say_words - words of it that do.
 * show    - a line of the history that it is about: in order, each once.
 * word, when - names and times, as a person reads them; they last for one
 *           sentence. */
struct judge_violation *violate(struct judge *j, int property, int64_t time_us);
void say(struct judge_violation *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void say_words(struct judge_violation *v, const char *words);
void show(struct judge_violation *v, struct moment at);
const char *word(struct history_text text);
const char *when(int64_t us);

#endif
