/* All that the server may have done. Rules in possible.h. */
#include <string.h>

#include "tests/exhaust/seen.h"
#include "tests/exhaust/possible.h"

static unsigned sets(const struct possible *s)
{
    return 1u << s->count;
}

void possible_init(struct possible *s)
{
    s->count = 0;
    s->until[0] = NEVER;
}

static void note(struct possible *s, unsigned set, uint16_t until)
{
    if (s->until[set] == IMPOSSIBLE || until < s->until[set])
        s->until[set] = until;
}

/* POSSIBLE-1: what must be executed before sending `i`. */
static unsigned before(const struct possible *s, int i)
{
    unsigned set = 0;

    for (int k = 0; k < i; k++)
        if (s->sendings[i].link < LINKS &&
            s->sendings[k].link == s->sendings[i].link)
            set |= 1u << k;
    return set;
}

/* POSSIBLE-3 */
static uint16_t until_after(const struct sending *sending, uint16_t until, uint16_t now)
{
    uint16_t lease = sending->lease_ms, new_until = (uint16_t)(now + lease - lease / 100 - 2);

    return sending->extends && until > new_until ? until : new_until;
}

/* A set stands behind those that it contains, so one pass finds all. */
void possible_pass(struct possible *s, uint16_t now)
{
    for (unsigned set = 0; set < sets(s); set++) {
        if (s->until[set] == IMPOSSIBLE)
            continue;
        for (int i = 0; i < s->count; i++) {
            if (!(set & 1u << i) && (before(s, i) & ~set) == 0)
                note(s, set | 1u << i, until_after(&s->sendings[i], s->until[set], now));
        }
    }
}

bool possible_send(struct possible *s, uint16_t now, uint8_t link,
                   enum sender sender, uint16_t lease_ms, bool extends)
{
    if (s->count == SENDINGS_MAX)
        return false;
    memset(s->until + sets(s), 0, sets(s) * sizeof *s->until);
    s->sendings[s->count++] =
        (struct sending){lease_ms, link, (uint8_t)sender, extends};
    possible_pass(s, now);
    return true;
}

/* Forgets sending `i`: it was executed, or never will be. In which sets it was
 * makes no difference any more. */
static void forget(struct possible *s, int i)
{
    struct possible old = *s;
    unsigned low = (1u << i) - 1;

    s->count--;
    memset(s->until, 0, sets(s) * sizeof *s->until);
    for (unsigned set = 0; set < sets(&old); set++)
        if (old.until[set] != IMPOSSIBLE)
            note(s, (set & low) | (set >> 1 & ~low), old.until[set]);
    memmove(s->sendings + i, s->sendings + i + 1,
            (size_t)(s->count - i) * sizeof *s->sendings);
}

/* The sending that the sender's answer would be for, if no other answer must
 * come before it; or -1. */
static int awaited(const struct possible *s, enum sender sender)
{
    for (int i = 0; i < s->count; i++) {
        if (s->sendings[i].sender != sender)
            continue;
        for (int k = 0; k < i; k++)
            if (s->sendings[k].link == s->sendings[i].link &&
                s->sendings[k].sender != BY_NOBODY)
                return -1;
        return i;
    }
    return -1;
}

bool possible_answers(struct possible *s, enum sender sender)
{
    int i = awaited(s, sender);
    uint8_t link;

    if (i < 0)
        return false;
    link = s->sendings[i].link;
    for (unsigned set = 0; set < sets(s); set++)
        if (!(set & 1u << i))
            s->until[set] = IMPOSSIBLE;
    for (; i >= 0; i--)
        if (s->sendings[i].link == link)
            forget(s, i);
    return true;
}

void possible_abandon(struct possible *s, enum sender sender)
{
    for (int i = 0; i < s->count; i++)
        if (s->sendings[i].sender == sender)
            s->sendings[i].sender = BY_NOBODY;
}

/* POSSIBLE-2. */
void possible_cut(struct possible *s, uint8_t link, bool is_killed)
{
    for (int i = s->count - 1; i >= 0; i--) {
        if (s->sendings[i].link != link)
            continue;
        s->sendings[i].link = LINKS;
        s->sendings[i].sender = BY_NOBODY;
        if (is_killed)
            forget(s, i);
    }
}

uint16_t possible_lets_go(const struct possible *s)
{
    uint16_t first = NEVER;

    for (unsigned set = 0; set < sets(s); set++)
        if (s->until[set] != IMPOSSIBLE && s->until[set] < first)
            first = s->until[set];
    return first;
}

uint64_t possible_hash(const struct possible *s, uint64_t hash)
{
    hash = seen_mix(hash, s->count);
    for (int i = 0; i < s->count; i++)
        hash = seen_mix(hash, (uint64_t)s->sendings[i].lease_ms << 16 |
                                  (uint64_t)s->sendings[i].link << 8 |
                                  (uint64_t)s->sendings[i].sender |
                                  (uint64_t)s->sendings[i].extends << 40);
    for (unsigned set = 0; set < sets(s); set++)
        hash = seen_mix(hash, s->until[set]);
    return hash;
}
