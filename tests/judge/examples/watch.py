#!/usr/bin/env python3
"""watch.py PORT KEY: what a server does with one key, as lines of a history (s1).

For locks that are one key: SET KEY OWNER NX PX MS, and DEL, by the commands or from a
script. The server reports each command by MONITOR, with its own time, so the lines are
in its order. The value of the key is the owner. Needs Python 3 alone; ends by SIGTERM.
"""
import re
import socket
import sys
import time
from urllib.parse import quote

PORT, KEY = int(sys.argv[1]), sys.argv[2]
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b"}


def words_of(line):
    """The words of MONITOR's line: +1700000000.123456 [0 addr] "set" "job" ..."""
    def plain(match):
        text = match.group(1)
        return chr(int(text[1:], 16)) if text[0] == "x" else ESCAPES.get(text, text)
    return [re.sub(r"\\(x[0-9a-f]{2}|.)", plain, word)
            for word in re.findall(r'"((?:[^"\\]|\\.)*)"', line)]


class Key:
    """The key as the commands leave it. until_us is when the server deletes it."""

    def __init__(self):
        self.owner = None
        self.until_us = None

    def write(self, time_us, event, words):
        print(f"{time_us} s1 {event} lock={quote(KEY)} owner={quote(self.owner)} {words}",
              flush=True)

    def expire(self, now_us):
        if self.owner is not None and self.until_us and now_us >= self.until_us:
            self.write(self.until_us, "freed", "why=expired")
            self.owner = None

    def held(self, now_us, by):
        until = self.until_us or "never"
        self.write(now_us, "held", f"count=1 until={until} by={by}")

    def set(self, now_us, value, options):
        if self.owner is not None:
            if "NX" in options:
                return
            self.write(now_us, "freed", "why=deleted")
        self.owner, self.until_us = value, None
        for unit, us in (("PX", 1000), ("EX", 1000000)):
            if unit in options:
                self.until_us = now_us + int(options[options.index(unit) + 1]) * us
        self.held(now_us, "acquire")

    def take(self, now_us, words):
        """One command of the server, after it was executed."""
        name, args = words[0].upper(), words[1:]
        self.expire(now_us)
        if KEY not in args:
            return
        if name == "SET" and args[0] == KEY:
            self.set(now_us, args[1], [word.upper() for word in args[2:]])
        elif self.owner is None:
            return
        elif name in ("DEL", "UNLINK"):
            self.write(now_us, "freed", "why=released")
            self.owner = None
        elif name in ("PEXPIRE", "EXPIRE") and args[0] == KEY:
            self.until_us = now_us + int(args[1]) * (1000 if name == "PEXPIRE" else 1000000)
            self.held(now_us, "renew")


def main():
    key = Key()
    server = socket.create_connection(("127.0.0.1", PORT))
    server.sendall(b"MONITOR\r\n")
    server.settimeout(0.1)
    pending = b""
    while True:
        try:
            received = server.recv(65536)
        except socket.timeout:
            key.expire(time.time_ns() // 1000)
            continue
        if not received:
            return
        *lines, pending = (pending + received).split(b"\r\n")
        for line in lines:
            text = line.decode("latin-1")
            if text[1:2].isdigit() and words_of(text):
                key.take(int(text[1:].split()[0].replace(".", "")), words_of(text))


main()
