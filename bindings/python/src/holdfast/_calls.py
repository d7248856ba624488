"""Calls of the library, for threads and for tasks of asyncio.

Every operation is started by its function that does not block. A thread then waits in C without
the GIL, and a signal such as SIGINT ends that wait. A task awaits a future, which the client's
thread of Python completes. So no thread is ever inside the library while it waits, and a client can
be freed at any time."""
from __future__ import annotations

import asyncio
import itertools
import logging
import os
import threading
import weakref
from typing import Any, Callable, Iterable, Optional

from holdfast._errors import check, error_of, invalid, text_of
from holdfast._native import ffi, lib

log = logging.getLogger("holdfast")
log.addHandler(logging.NullHandler())

_LEVELS = {lib.HF_LOG_ERROR: logging.ERROR, lib.HF_LOG_WARNING: logging.WARNING,
           lib.HF_LOG_INFO: logging.INFO}
_EXIT_S = 1.0  # for releases that are under way when a client or the program ends


class Operation:
    """What is started, how its result is read, and what follows. Each operation that ends is either
    undone, if it succeeded and nobody receives its result, or `after` is called once."""

    def __init__(self, what: int, handle: Any, one: int = 0, two: int = 0, *,
                 options: Optional[Callable[[Any], None]] = None, can_cancel: bool = False,
                 read: Callable[[Any], Any] = lambda call: None,
                 undo: Optional[Callable[[], "Operation"]] = None,
                 after: Callable[[bool], None] = lambda succeeded: None) -> None:
        self.what = what
        self.handle = handle
        self.numbers = (one, two)
        self.options = options  # fills in struct hf_acquire_options
        self.can_cancel = can_cancel
        self.read = read
        self.undo = undo
        self.after = after


class Call:
    """struct hfpy_call, which is freed with this object: not before the library is done with it.
    An interrupt may come at each line of Python, so what has happened is recorded in C."""

    def __init__(self, events: Any = ffi.NULL, number: int = 0) -> None:
        self.struct = lib.hfpy_call_new(events, number)
        if not self.struct:
            raise error_of(lib.HF_E_NOMEM)

    def __del__(self) -> None:
        if self.struct and (not self.struct.is_begun or self.struct.has_ended):
            lib.hfpy_call_free(self.struct)


class _Pending:
    """A call that a task awaits; without a future, one that nobody awaits."""

    def __init__(self, uses: "Uses", operation: Operation, call: Call,
                 future: Optional["asyncio.Future[None]"]) -> None:
        self.uses = uses
        self.operation = operation
        self.call = call
        self.future = future
        self.is_ready = False    # it has ended
        self.is_settled = False  # its result was delivered or dropped
        self.core = uses.cores[0]
        if future is None:
            self.core.unattended.add(self)

    def ended(self) -> None:
        """Called in the client's thread of Python."""
        self.call.struct.has_ended = True
        with self.core.idle:
            self.is_ready = True
            is_awaited = self not in self.core.unattended
        if is_awaited:
            assert self.future is not None
            try:
                self.future.get_loop().call_soon_threadsafe(self.deliver)
                return
            except RuntimeError:  # the event loop is closed
                pass
        self.drop()

    def deliver(self) -> None:
        """Called in the thread of the event loop."""
        assert self.future is not None
        if not self.is_settled and not self.future.done():
            self.is_settled = True
            self.future.set_result(None)

    def leave(self) -> None:
        """The task no longer awaits the call. The program does not end before it."""
        with self.core.idle:
            if self.is_settled:
                return
            self.core.unattended.add(self)
            is_ready = self.is_ready
        if is_ready:
            self.drop()
        else:
            self.uses.cancel(self.call)

    def drop(self) -> None:
        """Nobody receives the result."""
        with self.core.idle:
            is_settled, self.is_settled = self.is_settled, True
        if not is_settled:
            self.uses.drop(self.operation, self.call)
        with self.core.idle:
            self.core.unattended.discard(self)
            self.core.idle.notify_all()


