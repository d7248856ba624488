"""Builds holdfast._native, by cffi in API mode: the compiler checks each declaration below against
the headers.

The library is holdfast.c of `make amalgamation` in native/library, which a source distribution
contains. With HOLDFAST_SYSTEM=1 it is the installed libholdfast, found by pkg-config."""
import os
import subprocess
import tempfile

from cffi import FFI

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join("native", "library")

DECLARATIONS = """
typedef int hf_status;

enum hf_log_level { HF_LOG_ERROR, HF_LOG_WARNING, HF_LOG_INFO, ... };
enum hf_lost { HF_REASON_DELETED, HF_REASON_TAKEN, HF_REASON_UNREACHABLE, HF_REASON_SUSPENDED,
               HF_REASON_LEASE_ENDED, HF_REASON_MAX_HOLD, HF_REASON_CLOSED, ... };
enum hf_lock_kind { HF_KIND_NONE, HF_KIND_PLAIN, HF_KIND_FAIR, HF_KIND_READ, HF_KIND_WRITE,
                    HF_KIND_MULTI, HF_KIND_NONREENTRANT, HF_KIND_FENCED,
                    HF_KIND_NONREENTRANT_FAIR, HF_KIND_PERMIT, HF_KIND_SPIN, HF_KIND_VALUE,
                    HF_WITH_TOKEN, ... };

struct hf_error { hf_status status; bool is_temporary; char text[...]; ...; };
struct hf_client;
struct hf_lock;
struct hf_multi;
struct hf_quorum;
struct hf_semaphore;
struct hf_latch;

struct hf_client_options { const char *url; void (*log)(void *, enum hf_log_level, const char *);
                           void *log_ctx; ...; };
struct hf_acquire_options {
    int64_t owner, wait_ms, lease_ms, max_hold_ms;
    bool allow_same_server;
    void (*on_lost)(void *, struct hf_lock *, int64_t, enum hf_lost);
    void *ctx;
    ...;
};
struct hf_lock_info {
    bool is_locked;
    int64_t ttl_ms, hold_count, holders, waiters;
    size_t holder_len;
    char holder[...];
    enum hf_lock_kind kind;
    ...;
};

static const int HF_OK, HF_TIMEOUT, HF_NOT_OWNER, HF_LOST, HF_CANCELLED, HF_UNREPLICATED,
    HF_E_QUORUM, HF_E_CONNECT, HF_E_TLS, HF_E_AUTH, HF_E_SERVER, HF_E_NOMEM, HF_E_INVAL,
    HF_E_NOREPLY, HF_E_FORKED, HF_E_CLOSED, HF_E_SYSTEM, HF_E_PROTOCOL, HF_E_LIMIT, HF_E_TYPE;
static const int64_t HF_FOREVER, HF_SPAN_MAX_MS;

const char *hf_version(void);
const char *hf_tls_library(void);
const char *hf_status_text(hf_status);
const char *hf_status_name(hf_status);
const char *hf_lost_text(enum hf_lost);
const char *hf_lock_kind_text(enum hf_lock_kind);

void hf_client_options_init(struct hf_client_options *);
hf_status hf_client_options_set(struct hf_client_options *, const char *, const char *,
                                struct hf_error *);
hf_status hf_client_new(struct hf_client **, const struct hf_client_options *, struct hf_error *);
hf_status hf_client_close_sized(struct hf_client *, int64_t, void *, size_t, struct hf_error *);
void hf_client_free(struct hf_client *);
const char *hf_client_uuid(const struct hf_client *);
const char *hf_client_address(const struct hf_client *);
int64_t hf_owner_new(void);

hf_status hf_lock_new_kind(struct hf_lock **, struct hf_client *, enum hf_lock_kind, const void *,
                           size_t, struct hf_error *);
void hf_lock_free(struct hf_lock *);
int64_t hf_lock_safe_ms(struct hf_lock *, int64_t);
int64_t hf_lock_token(struct hf_lock *, int64_t);

hf_status hf_multi_new(struct hf_multi **, struct hf_lock *const *, size_t, struct hf_error *);
void hf_multi_free(struct hf_multi *);
int64_t hf_multi_safe_ms(struct hf_multi *, int64_t);

hf_status hf_quorum_new(struct hf_quorum **, struct hf_lock *const *, size_t, struct hf_error *);
void hf_quorum_free(struct hf_quorum *);
int64_t hf_quorum_safe_ms(struct hf_quorum *, int64_t);
int64_t hf_quorum_token(struct hf_quorum *, int64_t);

hf_status hf_semaphore_new(struct hf_semaphore **, struct hf_client *, const void *, size_t,
                           struct hf_error *);
void hf_semaphore_free(struct hf_semaphore *);

hf_status hf_latch_new(struct hf_latch **, struct hf_client *, const void *, size_t,
                       struct hf_error *);
void hf_latch_free(struct hf_latch *);

enum hfpy_kind { HFPY_NOTHING, HFPY_ENDED, HFPY_LOST, HFPY_LOGGED, ... };
enum hfpy_what { HFPY_LOCK_ACQUIRE, HFPY_LOCK_RELEASE, HFPY_LOCK_INSPECT, HFPY_MULTI_ACQUIRE,
                 HFPY_MULTI_RELEASE, HFPY_QUORUM_ACQUIRE, HFPY_QUORUM_RELEASE,
                 HFPY_PERMITS_TRY_SET, HFPY_PERMITS_AVAILABLE, HFPY_SEMAPHORE_TRY_SET,
                 HFPY_SEMAPHORE_ACQUIRE, HFPY_SEMAPHORE_RELEASE, HFPY_SEMAPHORE_AVAILABLE,
                 HFPY_LATCH_TRY_SET, HFPY_LATCH_COUNT_DOWN, HFPY_LATCH_AWAIT, HFPY_LATCH_COUNT,
                 HFPY_LOCK_RENEW, HFPY_MULTI_RENEW, HFPY_QUORUM_RENEW,
                 ... };
struct hfpy_events;
struct hfpy_hold;
struct hfpy_call { hf_status status; struct hf_error error; bool flag; int64_t value;
                   struct hf_lock_info info; bool is_begun, has_ended;
                   struct hf_acquire_options options; ...; };
struct hfpy_events *hfpy_events_new(void);
int hfpy_events_next(struct hfpy_events *, uint64_t *, int *, char **);
void hfpy_line_free(char *);
void hfpy_events_close(struct hfpy_events *);
struct hfpy_call *hfpy_call_new(struct hfpy_events *, uint64_t);
void hfpy_call_free(struct hfpy_call *);
hf_status hfpy_call_begin(struct hfpy_call *, enum hfpy_what, void *, int64_t, int64_t,
                          struct hf_client *);
void hfpy_call_cancel(struct hfpy_call *);
bool hfpy_call_wait(struct hfpy_call *, bool);
struct hfpy_hold *hfpy_hold_new(struct hfpy_events *, uint64_t);
void hfpy_hold_free(struct hfpy_hold *);
int hfpy_hold_lost(const struct hfpy_hold *);
void hfpy_on_lost(void *, struct hf_lock *, int64_t, enum hf_lost);
void hfpy_on_log(void *, enum hf_log_level, const char *);
"""


