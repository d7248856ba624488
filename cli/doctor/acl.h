/* The least permissions with which locks work. */
#ifndef CLI_DOCTOR_ACL_H
#define CLI_DOCTOR_ACL_H

#include "net/base/url.h"
#include "net/net.h"

/* doctor_acl_print - to standard output, a line for redis-cli: the rule of a
 *   user who may do what holdfast does at that URL, and nothing else. `name` is
 *   the lock's; NULL: all locks. Asks no server. */
void doctor_acl_print(const struct hf_url *url, const struct hf_seeds *seeds,
                      const char *name);

#endif
