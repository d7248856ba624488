/* One `holdfast run`: the command, its lock and its guardian. It receives events, state.c
 * decides what follows, and it executes these decisions. */
#ifndef CLI_RUN_SESSION_H
#define CLI_RUN_SESSION_H

#include "cli/base/report.h"
#include "cli/base/wait_report.h"
#include "cli/run/child.h"
#include "cli/run/events.h"
#include "cli/run/hold.h"
#include "cli/run/notify.h"
#include "cli/run/reload.h"
#include "cli/run/run_options.h"
#include "cli/run/state.h"
#include "cli/run/tty.h"

struct cli_session {
    const struct cli_run_options *options;
    const struct cli_common *common;
    struct cli_run state;
    struct cli_event_log log;
    struct hf_loop *loop;
    struct cli_locks locks;
    struct cli_hold hold;
    struct cli_child child;
    struct cli_tty tty;
    int notice_pipe[2];         /* a pipe whose reading end is the command's HOLDFAST_FD; when the
                                   hold is lost, we close the other; -1: closed */
    struct cli_proof_server proof_server; /* for runs inside the command */
    struct cli_notify notify;   /* from the command to systemd */
    struct cli_reload reload;   /* after HUP */
    int64_t requested_ms;       /* when we began to wait */
    struct cli_wait_report wait_report; /* what is reported meanwhile */

    /* Noted in a turn of the loop. */
    struct hf_io signal_io;
    struct hf_io guardian_io;
    struct hf_timer timer;
    bool has_signal;
    bool has_guardian_news;
    bool is_timer_due;
    char last_words[CLI_QUOTE_MAX + 128]; /* if a signal ends us before the
                                   server has answered */
    bool was_refused_temporarily; /* the server refused the lock for now */
    bool cannot_run;              /* the command could not be executed */
    bool is_hung_up_late;         /* HUP came after the command had ended */
    bool is_refusal_reported;     /* the command may not be signalled */
};

/* cli_session_update_limit - from now on a signal that ends programs ends this process in time, as
 *   long as no command runs, and the lock is not kept after it (RUN-10).
 * cli_session_open_notice - creates the pipe. Call it before other descriptors are opened, because
 *   a shell such as dash can name only those below 10. Returns CLI_CONTINUE, or CLI_EXIT_ERROR
 *   after reporting the error.
 * cli_session_close_notice - closes both ends.
 * cli_session_handle_event - decides what follows from an event, and does it. Fills in its times.
 * cli_session_handle_number_event - does the same for an event of this kind and number.
 * cli_session_rewatch_guardian - waits for further messages of the guardian, after all were read.
 * cli_session_unwatch_guardian - no longer waits for messages. Also if it does not wait. */
void cli_session_update_limit(struct cli_session *run);
int cli_session_open_notice(struct cli_session *run);
void cli_session_close_notice(struct cli_session *run);
void cli_session_handle_event(struct cli_session *run, struct cli_run_event ev);
void cli_session_handle_number_event(struct cli_session *run, enum cli_run_event_kind kind,
                                     int number);
void cli_session_rewatch_guardian(struct cli_session *run);
void cli_session_unwatch_guardian(struct cli_session *run);

#endif
