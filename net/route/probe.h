/* The requests that query one server for the map. Private to net/. [locked] */
#ifndef HF_PROBE_H
#define HF_PROBE_H

#include "net/route/server.h"

/* hf_probe_send   - sends request `index` of a probe; its `done` must begin with
 *                   hf_probe_request_ended. HF_E_NOMEM, HF_E_LIMIT.
 * hf_probe_request_ended  - returns the server to which that request was sent.
 * hf_probe_cancel - cancels all pending requests.
 * hf_probe_unsubscribe - ends the subscription at the sentinel. */
hf_status hf_probe_send(struct hf_server *server, unsigned index,
                        struct hf_link *link, const struct hf_resp_arg *argv,
                        size_t argc, int64_t deadline_ms,
                        void (*done)(struct hf_request *, enum hf_outcome,
                                     struct hf_resp_value)) HF_MUST_CHECK;
struct hf_server *hf_probe_request_ended(struct hf_request *request, unsigned index);
void hf_probe_cancel(struct hf_server *server);
void hf_probe_unsubscribe(struct hf_server *server);

#endif
