/* One client with one lock, and the promises. See client.h. */
#include <string.h>

#include "net/base/moment.h"
#include "tests/exhaust/client.h"
#include "tests/exhaust/seen.h"
#include "tests/exhaust/trail.h"

static int64_t clock_of(const struct client *c)
{
    return START + c->now;
}

static int64_t lets_go(const struct client *c)
{
    uint16_t until = possible_lets_go(&c->server);

    return until == NEVER ? INT64_MAX : START + until;
}

/* ---- the promises ---- */

/* PROMISE-2, of a hold that is lost at `now_ms`. */
static void check_lost(struct hf_lease lease, int64_t now_ms)
{
    trail_must(hf_lease_may_remain(&lease), "what may remain is said to");
    trail_must(hf_lease_take_todo(&lease, now_ms) == LEASE_DO_NOTHING,
               "a loss is told once");
    trail_must(!hf_lease_lose(&lease, HF_REASON_CLOSED), "it is lost once");
    trail_must(hf_lease_safe_ms(&lease, now_ms) == INT64_MIN,
               "what is lost is not believed");
    trail_must(hf_lease_next_ms(&lease) == HF_NEVER,
               "what is lost wants no renewal");
}

/* PROMISE-2, if nothing else happens. */
static void check_told(struct hf_lease lease)
{
    int64_t end = lease.claims.end_ms;

    trail_must(hf_lease_next_ms(&lease) <= end, "the timer is not too late");
    trail_must(hf_lease_take_todo(&lease, end) == LEASE_DO_REPORT_LOST,
               "the end is told");
    check_lost(lease, end);
}

/* PROMISE-1: if nothing else happens, the hold is believed until end_ms. */
void client_check(const struct client *c)
{
    int64_t now = clock_of(c);

    if (c->phase != HOLDING)
        return;
    trail_must(c->lease.claims.end_ms <= lets_go(c),
               "believed when the server could have let go");
    trail_must(hf_lease_safe_ms(&c->lease, now) ==
                   c->lease.claims.end_ms - now,
               "believed until the end, and no longer");
    trail_must(c->lease.hold_count == c->count, "the count is what was granted");
    check_told(c->lease);
}

/* PROMISE-3. A renewal under way is ignored from here on (hold.c). */
static void check_released(struct hf_lease lease, int64_t now_ms)
{
    int64_t end = lease.claims.end_ms;

    lease.has_pending_renewal_or_look = false;
    trail_must(hf_lease_safe_ms(&lease, now_ms) == INT64_MIN,
               "what is released is not believed");
    trail_must(hf_lease_next_ms(&lease) == end,
               "what is released wants no renewal");
    for (; now_ms < end; now_ms += STEP_MS)
        trail_must(hf_lease_take_todo(&lease, now_ms) == LEASE_DO_NOTHING,
                   "what is released is not renewed");
    check_told(lease);
}

/* ---- commands ---- */

void client_init(struct client *c, uint16_t lease_ms)
{
    memset(c, 0, sizeof *c);
    c->acquire_ms = lease_ms;
    hf_lease_init(&c->lease, WATCHDOG_MS);
    possible_init(&c->server);
    for (uint8_t link = 0; link < LINKS; link++)
        c->stream[link] = ++c->streams;
}

static enum sender sender_of(enum hf_claim_by by)
{
    return by == CLAIM_BY_CALL ? BY_CALL : BY_RENEWAL;
}

bool client_send(struct client *c, enum hf_claim_by by, uint8_t link)
{
    struct command *command = &c->commands[by];

    if (!command->is_under_way || command->is_sent)
        return false;
    command->is_sent = true;
    command->link = link;
    command->how.sent_ms = clock_of(c);
    command->how.stream = c->stream[link];
    return possible_send(&c->server, c->now, link, sender_of(by),
                         command->lease_ms, command->verb == EXTEND);
}

static bool hand_out(struct client *c, enum hf_claim_by by, enum verb verb,
                     uint16_t lease_ms, uint8_t place)
{
    c->commands[by] =
        (struct command){.is_under_way = true,
                         .verb = (uint8_t)verb,
                         .link = UNSENT,
                         .lease_ms = lease_ms,
                         .how = {.sent_ms = HF_NEVER}};
    return place == UNSENT || client_send(c, by, place);
}

