/* What the tests beside Redisson share: a server, a client of ours and one of
 * Redisson's, and what each side is told to do. */
#ifndef TEST_REDISSON_BOTH_H
#define TEST_REDISSON_BOTH_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holdfast.h"
#include "tests/redisson/driver.h"
#include "tests/support/one_server.h"

/* Far below the 30 s of a TTL: whoever is woken within was told, and did not
 * wait for the lock to expire. */
#define TOLD_MS 10000
/* Long enough for what should not happen to happen. */
#define A_MOMENT_MS 200
/* A lease so short that whoever waits for its end is in time. */
#define SHORT_MS 500

#define OUR_WATCHDOG_MS 3000
#define THEIR_WATCHDOG_MS 30000

extern struct hf_client *client;
extern struct driver *java;

/* both_case      - a case whose tests have the server (one_server.h), `client`
 *                  and `java`, all of them the same.
 * lock_on        - a lock of ours.
 * acquire_within - by this thread, with a watchdog; 0: one try.
 * acquire_for    - with a lease.
 * release        - succeeds.
 * release_lost   - fails, for it was lost. */
TCase *both_case(const char *name);
struct hf_lock *lock_on(enum hf_lock_kind kind, const char *name);
hf_status acquire_within(struct hf_lock *lock, int64_t wait_ms);
void acquire_for(struct hf_lock *lock, int64_t lease_ms);
void release(struct hf_lock *lock);
void release_lost(struct hf_lock *lock);

/* ck_assert_java  - what a thread of Redisson answers to "VERB KIND NAME ...".
 * ck_assert_told  - what it answers at last, having waited.
 * ck_assert_waits - it does not answer yet. */
#define ck_assert_java(expected, thread, ...)                                 \
    ck_assert_str_eq(driver_ask(java, thread, __VA_ARGS__), expected)
void ck_assert_told(const char *expected, int thread);
void ck_assert_waits(int thread);

/* ---- counts.c ---- */

TCase *counts_case(void);

/* ---- fair.c ---- */

TCase *fair_case(void);

/* ---- fair_mix.c ---- */

TCase *fair_mix_case(void);

/* ---- fair_order.c ---- */

TCase *fair_order_case(void);

/* ---- multi.c ---- */

TCase *multi_case(void);

/* ---- quorum.c ---- */

TCase *quorum_case(void);

/* ---- rw.c ---- */

TCase *read_write_case(void);

/* ---- turnstile.c ---- */

TCase *turnstile_case(void);

#endif
