"""Signals, fork, the end of clients and of the interpreter."""
import gc
import os
import signal
import threading

import pytest
from conftest import DEADLINE_S, until

import holdfast

WAIT = """
import sys, holdfast
client = holdfast.Client(sys.argv[1])
try:
    print("begins")
    {wait}
except KeyboardInterrupt:
    print("interrupted")
print(client.lock("another").acquire().safe_for > 0)
"""


def interrupted(program, server, wait, is_waiting):
    child = program(WAIT.format(wait=wait), server.url)
    assert child.line() == "begins"
    until(is_waiting, "the program waits")
    child.process.send_signal(signal.SIGINT)
    assert child.end() == (0, "interrupted\nTrue", "")


def test_an_interrupt_ends_a_wait_and_nothing_is_acquired(program, server, client):
    with client.lock("a") as hold:
        interrupted(program, server, 'client.lock("a").acquire()', lambda: server.waiters("a"))
        hold.check()
    assert server("EXISTS", "a") == ":0"


def test_an_interrupt_ends_a_wait_for_a_fair_lock(program, server, client):
    with client.lock("a", kind="fair") as hold:
        interrupted(program, server, 'client.lock("a", kind="fair").acquire()',
                    lambda: client.lock("a", kind="fair").inspect().waiters)
        hold.check()
    until(lambda: not client.lock("a", kind="fair").inspect().waiters, "the place is removed")


def test_an_interrupt_ends_a_wait_for_a_latch(program, server, client):
    client.latch("a").create(1)
    channel = "redisson_countdownlatch__channel__{a}"
    interrupted(program, server, 'client.latch("a").wait()',
                lambda: server("PUBSUB", "NUMSUB", channel)[1] != ":0")


def test_an_interrupt_ends_a_wait_for_a_semaphore(program, server, client):
    client.semaphore("a").create(0)
    interrupted(program, server, 'client.semaphore("a").acquire()',
                lambda: server("PUBSUB", "NUMSUB", "redisson_sc:{a}")[1] != ":0")


def test_a_handler_that_returns_ends_no_wait(client, other, server):
    """Python calls it during the wait."""
    called = []
    before = signal.signal(signal.SIGUSR1, lambda *_: called.append(1))
    hold = other.lock("a").acquire()

    def disturb():
        until(lambda: server.waiters("a"), "the main thread waits")
        os.kill(os.getpid(), signal.SIGUSR1)
        until(lambda: called, "the handler is called")
        hold.release()

    helper = threading.Thread(target=disturb)
    helper.start()
    try:
        assert client.lock("a").acquire().safe_for > 0
    finally:
        helper.join(DEADLINE_S)
        signal.signal(signal.SIGUSR1, before)
    assert called == [1]


FORK = """
import os, sys, holdfast
client = holdfast.Client(sys.argv[1])
lock = client.lock("a")
hold = lock.acquire()
child = os.fork()
if child == 0:
    for call in (lock.acquire, lambda: hold.safe_for, hold.release, lock.inspect,
                 lambda: client.lock("b"), lambda: client.address):
        try:
            call()
            print("no error")
        except holdfast.Forked as error:
            print(error)
    client.close()
    del client, lock
    own = holdfast.Client(sys.argv[1])
    print(own.lock("a").acquire(timeout=0), own.lock("b").acquire().safe_for > 0)
    sys.exit(0)
print("child:", os.waitpid(child, 0)[1])
hold.check()
hold.release()
print(lock.locked())
"""


def test_a_forked_child_gets_a_clear_error_and_may_have_its_own_client(program, server):
    status, out, err = program(FORK, server.url).end()
    text = "the client belongs to the parent process\n"
    assert (status, out, err) == (0, 6 * text + "None True\nchild: 0\nFalse", "")


def test_the_end_of_a_client_ends_its_threads_and_connections(server):
    def threads():
        return [each for each in threading.enumerate() if each.name == "holdfast"]

    def connections():
        return "name=gone" in server("CLIENT", "LIST")

    before = len(threads())
    client = holdfast.Client(server.url, client_name="gone")
    lock = client.lock("a")
    with lock:
        assert connections() and len(threads()) == before + 1
    del client
    with lock:  # the lock keeps its client
        assert connections()
    del lock
    gc.collect()
    until(lambda: not connections() and len(threads()) == before, "all of it ends")


def test_a_circle_of_references_is_collected(server):
    for _ in range(20):
        client = holdfast.Client(server.url)
        lock = client.lock("a", on_lost=lambda hold: None)
        client.circle = [client, lock, client.semaphore("s"), client.multi([lock])]
        with lock:
            pass
        del client, lock
    gc.collect()
    until(lambda: not [each for each in threading.enumerate() if each.name == "holdfast"] or
          not gc.collect(), "the clients end")


def test_close_ends_waits_and_every_later_call(make_client, other, server):
    client, raised = make_client(), []

    def wait():
        try:
            client.lock("a").acquire()
        except holdfast.Closed as error:
            raised.append(str(error))

    with other.lock("a"):
        waiter = threading.Thread(target=wait)
        waiter.start()
        until(lambda: server.waiters("a"), "the thread waits")
        client.close()
        waiter.join(DEADLINE_S)
    assert len(raised) == 1 and "closed" in raised[0]
    for call in (client.close, client.close):
        call()
    with pytest.raises(holdfast.Closed, match="^the client was closed$"):
        client.lock("a")


EXIT = """
import asyncio, sys, threading, holdfast
client = holdfast.Client(sys.argv[1])
client.lock("a").acquire()
waiter = threading.Thread(target=client.lock("held").acquire, daemon=True)
waiter.start()
async def main():
    asyncio.get_running_loop().create_task(client.lock("held").acquire_async())
    await asyncio.sleep(0)
    {end}
asyncio.run(main())
"""

LATE = """
import asyncio, sys, holdfast
async def main():
    acquire = asyncio.ensure_future(holdfast.Client(sys.argv[1]).lock("a").acquire_async())
    for _ in range(int(sys.argv[2])):
        await asyncio.sleep(0)
    if not acquire.cancel():
        await acquire.result().release_async()
asyncio.run(main())
"""


@pytest.mark.parametrize("turns", [1, 2, 5, 20, 80])
def test_a_program_that_ends_during_an_acquire_releases_the_lock(turns, program, server):
    """The task is cancelled, and the grant may come when the event loop is closed."""
    assert program(LATE, server.url, str(turns)).end() == (0, "", "")
    assert server("EXISTS", "a") == ":0"


@pytest.mark.parametrize("end", ["pass", "sys.exit(7)"])
def test_a_program_may_end_with_holds_and_waits(end, program, server, client):
    with client.lock("held"):
        for _ in range(3):
            server("DEL", "a")
            status, out, err = program(EXIT.format(end=end), server.url).end()
            assert (status, out, err) == (7 if "exit" in end else 0, "", "")
