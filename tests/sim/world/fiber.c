/* Fibers by ucontext. Each switch costs two system calls (the signal mask), so
 * only calls that block have one. Stacks are used again. */
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "tests/sim/world/fiber.h"
#include "tests/support/must.h"

/* What hf_client_new needs most of: the URL of a cluster with 16 seeds. */
#define STACK_BYTES (512u * 1024)
#define FRESH 0xa5

struct fiber {
    ucontext_t here;            /* where it parked */
    ucontext_t there;           /* that runs it */
    void (*fn)(void *ctx);
    void *ctx;
    bool is_over;
    struct fiber *next;         /* spare */
    char *stack;
};

static struct fiber *running;
static struct fiber *spares;

struct fiber *fiber_now(void)
{
    return running;
}

/* makecontext hands over ints alone: `running` says which it is. A fiber that is
 * over is resumed with another function. */
static void body(void)
{
    struct fiber *f = running;

    for (;;) {
        f->fn(f->ctx);
        f->is_over = true;
        fiber_park();
    }
}

static struct fiber *fiber_new(void)
{
    struct fiber *f = must_alloc(sizeof *f);

    memset(f, 0, sizeof *f);
    f->stack = must_alloc(STACK_BYTES);
    memset(f->stack, FRESH, STACK_BYTES); /* what is read before it is written is not 0 */
    must(getcontext(&f->here) == 0);
    f->here.uc_stack.ss_sp = f->stack;
    f->here.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->here, body, 0);
    return f;
}

void fiber_resume(struct fiber *f)
{
    must(!running);
    running = f;
    must(swapcontext(&f->there, &f->here) == 0);
    running = NULL;
    if (!f->is_over)
        return;
    f->next = spares;
    spares = f;
}

void fiber_start(void (*fn)(void *ctx), void *ctx)
{
    struct fiber *f = spares;

    if (f)
        spares = f->next;
    else
        f = fiber_new();
    f->fn = fn;
    f->ctx = ctx;
    f->is_over = false;
    fiber_resume(f);
}

void fiber_park(void)
{
    struct fiber *f = running;

    must(swapcontext(&f->here, &f->there) == 0);
}

void fiber_free_spares(void)
{
    struct fiber *f;

    while ((f = spares)) {
        spares = f->next;
        free(f->stack);
        free(f);
    }
}
