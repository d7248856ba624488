/* A walk through the names of all keys of some types that servers hold. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ls/array.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/route/cluster_view.h"
#include "net/route/slot.h"

#define SHRINK_DIVISOR 8        /* SCAN-3 */

/* How many keys SCAN goes through while a server looks into one of each type: by
 * a script, or by a command or two. */
static const struct {
    const char *word;
    int64_t cost;
} types[LS_TYPES] = {[LS_HASH] = {"hash", 10},
                     [LS_ZSET] = {"zset", 10},
                     [LS_STRING] = {"string", 3},
                     [LS_LIST] = {"list", 10}};

/* One server, and how far it has been looked through for one type. */
struct scan_source {
    struct ls_scan *scan;
    struct cli_query query;
    enum ls_type type;
    uint16_t slot;              /* one of its own, by which it is found */
    char cursor[24];            /* of 64 bits; "0" at its begin and end */
    char address[300];          /* "": it has not answered yet */
    bool is_open;
    size_t last_page_names_count; /* of the last page */
    struct hf_error error;
};

struct ls_scan {
    struct cli_requests requests;
    const struct ls_filter *filter;
    char lost_connection[HF_ERROR_TEXT_MAX];
    hf_status status;           /* HF_E_NOMEM: a name has no room */
    uint32_t servers;
    uint32_t sources_count;     /* of sources: those of a server in a row */
    struct scan_source *sources;
    size_t name_count, name_capacity;
    struct ls_name *names;
};

/* ---- the servers ---- */

/* SCAN-2. Before the first page, a lost connection costs nothing. */
static void on_trace(void *ctx, const struct hf_trace *trace)
{
    struct ls_scan *scan = ctx;

    if (trace->kind != HF_TRACE_LOST || scan->lost_connection[0])
        return;
    for (uint32_t i = 0; i < scan->sources_count; i++)
        if (scan->sources[i].is_open &&
            strcmp(scan->sources[i].address, trace->address) == 0)
            (void)snprintf(scan->lost_connection, sizeof scan->lost_connection, "%s", trace->why);
}

static hf_status open_requests(struct ls_scan *scan, const struct hf_url *url,
                               const struct hf_seeds *seeds, struct hf_error *err)
{
    const struct cli_requests_options options = {
        .url = url,
        .seeds = seeds,
        .client_name = "holdfast-ls",
        .on_trace = on_trace,
        .trace_ctx = scan,
    };

    return cli_requests_open(&scan->requests, &options, err);
}

static hf_status add_source(struct ls_scan *scan, uint16_t slot,
                            enum ls_type type)
{
    struct scan_source *sources =
        reallocarray(scan->sources, scan->sources_count + 1, sizeof *sources);

    if (!sources)
        return HF_E_NOMEM;
    scan->sources = sources;
    sources[scan->sources_count++] = (struct scan_source){.scan = scan,
                                                          .slot = slot,
                                                          .type = type,
                                                          .cursor = "0",
                                                          .is_open = true};
    return HF_OK;
}

static hf_status add_server(struct ls_scan *scan, uint16_t slot)
{
    hf_status rc = HF_OK;

    scan->servers++;
    for (int type = 0; type < LS_TYPES && rc == HF_OK; type++)
        if (scan->filter->types & 1u << type ||
            (type == LS_LIST && scan->filter->has_queues))
            rc = add_source(scan, slot, (enum ls_type)type);
    return rc;
}

/* Sends one command and waits for the reply. */
static hf_status send_and_wait_for_query(struct ls_scan *scan, struct cli_query *q,
                                         const char *command, const char *what)
{
    cli_query_add_word(q, command);
    cli_query_add_word(q, what);
    cli_requests_send(&scan->requests, q);
    cli_requests_await(&scan->requests);
    return q->error.status;
}

/* ---- one server ---- */

static void read_cluster_enabled(struct cli_query *q, struct hf_resp_value reply)
{
    static const char sign[] = "cluster_enabled:1";
    const char *ptr;
    size_t len;

    if (hf_resp_bytes(reply, &ptr, &len) == HF_OK &&
        memmem(ptr, len, sign, strlen(sign)))
        (void)hf_error_set(&q->error, HF_E_SERVER,
                           "%s: this cluster node has only a part of the locks; use a "
                           "redis+cluster:// URL",
                           hf_command_address(&q->command));
}

/* If INFO is refused, the URL is believed: no cluster. */
static hf_status add_standalone_server(struct ls_scan *scan, struct hf_error *err)
{
    struct cli_query q = {.read_reply = read_cluster_enabled};
    hf_status rc = send_and_wait_for_query(scan, &q, "INFO", "cluster");

    if (rc == HF_OK || q.is_refused)
        return add_server(scan, 0);
    *err = q.error;
    return rc;
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
        rc = add_server(scan, (uint16_t)slot);
    }
    free(is_seen);
    return rc;
}

