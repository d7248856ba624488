/* Locks of several clients that one server process keeps. Private to lock/. */
#ifndef HF_ONE_SERVER_H
#define HF_ONE_SERVER_H

#include "lock/record/records.h"

#define HF_ONE_SERVER_MAX 64    /* locks that are compared at a time */

/* Two members of a set on one server, found by the run_id that the server sent in
 * the handshake with each client. */
struct hf_one_server {
    uint32_t a, b;
    char run_id[HF_RUN_ID_MAX];
};

/* hf_one_server_find   - the first two of these locks that one server keeps; with
 *                        `by_name`, only two of one name. False: there are none
 *                        among those that are connected.
 * hf_one_server_unseen - the first lock that is connected, and whose server did not
 *                        send its run_id; `count`: there is none.
 * hf_one_server_is_seen - is the lock's server connected?
 * hf_one_server_refuse - HF_E_INVAL, with both addresses.
 * No I/O. Takes each client's loop in turn: none may be locked. */
bool hf_one_server_find(struct hf_one_server *out, struct hf_lock *const *locks,
                        uint32_t count, bool by_name);
uint32_t hf_one_server_unseen(struct hf_lock *const *locks, uint32_t count);
bool hf_one_server_is_seen(const struct hf_lock *lock);
hf_status hf_one_server_refuse(struct hf_error *err,
                               const struct hf_one_server *found,
                               struct hf_lock *const *locks);

#endif
