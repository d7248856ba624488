/* The judge's records: found by name, kept while something can still be said of
 * them. */
#include "tests/judge/count.h"
#include "tests/judge/sight.h"
#include "tests/judge/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTIES_LEAST 16
#define BUCKETS_LEAST 256       /* a power of two */

void *must_have(void *memory)
{
    if (!memory) {
        fputs("judge: out of memory\n", stderr);
        abort();
    }
    return memory;
}

bool text_is(struct history_text a, struct history_text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

static struct history_text copy_of(struct history_text text)
{
    char *bytes = must_have(malloc(text.len + 1));

    if (text.len > 0)
        memcpy(bytes, text.at, text.len);
    bytes[text.len] = '\0';
    return (struct history_text){bytes, text.len};
}

static void text_free(struct history_text text)
{
    free((char *)text.at);
}

void text_set(struct history_text *to, struct history_text from)
{
    struct history_text copy = copy_of(from);

    text_free(*to);
    *to = copy;
}

enum hold_class class_of(enum history_kind kind)
{
    return kind == HISTORY_KIND_READ    ? CLASS_READ
           : kind == HISTORY_KIND_WRITE  ? CLASS_WRITE
           : kind == HISTORY_KIND_PERMIT    ? CLASS_PERMIT
           : kind == HISTORY_KIND_SEMAPHORE ? CLASS_SEMAPHORE
           : kind == HISTORY_KIND_LATCH     ? CLASS_LATCH
                                            : CLASS_PLAIN;
}

void state_due(struct judge *j, int64_t us)
{
    if (us < j->next_due_us)
        j->next_due_us = us;
}

void state_owe(struct judge *j, struct hold *hold, int64_t due_us)
{
    hold->is_owed = true;
    hold->owed_since = j->now;
    hold->has_successor = false;
    hold->owed_due_us = due_us;
    hold->is_owed_of_set = hold->lock->is_set && state_is_excused(hold);
    hold->owed_next = j->owed;
    j->owed = hold;
    state_due(j, due_us);
}

void state_unowe(struct judge *j, struct hold *hold)
{
    struct hold **at = &j->owed;

    if (!hold->is_owed)
        return;
    while (*at != hold)
        at = &(*at)->owed_next;
    *at = hold->owed_next;
    hold->is_owed = false;
}

/* ---- parties ---- */

static void make_room(struct party **parties, uint32_t *room, uint32_t number)
{
    uint32_t more = *room ? *room : PARTIES_LEAST;

    while (more <= number)
        more *= 2;
    *parties = must_have(realloc(*parties, more * sizeof **parties));
    memset(*parties + *room, 0, (more - *room) * sizeof **parties);
    *room = more;
}

struct party *state_party(struct judge *j, struct history_source source)
{
    bool is_client = source.role == 'c';
    struct party **parties = is_client ? &j->clients : &j->servers;
    uint32_t *room = is_client ? &j->clients_room : &j->servers_room;

    if (source.number >= PARTIES_MAX)
        return NULL;
    if (source.number >= *room)
        make_room(parties, room, source.number);
    (*parties)[source.number].source = source;
    return &(*parties)[source.number];
}

struct party *state_client(const struct judge *j, uint32_t client)
{
    return &j->clients[client < j->clients_room ? client : 0];
}

void state_gone(struct judge *j, struct party *p)
{
    if (p->id[0] == '\0')
        return;
    if (j->gone_count == j->gone_room) {
        j->gone_room = j->gone_room ? 2 * j->gone_room : PARTIES_LEAST;
        j->gone = must_have(realloc(j->gone, j->gone_room * sizeof *j->gone));
    }
    memcpy(j->gone[j->gone_count].id, p->id, sizeof p->id);
    j->gone[j->gone_count++].at = j->now;
    p->id[0] = '\0';
}

struct moment state_gone_of(const struct judge *j, const struct hold *hold)
{
    struct history_text name = hold->name.len ? hold->name : hold->owner;

    for (size_t i = 0; i < j->gone_count; i++) {
        size_t len = strlen(j->gone[i].id);

        if (name.len >= len && memcmp(name.at, j->gone[i].id, len) == 0)
            return j->gone[i].at;
    }
    return (struct moment){0, 0};
}

bool state_decides(const struct judge *j, uint32_t server)
{
    return server >= j->servers_room || (!j->servers[server].is_replica &&
                                         !j->servers[server].replaced.line);
}

/* ---- faults ---- */

static const struct trouble *trouble_of(const struct party *parties,
                                        uint32_t room, uint32_t number)
{
    static const struct trouble none = {0, {0}};

    return number < room ? &parties[number].trouble : &none;
}

bool trouble_now(const struct judge *j, uint32_t client,
                 const struct lock *lock)
{
    return j->trouble.open > 0 || lock->trouble.open > 0 ||
           trouble_of(j->clients, j->clients_room, client)->open > 0 ||
           trouble_of(j->servers, j->servers_room, lock->home)->open > 0;
}

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t last_of(const struct trouble *t)
{
    return t->last.line ? t->last.us : NEVER_YET;
}

int64_t trouble_last(const struct judge *j, uint32_t client,
                     const struct lock *lock)
{
    const struct trouble *c = trouble_of(j->clients, j->clients_room, client);
    const struct trouble *s =
        trouble_of(j->servers, j->servers_room, lock->home);

    return latest(latest(last_of(&j->trouble), last_of(&lock->trouble)),
                  latest(last_of(c), last_of(s)));
}

bool trouble_since(const struct judge *j, uint32_t client,
                   const struct lock *lock, int64_t us)
{
    return trouble_now(j, client, lock) || trouble_last(j, client, lock) > us;
}

struct trouble *trouble_spot(struct judge *j, uint32_t client, uint32_t server)
{
    struct spot *spot;

    for (size_t i = 0; i < j->spots_count; i++)
        if (j->spots[i].client == client && j->spots[i].server == server)
            return &j->spots[i].trouble;
    if (j->spots_count == j->spots_room) {
        j->spots_room = j->spots_room ? 2 * j->spots_room : 16;
        j->spots = must_have(realloc(j->spots, j->spots_room * sizeof *j->spots));
    }
    spot = &j->spots[j->spots_count++];
    *spot = (struct spot){.client = client, .server = server};
    return &spot->trouble;
}

static uint32_t first_of(const struct judge *j, uint32_t server)
{
    uint32_t first = server < j->servers_room ? j->servers[server].first : 0;

    return first ? first : server;
}

/* A replica that never was a master may be of any member. */
static bool may_serve(const struct judge *j, const struct lock *member, uint32_t server)
{
    return server == 0 || server == member->at_server || server == member->home ||
           first_of(j, server) == first_of(j, member->at_server) ||
           (server < j->servers_room && j->servers[server].is_replica &&
            j->servers[server].first == 0);
}

static bool is_since(const struct trouble *t, int64_t since_us)
{
    return t->open > 0 || last_of(t) >= since_us;
}

bool trouble_of_member(const struct judge *j, uint32_t client, const struct lock *member,
                       int64_t since_us)
{
    if (is_since(&member->trouble, since_us))
        return true;
    for (size_t i = 0; i < j->spots_count; i++) {
        const struct spot *spot = &j->spots[i];

        if ((spot->client == 0 || spot->client == client) &&
            is_since(&spot->trouble, since_us) && may_serve(j, member, spot->server))
            return true;
    }
    return false;
}

/* ---- locks ---- */

/* FNV-1a. */
static uint32_t hash_of(struct history_text text)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.at[i]) * 16777619u;
    return hash;
}

