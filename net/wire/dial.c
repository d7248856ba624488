/* From a URL to a connected socket: race.c's decisions, carried out.
 *
 *   idle -start-> resolving -found-> racing -connected, or none left-> idle
 *            +------ an address already -^
 *
 * A dial that begins or fails at once does so when the timer, due now, fires:
 * `done` is called from events alone. */
/* Tests: tests/test_net_dial.c. */
#include "net/wire/dial.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "net/base/error.h"
#include "net/loop/loop.h"
#include "net/wire/socket.h"

/* ---- what went wrong ---- */

static void append_to_reason(struct hf_dial *d, const char *between, const char *text)
{
    size_t len = strlen(d->failure_text);

    (void)snprintf(d->failure_text + len, sizeof d->failure_text - len, "%s%s", between, text);
}

/* The address is named where there are several. */
static void append_failure_of_address(struct hf_dial *d, unsigned index, const char *why)
{
    const struct hf_address *a = &d->race.addresses.list[index];
    const char *between = d->failure_text[0] ? "; " : "";
    char text[NI_MAXHOST];

    if (d->race.addresses.count > 1 &&
        getnameinfo((const struct sockaddr *)&a->storage, a->len, text,
                    sizeof text, NULL, 0, NI_NUMERICHOST) == 0) {
        append_to_reason(d, between, text);
        between = ": ";
    }
    append_to_reason(d, between, why);
}

char *hf_dial_error(const struct hf_dial *d, char *dst, size_t room)
{
    bool is_over = !d->pending_lookup && hf_race_is_lost(&d->race);
    bool is_found = d->race.addresses.count > 0;

    (void)snprintf(dst, room, "cannot %s%s%s%s",
                   is_found ? "connect" : "resolve the name",
                   is_over ? "" : " in time", d->failure_text[0] ? ": " : "",
                   d->failure_text); /* cut is fine */
    return dst;
}

/* ---- ending ---- */

static void stop_racer(struct hf_racer *racer)
{
    if (racer->io.fd < 0)
        return;
    hf_loop_unwatch(racer->dial->loop, &racer->io);
    hf_socket_close(racer->io.fd);
    racer->io.fd = -1;
}

void hf_dial_stop(struct hf_dial *d)
{
    hf_resolve_cancel(d->pending_lookup);
    d->pending_lookup = NULL;
    hf_loop_disarm(d->loop, &d->timer);
    for (unsigned i = 0; i < d->race.addresses.count; i++)
        stop_racer(&d->racers[i]);
}

static void finish_dial(struct hf_dial *d, int fd)
{
    hf_dial_stop(d);
    d->done(d, fd);
}

/* ---- racing ---- */

static void on_socket_ready(struct hf_io *io, int events);

/* NULL: it runs. */
static const char *start_racer(struct hf_racer *racer,
                               const struct hf_address *a)
{
    hf_status rc;
    int fd;

    if (hf_socket_connect(&fd, (const struct sockaddr *)&a->storage, a->len) <
        0)
        return strerror(errno);
    racer->io = (struct hf_io){.fd = fd, .events = HF_WRITE, .ready = on_socket_ready};
    rc = hf_loop_watch(racer->dial->loop, &racer->io);
    if (rc == HF_OK)
        return NULL;
    hf_socket_close(fd);
    racer->io.fd = -1;
    return hf_net_status_text(rc);
}

static void handle_failed_address(struct hf_dial *d, unsigned index, const char *why)
{
    append_failure_of_address(d, index, why);
    hf_race_failed(&d->race, hf_loop_now(d->loop));
}

/* Starts the attempts that are due, and comes back when the next one is. */
static void start_due_attempts(struct hf_dial *d)
{
    const char *why;
    int i;

    while ((i = hf_race_next(&d->race, hf_loop_now(d->loop))) >= 0) {
        why = start_racer(&d->racers[i], &d->race.addresses.list[i]);
        if (why)
            handle_failed_address(d, (unsigned)i, why);
    }
    if (hf_race_is_lost(&d->race))
        finish_dial(d, -1);
    else if (hf_race_due_ms(&d->race) != HF_NEVER)
        hf_loop_arm(d->loop, &d->timer, hf_race_due_ms(&d->race));
}

