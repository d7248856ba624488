"""Locks of threads."""
import threading

import pytest
from conftest import DEADLINE_S, until

import holdfast

KINDS = ["plain", "nonreentrant", "fair", "nonreentrant-fair", "spin", "value", "read", "write"]


class Caller:
    """A call in a thread of its own."""

    def __init__(self, function):
        self.result = self.raised = None
        self.thread = threading.Thread(target=self._run, args=(function,), daemon=True)
        self.thread.start()

    def _run(self, function):
        try:
            self.result = function()
        except Exception as error:
            self.raised = error

    def end(self):
        self.thread.join(DEADLINE_S)
        assert not self.thread.is_alive(), "the call ends"
        if self.raised:
            raise self.raised
        return self.result


def test_a_held_lock_is_refused_to_another_client(client, other):
    with client.lock("a") as hold:
        assert hold.name == "a" and hold.lost is None and hold.safe_for > 0
        hold.check()
        assert other.lock("a").acquire(blocking=False) is None
        with pytest.raises(holdfast.Timeout, match="^a: timed out waiting for the lock$") as caught:
            with other.lock("a", timeout=0.1):
                pytest.fail("two clients hold one lock")
        assert isinstance(caught.value, TimeoutError) and isinstance(caught.value, holdfast.Error)
        assert caught.value.status_name == "HF_TIMEOUT"
    assert other.lock("a").acquire(timeout=0)


def test_a_release_wakes_a_waiter_of_another_client(client, other, server):
    hold = client.lock("a").acquire()
    waiter = Caller(other.lock("a").acquire)
    until(lambda: server.waiters("a"), "the other client waits")
    hold.release()
    assert waiter.end().safe_for > 0


def test_a_thread_enters_its_lock_again_and_another_thread_does_not(client):
    lock = client.lock("a")
    with lock, lock:
        assert lock.inspect().hold_count == 2
        assert Caller(lambda: lock.acquire(timeout=0)).end() is None
    assert not lock.locked()


def test_another_thread_may_release_a_hold(client):
    lock = client.lock("a")
    hold = lock.acquire()
    Caller(hold.release).end()
    assert not lock.locked()
    assert hold.safe_for == 0
    with pytest.raises(holdfast.NotOwner, match="this hold was released"):
        hold.release()


def test_a_block_whose_hold_was_released_ends_quietly(client):
    with client.lock("a") as hold:
        hold.release()


def test_ttl_is_the_time_to_live_and_is_not_renewed(make_client, server):
    client = make_client(watchdog=0.3)
    with client.lock("a", ttl=30), client.lock("renewed"):
        until(lambda: int(server("PTTL", "renewed")[1:]) > 200, "the other lock is renewed")
        assert 20000 < int(server("PTTL", "a")[1:]) <= 30000
        assert int(server("PTTL", "renewed")[1:]) <= 300


def test_a_lock_is_renewed_after_its_first_lease(make_client, server):
    with make_client(watchdog=0.3).lock("a") as hold:
        start = int("".join(server("TIME")[0]))
        until(lambda: int(server("TIME")[0]) >= start + 2, "the server's clock advances")
        hold.check()
        assert server("EXISTS", "a") == ":1"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_can_be_held_and_released(kind, client, other):
    lock = client.lock("a", kind=kind)
    with lock as hold:
        assert lock.locked() and hold.token is None
        assert bool(other.lock("a", kind=kind).acquire(timeout=0)) == (kind == "read")
    # The other reader is still there.
    assert lock.locked() == (kind == "read")


@pytest.mark.parametrize("kind", [each for each in KINDS if each != "read"])
def test_a_fenced_lock_has_a_greater_token_each_time(kind, client, other):
    with client.lock("a", kind=kind, fenced=True) as first:
        pass
    with other.lock("a", kind=kind, fenced=True) as second:
        assert second.token > 0
    assert first.token is None  # it was released


def test_a_hold_with_a_ttl_is_renewed_by_hand(client):
    lock = client.lock("a", ttl=60)
    with lock as hold:
        hold.renew(3600)
        assert 60 < hold.safe_for < 3600 and 60 < lock.inspect().ttl <= 3600
        hold.renew()  # a longer lease is not shortened
        assert hold.safe_for > 60
    with pytest.raises(holdfast.NotOwner):
        hold.renew(3600)


def test_a_hold_without_a_ttl_is_not_renewed_by_hand(client):
    with client.lock("a") as hold, pytest.raises(
            holdfast.InvalidArgument, match="renews this hold by itself"):
        hold.renew()


def test_a_hold_that_the_client_renews_is_not_renewed_by_hand(client):
    with client.lock("a") as hold, pytest.raises(holdfast.InvalidArgument, match="by itself"):
        hold.renew(3600)


def test_a_nonreentrant_lock_is_refused_to_its_holder(client):
    lock = client.lock("a", kind="nonreentrant")
    with lock, pytest.raises(holdfast.InvalidArgument):
        lock.acquire()


def test_readers_share_and_exclude_a_writer(client, other, make_client):
    with client.read_lock("a"), other.read_lock("a"):
        assert make_client().write_lock("a").acquire(timeout=0) is None
    with other.write_lock("a", fenced=True) as hold:
        assert hold.token > 0
        assert client.read_lock("a").acquire(timeout=0) is None


def test_a_permit_has_as_many_holders_as_there_are_permits(client, other):
    permit = client.permit("a")
    assert permit.create(2) and not permit.create(5)
    with permit, other.permit("a"):
        assert permit.available() == 0
        assert Caller(lambda: permit.acquire(timeout=0)).end() is None
    assert permit.available() == 2


def test_inspect_reads_the_state_from_the_server(client):
    lock = client.lock("a", ttl=30)
    assert lock.inspect() == (False, None, "", 0, "no lock", 0, 0)
    with lock:
        info = lock.inspect()
    assert info.is_locked and info.holder.startswith(client.uuid + ":")
    assert info.hold_count == info.holders == 1
    assert info.kind == "plain lock" and info.waiters == 0 and 20 < info.ttl <= 30


def test_a_name_is_a_text_or_bytes(client, server):
    with client.lock("schloß"), client.lock(b"\xff\x00"):
        assert server("EXISTS", "schloß") == ":1"
        assert client.lock(b"\xff\x00").name == "\\xff\x00"


def test_a_block_ends_in_the_thread_that_began_it(client):
    lock = client.lock("a")
    with lock:
        with pytest.raises(RuntimeError, match="another thread or task"):
            Caller(lambda: lock.__exit__(None, None, None)).end()


@pytest.mark.parametrize("call", [
    lambda client: client.lock("a", kind="shared"),
    lambda client: client.lock("a", ttl=-1),
    lambda client: client.lock("a", timeout=float("nan")),
    lambda client: client.lock("a").acquire(timeout=-2),
    lambda client: client.lock(""),
    lambda client: client.multi([]),
    lambda client: holdfast.quorum([]),
])
def test_an_invalid_argument_is_a_value_error(call, client):
    with pytest.raises(ValueError):
        call(client)
