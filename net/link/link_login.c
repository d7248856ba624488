/* The login of a link: where it comes from, and how it is replaced.
 *
 * LOGIN-1  With a callback, each attempt to connect begins with a query, and at most one query is
 *          pending. Credentials that arrive after their attempt has ended, and those of an
 *          attempt that was stopped, are used by the next one, for CREDENTIALS_FRESH_MS. After that
 *          the provider may have changed them, and the next attempt queries them again.
 * LOGIN-2  After a refusal, credentials are queried again. The refusal is final only if the
 *          server never accepted any and the query returns the same login again.
 * LOGIN-3  A login that expires is replaced after three quarters of its life: AUTH on the live
 *          connection. A connection of RESP2 with subscriptions permits no AUTH; it is replaced.
 *          The life begins with the answer, not with the connection. After three quarters of it no
 *          attempt to connect begins with this login: too little time would be left for a query.
 * LOGIN-4  NOAUTH on a connection that was READY: the server has forgotten its login. A new
 *          connection is opened, and the owner of the request repeats it, because it was not
 *          executed. */
/* Tests: tests/live/server/test_credentials.c, tests/test_net_link_request.c. */
#include <string.h>

#include "net/base/error.h"
#include "net/base/assert.h"
#include "net/link/link_inner.h"

#define RETRY_MIN_MS 100   /* bounds of the pause between two queries */
#define RETRY_MAX_MS 60000
#define CREDENTIALS_FRESH_MS 10000

static void on_login_timer(struct hf_timer *timer);
static void on_auth_reply(struct hf_request *request, enum hf_outcome outcome,
                          struct hf_resp_value reply);

void hf_link_login_init(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    link->login = hf_login_ref(link->options.url.login);
    link->login_expires_ms = link->login_renewal_ms = HF_NEVER;
    link->login_timer.fire = on_login_timer;
    link->auth_request.done = on_auth_reply;
    if (!link->options.was_accepted)
        link->options.was_accepted = &link->was_login_accepted;
}

void hf_link_login_fini(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    hf_loop_disarm(link->loop, &link->login_timer);
    hf_login_unref(link->login);
    hf_login_unref(link->next_login);
    hf_login_unref(link->refused_login);
    link->login = link->next_login = link->refused_login = NULL;
}

/* ---- answers ---- */

static const char *text_or_default(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

/* What is not given is the URL's. Neither user nor password: no login. */
static struct hf_login *login_from_credentials(const struct hf_link *link,
                                               const struct hf_credentials *c, struct hf_error *err)
{
    const struct hf_login *given = link->options.url.login;

    if (!c->user && !c->password)
        return hf_login_ref(link->options.url.login);
    return hf_login_new(text_or_default(c->user, given ? given->user : ""),
                        text_or_default(c->password, given ? given->password : ""), err);
}

static void drop_next_login(struct hf_link *link)
{
    hf_login_unref(link->next_login);
    link->next_login = NULL;
    link->has_next_login = false;
}

/* LOGIN-3: when `fresh` must be replaced. */
static int64_t renewal_of_next_login_ms(const struct hf_link *link)
{
    int64_t ms = (link->next_login_expires_ms - link->login_received_ms) / 4 * 3;

    if (link->next_login_expires_ms == HF_NEVER)
        return HF_NEVER;
    return link->login_received_ms + (ms < RETRY_MIN_MS ? RETRY_MIN_MS : ms);
}

static void drop_old_next_login(struct hf_link *link)
{
    int64_t now = hf_loop_now(link->loop);

    if (link->has_next_login &&
        (now >= link->next_login_expires_ms || now >= renewal_of_next_login_ms(link) ||
         now - link->login_received_ms >= CREDENTIALS_FRESH_MS))
        drop_next_login(link);
}

/* The reference is taken over. */
static void set_next_login(struct hf_link *link, struct hf_login *login, int64_t lifetime_ms,
                           int64_t expires_ms)
{
    drop_next_login(link);
    link->next_login = login;
    link->has_next_login = true;
    link->login_lifetime_ms = lifetime_ms;
    link->next_login_expires_ms = expires_ms;
    link->login_received_ms = hf_loop_now(link->loop);
}

static int64_t end_of_lifetime_ms(const struct hf_link *link, int64_t life_ms)
{
    int64_t now = hf_loop_now(link->loop);

    return life_ms > 0 && life_ms < HF_NEVER - now ? now + life_ms : HF_NEVER;
}

static struct hf_login *login_from_answer(const struct hf_link *link,
                                          const struct hf_credentials *c, struct hf_error *err)
{
    if (c->expires_in_ms >= 0)
        return login_from_credentials(link, c, err);
    (void)hf_error_set(err, HF_E_INVAL,
                       "they expired already: expires_in_ms is negative");
    return NULL;
}

/* NULL: there are none. */
static void store_credentials_answer(struct hf_link *link, const struct hf_credentials *c,
                                     const struct hf_error *why)
{
    struct hf_error err = {0};
    struct hf_login *login = c ? login_from_answer(link, c, &err) : NULL;

    drop_next_login(link);
    link->pending_credentials_query = 0;
    link->no_login_error.status = HF_OK;
    if (c && err.status == HF_OK)
        set_next_login(link, login, c->expires_in_ms, end_of_lifetime_ms(link, c->expires_in_ms));
    else
        (void)hf_error_set(&link->no_login_error, HF_E_CONNECT, "no credentials: %s",
                           c ? err.text : why->text);
}

static void query_credentials(struct hf_link *link)
{
    struct hf_credentials_query query = {.size = sizeof query,
                                         .id = hf_loop_next_serial(link->loop),
                                         .address = link->address,
                                         .is_sentinel = link->options.is_sentinel,
                                         .was_refused = link->refused_login != NULL};
    struct hf_credentials answer = HF_CREDENTIALS_INIT;
    struct hf_error err = {.text = "the callback gave no reason"};
    hf_status rc;

    link->pending_credentials_query = query.id;
    rc = link->options.credentials(link->options.credentials_ctx, &query, &answer,
                                   &err);
    if (rc != HF_CREDENTIALS_LATER)
        store_credentials_answer(link, rc == HF_OK ? &answer : NULL, &err);
}

bool hf_link_answer_credentials(struct hf_link *link, uint64_t id,
                                const struct hf_credentials *credentials,
                                const struct hf_error *why)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->rival && hf_link_answer_credentials(link->rival, id, credentials, why))
        return true;
    if (id == 0 || link->pending_credentials_query != id)
        return false;
    store_credentials_answer(link, credentials, why);
    if (link->state == HF_LINK_FETCHING)
        hf_loop_arm(link->loop, &link->timer, hf_loop_now(link->loop));
    else if (link->state == HF_LINK_READY && link->login_expires_ms != HF_NEVER)
        hf_loop_arm(link->loop, &link->login_timer, hf_loop_now(link->loop));
    return true;
}

