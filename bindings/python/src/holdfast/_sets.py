"""Several locks as one: multi-locks and quorums."""
from __future__ import annotations

import threading
from typing import Any, Iterable, List

from holdfast._calls import Uses
from holdfast._errors import check, error_of, invalid
from holdfast._locks import Lock, Lockable, LockOptions, free_handle
from holdfast._native import ffi, lib

_abandoned: List[object] = []  # quorums that were dropped while they were held, and their clients


class LockSet(Lockable):
    """What multi-locks and quorums have in common. It is freed before its clients."""

    _new: Any
    _free: Any
    _type: str

    def __init__(self, locks: "Iterable[Lock]", options: LockOptions) -> None:
        self._pointer = None
        self._users = 0  # holds, and acquires that wait
        self._users_lock = threading.Lock()
        members = list(locks)
        uses = Uses(core for lock in members for core in lock._uses.cores)
        self._check(uses)
        pointer, error = ffi.new(self._type), ffi.new("struct hf_error *")
        with uses:
            check(self._new(pointer, [lock._pointer for lock in members], len(members), error),
                  error)
        super().__init__(uses, pointer[0], {}, None, options)
        self.name = ", ".join(dict.fromkeys(lock.name for lock in members))
        for core in uses.cores:
            core.sets.add(self)

    def _check(self, uses: Uses) -> None:
        if not uses.cores:
            raise invalid("a set has at least one lock")

    def can_close(self) -> bool:
        """Whether a client of this set may be closed."""
        return not self._users

    def free(self) -> None:
        """Called when a client of it is closed."""
        pointer, self._pointer = self._pointer, ffi.NULL
        if pointer:
            self._free(pointer)

    def __del__(self) -> None:
        if not self._pointer:
            return
        if self._users:
            _abandoned.append((self._pointer, self._uses))
        else:
            free_handle(self._uses, self._free, self._pointer)

    def _add_user(self) -> None:
        if not self._pointer:
            raise error_of(lib.HF_E_CLOSED)
        with self._users_lock:
            self._users += 1

    def _drop_user(self) -> None:
        with self._users_lock:
            self._users -= 1


class Multi(LockSet):
    """Several locks of one client, all or none. Client.multi() makes it."""

    _acquire_what = lib.HFPY_MULTI_ACQUIRE
    _release_what = lib.HFPY_MULTI_RELEASE
    _renew_what = lib.HFPY_MULTI_RENEW
    _new = lib.hf_multi_new
    _free = lib.hf_multi_free
    _type = "struct hf_multi **"

    def _check(self, uses: Uses) -> None:
        if len(uses.cores) != 1:
            raise invalid("a multi-lock has at least one lock, and all are of one client")

    def can_close(self) -> bool:
        return True  # what a closed client holds expires

    def _read_token(self, owner: int) -> int:
        return 0

    def _read_safe_ms(self, owner: int) -> int:
        return int(lib.hf_multi_safe_ms(self._pointer, owner))


class Quorum(LockSet):
    """One lock on several independent servers (Redlock), each with a client of its own: it is held
    while it is held on a majority of them."""

    _acquire_what = lib.HFPY_QUORUM_ACQUIRE
    _release_what = lib.HFPY_QUORUM_RELEASE
    _renew_what = lib.HFPY_QUORUM_RENEW
    _new = lib.hf_quorum_new
    _free = lib.hf_quorum_free
    _type = "struct hf_quorum **"

    def _read_token(self, owner: int) -> int:
        return int(lib.hf_quorum_token(self._pointer, owner))

    def _read_safe_ms(self, owner: int) -> int:
        return int(lib.hf_quorum_safe_ms(self._pointer, owner))
