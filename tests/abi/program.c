/* program URL: uses each struct that grows. It is compiled with the headers of an older, the
 * same and a newer version (version.pl; -DOLDER, -DNEWER), and linked with the library. It says
 * what the library does not do as docs/abi.md promises. */
#include <holdfast/holdfast.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROMISE(fact)                                                         \
    ((fact) ? (void)0                                                         \
            : (fprintf(stderr, "program.c:%d: NOT SO: %s: %s\n", __LINE__, #fact, error.text), \
               exit(1)))

static struct hf_error error;
static struct hf_client *client;
static struct hf_lock *lock;

/* What is behind a struct in the program's memory: the library reads and writes none of it. */
#define GUARD 0x5a
#define GUARDED(type)                                                         \
    struct {                                                                  \
        struct type is;                                                       \
        unsigned char guard[512];                                             \
    }
#define GUARD_SET(guarded) memset(&(guarded), GUARD, sizeof(guarded))

static bool is_intact(const unsigned char *guard, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (guard[i] != GUARD)
            return false;
    return true;
}
#define IS_INTACT(result) is_intact((result).guard, sizeof (result).guard)

/* A newer program's member of a result that this library does not know. */
#ifdef NEWER
#define IS_FILLED(result)                                                     \
    ((result).is.later_member == 0 && (result).is.size < sizeof (result).is)
#else
#define IS_FILLED(result) ((result).is.size == sizeof (result).is)
#endif

static void make_client(const char *url)
{
    GUARDED(hf_client_options) options;

    GUARD_SET(options);
    hf_client_options_init(&options.is);
    PROMISE(IS_INTACT(options) && options.is.size == sizeof options.is);
    PROMISE(options.is.thread && options.is.watchdog_ms == 30000);
    options.is.url = url;
#ifdef NEWER
    options.is.later_member = 1;
    PROMISE(hf_client_new(&client, &options.is, &error) == HF_E_INVAL);
    PROMISE(strstr(error.text, "hf_client_options") && strstr(error.text, hf_version()));
    options.is.later_member = 0;
#endif
    PROMISE(hf_client_new(&client, &options.is, &error) == HF_OK);
    options.is.size = 0;
    PROMISE(hf_client_new(NULL, &options.is, &error) == HF_E_INVAL);
    PROMISE(strstr(error.text, "hf_client_options was not initialised"));
}

static void acquire(void)
{
    struct hf_acquire_options options = HF_ACQUIRE_OPTIONS_INIT;
    GUARDED(hf_acquire_options) other;

    PROMISE(options.wait_ms == HF_FOREVER && options.owner == hf_owner_thread());
    PROMISE(hf_lock_acquire(lock, &options, &error) == HF_OK);
    GUARD_SET(other);
    hf_acquire_options_init(&other.is);
    PROMISE(IS_INTACT(other));
    other.is.owner = 1;
    other.is.wait_ms = 0;
    PROMISE(hf_lock_acquire(lock, &other.is, &error) == HF_TIMEOUT);
#ifdef NEWER
    other.is.later_member = -1;
    PROMISE(hf_lock_acquire(lock, &other.is, &error) == HF_E_INVAL);
    PROMISE(strstr(error.text, "hf_acquire_options"));
#endif
}

static void read_results(void)
{
    GUARDED(hf_lock_info) info;
    GUARDED(hf_client_stats) stats;

    GUARD_SET(info);
    PROMISE(hf_lock_inspect(lock, &info.is, &error) == HF_OK);
    PROMISE(info.is.is_locked && info.is.kind == HF_KIND_PLAIN && info.is.holders == 1);
    PROMISE(IS_FILLED(info) && IS_INTACT(info));
    GUARD_SET(stats);
    hf_client_get_stats(client, &stats.is);
    PROMISE(stats.is.holds == 1 && stats.is.link.requests > 0);
    PROMISE(IS_FILLED(stats) && IS_INTACT(stats));
}

static int body(void *ctx, struct hf_lock *of)
{
    (void)ctx;
    (void)of;
    return 7;
}

static void run_scope(void)
{
    GUARDED(hf_scope) scope;
    int result = 0;

    GUARD_SET(scope);
    scope.is = (struct hf_scope)HF_SCOPE_INIT;
    scope.is.body = body;
    PROMISE(hf_lock_with(lock, NULL, &scope.is, &result, &error) == HF_OK && result == 7);
}

static void be_candidate(void)
{
    GUARDED(hf_election_options) options;
    struct hf_election *election;

    GUARD_SET(options);
    options.is = (struct hf_election_options)HF_ELECTION_OPTIONS_INIT;
    PROMISE(hf_election_join(&election, lock, &options.is, &error) == HF_OK);
    PROMISE(hf_election_leave(election, &error) == HF_OK);
}

static void make_loop(void)
{
    GUARDED(hf_loop_options) options;
    struct hf_loop *loop;

    GUARD_SET(options);
    options.is = (struct hf_loop_options)HF_LOOP_OPTIONS_INIT;
    PROMISE(hf_loop_new(&loop, &options.is) == HF_OK);
    hf_loop_free(loop);
}

static void end(void)
{
    GUARDED(hf_client_closed) closed;

    PROMISE(hf_lock_release(lock, hf_owner_thread(), &error) == HF_OK);
    GUARD_SET(closed);
    PROMISE(hf_client_close(client, 60000, &closed.is, &error) == HF_OK);
    PROMISE(closed.is.cancelled == 0 && closed.is.unknown == 0);
    PROMISE(IS_FILLED(closed) && IS_INTACT(closed));
    hf_client_free(client);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    make_loop();
    make_client(argv[1]);
    PROMISE(hf_lock_new(&lock, client, "abi", 3, &error) == HF_OK);
    acquire();
    read_results();
    run_scope();
    be_candidate();
    end();
    return 0;
}