/* ---- before an attempt ---- */

static void use_next_login(struct hf_link *link)
{
    hf_login_unref(link->login);
    link->login = link->next_login;
    link->login_expires_ms = link->next_login_expires_ms;
    link->login_renewal_ms = renewal_of_next_login_ms(link);
    link->next_login = NULL;
    link->has_next_login = false;
    hf_conn_handshake(&link->conn)->login = link->login;
}

/* LOGIN-1 */
bool hf_link_find_login(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (!link->options.credentials)
        return true;
    drop_old_next_login(link);
    if (!link->has_next_login && link->pending_credentials_query == 0)
        query_credentials(link);
    if (!link->has_next_login)
        return false;
    use_next_login(link);
    return true;
}

/* The server has not refused it, and the attempt that has it is stopped. */
static bool may_use_new_login_now(const struct hf_link *link)
{
    return link->options.credentials && link->state >= HF_LINK_DIALING &&
           link->state <= HF_LINK_HANDSHAKE && !link->refused_login;
}

void hf_link_login_move(struct hf_link *to, struct hf_link *from)
{
    HF_ASSERT(hf_loop_is_locked(to->loop));
    if (!to->has_next_login && from->has_next_login) {
        set_next_login(to, from->next_login, from->login_lifetime_ms, from->next_login_expires_ms);
        to->login_received_ms = from->login_received_ms;
        from->next_login = NULL;
        from->has_next_login = false;
    } else if (!to->has_next_login && may_use_new_login_now(from)) {
        set_next_login(to, hf_login_ref(from->login), from->login_lifetime_ms,
                       from->login_expires_ms);
        to->login_received_ms = from->login_received_ms;
    }
    if (!to->has_next_login && to->pending_credentials_query == 0) {
        to->pending_credentials_query = from->pending_credentials_query;
        from->pending_credentials_query = 0;
    }
}

/* The rival has taken over: its connection has its own login. */
void hf_link_login_adopt(struct hf_link *link, struct hf_link *rival)
{
    struct hf_login *old = link->login;

    HF_ASSERT(hf_loop_is_locked(link->loop));
    link->login = rival->login;
    rival->login = old;
    link->login_expires_ms = rival->login_expires_ms;
    link->login_renewal_ms = rival->login_renewal_ms;
    link->login_lifetime_ms = rival->login_lifetime_ms;
    drop_next_login(link); /* it came for the connection that has ended */
    hf_conn_handshake(&link->conn)->login = link->login;
}

