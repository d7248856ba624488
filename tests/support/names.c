/* A resolver that does as it is told. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/local.h"
#include "tests/support/names.h"

static const struct name *table;
static size_t table_count;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int asked;
    int hanging;
    int ended;
    bool is_open;
    bool saw_signals;
} now = {.mutex = PTHREAD_MUTEX_INITIALIZER,
         .changed = PTHREAD_COND_INITIALIZER};

static pthread_key_t asker;            /* of each thread that asks: not NULL */
static char our_mark[] = "ours";       /* addrinfo's we have to free */

/* ---- one address ---- */

static void write_address(struct addrinfo *info, const char *text)
{
    struct sockaddr_in *in = (struct sockaddr_in *)info->ai_addr;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)info->ai_addr;

    if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
        info->ai_family = AF_INET;
        info->ai_addrlen = sizeof *in;
    } else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
        info->ai_family = AF_INET6;
        info->ai_addrlen = sizeof *in6;
    } else if (strcmp(text, "unix") == 0) {
        info->ai_family = AF_UNIX;
        info->ai_addrlen = sizeof(struct sockaddr_storage);
    } else {
        abort();               /* a slip in the test's own table */
    }
    info->ai_addr->sa_family = (sa_family_t)info->ai_family;
}

static struct addrinfo *new_address(const char *text)
{
    struct addrinfo *info = local_new(sizeof *info);

    info->ai_addr = local_new(sizeof(struct sockaddr_storage));
    info->ai_canonname = our_mark;
    write_address(info, text);
    return info;
}

static struct addrinfo *new_addresses(const char *text)
{
    char *words = local_copy(text), *rest = NULL;
    struct addrinfo *first = NULL, **end = &first;

    for (char *word = strtok_r(words, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        *end = new_address(word);
        end = &(*end)->ai_next;
    }
    free(words);
    return first;
}

/* ---- one question ---- */

static void note_signals(void)
{
    sigset_t blocked;

    (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (!sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGPIPE) ||
        !sigismember(&blocked, SIGCHLD))
        now.saw_signals = true;
}

/* The last that a thread which asked does. */
static void note_end(void *unused)
{
    (void)unused;
    (void)pthread_mutex_lock(&now.mutex);
    now.ended++;
    (void)pthread_cond_broadcast(&now.changed);
    (void)pthread_mutex_unlock(&now.mutex);
}

static void hang(void)
{
    now.hanging++;
    (void)pthread_cond_broadcast(&now.changed);
    while (!now.is_open)
        (void)pthread_cond_wait(&now.changed, &now.mutex);
    now.hanging--;
    (void)pthread_cond_broadcast(&now.changed);
}

static int answer(const struct name *name, struct addrinfo **out)
{
    (void)pthread_setspecific(asker, &now);
    (void)pthread_mutex_lock(&now.mutex);
    now.asked++;
    note_signals();
    if (name->is_slow)
        hang();
    (void)pthread_mutex_unlock(&now.mutex);
    if (name->error == 0)
        *out = new_addresses(name->addresses);
    errno = name->system_error;
    return name->error;
}

static const struct name *find(const char *host)
{
    for (size_t i = 0; i < table_count; i++)
        if (strcmp(table[i].host, host) == 0)
            return &table[i];
    return NULL;
}

int getaddrinfo(const char *host, const char *service,
                const struct addrinfo *hints, struct addrinfo **out)
{
    int (*system_call)(const char *, const char *, const struct addrinfo *,
                       struct addrinfo **);
    const struct name *name = NULL;

    if (host && !(hints && hints->ai_flags & AI_NUMERICHOST))
        name = find(host);
    if (name)
        return answer(name, out);
    *(void **)&system_call = dlsym(RTLD_NEXT, "getaddrinfo");
    return system_call(host, service, hints, out);
}

void freeaddrinfo(struct addrinfo *info)
{
    void (*system_call)(struct addrinfo *);
    struct addrinfo *next;

    if (info && info->ai_canonname != our_mark) {
        *(void **)&system_call = dlsym(RTLD_NEXT, "freeaddrinfo");
        system_call(info);
        return;
    }
    for (; info; info = next) {
        next = info->ai_next;
        free(info->ai_addr);
        free(info);
    }
}

/* ---- what the test does ---- */

void names_are(const struct name *names, size_t count)
{
    table = names;
    table_count = count;
    if (pthread_key_create(&asker, note_end) != 0)
        abort();
}

void names_open(void)
{
    (void)pthread_mutex_lock(&now.mutex);
    now.is_open = true;
    (void)pthread_cond_broadcast(&now.changed);
    (void)pthread_mutex_unlock(&now.mutex);
}

void names_await_hanging(int count)
{
    (void)pthread_mutex_lock(&now.mutex);
    while (now.hanging != count)
        (void)pthread_cond_wait(&now.changed, &now.mutex);
    (void)pthread_mutex_unlock(&now.mutex);
}

void names_await_ended(int count)
{
    (void)pthread_mutex_lock(&now.mutex);
    while (now.ended < count)
        (void)pthread_cond_wait(&now.changed, &now.mutex);
    (void)pthread_mutex_unlock(&now.mutex);
}

int names_asked(void)
{
    int asked;

    (void)pthread_mutex_lock(&now.mutex);
    asked = now.asked;
    (void)pthread_mutex_unlock(&now.mutex);
    return asked;
}

bool names_were_signal_free(void)
{
    bool they_were;

    (void)pthread_mutex_lock(&now.mutex);
    they_were = !now.saw_signals;
    (void)pthread_mutex_unlock(&now.mutex);
    return they_were;
}
