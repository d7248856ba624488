/* The client: options, the link and what it reports, the end of everything. */
/* Tests: tests/live/lock/test_lock_calls.c, tests/live/lock/test_lock_end.c. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lock/api/client_options.h"
#include "lock/api/op_request.h"
#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/label.h"
#include "lock/record/label_request.h"
#include "lock/record/wait_queue.h"
#include "lock/record/log.h"
#include "lock/record/shrink.h"
#include "lock/record/op.h"
#include "lock/record/table.h"
#include "lock/verb/switch.h"
#include "lock/verb/track.h"
#include "lock/verb/renew.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/moment.h"

/* Shorter, and the time of a reply over a long distance would be a suspicion. */
#define SUSPECT_LEAST_MS 100
#define DOUBT_AFTER_MS 1000
#define ROLES_MAX_MS 5000 /* limit of options.roles_interval_ms; equals LISTEN_MS (silence.c) */
/* The greatest reply: of CLUSTER SLOTS, a range for each slot. Those of scripts
 * hold a name at most. */
#define REPLY_MAX (16u << 20)

/* ---- new ---- */

static void on_trouble(void *ctx, enum hf_trouble about, const struct hf_error *why)
{
    static const enum hf_log_level levels[] = {[HF_TROUBLE_FAILURE] = HF_LOG_WARNING,
                                               [HF_TROUBLE_LOST] = HF_LOG_INFO,
                                               [HF_TROUBLE_TWO_MASTERS] = HF_LOG_ERROR};

    hf_client_log(ctx, levels[about], "%s", why->text);
}

static hf_status copy_text(char *dst, size_t room, const char *src,
                           const char *what, struct hf_error *err)
{
    if (strlen(src) >= room)
        return hf_error_set(err, HF_E_INVAL, "%s is longer than %zu bytes",
                            what, room - 1);
    memcpy(dst, src, strlen(src) + 1);
    return HF_OK;
}

static void copy_constant_options(struct hf_client *client,
                                  const struct hf_client_options *o)
{
    client->connect_timeout_ms = o->connect_timeout_ms;
    client->tries_connect_once = o->connect_once;
    client->request_timeout_ms = o->request_timeout_ms;
    client->watchdog_ms = o->watchdog_ms;
    client->replicas = o->replicas;
    client->replicas_timeout_ms = o->replicas_timeout_ms;
    client->token_retention_text[hf_resp_format_integer(client->token_retention_text,
                                                        o->token_retention_ms)] = '\0';
    client->locks_max = o->locks_max;
    client->waiters_max = o->waiters_max;
    client->log = o->log;
    client->log_ctx = o->log_ctx;
    client->worst_left_out_level = HF_LOG_INFO;
}

/* A failover takes a second at least (down-after-milliseconds); and a renewal that
 * is answered in its own third of the watchdog timeout needs no doubt. */
static int64_t doubt_after_ms(const struct hf_client_options *o)
{
    return hf_min_ms(o->watchdog_ms / 3, DOUBT_AFTER_MS);
}

/* A sixth of the TTL: the renewal was due after a third, so half of the TTL is left for
 * another connection. A quarter of the request's time: the rest is for its repetition.
 * With sentinels, so early that the client does not doubt the master (DOUBT-3) because of a
 * dead connection. A doubt takes 1.5 s more, and the place in a fair queue may end. */
static int64_t suspect_silence_after_ms(const struct hf_client_options *o,
                                        const struct hf_seeds *seeds)
{
    int64_t of_ttl = o->watchdog_ms / 6, of_request = o->request_timeout_ms / 4;
    int64_t ms = of_ttl < of_request ? of_ttl : of_request;
    int64_t of_doubt = doubt_after_ms(o) * 3 / 4;

    if (seeds->topology == HF_SENTINEL && ms > of_doubt)
        ms = of_doubt;
    return ms > SUSPECT_LEAST_MS ? ms : SUSPECT_LEAST_MS;
}

static hf_status create_router_and_label(struct hf_client *client,
                                         const struct hf_client_options *o,
                                         const struct hf_url *url,
                                         const struct hf_seeds *seeds,
                                         struct hf_error *err)
{
    struct hf_router_options options = {
        .seeds = seeds,
        .on_trouble = on_trouble,
        .on_switched = hf_switch_on_switched,
        .on_invalidated = hf_track_on_invalidated,
        .must_detect_switch = hf_switch_is_attentive,
        .ctx = client,
    };
    hf_status rc;

