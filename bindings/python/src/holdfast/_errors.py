"""Exceptions: one for each kind of failure, with the library's message."""
from __future__ import annotations

from typing import Any

from holdfast._native import ffi, lib


class Error(Exception):
    """A call failed. str() is the library's message: one line, never with a password."""

    def __init__(self, status: int, text: str, is_temporary: bool = False) -> None:
        super().__init__(text)
        #: The status of the C library, a negative number.
        self.status = status
        #: The server refuses for now: a later call may succeed.
        self.is_temporary = is_temporary

    @property
    def status_name(self) -> str:
        """The name of the status, such as "HF_E_CONNECT"."""
        return text_of(lib.hf_status_name(self.status))


class Timeout(Error, TimeoutError):
    """Another owner held the lock until the timeout."""


class NotOwner(Error):
    """This owner does not hold the lock."""


class Lost(Error):
    """The lock was lost while it was held."""


class Cancelled(Error):
    """The wait was cancelled."""


class Unreplicated(Error):
    """Not enough replicas confirmed the write in time."""


class Unreachable(Error, ConnectionError):
    """The server cannot be reached, or did not reply in time."""


class ServerRefused(Error):
    """The server refused the request or the login, or TLS failed."""


class InvalidArgument(Error, ValueError):
    """An argument or an option is invalid."""


class LimitReached(Error):
    """A limit was reached."""


class Forked(Error):
    """The client belongs to the parent process: create one in this process."""


class Closed(Error):
    """The client was closed."""


class NoMemory(Error, MemoryError):
    """Out of memory."""


def invalid(text: str) -> InvalidArgument:
    """What the binding refuses by itself, as the library would."""
    return InvalidArgument(lib.HF_E_INVAL, text)


_CLASSES = {
    lib.HF_TIMEOUT: Timeout,
    lib.HF_NOT_OWNER: NotOwner,
    lib.HF_LOST: Lost,
    lib.HF_CANCELLED: Cancelled,
    lib.HF_UNREPLICATED: Unreplicated,
    lib.HF_E_QUORUM: Unreachable,
    lib.HF_E_CONNECT: Unreachable,
    lib.HF_E_NOREPLY: Unreachable,
    lib.HF_E_TLS: ServerRefused,
    lib.HF_E_AUTH: ServerRefused,
    lib.HF_E_SERVER: ServerRefused,
    lib.HF_E_PROTOCOL: ServerRefused,
    lib.HF_E_INVAL: InvalidArgument,
    lib.HF_E_LIMIT: LimitReached,
    lib.HF_E_FORKED: Forked,
    lib.HF_E_CLOSED: Closed,
    lib.HF_E_NOMEM: NoMemory,
}


def text_of(text: Any) -> str:
    """A text of the library, which is UTF-8."""
    return str(ffi.string(text).decode("utf-8", "replace"))


def error_of(status: int, text: str | None = None, is_temporary: bool = False) -> Error:
    """The exception for a status. Without a text it is that of the status."""
    kind = _CLASSES.get(status, Error)
    return kind(status, text or text_of(lib.hf_status_text(status)), is_temporary)


def check(status: int, error: Any) -> None:
    """Raises what struct hf_error *error says, if the status is a failure."""
    if status < 0:
        raise error_of(status, text_of(error.text), error.is_temporary)
