/* A command about a label key: "holdfast_label:UUID". Private to lock/. All functions:
 * [locked]. */
#ifndef HF_LABEL_REQUEST_H
#define HF_LABEL_REQUEST_H

#include "lock/label.h"
#include "lock/record/records.h"

#define HF_LABEL_KEY "holdfast_label:"

/* A hold, or a wait, that ends earlier needs no label. */
#define LABEL_AFTER_MS 500

struct hf_label_request {
    /* Set by the owner. */
    struct hf_client *client;
    /* [locked] Called once, unless the request is cancelled.
     *   status  HF_OK: `reply` is not an error. Otherwise `why` says more; HF_E_SERVER: the
     *           server refused */
    void (*done)(struct hf_label_request *request, hf_status status,
                 struct hf_resp_value reply, const struct hf_error *why);

    /* Used by the functions below. */
    struct hf_list node;        /* in client->label_requests, while it is pending */
    struct hf_command command;
    struct hf_resp_arg argv[5];
    char key[sizeof HF_LABEL_KEY + UUID_LEN];
    char number[HF_RESP_INTEGER_MAX];
};

/* hf_label_request_init  - prepares a request about the client of that owner. False: the text
 *                          does not begin with a UUID, so it has no label.
 * hf_label_request_init_own - prepares a request about this client.
 * hf_label_request_*     - send GET key, SET key text PX ttl_ms, DEL key, PTTL key and PEXPIRE key
 *                          ttl_ms. HF_E_NOMEM, HF_E_LIMIT, HF_E_CLOSED: `done` is not called.
 * hf_label_request_is_pending - returns whether it was sent and `done` was not called.
 * hf_label_request_cancel - ends it without `done`, if it is pending.
 * hf_label_requests_end  - ends all requests of the client with HF_E_CLOSED. */
void hf_label_request_init_own(struct hf_label_request *request, struct hf_client *client);
bool hf_label_request_init(struct hf_label_request *request, struct hf_client *client,
                           const char *owner, size_t len);
hf_status hf_label_request_send_get(struct hf_label_request *request, int64_t deadline_ms);
hf_status hf_label_request_send_set(struct hf_label_request *request, const char *text,
                                    int64_t ttl_ms, int64_t deadline_ms);
hf_status hf_label_request_send_del(struct hf_label_request *request, int64_t deadline_ms);
hf_status hf_label_request_send_pttl(struct hf_label_request *request, int64_t deadline_ms);
hf_status hf_label_request_send_pexpire(struct hf_label_request *request, int64_t ttl_ms,
                                        int64_t deadline_ms);
bool hf_label_request_is_pending(const struct hf_label_request *request);
void hf_label_request_cancel(struct hf_label_request *request);
void hf_label_requests_end(struct hf_client *client);

/* hf_label_copy - copies a label from the reply to GET, cut and made safe for a terminal. */
void hf_label_copy(char dst[HF_LABEL_MAX + 1], struct hf_resp_value reply);

#endif
