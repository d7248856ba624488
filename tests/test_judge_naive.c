/* Two judges, written differently, say the same of small histories: those of a tiny
 * lock service, which is right, and the same with some lines changed. */
#include <stdio.h>
#include <string.h>

#include "tests/judge/judge.h"
#include "tests/judge/naive.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"

#ifndef HISTORIES
#define HISTORIES 3000
#endif
#define EVENTS_MAX 64
#define OWNERS 4
#define LOCKS 2
#define MS 1000
#define MARGIN_US 10000         /* a belief ends so much before its hold */
#define TELL_MS 300

/* ---- a lock service ---- */

enum state { IDLE, ASKED, GRANTED, HELD, REENTERING, RELEASING, LOST };

struct owner {
    const char *name;
    uint32_t client;
    enum state state;
    int lock;
    enum history_kind kind;
    int64_t call, lease_us, token;
    int count;                  /* acquisitions */
    bool is_on_server;
    int64_t until_us, believes_us;
    int64_t lost_us;            /* deleted then */
    bool is_stopped;
    bool is_releasing;          /* LOST while RELEASING */
};

struct service {
    struct history_event at[EVENTS_MAX];
    int count;
    int64_t now_us, calls, tokens;
    struct owner owners[OWNERS];
};

static const char *const lock_names[LOCKS] = {"a", "b"};

static struct history_event *put(struct service *s, char role, uint32_t number,
                                 enum history_what what)
{
    static struct history_event beyond;

    if (s->count == EVENTS_MAX)
        return &beyond;
    s->at[s->count] = history_event(s->now_us, role, number, what);
    return &s->at[s->count++];
}

static struct history_event *put_of(struct service *s, const struct owner *o,
                                    char role, enum history_what what)
{
    struct history_event *e =
        put(s, role, role == 's' ? 1 : o->client, what);

    e->lock = history_text(lock_names[o->lock]);
    e->kind = o->kind;
    e->owner = history_text(o->name);
    return e;
}

static void put_ask(struct service *s, struct owner *o, enum history_op op)
{
    struct history_event *e = put_of(s, o, 'c', HISTORY_ASK);

    o->call = e->call = ++s->calls;
    e->op = op;
    e->due_us = s->now_us + 4000 * MS;
    if (op == HISTORY_OP_ACQUIRE && dice(2))
        e->lease_ms = o->lease_us / MS;
}

static struct history_event *put_end(struct service *s, const struct owner *o,
                                     const char *status)
{
    struct history_event *e = put(s, 'c', o->client, HISTORY_END);

    e->call = o->call;
    e->status = history_text(status);
    return e;
}

static void put_safe(struct service *s, struct owner *o, int64_t until_us)
{
    o->believes_us = until_us;
    put_of(s, o, 'c', HISTORY_SAFE)->until_us = until_us;
}

static void put_held(struct service *s, struct owner *o, int count,
                     enum history_by by)
{
    struct history_event *e = put_of(s, o, 's', HISTORY_HELD);

    o->is_on_server = true;
    o->until_us = e->until_us = s->now_us + o->lease_us;
    e->count = count;
    e->by = by;
    if (o->kind == HISTORY_KIND_FENCED)
        e->token = o->token;
}

static void put_freed(struct service *s, struct owner *o, enum history_why why)
{
    put_of(s, o, 's', HISTORY_FREED)->why = why;
    o->is_on_server = false;
}

static bool is_free(const struct service *s, const struct owner *o)
{
    for (const struct owner *p = s->owners; p < s->owners + OWNERS; p++)
        if (p->is_on_server && p->lock == o->lock &&
            (p->kind != HISTORY_KIND_READ || o->kind != HISTORY_KIND_READ))
            return false;
    return true;
}

static void begin(struct service *s, struct owner *o)
{
    static const enum history_kind kinds[] = {
        HISTORY_KIND_PLAIN, HISTORY_KIND_READ, HISTORY_KIND_READ,
        HISTORY_KIND_WRITE, HISTORY_KIND_FENCED};

    o->lock = (int)dice(LOCKS);
    o->kind = kinds[dice(ROWS(kinds))];
    o->lease_us = (int64_t)(200 + dice(600)) * MS;
    put_ask(s, o, HISTORY_OP_ACQUIRE);
    o->state = ASKED;
}

