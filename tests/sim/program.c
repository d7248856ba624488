/* A program: its client, its owners, and what happens to it. What it does is in
 * operations.c. */
#include <stdlib.h>
#include <string.h>

#include "lock/record/hold.h"
#include "lock/record/op.h"
#include "lock/record/records.h"
#include "lock/script/kind.h"
#include "lock/verb/verbs.h"
#include "net/link/link_inner.h"
#include "net/route/router_inner.h"
#include "net/route/server.h"
#include "tests/sim/by_owner.h"
#include "tests/sim/counts.h"
#include "tests/sim/labels.h"
#include "tests/sim/majority.h"
#include "tests/sim/model/cluster.h"
#include "tests/sim/outage.h"
#include "tests/sim/program_inner.h"
#include "tests/sim/sets.h"
#include "tests/sim/site.h"
#include "tests/support/must.h"

#define FREED 0xdb
#define FRESH 0xa5

/* By the address sanitizer, which also detects late reads. */
#ifdef __SANITIZE_ADDRESS__
#define IS_WATCHED true
#else
#define IS_WATCHED false
#endif

struct sim *program_sim(const struct program *p)
{
    return p->sim;
}

const char *program_uuid(const struct program *p)
{
    return hf_client_uuid(p->client);
}

struct process *program_process(const struct program *p)
{
    return p->process;
}

struct history_event program_event(const struct program *p,
                                   enum history_what what)
{
    return sim_event(p->sim, 'c', p->index + 1, what);
}

/* Servers are named serverN, at 10.0.0.N. */
static int64_t number_of(const char *host, size_t len)
{
    while (len > 0 && host[len - 1] >= '0' && host[len - 1] <= '9')
        len--;
    return strtoll(host + len, NULL, 10);
}

int64_t program_master(const struct program *p, const struct hf_lock *lock)
{
    const struct hf_router *router = p->client->router;
    const struct hf_node *node =
        router->map ? hf_slot_map_master_of_slot(router->map, lock->slot) : NULL;

    if (router->only_server)
        return HISTORY_NONE;
    return node ? number_of(node->host, strlen(node->host)) : 0;
}

static void write_plain(struct program *p, enum history_what what)
{
    struct history_event e = program_event(p, what);

    sim_write(p->sim, &e);
}

static void write_rate(struct program *p)
{
    struct history_event e = program_event(p, HISTORY_CLOCK);

    e.ppm = p->ppm;
    sim_write(p->sim, &e);
}

static void write_start(struct program *p)
{
    struct history_event e = program_event(p, HISTORY_START);

    e.id = history_text(hf_client_uuid(p->client));
    sim_write(p->sim, &e);
    if (p->ppm != 0)
        write_rate(p);
}

static void write_free(struct program *p)
{
    struct history_event e = program_event(p, HISTORY_ASK);

    e.op = HISTORY_OP_FREE;
    e.call = (int64_t)++p->sim->call_count;
    sim_write(p->sim, &e);
}

/* ---- memory ---- */

#define WATCHED_MAX 4096 /* bytes of a block: a slot map has 32 KiB */

/* What was freed is overwritten, and kept for a while: who reads it late finds
 * nonsense, and who writes it is found out. */
static void give_back(struct program *p, struct freed *f)
{
    const unsigned char *bytes = f->ptr;

    if (bytes &&
        (bytes[0] != FREED || memcmp(bytes, bytes + 1, f->size - 1) != 0))
        sim_fail(p->sim, "memory", "%s writes to what it has freed",
                 process_name(p->process));
    free(f->ptr);
    *f = (struct freed){0};
}

static void keep_freed(struct program *p, void *ptr, size_t size)
{
    struct freed *f = &p->freed[p->freed_count++ % FREED_KEPT];

    if (IS_WATCHED) {
        free(ptr);
        return;
    }
    give_back(p, f);
    if (size > WATCHED_MAX)
        size = WATCHED_MAX;
    *f = (struct freed){memset(ptr, FREED, size), size};
}

static void give_all_back(struct program *p)
{
    for (size_t i = 0; i < FREED_KEPT; i++)
        give_back(p, &p->freed[i]);
}

