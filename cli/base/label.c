/* The label of the holder. */
/* Tests: tests/test_cli_values.c, tests/live/cli/test_run_label.c. */
#include "cli/base/label.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/base/error.h"
#include "net/base/utf8.h"

#define HOST_MAX 56             /* bytes of each that are shown */
#define PROGRAM_MAX 56

static size_t cut_label(const char *text, size_t max)
{
    size_t len = strlen(text);

    return len > max ? hf_utf8_complete_len(text, max) : len;
}

void cli_label_format(char dst[HF_LABEL_MAX + 1], const char *host, pid_t pid,
                      const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash && slash[1] ? slash + 1 : program;

    (void)snprintf(dst, HF_LABEL_MAX + 1, "%.*s %ld %.*s", (int)cut_label(host, HOST_MAX), host,
                   (long)pid, (int)cut_label(name, PROGRAM_MAX), name);
    hf_error_sanitize(dst, strlen(dst));
}

static void write_default_label(char dst[HF_LABEL_MAX + 1], pid_t pid, const char *program)
{
    char host[256] = "";

    if (gethostname(host, sizeof host - 1) < 0 || !*host)
        (void)strcpy(host, "localhost");
    cli_label_format(dst, host, pid, program);
}

/* By the option, or by the variable. */
static bool has_chosen_label(struct cli_common *common)
{
    common->label_source = common->label ? "--label" : CLI_ENV_LABEL;
    if (!common->label)
        common->label = getenv(CLI_ENV_LABEL);
    return common->label;
}

void cli_label_choose(struct cli_common *common, pid_t pid, const char *program)
{
    if (!has_chosen_label(common))
        write_default_label(common->default_label, pid, program);
}

static bool is_label_disabled(const char *label)
{
    return label && !*label;
}

bool cli_labels_are_enabled(void)
{
    return !is_label_disabled(getenv(CLI_ENV_LABEL));
}

bool cli_label_is_enabled(const struct cli_common *common)
{
    return !is_label_disabled(common->label);
}

/* Its name, as ps(1) shows it. */
void cli_label_choose_parent(struct cli_common *common)
{
    pid_t pid = getppid();
    char path[32], name[64] = "";
    ssize_t len = -1;
    int fd;

    if (has_chosen_label(common))
        return;
    (void)snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        len = read(fd, name, sizeof name - 1);
        (void)close(fd);
    }
    name[len > 0 ? strcspn(name, "\n") : 0] = '\0';
    cli_label_choose(common, pid, *name ? name : "holdfast");
}

bool cli_label_is_readable(const struct hf_lock_info *info)
{
    return cli_labels_are_enabled() && info->is_locked && info->holder_full_len <= info->holder_len;
}

/* Without the right, or from a server that is unreachable now, it is not shown. */
void cli_label_read(struct hf_client *client, const struct hf_lock_info *info,
                    char dst[HF_LABEL_MAX + 1])
{
    struct hf_error err;

    *dst = '\0';
    if (cli_label_is_readable(info))
        (void)hf_label_read(client, info->holder, info->holder_len, dst, &err);
}

void cli_label_extend(struct hf_client *client, const char *owner, int64_t lease_ms)
{
    struct hf_error err;

    if (cli_labels_are_enabled())
        (void)hf_label_extend(client, owner, strlen(owner), lease_ms, &err);
}

void cli_label_remove(struct hf_client *client, const char *owner)
{
    struct hf_error err;

    if (cli_labels_are_enabled())
        (void)hf_label_remove(client, owner, strlen(owner), &err);
}
