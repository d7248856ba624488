/* Labels: text for people that says who an owner is, such as "web3 4711 backup". Part of
 * holdfast (lock.h). docs/labels.md explains the choices.
 *
 * On the server, an owner is "uuid:number", and the UUID is that of a client. A client with
 * hf_client_options.label stores this text in the string "holdfast_label:UUID", one key for all
 * its holds, which Redisson does not read. The client
 *
 *   - writes the key when it has held a lock, or waited in the queue of a fair lock, for half a
 *     second. A shorter hold costs no request;
 *   - gives it a TTL that is not shorter than that of its holds, and writes it again at most
 *     once per watchdog timeout. After a crash the key expires as the locks do;
 *   - deletes it in hf_client_close if nothing is held. If a hold stays (lease_ms), the client
 *     writes the key then, if it has not done so.
 *
 * A client with a label also reads the label of the holder for which a call waits for longer
 * than half a second, or half of its wait_ms. The error of a call that timed out contains it. A
 * client without a label sends no such request.
 *     If the server refuses these commands (ACL: SET, GET and DEL on the keys
 * "holdfast_label:*"), labels are neither stored nor shown; nothing else fails. */
#ifndef HF_LABEL_H
#define HF_LABEL_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HF_LABEL_MAX 128        /* bytes of a label */

/* hf_label_read - reads the label of an owner, which may be of any client.
 *   owner, len  as hf_lock_info.holder has it
 *   dst         receives the label: UTF-8 without control characters, cut to HF_LABEL_MAX bytes;
 *               "" if there is none, also after an error
 * Returns HF_OK         also if there is no label, or the text does not begin with a UUID. In
 *                       the second case no request is sent
 *         HF_E_SERVER   the server refused the request
 *         HF_E_LIMIT    waiters_max calls are pending, or the queue of output is full
 *         HF_E_CONNECT, HF_E_TLS, HF_E_AUTH, HF_E_NOREPLY, HF_E_NOMEM, HF_E_FORKED,
 *         HF_E_CLOSED */
HF_API hf_status hf_label_read(struct hf_client *client, const char *owner, size_t len,
                               char dst[HF_LABEL_MAX + 1], struct hf_error *err);

/* hf_label_read_async - as hf_label_read, without blocking: lock.h describes `done`, which is
 *   called also if no request is sent. `dst` must remain valid until then. */
HF_API hf_status hf_label_read_async(struct hf_client *client, const char *owner, size_t len,
                                     char dst[HF_LABEL_MAX + 1], hf_done *done,
                                     void *ctx) HF_MUST_CHECK;

/* hf_label_extend - extends the TTL of an owner's label to lease_ms if it has less; for
 *   programs that renew the hold of a process that has ended (by_owner.h). It returns the
 *   same as hf_label_read: HF_OK also if there is no label. */
HF_API hf_status hf_label_extend(struct hf_client *client, const char *owner, size_t len,
                                 int64_t lease_ms, struct hf_error *err);

/* hf_label_remove - deletes the label of an owner, after the last hold of such a process was
 *   released. It returns the same. */
HF_API hf_status hf_label_remove(struct hf_client *client, const char *owner, size_t len,
                                 struct hf_error *err);

#ifdef __cplusplus
}
#endif
#endif
