"""The client: the connection of a program to its servers."""
from __future__ import annotations

import atexit
from types import TracebackType
from typing import Any, Callable, Iterable, Optional, Type, Union

from holdfast._calls import Core, milliseconds
from holdfast._counts import Latch, Semaphore
from holdfast._errors import check, text_of
from holdfast._locks import Hold, Lock, LockOptions, Permit
from holdfast._native import ffi, lib
from holdfast._sets import Multi, Quorum

OnLost = Callable[[Hold], object]
Name = Union[str, bytes]
Word = Union[str, int, float, bool]

_CLOSE_S = 2.0


def _word(value: Word) -> bytes:
    """An option's value, as a URL has it. A number is one, or a time in seconds."""
    if isinstance(value, bool):
        return b"on" if value else b"off"
    if isinstance(value, float):
        return b"%dms" % milliseconds(value, "a time")
    return str(value).encode()


class Client:
    """A connection to a server, a cluster, or a master with sentinels. The server is not contacted
    before the first call that needs it. Any thread, and the tasks of any event loop, may use it.

    Options are those of URLs: Client("rediss://db1", timeout="2s", watchdog=10, tls_ca="ca.pem");
    also user and password. A number is a time in seconds where a time is expected."""

    def __init__(self, url: Optional[str] = None, **options: "Union[Word, Iterable[str]]") -> None:
        words, error = ffi.new("struct hf_client_options *"), ffi.new("struct hf_error *")
        lib.hf_client_options_init(words)
        if url is not None:
            options = {"url": url, **options}
        for name, value in options.items():
            values = [value] if isinstance(value, (str, int, float)) else list(value)
            for each in values:
                check(lib.hf_client_options_set(words, name.encode(), _word(each), error), error)
        self._core = Core(words)

    def lock(self, name: Name, *, kind: str = "plain", fenced: bool = False,
             ttl: Optional[float] = None, timeout: Optional[float] = None,
             max_hold: Optional[float] = None, on_lost: Optional[OnLost] = None) -> Lock:
        """A lock, for `with`, `async with`, acquire() and acquire_async(). No I/O.

        kind      "plain" (its owner can acquire it again), "nonreentrant", "fair",
                  "nonreentrant-fair", "spin", "value" (as redis-py's Lock), "read", "write"
        fenced    each hold has a token, greater than those before
        ttl       the lock expires after this time, in seconds, and is not renewed. None: it is
                  renewed while it is held
        timeout   how many seconds to wait for the lock. None: no limit
        max_hold  the lock is lost after this time, in seconds. None: no limit
        on_lost   called with the hold when it is lost, before another owner can acquire the lock:
                  by the client's thread, or for a task in its event loop
        """
        return Lock(self._core, name, kind, fenced, LockOptions(ttl, timeout, max_hold, on_lost))

    def read_lock(self, name: Name, *, ttl: Optional[float] = None,
                  timeout: Optional[float] = None, max_hold: Optional[float] = None,
                  on_lost: Optional[OnLost] = None) -> Lock:
        """The side of a read-write lock that several owners can hold."""
        return Lock(self._core, name, "read", False, LockOptions(ttl, timeout, max_hold, on_lost))

    def write_lock(self, name: Name, *, fenced: bool = False, ttl: Optional[float] = None,
                   timeout: Optional[float] = None, max_hold: Optional[float] = None,
                   on_lost: Optional[OnLost] = None) -> Lock:
        """The side of a read-write lock that one owner can hold, while there is no reader."""
        return Lock(self._core, name, "write", fenced,
                    LockOptions(ttl, timeout, max_hold, on_lost))

    def permit(self, name: Name, *, ttl: Optional[float] = None,
               timeout: Optional[float] = None, max_hold: Optional[float] = None,
               on_lost: Optional[OnLost] = None) -> Permit:
        """A permit of a semaphore whose permits are renewed, and expire with their holders."""
        return Permit(self._core, name, "permit", False,
                      LockOptions(ttl, timeout, max_hold, on_lost))

    def multi(self, locks: Iterable[Lock], *, ttl: Optional[float] = None,
              timeout: Optional[float] = None, max_hold: Optional[float] = None,
              on_lost: Optional[OnLost] = None) -> Multi:
        """Several locks of this client as one: all or none. Options of the locks do not apply."""
        return Multi(locks, LockOptions(ttl, timeout, max_hold, on_lost))

    def semaphore(self, name: Name) -> Semaphore:
        """A semaphore. No I/O."""
        return Semaphore(self._core, name)

    def latch(self, name: Name) -> Latch:
        """A count-down latch. No I/O."""
        return Latch(self._core, name)

    @property
    def uuid(self) -> str:
        """With which the owners of this client begin on the server."""
        return self._text(lib.hf_client_uuid)

    @property
    def address(self) -> str:
        """The server's address, for messages."""
        return self._text(lib.hf_client_address)

    def close(self, timeout: float = _CLOSE_S) -> None:
        """Closes the client. Waits end at once with Closed; other requests may take `timeout`
        seconds to end. Locks that are held are not released: they are lost, and expire."""
        self._core.close(milliseconds(timeout, "timeout"))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], raised: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def _text(self, function: Callable[[Any], Any]) -> str:
        self._core.enter()
        try:
            return text_of(function(self._core.pointer))
        finally:
            self._core.leave()


def quorum(locks: Iterable[Lock], *, ttl: Optional[float] = None,
           timeout: Optional[float] = None, max_hold: Optional[float] = None,
           on_lost: Optional[OnLost] = None) -> Quorum:
    """One lock on several independent servers (Redlock): a majority of `locks`, one of each client,
    of one name and kind. The options of the locks do not apply."""
    return Quorum(locks, LockOptions(ttl, timeout, max_hold, on_lost))


atexit.register(Core.at_exit)
