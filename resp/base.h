/* Definitions that all layers share: status codes, the allocation hook, the intrusive
 * list. It includes no other header of holdfast, and three headers of libc (with
 * HF_ASSERTS, which checks the lists, four). */
#ifndef HF_BASE_H
#define HF_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef HF_ASSERTS
#include <assert.h>
#define HF_LIST_ASSERT(fact) assert(fact)
#else
#define HF_LIST_ASSERT(fact) ((void)0)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The functions that a shared library exports; everything else is hidden. */
#if defined(__GNUC__)
#define HF_API __attribute__((visibility("default")))
#else
#define HF_API
#endif

/* Marks a function whose result must be checked: compilers warn if a caller ignores it;
 * gcc also warns if the result is cast to void. */
#if defined(__GNUC__)
#define HF_MUST_CHECK __attribute__((warn_unused_result))
#else
#define HF_MUST_CHECK
#endif

/* The name, number and text of each status. A status is negative if the caller did not
 * get the result, so both `rc < 0` and `rc != 0` detect it. The two positive codes are
 * not errors: they mean "call again".
 *
 * -1 to -99 are ordinary refusals; -100 and below are errors of the environment or of the
 * caller. All layers share one numbering, and each layer adds its codes. */
#define HF_RESP_STATUS_MAP(X)                                                 \
    X(HF_OK, 0, "ok")                                                         \
    X(HF_RESP_MORE, 1, "more bytes are needed")                               \
    X(HF_RESP_ROOM, 2, "more room is needed")                                 \
    X(HF_E_PROTOCOL, -104, "protocol error: the reply is not valid RESP")                \
    X(HF_E_LIMIT, -105, "a limit was reached")                                \
    X(HF_E_TYPE, -109, "wrong type, or no value")

#define HF_STATUS_ENUM(name, value, text) name = value,
typedef int hf_status;
enum { HF_RESP_STATUS_MAP(HF_STATUS_ENUM) };

/* hf_resp_status_text - returns the English text of a status of this layer, as one line
 *   in static memory, never NULL. Any thread. */
HF_API const char *hf_resp_status_text(hf_status status);

/* hf_resp_status_name - returns the name of a status as spelled above ("HF_E_LIMIT"), in
 *   static memory. Any thread. */
HF_API const char *hf_resp_status_name(hf_status status);

/* The allocation hook: one function that allocates, resizes and frees.
 *   ptr NULL          allocates `size` bytes
 *   size 0            frees `ptr` and returns NULL
 *   else              resizes the block and keeps its contents up to the smaller size
 * `old` is the current size of the block. A call that needs more memory may fail (NULL);
 * the old block then remains valid. A call that shrinks or frees a block must not fail.
 * The hook may be called with a mutex held: it must not call holdfast. */
struct hf_mem {
    void *(*resize)(void *ctx, void *ptr, size_t old, size_t size);
    void *ctx;
};

/* A circular list through fields of its members. The head is also a member. A member
 * that is in no list points to itself. */
struct hf_list {
    struct hf_list *next;
    struct hf_list *prev;
};

/* hf_list_init - makes `l` an empty list, or a member of no list. */
static inline void hf_list_init(struct hf_list *l)
{
    l->next = l->prev = l;
}

/* hf_list_is_empty - returns true for an empty list and for a member of no list. */
static inline bool hf_list_is_empty(const struct hf_list *l)
{
    return l->next == l;
}

/* hf_list_is_whole - returns whether the neighbours of `l` point to it. */
static inline bool hf_list_is_whole(const struct hf_list *l)
{
    return l->next->prev == l && l->prev->next == l;
}

/* hf_list_push - appends `l` after the last member. `l` must be in no list: initialised, or
 *   zeros. */
static inline void hf_list_push(struct hf_list *head, struct hf_list *l)
{
    HF_LIST_ASSERT(l->next == l->prev && (l->next == l || !l->next));
    HF_LIST_ASSERT(hf_list_is_whole(head));
    l->prev = head->prev;
    l->next = head;
    head->prev->next = l;
    head->prev = l;
}

/* hf_list_count - returns the number of members, after a walk through all of them. */
static inline size_t hf_list_count(const struct hf_list *head)
{
    size_t n = 0;

    for (const struct hf_list *l = head->next; l != head; l = l->next)
        n++;
    return n;
}

/* hf_list_remove - removes `l` from its list. It may be in no list. */
static inline void hf_list_remove(struct hf_list *l)
{
    HF_LIST_ASSERT(hf_list_is_whole(l));
    l->prev->next = l->next;
    l->next->prev = l->prev;
    hf_list_init(l);
}

/* hf_list_join - moves all members of `from` to the end of `to`, and leaves `from`
 * empty. */
static inline void hf_list_join(struct hf_list *to, struct hf_list *from)
{
    HF_LIST_ASSERT(to != from && hf_list_is_whole(to) && hf_list_is_whole(from));
    if (hf_list_is_empty(from))
        return;
    from->next->prev = to->prev;
    from->prev->next = to;
    to->prev->next = from->next;
    to->prev = from->prev;
    hf_list_init(from);
}

/* The struct whose member `field` is at address `ptr`. */
#define HF_OWNER_OF(ptr, type, field)                                         \
    ((type *)(void *)((char *)(ptr) - offsetof(type, field)))

#ifdef __cplusplus
}
#endif
#endif
