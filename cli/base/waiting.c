/* Reports to a person that a lock is held and the command waits for it. */
/* Tests: tests/live/cli/test_hold.c, tests/live/cli/test_run_status.c. */
#include "cli/base/waiting.h"

#include "cli/base/report.h"

void cli_waiting_say(const char *quoted, const struct hf_lock_info *info)
{
    char holder[CLI_QUOTE_MAX], ttl[CLI_SPAN_MAX];

    (void)cli_quote(holder, info->holder, info->holder_len);
    if (info->ttl_ms == -1 && info->holder_len > 0)
        cli_warn("waiting for %s: held by %s without a TTL, so it never expires; if its "
                 "holder no longer runs, use 'holdfast unlock'", quoted, holder);
    else /* a semaphore does not know the owners of its permits */
        cli_verbose("waiting for %s: held by %s, TTL %s", quoted,
                    info->holder_len > 0 ? holder : "others",
                    info->ttl_ms >= 0 ? cli_span(ttl, info->ttl_ms) : "none");
}
