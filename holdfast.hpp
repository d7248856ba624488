/* holdfast for C++17: locks that std::unique_lock, std::shared_lock and std::scoped_lock can
 * hold. It needs no more than this header and holdfast.h.
 *
 *     holdfast::client client("redis://127.0.0.1:6379");
 *     holdfast::mutex report(client, "nightly-report");
 *
 *     std::unique_lock guard(report, 10s);          // waits at most 10 s
 *     if (guard)
 *         make_report();
 *
 * Errors: a function that fails throws holdfast::error, which has the hf_status and the text.
 * unlock does not throw, because destructors call it: mutex_options::on_unlock_error receives
 * its error.
 * Threads: every function may be called from any thread, except moves and destructors.
 * Memory: this header allocates in constructors, for exceptions and for strings that it
 * returns. Locking and unlocking allocate only what the C functions do. */
#ifndef HF_HOLDFAST_HPP
#define HF_HOLDFAST_HPP

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>

#include "holdfast.h"

namespace holdfast {

/* A call failed. what() returns the text of the error. */
class error : public std::runtime_error {
public:
    explicit error(const hf_error &e)
        : std::runtime_error(e.text), status_(e.status), is_temporary_(e.is_temporary) {}

    hf_status status() const noexcept { return status_; }
    const char *status_name() const noexcept { return hf_status_name(status_); }
    /* The server refuses for now: a later call may succeed. */
    bool is_temporary() const noexcept { return is_temporary_; }

private:
    hf_status status_;
    bool is_temporary_;
};

/* A connection to the server of a URL, and the locks of it. The server is not contacted before
 * the first call that needs it. The locks share the client: hf_client_free is called when the
 * client and all of its locks were destroyed. This must not happen in a callback. */
class client {
public:
    explicit client(const std::string &url = "redis://127.0.0.1:6379")
        : client(with_url(url.c_str())) {}

    /* For all options of connect.h: begin with client::options(). */
    explicit client(const hf_client_options &options)
    {
        hf_client *created = nullptr;
        hf_error err;

        if (hf_client_new(&created, &options, &err) < 0)
            throw error(err);
        client_.reset(created, hf_client_free);
    }

    client(client &&) noexcept = default;
    client &operator=(client &&) noexcept = default;

    static hf_client_options options() noexcept
    {
        hf_client_options defaults;

        hf_client_options_init(&defaults);
        return defaults;
    }

    /* Sets an option by its name, as in a URL: set(o, "tls_ca", "/etc/ca.pem"). */
    static void set(hf_client_options &options, const std::string &name,
                    const std::string &value)
    {
        hf_error err;

        if (hf_client_options_set(&options, name.c_str(), value.c_str(), &err) < 0)
            throw error(err);
    }

    /* Waits until the server is ready, at most the connect timeout. */
    void connect() const
    {
        hf_error err;

        if (hf_client_connect(native_handle(), &err) < 0)
            throw error(err);
    }

    /* Lets pending requests finish, as hf_client_close. Every later call throws. */
    hf_client_closed close(std::chrono::milliseconds timeout) const
    {
        hf_client_closed closed{};
        hf_error err;

        if (hf_client_close(native_handle(), timeout.count(), &closed, &err) < 0)
            throw error(err);
        return closed;
    }

    std::string uuid() const { return hf_client_uuid(native_handle()); }
    std::string address() const { return hf_client_address(native_handle()); }

    /* For the functions of the C headers. Null after a move. */
    hf_client *native_handle() const noexcept { return client_.get(); }
    explicit operator bool() const noexcept { return client_ != nullptr; }

private:
    friend class mutex;

    static hf_client_options with_url(const char *url) noexcept
    {
        hf_client_options defaults = options();

        defaults.url = url;
        return defaults;
    }

