/* Takes a lock, says so, gives it back: the README's example. */
#include <holdfast/holdfast.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void end(int signal)
{
    _Exit(128 + signal);
}

int main(void)
{
    struct hf_client_options options;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_error error;

    signal(SIGTERM, end); /* PID 1 of a container needs a handler */
    signal(SIGINT, end);
    hf_client_options_init(&options);
    options.url = "redis://127.0.0.1:6379";
    if (hf_client_new(&client, &options, &error) < 0 ||
        hf_lock_new(&lock, client, "order:42", 8, &error) < 0 ||
        hf_lock_acquire(lock, NULL, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    puts("mine");
    hf_lock_release(lock, hf_owner_thread(), &error);
    hf_lock_free(lock);
    hf_client_free(client);
}