static void spread_locks(struct judge *j)
{
    size_t room = j->locks_room ? j->locks_room * 2 : BUCKETS_LEAST;
    struct lock **buckets = must_have(calloc(room, sizeof *buckets));

    for (size_t i = 0; i < j->locks_room; i++)
        for (struct lock *lock = j->locks[i], *next; lock; lock = next) {
            next = lock->chain;
            lock->chain = buckets[lock->hash & (room - 1)];
            buckets[lock->hash & (room - 1)] = lock;
        }
    free(j->locks);
    j->locks = buckets;
    j->locks_room = room;
}

struct lock *state_lock(struct judge *j, struct history_text name, bool makes)
{
    uint32_t hash = hash_of(name);
    struct lock *lock;

    if (j->locks_count >= j->locks_room)
        spread_locks(j);
    for (lock = j->locks[hash & (j->locks_room - 1)]; lock; lock = lock->chain)
        if (lock->hash == hash && text_is(lock->name, name))
            return lock;
    if (!makes)
        return NULL;
    lock = must_have(calloc(1, sizeof *lock));
    lock->hash = hash;
    lock->name = copy_of(name);
    lock->chain = j->locks[hash & (j->locks_room - 1)];
    j->locks[hash & (j->locks_room - 1)] = lock;
    j->locks_count++;
    return lock;
}

