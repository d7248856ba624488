/* The options of a client: their defaults, their names, and what the URL says. */
/* Tests: tests/live/server/test_url.c, tests/live/lock/test_lock_calls.c. */
#include "lock/api/client_options.h"

#include <assert.h>
#include <string.h>

#include "lock/label.h"
#include "net/base/error.h"
#include "net/base/moment.h"
#include "net/base/sized.h"
#include "net/base/named_options.h"

#define WATCHDOG_LEAST_MS 100   /* three renewals in less time would load the server */
#define TIMEOUT_MS 5000        /* to connect; of a request */
#define IDLE_CHECK_MS 30000
#define REPLICAS_TIMEOUT_MS 1000
#define REPLICAS_MAX 1024
#define OUTPUT_LEAST (192u << 10)

static const struct hf_client_options defaults = {.thread = true,
                                                 .watchdog_ms = 30000,
                                                 .locks_max = 1u << 20,
                                                 .waiters_max = 1u << 20,
                                                 .output_max = 64u << 20};
static const struct hf_sized options_size = HF_SIZED(hf_client_options, words);

void hf_client_options_init_sized(struct hf_client_options *options, size_t size)
{
    hf_sized_write(options, size, &defaults, sizeof defaults);
    if (size >= sizeof options->size)
        options->size = size;
}

/* Within the members that every version has, so the size of the program does not matter. */
static hf_status check_struct_size(const struct hf_client_options *options, struct hf_error *err)
{
    struct hf_client_options copy;
    hf_status rc = hf_sized_read(&copy, &options_size, options, err);

    explicit_bzero(&copy, sizeof copy); /* it may have a password */
    return rc;
}

hf_status hf_client_options_set(struct hf_client_options *options, const char *name,
                                const char *value, struct hf_error *err)
{
    hf_status rc = check_struct_size(options, err);

    if (rc == HF_OK && !name)
        return hf_error_set(err, HF_E_INVAL, "no name of an option was given");
    return rc < 0 ? rc
                  : hf_named_options_set(options->words, sizeof options->words, name, value, err);
}

/* ---- completion ---- */

static int64_t first_nonzero(int64_t option, int64_t of_url, int64_t otherwise)
{
    if (option != 0)
        return option;
    return of_url != 0 ? of_url : otherwise;
}

/* Fills in options that the caller did not set from the URL, or with defaults. *o
 * borrows from the URL. */
static void fill_unset_options(struct hf_client_options *o, const struct hf_url *url)
{
    if (!o->name)
        o->name = url->client_name[0] ? url->client_name : "holdfast";
    if (!o->label)
        o->label = url->label;
    o->protocol = (int)first_nonzero(o->protocol, url->protocol, 3);
    o->connect_timeout_ms = first_nonzero(o->connect_timeout_ms,
                                          url->connect_timeout_ms, TIMEOUT_MS);
    o->request_timeout_ms = first_nonzero(o->request_timeout_ms, url->timeout_ms, TIMEOUT_MS);
    o->idle_check_ms = first_nonzero(o->idle_check_ms, url->idle_check_ms, IDLE_CHECK_MS);
    o->replicas = (int)first_nonzero(o->replicas, url->replicas, 0);
    o->replicas_timeout_ms = first_nonzero(o->replicas_timeout_ms,
                                           url->replicas_timeout_ms, 0);
    if (o->replicas_timeout_ms == 0)
        o->replicas_timeout_ms = hf_min_ms(REPLICAS_TIMEOUT_MS, o->watchdog_ms / 6);
}

/* Parses the URL, and completes it and the options from each other. */
static hf_status merge_url(struct hf_url *url, struct hf_seeds *seeds,
                           struct hf_client_options *o, struct hf_error *err)
{
    hf_status rc = hf_named_options_parse(url, seeds, o->url, o->words, &o->watchdog_ms, err);

