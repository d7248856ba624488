/* Signals as events: handlers record them, and a descriptor wakes the loop. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

/* cli_signals_end_from_start - is the first call of the program. From then on TERM, INT, HUP and
 *   QUIT end it at once, in every state, also as PID 1, to which the kernel delivers only signals
 *   with a handler. A signal that was ignored at the start remains ignored. */
void cli_signals_end_from_start(void);

/* "The four" are TERM, INT, HUP and QUIT, which end the program.
 *
 * cli_signals_open - from now on the four and USR1, USR2, CONT and CHLD are recorded, PIPE and
 *   TTOU ignored. Signals that were ignored at the start (nohup, a shell's background) stay
 *   ignored. Returns a descriptor, always the same, that is readable when a signal was recorded;
 *   -1: see errno.
 * cli_signals_end_at_once - on: the four end the program as after cli_signals_end_from_start;
 *   at once if one was recorded before. For calls that block while no lock is held. Off: they
 *   are recorded.
 * cli_signals_set_end_limit - on: one of the four ends the program CLI_SIGNALS_LIMIT_MS after
 *   it was recorded, in any state, and prints `last_words` (a line, borrowed; NULL: none). Off:
 *   no limit, while a command runs.
 * cli_signals_start_limit - starts that time for `signal` if it is not running.
 * cli_signals_record_stop - also records TSTP, while there is a command to stop.
 * cli_signals_take - returns the next recorded signal, or 0. A signal that arrived several
 *   times is returned once.
 * cli_signals_has_end_signal - returns whether one of the four was recorded and not taken.
 * cli_signals_take_end_signal - takes all, and returns the first of the four, or 0.
 * cli_signals_is_end_signal - returns whether it is one of the four. A command that receives one
 *   may end.
 * cli_signals_reload_on_hangup - from now on HUP means "read the files again": it is recorded,
 *   but is not one of the four. For a process without a terminal.
 * cli_signals_ends_us - returns whether it is one of the four, after that change. */
#define CLI_SIGNALS_LIMIT_MS 90
#define CLI_SIGNALS_PROMPT_MS 60 /* of it, for requests that end in order */

int cli_signals_open(void);
void cli_signals_end_at_once(bool on);
void cli_signals_set_end_limit(bool on, const char *last_words);
void cli_signals_start_limit(int signal);
bool cli_signals_has_end_signal(void);
void cli_signals_record_stop(bool is_noted);
int cli_signals_take(void);
int cli_signals_take_end_signal(void);
bool cli_signals_is_end_signal(int signal);
void cli_signals_reload_on_hangup(void);
bool cli_signals_ends_us(int signal);

/* cli_signals_block_all    - blocks all signals, so that a forked child does not run our handlers.
 * cli_signals_unblock  - ends this in the parent.
 * cli_signals_restore_original - restores in the child what was set at the start of the program. */
void cli_signals_block_all(void);
void cli_signals_unblock(void);
void cli_signals_restore_original(void);

/* cli_signals_suspend - stops this process group as Ctrl-Z does, unless there is no shell that
 * could continue it. Returns when it is continued. */
void cli_signals_suspend(void);

/* cli_signals_die - ends this process by the signal, which its parent then sees. PID 1 cannot be
 *   ended by its own signal, and exits with 128 + the signal. `for_all`: ends the whole process
 *   group, as a terminal does. No core is dumped (core_dump.h). Returns only if the signal was
 *   ignored at the start. */
void cli_signals_die(int signal, bool for_all);

#endif
