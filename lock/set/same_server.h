/* Finds members of a set that are on the same server process. No I/O. Each function locks
 * the loop of each client in turn: the caller must hold none of them. Private to lock/. */
#ifndef HF_SAME_SERVER_H
#define HF_SAME_SERVER_H

#include "lock/record/records.h"

#define HF_SAME_SERVER_MAX 64   /* locks in one call: HF_MULTI_MAX */

/* Two members of a set on one server, found by the run_id that the server sent in
 * the handshake with each client. */
struct hf_same_server {
    uint32_t first_member, second_member;
    char run_id[HF_RUN_ID_MAX];
};

/* hf_same_server_find - finds the first two of these locks that are on one server; with
 *   `by_name`, only locks of one name. False: there are none among the locks whose servers
 *   are connected. */
bool hf_same_server_find(struct hf_same_server *out, struct hf_lock *const *locks,
                         uint32_t count, bool by_name);

/* hf_same_server_find_unidentified - returns the index of the first lock whose server is connected
 *   and did not send its run_id; `count`: there is none. */
uint32_t hf_same_server_find_unidentified(struct hf_lock *const *locks, uint32_t count);

/* hf_same_server_is_connected - returns whether the server of the lock is connected. */
bool hf_same_server_is_connected(const struct hf_lock *lock);

/* hf_same_server_fail - writes an error that names both addresses. Returns HF_E_INVAL. */
hf_status hf_same_server_fail(struct hf_error *err,
                              const struct hf_same_server *found,
                              struct hf_lock *const *locks);

#endif
