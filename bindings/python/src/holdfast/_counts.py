"""Semaphores and latches: counts that processes share."""
from __future__ import annotations

from types import TracebackType
from typing import Any, Optional, Type, Union

from holdfast._calls import Core, Operation, Uses, flag_of, milliseconds, name_bytes, value_of
from holdfast._errors import Timeout, check
from holdfast._locks import free_handle
from holdfast._native import ffi, lib


class _Count:
    """A handle on a name."""

    _new: Any
    _free: Any
    _type: str

    def __init__(self, core: Core, name: "Union[str, bytes]") -> None:
        self._pointer = ffi.NULL
        bytes_of, pointer = name_bytes(name), ffi.new(self._type)
        error = ffi.new("struct hf_error *")
        self._uses = Uses([core])
        with self._uses:
            check(self._new(pointer, core.pointer, bytes_of, len(bytes_of), error), error)
        self._pointer = pointer[0]
        self.name = bytes_of.decode("utf-8", "backslashreplace")

    def __del__(self) -> None:
        if self._pointer:
            free_handle(self._uses, self._free, self._pointer)


class Semaphore(_Count):
    """A number of permits. A permit has no owner, and does not expire: if its holder dies, it stays
    in use until it is released."""

    _new = lib.hf_semaphore_new
    _free = lib.hf_semaphore_free
    _type = "struct hf_semaphore **"

    def create(self, permits: int) -> bool:
        """Creates the semaphore with this number of permits. False: it exists, and is unchanged."""
        return bool(self._uses.run(self._create(permits)))

    async def create_async(self, permits: int) -> bool:
        return bool(await self._uses.run_async(self._create(permits)))

    def acquire(self, permits: int = 1, timeout: Optional[float] = None) -> bool:
        """Acquires the permits, all or none. False: too few were available until the timeout (in
        seconds; None: no limit)."""
        try:
            self._uses.run(self._acquire(permits, timeout))
        except Timeout:
            return False
        return True

    async def acquire_async(self, permits: int = 1, timeout: Optional[float] = None) -> bool:
        try:
            await self._uses.run_async(self._acquire(permits, timeout))
        except Timeout:
            return False
        return True

    def release(self, permits: int = 1) -> None:
        """Adds the permits. Do not repeat it after an error."""
        self._uses.run(self._release(permits))

    async def release_async(self, permits: int = 1) -> None:
        await self._uses.run_async(self._release(permits))

    def available(self) -> int:
        """How many permits are available; 0 if the semaphore does not exist."""
        return int(self._uses.run(self._available()))

    async def available_async(self) -> int:
        return int(await self._uses.run_async(self._available()))

    def __enter__(self) -> "Semaphore":
        self._uses.run(self._acquire(1, None))
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], raised: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.release()

    async def __aenter__(self) -> "Semaphore":
        await self._uses.run_async(self._acquire(1, None))
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        raised: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.release_async()

    def _create(self, permits: int) -> Operation:
        return Operation(lib.HFPY_SEMAPHORE_TRY_SET, self._pointer, permits, read=flag_of)

    def _acquire(self, permits: int, timeout: Optional[float]) -> Operation:
        return Operation(lib.HFPY_SEMAPHORE_ACQUIRE, self._pointer, permits,
                         milliseconds(timeout, "timeout"), can_cancel=True,
                         undo=lambda: self._release(permits))

    def _release(self, permits: int) -> Operation:
        return Operation(lib.HFPY_SEMAPHORE_RELEASE, self._pointer, permits)

    def _available(self) -> Operation:
        return Operation(lib.HFPY_SEMAPHORE_AVAILABLE, self._pointer, read=value_of)


class Latch(_Count):
    """Opens for all waiters when its count reaches 0."""

    _new = lib.hf_latch_new
    _free = lib.hf_latch_free
    _type = "struct hf_latch **"

    def create(self, count: int) -> bool:
        """Sets the count. False: the latch exists, and is unchanged."""
        return bool(self._uses.run(self._create(count)))

    async def create_async(self, count: int) -> bool:
        return bool(await self._uses.run_async(self._create(count)))

    def count_down(self) -> None:
        """Lowers the count by 1. Do not repeat it after an error."""
        self._uses.run(self._count_down())

    async def count_down_async(self) -> None:
        await self._uses.run_async(self._count_down())

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits until the count is 0, or the latch does not exist. False: the timeout (in seconds;
        None: no limit) was first."""
        try:
            self._uses.run(self._wait(timeout))
        except Timeout:
            return False
        return True

    async def wait_async(self, timeout: Optional[float] = None) -> bool:
        try:
            await self._uses.run_async(self._wait(timeout))
        except Timeout:
            return False
        return True

    def count(self) -> int:
        """The count; 0 if the latch does not exist."""
        return int(self._uses.run(self._count()))

    async def count_async(self) -> int:
        return int(await self._uses.run_async(self._count()))

    def _create(self, count: int) -> Operation:
        return Operation(lib.HFPY_LATCH_TRY_SET, self._pointer, count, read=flag_of)

    def _count_down(self) -> Operation:
        return Operation(lib.HFPY_LATCH_COUNT_DOWN, self._pointer)

    def _wait(self, timeout: Optional[float]) -> Operation:
        return Operation(lib.HFPY_LATCH_AWAIT, self._pointer, milliseconds(timeout, "timeout"),
                         can_cancel=True)

    def _count(self) -> Operation:
        return Operation(lib.HFPY_LATCH_COUNT, self._pointer, read=value_of)
