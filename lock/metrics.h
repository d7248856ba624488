/* Counters of clients as text, for Prometheus and other collectors. Part of holdfast (lock.h).
 * docs/metrics.md describes each metric.
 *
 * Threads, errors: as in lock.h. */
#ifndef HF_METRICS_H
#define HF_METRICS_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hf_metrics_format {
    HF_METRICS_OPENMETRICS,     /* OpenMetrics 1.0. The last line is "# EOF" */
    HF_METRICS_PROMETHEUS       /* Prometheus text format 0.0.4, which the textfile collector
                                   of node_exporter reads. The samples are the same */
};

/* The values of Content-Type with which an HTTP server sends these formats. */
#define HF_METRICS_OPENMETRICS_TYPE                                           \
    "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define HF_METRICS_PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct hf_metrics_options {
    size_t size;                /* set by HF_METRICS_OPTIONS_INIT: net/version.h */
    enum hf_metrics_format format;
    const char *name;           /* not NULL: each sample has the label `name` with this value, of
                                   which at most HF_METRICS_NAME_MAX bytes are shown. Without
                                   it no label contains a name of a lock: their number has no
                                   limit, and each would be a series of its own */
};
#define HF_METRICS_OPTIONS_INIT {.size = sizeof(struct hf_metrics_options)}
#define HF_METRICS_NAME_MAX 200

/* hf_metrics_text - writes the counters of these clients, added up, as they are at this moment:
 *   grants, waits and holds by kind of lock, losses by reason, renewals, calls that failed, and
 *   connections. The counters of a client begin with hf_client_new.
 *   clients  the array may have one client. A client that is in it twice counts twice
 *   options  NULL: the defaults
 *   write    called for each line, without a newline, on this thread, before the function
 *            returns. No lock of the library is held, so that `write` may block and may call
 *            the library. `line` is valid until `write` returns
 *   ctx      passed to `write`
 * It locks the loop of each client only to copy numbers (about 10 KiB), which takes
 * microseconds; to find the oldest waiter it looks at up to 1,000 pending calls. It needs
 * 10 KiB of memory, from the allocator of the first client, and does no I/O. A callback may
 * call it.
 *
 * Names of metrics, labels and values of labels are part of the interface: a later version may
 * add some, and does not change or remove them. Each text has all metrics; samples with a label
 * `kind` appear after the first acquire of a lock of that kind. It has at most HF_METRICS_MAX
 * bytes. It contains no password, address or owner.
 * Returns HF_OK, HF_E_NOMEM or HF_E_FORKED (`write` was not called), HF_E_INVAL (count is 0, or
 * the options were not initialised). */
#define HF_METRICS_MAX (512u << 10)
HF_API hf_status hf_metrics_text(struct hf_client *const *clients, size_t count,
                                 const struct hf_metrics_options *options,
                                 void (*write)(void *ctx, const char *line), void *ctx);

#ifdef __cplusplus
}
#endif

#endif
