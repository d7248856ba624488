"""Multi-locks, quorums, semaphores and latches."""
import asyncio
import threading

import pytest
from conftest import DEADLINE_S, Server, until

import holdfast


def test_a_multi_lock_is_all_or_none(client, other, server):
    both = client.multi([client.lock("a"), client.lock("b")], timeout=0)
    with other.lock("b"):
        assert both.acquire() is None
        assert server("EXISTS", "a") == ":0"
    with both as hold, both:
        assert hold.name == "a, b" and hold.safe_for > 0 and hold.token is None
        assert other.lock("a").acquire(timeout=0) is None
    assert server("EXISTS", "a", "b") == ":0"


def test_a_multi_lock_has_one_client(client, other):
    with pytest.raises(ValueError, match="of one client"):
        client.multi([client.lock("a"), other.lock("b")])


def test_a_multi_lock_with_a_ttl_is_renewed_by_hand(client):
    with client.multi([client.lock("a"), client.lock("b")], ttl=60) as hold:
        hold.renew(3600)
        assert hold.safe_for > 60


def test_a_multi_lock_that_is_held_ends_with_its_client(make_client):
    client = make_client()
    hold = client.multi([client.lock("a"), client.lock("b")]).acquire()
    client.close()
    with pytest.raises(holdfast.Closed):
        hold.release()
    dropped = make_client()
    dropped.multi([dropped.lock("c")]).acquire()


@pytest.fixture(scope="module")
def three_servers():
    servers = [Server() for _ in range(3)]
    yield servers
    for server in servers:
        server.stop()


@pytest.fixture
def three(three_servers):
    for server in three_servers:
        server("FLUSHALL")
    clients = [holdfast.Client(server.url) for server in three_servers]
    yield clients
    for client in clients:
        client.close(0)


def test_a_quorum_is_held_by_a_majority(three, three_servers):
    def of(clients, **options):
        return holdfast.quorum([client.lock("a", fenced=True) for client in clients], **options)

    lock = of(three)
    with lock as hold:
        assert hold.safe_for > 0 and hold.token > 0 and hold.name == "a"
        with pytest.raises(holdfast.InvalidArgument, match="in use"):
            three[0].close()
        others = [holdfast.Client(server.url) for server in three_servers]
        assert of(others).acquire(timeout=0) is None
    until(lambda: all(each("EXISTS", "a") == ":0" for each in three_servers), "all are released")
    for client in others:
        client.close(0)
    three[0].close()
    with pytest.raises(holdfast.Closed):
        lock.acquire()


def test_a_quorum_with_a_ttl_is_renewed_by_hand(three):
    async def renew():
        async with holdfast.quorum([each.lock("r") for each in three], ttl=60) as hold:
            await hold.renew_async(3600)
            assert hold.safe_for > 60

    asyncio.run(renew())


def test_a_wait_for_a_quorum_can_be_ended(three, three_servers, program):
    text = """
import sys, threading, signal, holdfast
clients = [holdfast.Client(url) for url in sys.argv[1:]]
lock = holdfast.quorum([client.lock("a") for client in clients])
try:
    print("begins")
    lock.acquire()
except KeyboardInterrupt:
    print("interrupted")
"""
    with holdfast.quorum([client.lock("a") for client in three]):
        child = program(text, *(server.url for server in three_servers))
        assert child.line() == "begins"
        until(lambda: any(server.waiters("a") for server in three_servers), "the program waits")
        child.process.send_signal(2)
        assert child.end() == (0, "interrupted", "")


def test_a_semaphore_counts_permits(client, other):
    semaphore = client.semaphore("s")
    assert semaphore.create(2) and not semaphore.create(7)
    with semaphore:
        assert semaphore.acquire() and not semaphore.acquire(timeout=0)
        assert semaphore.available() == 0
        waiter = threading.Thread(target=other.semaphore("s").acquire)
        waiter.start()
        semaphore.release()
        waiter.join(DEADLINE_S)
        assert not waiter.is_alive()
    assert semaphore.available() == 1


def test_a_latch_opens_at_zero(client, other):
    latch = client.latch("l")
    assert latch.create(2) and not latch.create(3)
    latch.count_down()
    assert latch.count() == 1 and not latch.wait(timeout=0)
    opened = []
    waiter = threading.Thread(target=lambda: opened.append(other.latch("l").wait()))
    waiter.start()
    latch.count_down()
    waiter.join(DEADLINE_S)
    assert opened == [True] and latch.wait() and latch.count() == 0
