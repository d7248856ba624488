/* Texts of the model server: borrowed (slice), owned (blob), growing (bytes). */
#ifndef SIM_BLOB_H
#define SIM_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const char *p;
    size_t n;
};

struct blob {
    uint32_t n;
    char p[];
};

struct bytes {
    char *p;
    size_t n;
    size_t room;
};

/* Both abort where there is no memory. md_grow makes room for one more element
 * of `size` bytes. */
void *md_alloc(size_t size);
void *md_grow(void *at, size_t n, size_t *room, size_t size);

struct blob *md_blob(struct slice s);

static inline struct slice md_slice(const struct blob *b)
{
    return (struct slice){b->p, b->n};
}

static inline struct slice md_text(const char *s)
{
    return (struct slice){s, strlen(s)};
}

static inline bool md_same(struct slice a, struct slice b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

/* As memcmp, the shorter one first. */
int md_compare(struct slice a, struct slice b);

/* Equal to `word`, which is in lower case, but for case. */
bool md_is(struct slice s, const char *word);

/* FNV-1a with a finish. */
uint64_t md_hash(struct slice s, uint64_t seed);

/* Room for n more bytes; then b->n may be raised by as many. */
char *md_room(struct bytes *b, size_t n);
void md_add(struct bytes *b, const void *p, size_t n);
void md_add_text(struct bytes *b, const char *s);
void md_printf(struct bytes *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void md_bytes_free(struct bytes *b);

/* A whole decimal int64 as Redis takes it: no blanks, no plus, no "-0". */
bool md_integer(struct slice s, int64_t *out);
size_t md_format(char buf[24], int64_t n);

/* As strtod takes it, but no blanks, and not NaN. */
bool md_double(struct slice s, double *out);

/* Redis's glob: * ? [a-z] \x */
bool md_glob(struct slice pattern, struct slice s);

void md_sha1_hex(struct slice s, char out[41]);

#endif
