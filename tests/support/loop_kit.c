/* Loop kit. */
#include "tests/support/loop_kit.h"

#include <check.h>

struct memory memory;
struct hf_loop *loop;

void open_loop_of(const struct hf_mem *mem, bool thread)
{
    struct hf_loop_options of_loop = {.size = sizeof of_loop, .mem = mem, .thread = thread};

    ck_assert_int_eq(hf_loop_new(&loop, &of_loop), HF_OK);
}

void open_loop(bool thread)
{
    memory_init(&memory);
    open_loop_of(&memory.hook, thread);
}

void free_loop(void)
{
    hf_loop_free(loop);
    loop = NULL;
}

void close_loop(void)
{
    free_loop();
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

void lock(void)
{
    hf_loop_lock(loop);
}

void unlock(void)
{
    hf_loop_unlock(loop);
}

void drive_on(int64_t *end_ms, const char *what)
{
    if (*end_ms == 0)
        *end_ms = local_now_ms() + LONG_MS;
    if (local_now_ms() > *end_ms)
        ck_abort_msg("it does not come: %s", what);
    hf_loop_dispatch(loop, 5);
}

void drive_until(bool (*is_so)(void))
{
    for (int64_t end_ms = 0; !is_so();)
        drive_on(&end_ms, "what is awaited");
}

void drive_for(int64_t ms)
{
    int64_t end_ms = local_now_ms() + ms;

    while (local_now_ms() < end_ms)
        hf_loop_dispatch(loop, 5);
}
