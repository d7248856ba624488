/* The label `name` of metrics. */
#ifndef HF_METRIC_LABEL_H
#define HF_METRIC_LABEL_H

#include <stddef.h>

/* The bytes of the name that are shown: hf_metrics_options.name. */
#define METRIC_NAME_MAX 200
#define METRIC_LABEL_MAX (2 * METRIC_NAME_MAX + 16)

/* hf_metric_label - writes name="..." with the name as messages show it (hf_error_quote), at most
 *   METRIC_NAME_MAX bytes of it, its quotes and backslashes escaped. NULL: an empty text.
 *   Returns dst. */
char *hf_metric_label(char dst[METRIC_LABEL_MAX], const char *name);

#endif
