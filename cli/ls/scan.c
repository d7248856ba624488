/* A walk through the names of all hashes that servers hold. */
#include "cli/ls/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/loop/clock.h"
#include "net/route/cluster_view.h"
#include "net/route/refusal.h"
#include "net/route/router.h"
#include "net/route/slot.h"

#define TIMEOUT_MS 5000         /* of an answer, if the URL does not say */
#define WORDS_MAX 8

/* One server, and how far it has been looked through. */
struct source {
    struct ls_scan *scan;
    struct hf_command command;
    struct hf_resp_arg argv[WORDS_MAX];
    uint16_t slot;              /* one of its own, by which it is found */
    char cursor[24];            /* of 64 bits; "0" at its begin and end */
    char address[300];          /* "": it has not answered yet */
    bool is_open;
    size_t names;               /* of the last page */
    struct hf_error error;
};

struct ls_scan {
    struct hf_loop *loop;
    struct hf_router *router;
    const char *pattern;
    int64_t timeout_ms;         /* to connect, and of an answer */
    char lost[HF_ERROR_TEXT_MAX];
    hf_status status;           /* HF_E_NOMEM: a name has no room */
    uint32_t pending;
    uint32_t count;
    struct source *sources;
    size_t name_count, name_room;
    struct ls_name *names;
};

/* ---- the servers ---- */

/* SCAN-2. Before the first page, a lost connection costs nothing. */
static void on_trace(void *ctx, const struct hf_trace *trace)
{
    struct ls_scan *scan = ctx;

    if (trace->kind != HF_TRACE_LOST || scan->lost[0])
        return;
    for (uint32_t i = 0; i < scan->count; i++)
        if (scan->sources[i].is_open &&
            strcmp(scan->sources[i].address, trace->address) == 0)
            (void)snprintf(scan->lost, sizeof scan->lost, "%s", trace->why);
}

static hf_status open_router(struct ls_scan *scan, const struct hf_url *url,
                             const struct hf_seeds *seeds, struct hf_error *err)
{
    struct hf_router_options options = {.seeds = seeds};
    int64_t timeout_ms = url->timeout_ms > 0 ? url->timeout_ms : TIMEOUT_MS;
    hf_status rc;

    scan->timeout_ms = url->connect_timeout_ms + timeout_ms;
    hf_link_options_init(&options.link);
    options.link.url = *url;
    options.link.client_name = "holdfast-ls";
    options.link.protocol = url->protocol ? url->protocol : 3;
    options.link.connect_timeout_ms = url->connect_timeout_ms;
    options.link.silence_ms = timeout_ms;
    options.link.on_trace = on_trace;
    options.link.trace_ctx = scan;
    rc = hf_router_new(&scan->router, scan->loop, &options, err);
    explicit_bzero(&options.link.url, sizeof options.link.url);
    return rc;
}

static hf_status add_source(struct ls_scan *scan, uint16_t slot)
{
    struct source *sources =
        reallocarray(scan->sources, scan->count + 1, sizeof *sources);

    if (!sources)
        return HF_E_NOMEM;
    scan->sources = sources;
    sources[scan->count++] = (struct source){
        .scan = scan, .slot = slot, .cursor = "0", .is_open = true};
    return HF_OK;
}

/* ---- commands ---- */

static void send_command(struct ls_scan *scan, struct hf_command *command,
                         struct hf_error *err)
{
    hf_status rc;

    command->is_once = true;
    command->deadline_ms = hf_clock_ms() + scan->timeout_ms;
    hf_loop_lock(scan->loop);
    rc = hf_router_send(scan->router, command);
    hf_loop_unlock(scan->loop);
    if (rc == HF_OK)
        scan->pending++;
    else
        (void)hf_error_set(err, rc, "%s", hf_status_text(rc));
}

static void await_all(struct ls_scan *scan)
{
    while (scan->pending > 0)
        hf_loop_dispatch(scan->loop, -1);
}

