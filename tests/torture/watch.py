"""What a server did with the locks: MONITOR's lines become `held` and `freed`.

MONITOR shows each command with the server's own time, and the commands of scripts.
A lock is a string (SET NX PX) or a hash of owners (Redisson, holdfast).
"""
import asyncio
import re
import time

from place import ask

WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
LINE = re.compile(r"^\+?(\d+)\.(\d{6}) \[\d+ (\S+)\] ")
BATCH_US = 5000         # the commands of one script are not further apart


def now_us():
    return time.time_ns() // 1000


class Lock:
    """One lock on one server."""

    def __init__(self):
        self.is_rw = False
        self.fields = {}        # "" for a string: its value is the owner
        self.until = 0
        self.fresh = {}         # set, and their TTL not yet: when
        self.shrunk = 0         # when a field was removed last


class Watch:
    """Follows one server. `lines`: (time, lock, text without time), in order."""

    def __init__(self, server, names):
        self.server = server
        self.locks = {name: Lock() for name in names}
        self.records = []       # (time, command), of the locks alone
        self.lines = []
        self.owners = []        # (prefix, lock name, source)
        self.step_us = 0        # the clock's step, and when it stepped
        self.master_port = 0    # of a replica
        self.first_us = 0       # when it first executed a command of a client
        self.gap_us = 0         # when the connection was lost; 0: it never was
        self.task = None
        self.ready = asyncio.Event()

    # -- the connection --

    async def start(self):
        self.ready.clear()
        self.gap_us = 0
        self.task = asyncio.ensure_future(self.run())
        await asyncio.wait_for(self.ready.wait(), 10)

    async def run(self):
        """Sentinels close every connection to a replica that becomes a master: this one
        comes back at once, before any client has heard of the new master."""
        try:
            while True:
                await self.follow()
        except OSError:
            pass                # the server was killed

    async def follow(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port,
                                                       limit=1 << 20)
        try:
            writer.write(b"MONITOR\r\n")
            await reader.readline()
            if self.gap_us:
                await self.catch_up()
            self.ready.set()
            while line := await reader.readline():
                self.read(line.decode(errors="replace"))
            self.gap_us = now_us()
        finally:
            writer.close()

    async def catch_up(self):
        """What was granted while we were not connected."""
        us = self.gap_us
        for name in self.locks:
            kind = await ask(self.server.port, "TYPE", name)
            until_ms = str(now_us() // 1000 + int(await ask(self.server.port, "PTTL", name)))
            if kind == "string":
                value = await ask(self.server.port, "GET", name)
                self.note(us, "set", name, value, "NX", "PXAT", until_ms)
            elif kind == "hash":
                fields = await ask(self.server.port, "HGETALL", name)
                self.note(us, "seen", name, until_ms, *fields)

    async def stop(self):
        """After all that the server has sent."""
        if self.task:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        self.task = None

    # -- lines --

    def read(self, line):
        at = LINE.match(line)
        if not at:
            return
        words = WORD.findall(line[at.end():])
        if len(words) < 2 or words[1] not in self.locks:
            return
        us = int(at[1]) * 1000000 + int(at[2])
        if self.step_us and abs(us - self.step_us - now_us()) < abs(us - now_us()):
            us -= self.step_us
        if not self.first_us and not at[3].endswith(f":{self.master_port}"):
            self.first_us = us
        self.note(us, words[0].lower(), *words[1:])

    def note(self, us, *words):
        self.records.append((us, words))

    def play(self, until_us):
        """Takes in what was noted up to then, in the order of the server's time."""
        self.records.sort(key=lambda record: record[0])
        while self.records and self.records[0][0] <= until_us:
            us, (verb, *words) = self.records.pop(0)
            action = getattr(self, "on_" + verb, None)
            if verb in ("forget", "step"):
                action(us, *words)
            elif action:
                self.expire(us, words[0])
                action(us, words[0], self.locks[words[0]], words[1:])

    def say(self, us, name, text):
        self.lines.append((us, name, text))

    def expire(self, us, name):
        lock = self.locks[name]
        if lock.fields and lock.until <= us:
            self.free_all(lock.until, name, lock, "expired")

    def free_all(self, us, name, lock, why):
        for field in list(lock.fields):
            self.free(us, name, lock, field, why)

    def free(self, us, name, lock, field, why):
        if field in lock.fields:
            owner = lock.fields.pop(field)[0]
            lock.fresh.pop(field, None)
            self.say(us, name, f"freed lock={name} {owner} why={why}")

    def hold(self, us, name, lock, field, by):
        owner, count = lock.fields[field]
        self.say(us, name, f"held lock={name} {owner} count={count} "
                           f"until={lock.until} by={by}")

    def owner(self, name, text):
        for prefix, lock, source in self.owners:
            if lock == name and text.startswith(prefix):
                return source
        return "unknown:" + text[:40]

    def owner_words(self, name, lock_field, is_rw):
        kind = "plain" if not is_rw else \
            "write" if lock_field.endswith(":write") else "read"
        text = f"kind={kind} owner=\x01{lock_field}\x02"
        return text + f" hold={lock_field}" if name.startswith("holdfast") else text

    def resolve(self, name, text):
        """Owners' names are known when the run is over."""
        return re.sub("\x01([^\x02]*)\x02", lambda m: self.owner(name, m[1]), text)

    # -- commands --

    def on_set(self, us, name, lock, args):
        options = [word.upper() for word in args[1:]]
        if "NX" in options and lock.fields:
            return
        self.free_all(us, name, lock, "released")
        lock.until = us + 10**15
        for word, factor, base in (("PX", 1000, us), ("EX", 10**6, us), ("PXAT", 1000, 0)):
            if word in options:
                number = int(options[options.index(word) + 1]) * factor
                lock.until = base + number
        lock.fields[""] = (self.owner_words(name, args[0], False), 1)
        self.hold(us, name, lock, "", "acquire")

    def on_del(self, us, name, lock, args):
        self.free_all(us, name, lock, "released")

    on_unlink = on_del

    def on_hset(self, us, name, lock, args):
        for field, value in zip(args[::2], args[1::2]):
            if field == "mode":
                lock.is_rw = True
            elif value.isdigit():
                self.count(us, name, lock, field, int(value))

    def on_hincrby(self, us, name, lock, args):
        old = lock.fields.get(args[0], ("", 0))[1]
        self.count(us, name, lock, args[0], old + int(args[1]))

    def count(self, us, name, lock, field, count):
        old = lock.fields.get(field, ("", 0))[1]
        if count <= 0:
            lock.shrunk = us
            self.free(us, name, lock, field, "released")
            return
        lock.fields[field] = (self.owner_words(name, field, lock.is_rw),
                              count)
        if count > old:
            lock.fresh[field] = us
            if len(lock.fields) == 1:
                lock.until = us + 10**15
            else:               # a reader whose lease is no longer sets no TTL
                self.hold(us, name, lock, field, "acquire")

    def on_hdel(self, us, name, lock, args):
        for field in args:
            lock.shrunk = us
            self.free(us, name, lock, field, "released")

    def on_pexpire(self, us, name, lock, args):
        self.set_until(us, name, lock, us + int(args[0]) * 1000)

    def on_pexpireat(self, us, name, lock, args):
        self.set_until(us, name, lock, int(args[0]) * 1000)

    def set_until(self, us, name, lock, until):
        lock.until = until
        is_shorter = us - lock.shrunk < BATCH_US
        for field in lock.fields:
            by = "acquire" if field in lock.fresh else \
                "other" if lock.fresh or is_shorter else "renew"
            self.hold(us, name, lock, field, by)
        lock.fresh = {}

    def on_seen(self, us, name, lock, args):
        if not lock.fields:
            self.on_hset(us, name, lock, args[1:])
            self.set_until(us, name, lock, int(args[0]) * 1000)

    # -- faults --

    def on_forget(self, us):
        for name, lock in self.locks.items():
            self.expire(us, name)
            self.free_all(us, name, lock, "forgot")

    def step(self, us, step_us):
        self.step_us = step_us
        self.note(us, "step")

    def on_step(self, us):
        for name, lock in self.locks.items():
            self.expire(us, name)
            lock.until -= self.step_us
            self.expire_by_step(us, name, lock)

    def expire_by_step(self, us, name, lock):
        if lock.fields and lock.until <= us:
            self.free_all(us, name, lock, "expired")
        for field in lock.fields:
            self.hold(us, name, lock, field, "other")

    def finish(self, us):
        self.play(us)
        for name in self.locks:
            self.expire(us, name)


def follow(old, new, us):
    """The new master decides from `us` on: what it lacks was forgotten."""
    old.play(us)
    new.play(us)
    for name, lock in old.locks.items():
        old.expire(us, name)
        new.expire(us, name)
        known = {words for words, _ in new.locks[name].fields.values()}
        for field, (words, _) in list(lock.fields.items()):
            if words not in known:
                old.free(us, name, lock, field, "forgot")
        stale = {words for words, _ in lock.fields.values()}
        for field, (words, _) in new.locks[name].fields.items():
            if words not in stale:
                new.hold(us, name, new.locks[name], field, "replication")
        lock.fields = {}