/* The fault happens now, not when it was armed. */
static void write_starved(struct program *p)
{
    struct history_event e = sim_event(p->sim, 'w', 0, HISTORY_FAULT);
    char on[24];

    (void)snprintf(on, sizeof on, "c%lld", (long long)p->index + 1);
    e.fault = history_text(plan_fault_name(FAULT_MEMORY));
    e.on = history_text(on);
    e.state = HISTORY_STATE_ONCE;
    sim_write(p->sim, &e);
}

/* What a client reads before it writes it is nonsense, not 0. Parts that are read so are not
 * beyond the first bytes. */
static void spoil(unsigned char *fresh, size_t size)
{
    memset(fresh, FRESH, size < WATCHED_MAX ? size : WATCHED_MAX);
}

static void *grow(struct program *p, void *old, size_t old_size, size_t size)
{
    void *ptr;

    if (p->starve_in > 0 && --p->starve_in == 0) {
        write_starved(p);
        return NULL;
    }
    ptr = malloc(size);
    if (!ptr)
        return NULL;
    spoil((unsigned char *)ptr + old_size, size - old_size);
    if (old) {
        memcpy(ptr, old, old_size);
        keep_freed(p, old, old_size);
    }
    p->bytes += size - old_size;
    return ptr;
}

/* What is left when the client has been freed is a leak. A call that makes a
 * block smaller, or frees it, must not fail (resp/base.h). */
static void *resize(void *ctx, void *ptr, size_t old, size_t size)
{
    struct program *p = ctx;

    if (size > old)
        return grow(p, ptr, old, size);
    p->bytes -= old - size;
    if (size > 0)
        return realloc(ptr, size);
    if (ptr)
        keep_freed(p, ptr, old);
    return NULL;
}

void program_starve(struct program *p, int64_t nth)
{
    p->starve_in = nth;
}

void program_feed(struct program *p)
{
    p->starve_in = 0;
}

/* ---- the client ---- */

static void open_handles(struct program *p)
{
    const struct plan *plan = p->sim->plan;

    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++) {
        const char *name = plan_lock_name(plan, i);

        if (plan->locks[i].family == FAMILY_QUORUM ||
            plan->locks[i].family == FAMILY_MULTI)
            continue;
        if (plan_is_counted(plan, i)) {
            p->locks[i][0] = count_open(p->client, plan->locks[i].family, name);
            continue;
        }
        p->semaphores[i] = plan->locks[i].family == FAMILY_PERMIT
                               ? (struct hf_semaphore *)count_open(p->client, FAMILY_SEMAPHORE,
                                                                   name)
                               : NULL;
        for (int64_t side = 0; side < 2; side++)
            must(hf_lock_new_kind(&p->locks[i][side], p->client,
                                  plan_kind_of_handle(plan, i, side), name,
                                  strlen(name), NULL) == HF_OK);
    }
}

static void open_locks(struct program *p)
{
    open_handles(p);
    sets_open(p);
}

static void on_log(void *ctx, enum hf_log_level level, const char *line)
{
    struct program *p = ctx;

    (void)level;
    outage_logged(p->sim, line);
    sim_comment(p->sim, process_name(p->process), line);
}

static void on_trace(void *ctx, const struct hf_trace *trace)
{
    struct program *p = ctx;
    char text[HF_TRACE_TEXT_MAX];

    sim_comment(p->sim, process_name(p->process), hf_trace_text(text, trace));
}

/* ---- credentials ---- */

/* When a password ends whose end is known: 0, it does not. */
static int64_t expires_in_ms(const struct program *p, int64_t password)
{
    const struct plan *plan = p->sim->plan;
    int64_t now_us = world_now_us(p->sim->world), number = 1;

    for (size_t i = 0; i < plan->fault_count; i++) {
        const struct plan_fault *f = &plan->faults[i];
        int64_t end_us = sim_us(f->at_ms + f->for_ms);

        if (f->kind != FAULT_ROTATE || ++number != password + 1)
            continue;
        return f->n == 2 && end_us > now_us ? (end_us - now_us) / 1000 : 0;
    }
    return 0;
}

static void fill_credentials(struct program *p, struct hf_credentials *out)
{
    int64_t password = p->sim->site->known_password;

    (void)snprintf(p->password, sizeof p->password, SITE_PASSWORD, (long long)password);
    *out = (struct hf_credentials){.size = sizeof *out,
                                   .password = p->password,
                                   .expires_in_ms = expires_in_ms(p, password)};
}