    hf_link_options_init(&options.link);
    options.link.url = *url;
    options.link.client_name = client->name;
    options.link.credentials = o->credentials;
    options.link.credentials_ctx = o->credentials_ctx;
    options.link.protocol = o->protocol;
    options.link.wants_tracking = url->is_tracking;
    options.link.connect_timeout_ms = o->connect_timeout_ms;
    options.link.silence_ms = o->request_timeout_ms;
    options.link.suspect_ms = suspect_silence_after_ms(o, seeds);
    options.link.idle_check_ms = o->idle_check_ms;
    options.link.output_max = o->output_max < OP_BYTES_MAX ? OP_BYTES_MAX : o->output_max;
    options.link.reply_max = REPLY_MAX;
    options.doubt_after_ms = doubt_after_ms(o);
    options.roles_interval_ms = hf_min_ms(o->watchdog_ms / 6, ROLES_MAX_MS);
    options.map_address = o->map_address;
    options.map_address_ctx = o->map_address_ctx;
    options.replicas_timeout_ms = o->replicas ? o->replicas_timeout_ms : 0;
    options.link.on_trace = o->trace;
    options.link.trace_ctx = o->trace_ctx;
    rc = hf_router_new(&client->router, client->loop, &options, err);
    explicit_bzero(&options.link.url, sizeof options.link.url);
    return rc;
}

static hf_status make_loop(struct hf_loop **loop,
                           const struct hf_client_options *o,
                           struct hf_error *err)
{
    struct hf_loop_options options = HF_LOOP_OPTIONS_INIT;
    hf_status rc;

    options.mem = o->mem;
    options.thread = o->thread;
    *loop = o->loop;
    if (*loop && hf_loop_forked(*loop))
        return hf_error_set(err, HF_E_FORKED, "%s",
                            hf_status_text(HF_E_FORKED));
    if (*loop)
        return HF_OK;
    rc = hf_loop_new(loop, &options);
    return rc < 0 ? hf_error_status(err, rc, "cannot make an event loop") : HF_OK;
}

/* Frees the parts of a client that may be incomplete. [locked] No operation may be
 * pending. */
static void free_client_members(struct hf_client *client)
{
    hf_router_free(client->router);
    hf_hold_free_spare(client);
    hf_tally_fini(client);
    hf_lock_table_fini(client);
    hf_label_free(client);
}

/* Logs options that weaken security, so that they are not forgotten. */
static void log_insecure_options(struct hf_client *client, const struct hf_url *url)
{
    if (hf_url_tls(url)->is_unverified)
        hf_client_log(client, HF_LOG_WARNING,
                      "%s: the server's certificate is not checked "
                      "(tls_verify=no): a machine in between can read and "
                      "change everything",
                      hf_router_address(client->router));
}

static void free_client(struct hf_client *client)
{
    struct hf_loop *loop = client->loop;
    bool owns_loop = client->owns_loop;

    hf_mem_free(client->mem, client, sizeof *client);
    if (owns_loop)
        hf_loop_free(loop);
}

static hf_status make_client(struct hf_client **out, struct hf_loop *loop,
                             const struct hf_client_options *o,
                             const struct hf_url *url, const struct hf_seeds *seeds,
                             struct hf_error *err)
{
    const struct hf_mem *mem = hf_loop_mem(loop);
    struct hf_client *client = hf_mem_new(mem, sizeof *client);
    hf_status rc;

    if (!client) {
        if (!o->loop)
            hf_loop_free(loop);
        return hf_error_set(err, HF_E_NOMEM, "out of memory");
    }
    client->loop = loop;
    client->owns_loop = o->loop == NULL;
    client->mem = client->declare_state.mem = mem;
    copy_constant_options(client, o);
    hf_list_init(&client->pending_ops);
    for (int i = 0; i < 2; i++)
        hf_list_init(&client->spare_holds[i]);
    hf_list_init(&client->spare_works);
    hf_list_init(&client->label_requests);
    hf_watchdog_init(client);
    hf_switch_init(client);
    hf_shrink_init(client);
    rc = copy_text(client->name, sizeof client->name, o->name, "the client's name", err);
    if (rc == HF_OK && !hf_uuid_make(client->uuid))
        rc = hf_error_set(err, HF_E_SYSTEM,
                          "the kernel gives no random bytes (getrandom)");
    if (rc == HF_OK)
        rc = create_router_and_label(client, o, url, seeds, err);
    hf_loop_lock(loop);
    if (rc == HF_OK && (rc = hf_lock_table_init(client)) < 0)
        (void)hf_error_set(err, rc, "%s", hf_status_text(rc));
    if (rc == HF_OK && o->label[0] && (rc = hf_label_open(client, o->label)) < 0)
        (void)hf_error_set(err, rc, "%s", hf_status_text(rc));
    if (rc < 0)
        free_client_members(client);
    else
        log_insecure_options(client, url);
    hf_loop_unlock(loop);
    if (rc < 0)
        free_client(client);
    else
        *out = client;
    return rc;
}

