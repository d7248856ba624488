/* A conversation with a server: a request, and all bytes that it causes.
 *
 * Each request is followed by PING with a word that was never used before. All bytes before that
 * word belong to the request, whatever the number of replies and pushes, and whether or not they
 * are RESP. */
/* Tests: tests/live/cli/test_resp_check.c. */
#include "tools/resp/talk.h"
#include "net/base/error.h"
#include "net/base/url.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the marker ---- */

/* "holdfast-" and a number of always 20 digits. */
#define MARK_LEN 29
#define MARKER_MAX 64

struct marker {
    char request[MARKER_MAX];
    char reply[MARKER_MAX];
    size_t reply_len;
};

static struct marker next_marker(struct cli_talk *t)
{
    struct marker m;
    char word[MARK_LEN + 1];

    (void)snprintf(word, sizeof word, "holdfast-%020llu",
                   (unsigned long long)++t->requests);
    (void)snprintf(m.request, sizeof m.request,
                   "*2\r\n$4\r\nPING\r\n$%d\r\n%s\r\n", MARK_LEN, word);
    m.reply_len = (size_t)snprintf(m.reply, sizeof m.reply, "$%d\r\n%s\r\n",
                                   MARK_LEN, word);
    return m;
}

/* RESP2 puts this around the word while there is a subscription. */
static const char subscribed[] = "*2\r\n$4\r\npong\r\n";
#define SUBSCRIBED_LEN (sizeof subscribed - 1)

/* The bytes before the marker's reply, if that has come. */
static bool find_marker(const struct cli_talk *t, const struct marker *m,
                        size_t *before, size_t *behind)
{
    size_t len;
    const char *in = hf_wire_received(t->wire, &len);
    const char *at = in ? memmem(in, len, m->reply, m->reply_len) : NULL;

    if (!at)
        return false;
    *before = (size_t)(at - in);
    *behind = *before + m->reply_len;
    if (*before >= SUBSCRIBED_LEN &&
        memcmp(at - SUBSCRIBED_LEN, subscribed, SUBSCRIBED_LEN) == 0)
        *before -= SUBSCRIBED_LEN;
    return true;
}

/* Is the last line an error that says so? Nor will a PING be answered then. */
static bool needs_auth(const struct cli_talk *t)
{
    static const char code[] = "-NOAUTH ";
    size_t len;
    const char *in = hf_wire_received(t->wire, &len);
    const char *line;

    if (len < sizeof code || in[len - 1] != '\n')
        return false;
    line = memrchr(in, '\n', len - 1);
    line = line ? line + 1 : in;
    return strncmp(line, code, strlen(code)) == 0; /* a newline ends it */
}

/* ---- requests ---- */

static bool is_end(hf_status rc)
{
    return rc == HF_E_CONNECT || rc == HF_E_TLS;
}

/* The answer is all that came. */
static void hand_out_all(struct cli_talk *t, struct cli_answer *out)
{
    (void)hf_wire_received(t->wire, &out->len);
    t->handed_out = out->len;
}

static hf_status send_cut(struct cli_talk *t, const char *bytes, size_t len,
                          size_t piece, int64_t deadline_ms)
{
    hf_status rc = HF_OK;

    for (size_t i = 0; i < len && rc == HF_OK; i += piece)
        rc = hf_wire_send(t->wire, bytes + i,
                          len - i < piece ? len - i : piece, deadline_ms);
    return rc;
}

/* Reads even after a failure to send: a server says why it closes. */
static void gather_to_end(struct cli_talk *t, int64_t deadline_ms,
                          struct cli_answer *out)
{
    hf_status rc;

    do
        rc = hf_wire_read(t->wire, deadline_ms);
    while (rc == HF_OK);
    out->end = is_end(rc) ? CLI_ENDED : CLI_SILENT;
    hand_out_all(t, out);
}

static void gather_to_marker(struct cli_talk *t, const struct marker *m,
                             int64_t deadline_ms, struct cli_answer *out)
{
    size_t before, behind;
    hf_status rc = HF_OK;

    while (rc == HF_OK && !needs_auth(t)) {
        if (find_marker(t, m, &before, &behind)) {
            out->end = CLI_WHOLE;
            out->len = before;
            t->handed_out = behind;
            return;
        }
        rc = hf_wire_read(t->wire, deadline_ms);
    }
    out->end = is_end(rc) ? CLI_ENDED : CLI_SILENT;
    if (rc == HF_OK)
        out->end = CLI_WHOLE; /* the error is the answer */
    hand_out_all(t, out);
}

