package main

/*
#cgo pkg-config: holdfast
#include <holdfast/holdfast.h>
#include <stdlib.h>

void lockLost(void *ctx, struct hf_lock *lock, int64_t owner, enum hf_lost reason);
void lockReleased(void *ctx, hf_status status, struct hf_error *err);

// In cgo, a callback's ctx is a number and not a pointer of Go.
static inline void notify_of_loss(struct hf_acquire_options *options, uintptr_t ctx)
{
    options->on_lost = lockLost;
    options->ctx = (void *)ctx;
}

static inline hf_status release_and_notify(struct hf_lock *lock, int64_t owner, uintptr_t ctx)
{
    return hf_lock_release_async(lock, owner, (hf_done *)lockReleased, (void *)ctx);
}
*/
import "C"

import (
	"context"
	"errors"
	"runtime/cgo"
	"sync"
	"unsafe"
)

func asError(status C.hf_status, e *C.struct_hf_error) error {
	if status >= 0 {
		return nil
	}
	return errors.New(C.GoString(&e.text[0]))
}

// Client is a connection to a server. Any goroutine may use it.
type Client struct {
	pointer *C.struct_hf_client
	mutex   sync.Mutex
	handles map[cgo.Handle]struct{} // of the callbacks of holds. Under the mutex
}

// NewClient creates a client, without contacting the server.
func NewClient(url string) (*Client, error) {
	var e C.struct_hf_error
	client, text := &Client{handles: map[cgo.Handle]struct{}{}}, C.CString(url)
	defer C.free(unsafe.Pointer(text))

	status := C.hf_client_new_url(&client.pointer, text, &e)
	return client, asError(status, &e)
}

// Close frees the client. No other call may run.
func (client *Client) Close() {
	C.hf_client_free(client.pointer)
	for handle := range client.handles { // of holds that were not released
		handle.Delete()
	}
}

func (client *Client) newHandle(value any) cgo.Handle {
	handle := cgo.NewHandle(value)
	client.mutex.Lock()
	client.handles[handle] = struct{}{}
	client.mutex.Unlock()
	return handle
}

func (client *Client) deleteHandle(handle cgo.Handle) {
	client.mutex.Lock()
	delete(client.handles, handle)
	client.mutex.Unlock()
	handle.Delete()
}

// Hold is an acquired lock, which the library renews.
type Hold struct {
	client *Client
	lock   *C.struct_hf_lock
	owner  C.int64_t
	lost   chan string
	handle cgo.Handle // of on_lost
}

// Acquire waits for the lock until ctx is done.
func (client *Client) Acquire(ctx context.Context, name string) (*Hold, error) {
	var e C.struct_hf_error
	// A goroutine moves between threads, so the owner is not the thread.
	hold := &Hold{client: client, owner: C.hf_owner_new(), lost: make(chan string, 1)}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))

	status := C.hf_lock_new(&hold.lock, client.pointer, unsafe.Pointer(text), C.size_t(len(name)), &e)
	if status < 0 {
		return nil, asError(status, &e)
	}

	// The library keeps a list in it, so it is in memory of C.
	cancel := (*C.struct_hf_cancel)(C.calloc(1, C.sizeof_struct_hf_cancel))
	defer C.free(unsafe.Pointer(cancel))
	C.hf_cancel_init(cancel, client.pointer)

	hold.handle = client.newHandle(hold.lost)
	var options C.struct_hf_acquire_options
	C.hf_acquire_options_init(&options)
	options.owner = hold.owner
	options.cancel = cancel
	C.notify_of_loss(&options, C.uintptr_t(hold.handle))

	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			C.hf_cancel_fire(cancel)
		case <-ended:
		}
	}()
	status = C.hf_lock_acquire(hold.lock, &options, &e)
	close(ended)
	<-watched
	if status < 0 { // nothing is held, so no loss is reported
		hold.free()
		if status == C.HF_CANCELLED {
			return nil, ctx.Err()
		}
		return nil, asError(status, &e)
	}
	return hold, nil
}

// Lost receives the reason when the lock is lost.
func (hold *Hold) Lost() <-chan string { return hold.lost }

func (hold *Hold) free() {
	C.hf_lock_free(hold.lock)
	hold.client.deleteHandle(hold.handle)
}

// Release releases the lock, and frees the hold. No call on the hold may follow, except after
// an error that says that nothing was done: a limit, or the end of the client.
func (hold *Hold) Release() error {
	// A callback may still run when hf_lock_release returns, and none when done is called.
	released := make(chan error, 1)
	handle := hold.client.newHandle(released)
	defer hold.client.deleteHandle(handle)

	status := C.release_and_notify(hold.lock, hold.owner, C.uintptr_t(handle))
	if status < 0 {
		return errors.New(C.GoString(C.hf_status_text(status)))
	}
	err := <-released
	hold.free()
	return err
}

//export lockLost
func lockLost(ctx unsafe.Pointer, lock *C.struct_hf_lock, owner C.int64_t, reason C.enum_hf_lost) {
	cgo.Handle(uintptr(ctx)).Value().(chan string) <- C.GoString(C.hf_lost_text(reason))
}

//export lockReleased
func lockReleased(ctx unsafe.Pointer, status C.hf_status, e *C.struct_hf_error) {
	cgo.Handle(uintptr(ctx)).Value().(chan error) <- asError(status, e)
}