hf_status hf_client_new(struct hf_client **out,
                        const struct hf_client_options *options,
                        struct hf_error *err)
{
    struct hf_client_options o;
    struct hf_seeds seeds = {0};
    struct hf_loop *loop;
    struct hf_url url = {0};
    hf_status rc;

    if ((rc = hf_client_options_read(&o, &url, &seeds, options, err)) == HF_OK &&
        (rc = make_loop(&loop, &o, err)) == HF_OK)
        rc = make_client(out, loop, &o, &url, &seeds, err);
    explicit_bzero(o.words, sizeof o.words);
    hf_url_wipe(&url);
    hf_seeds_wipe(&seeds);
    return rc;
}

hf_status hf_client_new_url(struct hf_client **out, const char *url, struct hf_error *err)
{
    struct hf_client_options options;

    if (!url)
        return hf_error_set(err, HF_E_INVAL, "no URL was given");
    hf_client_options_init(&options);
    options.url = url;
    return hf_client_new(out, &options, err);
}

/* ---- connect ---- */

struct connect_probe {
    struct hf_command command;
    struct hf_waiter waiter;
    enum hf_outcome outcome;
    char refusal[200];          /* "": none */
    char address[300];          /* of the server that it was for, while that was
                                   there */
    struct hf_error error;
};

static void on_probed(struct hf_command *command, enum hf_outcome outcome,
                      struct hf_resp_value reply)
{
    struct connect_probe *probe = HF_OWNER_OF(command, struct connect_probe, command);
    const char *ptr = "";
    size_t len = 0;

    probe->outcome = outcome;
    probe->error = *hf_command_error(command);
    (void)snprintf(probe->address, sizeof probe->address, "%s",
                   hf_command_address(command));
    if (outcome == HF_ANSWERED && hf_resp_is_error(reply) &&
        hf_resp_bytes(reply, &ptr, &len) == HF_OK)
        (void)hf_error_quote(probe->refusal, sizeof probe->refusal, ptr, len);
    hf_waiter_wake(&probe->waiter);
}

static hf_status probe_status(const struct connect_probe *probe, struct hf_error *err)
{
    if (probe->outcome == HF_ANSWERED)
        return HF_OK;
    if (probe->error.status != HF_OK) {
        if (err)
            *err = probe->error;
        return probe->error.status;
    }
    if (probe->outcome == HF_UNSENT)
        return hf_error_set(err, HF_E_CONNECT, "%s: not connected in time",
                            probe->address);
    return hf_error_set(err, HF_E_NOREPLY, "%s: no reply in time",
                        probe->address);
}

/* Sends one command and waits for its reply. [locked] */
static hf_status send_probe(struct hf_client *client, struct connect_probe *probe,
                            struct hf_error *err)
{
    hf_status rc;

    probe->command.done = on_probed;
    hf_waiter_init(&probe->waiter, client->loop);
    rc = client->is_closing ? HF_E_CLOSED
                            : hf_router_send(client->router, &probe->command);
    if (rc < 0)
        return hf_error_set(err, rc, "%s", hf_status_text(rc));
    hf_loop_wait(&probe->waiter);
    if (hf_loop_forked(client->loop))
        return hf_fail_forked(err);
    hf_loop_lock(client->loop);
    return probe_status(probe, err);
}

/* A load balancer may still lead to a replica: the first request finds out, and goes to
 * the master (REPLACE-1). */
static bool was_refused_by_replica(const struct connect_probe *probe)
{
    static const char words[] = "ERR WAIT cannot be used with replica";

    return strncmp(probe->refusal, words, strlen(words)) == 0;
}

/* Any reply is enough, even LOADING or NOPERM. With replicas, WAIT must not be
 * refused, except by a replica. */
static hf_status connect_before_deadline(struct hf_client *client, uint16_t slot,
                                         int64_t deadline_ms, struct hf_error *err)
{
    static const struct hf_resp_arg ping[] = {{"PING", 4}};
    static const struct hf_resp_arg wait[] = {{"WAIT", 4}, {"0", 1}, {"1", 1}};
    struct connect_probe probe = {.command = {.argv = ping,
                                              .argc = 1,
                                              .slot = slot,
                                              .is_probe = true,
                                              .is_never_retried = client->tries_connect_once,
                                              .deadline_ms = deadline_ms}};
    hf_status rc = send_probe(client, &probe, err);

    if (rc < 0 || !client->replicas)
        return rc;
    probe = (struct connect_probe){.command = {.argv = wait,
                                               .argc = 3,
                                     .slot = slot,
                                               .is_replicated = true,
                                               .is_never_retried = client->tries_connect_once,
                                               .deadline_ms = deadline_ms}};
    rc = send_probe(client, &probe, err);
    if (rc == HF_OK && probe.refusal[0] && !was_refused_by_replica(&probe))
        rc = hf_error_set(err, HF_E_SERVER,
                          "%s: WAIT, which replicas=... needs: %s",
                          probe.address, probe.refusal);
    return rc;
}

