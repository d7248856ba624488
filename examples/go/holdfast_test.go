package main

import (
	"context"
	"os"
	"testing"
	"time"
)

func connect(t *testing.T) *Client {
	url := os.Getenv("HOLDFAST_TEST_URL")
	if url == "" {
		t.Skip("HOLDFAST_TEST_URL is not set")
	}
	client, err := NewClient(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func expectHandles(t *testing.T, client *Client, count int) {
	t.Helper()
	if len(client.handles) != count {
		t.Fatalf("%d handles, not %d", len(client.handles), count)
	}
}

// A program that acquires for a year keeps no more memory than one that begins.
func TestHandlesEndWithTheirHolds(t *testing.T) {
	client := connect(t)

	for i := 0; i < 100; i++ {
		hold, err := client.Acquire(context.Background(), "handles")
		if err != nil {
			t.Fatal(err)
		}
		expectHandles(t, client, 1)
		if err := hold.Release(); err != nil {
			t.Fatal(err)
		}
		expectHandles(t, client, 0)
	}
}

func TestAnAcquireThatFailsKeepsNoHandle(t *testing.T) {
	client := connect(t)
	hold, err := client.Acquire(context.Background(), "busy")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()

	if _, err := client.Acquire(ctx, "busy"); err == nil {
		t.Fatal("two owners hold the lock")
	}
	expectHandles(t, client, 1)
	if err := hold.Release(); err != nil {
		t.Fatal(err)
	}
	expectHandles(t, client, 0)
}
