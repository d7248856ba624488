/* holdfast.hpp against a real server. mutex SOCKET: the server is empty, and this program alone
 * uses it. Each test is a promise of the header; the first that is broken ends the program. */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <vector>

#include <holdfast/holdfast.hpp>

using namespace std::chrono_literals;
using holdfast::client;
using holdfast::error;
using holdfast::mutex;
using holdfast::mutex_options;
using holdfast::shared_mutex;

#define CHECK(fact)                                                                \
    do {                                                                           \
        if (!(fact)) {                                                             \
            std::fprintf(stderr, "%s:%d: %s: not so\n", __FILE__, __LINE__, #fact); \
            std::_Exit(1);                                                         \
        }                                                                          \
    } while (0)

static std::string url;

static_assert(std::is_nothrow_move_constructible_v<client> && std::is_move_assignable_v<client>);
static_assert(std::is_nothrow_move_constructible_v<mutex> && std::is_move_assignable_v<mutex>);
static_assert(!std::is_copy_constructible_v<client> && !std::is_copy_constructible_v<mutex>);
static_assert(noexcept(std::declval<mutex &>().unlock()));
static_assert(noexcept(std::declval<shared_mutex &>().unlock_shared()));

/* The status of the error that `call` throws; HF_OK: it throws none. */
template <class Call>
static hf_status thrown(Call call)
{
    try {
        call();
    } catch (const error &e) {
        CHECK(e.what()[0] != '\0');
        CHECK(e.status_name() == std::string(hf_status_name(e.status())));
        return e.status();
    }
    return HF_OK;
}

/* Whether `call` did not acquire: within 1 ms a busy server may not have replied either. */
template <class Call>
static bool fails(Call call)
{
    bool acquired = false;
    hf_status status = thrown([&] { acquired = call(); });

    CHECK(status == HF_OK || status == HF_E_NOREPLY);
    return !acquired;
}

/* A client to which the server reports a loss at once. */
static client watchful()
{
    return client(url + "&tracking=on");
}

static void unique_lock_holds_and_releases()
{
    client here(url), there(url);
    mutex mine(here, "plain"), theirs(there, "plain");

    {
        std::unique_lock guard(mine);
        CHECK(mine.safe_for() > 0ms && mine.inspect().is_locked);
        CHECK(!theirs.try_lock() && !theirs.try_lock_for(1s));
        CHECK(fails([&] { return theirs.try_lock_for(1us); }));
        CHECK(fails([&] { return theirs.try_lock_until(std::chrono::system_clock::now() + 1ms); }));
        CHECK(!theirs.try_lock_until(std::chrono::steady_clock::time_point::min()));
        CHECK(!std::unique_lock(theirs, std::try_to_lock));
        CHECK(mine.try_lock());             /* reentrant */
        mine.unlock();
        CHECK(!theirs.try_lock());
    }
    CHECK(mine.safe_for() < 0ms && !mine.inspect().is_locked);
    CHECK(theirs.try_lock_for(std::chrono::duration<double>(1e300)));
    theirs.unlock();
    CHECK(theirs.try_lock_for(std::chrono::hours::max()));
    theirs.unlock();
    CHECK(mine.name() == "plain" && here.uuid().size() == 36);
}

static void a_lease_is_renewed_by_hand()
{
    client c(url);
    mutex_options options;
    options.lease = 60s;
    mutex fixed(c, "lease", options), watched(c, "watched");

    {
        std::unique_lock guard(fixed);
        fixed.renew(1h);
        CHECK(fixed.safe_for() > 30min && fixed.inspect().ttl_ms > 1800000);
    }
    CHECK(thrown([&] { fixed.renew(1h); }) == HF_NOT_OWNER);
    std::unique_lock guard(watched);
    CHECK(thrown([&] { watched.renew(1h); }) == HF_E_INVAL);
}

static void threads_exclude_each_other()
{
    client c(url);
    mutex m(c, "counter");
    int counter = 0;                        /* a race if two threads hold the lock */
    std::vector<std::thread> threads;

    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int n = 0; n < 25; n++) {
                std::lock_guard guard(m);
                counter++;
            }
        });
    for (std::thread &t : threads)
        t.join();
    CHECK(counter == 100);
}

