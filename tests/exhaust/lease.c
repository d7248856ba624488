/* The lease of a hold, exhaustively: every order of a few commands on two links,
 * each answered, answered late, lost, or executed late; no random numbers. The
 * client and what it promises: client.h. The server: possible.h.
 *
 *     lease check              a second or two
 *     lease full               under a minute: up to six commands
 *     lease COMMANDS CUTS PAUSES UNSENT
 *
 * tries all with so many commands, at most so many dead links, so many moments
 * after the first, and so many commands that wait in the client before they are
 * sent. Prints how many states that were, which differ in something that can
 * still matter, and in the end how many cases: steps into a state, each of which
 * was checked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/exhaust/client.h"
#include "tests/exhaust/seen.h"
#include "tests/exhaust/trail.h"

/* What may still happen. */
struct budget {
    uint8_t commands, cuts, pauses, unsent;
};

struct state {
    struct budget left;
    struct client client;
};

static struct seen seen;
static const uint16_t leases[] = {WATCHDOG_MS, SHORT_MS, LONG_MS};
#define LEASES ((int)(sizeof leases / sizeof *leases))

static void go_on(const struct state *from);

static bool is_new(const struct state *s)
{
    uint64_t hash = (uint64_t)s->left.commands | (uint64_t)s->left.cuts << 8 |
                    (uint64_t)s->left.pauses << 16 |
                    (uint64_t)s->left.unsent << 24;

    return seen_add(&seen, seen_mix(client_hash(&s->client), hash));
}

/* ---- commands ---- */

static bool pays_for(struct state *s, uint8_t place)
{
    if (s->left.commands == 0 || (place == UNSENT && s->left.unsent == 0))
        return false;
    s->left.commands--;
    s->left.unsent = (uint8_t)(s->left.unsent - (place == UNSENT));
    return true;
}

/* Until a link was used, one is as the other. */
static uint8_t places(const struct state *s)
{
    return s->client.phase == ACQUIRING && s->client.server.count == 0 ? 1
                                                                       : LINKS;
}

static void call_at(const struct state *from, enum verb verb,
                    uint16_t lease_ms, uint8_t place)
{
    static const char *const texts[] = {
        [ACQUIRE] = "acquire for %u ms, on link %u",
        [REENTER] = "re-entry for %u ms, on link %u",
        [RELEASE_ONE] = "partial release, TTL %u ms, on link %u",
        [EXTEND] = "extension to %u ms, on link %u"};
    struct state s = *from;

    if (!pays_for(&s, place) ||
        !client_call(&s.client, verb, lease_ms, place))
        return;
    trail_push(texts[verb], lease_ms, place);
    go_on(&s);
    trail_pop();
}

static void call(const struct state *from, enum verb verb, uint16_t lease_ms)
{
    for (uint8_t place = 0; place < places(from); place++)
        call_at(from, verb, lease_ms, place);
    call_at(from, verb, lease_ms, UNSENT);
}

static void release(const struct state *from)
{
    struct state s = *from;

    if (!pays_for(&s, 0))
        return;
    trail_push("release", 0, 0);
    if (client_release(&s.client))
        go_on(&s);
    trail_pop();
}

static void call_all(const struct state *from)
{
    const struct client *c = &from->client;

    if (c->phase == ACQUIRING) {
        call(from, ACQUIRE, c->acquire_ms);
        return;
    }
    for (int i = 0; i < LEASES; i++)
        call(from, REENTER, leases[i]);
    call(from, EXTEND, SHORT_MS);
    call(from, EXTEND, LONG_MS);
    call(from, RELEASE_ONE, (uint16_t)c->lease.claims.owner_lease_ms);
    release(from);
}

/* ---- what becomes of them ---- */

static void end(const struct state *from, enum hf_claim_by by)
{
    struct state s = *from;

    if (client_answer(&s.client, by)) {
        trail_push(by == CLAIM_BY_CALL ? "the call is answered"
                                       : "the renewal is answered", 0, 0);
        go_on(&s);
        trail_pop();
    }
    s = *from;
    if (client_give_up(&s.client, by)) {
        trail_push(by == CLAIM_BY_CALL ? "the call gives up"
                                       : "the renewal gives up", 0, 0);
        go_on(&s);
        trail_pop();
    }
}

