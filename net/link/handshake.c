/* The handshake, step by step. See handshake.h for the diagram. */
/* Tests: tests/test_net_handshake.c, tests/live/lock/test_first_grant.c. */
#include "net/link/handshake.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/info.h"
#include "net/base/mem.h"
#include "net/link/too_large.h"

enum handshake_command {
    HELLO,
    AUTH,
    SETNAME,
    ID,
    SETINFO,
    SELECT,
    TRACKING,
    INFO,
    PING,
    KILL
};

static const char *const names[] = {
    [HELLO] = "HELLO",           [AUTH] = "AUTH",
    [SETNAME] = "CLIENT SETNAME", [ID] = "CLIENT ID",
    [SETINFO] = "CLIENT SETINFO", [SELECT] = "SELECT",
    [TRACKING] = "CLIENT TRACKING", [INFO] = "INFO",
    [PING] = "PING",             [KILL] = "CLIENT KILL",
};

/* ---- commands ---- */

#define OUTPUT_FIRST 512   /* most handshakes fit */

static void free_output(struct hf_handshake *g)
{
    if (g->output)
        explicit_bzero(g->output, g->output_capacity);
    hf_mem_free(g->mem, g->output, g->output_capacity);
    g->output = NULL;
    g->output_capacity = 0;
}

static struct hf_resp_arg arg_from_text(const char *s)
{
    return (struct hf_resp_arg){s, strlen(s)};
}

/* Not with hf_mem_grow, which may leave a copy of a password in freed memory. */
static bool ensure_output_space(struct hf_handshake *g, size_t size)
{
    size_t room = g->output_len + size;
    char *grown;

    if (room <= g->output_capacity)
        return true;
    if (room < OUTPUT_FIRST)
        room = OUTPUT_FIRST;
    grown = room <= HANDSHAKE_OUTPUT_MAX ? hf_mem_new(g->mem, room) : NULL;
    if (!grown)
        return false;
    if (g->output_len > 0)
        memcpy(grown, g->output, g->output_len);
    free_output(g);
    g->output = grown;
    g->output_capacity = (uint32_t)room;
    return true;
}

static void send_command(struct hf_handshake *g, enum handshake_command what,
                 const struct hf_resp_arg *argv, size_t argc)
{
    char *start, *end;

    if (!ensure_output_space(g, hf_resp_command_size(argv, argc))) {
        hf_error_set(&g->error, HF_E_NOMEM, "out of memory while connecting");
        return;
    }
    start = g->output + g->output_len;
    end = hf_resp_put_command(start, argv, argc);
    if (g->on_command)
        g->on_command(g->ctx, argv, argc);
    for (int i = 0; i < g->expected_count; i++)
        g->bytes_after_command[i] += (uint32_t)(end - start);
    g->output_len = (size_t)(end - g->output);
    g->bytes_after_command[g->expected_count] = 0;
    g->expected_commands[g->expected_count++] = (uint8_t)what;
}

static void clear_step(struct hf_handshake *g)
{
    g->expected_count = 0;
    g->next_expected = 0;
    g->fallback = HANDSHAKE_NO_FALLBACK;
}

/* "": none is named. */
static const char *user_or_empty(const struct hf_handshake *g)
{
    return g->uses_default_user ? "" : g->login->user;
}

static void send_auth(struct hf_handshake *g)
{
    struct hf_resp_arg argv[3] = {arg_from_text("AUTH")};
    size_t argc = 1;

    if (*user_or_empty(g)) /* servers before 6.0 know no users */
        argv[argc++] = arg_from_text(user_or_empty(g));
    argv[argc++] = arg_from_text(g->login->password);
    send_command(g, AUTH, argv, argc);
}

static void send_client_command(struct hf_handshake *g, enum handshake_command what,
                                const char *verb, const char *a, const char *b)
{
    struct hf_resp_arg argv[4] = {arg_from_text("CLIENT"), arg_from_text(verb)};
    size_t argc = 2;

    if (a)
        argv[argc++] = arg_from_text(a);
    if (b)
        argv[argc++] = arg_from_text(b);
    send_command(g, what, argv, argc);
}

