/* What `holdfast run` tells of its course. */
#include "cli/run/events.h"

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "cli/json.h"
#include "cli/values.h"

/* A name is cut to this, so that a line fits into PIPE_BUF: then a pipe takes
 * all of it at once or nothing. Each byte may take six; beside the name there is
 * a holder (waiting) or our owner, and the rest is short. */
#define NAME_MAX_TOLD 384
static_assert(6 * (NAME_MAX_TOLD + sizeof(((struct hf_lock_info *)0)->holder)) +
                      512 < PIPE_BUF &&
                  sizeof(((struct hf_lock_info *)0)->holder) >
                      HF_OWNER_TEXT_MAX,
              "a line must fit into PIPE_BUF");

void cli_tell_init(struct cli_teller *t, int status_fd, const char *name,
                   const char *owner)
{
    *t = (struct cli_teller){.name = name, .owner = owner};
    cli_sink_open(&t->status, status_fd);
    (void)cli_quote(t->quoted, name, strlen(name));
}

void cli_tell_fini(struct cli_teller *t)
{
    cli_sink_close(&t->status);
}

/* ---- lines for a program ---- */

static int64_t wall_clock_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t); /* for people only */
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void begin(struct cli_json *j, const struct cli_teller *t,
                  const char *event)
{
    size_t len = strlen(t->name);

    cli_json_init(j);
    cli_json_text(j, "event", event);
    cli_json_integer(j, "time_ms", wall_clock_ms());
    cli_json_bytes(j, "name", t->name,
                   len < NAME_MAX_TOLD ? len : NAME_MAX_TOLD);
    if (*t->owner)
        cli_json_text(j, "owner", t->owner);
}

static void end(struct cli_json *j, const struct cli_teller *t)
{
    const char *line = cli_json_end(j);

    if (line)
        (void)cli_sink_write(&t->status, line, j->len); /* or it is missed */
    cli_json_fini(j);
}

/* ---- waiting, acquired, refused ---- */

void cli_tell_waiting(const struct cli_teller *t,
                      const struct hf_lock_info *info)
{
    char holder[CLI_QUOTE_MAX], ttl[CLI_SPAN_MAX];
    struct cli_json j;

    begin(&j, t, "waiting");
    cli_json_text(&j, "holder", info->holder);
    cli_json_integer(&j, "ttl_ms", info->ttl_ms);
    end(&j, t);
    cli_step("waiting for %s: held by %s, TTL %s", t->quoted,
             cli_quote(holder, info->holder, strlen(info->holder)),
             info->ttl_ms >= 0 ? cli_span(ttl, info->ttl_ms) : "none");
}

void cli_tell_acquired(struct cli_teller *t, int64_t waited_ms, bool is_nested)
{
    char waited[CLI_SPAN_MAX];
    struct cli_json j;

    t->is_nested = is_nested;
    begin(&j, t, "acquired");
    cli_json_integer(&j, "waited_ms", waited_ms);
    cli_json_bool(&j, "nested", is_nested);
    end(&j, t);
    if (is_nested)
        cli_step("%s is held by the outer run", t->quoted);
    else
        cli_step("acquired %s after %s", t->quoted,
                 cli_span(waited, waited_ms));
}

/* Another holds it: an answer, not an error, as with flock(1). */
void cli_tell_refused(const struct cli_teller *t, hf_status status,
                      const struct hf_error *err)
{
    if (status == HF_TIMEOUT)
        cli_step("%s", err->text);
    else if (status == HF_CANCELLED)
        cli_step("gave up waiting for %s", t->quoted);
    else
        (void)cli_fail_status(status, err);
}

/* ---- held, lost ---- */

void cli_tell_renewed(const struct cli_teller *t, int64_t safe_ms)
{
    struct cli_json j;

    begin(&j, t, "renewed");
    cli_json_integer(&j, "safe_ms", safe_ms);
    end(&j, t);
}

/* For a program: one word that stays as it is. */
static const char *reason_word(const struct cli_teller *t, enum hf_lost reason)
{
    static const char *const words[] = {[HF_LOST_DELETED] = "deleted",
                                        [HF_LOST_TAKEN] = "taken",
                                        [HF_LOST_UNREACHABLE] = "unreachable",
                                        [HF_LOST_SUSPENDED] = "suspended",
                                        [HF_LOST_LEASE_ENDED] = "lease_ended",
                                        [HF_LOST_MAX_HOLD] = "max_hold",
                                        [HF_LOST_CLOSED] = "closed"};

    return t->is_nested && reason != HF_LOST_MAX_HOLD ? "outer" : words[reason];
}

static const char *reason_text(const struct cli_teller *t, enum hf_lost reason)
{
    return t->is_nested ? "the outer run says so" : hf_lost_text(reason);
}

static void tell_loss(const struct cli_teller *t, enum hf_lost reason)
{
    struct cli_json j;

    begin(&j, t, "lost");
    cli_json_text(&j, "reason", reason_word(t, reason));
    end(&j, t);
}

void cli_tell_lost(const struct cli_teller *t, enum hf_lost reason,
                   enum cli_on_lost on_lost)
{
    tell_loss(t, reason);
    if (on_lost == CLI_LOST_STOP)
        (void)cli_fail("lost the lock %s: %s; stopping the command",
                       t->quoted, reason_text(t, reason));
    else if (on_lost == CLI_LOST_WARN)
        (void)cli_fail("lost the lock %s: %s; the command goes on without it",
                       t->quoted, reason_text(t, reason));
}

void cli_tell_max_hold(const struct cli_teller *t, int64_t max_hold_ms)
{
    char span[CLI_SPAN_MAX];

    tell_loss(t, HF_LOST_MAX_HOLD);
    (void)cli_fail("%s has been held for %s (--max-hold); stopping the "
                   "command", t->quoted, cli_span(span, max_hold_ms));
}

/* ---- the end ---- */

void cli_tell_exit(const struct cli_teller *t, int code, bool by_signal)
{
    char room[CLI_SIGNAL_NAME_MAX];
    struct cli_json j;

    begin(&j, t, "exit");
    if (by_signal)
        cli_json_text(&j, "signal", cli_signal_name(code - CLI_SIGNAL, room));
    cli_json_integer(&j, "code", code);
    end(&j, t);
    if (by_signal)
        cli_step("the command was ended by signal %s",
                 cli_signal_name(code - CLI_SIGNAL, room));
    else
        cli_step("the command ended with code %d", code);
}

void cli_tell_released(const struct cli_teller *t, hf_status status,
                       const struct hf_error *err, bool is_known)
{
    bool is_gone = status == HF_LOST || status == HF_NOT_OWNER;
    struct cli_json j;

    begin(&j, t, "released");
    cli_json_text(&j, "status", hf_status_name(status));
    end(&j, t);
    if (status == HF_OK)
        cli_step("released %s", t->quoted);
    else if (is_gone && !is_known)
        cli_note("the lock %s was gone when the command ended", t->quoted);
    else if (!is_gone)
        cli_note("could not release %s, so others wait until its TTL ends: %s",
                 t->quoted, err ? err->text : hf_status_text(status));
}
