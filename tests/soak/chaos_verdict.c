/* Many sources, one history: by time, and what servers did before what clients said
 * of it. */
#include "tests/soak/chaos_verdict.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/soak/chaos.h"
#include "tests/support/local.h"

#define SHOWN_MAX 20                /* violations */
#define LINE_ROOM 4096

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(text) #text

/* A busy machine lets a process wait for some tenths of a second. */
static const char header[] = HISTORY_FIRST_LINE "\n"
                                                "# wake_ms " TEXT(CHAOS_WAKE_MS) "\n"
                                                "# look_ms 8000\n"
                                                "# settle_ms 4000\n"
                                                "# tell_ms 5000\n"
                                                "# slack_ms 100\n"
                                                "# judge 1234567890 P11\n";

/* Of sets: what clients say alone, for servers have the members. */
static const char header_of_sets[] = HISTORY_FIRST_LINE "\n# slack_ms 100\n# judge 178\n";

struct line {
    int64_t us;
    size_t order;
    char *text;
};

struct merging {
    struct line *lines;
    size_t count, room;
    char (*uuids)[37];              /* by the client's number */
    size_t bad;                     /* lines "bad": a process has found it wrong */
    unsigned clients;
};

static void add(struct merging *m, int64_t us, const char *text, size_t len)
{
    if (m->count == m->room) {
        m->room = m->room ? 2 * m->room : 4096;
        m->lines = realloc(m->lines, m->room * sizeof *m->lines);
        ck_assert_ptr_nonnull(m->lines);
    }
    m->lines[m->count] = (struct line){us, m->count, local_new(len + 1)};
    memcpy(m->lines[m->count++].text, text, len);
}

static void add_server_line(void *ctx, int64_t us, const char *line, size_t len)
{
    add(ctx, us, line, len);
}

/* The last line of a process that was killed may be half a line. */
static void add_file(struct merging *m, const char *path)
{
    char text[LINE_ROOM];
    FILE *in = fopen(path, "r");
    long long us;

    ck_assert_msg(in != NULL, "no file %s", path);
    while (fgets(text, sizeof text, in)) {
        if (!strchr(text, '\n') || sscanf(text, "%lld ", &us) != 1)
            continue;
        if (!strstr(text, " bad ")) {
            add(m, us, text, strlen(text));
        } else if (m->bad++ < SHOWN_MAX) {
            (void)printf("%s", text);
        }
    }
    (void)fclose(in);
}

static void read_uuid(struct merging *m, unsigned client, const char *path)
{
    FILE *in = fopen(path, "r");

    if (!in)
        return; /* killed before its first line */
    if (fscanf(in, "%*d %*s start id=%36s", m->uuids[client]) != 1)
        m->uuids[client][0] = '\0';
    (void)fclose(in);
}

static unsigned client_of(void *ctx, const char *uuid)
{
    const struct merging *m = ctx;

    for (unsigned i = m->clients; i > 0; i--)
        if (strcmp(m->uuids[i], uuid) == 0)
            return i;
    return 0;
}

static int earlier(const void *a, const void *b)
{
    const struct line *l = a, *r = b;

    if (l->us != r->us)
        return l->us < r->us ? -1 : 1;
    return l->order < r->order ? -1 : l->order > r->order;
}

/* ---- the judge ---- */

static void show(const struct judge *judge, const char *path)
{
    for (size_t i = 0; i < judge_count(judge) && i < SHOWN_MAX; i++) {
        const struct judge_violation *v = judge_violation(judge, i);

        (void)printf("P%d, lines", v->property);
        for (int n = 0; n < v->lines_count; n++)
            (void)printf(" %zu", v->lines[n]);
        (void)printf(": %s\n", v->text);
    }
    if (judge_count(judge))
        (void)printf("%zu violations; the history: %s\n", judge_count(judge),
                     path);
}

static void judge_text(struct judge *judge, const char *text)
{
    char line[LINE_ROOM];
    size_t len = strcspn(text, "\n");
    const char *wrong;

    ck_assert_uint_lt(len, sizeof line);
    memcpy(line, text, len);
    line[len] = '\0';
    wrong = judge_line(judge, line, len);
    ck_assert_msg(!wrong, "%s: %s", wrong, text);
}

static void judge_header(struct judge *judge, const char *header_text, FILE *out)
{
    const char *at = header_text;

    (void)fputs(header_text, out);
    for (; *at; at += strcspn(at, "\n") + 1)
        judge_text(judge, at);
}

static void judge_all(struct verdict *v, struct merging *m, const char *header_text,
                      const char *path)
{
    struct judge *judge = judge_new(NULL);
    const struct judge_violation *one;
    FILE *out = fopen(path, "w");

    ck_assert_ptr_nonnull(out);
    judge_header(judge, header_text, out);
    for (size_t i = 0; i < m->count; i++) {
        (void)fputs(m->lines[i].text, out);
        judge_text(judge, m->lines[i].text);
    }
    (void)fclose(out);
    judge_end(judge);
    judge_stats(judge, &v->stats);
    v->violations = judge_count(judge);
    for (size_t i = 0; (one = judge_violation(judge, i)); i++)
        v->violations_of[one->property]++;
    show(judge, path);
    judge_free(judge);
}

/* ---- all sources ---- */

static void run_model(struct verdict *v, struct merging *m, const struct run *r)
{
    static char texts[PLACE_SERVERS_MAX][RUN_PATH_ROOM];
    const char *paths[PLACE_SERVERS_MAX];

    for (int i = 0; i < r->place->server_count; i++)
        paths[i] = run_path(r, "server", (unsigned)i + 1, texts[i]);
    v->model = chaos_model_run(paths, r->place->server_count, client_of,
                               add_server_line, m);
}

struct verdict verdict_of(struct run *r)
{
    struct verdict v = {0};
    struct merging m = {.clients = r->clients};
    char path[RUN_PATH_ROOM];

    m.uuids = local_new((r->clients + 1) * sizeof *m.uuids);
    for (unsigned i = 1; i <= r->clients; i++)
        read_uuid(&m, i, run_path(r, "client", i, path));
    if (!r->place->is_independent)
        run_model(&v, &m, r);
    add_file(&m, run_path(r, "driver", 0, path));
    for (unsigned i = 1; i <= r->clients; i++)
        if (m.uuids[i][0])
            add_file(&m, run_path(r, "client", i, path));
    qsort(m.lines, m.count, sizeof *m.lines, earlier);
    judge_all(&v, &m, r->place->is_independent ? header_of_sets : header,
              run_path(r, "history", 0, path));
    v.violations += m.bad;
    for (size_t i = 0; i < m.count; i++)
        free(m.lines[i].text);
    free(m.lines);
    free(m.uuids);
    return v;
}
