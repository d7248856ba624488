/* What all floors share: status codes, the allocation hook, the intrusive
 * list. Includes nothing of ours; needs no libc beyond three headers. */
#ifndef HF_BASE_H
#define HF_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The functions that a shared library exports; everything else is hidden. */
#if defined(__GNUC__)
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

/* A function whose result must be looked at: compilers warn where it is
 * dropped; gcc does so even behind a cast to void. */
#if defined(__GNUC__)
#define HF_MUST_CHECK __attribute__((warn_unused_result))
#else
#define HF_MUST_CHECK
#endif

/* Code, name and text together. Whatever does not leave the caller with what
 * it asked for is negative, so that `rc < 0` and `rc != 0` both find it; the
 * two positive codes mean "not an error, call again".
 *
 * -1 .. -99 are ordinary refusals, -100 and below failures: of the world, or of
 * the caller. One numbering for all floors; each adds its own to it. */
#define HF_RESP_STATUS_MAP(X)                                                 \
    X(HF_OK, 0, "ok")                                                         \
    X(HF_RESP_MORE, 1, "more bytes are needed")                               \
    X(HF_RESP_ROOM, 2, "more room is needed")                                 \
    X(HF_E_PROTOCOL, -104, "what the server sent is not RESP")                \
    X(HF_E_LIMIT, -105, "a limit was reached")                                \
    X(HF_E_TYPE, -109, "the value is of another type, or there is none")

#define HF_STATUS_ENUM(name, value, text) name = value,
typedef int hf_status;
enum { HF_RESP_STATUS_MAP(HF_STATUS_ENUM) };

/* hf_resp_status_text - one line about a status of this floor, in English,
 *                       never NULL.
 * hf_resp_status_name - its name as spelled above ("HF_E_LIMIT").
 * Static memory. Any thread. */
HF_API const char *hf_resp_status_text(hf_status status);
HF_API const char *hf_resp_status_name(hf_status status);

/* The allocation hook: one function that does all three.
 *   ptr NULL          allocate `size` bytes
 *   size 0            free `ptr`, return NULL
 *   else              resize, contents kept up to the smaller size
 * `old` is the size that the block was last given. It may fail (NULL) at any
 * call that asks for more; the old block then stays valid. A call that shrinks
 * or frees must not fail. It may be called with a mutex held: it must not call
 * back into holdfast. */
struct hf_mem {
    void *(*resize)(void *ctx, void *ptr, size_t old, size_t size);
    void *ctx;
};

/* A circular list through fields of its members; the head is a member too.
 * A member that is in no list points at itself. */
struct hf_list {
    struct hf_list *next;
    struct hf_list *prev;
};

/* hf_list_init - makes `l` an empty list, or a member of none. */
static inline void hf_list_init(struct hf_list *l)
{
    l->next = l->prev = l;
}

/* hf_list_is_empty - true also of a member that is in no list. */
static inline bool hf_list_is_empty(const struct hf_list *l)
{
    return l->next == l;
}

/* hf_list_push - appends `l`, which is in no list, behind the last member. */
static inline void hf_list_push(struct hf_list *head, struct hf_list *l)
{
    l->prev = head->prev;
    l->next = head;
    head->prev->next = l;
    head->prev = l;
}

/* hf_list_remove - takes `l` out of its list; harmless if it is in none. */
static inline void hf_list_remove(struct hf_list *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
    hf_list_init(l);
}

/* hf_list_join - moves all members of `from` behind those of `to`; `from` is
 * empty after. */
static inline void hf_list_join(struct hf_list *to, struct hf_list *from)
{
    if (hf_list_is_empty(from))
        return;
    from->next->prev = to->prev;
    from->prev->next = to;
    to->prev->next = from->next;
    to->prev = from->prev;
    hf_list_init(from);
}

/* The struct that `field` at address `ptr` is a part of. */
#define HF_OWNER_OF(ptr, type, field)                                         \
    ((type *)(void *)((char *)(ptr) - offsetof(type, field)))

#ifdef __cplusplus
}
#endif
#endif