static void send_select(struct hf_handshake *g)
{
    char number[HF_RESP_INTEGER_MAX];
    size_t len = hf_resp_format_integer(number, g->database);
    struct hf_resp_arg argv[2] = {arg_from_text("SELECT"), {number, len}};

    send_command(g, SELECT, argv, 2);
}

/* OPTIN: only keys that the command after CLIENT CACHING YES reads. NOLOOP: this
 * connection's own writes are not reported. Source: redis.io CLIENT TRACKING. */
static void send_tracking(struct hf_handshake *g)
{
    struct hf_resp_arg argv[5] = {arg_from_text("CLIENT"), arg_from_text("TRACKING"),
                                  arg_from_text("ON"),
                                  arg_from_text("OPTIN"), arg_from_text("NOLOOP")};

    send_command(g, TRACKING, argv, 5);
}

/* The reply to PING ends the handshake. */
static void send_step_bare(struct hf_handshake *g)
{
    struct hf_resp_arg ping = arg_from_text("PING");

    clear_step(g);
    g->protocol = 2;
    if (g->login)
        send_auth(g);
    if (g->database != 0)
        send_select(g);
    send_command(g, PING, &ping, 1);
}

/* After a refused login, the reply to the first of them shows whether a login is required
 * (on_reply_after_refusal). So the first one is a command of all servers, which check the login
 * before its arguments. In HELLO, a refused name would be a refused HELLO. */
static void send_connection_settings(struct hf_handshake *g)
{
    struct hf_resp_arg info[2] = {arg_from_text("INFO"), arg_from_text("server")};

    if (g->database != 0)
        send_select(g);
    if (g->wants_tracking && g->protocol == 3)
        send_tracking(g);
    send_command(g, INFO, info, 2);
    if (g->client_name)
        send_client_command(g, SETNAME, "SETNAME", g->client_name, NULL);
    send_client_command(g, SETINFO, "SETINFO", "LIB-NAME", "holdfast");
    send_client_command(g, SETINFO, "SETINFO", "LIB-VER", HF_VERSION);
}

static void send_step_hello(struct hf_handshake *g)
{
    struct hf_resp_arg argv[5] = {arg_from_text("HELLO"), arg_from_text("3")};
    size_t argc = 2;

    clear_step(g);
    g->protocol = 3;
    if (g->login) {
        argv[argc++] = arg_from_text("AUTH");
        argv[argc++] = arg_from_text(*user_or_empty(g) ? user_or_empty(g) : "default");
        argv[argc++] = arg_from_text(g->login->password);
    }
    send_command(g, HELLO, argv, argc);
    send_connection_settings(g);
}

static void send_step_resp2(struct hf_handshake *g)
{
    clear_step(g);
    g->protocol = 2;
    if (g->login)
        send_auth(g);
    send_client_command(g, ID, "ID", NULL, NULL);
    send_connection_settings(g);
}

static void send_step_kill(struct hf_handshake *g)
{
    char number[HF_RESP_INTEGER_MAX];
    size_t len = hf_resp_format_integer(number, g->predecessor->client_id);
    struct hf_resp_arg argv[4] = {arg_from_text("CLIENT"), arg_from_text("KILL"),
                                  arg_from_text("ID"),
                                  {number, len}};

    HF_ASSERT(g->predecessor->client_id != 0);
    clear_step(g);
    send_command(g, KILL, argv, 4);
}

static void send_step_probe(struct hf_handshake *g)
{
    struct hf_resp_arg ping = arg_from_text("PING");

    clear_step(g);
    send_command(g, PING, &ping, 1);
}

static void send_first_step_of_mode(struct hf_handshake *g)
{
    if (g->mode == HANDSHAKE_BARE)
        send_step_bare(g);
    else if (g->mode == HANDSHAKE_RESP2)
        send_step_resp2(g);
    else
        send_step_hello(g);
}

hf_status hf_handshake_start(struct hf_handshake *g)
{
    hf_handshake_wipe(g);
    g->is_failure_final = false;
    g->has_closed_predecessor = g->is_tracking = false;
    g->error.status = HF_OK;
    g->client_id = 0;
    g->run_id[0] = '\0';
    g->has_answered = false;
    g->uses_default_user = g->checks_if_login_needed = false;
    g->has_pending_first_ping = g->probes_with_ping_first && g->mode != HANDSHAKE_BARE;
    if (g->has_pending_first_ping)
        send_step_probe(g);
    else
        send_first_step_of_mode(g);
    return g->error.status;
}

