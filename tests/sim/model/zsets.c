/* Commands of sorted sets. */
#include "tests/sim/model/inner.h"

#include <math.h>

static struct entry *zset_of(struct call *c, bool *ok)
{
    return md_typed(c, c->argv[1], MODEL_ZSET, ok);
}

static void reply_score(struct call *c, double score)
{
    md_real(c, score);
}

/* ---- ZADD ---- */

struct add {
    bool nx, xx, gt, lt, changed, increments;
    int from;                 /* the first score */
};

static bool *add_flag(struct add *o, struct slice w)
{
    return md_is(w, "nx")     ? &o->nx
           : md_is(w, "xx")   ? &o->xx
           : md_is(w, "gt")   ? &o->gt
           : md_is(w, "lt")   ? &o->lt
           : md_is(w, "ch")   ? &o->changed
           : md_is(w, "incr") ? &o->increments
                              : NULL;
}

static bool refuse_add(struct call *c, const char *text)
{
    md_error(c, "ERR %s", text);
    return false;
}

static bool parse_add(struct call *c, struct add *o)
{
    bool *flag;
    double ignored;

    *o = (struct add){.from = 2};
    while (o->from < c->argc && (flag = add_flag(o, c->argv[o->from])))
        *flag = true, o->from++;
    if (o->from >= c->argc || (c->argc - o->from) % 2)
        return refuse_add(c, "syntax error");
    if (o->nx && o->xx)
        return refuse_add(c, "XX and NX options at the same time are not "
                             "compatible");
    if ((o->gt && o->lt) || (o->nx && (o->gt || o->lt)))
        return refuse_add(c, "GT, LT, and/or NX options at the same time are "
                             "not compatible");
    if (o->increments && c->argc - o->from > 2)
        return refuse_add(c, "INCR option supports a single increment-element "
                             "pair");
    for (int i = o->from; i < c->argc; i += 2)
        if (!md_double_arg(c, i, &ignored))
            return false;
    return true;
}

struct added {
    int fresh, moved;
    bool is_refused, is_nan;
    double score;
};

static void add_one(struct zset *z, const struct add *o, struct slice name,
                    double score, struct added *done)
{
    ptrdiff_t at = md_member_find(z, name);

    done->is_refused = at < 0 ? o->xx : o->nx;
    if (done->is_refused)
        return;
    if (at >= 0) {
        double old = z->at[at].score;

        score += o->increments ? old : 0;
        done->is_nan = isnan(score);
        done->is_refused =
            done->is_nan || (o->gt && score <= old) || (o->lt && score >= old);
        if (done->is_refused)
            return;
        done->moved += score < old || score > old;
    }
    done->fresh += at < 0;
    done->score = score;
    md_member_set(z, name, score);
}

static void reply_added(struct call *c, const struct add *o,
                        const struct added *done)
{
    if (done->is_nan)
        md_error(c, "ERR resulting score is not a number (NaN)");
    else if (!o->increments)
        md_int(c, done->fresh + (o->changed ? done->moved : 0));
    else if (done->is_refused)
        md_null(c);
    else
        reply_score(c, done->score);
}

static void add_members(struct call *c, const struct add *o)
{
    struct added done = {0};
    struct entry *e;
    double score;

    bool ok;

    e = zset_of(c, &ok);
    if (!ok)
        return;
    if (!e && !o->xx)
        e = md_make(c->db, c->argv[1], MODEL_ZSET);
    done.is_refused = !e;
    for (int i = o->from; e && i < c->argc; i += 2) {
        (void)md_double(c->argv[i], &score);
        add_one(&e->as.zset, o, c->argv[i + 1], score, &done);
    }
    if (done.fresh + done.moved > 0)
        md_touched(c, c->argv[1]);
    reply_added(c, o, &done);
}

static void run_zadd(struct call *c)
{
    struct add o;

    if (parse_add(c, &o))
        add_members(c, &o);
}

static void run_zincrby(struct call *c)
{
    struct add o = {.increments = true, .from = 2};
    double by;

    if (md_double_arg(c, 2, &by))
        add_members(c, &o);
}

/* ---- the others ---- */

static void run_zrem(struct call *c)
{
    bool ok;
    struct entry *e = zset_of(c, &ok);
    int n = 0;

    if (!ok)
        return;
    for (int i = 2; e && i < c->argc; i++) {
        ptrdiff_t at = md_member_find(&e->as.zset, c->argv[i]);

        if (at >= 0)
            md_member_remove(&e->as.zset, (size_t)at), n++;
    }
    if (n > 0) {
        md_touched(c, c->argv[1]);
        md_drop_if_empty(c, e);
    }
    md_int(c, n);
}

/* False, and replied: there is no such member, or no such set. */
static bool find_member(struct call *c, const struct entry **e, ptrdiff_t *at)
{
    bool ok;

    *e = zset_of(c, &ok);
    *at = *e ? md_member_find(&(*e)->as.zset, c->argv[2]) : -1;
    if (ok && *at < 0)
        md_null(c);
    return ok && *at >= 0;
}

static void run_zscore(struct call *c)
{
    const struct entry *e;
    ptrdiff_t at;

    if (find_member(c, &e, &at))
        reply_score(c, e->as.zset.at[at].score);
}

static void run_zrank(struct call *c)
{
    const struct entry *e;
    ptrdiff_t at;

    if (find_member(c, &e, &at))
        md_int(c, at);
}

