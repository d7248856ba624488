/* A real server that the test owns, and what it answers to our witness. */
#include "tests/support/server.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/keeper.h"
#include "tests/support/local.h"
#include "tests/support/witness.h"

/* The port of a cluster node's bus may be in use; and an old server refuses an option
 * once. */
#define START_TRIES 10

/* Below what the kernel chooses (from 32768 on): no connection takes the port of
 * a server that starts again, and whoever still looks for one that has died
 * never meets another test's listener. A cluster node's bus listens 10000
 * above its port. */
#define PORT_MIN 11000
#define PORT_COUNT 10000

/* Of the log, when it is shown. */
#define LOG_TAIL 2000

#define PATH_ROOM 108           /* sun_path's */

struct server {
    /* Set once. */
    char folder[PATH_ROOM / 2];
    char unix_path[PATH_ROOM];
    char log_path[PATH_ROOM];
    char config_path[PATH_ROOM]; /* a sentinel's */
    char port_text[16];
    int port;
    char **argv;                /* mostly the texts above; extra ones from */
    size_t extra_at;            /* here on are copies */
    const char *password;       /* NULL: none */
    /* Under `mutex`. */
    pthread_mutex_t mutex;
    struct keeper keeper;
    redisContext *witness;      /* NULL: not connected */
    pid_t witness_of;           /* the process that connected it */
    char *answers[SERVER_ANSWERS];
    size_t answer_count;
};

/* ---- starting ------------------------------------------------------------ */

