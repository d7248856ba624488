/* EVAL, EVALSHA, SCRIPT. */
#include "tests/sim/model/inner.h"

#include <ctype.h>
#include <stdlib.h>

/* Of the server's scripts: a field is a sha, its value the text. */
static const struct field *known(const struct model *m, const char *sha)
{
    ptrdiff_t at = md_field_find(&m->scripts, md_text(sha));

    return at < 0 ? NULL : &m->scripts.at[at];
}

static void remember(struct model *m, const char *sha, struct slice text)
{
    m->scripts.is_table = true;
    if (!known(m, sha))
        (void)md_field_set(&m->scripts, md_text(sha), text, SIZE_MAX);
}

/* The texts that were looked at last are compared, which is cheaper than their sum. */
static void sha_of(struct slice text, char sha[41])
{
    static struct {
        char *text;
        size_t n;
        char sha[41];
    } known[8], *k;

    k = &known[text.n % (sizeof known / sizeof *known)];
    if (!k->text || k->n != text.n || memcmp(k->text, text.p, text.n) != 0) {
        free(k->text);
        k->text = md_alloc(text.n + 1);
        memcpy(k->text, text.p, text.n);
        k->n = text.n;
        md_sha1_hex(text, k->sha);
    }
    memcpy(sha, k->sha, sizeof k->sha);
}

static bool check_keys(struct call *c)
{
    int64_t n;

    if (!md_int_arg(c, 2, &n))
        return false;
    if (n < 0)
        md_error(c, "ERR Number of keys can't be negative");
    else if (n > c->argc - 3)
        md_error(c, "ERR Number of keys can't be greater than number of args");
    return n >= 0 && n <= c->argc - 3;
}

static void run_eval(struct call *c)
{
    char sha[41];

    if (!check_keys(c))
        return;
    sha_of(c->argv[1], sha);
    if (!known(c->m, sha) && !md_script_compiles(c, c->argv[1], sha))
        return;
    remember(c->m, sha, c->argv[1]);
    md_eval(c, c->argv[1], known(c->m, sha)->name->p);
}

static void no_script(struct call *c)
{
    md_error(c, c->m->options.version == MODEL_REDIS_6_0
                    ? "NOSCRIPT No matching script. Please use EVAL."
                    : "NOSCRIPT No matching script. Please use EVAL.");
}

static bool take_sha(struct slice s, char sha[41])
{
    if (s.n != 40)
        return false;
    for (size_t i = 0; i < 40; i++)
        sha[i] = (char)tolower((unsigned char)s.p[i]);
    sha[40] = '\0';
    return true;
}

static void run_evalsha(struct call *c)
{
    char sha[41];
    const struct field *f;

    if (!take_sha(c->argv[1], sha)) {
        no_script(c);
        return;
    }
    if (!check_keys(c))
        return;
    if ((f = known(c->m, sha)))
        md_eval(c, md_slice(f->value), f->name->p);
    else
        no_script(c);
}

static void run_load(struct call *c)
{
    char sha[41];

    sha_of(c->argv[2], sha);
    if (!known(c->m, sha) && !md_script_compiles(c, c->argv[2], sha))
        return;
    remember(c->m, sha, c->argv[2]);
    md_bulk_text(c, sha);
}

static void run_exists(struct call *c)
{
    char sha[41];

    md_array(c, (size_t)c->argc - 2);
    for (int i = 2; i < c->argc; i++)
        md_int(c, take_sha(c->argv[i], sha) && known(c->m, sha));
}

static void run_flush(struct call *c)
{
    if (c->argc > 3 || (c->argc == 3 && !md_is(c->argv[2], "async") &&
                        !md_is(c->argv[2], "sync"))) {
        md_error(c, "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
        return;
    }
    model_forget_scripts(c->m);
    md_ok(c);
}

static void run_kill(struct call *c)
{
    if (!c->m->is_busy) {
        md_error(c, "NOTBUSY No scripts in execution right now.");
        return;
    }
    c->m->is_busy = false;
    md_ok(c);
}

static const struct command script_sub[] = {
    {"load", 3, C_NO_SCRIPT, .run = run_load},
    {"exists", -3, C_NO_SCRIPT, .run = run_exists},
    {"flush", -2, C_NO_SCRIPT, .run = run_flush},
    {"kill", 2, C_NO_SCRIPT | C_BUSY, .run = run_kill},
    {.name = NULL},
};

const struct command md_script_commands[] = {
    {"eval", -3, C_NO_SCRIPT | C_KEYS_COUNTED, .run = run_eval},
    {"evalsha", -3, C_NO_SCRIPT | C_KEYS_COUNTED, .run = run_evalsha},
    {"script", -2, C_NO_SCRIPT, .sub = script_sub},
    {.name = NULL},
};