static void free_texts(struct lock *lock)
{
    text_free(lock->set);
    for (struct stock *s = lock->stocks, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    for (struct head *head = lock->heads, *next; head; head = next) {
        next = head->next;
        text_free(head->hold);
        free(head);
    }
    count_free(lock);
    text_free(lock->name);
    text_free(lock->head);
}

static void lock_free(struct judge *j, struct lock *lock)
{
    struct lock **at = &j->locks[lock->hash & (j->locks_room - 1)];

    while (*at != lock)
        at = &(*at)->chain;
    *at = lock->chain;
    j->locks_count--;
    free_texts(lock);
    free(lock);
}

/* ---- holds ---- */

static bool is_of_use(const struct hold *hold)
{
    return hold->records || hold->tally > 0 || hold->until_us > 0 ||
           hold->releasing > 0 || hold->is_owed;
}

void state_end_belief(const struct judge *j, struct hold *hold)
{
    if (hold->until_us <= j->now.us)
        hold->until_us = 0;
}

struct hold *state_hold(struct lock *lock, enum hold_class class,
                        struct history_text owner, struct history_text name,
                        bool makes)
{
    struct hold *hold, *found = NULL;

    for (hold = lock->holds; hold; hold = hold->next)
        if (hold->class == class && text_is(hold->owner, owner) &&
            (name.len == 0 || text_is(hold->name, name)) &&
            (!found || (!is_of_use(found) && is_of_use(hold))))
            found = hold;
    if (found || !makes)
        return found;
    hold = must_have(calloc(1, sizeof *hold));
    hold->lock = lock;
    hold->class = class;
    hold->owner = copy_of(owner);
    hold->name = copy_of(name);
    hold->counted = HISTORY_NONE;
    hold->next = lock->holds;
    lock->holds = hold;
    return hold;
}

struct record *state_record(struct hold *hold, uint32_t server, bool makes)
{
    struct record *record = hold->records;

    while (record && record->server != server)
        record = record->next;
    if (record || !makes)
        return record;
    record = must_have(calloc(1, sizeof *record));
    record->server = server;
    record->next = hold->records;
    hold->records = record;
    return record;
}

void state_record_drop(struct hold *hold, uint32_t server)
{
    for (struct record **at = &hold->records, *record; (record = *at);
         at = &record->next)
        if (record->server == server) {
            *at = record->next;
            free(record);
            return;
        }
}

struct record *state_held(const struct judge *j, const struct hold *hold)
{
    struct record *record = hold->records;

    while (record && !state_decides(j, record->server))
        record = record->next;
    if (record && hold->class == CLASS_PERMIT && record->until_us <= j->now.us)
        return NULL;
    return record;
}

struct stock *state_stock(struct lock *lock, uint32_t server)
{
    struct stock *stock = lock->stocks;

    while (stock && stock->server != server)
        stock = stock->next;
    if (stock)
        return stock;
    stock = must_have(calloc(1, sizeof *stock));
    *stock = (struct stock){lock->stocks, server, HISTORY_NONE, HISTORY_NONE, {0, 0},
                             {0, 0}};
    return lock->stocks = stock;
}

int64_t state_number_at(const struct lock *lock, uint32_t server)
{
    for (const struct stock *s = lock->stocks; s; s = s->next)
        if (s->server == server)
            return s->n;
    return HISTORY_NONE;
}

bool state_number_is_over(const struct judge *j, const struct lock *lock, uint32_t server)
{
    for (const struct stock *s = lock->stocks; s; s = s->next)
        if (s->server == server && s->until_us != HISTORY_NONE && s->until_us <= j->now.us)
            return true;
    return false;
}

int64_t state_permits(const struct judge *j, const struct lock *lock)
{
    int64_t n = HISTORY_NONE;

    for (const struct stock *s = lock->stocks; s; s = s->next)
        if (state_decides(j, s->server) && s->n > n)
            n = s->n;
    return n;
}

struct head *state_head(struct lock *lock, uint32_t server)
{
    struct head *head = lock->heads;

    while (head && head->server != server)
        head = head->next;
    if (head)
        return head;
    head = must_have(calloc(1, sizeof *head));
    head->server = server;
    head->next = lock->heads;
    return lock->heads = head;
}

/* ---- who may answer ---- */

static bool has_of(const struct lock *lock, uint32_t server)
{
    if (state_number_at(lock, server) != HISTORY_NONE)
        return true;
    for (struct hold *hold = lock->holds; hold; hold = hold->next)
        if (state_record(hold, server, false))
            return true;
    for (const struct head *head = lock->heads; head; head = head->next)
        if (head->server == server && head->hold.len > 0)
            return true;
    return false;
}

/* Numbers may be far apart: most are of no server. */
static bool is_known(const struct judge *j, uint32_t server)
{
    return j->servers[server].source.role == 's';
}

bool state_answers(const struct judge *j, const struct lock *lock, uint32_t server)
{
    if (j->servers[server].is_replica && !j->servers[server].replaced.line)
        return false;
    return server == lock->home ||
           first_of(j, server) == first_of(j, lock->home) ||
           (is_known(j, server) && has_of(lock, server));
}

bool state_is_by_old_master(const struct hold *hold)
{
    return hold->until_us > 0 && hold->until_us <= hold->old_master_until_us;
}

bool state_is_excused(const struct hold *hold)
{
    return hold->excuse.reason != EXCUSE_NONE || hold->clock.line ||
           state_is_by_old_master(hold);
}

bool state_is_named(const struct ask *ask, const struct hold *hold)
{
    return ask->name.len == 0 ||
           text_is(ask->name, hold->name.len > 0 ? hold->name : hold->owner);
}

/* An acquire under way may still say that it was this hold. A renewal may have been
 * executed before the hold was taken away, and its answer is on its way. */
static bool is_awaited(const struct hold *hold)
{
    for (const struct ask *ask = hold->lock->asks; ask; ask = ask->lock_next)
        if ((ask->op == HISTORY_OP_ACQUIRE && text_is(ask->owner, hold->owner)) ||
            ((ask->op == HISTORY_OP_RENEW || ask->op == HISTORY_OP_EXTEND) &&
             state_is_named(ask, hold)))
            return true;
    return false;
}

static void hold_free(struct hold *hold)
{
    if (hold->lock->barring == hold)
        hold->lock->barring = NULL;
    while (hold->records)
        state_record_drop(hold, hold->records->server);
    text_free(hold->owner);
    text_free(hold->name);
    free(hold);
}

static bool has_waiters(const struct lock *lock)
{
    for (const struct head *head = lock->heads; head; head = head->next)
        if (head->hold.len > 0)
            return true;
    return false;
}

void state_tidy(struct judge *j, struct lock *lock)
{
    for (struct hold **at = &lock->holds, *hold; (hold = *at);) {
        state_end_belief(j, hold);
        if (is_of_use(hold) || is_awaited(hold)) {
            at = &hold->next;
            continue;
        }
        *at = hold->next;
        hold_free(hold);
    }
    if (!lock->holds && !lock->asks && !lock->server_token &&
        !lock->told_token && !lock->trouble.last.line && lock->head.len == 0 &&
        !lock->stocks && !has_waiters(lock) && !lock->unsure_force.line &&
        !lock->unsure_renewal.line && !lock->is_set && lock->set.len == 0)
        lock_free(j, lock);
}

/* ---- calls ---- */

static size_t bucket_of(const struct judge *j, uint32_t client, int64_t call)
{
    uint64_t mixed = ((uint64_t)call + client) * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(mixed >> 32) & (j->calls_room - 1);
}

static void spread_calls(struct judge *j)
{
    j->calls_room = j->calls_room ? j->calls_room * 2 : BUCKETS_LEAST;
    free(j->calls);
    j->calls = must_have(calloc(j->calls_room, sizeof(struct ask *)));
    for (struct ask *ask = j->asks; ask; ask = ask->next) {
        size_t i = bucket_of(j, ask->client, ask->call);

        ask->chain = j->calls[i];
        j->calls[i] = ask;
    }
}

struct ask *state_ask(struct judge *j, uint32_t client, int64_t call)
{
    struct ask *ask =
        j->calls_room ? j->calls[bucket_of(j, client, call)] : NULL;

    while (ask && (ask->client != client || ask->call != call))
        ask = ask->chain;
    return ask;
}

static void join_lock(struct lock *lock, struct ask *ask)
{
    ask->lock_prev = lock->asks_last;
    *(lock->asks_last ? &lock->asks_last->lock_next : &lock->asks) = ask;
    lock->asks_last = ask;
}

static void leave_lock(struct lock *lock, struct ask *ask)
{
    *(ask->lock_prev ? &ask->lock_prev->lock_next : &lock->asks) =
        ask->lock_next;
    *(ask->lock_next ? &ask->lock_next->lock_prev : &lock->asks_last) =
        ask->lock_prev;
}

static int64_t or_never(int64_t us)
{
    return us == HISTORY_NONE ? HISTORY_NEVER : us;
}

/* "name@s7", of the set "name": 7; 0: the name says no server. */
static uint32_t server_of_name(struct history_text name, struct history_text set)
{
    uint32_t n = 0;

    if (name.len < set.len + 3 || memcmp(name.at, set.at, set.len) != 0 ||
        memcmp(name.at + set.len, "@s", 2) != 0)
        return 0;
    for (size_t i = set.len + 2; i < name.len; i++) {
        if (name.at[i] < '0' || name.at[i] > '9' || n >= PARTIES_MAX)
            return 0;
        n = n * 10 + (uint32_t)(name.at[i] - '0');
    }
    return n;
}

bool state_is_set(const struct judge *j, const struct lock *lock)
{
    if (lock->is_set)
        return true;
    for (size_t i = 0; i < j->locks_room; i++)
        for (const struct lock *l = j->locks[i]; l; l = l->chain)
            if (server_of_name(l->name, lock->name) > 0)
                return true;
    return false;
}

static void join_set(struct judge *j, struct lock *member, struct history_text set)
{
    unsigned place = 0;

    for (size_t i = 0; i < j->locks_room; i++)
        for (const struct lock *lock = j->locks[i]; lock; lock = lock->chain)
            place += lock != member && text_is(lock->set, set);
    text_set(&member->set, set);
    member->at_server = server_of_name(member->name, set);
    member->place = place;
}

struct ask *state_ask_add(struct judge *j, const struct history_event *e)
{
    struct ask *ask = must_have(calloc(1, sizeof *ask));
    size_t i;

    if (j->calls_count++ >= j->calls_room)
        spread_calls(j);
    i = bucket_of(j, e->source.number, e->call);
    *ask = (struct ask){.chain = j->calls[i],
                        .next = j->asks,
                        .client = e->source.number,
                        .call = e->call,
                        .asked = j->now,
                        .op = e->op,
                        .class = class_of(e->kind),
                        .is_fair = e->kind == HISTORY_KIND_FAIR,
                        .owner = copy_of(e->owner),
                        .name = copy_of(e->hold),
                        .lease_ms = e->lease_ms,
                        .set = copy_of(e->of),
                        .is_whole = e->of.at && (!e->lock.at || text_is(e->lock, e->of)),
                        .wait_ms = e->wait_ms,
                        .n = e->n == HISTORY_NONE ? 1 : e->n,
                        .kind = e->kind,
                        .max_hold_ms = e->max_hold_ms,
                        .due_us = or_never(e->due_us),
                        .free_due_us = HISTORY_NEVER};
    ask->is_part = e->of.at && !ask->is_whole;
    if (ask->is_whole) {
        ask->set_wait_ms = e->wait_ms;
        ask->wait_ms = 0;
    }
    j->calls[i] = ask;
    if (j->asks)
        j->asks->prev = ask;
    j->asks = ask;
    if (e->lock.at)
        ask->lock = state_lock(j, e->lock, true);
    if (ask->lock) {
        join_lock(ask->lock, ask);
        ask->lock->is_set = ask->lock->is_set || ask->is_whole;
        if (ask->is_part && !text_is(ask->lock->set, ask->set))
            join_set(j, ask->lock, ask->set);
    }
    return ask;
}

void state_ask_drop(struct judge *j, struct ask *ask)
{
    struct ask **at = &j->calls[bucket_of(j, ask->client, ask->call)];

    while (*at != ask)
        at = &(*at)->chain;
    *at = ask->chain;
    *(ask->prev ? &ask->prev->next : &j->asks) = ask->next;
    if (ask->next)
        ask->next->prev = ask->prev;
    if (ask->lock)
        leave_lock(ask->lock, ask);
    text_free(ask->owner);
    text_free(ask->name);
    text_free(ask->place);
    text_free(ask->set);
    sight_free(ask);
    free(ask);
    j->calls_count--;
}

/* ---- all of it ---- */

void state_free(struct judge *j)
{
    while (j->asks)
        state_ask_drop(j, j->asks);
    for (size_t i = 0; i < j->locks_room; i++)
        for (struct lock *lock = j->locks[i], *next; lock; lock = next) {
            next = lock->chain;
            for (struct hold *hold = lock->holds, *after; hold; hold = after) {
                after = hold->next;
                hold_free(hold);
            }
            free_texts(lock);
            free(lock);
        }
    free(j->locks);
    free(j->calls);
    free(j->clients);
    free(j->servers);
    free(j->gone);
}
