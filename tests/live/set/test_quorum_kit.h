/* Quorums on five servers, for the tests of them: two programs that contend. */
#ifndef TEST_QUORUM_KIT_H
#define TEST_QUORUM_KIT_H

#include "lock/quorum.h"
#include "tests/live/test_lock.h"

#define SERVERS 5
#define MOST 3
#define WATCHDOG_MS 3000
#define TIMEOUT_MS 2000         /* of a request */
#define NAME_LEN (sizeof NAME - 1)

/* One program, with a client for each server. */
struct party {
    struct hf_client *clients[SERVERS];
    struct hf_lock *locks[SERVERS];
    struct hf_quorum *quorum;
};

extern struct server *servers[SERVERS];
extern struct party here, there;

/* start_with  - the servers, and both parties; the clock of the first `settable`
 *               servers is the test's to set. start: of none. stop: all of it.
 * party_open  - with members of that kind; `first`: the server that is asked first. */
void start_with(int settable);
void start(void);
void stop(void);
void party_open(struct party *p, enum hf_lock_kind kind, int first);
void party_close(struct party *p);

/* take - one acquire. ck_assert_taken, ck_assert_given: it is had, it is free. */
hf_status take(struct party *p, int64_t owner, int64_t wait_ms,
               struct hf_error *err);
void ck_assert_taken(struct party *p, int64_t owner);
void ck_assert_given(struct party *p, int64_t owner);

/* await_keys - until `count` servers from `first` on have the key, or ("0") have it
 *              not. each - does that with them. */
void await_keys(int first, int count, const char *exists);
void each(int first, int count, void (*does)(struct server *));

#endif