class Core:
    """struct hf_client, and the thread that calls the callbacks of the program."""

    _living: "weakref.WeakSet[Core]" = weakref.WeakSet()
    _drains = 0  # clients that let pending requests end
    _changed = threading.Condition()
    is_exiting = False

    def __init__(self, options: Any) -> None:
        pointer, error = ffi.new("struct hf_client **"), ffi.new("struct hf_error *")
        self.pointer: Any = None
        self.pid = os.getpid()
        self.events = lib.hfpy_events_new()
        if not self.events:
            raise error_of(lib.HF_E_NOMEM)
        options.log, options.log_ctx = ffi.addressof(lib, "hfpy_on_log"), self.events
        status = lib.hf_client_new(pointer, options, error)
        self.numbers = itertools.count(1)
        self.listeners: dict[int, Callable[[], object]] = {}  # by the number of an event
        self.holds: set[Any] = set()                        # struct hfpy_hold *, until freed
        self.states: dict[Any, Any] = {}                    # of locks: _lock.State
        self.unattended: set[Any] = set()                   # calls that nobody awaits
        self.idle = threading.Condition()
        self.calls = 0                                      # threads inside the library
        self.sets: "weakref.WeakSet[Any]" = weakref.WeakSet()   # of locks: _sets.LockSet
        self.is_closed = False
        threading.Thread(target=_read_events, args=(self.events, self.listeners),
                         name="holdfast", daemon=True).start()
        if status < 0:
            lib.hfpy_events_close(self.events)
            check(status, error)
        self.pointer = pointer[0]
        Core._living.add(self)

    def enter(self) -> None:
        """Until leave(), the client is not freed."""
        if self.pid != os.getpid():
            raise error_of(lib.HF_E_FORKED)
        with self.idle:
            if self.is_closed:
                raise error_of(lib.HF_E_CLOSED)
            self.calls += 1

    def leave(self) -> None:
        with self.idle:
            self.calls -= 1
            if not self.calls:
                self.idle.notify_all()

    def drain(self, timeout_ms: int) -> None:
        """Lets pending requests end; ends waits, and every later call, with Closed."""
        with Core._changed:
            Core._drains += 1
        lib.hf_client_close_sized(self.pointer, timeout_ms, ffi.NULL, 0, ffi.NULL)
        with Core._changed:
            Core._drains -= 1
            Core._changed.notify_all()

    def close(self, timeout_ms: int) -> None:
        if self.pid != os.getpid() or self.pointer is None:
            return  # the client is the parent's, or was never created
        with self.idle:
            if self.is_closed:
                return
            self.is_closed = True
            while self.calls:
                self.idle.wait()
            if any(not each.can_close() for each in self.sets):
                self.is_closed = False
                text = "a quorum of this client is in use: release it first"
                raise error_of(lib.HF_E_INVAL, text)
        self.drain(timeout_ms)
        for each in list(self.sets):
            each.free()
        lib.hf_client_free(self.pointer)
        with self.idle:
            holds, self.holds = self.holds, set()
        for hold in holds:
            lib.hfpy_hold_free(hold)
        lib.hfpy_events_close(self.events)

    def __del__(self) -> None:
        if self.pointer is not None:
            self.close(int(_EXIT_S * 1000))

    @staticmethod
    def at_exit() -> None:
        """Releases that are under way may end. Nothing is freed, because the library's
        threads still run while the interpreter ends."""
        Core.is_exiting = True
        for core in list(Core._living):
            if core.pid != os.getpid() or core.is_closed:
                continue
            with core.idle:
                core.idle.wait_for(lambda: not core.unattended, _EXIT_S)
            core.drain(int(_EXIT_S * 1000))
        with Core._changed:
            Core._changed.wait_for(lambda: not Core._drains, _EXIT_S)


def _read_events(events: Any, listeners: "dict[int, Callable[[], object]]") -> None:
    """The thread of a client. It does not keep the client alive."""
    number, level = ffi.new("uint64_t *"), ffi.new("int *")
    line = ffi.new("char **")
    while True:
        kind = lib.hfpy_events_next(events, number, level, line)
        if kind == lib.HFPY_NOTHING:
            return
        if kind == lib.HFPY_LOGGED:
            log.log(_LEVELS.get(level[0], logging.WARNING), "%s", text_of(line[0]))
            lib.hfpy_line_free(line[0])
            continue
        listener = listeners.pop(number[0], None)
        if listener is not None:
            try:
                listener()
            except Exception:
                log.exception("a callback failed")
        del listener