static void send(const struct state *from, enum hf_claim_by by)
{
    for (uint8_t link = 0; link < places(from); link++) {
        struct state s = *from;

        if (!client_send(&s.client, by, link))
            continue;
        trail_push(by == CLAIM_BY_CALL ? "the call is sent, on link %u"
                                       : "the renewal is sent, on link %u",
                   link, 0);
        go_on(&s);
        trail_pop();
    }
}

static void cut(const struct state *from, uint8_t link, bool is_killed,
                bool is_repeated)
{
    struct state s = *from;

    if (s.left.cuts == 0 ||
        !client_cut(&s.client, link, is_killed, is_repeated))
        return;
    s.left.cuts--;
    trail_push(is_killed ? "link %u is dead, and killed; repeated: %u"
                         : "link %u is dead; repeated: %u",
               link, is_repeated);
    go_on(&s);
    trail_pop();
}

/* ---- time ---- */

/* A renewal for which no command is left stays in the client's queue. */
static void renew(const struct state *from)
{
    if (from->left.commands == 0)
        go_on(from);
    for (uint8_t place = 0; place <= UNSENT; place++) {
        struct state s = *from;

        if (!pays_for(&s, place) || !client_renew(&s.client, place))
            continue;
        trail_push("renewal, on link %u", place, 0);
        go_on(&s);
        trail_pop();
    }
}

static void pass_time(const struct state *from,
                      bool (*pass)(struct client *, bool *))
{
    struct state s = *from;
    bool renews;

    if (s.left.pauses == 0 || !pass(&s.client, &renews))
        return;
    s.left.pauses--;
    trail_push("%u ms after the start", s.client.now, 0);
    if (renews)
        renew(&s);
    else
        go_on(&s);
    trail_pop();
}

static void go_on(const struct state *from)
{
    trail_cases++;
    client_check(&from->client);
    if (from->client.phase == OVER || !is_new(from))
        return;
    call_all(from);
    for (int by = 0; by < CLAIM_BY_COUNT; by++) {
        end(from, (enum hf_claim_by)by);
        send(from, (enum hf_claim_by)by);
    }
    for (uint8_t link = 0; link < LINKS; link++)
        for (int how = 0; how < 4; how++)
            cut(from, link, how & 1, how & 2);
    pass_time(from, client_wait);
    pass_time(from, client_dawdle);
}

static void try_all(struct budget budget)
{
    seen_init(&seen);
    for (int i = 0; i < LEASES; i++) {
        struct state s = {.left = budget};

        client_init(&s.client, leases[i]);
        go_on(&s);
    }
    printf("%u commands, %u cuts, %u pauses, %u unsent: %llu states\n",
           budget.commands, budget.cuts, budget.pauses, budget.unsent,
           (unsigned long long)seen.count);
    fflush(stdout);
    seen_fini(&seen);
}

/* Short traces first. Each command more makes twenty times as many states, if
 * all else may happen as well. */
static const struct budget scopes[] = {
    {1, 1, 3, 1}, {2, 2, 3, 2}, {3, 1, 2, 1}, {4, 1, 1, 0}, {4, 0, 2, 0},
    {4, 1, 2, 1}, {5, 1, 1, 0}, {6, 1, 0, 0}, {6, 0, 2, 0}};
#define SCOPES (sizeof scopes / sizeof *scopes)
#define SCOPES_CHECK 5

static void try_scopes(size_t count)
{
    for (size_t i = 0; i < count; i++)
        try_all(scopes[i]);
}

static int usage(void)
{
    fprintf(stderr, "usage: lease check|full|COMMANDS CUTS PAUSES UNSENT\n");
    return 2;
}

static uint8_t number(const char *text)
{
    return (uint8_t)atoi(text);
}

int main(int argc, char **argv)
{
    if (argc == 5)
        try_all((struct budget){number(argv[1]), number(argv[2]),
                                number(argv[3]), number(argv[4])});
    else if (argc == 1 || (argc == 2 && strcmp(argv[1], "check") == 0))
        try_scopes(SCOPES_CHECK);
    else if (argc == 2 && strcmp(argv[1], "full") == 0)
        try_scopes(SCOPES);
    else
        return usage();
    printf("%llu cases\n", (unsigned long long)trail_cases);
    return 0;
}