static void grant(struct service *s, struct owner *o)
{
    if (is_free(s, o)) {
        o->token = ++s->tokens;
        put_held(s, o, 1, HISTORY_BY_ACQUIRE);
        o->state = GRANTED;
    } else if (dice(3) == 0) {
        put_end(s, o, "HF_TIMEOUT");
        o->state = IDLE;
    }
}

static void tell_grant(struct service *s, struct owner *o)
{
    struct history_event *e;

    if (!o->is_on_server) {     /* it has expired meanwhile */
        put_end(s, o, "HF_E_NOREPLY");
        o->state = IDLE;
        return;
    }
    e = put_end(s, o, "HF_OK");
    if (o->kind == HISTORY_KIND_FENCED)
        e->token = o->token;
    o->count = 1;
    put_safe(s, o, o->until_us - MARGIN_US);
    o->state = HELD;
}

static void use(struct service *s, struct owner *o)
{
    switch (dice(5)) {
    case 0:
        put_held(s, o, o->count, HISTORY_BY_RENEW);
        put_safe(s, o, o->until_us - MARGIN_US);
        return;
    case 1:
        put_ask(s, o, HISTORY_OP_ACQUIRE);
        o->state = REENTERING;
        return;
    case 2:
        put_freed(s, o, dice(2) ? HISTORY_WHY_DELETED : HISTORY_WHY_FORGOT);
        o->state = LOST;
        o->lost_us = s->now_us;
        return;
    default:
        put_ask(s, o, HISTORY_OP_RELEASE);
        if (o->count == 1)
            put_safe(s, o, 0);
        o->state = RELEASING;
    }
}

static void reenter(struct service *s, struct owner *o)
{
    struct history_event *e;

    put_held(s, o, ++o->count, HISTORY_BY_ACQUIRE);
    e = put_end(s, o, "HF_OK");
    if (o->kind == HISTORY_KIND_FENCED)
        e->token = o->token;
    put_safe(s, o, o->until_us - MARGIN_US);
    o->state = HELD;
}

static void release(struct service *s, struct owner *o)
{
    if (--o->count > 0)
        put_held(s, o, o->count, HISTORY_BY_RELEASE);
    else if (o->is_on_server)
        put_freed(s, o, HISTORY_WHY_RELEASED);
    put_end(s, o, "HF_OK");
    o->state = o->count > 0 ? HELD : IDLE;
}

static void give_up(struct service *s, struct owner *o)
{
    if (o->believes_us > 0) {
        put_of(s, o, 'c', HISTORY_LOST);
        put_safe(s, o, 0);
    }
    if (o->is_releasing) {
        put_end(s, o, "HF_LOST");
        o->count--;
        o->is_releasing = false;
    }
    for (; o->count > 0; o->count--) {
        put_ask(s, o, HISTORY_OP_RELEASE);
        put_end(s, o, "HF_LOST");
    }
    if (!o->is_on_server)
        o->state = IDLE;
}

static void step(struct service *s, struct owner *o)
{
    switch (o->state) {
    case IDLE: begin(s, o); return;
    case ASKED: grant(s, o); return;
    case GRANTED: tell_grant(s, o); return;
    case HELD: use(s, o); return;
    case REENTERING: reenter(s, o); return;
    case RELEASING: release(s, o); return;
    case LOST: give_up(s, o); return;
    }
}

/* Brings what it is doing to its end. */
static void finish(struct service *s, struct owner *o)
{
    while (o->state == GRANTED || o->state == REENTERING ||
           o->state == RELEASING)
        step(s, o);
}

/* Its belief ends, unless it is suspended; then its hold. */
static void pass(struct service *s, struct owner *o, int64_t until_us)
{
    int64_t end_us = o->until_us - MARGIN_US - MS;

    if (o->is_on_server && !o->is_stopped && o->state != LOST &&
        end_us <= until_us) {
        s->now_us = end_us > s->now_us ? end_us : s->now_us;
        finish(s, o);
        if (o->state == HELD && o->until_us - MARGIN_US - MS <= s->now_us) {
            o->state = LOST;
            give_up(s, o);
        }
    }
    if (o->is_on_server && o->until_us <= until_us) {
        s->now_us = o->until_us > s->now_us ? o->until_us : s->now_us;
        put_freed(s, o, HISTORY_WHY_EXPIRED);
        o->is_releasing = o->state == RELEASING;
        if (o->state != GRANTED)
            o->state = LOST;
    }
}