bool client_call(struct client *c, enum verb verb, uint16_t lease_ms,
                 uint8_t place)
{
    if (c->phase == OVER || c->commands[CLAIM_BY_CALL].is_under_way ||
        (verb == ACQUIRE) != (c->phase == ACQUIRING) ||
        (verb == RELEASE_ONE && c->count < 2) ||
        (verb == EXTEND && c->lease.is_renewed_by_watchdog))
        return false;
    if (verb == EXTEND)
        hf_lease_extension_submitted(&c->lease);
    else
        hf_lease_grant_requested(&c->lease, clock_of(c), lease_ms);
    return hand_out(c, CLAIM_BY_CALL, verb, lease_ms, place);
}

/* ---- answers ---- */

/* As in granted() of acquire.c: it is given back if it came too late. */
static void note_granted(struct client *c, const struct command *command)
{
    bool is_renewed =
        command->verb != RELEASE_ONE && command->lease_ms == WATCHDOG_MS;

    c->count = (uint8_t)(c->count + (command->verb == RELEASE_ONE ? -1 : 1));
    hf_lease_granted(&c->lease, c->count, &command->how, is_renewed, 0);
    if (command->verb == ACQUIRE)
        c->phase =
            hf_lease_safe_ms(&c->lease, clock_of(c)) > 0 ? HOLDING : OVER;
}

/* The TTL that the reply tells: the least that it can be. */
static void note_extended(struct client *c, const struct command *command)
{
    int64_t was_ms = c->lease.claims.end_ms;
    int64_t lease_ms = command->lease_ms, now = clock_of(c);

    hf_lease_extended(&c->lease, &command->how, lease_ms, lease_ms, now);
    trail_must(c->lease.claims.end_ms >= hf_min_ms(was_ms, now + lease_ms - lease_ms / 100 - 2),
               "an extension shortens nothing");
}

bool client_answer(struct client *c, enum hf_claim_by by)
{
    struct command *command = &c->commands[by];

    if (!command->is_under_way || !command->is_sent ||
        !possible_answers(&c->server, sender_of(by)))
        return false;
    command->is_under_way = false;
    if (by == CLAIM_BY_CALL && command->verb == EXTEND)
        note_extended(c, command);
    else if (by == CLAIM_BY_CALL)
        note_granted(c, command);
    else
        hf_lease_renewed(&c->lease, &command->how);
    return true;
}

bool client_give_up(struct client *c, enum hf_claim_by by)
{
    struct command *command = &c->commands[by];
    bool may_have_run = command->how.stream != 0;

    if (!command->is_under_way)
        return false;
    command->is_under_way = false;
    possible_abandon(&c->server, sender_of(by));
    if (by == CLAIM_BY_RENEWAL)
        hf_lease_retry(&c->lease, clock_of(c),
                       may_have_run ? &command->how : NULL);
    else if (command->verb == EXTEND)
        return true; /* CLAIM-5: nothing has changed */
    else if (may_have_run)
        hf_lease_grant_unknown(&c->lease, &command->how);
    else
        hf_lease_grant_refused(&c->lease);
    if (command->verb == RELEASE_ONE && by == CLAIM_BY_CALL)
        c->lease.hold_count = --c->count; /* as failed() of release.c */
    return true;
}

/* As note_stray() of call.c. */
static void note_stray(struct hf_sending *how)
{
    bool is_first = how->unanswered_stream == 0 || how->unanswered_stream == how->stream;

    how->unanswered_stream = is_first ? how->stream : HF_STREAM_MANY;
}

bool client_cut(struct client *c, uint8_t link, bool is_killed,
                bool is_repeated)
{
    bool is_used = false;

    for (int i = 0; i < c->server.count; i++)
        is_used = is_used || c->server.sendings[i].link == link;
    if (!is_used)
        return false; /* as if it were new */
    possible_cut(&c->server, link, is_killed);
    for (int by = 0; by < CLAIM_BY_COUNT; by++) {
        struct command *command = &c->commands[by];

        if (!command->is_under_way || !command->is_sent ||
            command->link != link)
            continue;
        note_stray(&command->how);
        command->is_sent = false;
        if (by == CLAIM_BY_RENEWAL || !is_repeated)
            (void)client_give_up(c, (enum hf_claim_by)by);
    }
    if (!is_killed)
        c->stream[link] = ++c->streams;
    return true;
}

bool client_release(struct client *c)
{
    if (c->phase != HOLDING || c->count != 1 ||
        c->commands[CLAIM_BY_CALL].is_under_way)
        return false;
    hf_lease_last_release_submitted(&c->lease);
    check_released(c->lease, clock_of(c));
    c->phase = OVER;
    return true;
}

/* ---- time ---- */