def pkg_config(package, *options):
    """The words that pkg-config prints, or None if the package is not installed."""
    try:
        done = subprocess.run([os.environ.get("PKG_CONFIG", "pkg-config"), *options, package],
                              check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.split()


def has_openssl():
    """Whether the compiler finds the headers of OpenSSL 1.1.1 or later."""
    compiler = os.environ.get("CC", "cc").split()
    program = ("#include <openssl/ssl.h>\n#if OPENSSL_VERSION_NUMBER < 0x10101000L\n"
               "#error too old\n#endif\n")
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write(program)
        source.flush()
        return subprocess.run([*compiler, "-fsyntax-only", source.name],
                              stderr=subprocess.DEVNULL, check=False).returncode == 0


def how_to_build():
    """What the extension is made of: arguments of set_source."""
    own = {"include_dirs": ["native"], "sources": ["native/calls.c"],
           "extra_compile_args": ["-std=gnu11", "-fvisibility=hidden", "-pthread"],
           "extra_link_args": ["-pthread"], "define_macros": []}
    if os.environ.get("HOLDFAST_SYSTEM", "0") != "0":
        flags, libraries = (pkg_config("holdfast", option) for option in ("--cflags", "--libs"))
        if flags is None or libraries is None:
            raise SystemExit("HOLDFAST_SYSTEM=1: pkg-config does not find holdfast")
        own["define_macros"].append(("HFPY_SYSTEM", "1"))
        own["extra_compile_args"] += flags
        own["extra_link_args"] += libraries
        return own
    own["include_dirs"].append(LIBRARY)
    own["sources"].append(LIBRARY + "/holdfast.c")
    own["define_macros"].append(("HF_API", ""))  # the extension exports none of its functions
    if os.environ.get("HOLDFAST_TLS", "1" if has_openssl() else "0") != "0":
        own["define_macros"].append(("HF_TLS", "1"))
        own["extra_link_args"] += pkg_config("openssl", "--libs") or ["-lssl", "-lcrypto"]
    return own


ffi = FFI()
ffi.cdef(DECLARATIONS)
ffi.set_source("holdfast._native", '#include "calls.h"', **how_to_build())
