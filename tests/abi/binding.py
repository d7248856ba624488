#!/usr/bin/env python3
"""binding.py LIBRARY URL: uses the library as a binding does that reads no header: options by name,
in memory that is larger than the library's struct."""
import ctypes
import sys

lib = ctypes.CDLL(sys.argv[1])
OK, E_INVAL, OPTIONS_SIZE = 0, -107, 4096


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("is_temporary", ctypes.c_bool),
                ("reserved_flags", ctypes.c_bool * 3), ("reserved", ctypes.c_int64 * 3),
                ("text", ctypes.c_char * 512)]


def options(**words):
    memory = (ctypes.c_uint64 * (OPTIONS_SIZE // 8))()
    lib.hf_client_options_init_sized(memory, ctypes.c_size_t(OPTIONS_SIZE))
    for name, value in words.items():
        check(lib.hf_client_options_set, memory, name.encode(), value.encode())
    return memory


def check(function, *args, wanted=OK):
    error = Error()
    status = function(*args, ctypes.byref(error))
    if status != wanted:
        raise SystemExit(f"NOT SO: {function.__name__}: {status}: {error.text.decode()}")
    return error.text.decode()


lib.hf_owner_thread.restype = ctypes.c_int64
lib.hf_lock_safe_ms.restype = ctypes.c_int64
client, other, lock = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()

wrong = check(lib.hf_client_options_set, options(), b"timeot", b"1s", wanted=E_INVAL)
assert wrong == "unknown option 'timeot'; did you mean 'timeout'?", wrong
wrong = check(lib.hf_client_new, ctypes.byref(client), options(url=sys.argv[2], tls_ca="/ca"),
              wanted=E_INVAL)
assert wrong.startswith("option tls_ca: this needs TLS"), wrong

check(lib.hf_client_new, ctypes.byref(client),
      options(url=sys.argv[2], watchdog="2m", client_name="binding", db="1"))
check(lib.hf_lock_new, ctypes.byref(lock), client, b"binding", ctypes.c_size_t(7))
check(lib.hf_lock_acquire, lock, None)
owner = ctypes.c_int64(lib.hf_owner_thread())
safe = lib.hf_lock_safe_ms(lock, owner)
assert 30000 < safe <= 120000, safe  # watchdog=2m

# Another client of database 1, by URL alone, finds it locked.
there = ctypes.c_void_p()
check(lib.hf_client_new_url, ctypes.byref(other), (sys.argv[2] + "?db=1").encode())
check(lib.hf_lock_new, ctypes.byref(there), other, b"binding", ctypes.c_size_t(7))
is_locked = ctypes.c_bool(False)
check(lib.hf_lock_is_locked, there, ctypes.byref(is_locked))
assert is_locked.value
check(lib.hf_lock_release, lock, owner)
lib.hf_client_free(other)
lib.hf_client_free(client)
