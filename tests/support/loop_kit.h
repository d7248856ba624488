/* Loop kit: one loop whose memory is counted, driven by the test.
 *
 *     open_loop(false);
 *     ... start what is to happen ...
 *     drive_until(is_up);
 *     close_loop();
 *
 * Not ck_assert but ck_must (promise.h) is what threads beside the test call. */
#ifndef TEST_LOOP_KIT_H
#define TEST_LOOP_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include "net/loop/loop.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"
#include "tests/support/promise.h"

/* Longer than anything here takes; only a failing test waits so long. */
#define LONG_MS 30000
/* "At once", on a machine with much to do. */
#define QUICK_MS 2000

extern struct memory memory;
extern struct hf_loop *loop;

/* open_loop    - `thread`: it has one of its own; otherwise whoever waits drives,
 *                and the test between.
 * open_loop_of - the same by another allocator; `memory` is left alone.
 * close_loop   - fails the test if a block of `memory` is left or was misused.
 *                free_loop - does not look. */
void open_loop(bool thread);
void open_loop_of(const struct hf_mem *mem, bool thread);
void close_loop(void);
void free_loop(void);

/* hf_loop_lock, hf_loop_unlock. */
void lock(void);
void unlock(void);

/* drive_until - turns until it is so, which is asked without the lock; fails the
 *               test after LONG_MS.
 * drive_on    - a turn, for waits that have more to look at:
 *                   for (int64_t end_ms = 0; nodes_count(nodes, 0, "PING") == 0;)
 *                       drive_on(&end_ms, "a PING");
 *               fails the test LONG_MS after the first.
 * drive_for   - turns for so long: for what should not happen. */
void drive_until(bool (*is_so)(void));
void drive_on(int64_t *end_ms, const char *what);
void drive_for(int64_t ms);

#endif