    std::shared_ptr<hf_client> client_;
};

/* How a mutex is locked, and who is informed. The callbacks run in the thread and under the
 * rules that connect.h describes, except on_unlock_error, which runs in the thread that calls
 * unlock. A callback must not throw: std::terminate is called then. */
struct mutex_options {
    std::chrono::milliseconds lease{0};     /* > 0: the TTL, which is not renewed. 0: the
                                               watchdog renews the lock */
    std::chrono::milliseconds max_hold{0};  /* > 0: the lock is lost after this time */
    std::int64_t owner = 0;                 /* 0: each thread is an owner. Otherwise the owner
                                               of all calls, which may then unlock in another
                                               thread: a number of your own, or hf_owner_new() */
    hf_cancel *cancel = nullptr;            /* ends waits with HF_CANCELLED; see lock.h */

    std::function<void(const hf_lock_info &)> on_wait;
    std::function<void(std::int64_t owner)> on_renewed;
    std::function<void(hf_lost reason, std::int64_t owner)> on_lost;
    std::function<void(const error &)> on_unlock_error;
};

namespace detail {

/* The callbacks of a mutex. The library knows them by a number, because a callback may begin
 * while the mutex is destroyed: a number that is no longer in the table is ignored. */
struct callbacks {
    std::function<void(const hf_lock_info &)> on_wait;
    std::function<void(std::int64_t)> on_renewed;
    std::function<void(hf_lost, std::int64_t)> on_lost;

    bool is_running = false;    /* a client calls one callback at a time */
    std::thread::id runs_in;
};

struct callback_table {
    std::mutex lock;
    std::condition_variable ended;
    std::map<std::uintptr_t, std::shared_ptr<callbacks>> entries;
    std::uintptr_t last = 0;

    /* It is never destroyed, because a callback may run while the program ends. */
    static callback_table &get()
    {
        static callback_table *const table = new callback_table;

        return *table;
    }

    /* Calls what belongs to the number. */
    template <class Call>
    static void run(void *number, Call call) noexcept
    {
        callback_table &table = get();
        std::unique_lock<std::mutex> guard(table.lock);
        auto found = table.entries.find(reinterpret_cast<std::uintptr_t>(number));

        if (found == table.entries.end())
            return;
        std::shared_ptr<callbacks> called = found->second;
        called->is_running = true;
        called->runs_in = std::this_thread::get_id();
        guard.unlock();
        call(*called);
        guard.lock();
        called->is_running = false;
        table.ended.notify_all();
    }
};

/* An entry of the table. After the destructor its callbacks do not run, except the one in
 * which it was destroyed. In a forked child, in which no callback runs, it does nothing. */
class registration {
public:
    explicit registration(std::shared_ptr<callbacks> added) : pid_(::getpid())
    {
        callback_table &table = callback_table::get();
        std::lock_guard<std::mutex> guard(table.lock);

        table.entries.emplace(table.last + 1, std::move(added));
        number_ = ++table.last;
    }

    registration(registration &&other) noexcept
        : number_(std::exchange(other.number_, 0)), pid_(other.pid_) {}

    registration &operator=(registration other) noexcept
    {
        std::swap(number_, other.number_);
        std::swap(pid_, other.pid_);
        return *this;
    }

    ~registration()
    {
        if (number_ == 0 || pid_ != ::getpid())
            return;
        callback_table &table = callback_table::get();
        std::unique_lock<std::mutex> guard(table.lock);
        auto found = table.entries.find(number_);
        std::shared_ptr<callbacks> removed = std::move(found->second);

        table.entries.erase(found);
        table.ended.wait(guard, [&] {
            return !removed->is_running || removed->runs_in == std::this_thread::get_id();
        });
    }

