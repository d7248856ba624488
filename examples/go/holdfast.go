package main

/*
#cgo pkg-config: holdfast
#include <holdfast/holdfast.h>
#include <stdlib.h>

void lockLost(void *ctx, struct hf_lock *lock, int64_t owner, enum hf_lost reason);

// In cgo, a callback's ctx is a number and not a pointer of Go.
static inline void notify_of_loss(struct hf_acquire_options *options, uintptr_t ctx)
{
    options->on_lost = lockLost;
    options->ctx = (void *)ctx;
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
	handles []cgo.Handle // of callbacks, which may run until Close. Under the mutex
}

// NewClient creates a client, without contacting the server.
func NewClient(url string) (*Client, error) {
	var e C.struct_hf_error
	client, text := &Client{}, C.CString(url)
	defer C.free(unsafe.Pointer(text))

	status := C.hf_client_new_url(&client.pointer, text, &e)
	return client, asError(status, &e)
}

// Close frees the client. No other call may run.
func (client *Client) Close() {
	C.hf_client_free(client.pointer)
	for _, handle := range client.handles {
		handle.Delete()
	}
}

// Hold is an acquired lock, which the library renews.
type Hold struct {
	lock  *C.struct_hf_lock
	owner C.int64_t
	lost  chan string
}

// Acquire waits for the lock until ctx is done.
func (client *Client) Acquire(ctx context.Context, name string) (*Hold, error) {
	var e C.struct_hf_error
	// A goroutine moves between threads, so the owner is not the thread.
	hold := &Hold{owner: C.hf_owner_new(), lost: make(chan string, 1)}
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

	handle := cgo.NewHandle(hold.lost)
	client.mutex.Lock()
	client.handles = append(client.handles, handle)
	client.mutex.Unlock()
	var options C.struct_hf_acquire_options
	C.hf_acquire_options_init(&options)
	options.owner = hold.owner
	options.cancel = cancel
	C.notify_of_loss(&options, C.uintptr_t(handle))

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
	if status < 0 {
		C.hf_lock_free(hold.lock)
		if status == C.HF_CANCELLED {
			return nil, ctx.Err()
		}
		return nil, asError(status, &e)
	}
	return hold, nil
}

// Lost receives the reason when the lock is lost.
func (hold *Hold) Lost() <-chan string { return hold.lost }

// Release releases the lock, and frees the hold.
func (hold *Hold) Release() error {
	var e C.struct_hf_error

	status := C.hf_lock_release(hold.lock, hold.owner, &e)
	C.hf_lock_free(hold.lock)
	return asError(status, &e)
}

//export lockLost
func lockLost(ctx unsafe.Pointer, lock *C.struct_hf_lock, owner C.int64_t, reason C.enum_hf_lost) {
	cgo.Handle(uintptr(ctx)).Value().(chan string) <- C.GoString(C.hf_lost_text(reason))
}
