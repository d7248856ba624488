/* The lock of an outer run on the same name, whose command started this process. The
 * outer run renews and releases it; this run queries whether the outer run still holds
 * the lock, and waits for its notice of a loss. */
/* Tests: tests/live/cli/test_run_loss.c, tests/live/cli/test_run_inside.c. */
#include "cli/run/hold.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/report.h"
#include "cli/base/values.h"
#include "net/base/error.h"

#define FD_IDENTITY_MAX 48 /* device and inode, two 64-bit numbers */
#define PLACE_MAX (FD_IDENTITY_MAX + CLI_PROOF_ADDRESS_MAX)

/* Device and inode of a descriptor. */
static char *write_fd_identity(char dst[FD_IDENTITY_MAX], int fd)
{
    struct stat st;

    dst[0] = '\0';
    if (fstat(fd, &st) == 0)
        (void)snprintf(dst, FD_IDENTITY_MAX, "%llu:%llu",
                       (unsigned long long)st.st_dev,
                       (unsigned long long)st.st_ino);
    return dst;
}

/* The most holds around a run; a multi-lock has several. Of more, the outermost are
 * forgotten. */
#define OUTER_MAX 80

/* ---- the list of outer holds ---- */

/* One run of CLI_ENV_OUTER. Each field is a netstring ("5:hello,"), because a
 * name may have any byte. The innermost run comes first. */
struct outer_field {
    const char *text;
    size_t len;
};

/* PLACE is the id of the notice, "@" and the address of the proof server (proof.h). */
enum { NAME, OWNER, FD, PLACE, FIELDS };

struct outer_run {
    struct outer_field fields[FIELDS];
};

static bool parse_field(const char **at, struct outer_field *out)
{
    size_t len = 0;
    const char *p = *at;

    for (; *p >= '0' && *p <= '9' && len < INT_MAX / 10; p++)
        len = len * 10 + (size_t)(*p - '0');
    if (p == *at || *p != ':' || strnlen(p + 1, len + 1) <= len ||
        p[1 + len] != ',')
        return false;
    *out = (struct outer_field){p + 1, len};
    *at = p + 1 + len + 1;
    return true;
}

/* False: nothing is taken. */
static bool parse_outer_run(const char **at, struct outer_run *out)
{
    const char *p = *at;

    for (int i = 0; i < FIELDS; i++)
        if (!parse_field(&p, &out->fields[i]))
            return false;
    if (out->fields[OWNER].len >= HF_OWNER_TEXT_MAX ||
        out->fields[PLACE].len >= PLACE_MAX || out->fields[FD].len >= 12)
        return false;
    *at = p;
    return true;
}

static char *copy_field(char *dst, const struct outer_field *field)
{
    memcpy(dst, field->text, field->len);
    dst[field->len] = '\0';
    return dst;
}

static bool is_field_equal_to(const struct outer_field *field, const char *text, size_t len)
{
    return field->len == len && memcmp(field->text, text, len) == 0;
}

/* Returns the run on that name that holds the lock, else the innermost one. A
 * command that removes HOLDFAST_OWNER is not nested. */
static bool find_outer_run(const struct hf_lock *lock, const char *holder,
                           struct outer_run *out)
{
    const char *owner = getenv(CLI_ENV_OWNER), *at = getenv(CLI_ENV_OUTER);
    size_t len;
    const char *name = hf_lock_name(lock, &len);

    if (!owner || !*owner || !at)
        return false;
    while (parse_outer_run(&at, out))
        if (is_field_equal_to(&out->fields[NAME], name, len) &&
            (!holder || is_field_equal_to(&out->fields[OWNER], holder, strlen(holder))))
            return true;
    return false;
}

/* A list that a program or a forger has changed: it may be about this name. */
static bool is_outer_list_broken(void)
{
    const char *owner = getenv(CLI_ENV_OWNER), *at = getenv(CLI_ENV_OUTER);
    struct outer_run outer;

    if (!owner || !*owner || !at)
        return false;
    while (*at && parse_outer_run(&at, &outer))
        continue;
    return *at != '\0';
}

bool cli_hold_is_inside(const struct cli_locks *locks)
{
    struct outer_run outer;

    if (is_outer_list_broken())
        return true;
    for (size_t i = 0; i < locks->locks_count; i++)
        if (find_outer_run(locks->locks[i], NULL, &outer))
            return true;
    return false;
}

/* Returns how much of the list is kept after a new run is added. */
static size_t outer_list_kept_len(const char *list)
{
    struct outer_run outer;
    const char *at = list;

    for (int i = 1; i < OUTER_MAX && parse_outer_run(&at, &outer); i++)
        continue;
    return (size_t)(at - list);
}

