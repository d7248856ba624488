/* Statuses of lock/ as sentences and as names. */
/* Tests: tests/test_lock_status.c. */
#include "lock/lock.h"
#include "net/base/error.h"

const char *hf_status_text(hf_status status)
{
#define CASE(name, value, text) case name: return text;
    switch (status) {
        HF_LOCK_STATUS_MAP(CASE)
    }
#undef CASE
    return hf_net_status_text(status);
}

const char *hf_status_name(hf_status status)
{
#define CASE(name, value, text) case name: return #name;
    switch (status) {
        HF_LOCK_STATUS_MAP(CASE)
    }
#undef CASE
    return hf_net_status_name(status);
}