static struct owner *ends_first(struct service *s)
{
    struct owner *first = NULL;

    for (struct owner *o = s->owners; o < s->owners + OWNERS; o++)
        if (o->is_on_server && (!first || o->until_us < first->until_us))
            first = o;
    return first;
}

/* In the order in which holds end. */
static void pass_time(struct service *s, int64_t us)
{
    int64_t until_us = s->now_us + us;
    struct owner *o;

    for (o = s->owners; o < s->owners + OWNERS; o++)
        if (o->state == LOST && !o->is_stopped &&
            until_us >= o->lost_us + TELL_MS * MS)
            give_up(s, o);
    for (int turns = 0; turns < 2 * OWNERS && (o = ends_first(s)); turns++)
        pass(s, o, until_us);
    if (until_us > s->now_us)
        s->now_us = until_us;
}

static void stop_or_go(struct service *s, struct owner *o)
{
    for (struct owner *p = s->owners; p < s->owners + OWNERS; p++)
        if (p->client == o->client && p->state == REENTERING)
            return;             /* what the server does is not suspended */
    put(s, 'c', o->client, o->is_stopped ? HISTORY_GO : HISTORY_STOP);
    o->is_stopped = !o->is_stopped;
    if (!o->is_stopped && o->state == LOST)
        give_up(s, o);
}

static void make(struct service *s)
{
    static const char *const names[OWNERS] = {"c1:1", "c2:1", "c3:1", "c4:1"};

    memset(s, 0, sizeof *s);
    s->now_us = 1000 * MS;
    for (int i = 0; i < OWNERS; i++) {
        s->owners[i].name = names[i];
        s->owners[i].client = (uint32_t)i + 1;
    }
    while (s->count < EVENTS_MAX - 24) {
        struct owner *o = &s->owners[dice(OWNERS)];

        pass_time(s, (int64_t)dice(60) * MS);
        if (dice(20) == 0 || (o->is_stopped && dice(3) == 0))
            stop_or_go(s, o);
        else if (!o->is_stopped)
            step(s, o);
    }
    for (struct owner *o = s->owners; o < s->owners + OWNERS; o++) {
        if (o->is_stopped)
            stop_or_go(s, o);
        finish(s, o);
        if (o->state == LOST)
            give_up(s, o);
    }
    put(s, 'w', 0, HISTORY_QUIET);
    put(s, 'w', 0, HISTORY_OVER);
}

/* ---- and what is changed ---- */

static void swap_next(struct service *s, int i)
{
    struct history_event e = s->at[i];
    int64_t time_us;

    if (i + 1 == s->count)
        return;
    s->at[i] = s->at[i + 1];
    s->at[i + 1] = e;
    time_us = s->at[i].time_us;
    s->at[i].time_us = s->at[i + 1].time_us;
    s->at[i + 1].time_us = time_us;
}

static void leave_out(struct service *s, int i)
{
    memmove(&s->at[i], &s->at[i + 1],
            (size_t)(s->count - i - 1) * sizeof s->at[0]);
    s->count--;
}

static void say_twice(struct service *s, int i)
{
    if (s->count == EVENTS_MAX)
        return;
    memmove(&s->at[i + 1], &s->at[i],
            (size_t)(s->count - i) * sizeof s->at[0]);
    s->count++;
}

static void move_number(int64_t *n, int64_t by)
{
    if (*n != HISTORY_NONE && *n != HISTORY_NEVER && *n + by > 0)
        *n += by;
}

static void change_word(struct service *s, struct history_event *e)
{
    static const char *const statuses[] = {"HF_OK", "HF_LOST", "HF_E_NOREPLY",
                                           "HF_NOT_OWNER", "HF_TIMEOUT"};

    const struct owner *o = &s->owners[dice(OWNERS)];

    switch (dice(6)) {
    case 0:                     /* an owner is of one client */
        if (!e->owner.at)
            return;
        e->owner = history_text(o->name);
        if (e->source.role == 'c')
            e->source.number = o->client;
        return;
    case 1:
        if (e->lock.at)
            e->lock = history_text(lock_names[dice(LOCKS)]);
        return;
    case 2:
        if (e->kind)
            e->kind = (enum history_kind)(HISTORY_KIND_PLAIN + dice(6));
        return;
    case 3:
        if (e->why)
            e->why = (enum history_why)(HISTORY_WHY_RELEASED + dice(5));
        return;
    case 4:
        if (e->by)
            e->by = (enum history_by)(HISTORY_BY_ACQUIRE + dice(3));
        return;
    default:
        if (e->status.at)
            e->status = history_text(statuses[dice(ROWS(statuses))]);
    }
}

