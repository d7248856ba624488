"""Losses, and what the interpreter does not delay."""
import ctypes
import logging
import threading

import pytest
from conftest import DEADLINE_S, until

import holdfast

SHORT_S = 0.3  # the lease, so that a loss is found soon


@pytest.fixture
def brisk(make_client):
    return make_client(watchdog=SHORT_S)


def test_a_loss_is_reported_to_on_lost_and_by_the_hold(brisk, server):
    reports, called = [], threading.Event()

    def on_lost(hold):
        reports.append((hold, hold.lost, threading.current_thread()))
        called.set()

    lock = brisk.lock("a", on_lost=on_lost)
    hold = lock.acquire()
    server("DEL", "a")
    assert called.wait(DEADLINE_S)
    assert [each[:2] for each in reports] == [(hold, holdfast.LostReason.DELETED)]
    assert reports[0][2] is not threading.current_thread()
    assert hold.safe_for == 0
    with pytest.raises(holdfast.Lost, match="a: the lock is not safe: "):
        hold.check()
    with pytest.raises(holdfast.Lost):
        hold.release()
    assert hold.lost == holdfast.LostReason.DELETED
    with lock as again:
        assert again.lost is None


def test_a_block_whose_lock_was_lost_raises_lost(brisk, server):
    with pytest.raises(holdfast.Lost, match="a"):
        with brisk.lock("a") as hold:
            server("DEL", "a")
            until(lambda: hold.lost, "the loss is found")


def test_what_the_block_raised_is_not_hidden_by_the_loss(brisk, server):
    with pytest.raises(KeyError, match="of the block"):
        with brisk.lock("a") as hold:
            server("DEL", "a")
            until(lambda: hold.lost, "the loss is found")
            raise KeyError("of the block")


def test_a_second_hold_of_the_owner_knows_of_the_loss(brisk, server):
    lock = brisk.lock("a")
    first, second = lock.acquire(), lock.acquire()
    server("DEL", "a")
    until(lambda: second.lost, "the loss is found")
    assert first.lost == holdfast.LostReason.DELETED
    with pytest.raises(holdfast.Lost):
        lock.acquire()
    for hold in (first, second):
        with pytest.raises(holdfast.Lost):
            hold.release()
    assert lock.acquire(timeout=0)


def test_a_lease_ends(client):
    with pytest.raises(holdfast.Lost):
        with client.lock("a", ttl=0.2) as hold:
            until(lambda: hold.lost, "the lease ends")
            assert hold.lost == holdfast.LostReason.LEASE_ENDED


def test_the_longest_hold_ends(client):
    with pytest.raises(holdfast.Lost):
        with client.lock("a", max_hold=0.1) as hold:
            until(lambda: hold.lost, "the longest hold ends")
            assert hold.lost == holdfast.LostReason.MAX_HOLD


def test_an_interpreter_that_does_not_run_delays_no_renewal(brisk, server):
    """A function of C that keeps the GIL: nothing of Python runs for several leases."""
    usleep = ctypes.PyDLL(None).usleep
    with brisk.lock("a", on_lost=lambda hold: None) as hold:
        for _ in range(3):
            usleep(int(SHORT_S * 1e6))
        assert hold.lost is None
        hold.check()
        assert server("EXISTS", "a") == ":1"


def test_a_callback_that_fails_is_logged_and_ends_nothing(brisk, server, caplog):
    def on_lost(hold):
        raise KeyError("of the callback")

    hold = brisk.lock("a", on_lost=on_lost).acquire()
    with caplog.at_level(logging.ERROR, "holdfast"):
        server("DEL", "a")
        until(lambda: "of the callback" in caplog.text, "the failure is logged")
    called = threading.Event()
    brisk.lock("b", on_lost=lambda hold: called.set()).acquire()
    server("DEL", "b")
    assert called.wait(DEADLINE_S)
    assert hold.lost == holdfast.LostReason.DELETED


def test_what_no_call_reports_is_logged(brisk, server, caplog):
    with caplog.at_level(logging.INFO, "holdfast"), brisk.lock("a"):
        server("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        until(lambda: "127.0.0.1" in caplog.text, "the lost connection is logged")


def test_closing_the_client_loses_what_it_holds(make_client):
    reasons, called = [], threading.Event()
    client = make_client()

    def on_lost(hold):
        reasons.append(hold.lost)
        called.set()

    hold = client.lock("a", on_lost=on_lost).acquire()
    client.close()
    assert called.wait(DEADLINE_S)
    assert reasons == [holdfast.LostReason.CLOSED] == [hold.lost]
    with pytest.raises(holdfast.Closed):
        hold.release()
