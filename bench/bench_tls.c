/* What a connection over TLS costs a client: CPU for a handshake, full and
 * resumed, and for a command; OpenSSL's memory for a connection that is idle.
 *
 *     bench_tls [rounds]          (with the certificates of the tests)
 *
 * The server is OpenSSL in the same thread, which does something only in its
 * turn: time and memory are counted in our own calls alone. Medians of rounds;
 * full and resumed handshakes take turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <malloc.h>
#include <openssl/crypto.h>

#include "net/base/mem.h"
#include "net/wire/tls.h"
#include "tests/support/certs.h"
#include "tests/support/must.h"
#include "tests/support/tls_peer.h"

#define ROUNDS_MAX 10000
#define IDLERS 64             /* connections of which one is weighed */

static struct certs certs;
static struct tls_peer peer;
static struct hf_tls_options options;

/* ---- what is counted ---- */

static bool is_ours;          /* the call under way */
static long held;             /* bytes of OpenSSL, for calls of ours */
static double cpu_us, since_us;

static double now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void begin(void)
{
    is_ours = true;
    since_us = now_us();
}

static void end(void)
{
    cpu_us += now_us() - since_us;
    is_ours = false;
}

/* As malloc counts them: with what it adds. */
static void *weigh(void *ptr, long sign)
{
    if (is_ours && ptr)
        held += sign * (long)malloc_usable_size(ptr);
    return ptr;
}

static void *take(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return weigh(malloc(size), 1);
}

static void give_back(void *ptr, const char *file, int line)
{
    (void)file;
    (void)line;
    free(weigh(ptr, -1));
}

static void *resize(void *ptr, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    (void)weigh(ptr, -1);
    return weigh(realloc(ptr, size), 1);
}

/* ---- a connection ---- */

struct connection {
    struct hf_tls *tls;
    int fd;
};

static struct connection dial(struct hf_tls_context *context)
{
    struct connection c = {.fd = tls_peer_connect(&peer)};
    hf_status rc;

    begin();
    must(hf_tls_new(&c.tls, context, c.fd) == HF_OK);
    end();
    do {
        begin();
        rc = hf_tls_handshake(c.tls);
        end();
        tls_peer_turn(&peer);
    } while (rc == HF_RESP_MORE);
    must(rc == HF_OK);
    return c;
}

/* A command and its answer: the session's ticket comes with that. */
static void converse(struct connection c)
{
    char got[64];

    begin();
    must(hf_tls_write(c.tls, "PING", 4) == 4);
    end();
    tls_peer_turn(&peer);
    tls_peer_say(&peer, "PONG", 4);
    tls_peer_turn(&peer);
    begin();
    must(hf_tls_read(c.tls, got, sizeof got) == 4);
    end();
}

static void hang_up(struct connection c)
{
    begin();
    hf_tls_free(c.tls, true);
    end();
    (void)close(c.fd);
}

static struct hf_tls_context *know(void)
{
    struct hf_tls_context *context;

    must(hf_tls_context_new(&context, &hf_mem_libc, &options, "localhost",
                            NULL) == HF_OK);
    return context;
}

/* ---- CPU ---- */

static double connect_once(struct hf_tls_context *context, bool is_resumed)
{
    struct connection c;

    cpu_us = 0;
    c = dial(context);
    must(hf_tls_is_resumed(c.tls) == is_resumed);
    converse(c);
    hang_up(c);
    return cpu_us;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static void measure_handshakes(const char *name, int rounds)
{
    static double full[ROUNDS_MAX], resumed[ROUNDS_MAX];
    struct hf_tls_context *old = know();

    (void)connect_once(old, false);
    for (int i = 0; i < rounds; i++) {
        struct hf_tls_context *new = know();

        full[i] = connect_once(new, false);
        resumed[i] = connect_once(old, true);
        hf_tls_context_free(new);
    }
    printf("%s: full %.0f us, resumed %.0f us (%.2f)\n", name,
           median(full, rounds), median(resumed, rounds),
           median(resumed, rounds) / median(full, rounds));
    hf_tls_context_free(old);
}

/* ---- a command ---- */

#define COMMANDS 1000         /* a round */

static void measure_commands(const char *name, int rounds)
{
    static double each[ROUNDS_MAX];
    struct hf_tls_context *context = know();
    struct connection c = dial(context);

    for (int i = 0; i < rounds; i++) {
        cpu_us = 0;
        for (int k = 0; k < COMMANDS; k++) {
            converse(c);
            peer.heard_len = 0;
        }
        each[i] = cpu_us / COMMANDS;
    }
    printf("%s: a command and its answer %.2f us\n", name,
           median(each, rounds));
    hang_up(c);
    hf_tls_context_free(context);
}

/* ---- memory ---- */

/* The last of many, for what the first allocate once is not its own; the peer
 * has one connection, and forgets the others. */
static void measure_memory(const char *name)
{
    struct hf_tls_context *context = know();
    struct connection c[IDLERS];
    long fresh = 0, used = 0;

    for (int i = 0; i < IDLERS; i++) {
        long before = held;

        c[i] = dial(context);
        fresh = held - before;
        converse(c[i]);
        used = held - before;
    }
    printf("%s: %ld bytes after the handshake, %ld after a command\n", name,
           fresh, used);
    for (int i = 0; i < IDLERS; i++)
        hang_up(c[i]);
    hf_tls_context_free(context);
}

/* ---- */

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int version;
        bool is_mutual;
    } kinds[] = {
        {"TLS 1.3", TLS1_3_VERSION, false},
        {"TLS 1.3, mutual", TLS1_3_VERSION, true},
        {"TLS 1.2", TLS1_2_VERSION, false},
        {"TLS 1.2, mutual", TLS1_2_VERSION, true},
    };
    int rounds = argc > 1 ? atoi(argv[1]) : 200;

    must(rounds >= 1 && rounds <= ROUNDS_MAX);
    must(CRYPTO_set_mem_functions(take, resize, give_back));
    certs_make(&certs, NULL);
    (void)strcpy(options.ca_file, certs.ca);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct tls_peer_options of_peer = {
            .cert = certs.server,
            .client_ca = kinds[i].is_mutual ? certs.ca : NULL,
            .version = kinds[i].version};

        (void)strcpy(options.cert_file, kinds[i].is_mutual ? certs.client : "");
        tls_peer_init(&peer, &of_peer);
        measure_handshakes(kinds[i].name, rounds);
        if (!kinds[i].is_mutual)
            measure_commands(kinds[i].name, (rounds + 9) / 10);
        measure_memory(kinds[i].name);
        tls_peer_fini(&peer);
    }
    certs_remove(&certs);
    return EXIT_SUCCESS;
}
