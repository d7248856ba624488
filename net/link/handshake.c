/* The handshake, step by step. See handshake.h for the diagram. */
/* Tests: tests/test_net_handshake.c, tests/live/lock/test_first_grant.c. */
#include "net/link/handshake.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/info.h"
#include "net/base/mem.h"
#include "net/link/too_large.h"

enum command {
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
        explicit_bzero(g->output, g->output_room);
    hf_mem_free(g->mem, g->output, g->output_room);
    g->output = NULL;
    g->output_room = 0;
}

static struct hf_resp_arg text_arg(const char *s)
{
    return (struct hf_resp_arg){s, strlen(s)};
}

/* Not with hf_mem_grow, which may leave a copy of a password in freed memory. */
static bool has_room(struct hf_handshake *g, size_t size)
{
    size_t room = g->output_len + size;
    char *grown;

    if (room <= g->output_room)
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
    g->output_room = (uint32_t)room;
    return true;
}

static void send_command(struct hf_handshake *g, enum command what,
                 const struct hf_resp_arg *argv, size_t argc)
{
    char *start, *end;

    if (!has_room(g, hf_resp_command_size(argv, argc))) {
        hf_error_set(&g->error, HF_E_NOMEM, "out of memory while connecting");
        return;
    }
    start = g->output + g->output_len;
    end = hf_resp_put_command(start, argv, argc);
    if (g->on_command)
        g->on_command(g->ctx, argv, argc);
    for (int i = 0; i < g->expected_count; i++)
        g->behind[i] += (uint32_t)(end - start);
    g->output_len = (size_t)(end - g->output);
    g->behind[g->expected_count] = 0;
    g->expected[g->expected_count++] = (uint8_t)what;
}

static void begin_step(struct hf_handshake *g)
{
    g->expected_count = 0;
    g->next = 0;
    g->fallback = HANDSHAKE_NO_FALLBACK;
}

/* "": none is named. */
static const char *user_of(const struct hf_handshake *g)
{
    return g->is_default_user ? "" : g->login->user;
}

static void send_auth(struct hf_handshake *g)
{
    struct hf_resp_arg argv[3] = {text_arg("AUTH")};
    size_t argc = 1;

    if (*user_of(g)) /* servers before 6.0 know no users */
        argv[argc++] = text_arg(user_of(g));
    argv[argc++] = text_arg(g->login->password);
    send_command(g, AUTH, argv, argc);
}

static void send_client(struct hf_handshake *g, enum command what,
                        const char *verb, const char *a, const char *b)
{
    struct hf_resp_arg argv[4] = {text_arg("CLIENT"), text_arg(verb)};
    size_t argc = 2;

    if (a)
        argv[argc++] = text_arg(a);
    if (b)
        argv[argc++] = text_arg(b);
    send_command(g, what, argv, argc);
}

static void send_select(struct hf_handshake *g)
{
    char number[HF_RESP_INTEGER_MAX];
    size_t len = hf_resp_format_integer(number, g->database);
    struct hf_resp_arg argv[2] = {text_arg("SELECT"), {number, len}};

    send_command(g, SELECT, argv, 2);
}

/* OPTIN: only keys that the command after CLIENT CACHING YES reads. NOLOOP: this
 * connection's own writes are not reported. Source: redis.io CLIENT TRACKING. */
static void send_tracking(struct hf_handshake *g)
{
    struct hf_resp_arg argv[5] = {text_arg("CLIENT"), text_arg("TRACKING"), text_arg("ON"),
                                  text_arg("OPTIN"), text_arg("NOLOOP")};

    send_command(g, TRACKING, argv, 5);
}

/* The reply to PING ends the handshake. */
static void step_bare(struct hf_handshake *g)
{
    struct hf_resp_arg ping = text_arg("PING");

    begin_step(g);
    g->protocol = 2;
    if (g->login)
        send_auth(g);
    if (g->database != 0)
        send_select(g);
    send_command(g, PING, &ping, 1);
}