static void change_number(struct service *s, int i)
{
    struct history_event *e = &s->at[i];
    int64_t room = i + 1 < s->count ? s->at[i + 1].time_us - e->time_us : 0;

    switch (dice(6)) {
    case 0: move_number(&e->until_us, ((int64_t)dice(600) - 300) * MS); return;
    case 1: move_number(&e->count, (int64_t)dice(3) - 1); return;
    case 2: move_number(&e->token, (int64_t)dice(3) - 1); return;
    case 3: move_number(&e->due_us, ((int64_t)dice(100) - 4000) * MS); return;
    case 4: move_number(&e->call, (int64_t)dice(3) - 1); return;
    default: e->time_us += (int64_t)dice((uint64_t)room + 1);
    }
}

static void change(struct service *s)
{
    int i = (int)dice((uint64_t)s->count);

    switch (dice(6)) {
    case 0: leave_out(s, i); return;
    case 1: say_twice(s, i); return;
    case 2: swap_next(s, i); return;
    case 3: change_number(s, i); return;
    default: change_word(s, &s->at[i]);
    }
}

/* ---- what the judges say ---- */

#define BOTH (~(1u << 5 | 1u << 12)) /* what both judge */

static struct history_header bounds(void)
{
    struct history_header header;

    history_header_init(&header);
    header.tell_ms = TELL_MS;
    return header;
}

static uint32_t ask_judge(const struct service *s,
                          const struct history_header *header, char *text,
                          size_t room)
{
    struct judge *judge = judge_new(header);
    uint32_t broken = 0;

    for (int i = 0; i < s->count; i++)
        judge_event(judge, &s->at[i]);
    judge_end(judge);
    *text = '\0';
    for (size_t i = 0; i < judge_count(judge); i++) {
        size_t len = strlen(text);

        broken |= 1u << judge_violation(judge, i)->property;
        snprintf(text + len, room - len, "P%d %s\n",
                 judge_violation(judge, i)->property,
                 judge_violation(judge, i)->text);
    }
    judge_free(judge);
    return broken & BOTH;
}

static void print(const struct service *s)
{
    char line[512];

    for (int i = 0; i < s->count; i++)
        if (history_write(&s->at[i], line, sizeof line))
            fprintf(stderr, "%2d %s", i + 1, line);
}

static uint32_t both_say(const struct service *s)
{
    static char text[1 << 16];
    struct history_header header = bounds();
    uint32_t fast = ask_judge(s, &header, text, sizeof text);
    uint32_t slow = naive_judge(s->at, s->count, &header);

    if (fast != slow)
        print(s);
    ck_assert_msg(fast == slow, "the judge says %#x, the naive one %#x:\n%s",
                  fast, slow, text);
    return fast;
}

START_TEST(both_judges_accept_correct_histories)
{
    static struct service s;

    for (int i = 0; i < HISTORIES; i++) {
        make(&s);
        if (both_say(&s))
            print(&s);
        ck_assert_uint_eq(both_say(&s), 0);
    }
}
END_TEST

/* And each property is broken now and then. */
START_TEST(both_judges_find_the_same_wrong)
{
    static struct service s;
    uint32_t found = 0;

    for (int i = 0; i < HISTORIES; i++) {
        make(&s);
        for (uint64_t n = 1 + dice(3); n > 0; n--)
            change(&s);
        found |= both_say(&s);
    }
    ck_assert_uint_eq(found, 0x7de & BOTH);
}
END_TEST

static Suite *naive_suite(void)
{
    Suite *s = suite_create("judge_naive");
    TCase *tc = tcase_create("two judges");

    tcase_add_test(tc, both_judges_accept_correct_histories);
    tcase_add_test(tc, both_judges_find_the_same_wrong);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return suite_run(naive_suite());
}
