/* Counts which lines of scripts are run. At exit they are written to the file that
 * HF_LUA_LINES names, each as
 *
 *     SHA run|missed LINE TEXT
 *
 * A line counts if some instruction belongs to it. Lua has no function that names the
 * lines of functions that were never called, so the compiled script is read. */
#include "tests/sim/model/lua_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 400           /* of a script */
#define HEADER 12               /* bytes before the first function */

enum { NO_CODE, MISSED, RUN };

struct watched {
    struct watched *next;
    char sha[41];
    char *text;
    char lines[LINES_MAX];
};

static struct watched *all, *current;
static lua_Hook often_hook;

/* ---- which lines have instructions ---- */

/* A compiled script, as Lua 5.1 writes it on this machine. */
struct reading {
    const char *at, *end;
    struct watched *w;
};

static void take(struct reading *r, void *to, size_t n)
{
    if ((size_t)(r->end - r->at) < n)
        abort();
    if (to)
        memcpy(to, r->at, n);
    r->at += n;
}

static int take_int(struct reading *r)
{
    int n;

    take(r, &n, sizeof n);
    return n;
}

static void skip_string(struct reading *r)
{
    size_t n;

    take(r, &n, sizeof n);
    take(r, NULL, n);
}

static void skip_constants(struct reading *r)
{
    for (int n = take_int(r); n > 0; n--) {
        char type;

        take(r, &type, 1);
        if (type == LUA_TBOOLEAN)
            take(r, NULL, 1);
        else if (type == LUA_TNUMBER)
            take(r, NULL, sizeof(lua_Number));
        else if (type == LUA_TSTRING)
            skip_string(r);
    }
}

/* The last instruction is a return at the function's `end`, which only a function that
 * has no return of its own comes to. */
static void take_lines(struct reading *r)
{
    for (int n = take_int(r); n > 0; n--) {
        int line = take_int(r);

        if (n > 1 && line < LINES_MAX && r->w->lines[line] == NO_CODE)
            r->w->lines[line] = MISSED;
    }
}

static void skip_names(struct reading *r)
{
    for (int n = take_int(r); n > 0; n--) {
        skip_string(r);
        take(r, NULL, 2 * sizeof(int));
    }
    for (int n = take_int(r); n > 0; n--)
        skip_string(r);
}

static void take_function(struct reading *r)
{
    skip_string(r);
    take(r, NULL, 2 * sizeof(int) + 4);
    take(r, NULL, (size_t)take_int(r) * sizeof(int));
    skip_constants(r);
    for (int n = take_int(r); n > 0; n--)
        take_function(r);
    take_lines(r);
    skip_names(r);
}

static int add_bytes(lua_State *L, const void *bytes, size_t n, void *to)
{
    (void)L;
    md_add(to, bytes, n);
    return 0;
}

static void find_lines(lua_State *L, struct watched *w)
{
    struct bytes compiled = {NULL, 0, 0};
    struct reading r;

    (void)lua_dump(L, add_bytes, &compiled);
    r = (struct reading){compiled.p, compiled.p + compiled.n, w};
    take(&r, NULL, HEADER);
    take_function(&r);
    md_bytes_free(&compiled);
}

/* ---- the end ---- */

static void write_script(FILE *out, const struct watched *w)
{
    const char *line = w->text;

    for (int i = 1; i < LINES_MAX && *line; i++) {
        size_t len = strcspn(line, "\n");

        if (w->lines[i] != NO_CODE)
            fprintf(out, "%s %s %d %.*s\n", w->sha,
                    w->lines[i] == RUN ? "run" : "missed", i, (int)len, line);
        line += len + (line[len] == '\n');
    }
}

static void write_all(void)
{
    const char *name = getenv("HF_LUA_LINES");
    FILE *out = name ? fopen(name, "a") : NULL;

    for (const struct watched *w = all; out && w; w = w->next)
        write_script(out, w);
    if (out)
        fclose(out);
}

/* ---- scripts that run ---- */

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static struct watched *watched_of(lua_State *L, const char *sha, struct slice text)
{
    struct watched *w = all;

    while (w && strcmp(w->sha, sha) != 0)
        w = w->next;
    if (w)
        return w;
    if (!all)
        (void)atexit(write_all);
    w = must(calloc(1, sizeof *w));
    snprintf(w->sha, sizeof w->sha, "%s", sha);
    w->text = must(strndup(text.p, text.n));
    w->next = all;
    find_lines(L, w);
    return all = w;
}

static void on_line(lua_State *L, lua_Debug *at)
{
    if (at->event == LUA_HOOKCOUNT)
        often_hook(L, at);
    else if (at->currentline > 0 && at->currentline < LINES_MAX)
        current->lines[at->currentline] = RUN;
}

void md_lines_watch(lua_State *L, const char *sha, struct slice text, lua_Hook often,
                    int instructions)
{
    current = watched_of(L, sha, text);
    often_hook = often;
    lua_sethook(L, on_line, LUA_MASKLINE | LUA_MASKCOUNT, instructions);
}
