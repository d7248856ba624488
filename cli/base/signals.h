/* Signals as events: handlers note them, and a descriptor tells the loop. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

/* cli_signals_begin - the first call of the program: TERM, INT, HUP and QUIT end
 *   it at once, in every state, also where it is PID 1, to which the kernel
 *   delivers only signals that have a handler. A signal that was ignored when we
 *   were started stays ignored. */
void cli_signals_begin(void);

/* cli_signals_open - from now on TERM, INT, HUP, QUIT, USR1, USR2, CONT and
 *   CHLD are noted, PIPE and TTOU ignored. Those that were ignored when we were
 *   started (nohup, a shell's background) stay ignored. Returns a descriptor,
 *   readable when one was noted, the same each time; -1: errno says why.
 * cli_signals_end_at_once - on: the four end the program as after
 *   cli_signals_begin, at once if one was noted before. For calls that block
 *   while nothing is held. Off: they are noted.
 * cli_signals_limit - on: a noted one of the four ends the program after
 *   CLI_SIGNALS_LIMIT_MS, whatever the program does by then, and `last_words` (a
 *   line, borrowed; NULL: none) are printed. Off: for as long as a command runs.
 * cli_signals_limit_by - starts that time for `signal` if it is not running.
 * cli_signals_note_stop - TSTP, too, as long as there is a command to stop with
 *   us.
 * cli_signals_take - the next one noted, or 0. Each is reported once, however
 *   often it came since.
 * cli_signals_has_end - is one of the four noted and not taken?
 * cli_signals_take_end - takes all, and returns the first that ends us, or 0.
 * cli_signals_end_programs - is it TERM, INT, HUP or QUIT? One of these that a command
 *   gets may end it.
 * cli_signals_reload_on_hangup - from now on HUP means "read your files again": it is
 *   noted, but it is not one of the four. For a process without a terminal, which nobody
 *   can hang up.
 * cli_signals_end_us - is it one of the four, after that? */
#define CLI_SIGNALS_LIMIT_MS 90
#define CLI_SIGNALS_PROMPT_MS 60 /* of it, for requests that end in order */

int cli_signals_open(void);
void cli_signals_end_at_once(bool on);
void cli_signals_limit(bool on, const char *last_words);
void cli_signals_limit_by(int signal);
bool cli_signals_has_end(void);
void cli_signals_note_stop(bool is_noted);
int cli_signals_take(void);
int cli_signals_take_end(void);
bool cli_signals_end_programs(int signal);
void cli_signals_reload_on_hangup(void);
bool cli_signals_end_us(int signal);

/* cli_signals_hold   - none is delivered, so that a forked child does not run
 *                      our handlers; cli_signals_resume - in the parent.
 * cli_signals_inherit - in the child: as they were when we were started. */
void cli_signals_hold(void);
void cli_signals_resume(void);
void cli_signals_inherit(void);

/* cli_signals_suspend - stops this process group as Ctrl-Z does, unless no
 * shell is there to continue it. Returns when it is continued. */
void cli_signals_suspend(void);

/* cli_signals_die - ends this process by the signal, so that its parent sees
 *   what happened; PID 1, which no signal of its own ends, exits with 128 + the
 *   signal. `for_all`: ends its whole process group, as a terminal does. No core
 *   is dumped (core_dump.h). Returns only if the signal was ignored when we were
 *   started. */
void cli_signals_die(int signal, bool for_all);

#endif
