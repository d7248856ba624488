"""Locks, multi-locks and quorums, and what holds them."""
from __future__ import annotations

import asyncio
import enum
import threading
import weakref
from types import TracebackType
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Type, Union

from holdfast._calls import Core, Operation, Uses, flag_of, milliseconds, name_bytes, value_of
from holdfast._errors import Error, Timeout, check, error_of, invalid, text_of
from holdfast._native import ffi, lib

_ON_LOST = ffi.addressof(lib, "hfpy_on_lost")

KINDS = {
    "plain": lib.HF_KIND_PLAIN,
    "nonreentrant": lib.HF_KIND_NONREENTRANT,
    "fair": lib.HF_KIND_FAIR,
    "nonreentrant-fair": lib.HF_KIND_NONREENTRANT_FAIR,
    "read": lib.HF_KIND_READ,
    "write": lib.HF_KIND_WRITE,
    "spin": lib.HF_KIND_SPIN,
    "value": lib.HF_KIND_VALUE,
    "permit": lib.HF_KIND_PERMIT,
}


def free_handle(uses: Uses, function: Callable[[Any], None], pointer: Any) -> None:
    """Frees a handle of clients that still exist, and are this process's."""
    try:
        with uses:
            function(pointer)
    except Error:
        pass


class LostReason(enum.Enum):
    """Why a hold was lost."""

    DELETED = int(lib.HF_REASON_DELETED)
    TAKEN = int(lib.HF_REASON_TAKEN)
    UNREACHABLE = int(lib.HF_REASON_UNREACHABLE)
    SUSPENDED = int(lib.HF_REASON_SUSPENDED)
    LEASE_ENDED = int(lib.HF_REASON_LEASE_ENDED)
    MAX_HOLD = int(lib.HF_REASON_MAX_HOLD)
    CLOSED = int(lib.HF_REASON_CLOSED)
    OTHER = 0  # of a later version of the library

    @classmethod
    def _missing_(cls, value: object) -> "LostReason":
        return cls.OTHER

    def __str__(self) -> str:
        return text_of(lib.hf_lost_text(self.value))


class LockInfo(NamedTuple):
    """The state of a lock on the server."""

    is_locked: bool
    ttl: Optional[float]  #: seconds; None: no TTL, or not locked
    holder: str           #: "uuid:number", or "" if not locked
    hold_count: int
    kind: str             #: as the library names it: "fair lock"
    holders: int
    waiters: Optional[int]  #: None: unknown


def _info_of(call: Any) -> LockInfo:
    info = call.info
    return LockInfo(
        is_locked=bool(info.is_locked), ttl=info.ttl_ms / 1000 if info.ttl_ms >= 0 else None,
        holder=ffi.buffer(info.holder, info.holder_len)[:].decode("utf-8", "replace"),
        hold_count=int(info.hold_count), kind=text_of(lib.hf_lock_kind_text(info.kind)),
        holders=int(info.holders), waiters=int(info.waiters) if info.waiters >= 0 else None)


# ---- owners ----

_thread = threading.local()
_tasks: "weakref.WeakKeyDictionary[asyncio.Task[Any], int]" = weakref.WeakKeyDictionary()


def _owner_of_thread() -> int:
    try:
        return int(_thread.owner)
    except AttributeError:
        _thread.owner = int(lib.hf_owner_new())
        return int(_thread.owner)


def _owner_of_task() -> int:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a lock is acquired by a task of asyncio, or by a thread without one")
    if task not in _tasks:
        _tasks[task] = int(lib.hf_owner_new())
    return _tasks[task]


# ---- holds ----

