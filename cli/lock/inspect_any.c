/* Finds out which kind of lock a name has. A server does not store the kind: the fields
 * of a hash show it; a string may be a value lock or a number of permits. */
/* Tests: tests/live/cli/test_run_status.c. */
#include "cli/lock/inspect_any.h"

#include <string.h>

#include "cli/base/counter.h"
#include "cli/base/report.h"
#include "cli/base/value_string.h"
#include "net/base/error.h"

static hf_status replace_handle_by_kind(struct hf_lock **lock, struct hf_client *client,
                                        enum hf_lock_kind kind, const char *name,
                                        struct hf_error *err)
{
    hf_lock_free(*lock);
    *lock = NULL;
    return hf_lock_new_kind(lock, client, kind, name, strlen(name), err);
}

/* The text of the server comes last. (A name with this very text is misread, which
 * affects only the message.) */
static bool is_wrong_type(hf_status status, const struct hf_error *err)
{
    return status == HF_E_SERVER && strstr(err->text, ": WRONGTYPE Operation against");
}

static hf_status fail_not_a_lock(const struct hf_client *client, const char *name,
                                 const char *what, struct hf_error *err)
{
    char quoted[CLI_QUOTE_MAX];

    return hf_error_set(err, HF_E_SERVER, "'%s' on %s is %s; it is not changed",
                        cli_quote(quoted, name, strlen(name)),
                        hf_client_address(client), what);
}

static hf_status inspect_with(struct cli_inspector *by, struct hf_lock *lock,
                              struct hf_lock_info *info, struct hf_error *err)
{
    return by ? by->inspect(by, lock, info, err) : hf_lock_inspect(lock, info, err);
}

static hf_status inspect_as_kind(struct hf_lock **lock, struct hf_client *client,
                                 enum hf_lock_kind kind, const char *name, struct cli_inspector *by,
                                 struct hf_lock_info *info, struct hf_error *err)
{
    hf_status rc = replace_handle_by_kind(lock, client, kind, name, err);

    if (rc == HF_OK)
        rc = inspect_with(by, *lock, info, err);
    return is_wrong_type(rc, err)
               ? fail_not_a_lock(client, name, "of a type that is not used for locks", err)
               : rc;
}

static hf_status interpret_string(const struct hf_client *client, const char *name,
                                  struct hf_lock_info *info, struct hf_error *err)
{
    int64_t number = 0;

    switch (cli_string_classify(info->holder, info->holder_full_len, info->ttl_ms,
                                &number)) {
    case CLI_STRING_EMPTY:
        return fail_not_a_lock(client, name, "an empty string, which is not a lock", err);
    case CLI_STRING_LONG:
        return fail_not_a_lock(client, name, "a string of more than 191 bytes, which is "
                                    "not a lock", err);
    case CLI_STRING_COUNTER:
        *info = (struct hf_lock_info){
            .kind = HF_KIND_PERMIT, .hold_count = number, .ttl_ms = -2};
        return HF_OK;
    case CLI_STRING_LOCK:
    case CLI_STRING_UNTIMED:
        break;
    }
    return HF_OK;
}

static bool is_number_text(const struct hf_lock_info *info)
{
    int64_t number;

    return cli_counter_read(info->holder, info->holder_full_len, &number);
}

/* A number may be that of a semaphore's permits; those that are out are known by a
 * key of their own. */
static hf_status inspect_string(struct hf_lock **lock, struct hf_client *client,
                                const char *name, struct cli_inspector *by,
                                struct hf_lock_info *info, struct hf_error *err)
{
    struct hf_lock_info string;
    hf_status rc = inspect_as_kind(lock, client, HF_KIND_VALUE, name, by, info, err);

    if (rc < 0 || !info->is_locked)
        return rc;
    if (!is_number_text(info))
        return interpret_string(client, name, info, err);
    string = *info;
    rc = inspect_as_kind(lock, client, HF_KIND_PERMIT, name, by, info, err);
    if (rc < 0 || info->is_locked)
        return rc;
    *info = string;
    if (info->ttl_ms >= 0 &&
        (rc = replace_handle_by_kind(lock, client, HF_KIND_VALUE, name, err)) < 0)
        return rc;
    return interpret_string(client, name, info, err);
}

hf_status cli_inspect_any(struct hf_lock **lock, struct hf_client *client,
                          const char *name, struct cli_inspector *by, struct hf_lock_info *info,
                          struct hf_error *err)
{
    hf_status rc = inspect_with(by, *lock, info, err);
    enum hf_lock_kind kind = info->kind;

    if (is_wrong_type(rc, err))
        return inspect_string(lock, client, name, by, info, err);
    return rc == HF_OK && (kind == HF_KIND_FAIR || kind == HF_KIND_READ ||
                           kind == HF_KIND_WRITE)
               ? replace_handle_by_kind(lock, client, kind, name, err)
               : rc;
}

int cli_inspect_any_or_report(struct hf_lock **lock, struct hf_client *client,
                              const char *name, struct hf_lock_info *info)
{
    struct hf_error err = {0};
    hf_status rc = cli_inspect_any(lock, client, name, NULL, info, &err);

    return rc < 0 ? cli_fail_status(rc, &err) : CLI_CONTINUE;
}
