/* The label of the holder: --label, HOLDFAST_LABEL, or host, process and program. */
#ifndef CLI_LABEL_H
#define CLI_LABEL_H

#include <sys/types.h>

#include "cli/base/common.h"
#include "lock/label.h"

#define CLI_ENV_LABEL "HOLDFAST_LABEL"

/* A row for the tables of subcommands that hold locks, and its lines of help. */
#define CLI_LABEL_ROW {CLI_OPT_LABEL, 0, "label", "TEXT"}
#define CLI_LABEL_HELP \
    "  --label TEXT         name of the holder in status, watch and messages of\n" \
    "                       waiters; '': none. Default: $HOLDFAST_LABEL; else host,\n" \
    "                       process number and program\n"

/* cli_label_choose - sets the label of the clients, after the options were processed: the
 *   option; otherwise the variable; otherwise that of the URL; otherwise the default. `program`
 *   may be a path; `pid` is a process that a person can look for.
 * cli_label_choose_parent - does the same for a process that ends soon: the default names the
 *   process that has started it.
 * cli_label_format - writes the default for a host. Pure.
 * cli_label_is_enabled  - false: the label of this command was turned off.
 * cli_labels_are_enabled - false: the variable turns all labels off. */
void cli_label_choose(struct cli_common *common, pid_t pid, const char *program);
void cli_label_choose_parent(struct cli_common *common);
void cli_label_format(char dst[HF_LABEL_MAX + 1], const char *host, pid_t pid,
                      const char *program);
bool cli_label_is_enabled(const struct cli_common *common);
bool cli_labels_are_enabled(void);

/* cli_label_is_readable - returns whether the label of this holder can be read: labels are on, the
 *   lock is held, and the text of the holder is whole.
 * cli_label_read - reads the label of the holder, if it has one, the server permits it and the
 *   variable is not empty; otherwise "". Blocks until the reply. */
bool cli_label_is_readable(const struct hf_lock_info *info);
void cli_label_read(struct hf_client *client, const struct hf_lock_info *info,
                    char dst[HF_LABEL_MAX + 1]);

/* cli_label_extend, cli_label_remove - do as hf_label_extend and hf_label_remove, unless the
 *   variable is empty. An error is not reported. */
void cli_label_extend(struct hf_client *client, const char *owner, int64_t lease_ms);
void cli_label_remove(struct hf_client *client, const char *owner);

#endif
