/* What stands under a name. A server does not say of which kind a lock is: a hash
 * shows it by its fields, a string may be a value lock or a number of permits. */
#include "cli/look_up.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report.h"

static int become(struct hf_lock **lock, struct hf_client *client,
                  enum hf_lock_kind kind, const char *name)
{
    hf_lock_free(*lock);
    return cli_lock_open(lock, client, kind, name);
}

static bool is_wrong_type(hf_status status, const struct hf_error *err)
{
    return status == HF_E_SERVER && strstr(err->text, "WRONGTYPE");
}

static int fail(const char *name, hf_status status, const struct hf_error *err)
{
    char quoted[CLI_QUOTE_MAX];

    if (!is_wrong_type(status, err))
        return cli_fail_status(status, err);
    return cli_fail("the key %s is of a type that no lock has: it is left alone",
                    cli_quote(quoted, name, strlen(name)));
}

static bool is_number(const struct hf_lock_info *info)
{
    return info->ttl_ms < 0 && info->holder_len > 0 &&
           strspn(info->holder, "0123456789") == info->holder_len;
}

static int look_at(struct hf_lock **lock, struct hf_client *client,
                   enum hf_lock_kind kind, const char *name,
                   struct hf_lock_info *info)
{
    struct hf_error err = {0};
    int rc = become(lock, client, kind, name);
    hf_status status;

    if (rc != CLI_GO_ON)
        return rc;
    status = hf_lock_inspect(*lock, info, &err);
    return status < 0 ? fail(name, status, &err) : CLI_GO_ON;
}

static int look_at_string(struct hf_lock **lock, struct hf_client *client,
                          const char *name, struct hf_lock_info *info)
{
    int rc = look_at(lock, client, HF_KIND_VALUE, name, info);

    if (rc == CLI_GO_ON && info->is_locked && is_number(info))
        *info = (struct hf_lock_info){.kind = HF_KIND_PERMIT,
                                      .hold_count = atoll(info->holder),
                                      .ttl_ms = -2};
    return rc;
}

/* Permits that are out are known by a key of their own. */
static int look_at_permits(struct hf_lock **lock, struct hf_client *client,
                           const char *name, struct hf_lock_info *info)
{
    int rc = look_at(lock, client, HF_KIND_PERMIT, name, info);

    return rc != CLI_GO_ON || info->is_locked
               ? rc
               : look_at_string(lock, client, name, info);
}

int cli_look_up(struct hf_lock **lock, struct hf_client *client,
                const char *name, struct hf_lock_info *info)
{
    struct hf_error err = {0};
    hf_status status = hf_lock_inspect(*lock, info, &err);
    enum hf_lock_kind kind = info->kind;

    if (is_wrong_type(status, &err))
        return look_at_permits(lock, client, name, info);
    if (status < 0)
        return cli_fail_status(status, &err);
    return kind == HF_KIND_FAIR || kind == HF_KIND_READ || kind == HF_KIND_WRITE
               ? become(lock, client, kind, name)
               : CLI_GO_ON;
}