static hf_status connect_to_server_of_slot(struct hf_client *client, uint16_t slot,
                                           struct hf_error *err)
{
    hf_status rc;

    if (hf_loop_forked(client->loop))
        return hf_error_set(err, HF_E_FORKED, "%s", hf_status_text(HF_E_FORKED));
    hf_loop_lock(client->loop);
    rc = connect_before_deadline(client, slot,
                                 hf_loop_now(client->loop) + client->connect_timeout_ms,
                                 err);
    hf_loop_unlock(client->loop);
    return rc;
}

hf_status hf_client_connect(struct hf_client *client, struct hf_error *err)
{
    return connect_to_server_of_slot(client, 0, err);
}

hf_status hf_lock_connect(struct hf_lock *lock, struct hf_error *err)
{
    return connect_to_server_of_slot(lock->client, lock->slot, err);
}

/* ---- the end ---- */

static void end_op_as_closed(struct hf_op *op)
{
    struct hf_hold *hold = op->hold;

    hf_call_cancel(&op->call);
    hf_loop_disarm(op->client->loop, &op->timer);
    op->hold = NULL;
    if (hold && hold->work->acting_op == op)
        hf_hold_abandon_op(hold);
    else if (hold)
        hf_hold_free(hold); /* of an acquire that was never granted */
    hf_op_finish(op, HF_E_CLOSED);
}

static void end_all_ops_as_closed(struct hf_client *client)
{
    while (!hf_list_is_empty(&client->pending_ops))
        end_op_as_closed(HF_OWNER_OF(client->pending_ops.next, struct hf_op, node));
}

static void lose_holds_of_lock(struct hf_lock *lock)
{
    for (struct hf_hold *hold = NULL; (hold = hf_hold_next(lock, hold));)
        (void)hf_hold_lose(hold, HF_REASON_CLOSED);
}

static void call_for_each_lock(struct hf_client *client, void (*act)(struct hf_lock *))
{
    struct hf_lock *next;

    for (struct hf_lock *lock = hf_lock_next(client, NULL); lock; lock = next) {
        next = hf_lock_next(client, lock);
        act(lock);
    }
}

static void stop_listening_for_lock(struct hf_lock *lock)
{
    if (lock->wait_queue)
        hf_wait_queue_stop_listening(lock->wait_queue);
}

static void free_holds_of_lock(struct hf_lock *lock)
{
    struct hf_hold *next;

    hf_lock_ref(lock);
    for (struct hf_hold *hold = hf_hold_next(lock, NULL); hold; hold = next) {
        next = hf_hold_next(lock, hold);
        hf_hold_free(hold);
    }
    hf_lock_unref(lock);
}

void hf_client_free(struct hf_client *client)
{
    struct hf_loop *loop;

    if (!client || hf_loop_forked(client->loop))
        return; /* in a child it is the parent's: not to be touched */
    loop = client->loop;
    hf_loop_lock(loop);
    client->is_closing = client->has_stopped_sending = true;
    hf_loop_quiesce(loop);
    call_for_each_lock(client, stop_listening_for_lock);
    end_all_ops_as_closed(client); /* the last waiter may take its lock along */
    hf_label_requests_end(client);
    hf_watchdog_fini(client);
    hf_switch_fini(client);
    call_for_each_lock(client, lose_holds_of_lock);
    hf_loop_resume(loop);
    hf_loop_finish_tasks(loop);
    client->log = NULL; /* a line from here on would find the client gone */
    hf_loop_quiesce(loop);
    call_for_each_lock(client, free_holds_of_lock);
    free_client_members(client);
    hf_shrink_fini(client);
    hf_loop_resume(loop);
    hf_loop_unlock(loop);
    free_client(client);
}

/* ---- requests ---- */

const char *hf_client_uuid(const struct hf_client *client)
{
    return client->uuid;
}

struct hf_loop *hf_client_loop(struct hf_client *client)
{
    return client->loop;
}

const char *hf_client_address(const struct hf_client *client)
{
    return hf_router_address(client->router);
}