void hf_handshake_wrote(struct hf_handshake *g, size_t n)
{
    if (n < g->output_len)
        memmove(g->output, g->output + n, g->output_len - n);
    HF_ASSERT(n <= g->output_len);
    g->output_len -= n;
    if (g->output_len == 0)
        hf_handshake_wipe(g);
}

void hf_handshake_wipe(struct hf_handshake *g)
{
    free_output(g);
    g->output_len = 0;
}

/* ---- replies ---- */

static bool reply_starts_with(struct hf_resp_value reply, const char *prefix)
{
    const char *ptr;
    size_t len, want = strlen(prefix);

    return hf_resp_bytes(reply, &ptr, &len) == HF_OK && len >= want &&
           memcmp(ptr, prefix, want) == 0;
}

/* A server repeats the arguments of a command that it does not know, perhaps
 * cut; others may repeat what they like. */
static bool may_hold_password(const struct hf_handshake *g,
                              struct hf_resp_value reply)
{
    const char *ptr = "";
    size_t len = 0;

    (void)hf_resp_bytes(reply, &ptr, &len);
    return hf_login_appears_in(g->login, ptr, len);
}

/* The text of the server has 200 bytes about HELLO: a short one replaces it. */
static bool is_noauth_error(struct hf_resp_value reply)
{
    return hf_resp_error_is(reply, "NOAUTH");
}

static enum hf_handshake_result fail_handshake(struct hf_handshake *g, hf_status status,
                                               bool is_final, const char *what,
                                               struct hf_resp_value reply)
{
    const char *ptr = "an unexpected reply";
    size_t len = strlen(ptr);
    char words[256];

    (void)hf_resp_bytes(reply, &ptr, &len);
    if (may_hold_password(g, reply)) {
        ptr = "(words that may hold the password)";
        len = strlen(ptr);
    } else if (is_noauth_error(reply)) {
        ptr = "NOAUTH (it wants a password)";
        len = strlen(ptr);
    }
    g->is_failure_final = is_final;
    hf_error_set(&g->error, status, "%s: the server replied: %s", what,
                 hf_error_quote(words, sizeof words, ptr, len));
    g->error.is_temporary = status == HF_E_SERVER && !is_final &&
                            !hf_resp_error_is(reply, "DENIED"); /* protected mode */
    return HANDSHAKE_FAILED;
}

/* A server whose HELLO has no AUTH replies NOAUTH to one that carried a password. */
static bool refuses_login(const struct hf_handshake *g, struct hf_resp_value reply)
{
    return hf_resp_error_is(reply, "WRONGPASS") ||
           (is_noauth_error(reply) && !g->login);
}

/* The server refuses every connection, whatever it requests. It sends this before it
 * reads, in place of its first reply. */
static bool refuses_all_connections(struct hf_resp_value reply)
{
    return reply_starts_with(reply, "ERR max number of clients") ||
           hf_resp_error_is(reply, "DENIED"); /* protected mode */
}

/* The server refuses temporarily, or accepts no connection. Continuing would ignore the
 * result of this command, and the next commands would also fail. */
static bool is_not_a_login_error(struct hf_resp_value reply)
{
    return hf_resp_error_is(reply, "BUSY") ||
           hf_resp_error_is(reply, "LOADING") ||
           hf_resp_error_is(reply, "MASTERDOWN") ||
           (hf_resp_is_error(reply) && refuses_all_connections(reply));
}

/* Hosting services put a placeholder for the user into their URLs (Heroku:
 * redis://h:PASSWORD@host), and their server has the default user alone. So the
 * password is tried once more, as that user's; but only if the server replies NOAUTH to
 * a connection that did not log in. Otherwise the default user has no password, and any
 * would be accepted. */
static bool may_user_be_placeholder(const struct hf_handshake *g, struct hf_resp_value reply)
{
    return !g->uses_default_user && g->login && g->login->user[0] &&
           strcmp(g->login->user, "default") != 0 &&
           hf_resp_error_is(reply, "WRONGPASS");
}

/* The reply to HELLO or AUTH with the user of the URL. The error is kept in case the
 * default user is also refused. */