class Uses:
    """The clients that an object uses: one, or those of a quorum."""

    def __init__(self, cores: Iterable[Core]) -> None:
        self.cores = tuple(dict.fromkeys(cores))

    def __enter__(self) -> None:
        entered = 0
        try:
            for core in self.cores:
                core.enter()
                entered += 1
        except BaseException:
            for core in self.cores[:entered]:
                core.leave()
            raise

    def __exit__(self, *raised: object) -> None:
        for core in self.cores:
            core.leave()

    def run(self, operation: Operation) -> Any:
        """Performs the operation. A signal whose handler raises, such as SIGINT, cancels it."""
        call: Optional[Call] = None
        try:
            call = Call()
            self._begin(operation, call)
            while not lib.hfpy_call_wait(call.struct, True):
                pass  # Python runs the handlers of signals here
            if Core.is_exiting and call.struct.status == lib.HF_E_CLOSED:
                threading.Event().wait()  # a daemon thread does not see the interpreter's end
            check(call.struct.status, call.struct.error)
            result = operation.read(call.struct)
        except BaseException:
            if call is not None and call.struct.is_begun:
                self.cancel(call)
                lib.hfpy_call_wait(call.struct, False)
            self.drop(operation, call)
            raise
        operation.after(True)
        return result

    async def run_async(self, operation: Operation) -> Any:
        """Performs the operation for a task. Cancelling the task cancels it."""
        future = asyncio.get_running_loop().create_future()
        pending = self._post(operation, future)
        struct = pending.call.struct
        try:
            await future
        except BaseException:
            if future.done() and not future.cancelled():
                self.drop(operation, pending.call)  # cancelled after the result was delivered
            else:
                pending.leave()
            raise
        operation.after(struct.status >= 0)
        check(struct.status, struct.error)
        return operation.read(struct)

    def drop(self, operation: Operation, call: Optional[Call]) -> None:
        """The operation has ended, or did not begin, and nobody receives its result."""
        if call is None or not call.struct.is_begun or call.struct.status < 0:
            operation.after(False)
        elif operation.undo is None:
            operation.after(True)
        else:
            try:
                self._post(operation.undo(), None)
            except Exception as error:
                log.warning("what nobody holds was not released, and expires: %s", error)

    def _post(self, operation: Operation, future: "Optional[asyncio.Future[None]]") -> _Pending:
        core = self.cores[0]
        number = next(core.numbers)
        pending: Optional[_Pending] = None
        try:
            pending = _Pending(self, operation, Call(core.events, number), future)
            core.listeners[number] = pending.ended
            self._begin(operation, pending.call)
        except BaseException:
            if pending is None or not pending.call.struct.is_begun:
                core.listeners.pop(number, None)
                core.unattended.discard(pending)
                operation.after(False)
            raise
        return pending

    def _begin(self, operation: Operation, call: Call) -> None:
        struct = call.struct
        if operation.options is not None:
            operation.options(struct.options)
        with self:
            client = self.cores[0].pointer if operation.can_cancel else ffi.NULL
            status = lib.hfpy_call_begin(struct, operation.what, operation.handle,
                                         *operation.numbers, client)
        if status < 0:
            raise error_of(status)

    def cancel(self, call: Call) -> None:
        try:
            with self:
                lib.hfpy_call_cancel(call.struct)
        except Exception:
            pass  # the client is closed, which ends the call


def value_of(call: Any) -> int:
    return int(call.value)


def flag_of(call: Any) -> bool:
    return bool(call.flag)


def milliseconds(seconds: Optional[float], name: str) -> int:
    """A time in ms, rounded up; None: forever."""
    if seconds is None:
        return int(lib.HF_FOREVER)
    if not seconds >= 0:
        raise invalid(f"{name} is {seconds}: it must be 0 or more seconds, or None")
    if seconds * 1000 >= lib.HF_SPAN_MAX_MS:
        return int(lib.HF_SPAN_MAX_MS)
    return -int(-seconds * 1000 // 1)


def name_bytes(name: "str | bytes") -> bytes:
    """The name as bytes. A number is refused: bytes(5) would be five zero bytes."""
    if isinstance(name, str):
        return name.encode()
    if isinstance(name, (bytes, bytearray, memoryview)):
        return bytes(name)
    raise TypeError(f"a name is str or bytes, not {type(name).__name__}")
