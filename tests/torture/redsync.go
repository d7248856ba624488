// The torture's client in Go: redsync with one server or several. The protocol is in
// README.md beside this file.
package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const (
	step    = 10 * time.Millisecond
	timeout = time.Second
	dueUs   = 4000000
	// Of one try: 0.4 s, as with redsync's default lease of 8 s.
	timeoutFactor = 0.33
)

var stopping atomic.Bool
var values atomic.Int64

// Of attempts at a server that is down.
type silence struct{}

func (silence) Printf(context.Context, string, ...interface{}) {}

func nowUs() int64 { return time.Now().UnixMicro() }

func say(format string, args ...interface{}) {
	os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n")
}

func connect(url string) *redis.Client {
	if !strings.HasPrefix(url, "sentinel:") {
		return redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + url,
			DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout})
	}
	var addresses []string
	for _, port := range strings.Split(url[len("sentinel:"):], ",") {
		addresses = append(addresses, "127.0.0.1:"+port)
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster",
		SentinelAddrs: addresses, DialTimeout: timeout, ReadTimeout: timeout,
		WriteTimeout: timeout})
}

type row struct {
	name, source string
	dice         *rand.Rand
	lease, wait  time.Duration
	clients      []*redis.Client
	locks        *redsync.Redsync
	calls        int
}

func newRow(args []string) *row {
	seed, _ := strconv.ParseInt(args[3], 10, 64)
	lease, _ := strconv.Atoi(args[4])
	wait, _ := strconv.Atoi(args[5])
	r := &row{name: args[0], source: args[2], dice: rand.New(rand.NewSource(seed)),
		lease: time.Duration(lease) * time.Millisecond,
		wait:  time.Duration(wait) * time.Millisecond}
	var pools []redsyncredis.Pool
	for _, url := range args[6:] {
		r.clients = append(r.clients, connect(url))
		pools = append(pools, pool.NewPool(r.clients[len(r.clients)-1]))
	}
	r.locks = redsync.New(pools...)
	return r
}

func (r *row) say(format string, args ...interface{}) {
	say("%s %d %s %s", r.name, nowUs(), r.source, fmt.Sprintf(format, args...))
}

func (r *row) call(op string, wait time.Duration, action func() error) error {
	extra := ""
	if op == "acquire" {
		extra = fmt.Sprintf(" lease=%d wait=%d", r.lease.Milliseconds(),
			r.wait.Milliseconds())
	}
	r.calls++
	r.say("ask call=%d op=%s lock=%s kind=plain owner=%s%s due=%d", r.calls, op,
		r.name, r.source, extra, nowUs()+wait.Microseconds()+dueUs)
	err := action()
	status := "OK"
	if err != nil {
		status = "ERROR"
	}
	r.say("end call=%d status=%s", r.calls, status)
	return err
}

func (r *row) believe(until int64) {
	r.say("safe lock=%s kind=plain owner=%s until=%d", r.name, r.source, until)
}

func (r *row) hold(mutex *redsync.Mutex) {
	until := mutex.Until().UnixMicro()
	most := 300000.0
	if r.dice.Float64() < 0.25 {
		most = 1500 * float64(r.lease.Milliseconds())
	}
	end := nowUs() + 20000 + int64(r.dice.Float64()*most)
	r.believe(until)
	for nowUs() < end && nowUs() < until {
		time.Sleep(step)
	}
	r.believe(0)
	r.call("release", 0, func() error {
		ok, err := mutex.Unlock()
		if err == nil && !ok {
			return redsync.ErrFailed
		}
		return err
	})
}

func (r *row) turn() {
	mutex := r.locks.NewMutex(r.name, redsync.WithExpiry(r.lease),
		redsync.WithTries(1000), redsync.WithTimeoutFactor(timeoutFactor),
		redsync.WithGenValueFunc(func() (string, error) {
			return fmt.Sprintf("%s:%d:%d", r.source, os.Getpid(), values.Add(1)), nil
		}))
	err := r.call("acquire", r.wait, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), r.wait)
		defer cancel()
		return mutex.LockContext(ctx)
	})
	if err == nil {
		r.hold(mutex)
	}
	time.Sleep(5*time.Millisecond + time.Duration(r.dice.Float64()*50)*time.Millisecond)
}

func (r *row) run(all *sync.WaitGroup) {
	defer all.Done()
	for !stopping.Load() {
		r.turn()
	}
}

func main() {
	var rows []*row
	var all sync.WaitGroup

	redis.SetLogger(silence{})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "run":
			stopping.Store(false)
			r := newRow(words[1:])
			rows = append(rows, r)
			say("%s own %s: %s", r.name, r.source, r.source)
			all.Add(1)
			go r.run(&all)
			say("%s ready", r.name)
		case "stop":
			stopping.Store(true)
			all.Wait()
			say("- idle")
		case "close":
			for _, r := range rows {
				for _, client := range r.clients {
					client.Close()
				}
			}
			rows = nil
			say("- done")
		}
	}
}
