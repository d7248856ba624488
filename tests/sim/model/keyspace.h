/* The keys of one database of the model server, and their values. It knows
 * neither clients nor replies. */
#ifndef SIM_KEYSPACE_H
#define SIM_KEYSPACE_H

#include "tests/sim/model/blob.h"
#include "tests/sim/model/model.h"

/* A small hash keeps the order in which its fields came, as a listpack does; a
 * large one (is_table) is ordered by its fields' hashes: any order will do, but
 * HSCAN needs one. A set is a hash without values. */
struct field {
    struct blob *name;
    struct blob *value;
    uint64_t hash;
};

struct hash {
    struct field *at;
    size_t n;
    size_t room;
    bool is_table;
};

struct list {
    struct blob **at;
    size_t n;
    size_t room;
};

/* Ordered by score, then by name. */
struct member {
    struct blob *name;
    double score;
};

struct zset {
    struct member *at;
    size_t n;
    size_t room;
};

struct entry {
    struct entry *chain;      /* the next in its bucket */
    struct entry *older;      /* all keys, in the order in which they were made */
    struct entry *newer;
    struct blob *key;
    uint64_t hash;
    int64_t expires_ms;       /* -1: never */
    size_t heap_at;           /* its place in the heap, if it expires */
    enum model_type type;
    union {
        struct blob *string;
        struct hash hash;     /* of a set, too */
        struct list list;
        struct zset zset;
    } as;
};

struct keyspace {
    struct entry **buckets;
    size_t bucket_count;      /* a power of 2 */
    size_t n;
    struct entry *oldest;
    struct entry *newest;
    struct entry **heap;      /* what expires, the first to do so at 0 */
    size_t heap_n;
    size_t heap_room;
    uint64_t seed;
};

struct entry *md_find(const struct keyspace *k, struct slice key);

/* A new entry without value. There must be none of that name. */
struct entry *md_make(struct keyspace *k, struct slice key,
                      enum model_type type);

/* Also frees the value. md_drop_value leaves the entry with none. */
void md_remove(struct keyspace *k, struct entry *e);
void md_drop_value(struct entry *e);
void md_clear(struct keyspace *k);

/* Takes the value and the expiry of `from` (a key of another model, perhaps). */
void md_copy_value(struct keyspace *k, struct entry *to,
                   const struct entry *from);

void md_set_expiry(struct keyspace *k, struct entry *e, int64_t at_ms);

/* The first key to expire; NULL: none does. */
static inline struct entry *md_next_expiry(const struct keyspace *k)
{
    return k->heap_n ? k->heap[0] : NULL;
}

/* How many fields, members, elements; 1 of a string. */
size_t md_count(const struct entry *e);

/* The index of the field; -1: there is none. */
ptrdiff_t md_field_find(const struct hash *h, struct slice name);

/* Sets one field; true if it is new. `most` fields and 64 bytes make a table. */
bool md_field_set(struct hash *h, struct slice name, struct slice value,
                  size_t most);
void md_field_remove(struct hash *h, size_t at);

void md_list_insert(struct list *l, size_t at, struct slice value);
void md_list_remove(struct list *l, size_t at);

ptrdiff_t md_member_find(const struct zset *z, struct slice name);
void md_member_set(struct zset *z, struct slice name, double score);
void md_member_remove(struct zset *z, size_t at);

#endif