/* Reads one run with one of its names. Returns the position after it. */
static char *write_outer_run(char *d, size_t room, const struct cli_hold *h,
                             struct hf_lock *lock, int fd, const char *place)
{
    size_t len;
    const char *name = hf_lock_name(lock, &len);
    char digits[12], owner[HF_OWNER_TEXT_MAX];

    (void)snprintf(digits, sizeof digits, "%d", fd);
    (void)hf_lock_owner_text(lock, h->owner_number, owner);
    if (h->locks->quorum)
        *owner = '\0';
    d += snprintf(d, room, "%zu:%s,%zu:%s,%zu:%s,%zu:%s,", len, name,
                  strlen(owner), owner, strlen(digits), digits, strlen(place),
                  place);
    return d;
}

/* In a quorum, all members have one name and different owners: none is recorded. */
static size_t count_names(const struct cli_locks *locks)
{
    return locks->quorum ? 1 : locks->locks_count;
}

static size_t size_of_names(const struct cli_locks *locks)
{
    size_t room = 0, len;

    for (size_t i = 0; i < count_names(locks); i++) {
        (void)hf_lock_name(locks->locks[i], &len);
        room += len + 256; /* the owner, two numbers, an id */
    }
    return room;
}

char *cli_hold_new_outer_list(const struct cli_hold *h, int fd, const char *address)
{
    char id[FD_IDENTITY_MAX], place[PLACE_MAX];
    const char *before = getenv(CLI_ENV_OUTER);
    size_t kept = before ? outer_list_kept_len(before) : 0;
    size_t room = size_of_names(h->locks) + kept + 1;
    char *list = malloc(room), *d = list;

    if (!list)
        return NULL;
    (void)snprintf(place, sizeof place, "%s@%s", write_fd_identity(id, fd), address);
    for (size_t i = 0; i < count_names(h->locks); i++)
        d = write_outer_run(d, room - (size_t)(d - list), h, h->locks->locks[i], fd,
                            place);
    (void)snprintf(d, room - (size_t)(d - list), "%.*s", (int)kept,
                   before ? before : "");
    return list;
}

/* ---- the notice ---- */

/* No process writes to the notice. Data in it is a mistake of another program, not a
 * loss. */
static bool has_peer_closed(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) &&
           !(p.revents & POLLIN);
}

static void on_notice_closed(struct hf_io *io, int events)
{
    struct cli_hold *h = HF_OWNER_OF(io, struct cli_hold, notice_io);

    (void)events;
    h->has_unreported_notice = has_peer_closed(io->fd);
    hf_loop_unwatch(hf_client_loop(h->locks->clients[0]), io); /* once is enough */
    io->fd = -1;
}

/* Some programs close unknown descriptors and keep their environment. The
 * number is then free, or of another file, such as make's. */
static int notice_fd_of_outer(const struct outer_run *outer)
{
    char text[12], place[PLACE_MAX], is[FD_IDENTITY_MAX];
    int fd;

    if (!cli_number_parse(copy_field(text, &outer->fields[FD]), 0, INT_MAX, &fd))
        return -1;
    *strchrnul(copy_field(place, &outer->fields[PLACE]), '@') = '\0';
    return *write_fd_identity(is, fd) && strcmp(is, place) == 0 ? fd : -1;
}

/* Has the outer run neither ended nor noticed a loss? */
static bool is_outer_run_alive(const struct outer_run *outer)
{
    int fd = notice_fd_of_outer(outer);

    return fd >= 0 && !has_peer_closed(fd);
}

static void watch_notice(struct cli_hold *h)
{
    struct hf_loop *loop = hf_client_loop(h->locks->clients[0]);

    h->notice_io = (struct hf_io){
        .fd = h->proof.notice_fd, .events = HF_READ, .ready = on_notice_closed};
    hf_loop_lock(loop);
    if (hf_loop_watch(loop, &h->notice_io) < 0)
        h->notice_io.fd = -1;
    hf_loop_unlock(loop);
}

/* ---- the kind ---- */

/* The outer run does not hold the lock on this server, and is running. It has a lock on
 * another server, or will soon detect a loss. In both cases this run may acquire the
 * lock, as any run may. */
static void acquire_own_lock(struct cli_hold *h)
{
    hf_status status;

    *h->owner = '\0';
    h->kind = &cli_hold_own;
    status = h->kind->acquire(h, &h->terms);
    if (status < 0)
        h->events->on_refused(h->ctx, status,
                              &(struct hf_error){.status = status});
}

