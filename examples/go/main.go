// Acquires a lock, and holds it until it is lost, or until the program is interrupted:
//
//	go run . redis://127.0.0.1:6379 nightly-report
//
// Exit status: 0 released, 1 lost or an error, 130 interrupted while it waited.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func run(url, name string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	client, err := NewClient(url)
	if err != nil {
		return 1, err
	}
	defer client.Close()

	fmt.Println("waiting")
	hold, err := client.Acquire(ctx, name)
	if errors.Is(err, context.Canceled) {
		return 130, err
	} else if err != nil {
		return 1, err
	}
	fmt.Println("held")

	select {
	case <-ctx.Done():
		if err := hold.Release(); err != nil {
			return 1, err
		}
		fmt.Println("released")
		return 0, nil
	case reason := <-hold.Lost():
		_ = hold.Release() // as often as it was acquired, also after a loss
		return 1, fmt.Errorf("lost: %s", reason)
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: holdfast-example URL NAME")
		os.Exit(2)
	}
	status, err := run(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}