static void come_due(struct client *c, bool *renews)
{
    enum hf_lease_todo todo = hf_lease_take_todo(&c->lease, clock_of(c));

    *renews = todo == LEASE_DO_RENEW;
    if (todo == LEASE_DO_REPORT_LOST) {
        check_lost(c->lease, clock_of(c));
        c->phase = OVER;
    }
    trail_must(hf_lease_next_ms(&c->lease) > clock_of(c),
               "what was due is done");
}

static bool pass(struct client *c, int64_t ms, bool *renews)
{
    *renews = false;
    c->now = (uint16_t)(c->now + ms);
    possible_pass(&c->server, c->now);
    if (c->phase == HOLDING)
        come_due(c, renews);
    return true;
}

/* At its end it is lost, and nothing new can happen. */
bool client_wait(struct client *c, bool *renews)
{
    int64_t next = hf_lease_next_ms(&c->lease);

    return c->phase == HOLDING && next < c->lease.claims.end_ms &&
           pass(c, hf_max_ms(next - clock_of(c), 0), renews);
}

bool client_dawdle(struct client *c, bool *renews)
{
    return c->phase != OVER &&
           (c->phase != HOLDING ||
            clock_of(c) + STEP_MS < c->lease.claims.end_ms) &&
           pass(c, STEP_MS, renews);
}

bool client_renew(struct client *c, uint8_t place)
{
    return hand_out(c, CLAIM_BY_RENEWAL, REENTER, WATCHDOG_MS, place);
}

/* ---- equal states ---- */

/* How many of the events of the claims that still matter came before `step`:
 * their order decides, not their numbers. */
static uint64_t rank(const struct hf_claims *l, uint32_t step)
{
    uint64_t n = step > l->answered_step;

    for (int i = 0; i < CLAIM_BY_COUNT; i++)
        n += l->sent[i].lease_ms > 0 && step > l->sent[i].step;
    for (int i = 0; i < CLAIM_UNKNOWNS_MAX; i++)
        n += l->unknown[i].lease_ms > 0 && step > l->unknown[i].step;
    return n;
}

static uint64_t hash_claim(uint64_t hash, int64_t since_ms, int64_t lease_ms,
                           uint64_t stream, uint64_t order)
{
    if (lease_ms == 0)
        return seen_mix(hash, 0);
    hash = seen_mix(hash, (uint64_t)lease_ms << 40 ^ (uint64_t)since_ms);
    return seen_mix(seen_mix(hash, stream), order);
}

static uint64_t hash_claims(const struct hf_claims *l, uint64_t hash)
{
    hash = seen_mix(hash, (uint64_t)l->proved_held_at_ms);
    hash = seen_mix(hash, (uint64_t)l->owner_lease_ms << 8 ^ rank(l, l->last_extend_step));
    hash = hash_claim(hash, 0, l->answered_lease_ms, l->answered_stream,
                      rank(l, l->answered_step));
    for (int i = 0; i < CLAIM_BY_COUNT; i++)
        hash = hash_claim(hash, l->sent[i].since_ms, l->sent[i].lease_ms, 0,
                          rank(l, l->sent[i].step));
    for (int i = 0; i < CLAIM_UNKNOWNS_MAX; i++)
        hash = hash_claim(hash, l->unknown[i].since_ms,
                          l->unknown[i].lease_ms, l->unknown[i].stream,
                          rank(l, l->unknown[i].step));
    return hash;
}

static uint64_t hash_command(const struct command *command, uint64_t hash)
{
    if (!command->is_under_way)
        return seen_mix(hash, 0);
    hash = seen_mix(hash, 1 | (uint64_t)command->is_sent << 1 |
                              (uint64_t)command->verb << 8 |
                              (uint64_t)command->link << 16 |
                              (uint64_t)command->lease_ms << 32);
    hash = seen_mix(hash, (uint64_t)command->how.sent_ms);
    return seen_mix(seen_mix(hash, command->how.stream), command->how.unanswered_stream);
}

uint64_t client_hash(const struct client *c)
{
    uint64_t hash = c->phase | (uint64_t)c->now << 8 |
                    (uint64_t)c->count << 24 |
                    (uint64_t)c->lease.is_renewed_by_watchdog << 32 |
                    (uint64_t)c->lease.has_pending_renewal_or_look << 33;

    hash = seen_mix(seen_mix(0, hash), (uint64_t)c->lease.next_renewal_ms);
    hash = hash_claims(&c->lease.claims, hash);
    for (int by = 0; by < CLAIM_BY_COUNT; by++)
        hash = hash_command(&c->commands[by], hash);
    for (int link = 0; link < LINKS; link++)
        hash = seen_mix(hash, c->stream[link]);
    return possible_hash(&c->server, hash);
}
