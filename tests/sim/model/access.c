/* Keys as commands see them: expired ones are gone, changes are noted. */
#include "tests/sim/model/inner.h"

static int db_of(const struct call *c)
{
    return (int)(c->db - c->m->dbs);
}

/* A replica leaves the deletion to its master. */
struct entry *md_lookup(struct call *c, struct slice key)
{
    struct entry *e = md_find(c->db, key);

    if (!e || !md_is_expired(c->m, e) || c->client->is_master)
        return e;
    if (!c->m->is_replica)
        md_delete_expired(c->m, db_of(c), e);
    return NULL;
}

struct entry *md_typed(struct call *c, struct slice key, enum model_type type,
                       bool *ok)
{
    struct entry *e = md_lookup(c, key);

    *ok = !e || e->type == type;
    if (!*ok)
        md_wrong_type(c);
    return *ok ? e : NULL;
}

struct entry *md_typed_or_make(struct call *c, struct slice key,
                               enum model_type type)
{
    bool ok;
    struct entry *e = md_typed(c, key, type, &ok);

    return ok && !e ? md_make(c->db, key, type) : e;
}

void md_touched(struct call *c, struct slice key)
{
    enum model_cause cause = c->client->is_master ? MODEL_BY_REPLICATION
                             : c->script          ? MODEL_BY_SCRIPT
                                                  : MODEL_BY_COMMAND;

    c->changed = true;
    c->m->current_client = c->client->is_master ? 0 : c->client->id;
    md_changed(c->m, db_of(c), key, cause, c->command->name);
}

void md_delete_key(struct call *c, struct entry *e)
{
    md_touched(c, md_slice(e->key));
    md_remove(c->db, e);
}

void md_drop_if_empty(struct call *c, struct entry *e)
{
    if (md_count(e) == 0)
        md_delete_key(c, e);
}