static void on_query(void *ctx)
{
    struct query *query = ctx;
    struct program *p = query->program;
    struct hf_credentials credentials;
    struct process *before;
    uint64_t id = query->id;

    if (PROGRAM_IS_BUSY(p)) {
        world_after(p->sim->world, &query->event, RETRY_US);
        return;
    }
    query->id = 0;
    fill_credentials(p, &credentials);
    before = process_enter(p->process);
    (void)hf_client_answer_credentials(p->client, id, &credentials, NULL);
    process_enter(before);
}

static void forget_queries(struct program *p)
{
    for (size_t i = 0; i < QUERIES; i++) {
        if (p->queries[i].id != 0)
            world_cancel(p->sim->world, &p->queries[i].event);
        p->queries[i].id = 0;
    }
}

/* Where all are taken, it is answered at once. */
static struct query *free_query(struct program *p)
{
    for (size_t i = 0; i < QUERIES; i++)
        if (p->queries[i].id == 0)
            return &p->queries[i];
    return NULL;
}

static hf_status on_credentials(void *ctx, const struct hf_credentials_query *asked,
                                struct hf_credentials *out, struct hf_error *err)
{
    struct program *p = ctx;
    int64_t late_ms = p->sim->plan->head.credentials_ms;
    struct query *query = late_ms > 0 ? free_query(p) : NULL;

    (void)err;
    if (asked->is_sentinel)
        return HF_OK;
    if (!query) {
        fill_credentials(p, out);
        return HF_OK;
    }
    *query = (struct query){p, asked->id, {.happen = on_query, .ctx = query}};
    world_after(p->sim->world, &query->event, late_ms * 1000);
    return HF_CREDENTIALS_LATER;
}

/* As those of the URL (site_url). */
static void map_address(void *ctx, char host[HF_HOST_MAX + 1], uint16_t *port)
{
    int number;

    (void)ctx;
    (void)port;
    if (sscanf(host, MODEL_INNER_IP, &number) == 1)
        (void)snprintf(host, HF_HOST_MAX + 1, "10.0.0.%d", number);
}

static void open_one(struct program *p, size_t index)
{
    const struct plan_head *h = &p->sim->plan->head;
    struct hf_client_options o;
    char url[SITE_URL_MAX];

    hf_client_options_init(&o);
    site_url(p->sim->site, p->index, index, url, sizeof url);
    o.url = url;
    o.protocol = (int)h->protocol;
    o.thread = false;
    o.mem = &p->mem;
    o.connect_timeout_ms = h->request_ms;
    o.request_timeout_ms = h->request_ms;
    o.watchdog_ms = h->watchdog_ms;
    o.replicas = (int)h->replicas;
    o.replicas_timeout_ms = h->replicas_ms;
    o.token_retention_ms = h->retains_tokens ? HF_TOKEN_RETENTION_LEAST_MS : 0;
    if (h->output_max > 0)
        o.output_max = (size_t)h->output_max;
    o.idle_check_ms = h->idle_check_ms;
    o.credentials = h->has_passwords ? on_credentials : NULL;
    o.credentials_ctx = p;
    o.map_address = h->nat == 2 ? map_address : NULL;
    o.label = labels_text(p->sim, p->index);
    o.log = on_log;
    o.log_ctx = p;
    o.trace = sim_shows_wire() ? on_trace : NULL;
    o.trace_ctx = p;
    must(hf_client_new(&p->clients[index], &o, NULL) == HF_OK);
    if (h->aligns_renewals)
        p->clients[index]->aligned_from_holds = 1;
    process_drive(p->process, hf_client_loop(p->clients[index]));
}

void program_open_client(struct program *p)
{
    struct process *before = process_enter(p->process);

    p->starve_in = 0;
    p->client_count = site_clients(p->sim->site);
    for (size_t i = 0; i < p->client_count; i++)
        open_one(p, i);
    p->client = p->clients[0];
    for (size_t i = 0; i < p->client_count && p->client_count > 1; i++)
        majority_alias(p->sim, hf_client_uuid(p->clients[i]),
                       hf_client_uuid(p->client));
    labels_opened(p->sim, p->index, hf_client_uuid(p->client));
    open_locks(p);
    write_start(p);
    process_enter(before);
}

