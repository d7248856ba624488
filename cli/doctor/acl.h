/* The smallest ACL rule with which locks work. */
#ifndef CLI_DOCTOR_ACL_H
#define CLI_DOCTOR_ACL_H

#include "cli/doctor/facts.h"
#include "net/base/url.h"
#include "net/net.h"

/* Uses in addition to plain locks: bits of a set. */
enum doctor_use {
    DOCTOR_USE_FAIR = 1,
    DOCTOR_USE_SIDES = 2,       /* both sides of a read-write lock */
    DOCTOR_USE_FENCED = 4,
    DOCTOR_USE_LS = 8,          /* `holdfast ls` */
    DOCTOR_USE_RETENTION = 16,  /* fenced, with token_retention_ms */
    DOCTOR_USE_VALUE = 32,
    DOCTOR_USE_PERMITS = 64,    /* those that expire */
    DOCTOR_USE_SEMAPHORE = 128,
    DOCTOR_USE_LATCH = 256,
    DOCTOR_USE_LABEL = 1024,    /* of the holder */
    DOCTOR_USE_PLAIN = 512      /* nothing more: spin, quorum, multi */
};

/* The servers for which a rule is. */
enum doctor_acl_server {
    DOCTOR_ACL_UNKNOWN,
    DOCTOR_ACL_NO_CHANNELS,     /* Redis 6.0 */
    DOCTOR_ACL_NO_SETINFO,      /* Redis 7.0: refuses rules with CLIENT SETINFO */
    DOCTOR_ACL_LATEST           /* Redis 6.2, 7.2 and later, Valkey */
};

struct doctor_acl {
    const struct hf_url *url;
    const struct hf_seeds *seeds;
    const char *name;           /* the lock's; NULL: all locks */
    int uses;                   /* a set of enum doctor_use */
    bool may_end_connections;   /* the user may end connections, of any user */
    enum doctor_acl_server server;
};

/* doctor_use_of - returns the bit of a word: "fair", "shared", ...; 0: there is no such word.
 *   DOCTOR_USE_WORDS names them all.
 * doctor_acl_server_of - returns the servers for which a rule must be, by the versions that they
 *   reported. DOCTOR_ACL_UNKNOWN: they differ, or none was reported. Pure.
 * doctor_acl_print - prints a line for redis-cli to standard output: the rule that permits
 *   exactly what holdfast does at that URL with plain locks and with `uses`. For unknown
 *   servers, prints a second line that Redis 7.0 refuses and the others need. */
#define DOCTOR_USE_WORDS \
    "fair, shared, exclusive, fenced, retention, value, permits, semaphore, " \
    "latch, spin, quorum, multi, label or ls"
int doctor_use_of(const char *word);
enum doctor_acl_server doctor_acl_server_of(const struct doctor_facts *facts);
void doctor_acl_print(const struct doctor_acl *rule);

#endif
