/* The options of a client, from the program and the URL. Private to lock/. */
#ifndef HF_CLIENT_OPTIONS_H
#define HF_CLIENT_OPTIONS_H

#include "lock/connect.h"
#include "net/base/url.h"

/* hf_client_options_read - copies the options of the program, of any version, completes them and
 *   the URL from each other, and checks them. *o borrows from *url and from the program.
 *   HF_E_INVAL, HF_E_NOMEM; *url and *seeds, which were zeros, must be wiped in any case. */
hf_status hf_client_options_read(struct hf_client_options *o, struct hf_url *url,
                                 struct hf_seeds *seeds,
                                 const struct hf_client_options *given,
                                 struct hf_error *err) HF_MUST_CHECK;

#endif
