/* Semaphores and latches: the library's calls. */
#include "tests/sim/counts.h"

#include <string.h>

#include "lock/latch.h"
#include "lock/semaphore.h"
#include "tests/sim/program.h"
#include "tests/support/must.h"

/* A handle of either is the record of a lock, inside. */
static struct hf_semaphore *semaphore(const struct owner *o)
{
    struct hf_semaphore *of_permits = program_semaphore(o->program, o->lock_index);

    return of_permits ? of_permits : (struct hf_semaphore *)o->lock;
}

static struct hf_latch *latch(const struct owner *o)
{
    return (struct hf_latch *)o->lock;
}

static bool is_latch(const struct owner *o)
{
    return program_sim(o->program)->plan->locks[o->lock_index].family ==
           FAMILY_LATCH;
}

struct hf_lock *count_open(struct hf_client *client, int64_t family,
                           const char *name)
{
    struct hf_semaphore *s;
    struct hf_latch *l;

    if (family == FAMILY_LATCH) {
        must(hf_latch_new(&l, client, name, strlen(name), NULL) == HF_OK);
        return (struct hf_lock *)l;
    }
    must(hf_semaphore_new(&s, client, name, strlen(name), NULL) == HF_OK);
    return (struct hf_lock *)s;
}

hf_status count_take(struct owner *o, struct call *c, hf_done *done)
{
    return is_latch(o)
               ? hf_latch_await_async(latch(o), c->wait_ms, &c->cancel, done, c)
               : hf_semaphore_acquire_async(semaphore(o), c->n, c->wait_ms,
                                            &c->cancel, done, c);
}

hf_status count_give(struct owner *o, struct call *c, int64_t n, hf_done *done)
{
    return is_latch(o) ? hf_latch_count_down_async(latch(o), done, c)
                       : hf_semaphore_release_async(semaphore(o), n, done, c);
}

hf_status count_add(struct owner *o, struct call *c, int64_t n, hf_done *done)
{
    c->says_exists = true;
    return hf_semaphore_release_if_exists_async(semaphore(o), n, &c->exists, done, c);
}

hf_status count_set(struct owner *o, struct call *c, int64_t n, hf_done *done)
{
    return is_latch(o)
               ? hf_latch_try_set_count_async(latch(o), n, &c->was_set, done, c)
               : hf_semaphore_try_set_permits_async(semaphore(o), n, &c->was_set,
                                                    done, c);
}

hf_status count_reduce(struct owner *o, struct call *c, hf_done *done)
{
    c->says_exists = true;
    return hf_semaphore_reduce_async(semaphore(o), c->n, &c->exists, done, c);
}

hf_status count_drain(struct owner *o, struct call *c, hf_done *done)
{
    return hf_semaphore_drain_async(semaphore(o), &c->value, done, c);
}

hf_status count_delete(struct owner *o, struct call *c, hf_done *done)
{
    return is_latch(o) ? hf_latch_delete_async(latch(o), &c->was_deleted, done, c)
                       : hf_semaphore_delete_async(semaphore(o), &c->was_deleted, done, c);
}

hf_status count_look(struct owner *o, struct call *c, hf_done *done)
{
    c->says_exists = !is_latch(o);
    return is_latch(o) ? hf_latch_count_async(latch(o), &c->value, done, c)
                       : hf_semaphore_inspect_async(semaphore(o), &c->value, &c->exists, done,
                                                    c);
}
