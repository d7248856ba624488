/* The label `name`, as collectors read it. Source: OpenMetrics 1.0.0, "ABNF", escaped-string. */
/* Tests: tests/test_lock_metrics.c. */
#include "net/base/metric_label.h"

#include <string.h>

#include "net/base/error.h"

char *hf_metric_label(char dst[METRIC_LABEL_MAX], const char *name)
{
    char quoted[METRIC_NAME_MAX + 1];
    char *at = dst;

    *dst = '\0';
    if (!name)
        return dst;
    (void)hf_error_quote(quoted, sizeof quoted, name, strlen(name));
    memcpy(at, "name=\"", 6);
    at += 6;
    for (const char *from = quoted; *from; from++) {
        if (*from == '"' || *from == '\\')
            *at++ = '\\';
        *at++ = *from;
    }
    memcpy(at, "\"", 2);
    return dst;
}