static void free_owners(struct program *p)
{
    while (p->owners) {
        struct owner *o = p->owners;

        p->owners = o->next;
        free(o);
    }
}

static void free_clients(struct program *p)
{
    sets_free(p);
    forget_queries(p);
    for (size_t i = p->client_count; i-- > 0;)
        hf_client_free(p->clients[i]);
    p->is_freeing = false;
    give_all_back(p);
    if (p->bytes != 0)
        sim_fail(p->sim, "leak", "%s keeps %zu bytes of its client",
                 process_name(p->process), p->bytes);
}

static void forget_owners(struct program *p)
{
    free_owners(p);
    for (struct call *c = p->calls; c; c = c->next) {
        world_cancel(p->sim->world, &c->release);
        c->owner = NULL;
    }
}

/* Callbacks of what is held and under way are called meanwhile. They may call
 * nothing any more. */
void program_free_client(struct program *p)
{
    struct process *before = process_enter(p->process);

    left_note(p);
    labels_ended(p->sim, p->index, 0);
    p->is_freeing = true;
    write_free(p);
    majority_end(p->sim, program_uuid(p));
    free_clients(p);
    write_plain(p, HISTORY_DIED);
    forget_owners(p);
    process_enter(before);
}

static void on_turn(void *ctx)
{
    program_watch(ctx);
}

static void open_process(struct program *p)
{
    const struct plan_program *plan = &p->sim->plan->programs[p->index];
    char name[16];

    (void)snprintf(name, sizeof name, "c%d", (int)p->index + 1);
    p->process =
        process_new(p->sim->world, name, plan->offset_ms * 1000, (int)p->ppm);
    process_on_turn(p->process, on_turn, p);
}

struct program *program_new(struct sim *sim, int64_t index)
{
    struct program *p = must_alloc(sizeof *p);

    *p = (struct program){.sim = sim, .index = index, .ppm = sim->plan->programs[index].ppm};
    p->mem = (struct hf_mem){resize, p};
    open_process(p);
    program_open_client(p);
    return p;
}

void program_free(struct program *p)
{
    program_free_client(p);
    while (p->calls) {
        struct call *c = p->calls;

        p->calls = c->next;
        free(c);
    }
    free(p);
}

/* ---- owners ---- */

struct owner *program_new_owner(struct program *p, int64_t lock, int64_t side,
                                int64_t number)
{
    struct owner *o = must_alloc(sizeof *o);

    *o = (struct owner){.next = p->owners,
                        .program = p,
                        .lock = p->locks[lock][side],
                        .lock_index = lock,
                        .side = side,
                        .number = number,
                        .as = number};
    (void)snprintf(o->name, sizeof o->name, "%s:%lld",
                   hf_client_uuid(p->client), (long long)number);
    p->owners = o;
    return o;
}

static struct owner *form_owner(struct program *p, struct owner *o)
{
    if (p->sim->plan->locks[o->lock_index].family == FAMILY_ELECTION && o->side == 0)
        o->form = OWNER_OF_ELECTION;
    sets_owner(p, o);
    return o;
}

struct owner *program_owner(struct program *p, const struct plan_op *op)
{
    for (struct owner *o = p->owners; o; o = o->next)
        if (o->lock_index == op->lock && o->side == op->side &&
            o->number == op->owner && !o->whole)
            return o;
    return form_owner(p, program_new_owner(p, op->lock, op->side, op->owner));
}

struct hf_semaphore *program_semaphore(const struct program *p, int64_t lock)
{
    return p->semaphores[lock];
}

int64_t program_beside(const struct program *p, const struct owner *o)
{
    int64_t calls = 0;

    for (const struct owner *other = p->owners; other; other = other->next)
        if (other->lock_index == o->lock_index && other->number == o->number)
            calls += other->under_way;
    return calls;
}

bool program_asks_within(const struct program *p, const struct owner *o,
                         int64_t ms)
{
    const struct plan *plan = p->sim->plan;
    int64_t now_us = world_now_us(p->sim->world);

    for (size_t i = 0; i < plan->op_count; i++) {
        const struct plan_op *op = &plan->ops[i];

        if (op->verb == OP_ACQUIRE && op->program == p->index &&
            op->lock == o->lock_index && op->owner == o->number &&
            sim_us(op->at_ms) > now_us && sim_us(op->at_ms - ms) < now_us)
            return true;
    }
    return false;
}

