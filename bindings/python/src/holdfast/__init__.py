"""Distributed locks for Redis and Valkey, shared with Redisson (Java).

    import holdfast

    client = holdfast.Client("redis://127.0.0.1:6379")
    with client.lock("nightly-report", timeout=10) as hold:
        make_report(hold.token)

docs/bindings.md of holdfast describes this package."""
from holdfast._client import Client, quorum
from holdfast._counts import Latch, Semaphore
from holdfast._errors import (Cancelled, Closed, Error, Forked, InvalidArgument, LimitReached, Lost,
                              NoMemory, NotOwner, ServerRefused, Timeout, Unreachable,
                              Unreplicated, text_of)
from holdfast._locks import Hold, Lock, Lockable, LockInfo, LostReason, Permit
from holdfast._native import ffi as _ffi
from holdfast._native import lib as _lib
from holdfast._sets import Multi, Quorum

__version__ = text_of(_lib.hf_version())
#: The TLS library, such as "OpenSSL 3.0.17", or None: rediss:// is then an error.
tls_library = text_of(_lib.hf_tls_library()) if _lib.hf_tls_library() != _ffi.NULL else None

__all__ = ["Cancelled", "Client", "Closed", "Error", "Forked", "Hold", "InvalidArgument", "Latch",
           "LimitReached", "Lock", "LockInfo", "Lockable", "Lost", "LostReason", "Multi",
           "NoMemory", "NotOwner", "Permit", "Quorum", "Semaphore", "ServerRefused", "Timeout",
           "Unreachable", "Unreplicated", "quorum", "tls_library"]
