/* Commands of lists. */
#include "tests/sim/model/inner.h"

static struct entry *list_of(struct call *c, bool *ok)
{
    return md_typed(c, c->argv[1], MODEL_LIST, ok);
}

static void push(struct call *c, bool at_head, bool makes)
{
    bool ok;
    struct entry *e = list_of(c, &ok);

    if (!ok)
        return;
    if (!e && !makes) {
        md_int(c, 0);
        return;
    }
    if (!e)
        e = md_make(c->db, c->argv[1], MODEL_LIST);
    for (int i = 2; i < c->argc; i++)
        md_list_insert(&e->as.list, at_head ? 0 : e->as.list.n, c->argv[i]);
    md_touched(c, c->argv[1]);
    md_int(c, (int64_t)e->as.list.n);
}

static void run_lpush(struct call *c)
{
    push(c, true, true);
}

static void run_rpush(struct call *c)
{
    push(c, false, true);
}

static void run_lpushx(struct call *c)
{
    push(c, true, false);
}

static void run_rpushx(struct call *c)
{
    push(c, false, false);
}

static void pop_one(struct call *c, struct entry *e, bool at_head)
{
    struct list *l = &e->as.list;
    size_t at = at_head ? 0 : l->n - 1;

    md_bulk(c, md_slice(l->at[at]));
    md_list_remove(l, at);
}

/* With a count the reply is an array; of no list, null. */
static void pop(struct call *c, bool at_head)
{
    bool ok;
    struct entry *e;
    int64_t n = 1;

    if (c->argc > 3) {
        md_error(c, "ERR wrong number of arguments for '%s' command",
                 c->command->name);
        return;
    }
    if (c->argc == 3 && (!md_integer(c->argv[2], &n) || n < 0)) {
        md_error(c, "ERR value is out of range, must be positive");
        return;
    }
    e = list_of(c, &ok);
    if (ok && !e)
        c->argc == 3 ? md_null_array(c) : md_null(c);
    if (!e)
        return;
    if (n > (int64_t)e->as.list.n)
        n = (int64_t)e->as.list.n;
    if (c->argc == 3)
        md_array(c, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        pop_one(c, e, at_head);
    if (n > 0)
        md_touched(c, c->argv[1]);
    md_drop_if_empty(c, e);
}

static void run_lpop(struct call *c)
{
    pop(c, true);
}

static void run_rpop(struct call *c)
{
    pop(c, false);
}

static void run_llen(struct call *c)
{
    bool ok;
    const struct entry *e = list_of(c, &ok);

    if (ok)
        md_int(c, e ? (int64_t)e->as.list.n : 0);
}

static void run_lindex(struct call *c)
{
    bool ok;
    const struct entry *e = list_of(c, &ok);
    int64_t i, n = e ? (int64_t)e->as.list.n : 0;

    if (!ok)
        return;
    if (!e) {
        md_null(c);
        return;
    }
    if (!md_int_arg(c, 2, &i))
        return;
    i += i < 0 ? n : 0;
    if (i < 0 || i >= n)
        md_null(c);
    else
        md_bulk(c, md_slice(e->as.list.at[i]));
}

/* From and to, as Redis counts them; to < from: nothing. */
static bool range_of(struct call *c, int64_t n, int64_t *from, int64_t *to)
{
    if (!md_int_arg(c, 2, from) || !md_int_arg(c, 3, to))
        return false;
    if (*from < 0)
        *from = *from + n < 0 ? 0 : *from + n;
    if (*to < 0)
        *to += n;
    if (*to >= n)
        *to = n - 1;
    if (*from > *to)
        *to = *from - 1;
    return true;
}

static void run_lrange(struct call *c)
{
    bool ok;
    const struct entry *e;
    int64_t from, to;

    if (!range_of(c, 0, &from, &to))
        return;
    e = list_of(c, &ok);
    if (!ok)
        return;
    (void)range_of(c, e ? (int64_t)e->as.list.n : 0, &from, &to);
    md_array(c, (size_t)(to - from + 1));
    for (int64_t i = from; i <= to; i++)
        md_bulk(c, md_slice(e->as.list.at[i]));
}

static void run_ltrim(struct call *c)
{
    bool ok;
    struct entry *e;
    int64_t from, to;

    if (!range_of(c, 0, &from, &to))
        return;
    e = list_of(c, &ok);
    if (!ok)
        return;
    md_ok(c);
    if (!e)
        return;
    (void)range_of(c, (int64_t)e->as.list.n, &from, &to);
    while ((int64_t)e->as.list.n > to + 1)
        md_list_remove(&e->as.list, e->as.list.n - 1);
    while (from-- > 0 && e->as.list.n > 0)
        md_list_remove(&e->as.list, 0);
    md_touched(c, c->argv[1]);
    md_drop_if_empty(c, e);
}

static void run_lrem(struct call *c)
{
    bool ok;
    struct entry *e;
    int64_t most, n = 0;
    struct list *l;

    if (!md_int_arg(c, 2, &most))
        return;
    e = list_of(c, &ok);
    if (!ok)
        return;
    l = e ? &e->as.list : NULL;
    for (size_t k = 0, left = l ? l->n : 0, at = 0; k < left; k++) {
        size_t i = most < 0 ? left - 1 - k : at;

        if ((most == 0 || n < (most < 0 ? -most : most)) &&
            md_same(md_slice(l->at[i]), c->argv[3]))
            md_list_remove(l, i), n++;
        else
            at++;
    }
    md_int(c, n);
    if (n > 0) {
        md_touched(c, c->argv[1]);
        md_drop_if_empty(c, e);
    }
}

#define MAKES (C_WRITE | C_MEMORY)

const struct command md_list_commands[] = {
    {"lpush", -3, MAKES, 1, 1, 1, .run = run_lpush},
    {"rpush", -3, MAKES, 1, 1, 1, .run = run_rpush},
    {"lpushx", -3, MAKES, 1, 1, 1, .run = run_lpushx},
    {"rpushx", -3, MAKES, 1, 1, 1, .run = run_rpushx},
    {"lpop", -2, C_WRITE, 1, 1, 1, .run = run_lpop},
    {"rpop", -2, C_WRITE, 1, 1, 1, .run = run_rpop},
    {"llen", 2, 0, 1, 1, 1, .run = run_llen},
    {"lindex", 3, 0, 1, 1, 1, .run = run_lindex},
    {"lrange", 4, 0, 1, 1, 1, .run = run_lrange},
    {"ltrim", 4, C_WRITE, 1, 1, 1, .run = run_ltrim},
    {"lrem", 4, C_WRITE, 1, 1, 1, .run = run_lrem},
    {.name = NULL},
};
