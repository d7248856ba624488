/* Runs the operation of a public call, blocking or not. Private to lock/. */
#ifndef HF_OP_REQUEST_H
#define HF_OP_REQUEST_H

#include "lock/record/records.h"
#include "net/loop/loop.h"

/* The arguments of an operation; those that its verb does not use are 0. */
struct hf_op_request {
    const struct hf_verb *verb;
    bool begins_despite_limits; /* this and is_member: as in struct hf_op */
    bool is_member;
    int64_t owner;
    int64_t permits;
    int64_t ttl_ms;             /* of what is created; 0: none */
    const struct hf_acquire_options *options;
    struct hf_lock_info *out_info;
    size_t info_size;           /* in the program that allocated it */
    int64_t *out_number;        /* receives a number; may be NULL */
    bool *out_flag;               /* receives whether it was done; may be NULL */
    const char *holder;         /* NULL: none */
    size_t holder_len;
    int64_t *out_count;         /* receives the holder's count; may be NULL */
};

/* Memory for a call without blocking. */
struct hf_op_storage {
    struct hf_op op;
    struct hf_hold_work work;
    struct hf_error error;
};

/* hf_op_ownerless_request - returns the arguments of an acquire without an owner, which point to
 *   `options`. */
struct hf_op_request hf_op_ownerless_request(struct hf_acquire_options *options,
                                             int64_t permits, int64_t wait_ms,
                                             struct hf_cancel *cancel);

/* hf_op_check_wait  - returns HF_E_INVAL if wait_ms is out of range.
 * hf_op_check_lease - returns HF_E_INVAL if lease_ms, which must be given, is out of range. */
hf_status hf_op_check_wait(int64_t wait_ms, struct hf_error *err);
hf_status hf_op_check_lease(int64_t lease_ms, struct hf_error *err);

/* hf_handle_new - creates a handle on the object of this name and kind: hf_lock_new. */
hf_status hf_handle_new(struct hf_lock **out, struct hf_client *client,
                        const struct hf_kind *kind, const void *name,
                        size_t len, struct hf_error *err) HF_MUST_CHECK;

/* hf_op_run - runs the operation, waits for its end, and returns its status. */
hf_status hf_op_run(struct hf_lock *lock, const struct hf_op_request *request,
                    struct hf_error *err);

/* hf_op_submit - starts the operation; `done` is called unless this returns an error. */
hf_status hf_op_submit(struct hf_lock *lock, const struct hf_op_request *request,
                       hf_done *done, void *ctx);

/* hf_op_submit_in - the same in memory of the caller, which must not be used until `done` is
 *   called. The operation has no holder. */
hf_status hf_op_submit_in(struct hf_op_storage *room, struct hf_lock *lock,
                          const struct hf_op_request *request, hf_done *done, void *ctx);

/* hf_op_start - starts the operation of a blocking call in memory of the caller, and does not
 *   wait for it: hf_op_await must follow, unless this returns an error. Other operations may be
 *   started in between. It has no holder, and its cancel belongs to the client of the lock. */
hf_status hf_op_start(struct hf_op_storage *room, struct hf_waiter *waiter,
                      struct hf_lock *lock, const struct hf_op_request *request);

/* hf_op_await - waits for the end of hf_op_start, and returns the status; its error is in
 *   room->error. */
hf_status hf_op_await(struct hf_op_storage *room);

/* hf_fail_forked - writes the error and returns HF_E_FORKED. */
hf_status hf_fail_forked(struct hf_error *err);

#endif
