/* Reports what happens in `holdfast run`. */
/* Tests: tests/live/cli/test_run.c. */
#include "cli/run/events.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/json.h"
#include "cli/base/values.h"
#include "cli/base/wall_clock.h"

/* A longer name is cut, so that a line fits into PIPE_BUF: then a pipe takes
 * all of it at once or nothing. Each byte may take six; those of a label two, and an owner
 * that has one is short (hf_owner_ok). Beside the name a line has a holder (waiting), a member
 * (lost, released) or our owner; the rest is short. */
#define NAME_SHOWN_MAX 384
#define MEMBER_SHOWN_MAX 191
#define REST_MAX 512
#define HOLDER_MAX sizeof(((struct hf_lock_info *)0)->holder)
static_assert(6 * (NAME_SHOWN_MAX + HOLDER_MAX) + REST_MAX < PIPE_BUF &&
                  HOLDER_MAX > HF_OWNER_TEXT_MAX && HOLDER_MAX > MEMBER_SHOWN_MAX &&
                  2 * HF_LABEL_MAX + 2 * HF_OWNER_TEXT_MAX < 6 * HOLDER_MAX,
              "a line must fit into PIPE_BUF");

void cli_event_init(struct cli_event_log *t, int status_fd, const char *name,
                    const char *owner)
{
    *t = (struct cli_event_log){.name = name, .owner = owner};
    cli_sink_open(&t->status, status_fd);
    (void)cli_quote(t->quoted, name, strlen(name));
}

void cli_event_fini(struct cli_event_log *t)
{
    cli_sink_close(&t->status);
}

/* ---- lines for a program ---- */

static void put_cut_name(struct cli_json *j, const char *key, const char *name, size_t max)
{
    size_t len = strlen(name);

    cli_json_bytes(j, key, name, len < max ? len : max);
}

static void begin_event(struct cli_json *j, const struct cli_event_log *t,
                        const char *event)
{
    cli_json_init(j);
    if (t->lost_name)
        cli_json_choose_escaping(j, t->lost_name, strlen(t->lost_name));
    cli_json_text(j, "event", event);
    cli_json_integer(j, "time_ms", cli_wall_clock_ms());
    put_cut_name(j, "name", t->name, NAME_SHOWN_MAX);
    if (*t->owner)
        cli_json_text(j, "owner", t->owner);
}

static void end_event(struct cli_json *j, const struct cli_event_log *t)
{
    const char *line = cli_json_end(j);

    if (line)
        (void)cli_sink_write(&t->status, line, j->len); /* or the reader misses
                                                           it */
    cli_json_fini(j);
}

/* ---- waiting, acquired, refused ---- */

void cli_event_waiting(const struct cli_event_log *t, const struct cli_wait_report *w)
{
    struct cli_json j;

    begin_event(&j, t, "waiting");
    cli_json_text(&j, "holder", w->info.holder);
    cli_json_integer(&j, "ttl_ms", w->info.ttl_ms);
    if (w->label[0])
        cli_json_text(&j, "label", w->label);
    end_event(&j, t);
}

void cli_event_acquired(struct cli_event_log *t, int64_t waited_ms,
                        bool is_nested, int64_t token)
{
    char waited[CLI_DURATION_TEXT_MAX];
    struct cli_json j;

    t->is_nested = is_nested;
    cli_warning_forget();
    begin_event(&j, t, "acquired");
    cli_json_integer(&j, "waited_ms", waited_ms);
    cli_json_bool(&j, "nested", is_nested);
    if (token > 0)
        cli_json_integer(&j, "token", token);
    end_event(&j, t);
    if (is_nested)
        cli_verbose("%s is held by the outer run", t->quoted);
    else
        cli_verbose("acquired %s after %s", t->quoted,
                    cli_duration_text(waited, waited_ms));
}

/* That another holds the lock is an answer and no error, as with flock(1). */
void cli_event_refused(const struct cli_event_log *t, hf_status status,
                       const struct hf_error *err)
{
    if (status == HF_TIMEOUT) /* of a quorum */
        cli_verbose("%s", err->text);
    else if (status == HF_CANCELLED)
        cli_verbose("stopped waiting for %s", t->quoted);
    else
        (void)cli_fail_status(status, err);
}

/* ---- held, lost ---- */

void cli_event_renewed(const struct cli_event_log *t, int64_t safe_ms)
{
    struct cli_json j;

    cli_warning_forget();
    begin_event(&j, t, "renewed");
    cli_json_integer(&j, "safe_ms", safe_ms);
    end_event(&j, t);
}

