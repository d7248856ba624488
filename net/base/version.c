/* The version of the library. */
/* Tests: tests/test_lock_status.c. */
#include "net/version.h"

const char *hf_version(void)
{
    return HF_VERSION;
}