class State:
    """What the holds of one owner and one lock have in common: whether it was lost."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.number = next(core.numbers)
        self.struct = lib.hfpy_hold_new(core.events, self.number)
        if not self.struct:
            raise error_of(lib.HF_E_NOMEM)
        core.holds.add(self.struct)
        self.count = 0
        self.reason = 0
        self.has_ended = False

    def lost(self) -> int:
        with self.core.idle:
            if self.struct in self.core.holds:
                self.reason = int(lib.hfpy_hold_lost(self.struct))
            elif not self.has_ended and not self.reason:
                self.reason = LostReason.CLOSED.value
        return self.reason

    def end(self) -> None:
        """After the last release, and after an acquire that failed."""
        self.lost()
        self.has_ended = True
        self.core.listeners.pop(self.number, None)
        with self.core.idle:
            if self.struct in self.core.holds:
                self.core.holds.remove(self.struct)
                lib.hfpy_hold_free(self.struct)


class Hold:
    """One acquisition. It ends with release()."""

    def __init__(self, lock: "Lockable", owner: int, state: State) -> None:
        self._lock = lock
        self._owner = owner
        self._state = state
        self._is_released = False

    @property
    def name(self) -> str:
        """The name of the lock; of a set, those of its members."""
        return self._lock.name

    @property
    def token(self) -> Optional[int]:
        """The fencing token, or None if the lock has none. No I/O."""
        return self._number(self._lock._read_token) or None

    @property
    def safe_for(self) -> float:
        """For how many seconds from now this owner certainly holds the lock. At 0 do not use what
        the lock protects. No I/O."""
        return max(0, self._number(self._lock._read_safe_ms)) / 1000

    @property
    def lost(self) -> Optional[LostReason]:
        """Why the lock was lost, or None. No I/O."""
        reason = self._state.lost()
        return LostReason(reason) if reason else None

    def check(self) -> None:
        """Raises Lost if the lock was lost, or if it is not certain that it is held. Call it before
        each use of what the lock protects."""
        lost = self.lost
        if lost is not None or self.safe_for <= 0:
            reason = str(lost) if lost else "its safe time has ended"
            raise error_of(lib.HF_LOST, f"{self.name}: the lock is not safe: {reason}")

    def release(self) -> None:
        """Releases the lock once. Raises Lost if it was lost while it was held. Do not repeat it
        after an error: the lock is released, or expires."""
        self._lock._uses.run(self._release())

    async def release_async(self) -> None:
        """As release(), for a task. If the task is cancelled, the release continues."""
        run = asyncio.ensure_future(self._lock._uses.run_async(self._release()))
        run.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.shield(run)

    def renew(self, ttl: Optional[float] = None) -> None:
        """Extends the hold of a lock with a ttl to ttl seconds from now; None: its own ttl. After an
        error except Lost, the hold lasts as long as without the call."""
        self._lock._uses.run(self._renew(ttl))

    async def renew_async(self, ttl: Optional[float] = None) -> None:
        await self._lock._uses.run_async(self._renew(ttl))

    def _renew(self, ttl: Optional[float]) -> Operation:
        if self._is_released:
            raise error_of(lib.HF_NOT_OWNER, f"{self.name}: this hold was released")
        return self._lock._renewal_of(self, ttl)

    def _number(self, read: Callable[[int], int]) -> int:
        if self._is_released:
            return 0
        with self._lock._uses:
            return read(self._owner)

    def _release(self) -> Operation:
        if self._is_released:
            raise error_of(lib.HF_NOT_OWNER, f"{self.name}: this hold was released")
        self._is_released = True
        self._lock._leave(self._owner, self._state)
        return self._lock._release_of(self)

    def _ended(self) -> None:
        """The acquire failed, or the release ended."""
        self._lock._drop_user()
        if not self._state.count:
            self._state.end()


class Lockable:
    """What can be held: a lock, a multi-lock, a quorum.

    A thread, or a task of asyncio, is the owner of what it acquires. `with` and acquire() are for
    threads, `async with` and acquire_async() for tasks."""

    name: str
    _acquire_what: int
    _release_what: int
    _renew_what: int

    def __init__(self, uses: Uses, pointer: Any, states: "Dict[Any, State]", key: Any,
                 options: "LockOptions") -> None:
        self._uses = uses
        self._pointer = pointer
        self._states = states
        self._key = key
        self._options = options
        self._entered: Dict[int, List[Hold]] = {}

    # What differs between the kinds.
    def _read_token(self, owner: int) -> int:
        raise NotImplementedError

    def _read_safe_ms(self, owner: int) -> int:
        raise NotImplementedError

    # ---- threads ----

    def acquire(self, blocking: bool = True, timeout: Optional[float] = -1) -> Optional[Hold]:
        """Acquires the lock for the calling thread. Returns None if another owner held it until the
        timeout (seconds; None: no limit; not given: that of the lock), or, without blocking, if
        another owner holds it now."""
        hold, operation = self._acquire(_owner_of_thread(), blocking, timeout, self._call_lost)
        try:
            self._uses.run(operation)
        except Timeout:
            return None
        return hold

    def __enter__(self) -> Hold:
        hold = self.acquire()
        if hold is None:
            raise self._timeout()
        self._entered.setdefault(hold._owner, []).append(hold)
        return hold

    def __exit__(self, kind: Optional[Type[BaseException]], raised: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        hold = self._leave_block(_owner_of_thread())
        if hold is None:
            return
        try:
            hold.release()
        except Exception:
            if raised is None:  # else what the block raised is what the caller sees
                raise

    # ---- tasks ----

    async def acquire_async(self, blocking: bool = True,
                            timeout: Optional[float] = -1) -> Optional[Hold]:
        """As acquire(), for the current task. Cancelling the task ends the wait."""
        loop = asyncio.get_running_loop()
        hold, operation = self._acquire(
            _owner_of_task(), blocking, timeout,
            lambda hold: loop.call_soon_threadsafe(self._call_lost, hold))
        try:
            await self._uses.run_async(operation)
        except Timeout:
            return None
        return hold

    async def __aenter__(self) -> Hold:
        hold = await self.acquire_async()
        if hold is None:
            raise self._timeout()
        self._entered.setdefault(hold._owner, []).append(hold)
        return hold

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        raised: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        hold = self._leave_block(_owner_of_task())
        if hold is None:
            return
        try:
            await hold.release_async()
        except Exception:
            if raised is None:
                raise

    # ---- both ----

    def _acquire(self, owner: int, blocking: bool, timeout: Optional[float],
                 on_lost: "Callable[[Hold], object]") -> "tuple[Hold, Operation]":
        if timeout == -1:
            timeout = self._options.timeout
        wait_ms = milliseconds(timeout, "timeout") if blocking else 0
        state = self._states.get((self._key, owner))
        is_new = state is None
        if state is None:
            state = State(self._uses.cores[0])
        hold = Hold(self, owner, state)
        if is_new and self._options.on_lost is not None:
            state.core.listeners[state.number] = lambda: on_lost(hold)

        def fill(options: Any) -> None:
            options.owner = owner
            options.wait_ms = wait_ms
            options.lease_ms = self._options.lease_ms
            options.max_hold_ms = self._options.max_hold_ms
            options.on_lost, options.ctx = _ON_LOST, hold._state.struct

        self._add_user()
        return hold, Operation(
            self._acquire_what, self._pointer, options=fill, can_cancel=len(self._uses.cores) == 1,
            undo=lambda: self._release_of(hold),
            after=lambda succeeded: self._enter(hold) if succeeded else hold._ended())

    def _enter(self, hold: Hold) -> None:
        self._states.setdefault((self._key, hold._owner), hold._state)
        hold._state.count += 1

    def _leave(self, owner: int, state: State) -> None:
        state.count -= 1
        if not state.count:
            self._states.pop((self._key, owner), None)

    def _leave_block(self, owner: int) -> Optional[Hold]:
        holds = self._entered.get(owner)
        if not holds:
            raise RuntimeError(f"{self.name}: another thread or task began this block")
        hold = holds.pop()
        if not holds:
            del self._entered[owner]
        return None if hold._is_released else hold

    def _release_of(self, hold: Hold) -> Operation:
        return Operation(self._release_what, self._pointer, hold._owner,
                         after=lambda succeeded: hold._ended())

    def _renewal_of(self, hold: Hold, ttl: Optional[float]) -> Operation:
        if ttl is None and self._options.lease_ms == 0:
            raise invalid(f"{self.name}: the client renews this hold by itself, because the lock "
                          "has no ttl")
        lease_ms = self._options.lease_ms if ttl is None else milliseconds(ttl, "ttl")
        return Operation(self._renew_what, self._pointer, hold._owner, lease_ms)

    # Sets count the holds and calls that use them.
    def _add_user(self) -> None:
        pass

    def _drop_user(self) -> None:
        pass

    def _call_lost(self, hold: Hold) -> None:
        assert self._options.on_lost is not None
        self._options.on_lost(hold)

    def _timeout(self) -> Timeout:
        text = text_of(lib.hf_status_text(lib.HF_TIMEOUT))
        return Timeout(lib.HF_TIMEOUT, f"{self.name}: {text}")


class LockOptions:
    """How a lock is acquired, and who is informed of its loss."""

    def __init__(self, ttl: Optional[float], timeout: Optional[float],
                 max_hold: Optional[float], on_lost: Optional[Callable[[Hold], object]]) -> None:
        self.timeout = timeout
        self.on_lost = on_lost
        self.lease_ms = 0 if ttl is None else max(1, milliseconds(ttl, "ttl"))
        self.max_hold_ms = 0 if max_hold is None else max(1, milliseconds(max_hold, "max_hold"))
        milliseconds(timeout, "timeout")


class Lock(Lockable):
    """A lock of any kind. Client.lock() and its like make it."""

    _acquire_what = lib.HFPY_LOCK_ACQUIRE
    _release_what = lib.HFPY_LOCK_RELEASE
    _renew_what = lib.HFPY_LOCK_RENEW

    def __init__(self, core: Core, name: "Union[str, bytes]", kind: str, fenced: bool,
                 options: LockOptions) -> None:
        self._pointer = None
        if kind not in KINDS:
            raise invalid(f"unknown kind {kind!r}: one of {', '.join(KINDS)}")
        number = KINDS[kind] | (lib.HF_WITH_TOKEN if fenced else 0)
        bytes_of, pointer = name_bytes(name), ffi.new("struct hf_lock **")
        error = ffi.new("struct hf_error *")
        uses = Uses([core])
        with uses:
            check(lib.hf_lock_new_kind(pointer, core.pointer, number, bytes_of, len(bytes_of),
                                       error), error)
        super().__init__(uses, pointer[0], core.states, (bytes_of, number), options)
        self.name = bytes_of.decode("utf-8", "backslashreplace")
        self.kind = kind

    def __del__(self) -> None:
        if self._pointer is not None:
            free_handle(self._uses, lib.hf_lock_free, self._pointer)

    def _read_token(self, owner: int) -> int:
        return int(lib.hf_lock_token(self._pointer, owner))

    def _read_safe_ms(self, owner: int) -> int:
        return int(lib.hf_lock_safe_ms(self._pointer, owner))

    def inspect(self) -> LockInfo:
        """Reads the state of the lock from the server."""
        info: LockInfo = self._uses.run(self._inspect())
        return info

    async def inspect_async(self) -> LockInfo:
        info: LockInfo = await self._uses.run_async(self._inspect())
        return info

    def locked(self) -> bool:
        """Whether any owner holds the lock, read from the server."""
        return self.inspect().is_locked

    def _inspect(self) -> Operation:
        return Operation(lib.HFPY_LOCK_INSPECT, self._pointer, read=_info_of)


class Permit(Lock):
    """A permit that expires with its holder. As many owners hold one as there are permits."""

    def create(self, permits: int) -> bool:
        """Sets the number of permits. False: they exist, and are unchanged."""
        return bool(self._uses.run(self._create(permits)))

    async def create_async(self, permits: int) -> bool:
        return bool(await self._uses.run_async(self._create(permits)))

    def available(self) -> int:
        """How many permits are available."""
        return int(self._uses.run(self._available()))

    async def available_async(self) -> int:
        return int(await self._uses.run_async(self._available()))

    def _create(self, permits: int) -> Operation:
        return Operation(lib.HFPY_PERMITS_TRY_SET, self._pointer, permits, read=flag_of)

    def _available(self) -> Operation:
        return Operation(lib.HFPY_PERMITS_AVAILABLE, self._pointer, read=value_of)