static enum hf_handshake_result handle_refused_login(struct hf_handshake *g, const char *what,
                                                     struct hf_resp_value reply)
{
    bool is_placeholder = may_user_be_placeholder(g, reply);
    struct hf_error first = g->error;

    (void)fail_handshake(g, HF_E_AUTH, true, what, reply);
    if (g->uses_default_user)
        g->error = first;
    if (!is_placeholder)
        return HANDSHAKE_FAILED;
    g->checks_if_login_needed = true;
    return HANDSHAKE_MORE;
}

/* The first reply after the refusal decides. */
static enum hf_handshake_result on_reply_after_refusal(struct hf_handshake *g,
                                                       struct hf_resp_value reply)
{
    if (!is_noauth_error(reply))
        return HANDSHAKE_FAILED;
    g->checks_if_login_needed = g->is_failure_final = false;
    g->uses_default_user = true;
    g->fallback = HANDSHAKE_FALLBACK_DEFAULT_USER;
    return HANDSHAKE_MORE;
}

static enum hf_handshake_result on_hello_reply(struct hf_handshake *g,
                                               struct hf_resp_value reply)
{
    struct hf_resp_value v;

    if (hf_resp_type(reply) == HF_RESP_MAP) {
        if (hf_resp_map_get(reply, "id", 2, &v) < 0 ||
            hf_resp_integer(v, &g->client_id) < 0)
            g->client_id = 0; /* kvrocks sends none: its connections cannot be killed */
        return HANDSHAKE_MORE;
    }
    if (!hf_resp_is_error(reply))
        return fail_handshake(g, HF_E_PROTOCOL, true, "HELLO", reply);
    if (refuses_login(g, reply))
        return handle_refused_login(g, names[HELLO], reply);
    if (hf_is_too_large_reply(reply))
        return fail_handshake(g, HF_E_SERVER, false, "HELLO", reply);
    g->fallback = HANDSHAKE_FALLBACK_RESP2;
    return HANDSHAKE_MORE;
}

static enum hf_handshake_result on_auth_reply(struct hf_handshake *g,
                                              struct hf_resp_value reply)
{
    return hf_resp_is_error(reply) ? handle_refused_login(g, names[AUTH], reply)
                                   : HANDSHAKE_MORE;
}

static enum hf_handshake_result on_client_id_reply(struct hf_handshake *g,
                                                   struct hf_resp_value reply)
{
    if (hf_resp_error_is(reply, "NOAUTH"))
        return fail_handshake(g, HF_E_AUTH, true, "CLIENT ID", reply);
    if (hf_resp_integer(reply, &g->client_id) < 0)
        g->client_id = 0; /* not permitted, or before 5.0: we do without */
    return HANDSHAKE_MORE;
}

/* A server has databases 0 to 15, unless its configuration says otherwise. */
static void add_database_advice(struct hf_handshake *g)
{
    struct hf_error said = g->error;

    if (strstr(said.text, "out of range"))
        hf_error_set(&g->error, said.status,
                     "%s; the server has no database %d: name a lower one, or "
                     "raise 'databases' in its configuration",
                     said.text, (int)g->database);
}

static enum hf_handshake_result on_select_reply(struct hf_handshake *g,
                                                struct hf_resp_value reply)
{
    if (!hf_resp_is_error(reply))
        return HANDSHAKE_MORE;
    (void)fail_handshake(g, HF_E_SERVER, true, "SELECT", reply);
    add_database_advice(g);
    return HANDSHAKE_FAILED;
}

static void read_run_id(struct hf_handshake *g, const char *info, size_t len)
{
    (void)hf_info_find(info, len, "run_id", g->run_id, RUN_ID_MAX);
}

/* Of this handshake, not of an earlier one. */
static bool is_kill_the_only_command(const struct hf_handshake *g)
{
    return g->expected_count == 1 && g->expected_commands[0] == KILL && g->next_expected == 1;
}

static enum hf_handshake_result end_handshake_ready(struct hf_handshake *g)
{
    HF_ASSERT(!g->has_closed_predecessor || is_kill_the_only_command(g));
    g->predecessor->client_id = g->client_id;
    memcpy(g->predecessor->run_id, g->run_id, RUN_ID_MAX);
    g->error.status = HF_OK; /* of a user that was refused */
    return HANDSHAKE_READY;
}