    void *number() const noexcept { return reinterpret_cast<void *>(number_); }

private:
    std::uintptr_t number_ = 0;
    pid_t pid_;
};

/* Rounds up to ms, within the limits of the library. */
template <class Rep, class Period>
std::int64_t to_ms(const std::chrono::duration<Rep, Period> &span)
{
    using ms = std::chrono::duration<double, std::milli>;

    if (!(span > span.zero()))
        return 0;
    if (std::chrono::duration_cast<ms>(span).count() >= static_cast<double>(HF_SPAN_MAX_MS))
        return HF_SPAN_MAX_MS;
    return std::chrono::ceil<std::chrono::milliseconds>(span).count();
}

} // namespace detail

/* A lock on the server, for std::unique_lock, std::lock_guard and std::scoped_lock
 * (TimedLockable). As with std::recursive_mutex, the owner is the calling thread, which may
 * lock it again if the kind is reentrant, and must unlock it. Destroying it does not release
 * a lock; after the destructor no callback runs. A moved mutex keeps its state; an empty one
 * may only be assigned to and destroyed. */
class mutex {
public:
    mutex(const client &client, std::string_view name, mutex_options options = {})
        : mutex(client, name, HF_KIND_PLAIN, std::move(options)) {}

    mutex(const client &client, std::string_view name, hf_lock_kind kind,
          mutex_options options = {})
        : client_(client.client_), options_(std::move(options)),
          callbacks_(std::make_shared<detail::callbacks>(detail::callbacks{
              std::move(options_.on_wait), std::move(options_.on_renewed),
              std::move(options_.on_lost), false, {}})),
          registration_(callbacks_)
    {
        hf_lock *created = nullptr;
        hf_error err;

        if (hf_lock_new_kind(&created, client_.get(), kind, name.data(), name.size(), &err) < 0)
            throw error(err);
        lock_.reset(created);
    }

    mutex(mutex &&) noexcept = default;
    mutex &operator=(mutex other) noexcept
    {
        std::swap(client_, other.client_);
        std::swap(lock_, other.lock_);
        std::swap(options_, other.options_);
        std::swap(callbacks_, other.callbacks_);
        std::swap(registration_, other.registration_);
        return *this; /* what this had is destroyed in the right order with `other` */
    }

    /* Waits without limit. The owner's earlier hold may have been lost and not yet unlocked:
     * HF_LOST is thrown then. */
    void lock() { (void)acquire(HF_FOREVER); }

    /* These return false if another owner has the lock until the time ends, and throw if no
     * server has replied by then (a span of 1 ms may be too short for a reply). A span longer
     * than HF_SPAN_MAX_MS (30 years) is cut to it. */
    bool try_lock() { return acquire(0); }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &span)
    {
        return acquire(detail::to_ms(span));
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &deadline)
    {
        const auto now = Clock::now();

        return deadline <= now ? try_lock() : try_lock_for(deadline - now);
    }

    /* Releases the lock once. An error, also HF_LOST, goes to on_unlock_error. */
    void unlock() noexcept
    {
        hf_error err;

        if (hf_lock_release(lock_.get(), owner(), &err) < 0 && options_.on_unlock_error)
            options_.on_unlock_error(error(err));
    }

    /* As unlock, but throws the error. What was released in spite of it: hf_lock_release. */
    void release()
    {
        hf_error err;

        if (hf_lock_release(lock_.get(), owner(), &err) < 0)
            throw error(err);
    }

    /* Extends a hold that was acquired with a lease to this time from now, and throws the error
     * if it does not: hf_lock_renew. */
    template <class Rep, class Period>
    void renew(const std::chrono::duration<Rep, Period> &lease)
    {
        hf_error err;

        if (hf_lock_renew(lock_.get(), owner(), detail::to_ms(lease), &err) < 0)
            throw error(err);
    }

    /* For how long the owner certainly holds the lock yet; <= 0: it may not. No I/O. */
    std::chrono::milliseconds safe_for() const noexcept
    {
        return std::chrono::milliseconds(hf_lock_safe_ms(lock_.get(), owner()));
    }

    /* The fencing token of the hold, or 0. */
    std::int64_t token() const noexcept { return hf_lock_token(lock_.get(), owner()); }

    /* The state of the lock on the server. */
    hf_lock_info inspect() const
    {
        hf_lock_info info;
        hf_error err;

        if (hf_lock_inspect(lock_.get(), &info, &err) < 0)
            throw error(err);
        return info;
    }

