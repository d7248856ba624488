/* Replies for tests of what reads them. */
#include "tests/support/reply.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/local.h"
#include "tests/support/server.h"

#define PATIENCE_SECONDS 10
#define REPLY_MAX (16u << 20)

/* ---- notation ---- */

struct notation {
    const char *at;
    int protocol;
};

static void skip_spaces(struct notation *n)
{
    n->at += strspn(n->at, " \n");
}

static void write_value(struct notation *n, FILE *out);

/* The children first, because their count stands in front of them. */
static void write_children(struct notation *n, FILE *out, char end)
{
    char *children = NULL;
    size_t len = 0, count = 0;
    FILE *inner = open_memstream(&children, &len);

    ck_assert_ptr_nonnull(inner);
    n->at++;
    for (skip_spaces(n); *n->at != end; skip_spaces(n), count++)
        write_value(n, inner);
    n->at++;
    (void)fclose(inner);
    if (end == '}' && n->protocol == 3)
        (void)fprintf(out, "%%%zu\r\n", count / 2);
    else
        (void)fprintf(out, "*%zu\r\n", count);
    (void)fwrite(children, 1, len, out);
    free(children);
}

static void write_quoted(struct notation *n, FILE *out, bool is_error)
{
    const char *from = n->at + 1, *to = strchr(from, '\'');
    int len;

    ck_assert_ptr_nonnull(to);
    len = (int)(to - from);
    if (is_error)
        (void)fprintf(out, "-%.*s\r\n", len, from);
    else
        (void)fprintf(out, "$%d\r\n%.*s\r\n", len, len, from);
    n->at = to + 1;
}

static void write_word(struct notation *n, FILE *out)
{
    int len = (int)strcspn(n->at, " \n]}");

    ck_assert_int_gt(len, 0);
    if (len == 3 && strncmp(n->at, "nil", 3) == 0)
        (void)fputs(n->protocol == 3 ? "_\r\n" : "$-1\r\n", out);
    else
        (void)fprintf(out, "%s%.*s\r\n", *n->at == '+' ? "" : ":", len, n->at);
    n->at += len;
}

static void write_value(struct notation *n, FILE *out)
{
    skip_spaces(n);
    switch (*n->at) {
    case '[':
        write_children(n, out, ']');
        return;
    case '{':
        write_children(n, out, '}');
        return;
    case '\'':
        write_quoted(n, out, false);
        return;
    case '!':
        n->at++;
        write_quoted(n, out, true);
        return;
    default:
        write_word(n, out);
    }
}

char *reply_write(const char *notation, int protocol, size_t *len)
{
    struct notation n = {notation, protocol};
    char *bytes = NULL;
    FILE *out = open_memstream(&bytes, len);

    ck_assert_ptr_nonnull(out);
    write_value(&n, out);
    skip_spaces(&n);
    ck_assert_msg(!*n.at, "behind the reply: %s", n.at);
    (void)fclose(out);
    return bytes;
}

/* ---- bytes ---- */

bool reply_of_bytes(struct reply *out, const char *bytes, size_t len,
                    int protocol)
{
    struct hf_resp_tape tape = {NULL, 0, (uint32_t)(len / 3 + 1)};
    struct hf_resp_parser p;

    tape.nodes = local_new(tape.room * sizeof *tape.nodes);
    *out = (struct reply){.bytes = local_new(len ? len : 1), .len = len};
    memcpy(out->bytes, bytes, len);
    hf_resp_init(&p, NULL, protocol);
    if (hf_resp_parse(&p, out->bytes, len, &tape) != HF_OK || p.pos != len) {
        free(tape.nodes);
        reply_fini(out);
        return false;
    }
    out->nodes = realloc(tape.nodes, tape.count * sizeof *tape.nodes);
    tape.nodes = out->nodes;
    out->value = hf_resp_first(&tape, out->bytes, 0);
    return true;
}

struct reply reply_of(const char *notation, int protocol)
{
    size_t len;
    char *bytes = reply_write(notation, protocol, &len);
    struct reply reply;

    ck_assert(reply_of_bytes(&reply, bytes, len, protocol));
    free(bytes);
    return reply;
}

void reply_fini(struct reply *reply)
{
    free(reply->bytes);
    free(reply->nodes);
    *reply = (struct reply){0};
}

/* ---- a server's ---- */

static int connect_to(int port)
{
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ck_assert_int_eq(
        connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static struct reply read_reply(int fd, int protocol)
{
    char *bytes = local_new(REPLY_MAX);
    size_t len = 0;
    struct reply reply;

    for (;;) {
        ssize_t n = read(fd, bytes + len, REPLY_MAX - len);

        ck_assert_int_gt(n, 0);
        len += (size_t)n;
        if (reply_of_bytes(&reply, bytes, len, protocol))
            break;
    }
    free(bytes);
    return reply;
}

static struct reply ask(int fd, int protocol, const char *command)
{
    ck_assert_int_gt(dprintf(fd, "%s\r\n", command), 0);
    return read_reply(fd, protocol);
}

struct reply reply_from(const struct server *s, int protocol,
                        const char *command)
{
    int fd = connect_to(server_port(s));
    struct reply reply;

    if (protocol == 3) {
        reply = ask(fd, 3, "HELLO 3");
        reply_fini(&reply);
    }
    reply = ask(fd, protocol, command);
    (void)close(fd);
    return reply;
}
