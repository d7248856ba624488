/* writer LEASE_MS: acquires the fenced lock "order:42" of HOLDFAST_URL, for so long
 * (0: renewed), however long it has to wait for it; says "token N"; then runs each
 * line of its standard input as a command, with TOKEN in the environment, and says
 * "exit CODE". It never asks whether it still has the lock: a process can be stopped
 * between that question and the write, and this is what such a process does. */
#include <holdfast.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static int fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    return 1;
}

static void run_lines(void)
{
    char line[4096];

    while (fgets(line, sizeof line, stdin)) {
        int status = system(line);

        printf("exit %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
}

int main(int argc, char **argv)
{
    static const char name[] = "order:42";
    struct hf_client_options options;
    struct hf_acquire_options wish;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_error error;
    char token[32];

    setvbuf(stdout, NULL, _IOLBF, 0);
    hf_client_options_init(&options);
    options.url = getenv("HOLDFAST_URL");
    hf_acquire_options_init(&wish);
    wish.lease_ms = argc > 1 ? atoi(argv[1]) : 0;
    if (hf_client_new(&client, &options, &error) < 0 ||
        hf_lock_new_kind(&lock, client, HF_KIND_FENCED, name, strlen(name),
                         &error) < 0 ||
        hf_lock_acquire(lock, &wish, &error) < 0)
        return fail(error.text);
    (void)snprintf(token, sizeof token, "%" PRId64,
                   hf_lock_token(lock, hf_owner_thread()));
    (void)setenv("TOKEN", token, 1);
    printf("token %s\n", token);
    run_lines();
    (void)hf_lock_release(lock, hf_owner_thread(), NULL);
    hf_lock_free(lock);
    hf_client_free(client);
    return 0;
}