static void run_zcard(struct call *c)
{
    bool ok;
    const struct entry *e = zset_of(c, &ok);

    if (ok)
        md_int(c, e ? (int64_t)e->as.zset.n : 0);
}

/* "(1" excludes its end. */
struct bounds {
    double min, max;
    bool min_excluded, max_excluded;
};

static bool parse_bound(struct slice s, double *out, bool *is_excluded)
{
    *is_excluded = s.n > 0 && s.p[0] == '(';
    return md_double((struct slice){s.p + *is_excluded, s.n - *is_excluded},
                     out);
}

static bool parse_bounds(struct call *c, struct bounds *b)
{
    if (parse_bound(c->argv[2], &b->min, &b->min_excluded) &&
        parse_bound(c->argv[3], &b->max, &b->max_excluded))
        return true;
    md_error(c, "ERR min or max is not a float");
    return false;
}

static bool is_within(const struct bounds *b, double score)
{
    return (b->min_excluded ? score > b->min : score >= b->min) &&
           (b->max_excluded ? score < b->max : score <= b->max);
}

static void run_zcount(struct call *c)
{
    struct bounds b;
    bool ok;
    const struct entry *e;
    int n = 0;

    if (!parse_bounds(c, &b))
        return;
    e = zset_of(c, &ok);
    if (!ok)
        return;
    for (size_t i = 0; e && i < e->as.zset.n; i++)
        n += is_within(&b, e->as.zset.at[i].score);
    md_int(c, n);
}

static void reply_members(struct call *c, const struct zset *z, size_t from,
                          size_t n, bool with_scores)
{
    bool in_pairs = with_scores && c->protocol == 3;

    md_array(c, with_scores && !in_pairs ? 2 * n : n);
    for (size_t i = from; i < from + n; i++) {
        if (in_pairs)
            md_array(c, 2);
        md_bulk(c, md_slice(z->at[i].name));
        if (with_scores)
            reply_score(c, z->at[i].score);
    }
}

static const struct zset *zset_or_none(const struct entry *e)
{
    static const struct zset none;

    return e ? &e->as.zset : &none;
}

/* By index alone. */
static void run_zrange(struct call *c)
{
    bool ok, scores = c->argc == 5 && md_is(c->argv[4], "withscores");
    int64_t from, to, n;
    const struct entry *e;

    if (c->argc > 4 && !scores) {
        md_syntax(c);
        return;
    }
    if (!md_int_arg(c, 2, &from) || !md_int_arg(c, 3, &to))
        return;
    e = zset_of(c, &ok);
    if (!ok)
        return;
    n = e ? (int64_t)e->as.zset.n : 0;
    from += from < 0 ? n : 0;
    to += to < 0 ? n : 0;
    from = from < 0 ? 0 : from;
    to = to >= n ? n - 1 : to;
    reply_members(c, zset_or_none(e), (size_t)from,
                  from > to ? 0 : (size_t)(to - from + 1), scores);
}

static bool parse_range_options(struct call *c, bool *scores, int64_t *skip,
                                int64_t *most)
{
    for (int i = 4; i < c->argc; i++) {
        if (md_is(c->argv[i], "withscores")) {
            *scores = true;
        } else if (md_is(c->argv[i], "limit") && i + 2 < c->argc) {
            if (!md_int_arg(c, i + 1, skip) || !md_int_arg(c, i + 2, most))
                return false;
            i += 2;
        } else {
            md_syntax(c);
            return false;
        }
    }
    return true;
}

static void run_zrangebyscore(struct call *c)
{
    struct bounds b;
    bool ok, scores = false;
    int64_t skip = 0, most = -1;
    const struct zset *z;
    const struct entry *e;
    size_t from = 0, n = 0;

    if (!parse_range_options(c, &scores, &skip, &most) || !parse_bounds(c, &b))
        return;
    e = zset_of(c, &ok);
    if (!ok)
        return;
    z = zset_or_none(e);
    while (from < z->n && !is_within(&b, z->at[from].score))
        from++;
    while (from + n < z->n && is_within(&b, z->at[from + n].score))
        n++;
    if (skip < 0 || skip >= (int64_t)n)
        skip = (int64_t)n;
    from += (size_t)skip;
    n -= (size_t)skip;
    if (most >= 0 && most < (int64_t)n)
        n = (size_t)most;
    reply_members(c, z, from, n, scores);
}

#define MAKES (C_WRITE | C_MEMORY)

const struct command md_zset_commands[] = {
    {"zadd", -4, MAKES, 1, 1, 1, .run = run_zadd},
    {"zincrby", 4, MAKES, 1, 1, 1, .run = run_zincrby},
    {"zrem", -3, C_WRITE, 1, 1, 1, .run = run_zrem},
    {"zscore", 3, 0, 1, 1, 1, .run = run_zscore},
    {"zrank", 3, 0, 1, 1, 1, .run = run_zrank},
    {"zcard", 2, 0, 1, 1, 1, .run = run_zcard},
    {"zcount", 4, 0, 1, 1, 1, .run = run_zcount},
    {"zrange", -4, 0, 1, 1, 1, .run = run_zrange},
    {"zrangebyscore", -4, 0, 1, 1, 1, .run = run_zrangebyscore},
    {.name = NULL},
};
