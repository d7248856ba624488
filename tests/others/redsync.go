// redsync PORT...: redsync with one server or several, told what to do. run.sh has
// the language.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	pool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// Of attempts at a server that is down.
type silence struct{}

func (silence) Printf(context.Context, string, ...interface{}) {}

func client(port string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})
}

func pools() []redsyncredis.Pool {
	var all []redsyncredis.Pool

	for _, port := range os.Args[1:] {
		all = append(all, pool.NewPool(client(port)))
	}
	return all
}

var server = client(os.Args[1])
var locks = redsync.New(pools()...)
var held = map[string]*redsync.Mutex{}

func acquire(name string, lease time.Duration, tries int) bool {
	mutex := locks.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(tries),
		redsync.WithRetryDelay(100*time.Millisecond))
	if mutex.Lock() != nil {
		return false
	}
	held[name] = mutex
	return true
}

func release(name string) string {
	ok, err := held[name].Unlock()
	delete(held, name)
	if ok && err == nil {
		return "ok"
	}
	return "refused"
}

func count(name, key string, times int) string {
	for i := 0; i < times; i++ {
		acquire(name, 30*time.Second, 600)
		seen, _ := server.Get(context.Background(), key).Int()
		time.Sleep(time.Millisecond)
		server.Set(context.Background(), key, seen+1, 0)
		release(name)
	}
	return "ok"
}

func answer(verb string, args []string) string {
	switch verb {
	case "try":
		return fmt.Sprint(acquire(args[0], 30*time.Second, 1))
	case "acquire":
		lease := 30000
		if len(args) > 1 {
			lease, _ = strconv.Atoi(args[1])
		}
		if acquire(args[0], time.Duration(lease)*time.Millisecond, 600) {
			return "ok"
		}
		return "timeout"
	case "release":
		return release(args[0])
	case "count":
		times, _ := strconv.Atoi(args[2])
		return count(args[0], args[1], times)
	}
	return "unknown"
}

func main() {
	redis.SetLogger(silence{})
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		fmt.Println(words[0], answer(words[1], words[2:]))
	}
}
