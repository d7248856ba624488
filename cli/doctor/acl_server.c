/* Which form of the ACL's rules servers accept, by their versions. */
/* Tests: tests/live/server/test_lock_acl.c. */
#include <stdio.h>

#include "cli/doctor/acl.h"

/* Redis 6 takes any subcommand in a rule. 7.0 takes those that it knows, and CLIENT
 * SETINFO, which every connection sends, came with 7.2. Channels came with 6.2. */
static enum doctor_acl_server acl_form_of_version(unsigned major, unsigned minor)
{
    if (major < 6)
        return DOCTOR_ACL_UNKNOWN; /* no ACL at all */
    if (major == 6)
        return minor < 2 ? DOCTOR_ACL_NO_CHANNELS : DOCTOR_ACL_LATEST;
    return major == 7 && minor < 2 ? DOCTOR_ACL_NO_SETINFO : DOCTOR_ACL_LATEST;
}

enum doctor_acl_server doctor_acl_server_of(const struct doctor_facts *facts)
{
    enum doctor_acl_server all = DOCTOR_ACL_UNKNOWN;

    for (uint32_t i = 0; i < facts->servers_count; i++) {
        const char *version = facts->servers[i]->facts[FACT_VERSION];
        enum doctor_acl_server one;
        unsigned major, minor;

        if (!version || sscanf(version, "%u.%u", &major, &minor) != 2)
            continue;
        one = acl_form_of_version(major, minor);
        if (all != DOCTOR_ACL_UNKNOWN && one != all)
            return DOCTOR_ACL_UNKNOWN;
        all = one;
    }
    return all;
}