    if (rc == HF_OK) /* a user perhaps has no password */
        rc = hf_login_replace(&url->login, o->user, o->password, err);
    if (o->sentinel_tls)
        url->sentinel_tls = o->sentinel_tls > 0 ? HF_SENTINEL_TLS_YES : HF_SENTINEL_TLS_NO;
    if (rc == HF_OK && o->tls)
        rc = hf_url_set_tls(url, o->tls, err);
    if (rc == HF_OK)
        fill_unset_options(o, url);
    return rc;
}

static bool is_time_in_range(int64_t ms, int64_t least_ms)
{
    return ms >= least_ms && ms <= HF_SPAN_MAX_MS;
}

static hf_status check_timeout(const char *name, int64_t ms, struct hf_error *err)
{
    return is_time_in_range(ms, 1) ? HF_OK
                          : hf_error_set(err, HF_E_INVAL, "%s must be 1 to %lld ms", name,
                                         (long long)HF_SPAN_MAX_MS);
}

static hf_status check_replicas(const struct hf_client_options *o, struct hf_error *err)
{
    hf_status rc;

    if (o->replicas < HF_REPLICAS_MAJORITY || o->replicas > REPLICAS_MAX)
        return hf_error_set(err, HF_E_INVAL,
                            "replicas must be 0 to %d, all or majority",
                            REPLICAS_MAX);
    if (!o->replicas)
        return HF_OK;
    if ((rc = check_timeout("replicas_timeout_ms", o->replicas_timeout_ms, err)) < 0)
        return rc;
    if (o->replicas_timeout_ms > o->watchdog_ms / 6)
        return hf_error_set(err, HF_E_INVAL,
                            "the replicas' timeout is at most a sixth of the "
                            "watchdog's, %lld ms here",
                            (long long)o->watchdog_ms / 6);
    return HF_OK;
}

static hf_status check_token_retention(const struct hf_client_options *o, struct hf_error *err)
{
    if (o->token_retention_ms == 0 ||
        is_time_in_range(o->token_retention_ms, HF_TOKEN_RETENTION_LEAST_MS))
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL,
                        "token_retention_ms is 0 (forever), or %lld to %lld ms",
                        (long long)HF_TOKEN_RETENTION_LEAST_MS,
                        (long long)HF_SPAN_MAX_MS);
}

static_assert(sizeof((struct hf_url *)0)->label == HF_LABEL_MAX + 1, "the URL's is as long");

static hf_status check_options(const struct hf_client_options *o, struct hf_error *err)
{
    hf_status rc;

    if (!is_time_in_range(o->watchdog_ms, WATCHDOG_LEAST_MS))
        return hf_error_set(err, HF_E_INVAL,
                            "the watchdog timeout is %d to %lld ms",
                            WATCHDOG_LEAST_MS, (long long)HF_SPAN_MAX_MS);
    if ((rc = check_timeout("connect_timeout_ms", o->connect_timeout_ms, err)) < 0 ||
        (rc = check_timeout("request_timeout_ms", o->request_timeout_ms, err)) < 0 ||
        (rc = check_timeout("idle_check_ms", o->idle_check_ms, err)) < 0)
        return rc;
    if (o->output_max < OUTPUT_LEAST)
        return hf_error_set(err, HF_E_INVAL, "output_max is at least %u",
                            OUTPUT_LEAST);
    if (o->protocol != 2 && o->protocol != 3)
        return hf_error_set(err, HF_E_INVAL, "the protocol is 2 or 3");
    if ((rc = hf_url_check_label(o->label, err)) < 0)
        return rc;
    return check_token_retention(o, err);
}

hf_status hf_client_options_read(struct hf_client_options *o, struct hf_url *url,
                                 struct hf_seeds *seeds,
                                 const struct hf_client_options *given,
                                 struct hf_error *err)
{
    hf_status rc;

    *o = defaults;
    if ((rc = hf_sized_read(o, &options_size, given, err)) < 0 ||
        (rc = merge_url(url, seeds, o, err)) < 0 || (rc = check_options(o, err)) < 0)
        return rc;
    return check_replicas(o, err);
}
