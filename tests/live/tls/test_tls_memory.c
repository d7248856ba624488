/* A client over TLS that connects, holds a lock, loses its connection, comes
 * back with its session, releases and ends, while memory fails: each allocation
 * of ours once, in turn; and of OpenSSL's, some thousands, every few (all with
 * HF_EVERY=1). Always an error or none, never a crash, a leak or a hang. Whom
 * OpenSSL lets in then: tests/test_net_tls_memory.c.
 * Source: faults.md T23. */
#include <stdlib.h>

#include <openssl/crypto.h>

#include "net/base/mem.h"
#include "tests/live/test_tls.h"
#include "tests/support/fds.h"
#include "tests/support/memory.h"
#include "tests/support/one_server.h"

#define PLENTY 500            /* of ours */
#define STRIDE 101            /* a prime */
/* Allocations of one life: 2,223 to 3,637 with OpenSSL 3.5, 5,000 and more with
 * 3.0. Far fewer would mean that the hook is not used. */
#define FEWEST 1000
#define SOME_BLOCKS 100       /* that OpenSSL keeps for good, whatever fails */

static const struct way {
    bool is_mutual;
    const char *versions;
} ways[] = {{true, "TLSv1.3"}, {false, "TLSv1.2"}, {false, "TLSv1.3"},
            {true, "TLSv1.2"}};

static void none(void)
{
}

/* ---- OpenSSL's allocator ---- */

static struct {
    unsigned long asked;
    unsigned long fail_at;      /* 0: never */
    long blocks;
} heap;

/* Of a client without a thread: of one thread. */
static bool is_refused(void)
{
    return ++heap.asked == heap.fail_at;
}

static void *take(size_t size, const char *file, int line)
{
    void *ptr = is_refused() ? NULL : malloc(size);

    (void)file;
    (void)line;
    heap.blocks += ptr != NULL;
    return ptr;
}

static void *resize(void *ptr, size_t size, const char *file, int line)
{
    void *moved;

    (void)file;
    (void)line;
    if (is_refused())
        return NULL;
    moved = realloc(ptr, size);
    heap.blocks += !ptr && moved;
    return moved;
}

static void give_back(void *ptr, const char *file, int line)
{
    (void)file;
    (void)line;
    heap.blocks -= ptr != NULL;
    free(ptr);
}

static void fail_at(unsigned long n)
{
    heap.asked = 0;
    heap.fail_at = n;
}

static bool has_failed(void)
{
    return heap.asked >= heap.fail_at;
}

/* ---- a life ---- */

/* TLS cannot always say that it was for want of memory. */
static void ck_assert_honest(hf_status rc)
{
    ck_assert_msg(rc == HF_OK || rc == HF_E_NOMEM || rc == HF_E_NOREPLY ||
                      rc == HF_E_CONNECT || (heap.fail_at && rc == HF_E_TLS),
                  "%s", hf_status_name(rc));
}

static struct hf_client *open_client(const struct way *way,
                                     const struct hf_mem *mem)
{
    struct hf_tls_options tls = tls_options(way->is_mutual);
    struct hf_client_options o;
    struct hf_client *client = NULL;
    char url[TLS_URL_MAX];

    tls_client_options(&o, url, server_port(server), &tls);
    o.mem = mem;
    o.thread = false;
    ck_assert_honest(hf_client_new(&client, &o, NULL));
    return client;
}

static void hold(struct hf_lock *lock)
{
    hf_status rc = hf_lock_acquire(lock, NULL, NULL);

    ck_assert_honest(rc);
    (void)fds_count(); /* they end with an exec */
    if (rc < 0)
        return;
    ck_assert_holder(server, lock, hf_owner_thread(), 1);
    (void)server_ask(server, "CLIENT KILL TYPE normal SKIPME yes");
    ck_assert_honest(hf_lock_release(lock, hf_owner_thread(), NULL));
}

static void live_a_life(const struct way *way, const struct hf_mem *mem)
{
    struct hf_client *client = open_client(way, mem);
    struct hf_lock *lock = NULL;

    if (!client)
        return;
    ck_assert_honest(hf_client_connect(client, NULL));
    ck_assert_honest(hf_lock_new(&lock, client, NAME, strlen(NAME), NULL));
    if (lock)
        hold(lock);
    hf_lock_free(lock);
    hf_client_free(client);
}

/* What is read and made once is there after. */
static void start(const struct way *way)
{
    const char *const args[] = {"--tls-protocols", way->versions, NULL};

    server = tls_server(certs.server, way->is_mutual, args);
    (void)server_ask(server, "PING"); /* by a connection that stays */
    fds_note();
    live_a_life(way, &hf_mem_libc);
    fds_await_none();
}

/* ---- the tests ---- */

START_TEST(each_allocation_may_fail)
{
    const struct way *way = &ways[_i];
    struct memory memory;
    bool is_over = false;
    int n;

    start(way);
    for (n = 1; !is_over && n < PLENTY; n++) {
        memory_init(&memory);
        memory_fail_at(&memory, (uint64_t)n);
        live_a_life(way, &memory.hook);
        is_over = !memory_has_failed(&memory);
        ck_assert_pstr_eq(memory_fini(&memory), NULL);
        fds_await_none();
        server_await(server, LONG_MS, "0", "EXISTS " NAME);
    }
    ck_assert_int_gt(n, 10);
    ck_assert_int_lt(n, PLENTY);
}
END_TEST

START_TEST(each_allocation_of_openssl_may_fail)
{
    const struct way *way = &ways[_i];
    unsigned long n = 1;
    long before;

    start(way);
    before = heap.blocks;
    do {
        fail_at(n);
        live_a_life(way, &hf_mem_libc);
        fds_await_none();
        (void)server_ask(server, "DEL " NAME); /* if it could not come back */
        n += getenv("HF_EVERY") ? 1 : STRIDE;
    } while (has_failed());
    fail_at(0); /* nor when OpenSSL cleans up */
    ck_assert_uint_gt(n, FEWEST);
    ck_assert_int_lt(heap.blocks, before + SOME_BLOCKS);
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "memory", none, stop_server);

    tcase_add_loop_test(c, each_allocation_may_fail, 0, COUNT(ways));
    tcase_add_loop_test(c, each_allocation_of_openssl_may_fail, 0, COUNT(ways));
}

static int run(void)
{
    return live_main("TLS, memory", add_cases);
}

int main(void)
{
    if (!CRYPTO_set_mem_functions(take, resize, give_back))
        return EXIT_FAILURE;
    return tls_main("TLS, memory", run);
}
