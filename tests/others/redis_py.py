#!/usr/bin/env python3
"""redis_py.py PORT: redis-py's Lock, told what to do. run.sh has the language."""
import sys
import time

import redis
from redis.exceptions import LockError

server = redis.Redis(port=int(sys.argv[1]), decode_responses=True)
held = {}


def acquire(name, lease_ms=30000, wait_s=60):
    lock = server.lock(name, timeout=int(lease_ms) / 1000)
    if not lock.acquire(blocking=wait_s > 0, blocking_timeout=wait_s or None):
        return False
    held[name] = lock
    return True


def release(name):
    try:
        held.pop(name).release()
        return "ok"
    except LockError:
        return "refused"


def count(name, key, times):
    for _ in range(int(times)):
        acquire(name)
        seen = int(server.get(key) or 0)
        time.sleep(0.001)
        server.set(key, seen + 1)
        release(name)
    return "ok"


verbs = {
    "try": lambda name: "true" if acquire(name, wait_s=0) else "false",
    "acquire": lambda *args: "ok" if acquire(*args) else "timeout",
    "release": release,
    "count": count,
}

print("ready", flush=True)
for line in sys.stdin:
    thread, verb, *args = line.split()
    print(thread, verbs[verb](*args), flush=True)
