/* A lock that is held while a function runs. Part of holdfast (lock.h).
 *
 *     struct hf_scope scope = HF_SCOPE_INIT;
 *
 *     scope.body = write_report;
 *     hf_lock_with(lock, NULL, &scope, &result, &error);
 *
 * Threads, errors: as in lock.h. */
#ifndef HF_SCOPE_H
#define HF_SCOPE_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions that hf_lock_with calls. */
struct hf_scope {
    size_t size;                /* set by HF_SCOPE_INIT: net/version.h */
    bool (*on_acquire)(void *ctx, struct hf_lock *lock); /* or NULL */
    int (*body)(void *ctx, struct hf_lock *lock);
    void (*on_exit)(void *ctx, struct hf_lock *lock, hf_status released); /* or NULL */
    void *ctx;
};
#define HF_SCOPE_INIT {.size = sizeof(struct hf_scope)}

/* hf_lock_with - acquires the lock, calls `body`, and releases the lock. `on_acquire` is
 *   called before; if it returns false, `body` is skipped. `on_exit` is called after the
 *   release. All three run in the calling thread. *result (may be NULL) receives what `body`
 *   returned, or 0 if it was skipped. It returns as
 *   hf_lock_acquire if the lock was not acquired, otherwise as hf_lock_release; HF_E_INVAL
 *   with keep_unreplicated, because the lock would remain held, or if the scope was not
 *   initialised. */
HF_API hf_status hf_lock_with(struct hf_lock *lock,
                              const struct hf_acquire_options *options,
                              const struct hf_scope *scope, int *result,
                              struct hf_error *err) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