/* Why a command was not done: HF_OK if it was. */
static void read_failure(struct hf_error *err, const struct hf_command *command,
                         enum hf_outcome outcome, struct hf_resp_value reply)
{
    const struct hf_error *why = hf_command_error(command);
    const char *address = hf_command_address(command);
    char words[220];
    const char *ptr;
    size_t len;

    *err = (struct hf_error){0};
    if (outcome != HF_ANSWERED && why->status != HF_OK) {
        *err = *why;
    } else if (outcome != HF_ANSWERED) {
        (void)hf_error_set(err, HF_E_NOREPLY, "%s: no answer in time", address);
    } else if (hf_resp_is_error(reply)) {
        hf_refusal_words(reply, &ptr, &len);
        (void)hf_error_set(err, HF_E_SERVER, "%s: %.*s: %s%s", address,
                           (int)command->argv[0].len,
                           (const char *)command->argv[0].ptr,
                           hf_error_quote(words, sizeof words, ptr, len),
                           hf_refusal_is(reply, "NOPERM")
                               ? " (the ACL of this user lacks that command)"
                               : "");
    }
}

struct question {
    struct hf_command command;
    struct ls_scan *scan;
    struct hf_error error;
};

/* Asks one thing and waits for the answer. */
static hf_status ask(struct question *q)
{
    send_command(q->scan, &q->command, &q->error);
    await_all(q->scan);
    return q->error.status;
}

/* ---- one server ---- */

static void on_info(struct hf_command *command, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    static const char sign[] = "cluster_enabled:1";
    struct question *q = HF_OWNER_OF(command, struct question, command);
    const char *ptr;
    size_t len;

    q->scan->pending--;
    if (outcome != HF_ANSWERED)
        read_failure(&q->error, command, outcome, reply);
    else if (hf_resp_bytes(reply, &ptr, &len) == HF_OK &&
             memmem(ptr, len, sign, strlen(sign)))
        (void)hf_error_set(&q->error, HF_E_SERVER,
                           "%s: this node of a cluster has only a part of its "
                           "locks; give the URL as redis+cluster://...",
                           hf_command_address(command));
}

/* A user who may not ask is believed. */
static hf_status find_server(struct ls_scan *scan, struct hf_error *err)
{
    static const struct hf_resp_arg argv[] = {{"INFO", 4}, {"cluster", 7}};
    struct question q = {
        .scan = scan,
        .command = {.argv = argv, .argc = 2, .done = on_info}};
    hf_status rc = ask(&q);

    *err = q.error;
    return rc == HF_OK ? add_source(scan, 0) : rc;
}

/* ---- the masters of a cluster ---- */

/* A slot of each node that serves any. */
static hf_status add_masters(struct ls_scan *scan,
                             const struct hf_cluster_view *view)
{
    bool *is_seen = calloc(hf_cluster_view_count(view) + 1, sizeof *is_seen);
    hf_status rc = is_seen ? HF_OK : HF_E_NOMEM;

    for (uint32_t slot = 0; slot < HF_SLOTS && rc == HF_OK; slot++) {
        int owner = hf_cluster_view_owner(view, (uint16_t)slot);

        if (owner < 0 || is_seen[owner])
            continue;
        is_seen[owner] = true;
        rc = add_source(scan, (uint16_t)slot);
    }
    free(is_seen);
    return rc;
}

static void on_map(struct hf_command *command, enum hf_outcome outcome,
                   struct hf_resp_value reply)
{
    struct question *q = HF_OWNER_OF(command, struct question, command);
    struct hf_cluster_view *view;
    hf_status rc;

    q->scan->pending--;
    read_failure(&q->error, command, outcome, reply);
    if (q->error.status != HF_OK ||
        hf_cluster_view_read(&view, &hf_mem_libc, "", false, reply,
                             &q->error) != HF_OK)
        return;
    rc = add_masters(q->scan, view);
    if (rc < 0)
        (void)hf_error_set(&q->error, rc, "%s", hf_status_text(rc));
    hf_cluster_view_free(view);
}