static void scoped_lock_takes_two_in_any_order()
{
    client c(url);
    mutex a(c, "a"), b(c, "b");
    int counter = 0;
    std::thread other([&] {
        for (int n = 0; n < 25; n++) {
            std::scoped_lock guard(b, a);
            counter++;
        }
    });

    for (int n = 0; n < 25; n++) {
        std::scoped_lock guard(a, b);
        counter++;
    }
    other.join();
    CHECK(counter == 50);
}

static void readers_share_and_writers_exclude()
{
    client here(url), there(url), elsewhere(url);
    shared_mutex mine(here, "shared"), theirs(there, "shared"), others(elsewhere, "shared");

    {
        std::shared_lock first(mine), second(theirs);
        CHECK(first && second && mine.reader().safe_for() > 0ms);
        CHECK(mine.writer().safe_for() < 0ms);
        CHECK(!others.try_lock() && fails([&] { return others.try_lock_for(1ms); }));
    }
    {
        std::unique_lock writer(mine);
        CHECK(!theirs.try_lock_shared());
        CHECK(fails([&] { return theirs.try_lock_shared_for(1ms); }));
        CHECK(fails([&] {
            return theirs.try_lock_shared_until(std::chrono::steady_clock::now() + 1ms);
        }));
        CHECK(!std::shared_lock(theirs, std::try_to_lock));
    }
    CHECK(theirs.try_lock_until(std::chrono::steady_clock::now() + 60s));
    theirs.unlock();
    theirs.lock_shared();
    theirs.unlock_shared();
}

static void errors_are_exceptions()
{
    CHECK(thrown([] { client("nonsense://"); }) == HF_E_INVAL);
    hf_client_options named = client::options();
    CHECK(thrown([&] { client::set(named, "timeot", "1s"); }) == HF_E_INVAL);
    client::set(named, "url", "nonsense://");
    CHECK(thrown([&] { client broken(named); }) == HF_E_INVAL);
    hf_client_options options = client::options();
    options.url = "redis://127.0.0.1:1";
    options.connect_once = true;
    client nowhere(options), c(url);
    CHECK(thrown([&] { nowhere.connect(); }) == HF_E_CONNECT);
    CHECK(thrown([&] { mutex(c, ""); }) == HF_E_INVAL);

    mutex once(c, "once", HF_KIND_NONREENTRANT);
    std::unique_lock guard(once);
    CHECK(thrown([&] { once.lock(); }) == HF_E_INVAL);
    CHECK(thrown([&] { (void)once.try_lock(); }) == HF_E_INVAL);
    once.release();
    guard.release();
    CHECK(thrown([&] { once.release(); }) == HF_NOT_OWNER);
    once.unlock();                          /* does not throw */

    mutex counter(c, "not a lock", HF_KIND_VALUE), plain(c, "not a lock");
    std::unique_lock value(counter);
    CHECK(thrown([&] { plain.lock(); }) == HF_E_SERVER);
    c.close(1s);
    CHECK(thrown([&] { plain.lock(); }) == HF_E_CLOSED);
    value.release();
}

static void loss_is_reported_once_and_by_unlock()
{
    client here = watchful(), there(url);
    std::promise<hf_lost> lost;
    std::atomic<hf_status> unlocked{HF_OK};
    mutex_options options;
    options.on_lost = [&](hf_lost reason, std::int64_t owner) {
        CHECK(owner != 0);
        lost.set_value(reason);
    };
    options.on_unlock_error = [&](const error &e) { unlocked = e.status(); };
    mutex mine(here, "loss", options), theirs(there, "loss");

    mine.lock();
    CHECK(hf_lock_force_release(theirs.native_handle(), nullptr, 0, nullptr) == HF_OK);
    CHECK(lost.get_future().get() == HF_REASON_DELETED);
    CHECK(mine.safe_for() == std::chrono::milliseconds(INT64_MIN));
    CHECK(thrown([&] { mine.lock(); }) == HF_LOST);
    mine.unlock();
    CHECK(unlocked == HF_LOST);
    mine.lock();                            /* can be locked again */
    mine.unlock();
}