/* The last of what the server said, in static memory: the test ends anyway. */
static const char *log_tail(const struct server *s)
{
    static char tail[LOG_TAIL + 1];
    int fd = open(s->log_path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;

    if (fd >= 0) {
        if (lseek(fd, -LOG_TAIL, SEEK_END) < 0)
            (void)lseek(fd, 0, SEEK_SET); /* shorter than that */
        n = read(fd, tail, LOG_TAIL);
        (void)close(fd);
    }
    tail[n > 0 ? n : 0] = '\0';
    return tail;
}

static void make_paths(struct server *s)
{
    const char *tmp = getenv("TMPDIR");
    int len = snprintf(s->folder, sizeof s->folder, "%s/holdfast-XXXXXX",
                       tmp ? tmp : "/tmp");

    if (len >= (int)sizeof s->folder) /* a Unix socket's path is short */
        (void)strcpy(s->folder, "/tmp/holdfast-XXXXXX");
    if (!mkdtemp(s->folder))
        ck_abort_msg("no temporary folder %s: %s", s->folder, strerror(errno));
    (void)snprintf(s->unix_path, sizeof s->unix_path, "%s/redis.sock",
                   s->folder);
    (void)snprintf(s->log_path, sizeof s->log_path, "%s/log", s->folder);
    (void)snprintf(s->config_path, sizeof s->config_path, "%s/sentinel.conf",
                   s->folder);
}

/* A sentinel keeps what it knows in its configuration file, and wants one. */
static bool is_sentinel(const char *const *extra)
{
    for (; extra && *extra; extra++)
        if (strcmp(*extra, "--sentinel") == 0)
            return true;
    return false;
}

static void make_config(const struct server *s)
{
    int fd = open(s->config_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        ck_abort_msg("no file %s: %s", s->config_path, strerror(errno));
    (void)close(fd);
}

/* Reserves a port until this process ends: a program that runs at the same time cannot take
 * the port of a server that was killed or stopped, and a server that starts again gets it
 * back. Tests that run at the same time have numbers side by side, and begin 37 ports from
 * each other. */
static void choose_port(struct server *s)
{
    static unsigned chosen;
    unsigned tries = 0;

    do {
        if (tries++ == PORT_COUNT)
            ck_abort_msg("no free port: %s", strerror(errno));
        s->port = PORT_MIN +
                  (int)(((unsigned)getpid() * 37u + chosen++) % PORT_COUNT);
    } while (!local_reserve(&s->port));
    (void)snprintf(s->port_text, sizeof s->port_text, "%d", s->port);
}

static char *program(void)
{
    char *name = getenv("HF_TEST_SERVER");

    return name && *name ? name : (char *)"redis-server";
}

/* The command line. exec wants char *, and never writes to it. */
static void make_argv(struct server *s, const char *const *extra,
                      bool with_debug)
{
    const char *const ours[] = {
        program(), s->config_path, "--port", s->port_text, "--bind",
        "127.0.0.1",
        "--unixsocket", s->unix_path, "--dir", s->folder, "--logfile", "",
        "--daemonize", "no", "--save", "", "--appendonly", "no",
        /* Last, so that it can be left out. */
        "--enable-debug-command", "yes",
    };
    size_t ours_count = sizeof ours / sizeof *ours - (with_debug ? 0 : 2);
    size_t extra_count = 0, skipped = is_sentinel(extra) ? 0 : 1;

    while (extra && extra[extra_count])
        extra_count++;
    s->argv = local_new((ours_count + extra_count + 1) * sizeof *s->argv);
    ours_count -= skipped;
    s->extra_at = ours_count;
    memcpy(s->argv, ours + skipped, ours_count * sizeof *ours);
    s->argv[0] = program();
    for (size_t i = 0; i < extra_count; i++) {
        s->argv[ours_count + i] = local_copy(
            strcmp(extra[i], SERVER_PORT) == 0 ? s->port_text : extra[i]);
        if (i > 0 && strcmp(extra[i - 1], "--requirepass") == 0)
            s->password = s->argv[ours_count + i];
    }
}

static struct server *server_new(const char *const *extra, bool with_debug)
{
    struct server *s = local_new(sizeof *s);

    (void)pthread_mutex_init(&s->mutex, NULL);
    make_paths(s);
    choose_port(s);
    make_argv(s, extra, with_debug);
    if (is_sentinel(extra))
        make_config(s);
    if (!keeper_open(&s->keeper, s->folder, s->log_path, s->argv))
        ck_abort_msg("no keeper: %s", strerror(errno));
    return s;
}

static _Noreturn void server_fail(struct server *s, const char *what)
{
    ck_abort_msg("server %s on port %d %s; its log ends with:\n%s", program(),
                 s->port, what, log_tail(s));
}

struct server *server_start(const char *const *extra_args)
{
    bool with_debug = true;

    for (int tries = 1;; tries++) {
        struct server *s = server_new(extra_args, with_debug);
        enum keeper_result result =
            keeper_order(&s->keeper, KEEPER_START).result;

        if (result == KEEPER_DONE)
            return s;
        if (result == KEEPER_MISSING) {
            server_stop(s);
            return NULL;
        }
        if (strstr(log_tail(s), "enable-debug-command"))
            with_debug = false;
        else if (!strstr(log_tail(s), "already in use") || tries == START_TRIES)
            server_fail(s, "does not start");
        server_stop(s);
    }
}

bool server_is_installed(void)
{
    struct server *s = server_new(NULL, false);
    bool is_installed =
        keeper_order(&s->keeper, KEEPER_START).result != KEEPER_MISSING;

    server_stop(s);
    return is_installed;
}

/* ---- its life ------------------------------------------------------------ */

static void forget_witness(struct server *s)
{
    if (s->witness)
        redisFree(s->witness);
    s->witness = NULL;
}

void server_stop(struct server *s)
{
    if (!s)
        return;
    forget_witness(s);
    keeper_close(&s->keeper);
    for (size_t i = s->extra_at; s->argv[i]; i++)
        free(s->argv[i]);
    free(s->argv);
    for (size_t i = 0; i < SERVER_ANSWERS; i++)
        free(s->answers[i]);
    (void)pthread_mutex_destroy(&s->mutex);
    free(s);
}

static struct keeper_answer order(struct server *s, enum keeper_order what)
{
    struct keeper_answer answer;

    (void)pthread_mutex_lock(&s->mutex);
    answer = keeper_order(&s->keeper, what);
    (void)pthread_mutex_unlock(&s->mutex);
    return answer;
}

void server_pause(struct server *s)
{
    if (order(s, KEEPER_PAUSE).result != KEEPER_DONE)
        server_fail(s, "cannot be paused");
}

void server_resume(struct server *s)
{
    if (order(s, KEEPER_RESUME).result != KEEPER_DONE)
        server_fail(s, "cannot be resumed");
}

void server_kill(struct server *s)
{
    if (order(s, KEEPER_KILL).result != KEEPER_DONE)
        server_fail(s, "cannot be killed");
}

void server_restart(struct server *s)
{
    if (order(s, KEEPER_START).result != KEEPER_DONE)
        server_fail(s, "does not start again");
}

pid_t server_pid(struct server *s)
{
    return order(s, KEEPER_WHO).pid;
}

bool server_is_running(struct server *s)
{
    char path[32], state = 'T';
    pid_t pid = server_pid(s);
    FILE *in;

    if (!pid)
        return false;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    in = fopen(path, "r");
    if (!in)
        return false;
    if (fscanf(in, "%*d (%*[^)]) %c", &state) != 1)
        state = 'T';
    (void)fclose(in);
    return state != 'T';
}

int server_port(const struct server *s)
{
    return s->port;
}

const char *server_unix_path(const struct server *s)
{
    return s->unix_path;
}

const char *server_folder(const struct server *s)
{
    return s->folder;
}

char *server_url(const struct server *s, char buf[SERVER_URL_MAX])
{
    (void)snprintf(buf, SERVER_URL_MAX, "redis://127.0.0.1:%d", s->port);
    return buf;
}

/* ---- questions ----------------------------------------------------------- */

redisContext *server_connect(struct server *s)
{
    return witness_connect(s->unix_path, s->password);
}

/* Nothing is outstanding between questions: what can be read then is the
 * connection's end. */
static bool is_alive(redisContext *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};

    return !c->err && poll(&p, 1, 0) == 0;
}

/* The connection for the next question, or NULL. One from before a fork is the
 * parent's: its answers would be anyone's. */
static redisContext *witness(struct server *s)
{
    if (s->witness && (s->witness_of != getpid() || !is_alive(s->witness)))
        forget_witness(s);
    if (!s->witness)
        s->witness = server_connect(s);
    s->witness_of = getpid();
    return s->witness;
}

/* Puts the answer where it is lent from; takes `text`. */
static const char *lend(struct server *s, char *text)
{
    char **place = &s->answers[s->answer_count++ % SERVER_ANSWERS];

    free(*place);
    *place = text;
    return text;
}

/* The reply, for freeReplyObject, and its text; fails the test if there is
 * none, with the mutex free. */
static const char *ask(struct server *s, const char *format, va_list args,
                       int *type)
{
    redisContext *c;
    redisReply *reply = NULL;
    const char *text = NULL;
    sigset_t before;

    (void)pthread_mutex_lock(&s->mutex);
    witness_writes(&before);
    c = witness(s);
    if (c)
        reply = redisvCommand(c, format, args);
    witness_written(&before);
    if (reply) {
        *type = reply->type;
        text = lend(s, witness_text(reply));
        freeReplyObject(reply);
    }
    (void)pthread_mutex_unlock(&s->mutex);
    if (!text)
        ck_abort_msg("the server on port %d does not answer to: %s (%s)",
                     s->port, format, c ? c->errstr : "no connection");
    return text;
}

const char *server_ask(struct server *s, const char *format, ...)
{
    const char *text;
    va_list args;
    int type;

    va_start(args, format);
    text = ask(s, format, args, &type);
    va_end(args);
    return text;
}

void server_kill_connections(struct server *s)
{
    (void)server_ask(s, "MULTI");
    (void)server_ask(s, "CLIENT KILL TYPE normal SKIPME yes");
    (void)server_ask(s, "CLIENT KILL TYPE pubsub SKIPME yes");
    (void)server_ask(s, "EXEC");
}

long long server_ask_int(struct server *s, const char *format, ...)
{
    const char *text;
    va_list args;
    int type;

    va_start(args, format);
    text = ask(s, format, args, &type);
    va_end(args);
    if (type != REDIS_REPLY_INTEGER)
        ck_abort_msg("the answer to %s is no integer: %s", format, text);
    return strtoll(text, NULL, 10);
}

void server_await(struct server *s, int timeout_ms, const char *expected,
                  const char *format, ...)
{
    int64_t deadline_ms = local_now_ms() + timeout_ms;
    const char *text;
    va_list args;
    int type;

    for (;;) {
        va_start(args, format);
        text = ask(s, format, args, &type);
        va_end(args);
        if (strcmp(text, expected) == 0)
            return;
        if (local_now_ms() >= deadline_ms)
            break;
        local_poll_rest();
    }
    ck_abort_msg("after %d ms the answer to %s is still \"%s\", not \"%s\"",
                 timeout_ms, format, text, expected);
}
