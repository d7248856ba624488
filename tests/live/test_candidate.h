/* A candidate of an election that counts what it is told. */
#ifndef TEST_CANDIDATE_H
#define TEST_CANDIDATE_H

#include "lock/election.h"
#include "tests/live/test_lock.h"

struct candidate {
    struct note note;
    int elected, troubles;
    struct hf_error last;       /* of the last trouble */
};

static inline void candidate_elected(void *ctx, struct hf_election *election)
{
    struct candidate *c = ctx;

    (void)election;
    note_add(&c->note, &c->elected);
}

static inline void candidate_troubled(void *ctx, struct hf_election *election,
                                      const struct hf_error *err)
{
    struct candidate *c = ctx;

    (void)election;
    c->last = *err;
    note_add(&c->note, &c->troubles);
}

/* candidate_join - *c counts from 0, and must last until the election was left. */
static inline struct hf_election *candidate_join(struct candidate *c, struct hf_lock *lock)
{
    struct hf_election_options o = {
        .size = sizeof o,
        .on_elected = candidate_elected, .on_trouble = candidate_troubled, .ctx = c};
    struct hf_election *election;

    *c = (struct candidate){.elected = 0};
    note_init(&c->note);
    ck_assert_ok(hf_election_join(&election, lock, &o, NULL));
    return election;
}

#endif