static void on_attempt_timer(struct hf_timer *timer)
{
    start_due_attempts(HF_OWNER_OF(timer, struct hf_dial, timer));
}

static void finish_with_racer(struct hf_dial *d, struct hf_racer *racer)
{
    int fd = racer->io.fd;

    d->winner_index = (unsigned)(racer - d->racers);
    hf_loop_unwatch(d->loop, &racer->io);
    racer->io.fd = -1;
    finish_dial(d, fd);
}

static void on_socket_ready(struct hf_io *io, int events)
{
    struct hf_racer *racer = HF_OWNER_OF(io, struct hf_racer, io);
    struct hf_dial *d = racer->dial;
    int error = hf_socket_error(io->fd);

    (void)events;
    if (error == 0) {
        finish_with_racer(d, racer);
        return;
    }
    stop_racer(racer);
    handle_failed_address(d, (unsigned)(racer - d->racers), strerror(error));
    start_due_attempts(d);
}

/* ---- addresses ---- */

static void make_unix_address(struct hf_addresses *out, const struct hf_url *url)
{
    struct sockaddr_un un;

    out->list[0].len = (socklen_t)hf_url_sockaddr(url, &un);
    memset(&out->list[0].storage, 0, sizeof out->list[0].storage);
    memcpy(&out->list[0].storage, &un, sizeof un);
    out->count = 1;
}

static bool get_address_without_lookup(const struct hf_url *url, struct hf_addresses *out)
{
    if (url->kind != HF_URL_UNIX)
        return hf_resolve_literal(url->host, url->port, out);
    make_unix_address(out, url);
    return true;
}

/* The name cannot be resolved. */
static void race_known_ip(struct hf_dial *d)
{
    struct hf_addresses address = {.count = 0};

    if (d->url->ip[0] && hf_resolve_literal(d->url->ip, d->url->port, &address))
        hf_race_begin(&d->race, &address, hf_loop_now(d->loop));
}

static void on_resolved(void *ctx, const struct hf_addresses *found,
                        const char *why_not)
{
    struct hf_dial *d = ctx;

    d->pending_lookup = NULL;
    d->resolved_ms = hf_loop_now(d->loop);
    if (found) {
        hf_race_begin(&d->race, found, hf_loop_now(d->loop));
    } else {
        append_to_reason(d, "", why_not);
        race_known_ip(d);
    }
    start_due_attempts(d);
}

/* Is it on its way? */
static bool start_name_lookup(struct hf_dial *d)
{
    hf_status rc = hf_resolve_start(&d->pending_lookup, d->loop, d->url->host,
                                    d->url->port, on_resolved, d);

    if (rc < 0)
        append_to_reason(d, "",
                         rc == HF_E_SYSTEM ? strerror(errno) : hf_net_status_text(rc));
    return rc == HF_OK;
}

/* ---- the owner's calls ---- */

void hf_dial_init(struct hf_dial *d, struct hf_loop *loop,
                  const struct hf_url *url,
                  void (*done)(struct hf_dial *dial, int fd))
{
    memset(d, 0, sizeof *d);
    d->loop = loop;
    d->url = url;
    d->done = done;
    d->timer.fire = on_attempt_timer;
    for (unsigned i = 0; i < HF_ADDRESSES_MAX; i++)
        d->racers[i] = (struct hf_racer){.dial = d, .io.fd = -1};
}

void hf_dial_start(struct hf_dial *d)
{
    struct hf_addresses addresses = {.count = 0};
    int64_t now = hf_loop_now(d->loop);
    bool is_known = get_address_without_lookup(d->url, &addresses);

    d->failure_text[0] = '\0';
    d->resolved_ms = 0;
    hf_race_begin(&d->race, &addresses, now);
    if (is_known || !start_name_lookup(d))
        hf_loop_arm(d->loop, &d->timer, now);
}

void hf_dial_worked(struct hf_dial *d)
{
    hf_race_worked(&d->race, d->winner_index);
}

void hf_dial_avoid_address(struct hf_dial *d)
{
    hf_race_avoid_favourite(&d->race);
}

void hf_dial_adopt(struct hf_dial *d, const struct hf_dial *from)
{
    d->race = from->race;
    d->winner_index = from->winner_index;
}
