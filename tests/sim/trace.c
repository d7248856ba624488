/* Lines of a history as sentences. */
#include <inttypes.h>
#include <string.h>

#include "tests/judge/history.h"
#include "tests/sim/trace.h"

#define UUID_LEN 36

struct trace {
    FILE *to;
    int64_t begin_us; /* 0: no line yet */
};

static double seconds(const struct trace *s, int64_t us)
{
    return (double)(us - s->begin_us) / 1e6;
}

static void print_text(const struct trace *s, struct history_text text)
{
    (void)fwrite(text.at, 1, text.len, s->to);
}

/* Four digits of a UUID distinguish clients. */
static void print_owner(const struct trace *s, struct history_text owner)
{
    if (owner.len > UUID_LEN) {
        (void)fprintf(s->to, " owner %.4s", owner.at);
        owner.at += UUID_LEN;
        owner.len -= UUID_LEN;
    }
    print_text(s, owner);
}

static void print_lock(const struct trace *s, const struct history_event *e)
{
    static const char *const kinds[] = {
        "",      " plain", " nonreentrant", " fenced", " fair",
        " read", " write", " permit", " semaphore",
        " latch"};

    if (e->lock.len == 0)
        return;
    (void)fputs(" '", s->to);
    print_text(s, e->lock);
    (void)fprintf(s->to, "'%s", kinds[e->kind]);
}

static void print_until(const struct trace *s, int64_t us)
{
    if (us == HISTORY_NEVER)
        (void)fputs(" for ever", s->to);
    else if (us == 0)
        (void)fputs(" no more", s->to);
    else
        (void)fprintf(s->to, " until %.6f", seconds(s, us));
}

static void print_ask(const struct trace *s, const struct history_event *e)
{
    static const char *const ops[] = {"?",     "acquire", "release",
                                      "force", "inspect", "close", "set",
                                      "free its client", "renew", "reduce", "drain",
                                      "delete", "resize", "count what is available of",
                                      "read the latest token of", "add to", "extend"};

    (void)fprintf(s->to, "asks (#%" PRId64 ") to %s", e->call, ops[e->op]);
    print_lock(s, e);
    print_owner(s, e->owner);
    if ((e->op == HISTORY_OP_FORCE || e->op == HISTORY_OP_RENEW) && e->hold.at) {
        (void)fputs(", of", s->to);
        print_owner(s, e->hold);
    }
    if (e->op == HISTORY_OP_RENEW || e->op == HISTORY_OP_EXTEND)
        (void)fprintf(s->to, ", lease %" PRId64 " ms", e->lease_ms);
    if (e->op == HISTORY_OP_ACQUIRE)
        (void)fprintf(s->to, ", wait %" PRId64 " ms, lease %" PRId64 " ms",
                      e->wait_ms, e->lease_ms);
    if (e->max_hold_ms != HISTORY_NONE)
        (void)fprintf(s->to, ", max_hold %" PRId64 " ms", e->max_hold_ms);
    if (e->due_us != HISTORY_NONE)
        (void)fprintf(s->to, "; must end by %.6f", seconds(s, e->due_us));
}

static void print_end(const struct trace *s, const struct history_event *e)
{
    (void)fprintf(s->to, "is told (#%" PRId64 ") ", e->call);
    print_text(s, e->status);
    if (e->token != HISTORY_NONE)
        (void)fprintf(s->to, ", token %" PRId64, e->token);
    if (e->n != HISTORY_NONE)
        (void)fprintf(s->to, ", count %" PRId64, e->n);
}

static void print_hold(const struct trace *s, const struct history_event *e)
{
    static const char *const bys[] = {
        "?",    "acquire",     "renew",    "release",
        "peer", "replication", "operator", "another owner's command", "set",
        "resize", "delete"};
    static const char *const whys[] = {"?",       "released", "expired",
                                       "deleted", "forced",   "forgot"};

    print_lock(s, e);
    print_owner(s, e->owner);
    if (e->what == HISTORY_FREED) {
        (void)fprintf(s->to, ": freed, %s", whys[e->why]);
        return;
    }
    (void)fprintf(s->to, ": held %" PRId64 " times", e->count);
    print_until(s, e->until_us);
    (void)fprintf(s->to, ", by %s", bys[e->by]);
}

static void print_fault(const struct trace *s, const struct history_event *e)
{
    static const char *const states[] = {"", "", " begins", " ends"};

    (void)fputs("FAULT ", s->to);
    print_text(s, e->fault);
    (void)fputs(states[e->state], s->to);
    (void)fputs(" on ", s->to);
    print_text(s, e->on);
    print_lock(s, e);
}

static void print_belief(const struct trace *s, const struct history_event *e)
{
    (void)fputs(e->what == HISTORY_SAFE ? "believes in"
                                        : "is told of the loss of",
                s->to);
    print_lock(s, e);
    print_owner(s, e->owner);
    if (e->what == HISTORY_SAFE) {
        print_until(s, e->until_us);
        return;
    }
    (void)fputs(": ", s->to);
    print_text(s, e->reason);
}

static void print_plain(const struct trace *s, const struct history_event *e)
{
    static const char *const words[] = {
#define WORD(name, text) [HISTORY_##name] = text,
        HISTORY_EVENTS(WORD)};

    (void)fputs(words[e->what] ? words[e->what] : "?", s->to);
    print_lock(s, e);
    if (e->owner.at)
        print_owner(s, e->owner);
    else if (e->hold.at)
        print_owner(s, e->hold);
    if (e->until_us != HISTORY_NONE)
        print_until(s, e->until_us);
    if (e->call != HISTORY_NONE)
        (void)fprintf(s->to, " (#%" PRId64 ")", e->call);
    if (e->ppm != HISTORY_NONE)
        (void)fprintf(s->to, " %" PRId64 " ppm", e->ppm);
    if (e->n != HISTORY_NONE)
        (void)fprintf(s->to, " %" PRId64, e->n);
    if (e->name.at) {
        (void)fputc(' ', s->to);
        print_text(s, e->name);
    }
}

static void print_event(struct trace *s, const struct history_event *e)
{
    if (s->begin_us == 0)
        s->begin_us = e->time_us;
    if (e->what == HISTORY_TOLD)
        return;
    (void)fprintf(s->to, "%12.6f  %c%-3u ", seconds(s, e->time_us),
                  e->source.role, (unsigned)e->source.number);
    if (e->what == HISTORY_ASK)
        print_ask(s, e);
    else if (e->what == HISTORY_END)
        print_end(s, e);
    else if (e->what == HISTORY_HELD || e->what == HISTORY_FREED)
        print_hold(s, e);
    else if (e->what == HISTORY_SAFE || e->what == HISTORY_LOST)
        print_belief(s, e);
    else if (e->what == HISTORY_FAULT)
        print_fault(s, e);
    else
        print_plain(s, e);
    (void)fputc('\n', s->to);
}

/* "# TIME WHO TEXT": of the wire. */
static void print_comment(const struct trace *s, const char *line)
{
    long long us;
    int at = 0;

    if (sscanf(line, "# %lld %n", &us, &at) == 1 && at > 0)
        (void)fprintf(s->to, "%12.6f    %s\n", seconds(s, us), line + at);
}

void trace_print(FILE *history, FILE *to)
{
    static char line[HISTORY_LINE_MAX];
    struct trace s = {.to = to};
    struct history_event e;

    while (fgets(line, sizeof line, history)) {
        line[strcspn(line, "\n")] = '\0';
        print_comment(&s, line);
        if (line[0] != '#' && line[0] != '\0' &&
            !history_read(&e, line, strlen(line)))
            print_event(&s, &e);
    }
}