struct map_query {
    struct cli_query query;
    struct ls_scan *scan;
};

static void read_map(struct cli_query *q, struct hf_resp_value reply)
{
    struct map_query *m = HF_OWNER_OF(q, struct map_query, query);
    struct hf_cluster_view *view;
    hf_status rc;

    if (hf_cluster_view_read(&view, &hf_mem_libc, "", false, reply,
                             &q->error) != HF_OK)
        return;
    rc = add_masters(m->scan, view);
    if (rc < 0)
        (void)hf_error_set(&q->error, rc, "%s", hf_status_text(rc));
    hf_cluster_view_free(view);
}

/* Any node knows them all; these are slots of different ones, in case that one
 * is away. */
static hf_status query_masters(struct ls_scan *scan, struct hf_error *err)
{
    static const uint16_t slots[] = {0, HF_SLOTS / 2, HF_SLOTS - 1};

    for (size_t i = 0; i < 3 && scan->sources_count == 0; i++) {
        struct map_query m = {
            .query = {.slot = slots[i], .read_reply = read_map}, .scan = scan};

        (void)send_and_wait_for_query(scan, &m.query, "CLUSTER", "SLOTS");
        *err = m.query.error; /* the last counts */
    }
    if (err->status == HF_OK && scan->sources_count == 0)
        (void)hf_error_set(err, HF_E_SERVER,
                           "no node of the cluster serves any slot");
    return err->status;
}

/* ---- open, close ---- */

static hf_status open_scan(struct ls_scan *scan, const struct hf_url *url,
                           const struct hf_seeds *seeds, struct hf_error *err)
{
    hf_status rc = open_requests(scan, url, seeds, err);

    if (rc == HF_OK && seeds->topology == HF_CLUSTER)
        return query_masters(scan, err);
    return rc == HF_OK ? add_standalone_server(scan, err) : rc;
}

hf_status ls_scan_open(struct ls_scan **out, struct hf_loop *loop,
                       const struct hf_url *url, const struct hf_seeds *seeds,
                       const struct ls_filter *filter, struct hf_error *err)
{
    struct ls_scan *scan = *out = calloc(1, sizeof *scan);
    hf_status rc = HF_E_NOMEM;

    *err = (struct hf_error){0};
    if (scan) {
        scan->requests.loop = loop;
        scan->filter = filter;
        rc = open_scan(scan, url, seeds, err);
    }
    if (rc < 0 && err->status == HF_OK)
        (void)hf_error_set(err, rc, "%s", hf_status_text(rc));
    return rc;
}

static void free_names(struct ls_scan *scan)
{
    while (scan->name_count > 0)
        free((char *)scan->names[--scan->name_count].ptr);
}

void ls_scan_free(struct ls_scan *scan)
{
    if (!scan)
        return;
    cli_requests_close(&scan->requests);
    free_names(scan);
    free(scan->names);
    free(scan->sources);
    free(scan);
}

/* ---- a page ---- */

static void add_name(struct scan_source *s, const char *ptr, size_t len)
{
    struct ls_scan *scan = s->scan;
    struct ls_name *names;
    char *copy;

    if (len < 1 || len > HF_LOCK_NAME_MAX) /* no lock has that name */
        return;
    names = ls_array_grow(scan->names, scan->name_count, &scan->name_capacity, sizeof *names);
    if (names)
        scan->names = names;
    copy = malloc(len);
    if (!copy || !names) {
        free(copy);
        scan->status = HF_E_NOMEM;
        return;
    }
    memcpy(copy, ptr, len);
    scan->names[scan->name_count++] =
        (struct ls_name){copy, len, (uint32_t)(s - scan->sources), s->type};
    s->last_page_names_count++;
}

/* {cursor, {name, ...}} */
static bool read_page(struct scan_source *s, struct hf_resp_value reply)
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
static bool is_same_server(struct scan_source *s, const char *address)
{
    if (!s->address[0])
        (void)snprintf(s->address, sizeof s->address, "%s", address);
    return strncmp(s->address, address, sizeof s->address - 1) == 0;
}

static void handle_page_reply(struct cli_query *q, struct hf_resp_value reply)
{
    struct scan_source *s = HF_OWNER_OF(q, struct scan_source, query);
    const char *address = hf_command_address(&q->command);

    if (!is_same_server(s, address))
        (void)hf_error_set(&s->error, HF_E_SERVER,
                           "%s: %s replaced it while its keys were read; run ls again",
                           s->address, address);
    else if (!read_page(s, reply))
        (void)hf_error_set(&s->error, HF_E_PROTOCOL,
                           "%s: SCAN: unexpected reply", address);
}

