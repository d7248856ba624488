#!/usr/bin/python3
"""Writes the history of redis-py's Lock while its holder is suspended for longer
than the lock's timeout. Needs redis-server and python3-redis.

    tests/check/redis_py.py > history.txt; build/judge history.txt

Two processes want one lock of 2 s. The first has it, and is stopped for 3 s, as
by a suspended machine or a long garbage collection; the second gets it meanwhile.
Nothing of redis-py says how long a lock is safe, so its user believes in it until
the release: safe until=never. With --reckon the user reckons by itself: from
before the acquire was sent, less 1 % for clocks that run at different rates.
"""
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import redis
from redis.exceptions import LockError

TIMEOUT_S = 2
RECKONS = "--reckon" in sys.argv[1:]


def now_us():
    return time.monotonic_ns() // 1000


class History:
    """The lines of one process, or of the server as this process hears of it."""

    def __init__(self, source, out):
        self.source = source
        self.out = out

    def line(self, event, **keys):
        words = [str(now_us()), self.source, event]
        words += [f"{key}={value}" for key, value in keys.items()]
        os.write(self.out, (" ".join(words) + "\n").encode())


def client(name, port, out, delay_s, work_s):
    """One acquire, some work, one release: what any client must write at least."""
    history = History(name, out)
    lock = redis.Redis(port=port).lock("job", timeout=TIMEOUT_S)
    what = {"lock": "job", "kind": "plain", "owner": name}
    time.sleep(delay_s)
    asked_us = now_us()
    history.line("ask", call=1, op="acquire", **what, lease=TIMEOUT_S * 1000,
                 due=asked_us + 10_000_000)
    got = lock.acquire(token=name, blocking_timeout=9)
    history.line("end", call=1, status="OK" if got else "TIMEOUT")
    if not got:
        return
    until = asked_us + TIMEOUT_S * 990_000 if RECKONS else "never"
    history.line("safe", **what, until=until)
    time.sleep(work_s)
    history.line("safe", **what, until=0)
    history.line("ask", call=2, op="release", **what, due=now_us() + 5_000_000)
    try:
        lock.release()
        history.line("end", call=2, status="OK")
    except LockError as error:
        history.line("end", call=2, status=type(error).__name__)


def watch(port, out, is_ready):
    """What the server does with the key, by its notifications."""
    history = History("s1", out)
    server = redis.Redis(port=port, decode_responses=True)
    server.config_set("notify-keyspace-events", "Kg$x")
    news = server.pubsub()
    news.subscribe("__keyspace@0__:job")
    owner = None
    while True:
        try:
            message = next(news.listen())
        except redis.ConnectionError:
            return              # it was ended
        is_ready.set()
        what = {"lock": "job", "kind": "plain", "owner": owner}
        if message["data"] == "set":
            owner = what["owner"] = server.get("job")
            history.line("held", **what, count=1, by="acquire",
                         until=now_us() + server.pttl("job") * 1000)
        elif message["data"] in ("del", "expired"):
            why = "released" if message["data"] == "del" else "expired"
            history.line("freed", **what, why=why)


def start_client(*args):
    pid = os.fork()
    if pid == 0:
        client(*args)
        os._exit(0)
    return pid


def play(port, out):
    is_ready = threading.Event()
    first = start_client("c1", port, out, 0.5, 1)
    second = start_client("c2", port, out, 1, 1.5)
    threading.Thread(target=watch, args=(port, out, is_ready),
                     daemon=True).start()
    is_ready.wait()
    time.sleep(1)
    os.kill(first, signal.SIGSTOP)
    History("c1", out).line("stop")
    time.sleep(3)
    History("c1", out).line("go")
    os.kill(first, signal.SIGCONT)
    os.waitpid(first, 0)
    os.waitpid(second, 0)
    time.sleep(0.2)
    History("w", out).line("over")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    port = free_port()
    lines, out = os.pipe()
    server = subprocess.Popen(
        ["redis-server", "--port", str(port), "--save", "", "--loglevel", "warning"],
        stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                redis.Redis(port=port).ping()
                break
            except redis.ConnectionError:
                time.sleep(0.01)
        play(port, out)
    finally:
        server.terminate()
        server.wait()
    os.close(out)
    print("# holdfast history 1\n# slack_ms 20\n# judge 127")
    with os.fdopen(lines) as history:
        print("".join(sorted(history, key=lambda line: int(line.split()[0]))),
              end="")


main()
