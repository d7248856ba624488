// redsync [--ignore-until] NUMBER PORT SECONDS: redsync's Mutex on one server, for 2 s.
// Writes its lines of the history to standard output. redsync reports by Until() how
// long the lock is safe; with --ignore-until the user does not look at that.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var ignores = os.Args[1] == "--ignore-until"
var args = os.Args[len(os.Args)-3:]
var name = "c" + args[0]

func line(words string) {
	fmt.Println(time.Now().UnixMicro(), name, words)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func until(mutex *redsync.Mutex) string {
	if ignores {
		return "never"
	}
	return fmt.Sprint(mutex.Until().UnixMicro())
}

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + args[1]})
	work, err := strconv.ParseFloat(args[2], 64)
	must(err)
	mutex := redsync.New(pool.NewPool(client)).NewMutex("job",
		redsync.WithExpiry(2*time.Second), redsync.WithTries(1000),
		redsync.WithRetryDelay(50*time.Millisecond),
		redsync.WithGenValueFunc(func() (string, error) { return name, nil }))

	line("ask call=1 op=acquire lock=job owner=" + name)
	must(mutex.Lock())
	line("end call=1 status=OK")
	line("safe lock=job owner=" + name + " until=" + until(mutex))
	time.Sleep(time.Duration(work * float64(time.Second)))
	line("safe lock=job owner=" + name + " until=0")
	line("ask call=2 op=release lock=job owner=" + name)
	if ok, err := mutex.Unlock(); !ok || err != nil {
		line("end call=2 status=REFUSED")
		return
	}
	line("end call=2 status=OK")
}