void cli_talk_exchange(struct cli_talk *t, const char *bytes, size_t len,
                       enum cli_how how, struct cli_answer *out)
{
    int64_t deadline_ms = hf_clock_ms() + t->patience_ms;
    struct marker m = next_marker(t);
    size_t ignored;
    hf_status rc;

    if (t->handed_out > 0)
        hf_wire_drop(t->wire, t->handed_out);
    t->handed_out = 0;
    rc = send_cut(t, bytes, len, how == CLI_TALK_CUT || !len ? 1 : len,
                  deadline_ms);
    if (rc == HF_OK && how != CLI_TALK_LAST)
        rc = hf_wire_send(t->wire, m.request, strlen(m.request), deadline_ms);
    if (rc != HF_OK || how == CLI_TALK_LAST)
        gather_to_end(t, deadline_ms, out);
    else
        gather_to_marker(t, &m, deadline_ms, out);
    out->bytes = hf_wire_received(t->wire, &ignored);
}

/* ---- opening ---- */

static int64_t patience_with(const struct hf_url *url)
{
    return url->timeout_ms > 0 ? url->timeout_ms : CLI_ANSWER_MS;
}

hf_status cli_talk_open_bare(struct cli_talk *t,
                             const struct hf_wire_options *server,
                             int64_t timeout_ms, struct hf_error *err)
{
    *t = (struct cli_talk){.protocol = 2,
                           .patience_ms = patience_with(server->url)};
    return hf_wire_open(&t->wire, server, hf_clock_ms() + timeout_ms, err);
}

void cli_talk_close(struct cli_talk *t)
{
    hf_wire_close(t->wire);
    t->wire = NULL;
}

/* Sends one command of the handshake. */
struct step {
    const char *argv[5];
    size_t argc;
};

/* Servers before 6.0 have no users. */
static struct step login(const struct hf_url *url, int protocol)
{
    const struct hf_login *l = url->login;

    if (protocol == 3 && !l)
        return (struct step){{"HELLO", "3"}, 2};
    if (protocol == 3)
        return (struct step){{"HELLO", "3", "AUTH", l->user[0] ? l->user : "default",
                              l->password}, 5};
    if (!l)
        return (struct step){{"PING"}, 1};
    if (l->user[0])
        return (struct step){{"AUTH", l->user, l->password}, 3};
    return (struct step){{"AUTH", l->password}, 2};
}

static bool begins_with_one(const struct cli_answer *answer,
                            const char *const *texts)
{
    for (; *texts; texts++)
        if (cli_answer_begins(answer, *texts))
            return true;
    return false;
}

/* What a refusal is about. */
static hf_status status_of(const struct cli_answer *answer)
{
    static const char *const auth[] = {
        "-NOAUTH",
        "-WRONGPASS",
        "-ERR invalid password",
        "-ERR AUTH",
        "-ERR Client sent AUTH",
        "-ERR wrong number of arguments for 'auth'",
        NULL};
    static const char *const hello[] = {"-NOPROTO", "-ERR unknown command",
                                        NULL};

    if (begins_with_one(answer, auth))
        return HF_E_AUTH;
    return begins_with_one(answer, hello) ? HF_E_SERVER : HF_E_CONNECT;
}

/* For an error: what the server says, unless that may hold the password. */
static char *quote(char dst[HF_ERROR_TEXT_MAX / 2], const struct hf_url *url,
                   const char *ptr, size_t len)
{
    static const char hidden[] = "(text that may contain the password)";

    return hf_login_appears_in(url->login, ptr, len)
               ? strcpy(dst, hidden)
               : hf_error_quote(dst, HF_ERROR_TEXT_MAX / 2, ptr, len);
}

