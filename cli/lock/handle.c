/* A word by which a later process finds a hold again. */
/* Tests: tests/live/cli/test_acquire.c. */
#include "cli/lock/handle.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/lock_words.h"
#include "cli/base/report.h"

/* The least time that is set aside to print and to end. */
#define REPORTED_END_MIN_MS 50

/* Renewing and releasing need no token. */
static enum hf_lock_kind without_token(enum hf_lock_kind kind)
{
    return (enum hf_lock_kind)((unsigned)kind & ~(unsigned)HF_WITH_TOKEN);
}

const char *cli_handle_kind(enum hf_lock_kind kind)
{
    return cli_kind_word(without_token(kind));
}

char *cli_handle_format(char dst[CLI_HANDLE_MAX], enum hf_lock_kind kind,
                        const char *owner)
{
    if (without_token(kind) == HF_KIND_PLAIN)
        (void)snprintf(dst, CLI_HANDLE_MAX, "%s", owner);
    else
        (void)snprintf(dst, CLI_HANDLE_MAX, "%s:%s", cli_handle_kind(kind), owner);
    return dst;
}

int64_t cli_handle_safe_at_end(int64_t safe_ms)
{
    int64_t fiftieth_ms = safe_ms / 50;

    return safe_ms - (fiftieth_ms > REPORTED_END_MIN_MS ? fiftieth_ms : REPORTED_END_MIN_MS);
}

/* As Redisson prints it. No owner has this form. */
static bool is_permit_id(const char *text)
{
    return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

/* Splits "KIND:owner". Without a known kind it is of a plain lock, and all of it is
 * the owner. */
static void parse_handle(struct cli_handle *h)
{
    static const enum hf_lock_kind kinds[] = {HF_KIND_FAIR, HF_KIND_READ,
                                              HF_KIND_WRITE, HF_KIND_VALUE,
                                              HF_KIND_PERMIT};

    h->kind = is_permit_id(h->text) ? HF_KIND_PERMIT : HF_KIND_PLAIN;
    h->owner = h->text;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *word = cli_kind_word(kinds[i]);
        size_t len = strlen(word);

        if (strncmp(h->text, word, len) == 0 && h->text[len] == ':') {
            h->kind = kinds[i];
            h->owner = h->text + len + 1;
            return;
        }
    }
}

int cli_handle_check(const struct cli_args *args, const char *name,
                     const char *text)
{
    if (!name || !text)
        return cli_usage(args, "NAME and HANDLE, the first word that 'holdfast "
                               "acquire' printed, are required");
    if (!*name)
        return cli_usage(args, "NAME is empty");
    return *text ? CLI_CONTINUE : cli_usage(args, "HANDLE is empty");
}

int cli_handle_extra_word(const struct cli_args *args, const char *word)
{
    return cli_usage(args, "unexpected argument '%s': HANDLE is only the first word "
                           "that 'holdfast acquire' printed", word);
}

/* "uuid:number", as `acquire` prints it, or "uuid:number:write". A wrong one is detected before
 * the server is connected. For a value lock the library accepts any text, but a script that
 * confuses its arguments must not release an application's key. The owner of a permit has another
 * form, which the library checks. */
static bool has_owner_form(const struct cli_handle *h)
{
    size_t uuid = strspn(h->owner, "0123456789abcdef-");
    const char *number = h->owner + uuid + 1, *end;

    if (h->kind == HF_KIND_PERMIT)
        return true;
    if (uuid != 36 || h->owner[uuid] != ':' || !*number)
        return false;
    end = number + strspn(number, "-0123456789");
    return *end == '\0' || (h->kind == HF_KIND_WRITE && strcmp(end, ":write") == 0);
}

static int fail_invalid_handle(const struct cli_handle *h)
{
    char quoted[CLI_QUOTE_MAX];

    return cli_fail("%s is not a handle: use the first word that 'holdfast acquire' "
                    "printed, such as fair:UUID:NUMBER",
                    cli_quote(quoted, h->text, strlen(h->text)));
}

int cli_handle_open(struct cli_handle *h, const struct cli_common *common,
                    const char *name, const char *text)
{
    int rc;

    *h = (struct cli_handle){.name = name, .text = text};
    parse_handle(h);
    if (!has_owner_form(h))
        return fail_invalid_handle(h);
    rc = cli_client_open_no_retry(&h->client, common);
    return rc == CLI_CONTINUE ? cli_lock_open(&h->lock, h->client, h->kind, name)
                           : rc;
}

void cli_handle_close(struct cli_handle *h)
{
    hf_lock_free(h->lock);
    hf_client_free(h->client);
}

int cli_handle_fail(const struct cli_handle *h, hf_status status,
                    const struct hf_error *err)
{
    return status == HF_E_INVAL ? fail_invalid_handle(h) : cli_fail_status(status, err);
}

static void warn_of_loss(const struct cli_handle *h, const char *done)
{
    char name[CLI_QUOTE_MAX], owner[CLI_QUOTE_MAX];

    cli_warn("%s is not %s: %s does not hold it",
             cli_quote(name, h->name, strlen(h->name)), done,
             cli_quote(owner, h->owner, strlen(h->owner)));
}

int cli_handle_report(const struct cli_handle *h,
                      const struct cli_common *common, const char *done,
                      bool is_done, int64_t safe_ms)
{
    struct cli_lock lock = {.name = h->name, .name_len = strlen(h->name)};
    int rc = CLI_CONTINUE;
    struct cli_json j;

    if (!is_done)
        warn_of_loss(h, done);
    if (common->is_json) {
        cli_json_init(&j);
        cli_lock_put_name(&j, &lock);
        cli_json_bool(&j, done, is_done);
        if (safe_ms > 0)
            cli_json_integer(&j, "safe_ms", safe_ms);
        rc = cli_json_print(&j);
    } else if (safe_ms > 0) {
        (void)printf("%lld\n", (long long)safe_ms);
    }
    if (rc != CLI_CONTINUE)
        return rc;
    return is_done ? CLI_EXIT_OK : CLI_EXIT_LOST;
}