/* The destructor of a mutex waits for its callback, but not for itself in that callback. */
static void no_callback_runs_after_the_destructor()
{
    client here = watchful(), there(url);
    std::promise<void> begun, go;
    std::atomic<bool> has_ended{false};
    mutex_options options;
    options.on_lost = [&](hf_lost, std::int64_t) {
        begun.set_value();
        go.get_future().wait();
        has_ended = true;
    };
    auto mine = std::make_unique<mutex>(here, "destroyed", options);
    mutex theirs(there, "destroyed");

    mine->lock();
    CHECK(hf_lock_force_release(theirs.native_handle(), nullptr, 0, nullptr) == HF_OK);
    begun.get_future().wait();
    std::promise<void> destroys;
    std::thread destroyer([&] {
        destroys.set_value();
        mine.reset();
        CHECK(has_ended);
    });
    destroys.get_future().wait();
    go.set_value();
    destroyer.join();

    std::unique_ptr<mutex> doomed;
    std::promise<void> gone;
    options.on_lost = [&](hf_lost, std::int64_t) {
        doomed.reset();
        gone.set_value();
    };
    doomed = std::make_unique<mutex>(here, "destroyed by itself", options);
    doomed->lock();
    mutex forced(there, "destroyed by itself");
    CHECK(hf_lock_force_release(forced.native_handle(), nullptr, 0, nullptr) == HF_OK);
    gone.get_future().wait();
}

static void on_wait_names_the_holder()
{
    client here(url), there(url);
    std::promise<std::string> holder;
    mutex_options options;
    options.on_wait = [&](const hf_lock_info &info) { holder.set_value(info.holder); };
    mutex mine(here, "wait"), theirs(there, "wait", HF_KIND_PLAIN, options);

    std::unique_lock guard(mine);
    std::thread waiter([&] { std::lock_guard waiting(theirs); });
    CHECK(holder.get_future().get().rfind(here.uuid(), 0) == 0);
    guard.unlock();
    waiter.join();
}

static void moved_objects_keep_their_state()
{
    client first(url);
    client second = std::move(first);
    CHECK(!first && second);
    std::promise<void> renewed;
    mutex_options options;
    options.on_renewed = [&, done = false](std::int64_t) mutable {
        if (!std::exchange(done, true))
            renewed.set_value();
    };
    hf_client_options often = client::options();
    often.url = url.c_str();
    often.watchdog_ms = 9000;               /* renewed each 3 s: a busy machine is slow */
    client quick(often);
    mutex a(quick, "moved", options), b(second, "other");

    a.lock();
    b = std::move(a);
    CHECK(!a && b && b.name() == "moved" && b.safe_for() > 0ms);
    renewed.get_future().wait();            /* its callbacks moved along */
    { client gone = std::move(quick); }     /* its locks keep it */
    CHECK(b.try_lock());
    b.unlock();
    b.unlock();
    CHECK(!b.inspect().is_locked);
}

static void owner_of_its_own_may_unlock_in_another_thread()
{
    client c(url);
    mutex_options options;
    options.owner = hf_owner_new();
    mutex task(c, "task", HF_KIND_PLAIN | HF_WITH_TOKEN, options), other(c, "task");

    task.lock();
    CHECK(task.owner() == options.owner && task.token() > 0);
    std::thread([&] { task.release(); }).join();
    options.lease = 60s;
    mutex leased(c, "task", options);
    std::lock_guard guard(leased);
    CHECK(leased.inspect().ttl_ms > 30000);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    url = std::string("unix://") + argv[1] + "?timeout=60s"; /* a busy machine is slow */
    unique_lock_holds_and_releases();
    a_lease_is_renewed_by_hand();
    threads_exclude_each_other();
    scoped_lock_takes_two_in_any_order();
    readers_share_and_writers_exclude();
    errors_are_exceptions();
    loss_is_reported_once_and_by_unlock();
    no_callback_runs_after_the_destructor();
    on_wait_names_the_holder();
    moved_objects_keep_their_state();
    owner_of_its_own_may_unlock_in_another_thread();
}