/* Any node knows them all; these are slots of different ones, in case that one
 * is away. */
static hf_status find_masters(struct ls_scan *scan, struct hf_error *err)
{
    static const struct hf_resp_arg argv[] = {{"CLUSTER", 7}, {"SLOTS", 5}};
    static const uint16_t slots[] = {0, HF_SLOTS / 2, HF_SLOTS - 1};
    struct question q = {0};

    for (size_t i = 0; i < 3 && scan->count == 0; i++) {
        q = (struct question){.scan = scan,
                              .command = {.argv = argv,
                                          .argc = 2,
                                          .slot = slots[i],
                                          .done = on_map}};
        (void)ask(&q); /* the last error counts */
    }
    if (q.error.status == HF_OK && scan->count == 0)
        (void)hf_error_set(&q.error, HF_E_SERVER,
                           "no node of the cluster serves any slot");
    *err = q.error;
    return q.error.status;
}

/* ---- open, close ---- */

static hf_status open_scan(struct ls_scan *scan, const struct hf_url *url,
                           const struct hf_seeds *seeds, struct hf_error *err)
{
    hf_status rc = open_router(scan, url, seeds, err);

    if (rc == HF_OK && seeds->topology == HF_CLUSTER)
        return find_masters(scan, err);
    return rc == HF_OK ? find_server(scan, err) : rc;
}

hf_status ls_scan_open(struct ls_scan **out, struct hf_loop *loop,
                       const struct hf_url *url, const struct hf_seeds *seeds,
                       const char *pattern, struct hf_error *err)
{
    struct ls_scan *scan = *out = calloc(1, sizeof *scan);
    hf_status rc = HF_E_NOMEM;

    *err = (struct hf_error){0};
    if (scan) {
        scan->loop = loop;
        scan->pattern = pattern;
        rc = open_scan(scan, url, seeds, err);
    }
    if (rc < 0 && err->status == HF_OK)
        (void)hf_error_set(err, rc, "%s", hf_status_text(rc));
    return rc;
}

static void forget_names(struct ls_scan *scan)
{
    while (scan->name_count > 0)
        free((char *)scan->names[--scan->name_count].ptr);
}

void ls_scan_free(struct ls_scan *scan)
{
    if (!scan)
        return;
    hf_loop_lock(scan->loop);
    hf_router_free(scan->router);
    hf_loop_unlock(scan->loop);
    forget_names(scan);
    free(scan->names);
    free(scan->sources);
    free(scan);
}

/* ---- a page ---- */

static bool make_room(struct ls_scan *scan)
{
    size_t room = scan->name_room ? 2 * scan->name_room : 256;
    struct ls_name *names;

    if (scan->name_count < scan->name_room)
        return true;
    names = reallocarray(scan->names, room, sizeof *names);
    if (!names)
        return false;
    scan->names = names;
    scan->name_room = room;
    return true;
}

static void add_name(struct source *s, const char *ptr, size_t len)
{
    struct ls_scan *scan = s->scan;
    char *copy;

    if (len < 1 || len > HF_LOCK_NAME_MAX) /* no lock has that name */
        return;
    copy = malloc(len);
    if (!copy || !make_room(scan)) {
        free(copy);
        scan->status = HF_E_NOMEM;
        return;
    }
    memcpy(copy, ptr, len);
    scan->names[scan->name_count++] =
        (struct ls_name){copy, len, (uint32_t)(s - scan->sources)};
    s->names++;
}

/* {cursor, {name, ...}} */
static bool read_page(struct source *s, struct hf_resp_value reply)
{
    struct hf_resp_value cursor, names, name;
    const char *ptr;
    size_t len;

    if (hf_resp_element(reply, 0, &cursor) < 0 ||
        hf_resp_element(reply, 1, &names) < 0 ||
        hf_resp_bytes(cursor, &ptr, &len) < 0 || len >= sizeof s->cursor)
        return false;
    memcpy(s->cursor, ptr, len);
    s->cursor[len] = '\0';
    for (size_t i = 0; i < hf_resp_count(names); i++) {
        if (hf_resp_element(names, i, &name) < 0 ||
            hf_resp_bytes(name, &ptr, &len) < 0)
            return false;
        add_name(s, ptr, len);
    }
    return true;
}