/* After a refused login, the reply to the first of them shows whether a login is required
 * (on_check). So the first one is a command of all servers, which check the login before its
 * arguments. In HELLO, a refused name would be a refused HELLO. */
static void send_settings(struct hf_handshake *g)
{
    struct hf_resp_arg info[2] = {text_arg("INFO"), text_arg("server")};

    if (g->database != 0)
        send_select(g);
    if (g->wants_tracking && g->protocol == 3)
        send_tracking(g);
    send_command(g, INFO, info, 2);
    if (g->client_name)
        send_client(g, SETNAME, "SETNAME", g->client_name, NULL);
    send_client(g, SETINFO, "SETINFO", "LIB-NAME", "holdfast");
    send_client(g, SETINFO, "SETINFO", "LIB-VER", HF_VERSION);
}

static void step_hello(struct hf_handshake *g)
{
    struct hf_resp_arg argv[5] = {text_arg("HELLO"), text_arg("3")};
    size_t argc = 2;

    begin_step(g);
    g->protocol = 3;
    if (g->login) {
        argv[argc++] = text_arg("AUTH");
        argv[argc++] = text_arg(*user_of(g) ? user_of(g) : "default");
        argv[argc++] = text_arg(g->login->password);
    }
    send_command(g, HELLO, argv, argc);
    send_settings(g);
}

static void step_resp2(struct hf_handshake *g)
{
    begin_step(g);
    g->protocol = 2;
    if (g->login)
        send_auth(g);
    send_client(g, ID, "ID", NULL, NULL);
    send_settings(g);
}

static void step_kill(struct hf_handshake *g)
{
    char number[HF_RESP_INTEGER_MAX];
    size_t len = hf_resp_format_integer(number, g->predecessor->id);
    struct hf_resp_arg argv[4] = {text_arg("CLIENT"), text_arg("KILL"), text_arg("ID"),
                                  {number, len}};

    HF_ASSERT(g->predecessor->id != 0);
    begin_step(g);
    send_command(g, KILL, argv, 4);
}

static void step_probe(struct hf_handshake *g)
{
    struct hf_resp_arg ping = text_arg("PING");

    begin_step(g);
    send_command(g, PING, &ping, 1);
}

static void begin_manner(struct hf_handshake *g)
{
    if (g->mode == HANDSHAKE_BARE)
        step_bare(g);
    else if (g->mode == HANDSHAKE_RESP2)
        step_resp2(g);
    else
        step_hello(g);
}

hf_status hf_handshake_start(struct hf_handshake *g)
{
    hf_handshake_wipe(g);
    g->is_final = false;
    g->has_killed = g->is_tracking = false;
    g->error.status = HF_OK;
    g->id = 0;
    g->run_id[0] = '\0';
    g->has_answered = false;
    g->is_default_user = g->is_checking = false;
    g->is_probing = g->is_careful && g->mode != HANDSHAKE_BARE;
    if (g->is_probing)
        step_probe(g);
    else
        begin_manner(g);
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

static bool starts_with(struct hf_resp_value reply, const char *prefix)
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
static bool lacks_password(struct hf_resp_value reply)
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
    } else if (lacks_password(reply)) {
        ptr = "NOAUTH (it wants a password)";
        len = strlen(ptr);
    }
    g->is_final = is_final;
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
           (lacks_password(reply) && !g->login);
}

/* The server refuses every connection, whatever it requests. It sends this before it
 * reads, in place of its first reply. */