static bool is_predecessor_on_this_server(const struct hf_handshake *g)
{
    return g->predecessor->client_id != 0 && g->run_id[0] &&
           strcmp(g->run_id, g->predecessor->run_id) == 0;
}

/* Of probes_with_ping_first, NOAUTH is also enough: the connection was not closed. */
static enum hf_handshake_result on_ping_reply(struct hf_handshake *g,
                                              struct hf_resp_value reply)
{
    return is_noauth_error(reply) && !g->has_pending_first_ping
               ? fail_handshake(g, HF_E_AUTH, true, "PING", reply)
               : HANDSHAKE_MORE;
}

static void on_info_reply(struct hf_handshake *g, struct hf_resp_value reply)
{
    const char *ptr;
    size_t len;

    if (!hf_resp_is_error(reply) && hf_resp_bytes(reply, &ptr, &len) == HF_OK)
        read_run_id(g, ptr, len);
}

/* The last reply of a step has arrived. */
static enum hf_handshake_result continue_after_step(struct hf_handshake *g)
{
    if (g->fallback == HANDSHAKE_FALLBACK_RESP2) {
        send_step_resp2(g);
    } else if (g->has_pending_first_ping || g->fallback == HANDSHAKE_FALLBACK_DEFAULT_USER) {
        g->has_pending_first_ping = false;
        send_first_step_of_mode(g);
    } else if (is_predecessor_on_this_server(g) && !is_kill_the_only_command(g)) {
        send_step_kill(g);
    } else {
        return end_handshake_ready(g);
    }
    return HANDSHAKE_MORE;
}

const char *hf_handshake_awaited_command(const struct hf_handshake *g)
{
    return g->next_expected < g->expected_count ? names[g->expected_commands[g->next_expected]]
           : "";
}

bool hf_handshake_awaited_is_sent(const struct hf_handshake *g)
{
    return g->next_expected < g->expected_count &&
           g->output_len <= g->bytes_after_command[g->next_expected];
}

static enum hf_handshake_result handle_reply_to(struct hf_handshake *g, enum handshake_command what,
                                                struct hf_resp_value reply)
{
    if (is_not_a_login_error(reply))
        return fail_handshake(g, HF_E_SERVER, false, names[what], reply);
    if (g->checks_if_login_needed)
        return on_reply_after_refusal(g, reply);
    if (g->fallback != HANDSHAKE_NO_FALLBACK)
        return HANDSHAKE_MORE;
    switch (what) {
    case HELLO:
        return on_hello_reply(g, reply);
    case AUTH:
        return on_auth_reply(g, reply);
    case ID:
        return on_client_id_reply(g, reply);
    case SELECT:
        return on_select_reply(g, reply);
    case INFO:
        on_info_reply(g, reply);
        return HANDSHAKE_MORE;
    case PING:
        return on_ping_reply(g, reply);
    case TRACKING:
        g->is_tracking = !hf_resp_is_error(reply);
        return HANDSHAKE_MORE;
    case SETNAME: /* a wish: no server is left because it refuses one */
    case SETINFO:
        return HANDSHAKE_MORE;
    case KILL: /* gone already, killed now, or not permitted (design 11 c) */
        g->has_closed_predecessor = !hf_resp_is_error(reply);
        HF_ASSERT(!g->has_closed_predecessor || !hf_resp_is_error(reply));
        return HANDSHAKE_MORE;
    }
    return fail_handshake(g, HF_E_PROTOCOL, true, "handshake", reply);
}

enum hf_handshake_result hf_handshake_reply(struct hf_handshake *g,
                                            struct hf_resp_value reply)
{
    enum handshake_command what = (enum handshake_command)g->expected_commands[g->next_expected++];
    enum hf_handshake_result answer;

    HF_ASSERT(g->next_expected <= g->expected_count);
    g->has_answered = true;
    if (g->on_reply)
        g->on_reply(g->ctx, reply, may_hold_password(g, reply));
    answer = handle_reply_to(g, what, reply);
    if (answer == HANDSHAKE_MORE && g->next_expected == g->expected_count)
        answer = continue_after_step(g);
    return g->error.status == HF_E_NOMEM ? HANDSHAKE_FAILED : answer;
}
