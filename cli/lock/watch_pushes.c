/* Pushes about watched locks. */
/* Tests: tests/live/cli/test_watch.c. */
#include "cli/lock/watch_pushes.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/report.h"
#include "net/base/error.h"
#include "net/base/moment.h"
#include "net/route/router.h"

#define TIMEOUT_MS 5000         /* of a reply, if the URL has none */
#define ARM_TIMEOUT_MS 1000     /* a longer reply is not awaited: the look waits for the server */
#define REPLY_MAX (16u << 20)   /* a map of a cluster, and a push */

struct armed_key {
    const char *name;           /* NULL: never armed */
    uint16_t slot;
    bool is_armed;
    bool has_changed;
};

struct cli_pushes {
    struct hf_loop *loop;
    struct hf_router *router;
    int64_t timeout_ms;
    struct hf_command command;  /* one at a time */
    struct hf_resp_arg argv[2];
    bool is_pending;
    bool is_answered;
    size_t keys_count;
    struct armed_key keys[];
};

/* ---- what is reported ---- */

static void disarm_as_changed(struct armed_key *mark)
{
    mark->has_changed |= mark->is_armed;
    mark->is_armed = false;
}

/* A key NULL: any key of the server, after a new connection. */
static void on_invalidated(void *ctx, const struct hf_server *server, const char *key,
                           size_t len)
{
    struct cli_pushes *p = ctx;

    for (size_t i = 0; i < p->keys_count; i++) {
        struct armed_key *mark = &p->keys[i];

        if (mark->name && (key ? strlen(mark->name) == len && memcmp(mark->name, key, len) == 0
                               : hf_router_server_serves(p->router, server, mark->slot)))
            disarm_as_changed(mark);
    }
}

/* A lost connection: nothing is reported until another one is made. */
static void on_trouble(void *ctx, enum hf_trouble about, const struct hf_error *why)
{
    struct cli_pushes *p = ctx;

    (void)why;
    if (about == HF_TROUBLE_LOST)
        for (size_t i = 0; i < p->keys_count; i++)
            disarm_as_changed(&p->keys[i]);
}

static bool always_detects_switches(void *ctx)
{
    (void)ctx;
    return true;
}

bool cli_pushes_take(struct cli_pushes *p, size_t i)
{
    bool has_changed = p && p->keys[i].has_changed;

    if (p)
        p->keys[i].has_changed = false;
    return has_changed;
}

/* ---- arming ---- */

static void on_reply(struct hf_command *command, enum hf_outcome outcome,
                     struct hf_resp_value reply)
{
    struct cli_pushes *p = HF_OWNER_OF(command, struct cli_pushes, command);

    p->is_pending = false;
    p->is_answered = outcome == HF_ANSWERED && !hf_resp_is_error(reply);
}

/* [locked] */
static hf_status send_exists(struct cli_pushes *p, const struct armed_key *mark)
{
    p->argv[0] = (struct hf_resp_arg){"EXISTS", 6};
    p->argv[1] = (struct hf_resp_arg){mark->name, strlen(mark->name)};
    p->command = (struct hf_command){.argv = p->argv,
                                     .argc = 2,
                                     .slot = mark->slot,
                                     .is_never_retried = true,
                                     .is_tracked = true,
                                     .deadline_ms = hf_loop_now(p->loop) + p->timeout_ms,
                                     .done = on_reply};
    return hf_router_send(p->router, &p->command);
}

/* False: the reply takes longer. A reply that comes later arms nothing. */
static bool wait_for_reply(const struct cli_pushes *p, int64_t until_ms)
{
    int64_t end_ms = hf_min_ms(hf_clock_ms() + ARM_TIMEOUT_MS, until_ms), left_ms;

    while (p->is_pending && (left_ms = end_ms - hf_clock_ms()) > 0)
        hf_loop_dispatch(p->loop, (int)left_ms);
    return !p->is_pending;
}

/* A push that arrives with the reply counts: it is set before. */
bool cli_pushes_arm(struct cli_pushes *p, size_t i, const char *name, int64_t until_ms)
{
    struct armed_key *mark = &p->keys[i];
    bool is_in_time;

    if (p->is_pending)
        return false;
    hf_loop_lock(p->loop);
    mark->name = name;
    mark->slot = hf_router_slot(p->router, name, strlen(name));
    mark->is_armed = true;
    mark->has_changed = p->is_answered = false;
    p->is_pending = send_exists(p, mark) == HF_OK;
    hf_loop_unlock(p->loop);
    is_in_time = wait_for_reply(p, until_ms);
    hf_loop_lock(p->loop);
    mark->is_armed = is_in_time && p->is_answered && !p->command.was_redirected_by_ask &&
                     hf_router_is_tracking(p->router);
    hf_loop_unlock(p->loop);
    return mark->is_armed;
}

/* ---- open, free ---- */

static hf_status open_router(struct cli_pushes *p, const struct hf_url *url,
                             const struct hf_seeds *seeds, struct hf_error *err)
{
    struct hf_router_options options = {.seeds = seeds,
                                        .on_invalidated = on_invalidated,
                                        .on_trouble = on_trouble,
                                        .must_detect_switch = always_detects_switches,
                                        .ctx = p};
    hf_status rc;

    p->timeout_ms = url->timeout_ms > 0 ? url->timeout_ms : TIMEOUT_MS;
    hf_link_options_init(&options.link);
    options.link.url = *url;
    options.link.client_name = "holdfast-watch";
    options.link.protocol = url->protocol ? url->protocol : 3;
    options.link.wants_tracking = true;
    options.link.connect_timeout_ms = url->connect_timeout_ms;
    options.link.silence_ms = p->timeout_ms;
    options.link.idle_check_ms = url->idle_check_ms > 0 ? url->idle_check_ms : 30000;
    options.link.reply_max = REPLY_MAX;
    rc = hf_router_new(&p->router, p->loop, &options, err);
    explicit_bzero(&options.link.url, sizeof options.link.url);
    return rc;
}

int cli_pushes_open(struct cli_pushes **out, struct hf_loop *loop,
                    const struct cli_common *common, size_t count)
{
    struct cli_pushes *p = calloc(1, sizeof *p + count * sizeof *p->keys);
    struct hf_seeds seeds = {0};
    struct hf_url url = {0};
    struct hf_error err;
    int rc;

    *out = p;
    if (!p)
        return cli_fail("out of memory");
    p->loop = loop;
    p->keys_count = count;
    rc = cli_common_parse_url(&url, &seeds, common);
    if (rc == CLI_CONTINUE && open_router(p, &url, &seeds, &err) < 0)
        rc = cli_fail_status(err.status, &err);
    hf_url_wipe(&url);
    hf_seeds_wipe(&seeds);
    return rc;
}

void cli_pushes_free(struct cli_pushes *p)
{
    if (!p)
        return;
    hf_loop_lock(p->loop);
    hf_router_free(p->router);
    hf_loop_unlock(p->loop);
    free(p);
}
