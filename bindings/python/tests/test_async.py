"""Locks of tasks of asyncio."""
import asyncio
import threading

import pytest
from conftest import DEADLINE_S, until

import holdfast


def run(main):
    return asyncio.run(asyncio.wait_for(main, DEADLINE_S))


async def aim(condition, what):
    """until(), without blocking the event loop."""
    await asyncio.get_running_loop().run_in_executor(None, until, condition, what)


def test_tasks_exclude_each_other_and_each_may_enter_again(client):
    inside = []

    async def work(lock):
        async with lock, lock:
            inside.append(len(inside))
            assert len(inside) == 1
            await asyncio.sleep(0)
            inside.pop()

    async def main():
        lock = client.lock("a")
        await asyncio.gather(*(work(lock) for _ in range(20)))
        assert not (await lock.inspect_async()).is_locked

    run(main())


def test_a_waiting_task_does_not_block_the_event_loop(client, other, server):
    async def main():
        async with client.lock("a") as hold:
            waiter = asyncio.ensure_future(other.lock("a").acquire_async())
            await aim(lambda: server.waiters("a"), "the task waits")
            assert not waiter.done()
            assert await other.lock("a").acquire_async(blocking=False) is None
            with pytest.raises(holdfast.Timeout):
                async with other.lock("a", timeout=0.05):
                    pytest.fail("two clients hold one lock")
            hold.check()
        assert (await waiter).safe_for > 0

    run(main())


def test_a_cancelled_task_does_not_get_the_lock(client, other, server):
    async def main():
        lock = other.lock("a")
        async with client.lock("a"):
            waiter = asyncio.ensure_future(lock.acquire_async())
            await aim(lambda: server.waiters("a"), "the task waits")
            waiter.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiter
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(lock.acquire_async(), 0.05)
        async with client.lock("a"):
            pass
        await aim(lambda: server("EXISTS", "a") == ":0", "nobody has the lock")

    run(main())


def test_a_lock_granted_to_a_cancelled_task_is_released(client, server):
    """The task is cancelled at each moment of its acquire, in turn."""
    async def main():
        lock = client.lock("a")
        for turns in range(30):
            task = asyncio.ensure_future(lock.acquire_async())
            for _ in range(turns):
                await asyncio.sleep(0)
            if task.cancel():
                with pytest.raises(asyncio.CancelledError):
                    await task
            else:
                await (await task).release_async()
            await aim(lambda: server("EXISTS", "a") == ":0", "the lock is released")
            async with lock:  # and its state is that of a new hold
                pass

    run(main())


def test_a_cancelled_task_still_releases(client, server):
    async def main():
        hold = await client.lock("a").acquire_async()
        task = asyncio.ensure_future(hold.release_async())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await aim(lambda: server("EXISTS", "a") == ":0", "the lock is released")

    run(main())


def test_a_wait_whose_event_loop_has_ended_is_undone(client, other, server):
    async def main():
        asyncio.ensure_future(client.lock("a").acquire_async())
        await aim(lambda: server.waiters("a"), "the task waits")

    with other.lock("a"):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        loop.close()  # without cancelling the task, as asyncio.run would
    until(lambda: server("EXISTS", "a") == ":0", "nobody has the lock")


def test_a_loss_is_reported_in_the_event_loop(make_client, server):
    async def main():
        lost, threads = asyncio.Event(), []

        def on_lost(hold):
            threads.append(threading.current_thread())
            lost.set()

        with pytest.raises(holdfast.Lost):
            async with make_client(watchdog=0.3).lock("a", on_lost=on_lost) as hold:
                server("DEL", "a")
                await lost.wait()
                assert threads == [threading.current_thread()]
                assert hold.lost == holdfast.LostReason.DELETED

    run(main())


def test_one_client_serves_several_event_loops_and_threads(client):
    counts = {"inside": 0, "done": 0}

    async def work(lock):
        async with lock:
            counts["inside"] += 1
            assert counts["inside"] == 1
            counts["inside"] -= 1
            counts["done"] += 1

    async def main():
        await asyncio.gather(*(work(client.lock("a")) for _ in range(5)))

    threads = [threading.Thread(target=run, args=(main(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        with client.lock("a"):
            assert counts["inside"] == 0
    for thread in threads:
        thread.join(DEADLINE_S)
    assert counts == {"inside": 0, "done": 15}


def test_counts_and_permits(client):
    async def main():
        semaphore, latch, permit = client.semaphore("s"), client.latch("l"), client.permit("p")
        assert await semaphore.create_async(1) and await latch.create_async(1)
        assert await permit.create_async(1)
        async with semaphore, permit:
            assert await semaphore.available_async() == await permit.available_async() == 0
            assert not await semaphore.acquire_async(timeout=0)
            assert not await latch.wait_async(timeout=0)
            assert await latch.count_async() == 1
            waiter = asyncio.ensure_future(latch.wait_async())
            await latch.count_down_async()
            assert await waiter
        assert await semaphore.available_async() == 1

    run(main())


def test_a_lock_is_acquired_by_a_task(client):
    acquire = client.lock("a").acquire_async()
    with pytest.raises(RuntimeError):
        acquire.send(None)
    acquire.close()