    std::string name() const
    {
        std::size_t len = 0;
        const char *bytes = hf_lock_name(lock_.get(), &len);

        return std::string(bytes, len);
    }

    /* The owner of this call: that of the options, or the calling thread. */
    std::int64_t owner() const noexcept
    {
        return options_.owner ? options_.owner : hf_owner_thread();
    }

    /* For the functions of the C headers. Null after a move. */
    hf_lock *native_handle() const noexcept { return lock_.get(); }
    explicit operator bool() const noexcept { return lock_ != nullptr; }

private:
    struct free_lock {
        void operator()(hf_lock *lock) const noexcept { hf_lock_free(lock); }
    };

    bool acquire(std::int64_t wait_ms)
    {
        hf_acquire_options o;
        hf_error err;

        hf_acquire_options_init(&o);
        o.owner = owner();
        o.wait_ms = wait_ms;
        o.lease_ms = options_.lease.count();
        o.max_hold_ms = options_.max_hold.count();
        o.cancel = options_.cancel;
        o.ctx = registration_.number();
        o.on_wait = callbacks_->on_wait ? on_wait : nullptr;
        o.on_renewed = callbacks_->on_renewed ? on_renewed : nullptr;
        o.on_lost = callbacks_->on_lost ? on_lost : nullptr;
        if (hf_lock_acquire(lock_.get(), &o, &err) >= 0)
            return true;
        if (err.status == HF_TIMEOUT && wait_ms != HF_FOREVER)
            return false;
        throw error(err);
    }

    static void on_wait(void *ctx, hf_lock *, const hf_lock_info *info) noexcept
    {
        detail::callback_table::run(ctx, [&](detail::callbacks &c) { c.on_wait(*info); });
    }

    static void on_renewed(void *ctx, hf_lock *, std::int64_t owner) noexcept
    {
        detail::callback_table::run(ctx, [&](detail::callbacks &c) { c.on_renewed(owner); });
    }

    static void on_lost(void *ctx, hf_lock *, std::int64_t owner, hf_lost reason) noexcept
    {
        detail::callback_table::run(ctx, [&](detail::callbacks &c) { c.on_lost(reason, owner); });
    }

    /* Destroyed from the last to the first: the callbacks end, then the handle, and perhaps
     * the client. */
    std::shared_ptr<hf_client> client_;
    std::unique_ptr<hf_lock, free_lock> lock_;
    mutex_options options_;     /* without what is in callbacks_ */
    std::shared_ptr<detail::callbacks> callbacks_;
    detail::registration registration_;
};

/* A read-write lock, also for std::shared_lock (SharedTimedLockable). Both sides have the same
 * options; writer() and reader() are the sides, for safe_for() and the like. */
class shared_mutex {
public:
    shared_mutex(const client &client, std::string_view name, const mutex_options &options = {})
        : writer_(client, name, HF_KIND_WRITE, options),
          reader_(client, name, HF_KIND_READ, options) {}

    void lock() { writer_.lock(); }
    bool try_lock() { return writer_.try_lock(); }
    template <class Span>
    bool try_lock_for(const Span &span) { return writer_.try_lock_for(span); }
    template <class Point>
    bool try_lock_until(const Point &deadline) { return writer_.try_lock_until(deadline); }
    void unlock() noexcept { writer_.unlock(); }

    void lock_shared() { reader_.lock(); }
    bool try_lock_shared() { return reader_.try_lock(); }
    template <class Span>
    bool try_lock_shared_for(const Span &span) { return reader_.try_lock_for(span); }
    template <class Point>
    bool try_lock_shared_until(const Point &deadline) { return reader_.try_lock_until(deadline); }
    void unlock_shared() noexcept { reader_.unlock(); }

    mutex &writer() noexcept { return writer_; }
    mutex &reader() noexcept { return reader_; }

private:
    mutex writer_;
    mutex reader_;
};

} // namespace holdfast

#endif
