#!/usr/bin/env python3
"""redis_py.py [--reckon] [--careless] NUMBER PORT SECONDS: redis-py's Lock, for 2 s.

Writes its lines of the history to standard output. redis-py does not report how long a
lock is safe, so its user believes in it until the release. With --reckon the user
reckons: from before the acquire was sent, less 1 % for clocks of different rates. With
--careless the release deletes the key of any client. Needs the package redis.
"""
import sys
import time

import redis
from redis.exceptions import LockError
from redis.lock import Lock

TIMEOUT_S = 2
NUMBER, PORT, WORK_S = [word for word in sys.argv[1:] if word[:2] != "--"]
NAME = "c" + NUMBER
IS_CARELESS, RECKONS = "--careless" in sys.argv, "--reckon" in sys.argv


class Careless(Lock):
    def do_release(self, expected_token):
        self.redis.delete(self.name)


def now_us():
    return time.time_ns() // 1000


def line(event, **keys):
    words = [f"{key}={value}" for key, value in keys.items()]
    print(now_us(), NAME, event, *words, flush=True)


def main():
    client = redis.Redis(port=int(PORT))
    kind = Careless if IS_CARELESS else Lock
    lock = kind(client, "job", timeout=TIMEOUT_S, sleep=0.05, thread_local=False)
    what = {"lock": "job", "owner": NAME}

    asked_us = now_us()
    line("ask", call=1, op="acquire", **what)
    lock.acquire(token=NAME)
    line("end", call=1, status="OK")
    line("safe", **what, until=asked_us + TIMEOUT_S * 990_000 if RECKONS else "never")
    time.sleep(float(WORK_S))
    line("safe", **what, until=0)
    line("ask", call=2, op="release", **what)
    try:
        lock.release()
        line("end", call=2, status="OK")
    except LockError as error:
        line("end", call=2, status=type(error).__name__)


main()
