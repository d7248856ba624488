#!/usr/bin/env python3
"""The torture's clients in Python: redis-py's Lock, and a naive SET NX and DEL.

The protocol of all clients of the torture is in README.md beside this file.
"""
import os
import random
import socket
import sys
import threading
import time
import uuid

STEP_S = 0.01           # how often a holder looks at the time
REQUEST_S = 1           # timeout of a request
DUE_S = 4               # by when after its wait a call must have ended
RETURN_MARGIN = 0.9     # the part of a lease that counts from the acquire's return


def now_us():
    return time.time_ns() // 1000


def say(line):
    os.write(1, (line + "\n").encode())


class Naive:
    """SET NX PX to acquire, DEL to release, over a socket."""

    def __init__(self, name, urls, lease_ms, source):
        self.name = name
        self.url = urls[0]
        self.lease_ms = lease_ms
        self.source = source
        self.file = None

    def address(self):
        """The port in the URL; or of the master that the sentinels name."""
        if not self.url.startswith("sentinel:"):
            return int(self.url)
        for port in self.url.split(":")[1].split(","):
            try:
                reply = request(dial(int(port)), "SENTINEL", "GET-MASTER-ADDR-BY-NAME",
                                "mymaster")
                return int(reply[1])
            except OSError:
                pass
        raise OSError("no sentinel")

    def send(self, *words):
        try:
            if self.file is None:
                self.file = dial(self.address())
            return request(self.file, *words)
        except OSError:
            self.close()
            raise

    def acquire(self, wait_s):
        end = time.monotonic() + wait_s
        while True:
            value = f"{self.source}:{uuid.uuid4().hex}"
            began = now_us()
            if self.send("SET", self.name, value, "NX", "PX", str(self.lease_ms)) == "OK":
                return began + self.lease_ms * 1000
            if time.monotonic() >= end:
                return None
            time.sleep(0.05)

    def release(self):
        self.send("DEL", self.name)

    def close(self):
        if self.file:
            self.file.close()
        self.file = None


def dial(port):
    s = socket.create_connection(("127.0.0.1", port), REQUEST_S)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with s:
        return s.makefile("rwb", 0)


def request(file, *words):
    text = b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in map(str.encode, words))
    file.write(b"*%d\r\n" % len(words) + text)
    return read_reply(file)


def read_line(file):
    """Byte by byte: nothing is buffered, and replies are short."""
    line = b""
    while not line.endswith(b"\r\n"):
        byte = file.read(1)
        if not byte:
            raise OSError("closed")
        line += byte
    return line[:-2].decode()


def read_reply(file):
    line = read_line(file)
    if line[0] == "-":
        raise OSError(line)
    if line[0] == "$":
        return None if line == "$-1" else read_line(file)
    if line[0] == "*":
        return [read_reply(file) for _ in range(int(line[1:]))]
    return line[1:]


class RedisPy:
    """redis.Redis.lock with a timeout."""

    def __init__(self, name, urls, lease_ms, source):
        import redis
        import redis.sentinel
        options = {"socket_timeout": REQUEST_S, "socket_connect_timeout": REQUEST_S}
        if urls[0].startswith("sentinel:"):
            ports = urls[0].split(":")[1].split(",")
            self.client = redis.sentinel.Sentinel(
                [("127.0.0.1", int(port)) for port in ports],
                **options).master_for("mymaster", **options)
        else:
            self.client = redis.Redis(port=int(urls[0]), **options)
        self.source = source
        self.lease_ms = lease_ms
        self.lock = self.client.lock(name, timeout=lease_ms / 1000)

    def acquire(self, wait_s):
        token = f"{self.source}:{uuid.uuid4().hex}"
        if not self.lock.acquire(blocking_timeout=wait_s, token=token):
            return None
        return now_us() + int(self.lease_ms * 1000 * RETURN_MARGIN)

    def release(self):
        self.lock.release()

    def close(self):
        self.client.close()


KINDS = {"naive": Naive, "redis-py": RedisPy}
stopping = threading.Event()


class Row(threading.Thread):
    """One row of the table: acquires, holds and releases until it must stop."""

    def __init__(self, name, kind, source, seed, lease_ms, wait_ms, *urls):
        super().__init__(daemon=True)
        self.row = name
        self.source = source
        self.dice = random.Random(int(seed))
        self.lease_ms = int(lease_ms)
        self.wait_ms = int(wait_ms)
        self.client = KINDS[kind](name, urls, self.lease_ms, source)
        self.calls = 0

    def say(self, event):
        say(f"{self.row} {now_us()} {self.source} {event}")

    def call(self, op, action, wait_ms=0):
        """Writes the lines of one call; returns its result, or None if it failed."""
        self.calls += 1
        due = now_us() + wait_ms * 1000 + DUE_S * 1000000
        extra = f" lease={self.lease_ms} wait={wait_ms}" if op == "acquire" else ""
        self.say(f"ask call={self.calls} op={op} lock={self.row} kind=plain "
                 f"owner={self.source}{extra} due={due}")
        try:
            result = action()
            status = "TIMEOUT" if op == "acquire" and result is None else "OK"
        except Exception as error:  # pylint: disable=broad-except
            result, status = None, type(error).__name__
        self.say(f"end call={self.calls} status={status}")
        return result

    def believe(self, until):
        self.say(f"safe lock={self.row} kind=plain owner={self.source} until={until}")

    def hold(self, until):
        self.believe(until)
        end = min(until, now_us() + draw_hold_us(self.dice, self.lease_ms))
        while now_us() < end:
            time.sleep(STEP_S)
        self.believe(0)
        self.call("release", self.client.release)

    def run(self):
        while not stopping.is_set():
            until = self.call("acquire", lambda: self.client.acquire(self.wait_ms / 1000),
                              self.wait_ms)
            if until is not None:
                self.hold(until)
            time.sleep(0.005 + self.dice.random() * 0.05)


def draw_hold_us(dice, lease_ms):
    """Three of four holds are short, one lasts up to 1.5 leases."""
    most = lease_ms * 1500 if dice.random() < 0.25 else 300000
    return 20000 + int(dice.random() * most)


def main():
    rows = []
    for line in sys.stdin:
        verb, *args = line.split()
        if verb == "run":
            stopping.clear()
            rows.append(Row(*args))
            say(f"{rows[-1].row} own {args[2]}: {args[2]}")
            rows[-1].start()
            say(f"{rows[-1].row} ready")
        elif verb == "stop":
            stopping.set()
            for row in rows:
                row.join()
            say("- idle")
        elif verb == "close":
            for row in rows:
                row.client.close()
            rows = []
            say("- done")


main()