static hf_status refuse(const struct hf_url *url, const char *address,
                        const struct cli_answer *answer, struct hf_error *err)
{
    char quoted[HF_ERROR_TEXT_MAX / 2];
    const char *line = answer->bytes + 1; /* after the type byte */
    const char *cr = memchr(line, '\r', answer->len - 1);
    size_t len = cr ? (size_t)(cr - line) : answer->len - 1;

    return hf_error_set(err, status_of(answer), "%s refuses: %s", address,
                        quote(quoted, url, line, len));
}

/* TLS reports why it ended, except if the peer does not use TLS. */
static hf_status say_ended(const struct cli_talk *t, const char *address,
                           bool is_tls, struct hf_error *err)
{
    const struct hf_error *why = hf_wire_error(t->wire);

    if (is_tls)
        return hf_error_set(err, why->status, "%s: %s", address, why->text);
    return hf_error_set(err, why->status,
                        "%s: %s before it replied; is this a TLS port (rediss://), or "
                        "not a Redis server?",
                        address, why->text);
}

static hf_status look_at(const struct cli_talk *t, const struct hf_url *url,
                         const struct cli_answer *answer, struct hf_error *err)
{
    char address[HF_ERROR_TEXT_MAX / 4], quoted[HF_ERROR_TEXT_MAX / 2];

    (void)hf_url_address(url, address, sizeof address);
    if (answer->len > 0 && *answer->bytes == '-')
        return refuse(url, address, answer, err);
    if (answer->end == CLI_WHOLE)
        return HF_OK;
    if (answer->len > 0)
        return hf_error_set(err, HF_E_PROTOCOL, "%s answers %s", address,
                            quote(quoted, url, answer->bytes, answer->len));
    if (answer->end == CLI_ENDED)
        return say_ended(t, address, url->kind == HF_URL_TLS, err);
    return hf_error_set(err, HF_E_NOREPLY, "%s does not reply", address);
}

/* Wiped, because it may hold a password. */
static hf_status exchange_step(struct cli_talk *t, const struct hf_url *url,
                               const struct step *step, struct cli_answer *answer,
                               struct hf_error *err)
{
    struct hf_resp_arg argv[5];
    size_t size;
    char *bytes;

    for (size_t i = 0; i < step->argc; i++)
        argv[i] = (struct hf_resp_arg){step->argv[i], strlen(step->argv[i])};
    size = hf_resp_command_size(argv, step->argc);
    if (!(bytes = malloc(size)))
        return hf_error_set(err, HF_E_NOMEM, "out of memory");
    (void)hf_resp_put_command(bytes, argv, step->argc);
    cli_talk_exchange(t, bytes, size, CLI_TALK, answer);
    explicit_bzero(bytes, size);
    free(bytes);
    return look_at(t, url, answer, err);
}

/* Only one check needs it, so it may be refused. */
static void read_id(struct cli_talk *t, const struct hf_url *url)
{
    static const struct step step = {{"CLIENT", "ID"}, 2};
    struct cli_answer answer;

    if (exchange_step(t, url, &step, &answer, NULL) == HF_OK &&
        cli_answer_begins(&answer, ":"))
        t->id = strtoll(answer.bytes + 1, NULL, 10); /* a CR follows */
}

static hf_status handshake(struct cli_talk *t, const struct hf_url *url,
                           int protocol, struct hf_error *err)
{
    char database[HF_RESP_INTEGER_MAX];
    struct step step = login(url, protocol);
    struct cli_answer answer;
    hf_status rc = exchange_step(t, url, &step, &answer, err);

    if (rc != HF_OK)
        return rc;
    t->protocol = protocol;
    if (url->database > 0) {
        (void)snprintf(database, sizeof database, "%u",
                       (unsigned)url->database);
        step = (struct step){{"SELECT", database}, 2};
        rc = exchange_step(t, url, &step, &answer, err);
    }
    if (rc == HF_OK)
        read_id(t, url);
    return rc;
}

hf_status cli_talk_open(struct cli_talk *t,
                        const struct hf_wire_options *server, int protocol,
                        int64_t timeout_ms, struct hf_error *err)
{
    hf_status rc = cli_talk_open_bare(t, server, timeout_ms, err);

    t->patience_ms = timeout_ms;
    if (rc == HF_OK)
        rc = handshake(t, server->url, protocol, err);
    t->patience_ms = patience_with(server->url);
    if (rc != HF_OK)
        cli_talk_close(t);
    return rc;
}
