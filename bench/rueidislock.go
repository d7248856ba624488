// rueidislock PORT: the lock of rueidis (Go) in the cases of bench_push, which starts it. For each
// line CASE COUNT of the input it prints one line: the count, then p50, p99 and the maximum in ms.
// In the case contended, COUNT is the duration in ms, and the line has the pairs a second. A waiter
// that nothing has woken after 10 s counts as 10 s, and the line says how many there were.
//
// One key for each lock (KeyMajority 1), as a lock of holdfast, and NOLOOP, which its documentation
// recommends. DEL comes from a plain connection of its own.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"math/rand"
	"net"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const (
	many   = 10000
	ttl    = 200 * time.Millisecond
	limit  = 10 * time.Second
	waited = "bench-wait"
)

var (
	background = context.Background()
	control    net.Conn
	replies    *bufio.Reader
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// command sends a command without spaces in its arguments and waits for its reply, one line.
func command(format string, arguments ...any) {
	must(fmt.Fprintf(control, format+"\r\n", arguments...))
	if reply := must(replies.ReadString('\n')); reply[0] == '-' {
		log.Fatalf(format+": %s", append(arguments, reply)...)
	}
}

// key is the name of the only key of a lock.
func key(name string) string { return "rueidislock:0:" + name }

func locker() rueidislock.Locker {
	return must(rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{"127.0.0.1:" + os.Args[1]}},
		KeyMajority:    1,
		KeyValidity:    30 * time.Second,
		ExtendInterval: 10 * time.Second,
		NoLoopTracking: true,
	}))
}

func acquire(l rueidislock.Locker, name string) (context.Context, context.CancelFunc) {
	ctx, release, err := l.WithContext(background, name)
	must(ctx, err)
	return ctx, release
}

// lose deletes the key of a held lock and waits for the end of its context.
func lose(ctx context.Context, name string) time.Duration {
	began := time.Now()
	command("DEL %s", key(name))
	<-ctx.Done()
	return time.Since(began)
}

// one: a single hold, acquired anew for each loss, is lost when it is older than a second.
func one(count int) (times []time.Duration) {
	l := locker()
	defer l.Close()
	for i := 0; i < count; i++ {
		ctx, release := acquire(l, "bench-push-0")
		time.Sleep(1100 * time.Millisecond)
		times = append(times, lose(ctx, "bench-push-0"))
		release()
	}
	return times
}

// severalOfMany: of 10,000 holds one at a time is lost.
func severalOfMany(count int) (times []time.Duration) {
	var contexts []context.Context
	l := locker()
	name := func(i int) string { return fmt.Sprintf("bench-push-%d", i) }

	for i := 0; i < many; i++ {
		ctx, _ := acquire(l, name(i))
		contexts = append(contexts, ctx)
	}
	time.Sleep(1100 * time.Millisecond)
	for i := 0; i < count; i++ {
		times = append(times, lose(contexts[i], name(i)))
	}
	l.Close()
	command("FLUSHALL")
	return times
}

// beginToWait returns when the waiter sleeps. The channel has the time of the grant, or of the end
// of the limit, and is closed after the release.
func beginToWait(l rueidislock.Locker) <-chan time.Time {
	ended := make(chan time.Time, 1)
	go func() {
		ctx, cancel := context.WithTimeout(background, limit)
		defer cancel()
		_, release, err := l.WithContext(ctx, waited)
		ended <- time.Now()
		if err == nil {
			release()
		}
		close(ended)
	}()
	time.Sleep(time.Duration(10+rand.Intn(5)) * time.Millisecond)
	return ended
}

// since is the time until the waiter had ended, at most the limit.
func since(began time.Time, ended <-chan time.Time) time.Duration {
	at := <-ended
	<-ended
	return min(at.Sub(began), limit)
}

func byDel(l, _ rueidislock.Locker) time.Duration {
	command("SET %s another PX 60000", key(waited))
	ended := beginToWait(l)
	began := time.Now()
	command("DEL %s", key(waited))
	return since(began, ended)
}

func byExpiry(l, _ rueidislock.Locker) time.Duration {
	end := time.Now().Add(ttl).Truncate(time.Millisecond)
	command("SET %s another PXAT %d", key(waited), end.UnixMilli())
	return since(end, beginToWait(l))
}

func byRelease(l, other rueidislock.Locker) time.Duration {
	_, release := acquire(other, waited)
	ended := beginToWait(l)
	began := time.Now()
	release()
	return since(began, ended)
}

func waits(handOver func(l, other rueidislock.Locker) time.Duration, count int) []time.Duration {
	var times []time.Duration

	l, other := locker(), locker()
	defer l.Close()
	defer other.Close()
	for i := 0; i < count; i++ {
		times = append(times, handOver(l, other))
	}
	return times
}

// contended: two clients with two goroutines each; the pairs a second.
func contended(ms int) int64 {
	var pairs atomic.Int64
	var over atomic.Bool
	var all sync.WaitGroup

	for c := 0; c < 2; c++ {
		l := locker()
		defer l.Close()
		for g := 0; g < 2; g++ {
			all.Add(1)
			go func() {
				defer all.Done()
				for !over.Load() {
					ctx, cancel := context.WithTimeout(background, limit)
					if _, release, err := l.WithContext(ctx, waited); err == nil {
						release()
						pairs.Add(1)
					}
					cancel()
				}
			}()
		}
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	over.Store(true)
	all.Wait()
	return pairs.Load() * 1000 / int64(ms)
}

func print(times []time.Duration) {
	sort.Slice(times, func(a, b int) bool { return times[a] < times[b] })
	ms := func(i int) float64 { return float64(times[i].Nanoseconds()) / 1e6 }
	count := len(times)
	asleep := count - sort.Search(count, func(i int) bool { return times[i] >= limit-time.Second })
	fmt.Printf("%6d %10.3f %10.3f %10.3f", count, ms(count/2), ms((count*99-1)/100), ms(count-1))
	if asleep > 0 {
		fmt.Printf("  not woken: %d", asleep)
	}
	fmt.Println()
}

func main() {
	var what string
	var count int

	control = must(net.Dial("tcp", "127.0.0.1:"+os.Args[1]))
	replies = bufio.NewReader(control)
	for {
		if _, err := fmt.Scan(&what, &count); err != nil {
			return
		}
		switch what {
		case "one":
			print(one(count))
		case "many":
			print(severalOfMany(count))
		case "del":
			print(waits(byDel, count))
		case "expiry":
			print(waits(byExpiry, count))
		case "release":
			print(waits(byRelease, count))
		case "contended":
			fmt.Printf("%25d pairs a second\n", contended(count))
		default:
			log.Fatal("no such case: ", what)
		}
	}
}