/* A word for programs: it never changes. */
static const char *reason_word(const struct cli_event_log *t,
                               enum hf_lost reason)
{
    static const char *const words[] = {[HF_REASON_DELETED] = "deleted",
                                        [HF_REASON_TAKEN] = "taken",
                                        [HF_REASON_UNREACHABLE] = "unreachable",
                                        [HF_REASON_SUSPENDED] = "suspended",
                                        [HF_REASON_LEASE_ENDED] = "lease_ended",
                                        [HF_REASON_MAX_HOLD] = "max_hold",
                                        [HF_REASON_CLOSED] = "closed"};

    return t->is_nested ? "outer" : words[reason];
}

static const char *reason_text(const struct cli_event_log *t,
                               enum hf_lost reason)
{
    return t->is_nested ? "the outer run lost it" : hf_lost_text(reason);
}

static void write_loss(const struct cli_event_log *t, enum hf_lost reason)
{
    struct cli_json j;

    begin_event(&j, t, "lost");
    cli_json_text(&j, "reason", reason_word(t, reason));
    if (t->lost_name)
        put_cut_name(&j, "member", t->lost_name, MEMBER_SHOWN_MAX);
    end_event(&j, t);
}

void cli_event_set_lost_member(struct cli_event_log *t, const char *name,
                               const char *server)
{
    t->lost_name = name;
    t->server = server;
}

static void print_loss(const struct cli_event_log *t, enum hf_lost reason,
                       const char *and_now)
{
    const char *name = t->lost_name ? t->lost_name : t->name;
    bool is_unreachable = reason == HF_REASON_UNREACHABLE && !t->is_nested;
    bool has_server = is_unreachable && t->server;
    char quoted[CLI_QUOTE_MAX];

    if (is_unreachable || (reason == HF_REASON_SUSPENDED && !t->is_nested))
        cli_warning_print(); /* why no renewal succeeded, or none before we were stopped */
    (void)cli_fail("lost the lock %s: %s%s%s%s; %s",
                   cli_quote(quoted, name, strlen(name)), reason_text(t, reason),
                   has_server ? " (" : "", has_server ? t->server : "",
                   has_server ? ")" : "", and_now);
}

void cli_event_lost(const struct cli_event_log *t, enum hf_lost reason,
                    enum cli_on_lost on_lost)
{
    write_loss(t, reason);
    if (on_lost == CLI_ON_LOST_STOP_COMMAND)
        print_loss(t, reason, "stopping the command");
    else if (on_lost == CLI_ON_LOST_WARN)
        print_loss(t, reason, "the command continues without it");
}

void cli_event_max_hold(const struct cli_event_log *t, int64_t max_hold_ms)
{
    char span[CLI_DURATION_TEXT_MAX];
    struct cli_json j;

    begin_event(&j, t, "max_hold"); /* which is not a loss: RUN-6 */
    cli_json_integer(&j, "max_hold_ms", max_hold_ms);
    end_event(&j, t);
    (void)cli_fail("%s has been held for %s (--max-hold); stopping the "
                   "command", t->quoted, cli_duration_text(span, max_hold_ms));
}

/* ---- the end ---- */

void cli_event_exit(const struct cli_event_log *t, int code, bool by_signal)
{
    char room[CLI_SIGNAL_NAME_MAX];
    struct cli_json j;

    begin_event(&j, t, "exit");
    if (by_signal)
        cli_json_text(&j, "signal", cli_signal_name(code - CLI_EXIT_SIGNAL, room));
    cli_json_integer(&j, "code", code);
    end_event(&j, t);
    if (by_signal)
        cli_verbose("the command was ended by signal %s",
                    cli_signal_name(code - CLI_EXIT_SIGNAL, room));
    else
        cli_verbose("the command ended with code %d", code);
}

void cli_event_released(struct cli_event_log *t, hf_status status, const struct hf_error *err,
                        const char *member, bool is_known)
{
    bool is_gone = status == HF_LOST || status == HF_NOT_OWNER;
    char quoted[CLI_QUOTE_MAX];
    struct cli_json j;

    if (member)
        t->lost_name = member;
    begin_event(&j, t, "released");
    cli_json_text(&j, "status", hf_status_name(status));
    if (t->lost_name && status < 0)
        put_cut_name(&j, "member", t->lost_name, MEMBER_SHOWN_MAX);
    end_event(&j, t);
    if (status == HF_OK && t->is_nested)
        cli_verbose("%s stays held by the outer run", t->quoted);
    else if (status == HF_OK)
        cli_verbose("released %s", t->quoted);
    else if (is_gone && !is_known)
        cli_warn("the lock %s no longer existed at the release",
                 t->lost_name ? cli_quote(quoted, t->lost_name, strlen(t->lost_name))
                              : t->quoted);
    else if (!is_gone)
        cli_warn("could not confirm the release of %s; it may stay locked until its "
                 "TTL expires: %s",
                 t->quoted, err ? err->text : hf_status_text(status));
}