/* In a queue, or an operation of a semaphore, a latch, or the number of permits. */
static bool stands_or_counts(const struct hf_op *op)
{
    static const struct hf_verb *const verbs[] = {&hf_verb_add,    &hf_verb_reduce,
                                                  &hf_verb_set,    &hf_verb_delete,
                                                  &hf_verb_resize, &hf_verb_read,
                                                  &hf_verb_add_existing};

    if (op->verb == &hf_verb_acquire)
        return op->lock->kind->is_ownerless || op->lock->kind->has_server_queue;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (op->verb == verbs[i])
            return op->lock->kind->is_ownerless || op->verb == &hf_verb_resize;
    return false;
}

void program_watch_queues(struct program *p)
{
    const struct hf_list *ops = &p->client->pending_ops;

    for (const struct hf_list *l = ops->next; l != ops; l = l->next) {
        const struct hf_op *op = HF_OWNER_OF(l, struct hf_op, node);

        if (op->hold && stands_or_counts(op))
            call_place(op->done_ctx, op->hold->work->hold_field, op->hold->work->hold_field_len);
    }
}

static bool has_queues(const struct program *p)
{
    for (size_t i = 0; i < p->sim->plan->lock_count; i++)
        if (plan_has_queue(p->sim->plan, (int64_t)i) ||
            plan_has_permits(p->sim->plan, (int64_t)i))
            return true;
    return false;
}

/* Is the output of a connection full? */
static bool waits_for_space(const struct program *p)
{
    const struct hf_list *servers;

    if (p->is_freeing)
        return false;
    servers = &p->client->router->servers;
    for (const struct hf_list *l = servers->next; l != servers;
         l = l->next)
        if (!hf_space_queue_is_empty(
                &HF_OWNER_OF(l, struct hf_server, node)->link->space_queue))
            return true;
    return false;
}

/* An owner without holds and calls believes nothing. */
void program_watch(struct program *p)
{
    struct process *before = process_enter(p->process);

    if (p->is_dead || p->is_in_turn) {
        process_enter(before);
        return;
    }
    if (waits_for_space(p))
        effects_note(p->sim, EFFECT_FULL_OUTPUT);

    for (struct owner *o = p->owners; o; o = o->next)
        if (o->count > 0 || o->under_way > 0 || o->until_us > 0) {
            owner_watch(o);
            owner_watch_master(o);
        }
    for (struct owner *o = p->owners; o; o = o->next)
        if (o->quorum || o->multi)
            sets_watch(o);
    if (has_queues(p) && !p->is_freeing)
        program_watch_queues(p);
    process_enter(before);
}

void program_count(struct program *p)
{
    for (struct owner *o = p->owners; o; o = o->next)
        owner_count(o);
}

bool program_is_calling(const struct program *p)
{
    for (const struct owner *o = p->owners; o; o = o->next)
        if (o->under_way > 0)
            return true;
    return false;
}

bool program_is_idle(const struct program *p)
{
    for (const struct owner *o = p->owners; o; o = o->next)
        if (o->under_way > 0 || o->count > 0)
            return false;
    return true;
}

/* ---- what happens to it ---- */

static void on_resume(void *ctx)
{
    struct program *p = ctx;

    process_resume(p->process);
    write_plain(p, HISTORY_GO);
}

void program_suspend(struct program *p, int64_t for_ms)
{
    if (process_is_suspended(p->process))
        return;
    write_plain(p, HISTORY_STOP);
    process_suspend(p->process);
    p->resume.happen = on_resume;
    p->resume.ctx = p;
    world_after(p->sim->world, &p->resume, for_ms * 1000);
}

static void set_rate(struct program *p, int64_t ppm)
{
    p->ppm = ppm;
    process_set_rate(p->process, (int)ppm);
    write_rate(p);
    program_watch(p);
}

/* What a client learned by a clock that was wrong stays wrong for a while, and
 * for an unknown time: the program begins again. */
