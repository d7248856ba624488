/* Any bytes as a server URL. What is taken is written out again, every byte
 * escaped, and must come back the same; what is refused leaves no trace but an
 * error with a position, and the error does not depend on the password.
 *
 *     clang -fsanitize=fuzzer,address,undefined fuzz/fuzz_url.c net/url.c
 *           net/error.c */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/net.h"

#define TEXT_MAX 4096
static_assert(3 * sizeof(struct hf_url) < TEXT_MAX, "%XX for every byte");

static void must(bool holds)
{
    if (!holds)
        abort();
}

static char *escape(char *to, const char *bytes)
{
    for (; *bytes; bytes++)
        to += sprintf(to, "%%%02x", (unsigned)(unsigned char)*bytes);
    return to;
}

/* `u` as text again, with another password. */
static void write_out(const struct hf_url *u, const char *password, char *to)
{
    static const char *const schemes[] = {"redis", "rediss", "unix"};
    bool is_ipv6 = strchr(u->host, ':') != NULL;

    to += sprintf(to, "%s://", schemes[u->kind]);
    to = escape(to, u->user);
    *to++ = ':';
    to = escape(to, password);
    to += sprintf(to, is_ipv6 ? "@[" : "@");
    to = escape(to, u->host);
    to += sprintf(to, is_ipv6 ? "]" : "");
    if (u->kind == HF_URL_UNIX)
        to = escape(stpcpy(to, "/"), u->path + 1);
    else
        to += sprintf(to, ":%u/", (unsigned)u->port);
    (void)sprintf(to, "?db=%u", (unsigned)u->database);
}

static void check_taken(const struct hf_url *u)
{
    struct hf_url again;
    char text[TEXT_MAX];

    must(u->kind == HF_URL_UNIX ? u->path[0] == '/' && !u->host[0]
                                : u->port > 0 && u->host[0] && !u->path[0]);
    must(u->has_password == (u->user[0] || u->password[0]));
    write_out(u, u->password, text);
    must(hf_url_parse(&again, text, NULL) == HF_OK);
    must(memcmp(u, &again, sizeof again) == 0);
}

static void check_hidden(const struct hf_url *u)
{
    struct hf_url ignored;
    struct hf_error with, without;
    char text[TEXT_MAX], masked[sizeof u->password];

    memcpy(masked, u->password, sizeof masked);
    memset(masked, 'x', strlen(masked));
    write_out(u, u->password, text);
    must(hf_url_parse(&ignored, strcat(text, "#"), &with) == HF_E_INVAL);
    write_out(u, masked, text);
    must(hf_url_parse(&ignored, strcat(text, "#"), &without) == HF_E_INVAL);
    must(strcmp(with.text, without.text) == 0);
}

static void check_refused(const struct hf_url *u, const char *text,
                          const struct hf_error *e)
{
    static const struct hf_url untouched;
    size_t position = 0;

    must(e->status == HF_E_INVAL);
    must(sscanf(e->text, "the URL is wrong at character %zu: ", &position) ==
         1);
    must(position >= 1 && position <= strlen(text) + 1);
    must(memcmp(u, &untouched, sizeof *u) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct hf_url u;
    struct hf_error e;
    char address[400];

    memset(&u, 0, sizeof u);
    if (hf_url_parse(&u, text, &e) == HF_OK) {
        check_taken(&u);
        check_hidden(&u);
        must(strlen(hf_url_address(&u, address, sizeof address)) >= 3);
    } else {
        check_refused(&u, text, &e);
    }
    free(text);
    return 0;
}