static void refuse_not_held(struct cli_hold *h)
{
    struct hf_error gone;
    hf_status status = hf_error_set(
        &gone, HF_LOST,
        "the outer run (" CLI_ENV_OWNER "=%s) that held this lock has ended or "
        "lost it; to take the lock independently of that run, unset " CLI_ENV_OWNER
        ": env -u " CLI_ENV_OWNER " holdfast run ...", h->owner);

    h->events->on_refused(h->ctx, status, &gone);
}

/* No run can acquire it exclusively while the outer run, which waits for this one,
 * holds it shared. */
static void refuse_exclusive_in_shared(struct cli_hold *h)
{
    struct hf_error err;
    hf_status status = hf_error_set(
        &err, HF_E_INVAL,
        "the outer run holds this lock with --shared; a nested run must also use "
        "--shared");

    h->events->on_refused(h->ctx, status, &err);
}

bool cli_hold_is_innermost(const struct cli_hold *h)
{
    const char *owner = getenv(CLI_ENV_OWNER);

    return owner && strcmp(owner, h->owner) == 0;
}

static void refuse_without_token(struct cli_hold *h)
{
    struct hf_error err;
    hf_status status = hf_error_set(
        &err, HF_E_INVAL,
        "this run has no token of the lock: the outer run took it without --fenced, or "
        "another run is in between");

    h->events->on_refused(h->ctx, status, &err);
}

/* ---- the token ---- */

static void refuse_other_token(struct cli_hold *h, const char *text, int64_t token)
{
    char quoted[CLI_QUOTE_MAX], number[24] = "none";
    struct hf_error err;
    hf_status status;

    if (token > 0)
        (void)snprintf(number, sizeof number, "%lld", (long long)token);
    status = hf_error_set(&err, HF_E_INVAL,
                          CLI_ENV_TOKEN "=%s is not the token of the outer run's "
                          "lock, which is %s; has something changed the "
                          "environment?", cli_quote(quoted, text, strlen(text)),
                          number);
    h->events->on_refused(h->ctx, status, &err);
}

/* The outer run's number, exactly as it writes it. */
static bool is_token_text(const char *text, int64_t token)
{
    char number[24];

    (void)snprintf(number, sizeof number, "%lld", (long long)token);
    return token > 0 && strcmp(text, number) == 0;
}

/* ---- the proof ---- */

static void refuse_unproven(struct cli_hold *h)
{
    struct hf_error err;
    hf_status status = hf_error_set(
        &err, HF_E_INVAL,
        "cannot prove that this run is nested in the run that holds this lock "
        "(" CLI_ENV_OWNER "=%s): the proof needs the descriptor " CLI_ENV_FD ", which "
        "sudo and ssh close, and a reply of that run; to take the lock independently "
        "of it, unset " CLI_ENV_OWNER, h->owner);

    h->owner[0] = '\0';
    h->events->on_refused(h->ctx, status, &err);
}

/* The token is that of the run whose command we are, if that one holds the lock. */
static void accept_outer_hold(struct cli_hold *h, int64_t token)
{
    const char *text = cli_hold_is_innermost(h) ? getenv(CLI_ENV_TOKEN) : NULL;

    if (text && *text && !is_token_text(text, token)) {
        h->owner[0] = '\0';
        refuse_other_token(h, text, token);
        return;
    }
    h->token = text && *text ? token : 0;
    if ((h->wanted_kind & HF_WITH_TOKEN) && h->token == 0) {
        h->owner[0] = '\0';
        refuse_without_token(h);
        return;
    }
    watch_notice(h);
    h->events->on_acquired(h->ctx);
}

static void begin_proof(struct cli_hold *h, const struct outer_run *outer)
{
    char place[PLACE_MAX];
    const char *address = strchr(copy_field(place, &outer->fields[PLACE]), '@');

    (void)copy_field(h->owner, &outer->fields[OWNER]);
    if (notice_fd_of_outer(outer) < 0 || !address || strlen(address + 1) >= CLI_PROOF_ADDRESS_MAX) {
        refuse_unproven(h);
        return;
    }
    (void)strcpy(h->proof.owner, h->owner);
    h->proof.name = hf_lock_name(h->lock, &h->proof.name_len);
    h->is_proving = true;
    cli_proof_begin(&h->proof, hf_client_loop(h->locks->clients[0]), address + 1,
                    notice_fd_of_outer(outer));
}

static void finish_proof(struct cli_hold *h)
{
    int64_t token = 0;
    enum cli_proven proven = cli_proof_look(&h->proof, &token);

    if (proven == CLI_PROOF_PENDING)
        return;
    h->is_proving = false;
    cli_proof_end(&h->proof);
    if (proven == CLI_PROOF_HELD)
        accept_outer_hold(h, token);
    else
        refuse_unproven(h);
}