/* Sorted sets with the name of a semaphore's set, and lists with the name of a queue:
 * the pattern applies to the semaphore or lock. */
static const char *match_pattern_of_source(const struct scan_source *s)
{
    if (s->type == LS_LIST)
        return LS_QUEUE_PREFIX "*";
    return s->type == LS_ZSET ? "*" LS_PERMITS_SUFFIX : s->scan->filter->pattern;
}

static void request_page(struct scan_source *s, const char *count)
{
    const char *pattern = match_pattern_of_source(s);

    s->query = (struct cli_query){.slot = s->slot, .read_reply = handle_page_reply};
    cli_query_add_word(&s->query, "SCAN");
    cli_query_add_word(&s->query, s->cursor);
    if (pattern) {
        cli_query_add_word(&s->query, "MATCH");
        cli_query_add_word(&s->query, pattern);
    }
    cli_query_add_word(&s->query, "COUNT");
    cli_query_add_word(&s->query, count);
    cli_query_add_word(&s->query, "TYPE");
    cli_query_add_word(&s->query, types[s->type].word);
    cli_requests_send(&s->scan->requests, &s->query);
}

/* SCAN-3. True: it was sent again. */
static bool shrink_page(struct scan_source *s, const char *count)
{
    if (!s->is_open || !cli_query_is_error(&s->query, CLI_TOO_LARGE))
        return false;
    request_page(s, count);
    return true;
}

static void shrink_pages(struct ls_scan *scan, int count)
{
    bool was_too_large = true;
    char text[16];

    while (was_too_large && count > 1) {
        count = count / SHRINK_DIVISOR > 1 ? count / SHRINK_DIVISOR : 1;
        (void)snprintf(text, sizeof text, "%d", count);
        was_too_large = false;
        for (uint32_t i = 0; i < scan->sources_count; i++)
            was_too_large = shrink_page(&scan->sources[i], text) || was_too_large;
        cli_requests_await(&scan->requests);
    }
}

static void end_page(struct scan_source *s)
{
    if (s->error.status == HF_OK)
        s->error = s->query.error;
    s->is_open = s->error.status == HF_OK && strcmp(s->cursor, "0") != 0;
}

hf_status ls_scan_next(struct ls_scan *scan, int count)
{
    char text[16];

    free_names(scan);
    (void)snprintf(text, sizeof text, "%d", count);
    for (uint32_t i = 0; i < scan->sources_count; i++) {
        scan->sources[i].last_page_names_count = 0;
        if (scan->sources[i].is_open)
            request_page(&scan->sources[i], text);
    }
    cli_requests_await(&scan->requests);
    shrink_pages(scan, count);
    for (uint32_t i = 0; i < scan->sources_count; i++)
        if (scan->sources[i].is_open)
            end_page(&scan->sources[i]);
    return scan->status;
}

void ls_scan_fail(struct ls_scan *scan, uint32_t source,
                  const struct hf_error *why)
{
    struct scan_source *s = &scan->sources[source];

    if (s->error.status == HF_OK)
        s->error = *why;
    s->is_open = false;
}

/* ---- what there is ---- */

uint32_t ls_scan_open_count(const struct ls_scan *scan)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < scan->sources_count; i++)
        count += scan->sources[i].is_open;
    return count;
}

const struct ls_name *ls_scan_names(const struct ls_scan *scan, size_t *count)
{
    *count = scan->name_count;
    return scan->names;
}

struct cli_requests *ls_scan_requests(struct ls_scan *scan)
{
    return &scan->requests;
}

int64_t ls_scan_cost(const struct ls_scan *scan, int64_t size)
{
    int64_t most = 0, cost = 0;

    for (uint32_t i = 0; i < scan->sources_count; i++) {
        const struct scan_source *s = &scan->sources[i];

        if (i == 0 || s->slot != s[-1].slot)
            cost = 0;
        cost += size + types[s->type].cost * (int64_t)s->last_page_names_count;
        if (cost > most)
            most = cost;
    }
    return most;
}

uint32_t ls_scan_servers(const struct ls_scan *scan)
{
    return scan->servers;
}

uint32_t ls_scan_count(const struct ls_scan *scan)
{
    return scan->sources_count;
}

const struct hf_error *ls_scan_error(const struct ls_scan *scan,
                                     uint32_t source)
{
    const struct hf_error *error = &scan->sources[source].error;

    return error->status == HF_OK ? NULL : error;
}

const char *ls_scan_lost(const struct ls_scan *scan)
{
    return scan->lost_connection[0] ? scan->lost_connection : NULL;
}
