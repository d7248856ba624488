/* Declares the keys that scripts derive. See declare.h. */
/* Tests: tests/live/server/test_strict.c. */
#include "lock/script/declare.h"

#include <string.h>

#include "lock/script/names.h"
#include "lock/script/reply.h"
#include "lock/script/scripts.h"
#include "net/base/mem.h"

/* More keys than hold_keys.lua ever lists. */
#define KEYS_MAX 1500
#define LIST_ARGS 6

struct hf_declared_args {
    const struct hf_mem *mem;
    size_t size;                  /* of this memory */
    size_t argc;
    char keys_text[HF_RESP_INTEGER_MAX];
    struct hf_resp_arg argv[];    /* followed by the texts of the keys */
};

static struct hf_declared_args *new_declared_args(const struct hf_mem *mem, size_t argc,
                                                  size_t bytes)
{
    size_t size = sizeof(struct hf_declared_args) + argc * sizeof(struct hf_resp_arg) + bytes;
    struct hf_declared_args *d = hf_mem_new(mem, size);

    if (d) {
        d->mem = mem;
        d->size = size;
        d->argc = argc;
    }
    return d;
}

static struct hf_resp_arg arg_from_text(const char *words)
{
    return (struct hf_resp_arg){words, strlen(words)};
}

struct hf_declared_args *hf_declared_args_for_listing(const struct hf_declare_state *state,
                                                      const struct hf_declare_request *request)
{
    struct hf_declared_args *d = new_declared_args(state->mem, LIST_ARGS, 0);

    if (!d)
        return NULL;
    d->argv[0] = arg_from_text("EVAL");
    d->argv[1] = (struct hf_resp_arg){hf_script_hold_keys.text, hf_script_hold_keys.len};
    d->argv[2] = arg_from_text("1");
    d->argv[3] = request->argv[request->first_key];
    d->argv[4] = request->owner_field;
    d->argv[5] = arg_from_text(request->derived_keys == HF_DERIVES_ALL ? "1" : "0");
    return d;
}

/* ---- the keys ---- */

/* Collects keys: with dst NULL it only counts them and their bytes. */
struct key_sink {
    struct hf_resp_arg lock_key;
    struct hf_resp_arg *argv;
    char *key_texts;
    size_t keys_count, bytes_count;
};

static void put_hold_key(struct key_sink *sink, struct hf_resp_arg field, int64_t hold)
{
    size_t len = hf_hold_key_size(HF_HOLD_KEY, field.len, sink->lock_key.ptr, sink->lock_key.len);
    char number[HF_RESP_INTEGER_MAX];
    size_t digits = hf_resp_format_integer(number, hold);

    if (sink->key_texts) {
        char *at = sink->key_texts + sink->bytes_count;

        hf_hold_key_put(at, HF_HOLD_KEY, field.ptr, field.len, sink->lock_key.ptr,
                        sink->lock_key.len);
        at[len] = ':';
        memcpy(at + len + 1, number, digits);
        sink->argv[sink->keys_count] = (struct hf_resp_arg){at, len + 1 + digits};
    }
    sink->keys_count++;
    sink->bytes_count += len + 1 + digits;
}

/* Adds the keys of the holds from `last` down to `first`, except that of the hold `but`. */
static void put_keys_of_holds(struct key_sink *sink, struct hf_resp_arg field, int64_t first,
                              int64_t last, int64_t but)
{
    for (int64_t hold = last; hold >= first && hold > 0 && sink->keys_count < KEYS_MAX; hold--)
        if (hold != but)
            put_hold_key(sink, field, hold);
}

static void put_prefixed_key(struct key_sink *sink, const char *prefix)
{
    size_t len = hf_prefixed_size(prefix, sink->lock_key.ptr, sink->lock_key.len);

    if (sink->key_texts) {
        char *at = sink->key_texts + sink->bytes_count;

        hf_prefixed_put(at, prefix, sink->lock_key.ptr, sink->lock_key.len);
        sink->argv[sink->keys_count] = (struct hf_resp_arg){at, len};
    }
    sink->keys_count++;
    sink->bytes_count += len;
}

static void put_keys_of_listed_holds(struct key_sink *sink,
                                     const struct hf_declare_request *request,
                                     struct hf_resp_value reply)
{
    const struct hf_resp_arg owner = request->owner_field;
    int64_t number = 0, first, last;

    if (hf_text_integer((struct hf_bytes){request->wanted_hold_count.ptr,
                                          request->wanted_hold_count.len}, &number))
        put_keys_of_holds(sink, owner, number, number, 0);
    for (size_t i = 1; i + 2 < hf_resp_count(reply); i += 3) {
        struct hf_resp_value field;
        const char *ptr;
        size_t len;

        if (hf_resp_element(reply, i, &field) == HF_OK &&
            hf_resp_bytes(field, &ptr, &len) == HF_OK &&
            hf_reply_integer(reply, i + 1, &first) && hf_reply_integer(reply, i + 2, &last))
            put_keys_of_holds(sink, (struct hf_resp_arg){ptr, len}, first, last,
                              hf_resp_is_text(field, owner.ptr, owner.len) ? number : 0);
    }
}

static void put_all_derived_keys(struct key_sink *sink, const struct hf_declare_request *request,
                                 struct hf_resp_value reply)
{
    if (request->derived_keys >= HF_DERIVES_OWN) {
        put_keys_of_listed_holds(sink, request, reply);
        return;
    }
    put_prefixed_key(sink, HF_QUEUE_KEY);
    if (request->derived_keys == HF_DERIVES_PLACES)
        put_prefixed_key(sink, HF_PLACES_KEY);
}

struct hf_declared_args *hf_declared_args_new(const struct hf_declare_state *state,
                                              const struct hf_declare_request *request,
                                              struct hf_resp_value reply)
{
    size_t end = request->first_key + request->keys_count;
    struct key_sink sink = {.lock_key = request->argv[request->first_key]};
    struct hf_declared_args *d;

    put_all_derived_keys(&sink, request, reply);
    d = new_declared_args(state->mem, request->argc + sink.keys_count, sink.bytes_count);
    if (!d)
        return NULL;
    sink.argv = d->argv + end;
    sink.key_texts = (char *)(d->argv + d->argc);
    sink.keys_count = sink.bytes_count = 0;
    put_all_derived_keys(&sink, request, reply);
    memcpy(d->argv, request->argv, end * sizeof *d->argv);
    memcpy(d->argv + end + sink.keys_count, request->argv + end,
           (request->argc - end) * sizeof *d->argv);
    d->argv[request->first_key - 1] = (struct hf_resp_arg){
        d->keys_text, hf_resp_format_integer(d->keys_text,
                                             (int64_t)(request->keys_count + sink.keys_count))};
    return d;
}

struct hf_resp_arg *hf_declared_args_argv(struct hf_declared_args *declared, size_t *argc)
{
    *argc = declared->argc;
    return declared->argv;
}

void hf_declared_args_free(struct hf_declared_args *declared)
{
    if (declared)
        hf_mem_free(declared->mem, declared, declared->size);
}