static void on_recover(void *ctx)
{
    struct program *p = ctx;

    if (PROGRAM_IS_BUSY(p)) {
        world_after(p->sim->world, &p->recover, RETRY_US);
        return;
    }
    set_rate(p, p->sim->plan->programs[p->index].ppm);
    program_replace_client(p, -1);
}

void program_set_rate(struct program *p, int64_t ppm, int64_t for_ms,
                      bool is_beyond)
{
    set_rate(p, ppm);
    p->recover.happen = on_recover;
    p->recover.ctx = p;
    if (is_beyond)
        world_after(p->sim->world, &p->recover, for_ms * 1000);
}

/* ---- kill -9 ---- */

static void on_return(void *ctx)
{
    struct program *p = ctx;

    open_process(p);
    site_link_program(p->sim->site, p);
    p->is_dead = false;
    program_open_client(p);
    program_set_all(p);
}

static bool has_work(const struct program *p)
{
    for (const struct owner *o = p->owners; o; o = o->next)
        if (o->count > 0 || o->under_way > 0)
            return true;
    return false;
}

static void note_death(const struct program *p)
{
    static const int effects[] = {[OWNER_OF_QUORUM] = EFFECT_DIED_QUORUM,
                                  [OWNER_OF_MULTI] = EFFECT_DIED_MULTI,
                                  [OWNER_OF_ELECTION] = EFFECT_DIED_LEADER};

    if (has_work(p))
        effects_note(p->sim, EFFECT_DIED);
    for (const struct owner *o = p->owners; o; o = o->next)
        if (o->form != OWNER_OF_LOCK && o->count > 0)
            effects_note(p->sim, effects[o->form]);
}

/* Its memory ends with it: the frees here are not reported. */
static void on_kill(void *ctx)
{
    struct program *p = ctx;
    struct process *before;

    if (PROGRAM_IS_BUSY(p)) {
        world_after(p->sim->world, &p->kill, RETRY_US);
        return;
    }
    note_death(p);
    left_note(p);
    labels_ended(p->sim, p->index, 0);
    majority_end(p->sim, program_uuid(p));
    write_plain(p, HISTORY_DIED);
    program_unstall(p);
    process_die(p->process);
    before = process_enter(p->process);
    p->is_dead = p->is_freeing = true;
    p->sim->muted = p->index + 1;
    program_end_sets(p);
    free_clients(p);
    forget_owners(p);
    p->sim->muted = 0;
    process_enter(before);
    p->kill.happen = on_return;
    world_after(p->sim->world, &p->kill, p->dead_ms * 1000);
}

/* One death at a time. */
void program_kill(struct program *p, int64_t for_ms)
{
    if (p->kill.place)
        return;
    p->dead_ms = for_ms;
    p->kill = (struct event){.happen = on_kill, .ctx = p};
    world_after(p->sim->world, &p->kill, 0);
}

/* ---- stopped within a turn ---- */

static void stop_here(struct program *p, int64_t ms, int effect)
{
    struct world *world = p->sim->world;

    if (PROGRAM_IS_BUSY(p))
        return;
    effects_note(p->sim, effect);
    write_plain(p, HISTORY_STOP);
    process_suspend(p->process);
    p->is_in_turn = true;
    world_run(world, world_now_us(world) + ms * 1000);
    p->is_in_turn = false;
    process_resume(p->process);
    write_plain(p, HISTORY_GO);
}

static void on_write(void *ctx)
{
    struct program *p = ctx;

    stop_here(p, p->stall_ms, EFFECT_LATE_WRITE);
}

void program_stall_callback(struct program *p)
{
    int64_t ms = p->stall_callback_ms;

    p->stall_callback_ms = 0;
    if (ms <= 0)
        return;
    program_watch(p); /* what it believes by now: this turn ends late */
    stop_here(p, ms, EFFECT_LONG_CALLBACK);
}

void program_stall(struct program *p, int64_t for_ms, bool in_callback)
{
    if (PROGRAM_IS_BUSY(p))
        return;
    if (in_callback) {
        p->stall_callback_ms = for_ms;
        return;
    }
    p->stall_ms = for_ms;
    process_before_write(p->process, on_write, p);
}

void program_unstall(struct program *p)
{
    process_before_write(p->process, NULL, NULL);
    p->stall_callback_ms = 0;
}
