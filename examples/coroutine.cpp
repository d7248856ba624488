/* Locks in coroutines (C++20): several tasks in one thread take turns, and none blocks it.
 *
 *     c++ -std=c++20 coroutine.cpp $(pkg-config --cflags --libs holdfast)
 *     ./a.out redis://127.0.0.1:6379 nightly-report 3
 *
 * The program's own loop drives the client, so all coroutines run in its thread. */
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <holdfast/holdfast.hpp>

/* An operation of the library that a coroutine awaits: `start` begins it, and receives what is
 * called at its end. */
template <class Start>
class operation {
public:
    explicit operation(Start start) : start_(std::move(start)) {}

    bool await_ready() const noexcept { return false; }

    bool await_suspend(std::coroutine_handle<> waiting)
    {
        waiting_ = waiting;
        error_.status = start_(ended, this);
        if (error_.status < 0) /* nothing was begun, and `ended` is not called */
            std::snprintf(error_.text, sizeof error_.text, "%s", hf_status_text(error_.status));
        return error_.status >= 0;
    }

    void await_resume() const
    {
        if (error_.status < 0)
            throw holdfast::error(error_);
    }

private:
    static void ended(void *self, hf_status status, const hf_error *error)
    {
        operation *that = static_cast<operation *>(self);

        if (status < 0)
            that->error_ = *error;
        that->waiting_.resume(); /* the operation may be destroyed here */
    }

    Start start_;
    std::coroutine_handle<> waiting_;
    hf_error error_{};
};

/* co_await acquire(lock, owner): waits for the lock, or throws. Each task has an owner of its own,
 * because they share a thread. */
static auto acquire(hf_lock *lock, std::int64_t owner, std::int64_t wait_ms = HF_FOREVER)
{
    return operation([=](hf_done *done, void *ctx) {
        hf_acquire_options options;

        hf_acquire_options_init(&options);
        options.owner = owner;
        options.wait_ms = wait_ms;
        return hf_lock_acquire_async(lock, &options, done, ctx);
    });
}

static auto release(hf_lock *lock, std::int64_t owner)
{
    return operation([=](hf_done *done, void *ctx) {
        return hf_lock_release_async(lock, owner, done, ctx);
    });
}

/* A coroutine that begins at once, and that nobody awaits. */
struct task {
    struct promise_type {
        task get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() { std::terminate(); }
    };
};

struct progress {
    int running = 0, inside = 0, failed = 0;
};

static task work(hf_lock *lock, int number, progress &all)
{
    const std::int64_t owner = hf_owner_new();

    all.running++;
    try {
        co_await acquire(lock, owner);
        std::printf("task %d begins\n", number);
        if (all.inside++ != 0)
            all.failed++;
        /* A holder that refuses others: it does not wait. */
        try {
            co_await acquire(lock, hf_owner_new(), 0);
            all.failed++;
        } catch (const holdfast::error &e) {
            if (e.status() != HF_TIMEOUT)
                throw;
        }
        all.inside--;
        std::printf("task %d ends\n", number);
        co_await release(lock, owner);
    } catch (const holdfast::error &e) {
        std::fprintf(stderr, "task %d: %s\n", number, e.what());
        all.failed++;
    }
    all.running--;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        std::fputs("usage: coroutine URL NAME TASKS\n", stderr);
        return 2;
    }
    try {
        hf_client_options options = holdfast::client::options();

        options.url = argv[1];
        options.thread = false;
        holdfast::client client(options);
        holdfast::mutex lock(client, argv[2]);
        hf_loop *loop = hf_client_loop(client.native_handle());
        progress all;

        for (int i = 1; i <= std::atoi(argv[3]); i++)
            work(lock.native_handle(), i, all);
        while (all.running > 0)
            hf_loop_dispatch(loop, -1); /* resumes the coroutines */
        return all.failed ? 1 : 0;
    } catch (const holdfast::error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