static bool refuses_all_connections(struct hf_resp_value reply)
{
    return starts_with(reply, "ERR max number of clients") ||
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
static bool may_be_placeholder(const struct hf_handshake *g, struct hf_resp_value reply)
{
    return !g->is_default_user && g->login && g->login->user[0] &&
           strcmp(g->login->user, "default") != 0 &&
           hf_resp_error_is(reply, "WRONGPASS");
}

/* The reply to HELLO or AUTH with the user of the URL. The error is kept in case the
 * default user is also refused. */
static enum hf_handshake_result login_refused(struct hf_handshake *g, const char *what,
                                              struct hf_resp_value reply)
{
    bool is_placeholder = may_be_placeholder(g, reply);
    struct hf_error first = g->error;

    (void)fail_handshake(g, HF_E_AUTH, true, what, reply);
    if (g->is_default_user)
        g->error = first;
    if (!is_placeholder)
        return HANDSHAKE_FAILED;
    g->is_checking = true;
    return HANDSHAKE_MORE;
}

/* The first reply after the refusal decides. */
static enum hf_handshake_result on_check(struct hf_handshake *g, struct hf_resp_value reply)
{
    if (!lacks_password(reply))
        return HANDSHAKE_FAILED;
    g->is_checking = g->is_final = false;
    g->is_default_user = true;
    g->fallback = HANDSHAKE_FALLBACK_DEFAULT_USER;
    return HANDSHAKE_MORE;
}

static enum hf_handshake_result on_hello(struct hf_handshake *g,
                                         struct hf_resp_value reply)
{
    struct hf_resp_value v;

    if (hf_resp_type(reply) == HF_RESP_MAP) {
        if (hf_resp_map_get(reply, "id", 2, &v) < 0 ||
            hf_resp_integer(v, &g->id) < 0)
            g->id = 0; /* kvrocks sends none: its connections cannot be killed */
        return HANDSHAKE_MORE;
    }
    if (!hf_resp_is_error(reply))
        return fail_handshake(g, HF_E_PROTOCOL, true, "HELLO", reply);
    if (refuses_login(g, reply))
        return login_refused(g, names[HELLO], reply);
    if (hf_is_too_large_reply(reply))
        return fail_handshake(g, HF_E_SERVER, false, "HELLO", reply);
    g->fallback = HANDSHAKE_FALLBACK_RESP2;
    return HANDSHAKE_MORE;
}

static enum hf_handshake_result on_auth(struct hf_handshake *g,
                                        struct hf_resp_value reply)
{
    return hf_resp_is_error(reply) ? login_refused(g, names[AUTH], reply)
                                   : HANDSHAKE_MORE;
}

static enum hf_handshake_result on_id(struct hf_handshake *g,
                                      struct hf_resp_value reply)
{
    if (hf_resp_error_is(reply, "NOAUTH"))
        return fail_handshake(g, HF_E_AUTH, true, "CLIENT ID", reply);
    if (hf_resp_integer(reply, &g->id) < 0)
        g->id = 0; /* not permitted, or before 5.0: we do without */
    return HANDSHAKE_MORE;
}

/* A server has databases 0 to 15, unless its configuration says otherwise. */
static void advise_database(struct hf_handshake *g)
{
    struct hf_error said = g->error;

    if (strstr(said.text, "out of range"))
        hf_error_set(&g->error, said.status,
                     "%s; the server has no database %d: name a lower one, or "
                     "raise 'databases' in its configuration",
                     said.text, (int)g->database);
}

static enum hf_handshake_result on_select(struct hf_handshake *g,
                                          struct hf_resp_value reply)
{
    if (!hf_resp_is_error(reply))
        return HANDSHAKE_MORE;
    (void)fail_handshake(g, HF_E_SERVER, true, "SELECT", reply);
    advise_database(g);
    return HANDSHAKE_FAILED;
}

static void note_run_id(struct hf_handshake *g, const char *info, size_t len)
{
    (void)hf_info_find(info, len, "run_id", g->run_id, RUN_ID_MAX);
}

/* Of this handshake, not of an earlier one. */
static bool was_kill_sent(const struct hf_handshake *g)
{
    return g->expected_count == 1 && g->expected[0] == KILL && g->next == 1;
}

static enum hf_handshake_result become_ready(struct hf_handshake *g)
{
    HF_ASSERT(!g->has_killed || was_kill_sent(g));
    g->predecessor->id = g->id;
    memcpy(g->predecessor->run_id, g->run_id, RUN_ID_MAX);
    g->error.status = HF_OK; /* of a user that was refused */
    return HANDSHAKE_READY;
}

static bool has_predecessor(const struct hf_handshake *g)
{
    return g->predecessor->id != 0 && g->run_id[0] &&
           strcmp(g->run_id, g->predecessor->run_id) == 0;
}

/* Of is_careful, NOAUTH is also enough: the connection was not closed. */
static enum hf_handshake_result on_ping(struct hf_handshake *g,
                                        struct hf_resp_value reply)
{
    return lacks_password(reply) && !g->is_probing
               ? fail_handshake(g, HF_E_AUTH, true, "PING", reply)
               : HANDSHAKE_MORE;
}

static void on_info(struct hf_handshake *g, struct hf_resp_value reply)
{
    const char *ptr;
    size_t len;

    if (!hf_resp_is_error(reply) && hf_resp_bytes(reply, &ptr, &len) == HF_OK)
        note_run_id(g, ptr, len);
}

/* The last reply of a step has arrived. */
static enum hf_handshake_result end_step(struct hf_handshake *g)
{
    if (g->fallback == HANDSHAKE_FALLBACK_RESP2) {
        step_resp2(g);
    } else if (g->is_probing || g->fallback == HANDSHAKE_FALLBACK_DEFAULT_USER) {
        g->is_probing = false;
        begin_manner(g);
    } else if (has_predecessor(g) && !was_kill_sent(g)) {
        step_kill(g);
    } else {
        return become_ready(g);
    }
    return HANDSHAKE_MORE;
}

const char *hf_handshake_awaited_command(const struct hf_handshake *g)
{
    return g->next < g->expected_count ? names[g->expected[g->next]] : "";
}

bool hf_handshake_awaited_is_sent(const struct hf_handshake *g)
{
    return g->next < g->expected_count && g->output_len <= g->behind[g->next];
}

static enum hf_handshake_result take_reply(struct hf_handshake *g, enum command what,
                                           struct hf_resp_value reply)
{
    if (is_not_a_login_error(reply))
        return fail_handshake(g, HF_E_SERVER, false, names[what], reply);
    if (g->is_checking)
        return on_check(g, reply);
    if (g->fallback != HANDSHAKE_NO_FALLBACK)
        return HANDSHAKE_MORE;
    switch (what) {
    case HELLO:
        return on_hello(g, reply);
    case AUTH:
        return on_auth(g, reply);
    case ID:
        return on_id(g, reply);
    case SELECT:
        return on_select(g, reply);
    case INFO:
        on_info(g, reply);
        return HANDSHAKE_MORE;
    case PING:
        return on_ping(g, reply);
    case TRACKING:
        g->is_tracking = !hf_resp_is_error(reply);
        return HANDSHAKE_MORE;
    case SETNAME: /* a wish: no server is left because it refuses one */
    case SETINFO:
        return HANDSHAKE_MORE;
    case KILL: /* gone already, killed now, or not permitted (design 11 c) */
        g->has_killed = !hf_resp_is_error(reply);
        HF_ASSERT(!g->has_killed || !hf_resp_is_error(reply));
        return HANDSHAKE_MORE;
    }
    return fail_handshake(g, HF_E_PROTOCOL, true, "handshake", reply);
}

enum hf_handshake_result hf_handshake_reply(struct hf_handshake *g,
                                            struct hf_resp_value reply)
{
    enum command what = (enum command)g->expected[g->next++];
    enum hf_handshake_result answer;

    HF_ASSERT(g->next <= g->expected_count);
    g->has_answered = true;
    if (g->on_reply)
        g->on_reply(g->ctx, reply, may_hold_password(g, reply));
    answer = take_reply(g, what, reply);
    if (answer == HANDSHAKE_MORE && g->next == g->expected_count)
        answer = end_step(g);
    return g->error.status == HF_E_NOMEM ? HANDSHAKE_FAILED : answer;
}