/* An AUTH that waits to be sent is not for the next connection, which has its own login. */
void hf_link_login_stop(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->is_authenticating)
        (void)hf_link_cancel(&link->auth_request);
    link->is_authenticating = false;
}

/* ---- what the server says ---- */

static void set_refused_login(struct hf_link *link, struct hf_login *login)
{
    struct hf_login *old = link->refused_login;

    link->refused_login = hf_login_ref(login);
    hf_login_unref(old);
}

static void arm_login_renewal(struct hf_link *link)
{
    int64_t soon_ms = hf_loop_now(link->loop) + RETRY_MIN_MS;

    if (link->login_renewal_ms == HF_NEVER)
        return;
    hf_loop_arm(link->loop, &link->login_timer,
                link->login_renewal_ms < soon_ms ? soon_ms : link->login_renewal_ms);
}

void hf_link_login_worked(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (!link->options.credentials)
        return;
    *link->options.was_accepted = true;
    set_refused_login(link, NULL);
    arm_login_renewal(link);
}

/* LOGIN-2 */
bool hf_link_login_refused(struct hf_link *link)
{
    bool is_same = link->refused_login && hf_login_is_equal(link->refused_login, link->login);

    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (!link->options.credentials)
        return true;
    set_refused_login(link, link->login);
    return is_same && !*link->options.was_accepted;
}

/* LOGIN-3: the timer had fired, and waited for the query that the rival has ended. */
void hf_link_login_resume(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->state == HF_LINK_READY && link->login_expires_ms != HF_NEVER &&
        link->pending_credentials_query == 0 &&
        !link->is_authenticating && !link->login_timer.link)
        hf_loop_arm(link->loop, &link->login_timer, hf_loop_now(link->loop));
}

/* LOGIN-4 */
bool hf_link_is_logged_out(const struct hf_link *link, struct hf_resp_value reply)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return link->login && hf_resp_error_is(reply, "NOAUTH");
}

const char *hf_link_refused_user(const struct hf_link *link)
{
    return link->login && link->conn.handshake.uses_default_user ? link->login->user : NULL;
}

/* ---- a live connection (LOGIN-3) ---- */

static void retry_credentials_later(struct hf_link *link)
{
    int64_t ms = link->login_lifetime_ms / 16;

    if (link->state != HF_LINK_READY)
        return;
    ms = ms < RETRY_MIN_MS ? RETRY_MIN_MS : ms > RETRY_MAX_MS ? RETRY_MAX_MS : ms;
    hf_loop_arm(link->loop, &link->login_timer, hf_loop_now(link->loop) + ms);
}

static void on_auth_reply(struct hf_request *request, enum hf_outcome outcome,
                          struct hf_resp_value reply)
{
    struct hf_link *link = HF_OWNER_OF(request, struct hf_link, auth_request);

    link->is_authenticating = false;
    if (outcome != HF_ANSWERED)
        return; /* the next connection has its own login */
    if (!hf_resp_is_error(reply)) {
        hf_link_login_worked(link);
        return;
    }
    set_refused_login(link, link->login);
    retry_credentials_later(link);
}

static void send_auth(struct hf_link *link)
{
    const struct hf_login *login = link->login;
    struct hf_resp_arg argv[3] = {{"AUTH", 4}};
    size_t argc = 1;

    if (!login)
        return;
    if (login->user[0] && !hf_conn_handshake(&link->conn)->uses_default_user)
        argv[argc++] = (struct hf_resp_arg){login->user, login->user_len};
    argv[argc++] = (struct hf_resp_arg){login->password, login->password_len};
    hf_conn_note_secret(&link->conn);
    link->is_authenticating =
        hf_link_submit(link, &link->auth_request, argv, argc, HF_NEVER) == HF_OK;
    if (!link->is_authenticating)
        retry_credentials_later(link);
}

/* The next connection uses the answer. */
static void use_new_login_now(struct hf_link *link)
{
    if (link->options.is_subscriber && link->last_protocol == 2) {
        hf_link_condemn(link, "the credentials expire: a new connection has new ones");
        return;
    }
    use_next_login(link);
    send_auth(link);
}

static void on_login_timer(struct hf_timer *timer)
{
    struct hf_link *link = HF_OWNER_OF(timer, struct hf_link, login_timer);

    if (link->state != HF_LINK_READY || link->is_authenticating)
        return;
    drop_old_next_login(link);
    if (!link->has_next_login && link->pending_credentials_query == 0 && !link->rival &&
        link->no_login_error.status == HF_OK)
        query_credentials(link);
    if (link->has_next_login) {
        use_new_login_now(link);
    } else if (link->pending_credentials_query == 0) {
        link->no_login_error.status = HF_OK; /* query again next time */
        retry_credentials_later(link);
    }
}