/* SCAN-1 */
static bool is_same_server(struct source *s, const char *address)
{
    if (!s->address[0])
        (void)snprintf(s->address, sizeof s->address, "%s", address);
    return strncmp(s->address, address, sizeof s->address - 1) == 0;
}

static void take_page(struct source *s, struct hf_resp_value reply)
{
    const char *address = hf_command_address(&s->command);

    if (!is_same_server(s, address))
        (void)hf_error_set(&s->error, HF_E_SERVER,
                           "%s: %s has taken its place while it was looked "
                           "through; run it again",
                           s->address, address);
    else if (!read_page(s, reply))
        (void)hf_error_set(&s->error, HF_E_PROTOCOL,
                           "%s: SCAN: an answer of another shape", address);
    s->is_open = s->error.status == HF_OK && strcmp(s->cursor, "0") != 0;
}

static void on_page(struct hf_command *command, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct source *s = HF_OWNER_OF(command, struct source, command);

    s->scan->pending--;
    read_failure(&s->error, command, outcome, reply);
    if (s->error.status == HF_OK)
        take_page(s, reply);
    else
        s->is_open = false;
}

static void add_word(struct hf_command *command, struct hf_resp_arg *argv,
                     const char *word)
{
    argv[command->argc++] = (struct hf_resp_arg){word, strlen(word)};
}

static void ask_for_page(struct source *s, const char *count)
{
    struct hf_command *command = &s->command;

    *command = (struct hf_command){
        .argv = s->argv, .slot = s->slot, .done = on_page};
    add_word(command, s->argv, "SCAN");
    add_word(command, s->argv, s->cursor);
    if (s->scan->pattern) {
        add_word(command, s->argv, "MATCH");
        add_word(command, s->argv, s->scan->pattern);
    }
    add_word(command, s->argv, "COUNT");
    add_word(command, s->argv, count);
    add_word(command, s->argv, "TYPE");
    add_word(command, s->argv, "hash");
    s->names = 0;
    send_command(s->scan, command, &s->error);
    s->is_open = s->error.status == HF_OK;
}

hf_status ls_scan_next(struct ls_scan *scan, int count)
{
    char text[16];

    forget_names(scan);
    (void)snprintf(text, sizeof text, "%d", count);
    for (uint32_t i = 0; i < scan->count; i++)
        if (scan->sources[i].is_open)
            ask_for_page(&scan->sources[i], text);
    await_all(scan);
    return scan->status;
}

void ls_scan_fail(struct ls_scan *scan, uint32_t source,
                  const struct hf_error *why)
{
    struct source *s = &scan->sources[source];

    if (s->error.status == HF_OK)
        s->error = *why;
    s->is_open = false;
}

/* ---- what there is ---- */

uint32_t ls_scan_open_count(const struct ls_scan *scan)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < scan->count; i++)
        count += scan->sources[i].is_open;
    return count;
}

const struct ls_name *ls_scan_names(const struct ls_scan *scan, size_t *count)
{
    *count = scan->name_count;
    return scan->names;
}

size_t ls_scan_busiest(const struct ls_scan *scan)
{
    size_t most = 0;

    for (uint32_t i = 0; i < scan->count; i++)
        if (scan->sources[i].names > most)
            most = scan->sources[i].names;
    return most;
}

uint32_t ls_scan_count(const struct ls_scan *scan)
{
    return scan->count;
}

const struct hf_error *ls_scan_error(const struct ls_scan *scan,
                                     uint32_t source)
{
    const struct hf_error *error = &scan->sources[source].error;

    return error->status == HF_OK ? NULL : error;
}

const char *ls_scan_lost(const struct ls_scan *scan)
{
    return scan->lost[0] ? scan->lost : NULL;
}
