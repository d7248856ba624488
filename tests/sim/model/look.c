/* Looking at keys without touching them. */
#include "tests/sim/model/inner.h"

static struct model_text text_of(const struct blob *b)
{
    return b ? (struct model_text){b->p, b->n} : (struct model_text){"", 0};
}

static struct model_key key_of(const struct model *m, const struct entry *e)
{
    return (struct model_key){
        .name = text_of(e->key),
        .type = e->type,
        .expires_ms = e->expires_ms,
        .is_expired = e->expires_ms >= 0 && m->now_us / 1000 > e->expires_ms,
        .count = md_count(e),
        .parts = e,
    };
}

static struct entry *find(const struct model *m, int db, const char *key,
                          size_t len)
{
    return md_find(&m->dbs[db], (struct slice){key, len});
}

bool model_look(struct model *m, int db, const char *key, size_t len,
                struct model_key *out)
{
    const struct entry *e = find(m, db, key, len);

    *out = (struct model_key){.expires_ms = -1};
    if (e)
        *out = key_of(m, e);
    return e != NULL;
}

static bool member_at(const struct member *m, struct model_text *name,
                      struct model_text *value)
{
    static char score[40];

    *name = text_of(m->name);
    *value = (struct model_text){score, md_format_double(score, m->score)};
    return true;
}

static bool part_at(const struct entry *e, size_t index, struct model_text *name,
                    struct model_text *value)
{
    *name = *value = (struct model_text){"", 0};
    if (!e || index >= md_count(e))
        return false;
    switch (e->type) {
    case MODEL_HASH:
    case MODEL_SET:
        *name = text_of(e->as.hash.at[index].name);
        *value = text_of(e->as.hash.at[index].value);
        return true;
    case MODEL_LIST:
        *value = text_of(e->as.list.at[index]);
        return true;
    case MODEL_ZSET:
        return member_at(&e->as.zset.at[index], name, value);
    case MODEL_STRING:
        *value = text_of(e->as.string);
        return true;
    case MODEL_NONE:
        break;
    }
    return false;
}

bool model_at(struct model *m, int db, const char *key, size_t len,
              size_t index, struct model_text *name, struct model_text *value)
{
    return part_at(find(m, db, key, len), index, name, value);
}

bool model_part(const struct model_key *key, size_t index, struct model_text *name,
                struct model_text *value)
{
    return part_at(key->parts, index, name, value);
}

bool model_field(struct model *m, int db, const char *key, size_t len,
                 const char *field, struct model_text *value)
{
    const struct entry *e = find(m, db, key, len);
    ptrdiff_t at;

    *value = (struct model_text){"", 0};
    if (!e || e->type != MODEL_HASH ||
        (at = md_field_find(&e->as.hash, md_text(field))) < 0)
        return false;
    *value = text_of(e->as.hash.at[at].value);
    return true;
}

void model_each_key(struct model *m, int db,
                    void (*fn)(void *ctx, const struct model_key *key),
                    void *ctx)
{
    for (const struct entry *e = m->dbs[db].oldest; e; e = e->newer) {
        struct model_key key = key_of(m, e);

        fn(ctx, &key);
    }
}

size_t model_key_count(const struct model *m, int db)
{
    return m->dbs[db].n;
}

uint64_t model_stray_askings(const struct model *m)
{
    return m->stray_askings;
}

uint64_t model_commands_done(const struct model *m)
{
    return m->commands;
}

void model_observe(struct model *m, const struct model_observer *observer)
{
    m->observer = *observer;
}