/* Held by the outer run; with several holders, also by others. */
static bool is_only_held_shared(const struct cli_hold *h)
{
    return h->inspected_info.kind == HF_KIND_READ && h->wanted_kind != HF_KIND_READ;
}

static void on_inspected(void *ctx, hf_status status,
                         const struct hf_error *err)
{
    struct cli_hold *h = ctx;
    struct outer_run outer;

    if (status < 0) {
        h->events->on_refused(h->ctx, status, err);
    } else if (is_only_held_shared(h)) {
        refuse_exclusive_in_shared(h);
    } else if (h->inspected_info.is_locked &&
               find_outer_run(h->lock, h->inspected_info.holder, &outer)) {
        begin_proof(h, &outer);
    } else if (find_outer_run(h->lock, NULL, &outer) && is_outer_run_alive(&outer)) {
        acquire_own_lock(h);
    } else {
        refuse_not_held(h);
    }
}

/* It would wait for the outer run, which waits for it. */
static hf_status refuse_outer_lock_in_set(struct cli_hold *h)
{
    struct hf_error err;
    hf_status status = hf_error_set(
        &err, HF_E_INVAL,
        "an outer run holds one of these locks; --multi and --quorum cannot be nested "
        "in it");

    h->events->on_refused(h->ctx, status, &err);
    return HF_OK;
}

/* On one of its servers it would wait for the outer run, or be without a lock, if that
 * one is not among those that it holds. */
static hf_status refuse_in_quorum(struct cli_hold *h)
{
    struct hf_error err;
    hf_status status = hf_error_set(
        &err, HF_E_INVAL,
        "an outer run holds this lock with --quorum; a run on one server cannot be "
        "nested in it. To take a lock on another server, unset " CLI_ENV_OWNER);

    h->events->on_refused(h->ctx, status, &err);
    return HF_OK;
}

static hf_status refuse_broken_list(struct cli_hold *h)
{
    struct hf_error err;
    hf_status status = hf_error_set(
        &err, HF_E_INVAL,
        CLI_ENV_OUTER " was changed, so this run cannot know whether it is nested in "
        "another; to take the lock independently, unset "
        CLI_ENV_OWNER);

    h->events->on_refused(h->ctx, status, &err);
    return HF_OK;
}

static hf_status outer_acquire(struct cli_hold *h, const struct cli_hold_terms *terms)
{
    struct outer_run outer;

    if (is_outer_list_broken())
        return refuse_broken_list(h);
    if (h->locks->multi || h->locks->quorum)
        return refuse_outer_lock_in_set(h);
    h->terms = *terms;
    if (find_outer_run(h->lock, NULL, &outer)) /* cli_hold_is_inside has found it */
        (void)copy_field(h->owner, &outer.fields[OWNER]);
    if (!*h->owner)
        return refuse_in_quorum(h);
    return hf_lock_inspect_async(h->lock, &h->inspected_info, on_inspected, h);
}

/* The query cannot be cancelled. Its reply is ignored. */
static void outer_cancel(struct cli_hold *h)
{
    struct hf_error err = {.status = HF_CANCELLED};

    h->events->on_refused(h->ctx, HF_CANCELLED, &err);
}

static hf_status outer_release(struct cli_hold *h)
{
    h->events->on_released(h->ctx, HF_OK, NULL);
    return HF_OK;
}

static void outer_turn(struct cli_hold *h)
{
    if (h->is_proving)
        finish_proof(h);
    if (!h->has_unreported_notice)
        return;
    h->has_unreported_notice = false;
    /* Only the outer run knows the reason. */
    h->events->on_lost(h->ctx, HF_REASON_DELETED, NULL);
}

/* The hold is safe until the notice comes. */
static int64_t outer_safe_ms(struct cli_hold *h)
{
    (void)h;
    return INT64_MAX;
}

static void outer_fini(struct cli_hold *h)
{
    struct hf_loop *loop = hf_client_loop(h->locks->clients[0]);

    cli_proof_end(&h->proof);
    if (h->notice_io.fd < 0)
        return;
    hf_loop_lock(loop);
    hf_loop_unwatch(loop, &h->notice_io);
    hf_loop_unlock(loop);
    h->notice_io.fd = -1;
}

const struct cli_hold_kind cli_hold_outer = {.acquire = outer_acquire,
                                             .cancel = outer_cancel,
                                             .release = outer_release,
                                             .safe_ms = outer_safe_ms,
                                             .after_loop_turn = outer_turn,
                                             .fini = outer_fini};
