#!/usr/bin/env python3
"""Runs lock clients under real faults, and lets the judge decide (docs/torture.md).

    torture.py BUILD [--runs N] [--faults A,B] [--rows A,B] [--jobs N] [--seed N]
    torture.py BUILD --fault FAULT --seed N --rows ROW --keep FOLDER
    torture.py BUILD --self-test

The second form repeats one run: the choices of its seed, not its exact times. The third
stops a naive client and ours while they hold the lock, for two seconds in all.
A run starts servers, two processes of each client (c1 and c2) that want the same lock,
makes one fault at a random moment, and judges one history for each row of the table.
Results are appended to BUILD/torture/results.tsv; runs that are there are not repeated.
"""
import argparse
import asyncio
import concurrent.futures
import os
import random
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from place import WITH_PARENT, Place, ask        # noqa: E402
from watch import Watch, follow, now_us         # noqa: E402
import verdict                                  # noqa: E402

LEASE_MS = 1200
SHORT_LEASE_MS = 300    # of the self-test
LATE_JUDGED = "67"      # of failover-late: nothing that assumes that the grant was kept
LONG_LEASE_MS = 4000    # of failover-late: longer than the failover takes
WAIT_MS = 3000
TRIES = 3               # of a run that failed
START_S = 8             # between the first runs: virtual machines are slow to start
LAG_US = 300000         # a run in which the driver was starved for so long is repeated
HELD_TRIES = 5000       # of the self-test, each 2 ms: a client must be granted the lock by then
IDLE_S = 20             # a call that has not ended by then is left alone
FAULTS = ("none", "client-killed", "client-stopped", "server-restarted",
          "server-emptied", "server-frozen", "cut-before", "cut-after", "swallowed",
          "clock-step", "failover", "failover-late")


# The place of a dead waiter in the queue of a fair lock is honoured for 5 s, as
# Redisson's documentation says.
FAIR_MS = 5000 + verdict.FREE_MS


class Row:
    """A row of the table: a client and a kind of its lock."""

    def __init__(self, name, program, kind, servers, judged, free_ms=verdict.FREE_MS):
        # What no documentation promises of a lock on several servers: that it survives
        # when one of them comes back at once without its data, or sets its clock.
        self.excuses = ("server-emptied", "clock-step") if servers > 1 else ()
        self.free_ms = free_ms  # the longest wait for a free lock (P5)
        self.name = name
        self.program = program
        self.kind = kind
        self.servers = servers
        self.judged = judged    # properties, as digits: 0 is P10


# Judged beside P1: P4 of what is renewed, P10 where the client says until when its lock
# is safe, P2 where it promises to report a loss. Of several servers: what clients wrote
# alone.
ROWS = (
    Row("naive", "python", "naive", 1, "156790"),
    Row("redis-py", "python", "redis-py", 1, "15679"),
    Row("redsync", "redsync", "redsync", 1, "156790"),
    Row("node-redlock", "node", "redlock", 1, "156790"),
    Row("redisson-lock", "redisson", "watchdog", 1, "145679"),
    Row("redisson-lease", "redisson", "lease", 1, "15679"),
    Row("redisson-fair", "redisson", "fair", 1, "15679", FAIR_MS),
    Row("redisson-rw", "redisson", "rw", 1, "145679"),
    Row("holdfast-lock", "holdfast", "lock", 1, "12456790"),
    Row("holdfast-lease", "holdfast", "lease", 1, "12456790"),
    Row("holdfast-fair", "holdfast", "fair", 1, "12456790", FAIR_MS),
    Row("holdfast-rw", "holdfast", "rw", 1, "12456790"),
    Row("redsync-3", "redsync", "redsync", 3, "17"),
    Row("node-redlock-3", "node", "redlock", 3, "17"),
    Row("redisson-redlock-3", "redisson", "quorum", 3, "17"),
    Row("holdfast-quorum-3", "holdfast", "quorum", 3, "17"),
)


# ---- client processes ----

class Worker:
    """A client process. It serves one run after the other."""

    def __init__(self, process):
        self.process = process
        self.said = asyncio.Queue()     # "ready", "idle", "done", None at its end
        self.sink = None
        self.reader = asyncio.ensure_future(self.read())

    async def read(self):
        while line := await self.process.stdout.readline():
            row, text = line.decode().rstrip("\n").split(" ", 1)
            if text in ("ready", "idle", "done"):
                self.said.put_nowait(text)
            elif self.sink:
                self.sink(row, text)
        self.said.put_nowait(None)

    def tell(self, line):
        try:
            self.process.stdin.write((line + "\n").encode())
        except OSError:
            pass

    async def hear(self, word, count=1, timeout_s=IDLE_S):
        """False: the process ended, or does not say it in time."""
        try:
            for _ in range(count):
                said = await asyncio.wait_for(self.said.get(), timeout_s)
                if said != word:
                    return False
        except asyncio.TimeoutError:
            return False
        return True

    def is_alive(self):
        return self.process.returncode is None

    async def end(self):
        if self.is_alive():
            self.process.kill()
        await self.process.wait()
        await self.reader


class Pool:
    """Processes of each program, kept for later runs."""

    def __init__(self, programs, folder):
        self.programs = programs
        # What a client that fails says.
        self.errors = open(os.path.join(folder, "stderr.log"), "ab")
        self.idle = {name: [] for name in programs}

    async def take(self, name):
        if self.idle[name]:
            return self.idle[name].pop()
        return Worker(await asyncio.create_subprocess_exec(
            *WITH_PARENT, *self.programs[name], stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=self.errors))

    def give(self, name, worker):
        worker.sink = None
        self.idle[name].append(worker)

    async def close(self):
        for workers in self.idle.values():
            for worker in workers:
                await worker.end()


def programs(build):
    """The clients whose toolchain is there, by the name of their program."""
    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.path.join(build, "torture")
    found = {"python": ["env", f"PYTHONPATH={folder}/python", "python3", f"{here}/client.py"],
             "holdfast": [f"{build}/tests/torture/holdfast_client"],
             "redsync": [f"{folder}/redsync"],
             "node": ["env", f"NODE_PATH={folder}/node/node_modules", "node",
                      f"{here}/redlock.js"],
             "redisson": ["java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                          "-cp", f"{folder}/redisson:{folder}/redisson/*", "Torture"]}
    needs = {"node": f"{folder}/node/node_modules/redlock", "redsync": f"{folder}/redsync",
             "redisson": f"{folder}/redisson/Torture.class",
             "holdfast": found["holdfast"][0]}
    return {name: words for name, words in found.items()
            if name not in needs or os.path.exists(needs[name])}


# ---- a run ----

class Run:
    """One fault, and a history for each row."""

    def __init__(self, build, pool, rows, fault, seed):
        self.build = build
        self.pool = pool
        self.fault = fault
        self.seed = seed
        self.dice = random.Random(f"{fault} {seed}")
        self.rows = [row for row in rows if row.servers == 1 or not self.is_failover()]
        self.place = Place(fault, max(row.servers for row in self.rows),
                           os.path.join(build, "tests/torture/step_clock.so"))
        self.workers = []       # (program, index, worker)
        self.lines = {row.name: [] for row in rows}     # (time, text)
        self.killed = []
        self.owners = []
        self.watches = []
        self.switched_us = 0    # when the replica became the master
        self.lease_ms = LONG_LEASE_MS if fault == "failover-late" else LEASE_MS
        self.lag_us = 0         # the longest time for which the driver did not run

    def is_failover(self):
        return self.fault.startswith("failover")

    # -- lines --

    def hear(self, row, text):
        if text.startswith("own "):
            prefix, source = text[4:].rsplit(": ", 1)
            self.owners.append((prefix, row, source))
        else:
            us, rest = text.split(" ", 1)
            self.lines[row].append((int(us), rest))

    def say(self, text):
        for lines in self.lines.values():
            lines.append((now_us(), text))

    def fault_line(self, on, state):
        self.say(f"w fault what={self.fault} on={on} state={state}")

    # -- begin and end --

    async def start(self):
        await self.place.start()
        names = [row.name for row in self.rows]
        servers = self.place.servers[:2 if self.is_failover() else 1]
        for server in servers:
            watch = Watch(server, names)
            watch.master_port = self.place.servers[0].port
            await watch.start()
            self.watches.append(watch)
        for program in dict.fromkeys(row.program for row in self.rows):
            for index in range(2):
                worker = await self.pool.take(program)
                worker.sink = self.hear
                self.workers.append((program, index, worker))
        # A cold virtual machine takes the processor for seconds: it begins before.
        for is_java in (True, False):
            await asyncio.gather(*(self.begin(*each) for each in self.workers
                                   if (each[0] == "redisson") == is_java))

    async def begin(self, program, index, worker):
        rows = [row for row in self.rows if row.program == program]
        for row in rows:
            urls = " ".join(self.place.urls(index, row.servers))
            seed = self.dice.randrange(1, 1 << 31)
            worker.tell(f"run {row.name} {row.kind} c{index + 1} {seed} {self.lease_ms} "
                        f"{WAIT_MS} {urls}")
        if not await worker.hear("ready", len(rows), 60):
            raise RuntimeError(f"{program} does not begin")

    async def end(self):
        """Every call ends; then what was left behind has time to expire."""
        for _, _, worker in self.workers:
            worker.tell("stop")
        heard = await asyncio.gather(*(each.hear("idle") for *_, each in self.workers))
        for program, index, worker in self.workers:
            if not worker.is_alive() and worker not in self.killed:
                raise RuntimeError(f"{program} c{index + 1} ended by itself: "
                                   f"{worker.process.returncode}")
        await asyncio.sleep(self.lease_ms / 1000 + 0.3)
        if self.fault == "clock-step":
            await self.await_no_locks()
        self.say("w quiet")
        await self.say_keys()
        self.say("w over")
        for watch in self.watches:
            await watch.stop()
        for is_idle in heard:
            program, _, worker = self.workers[0]
            worker.tell("close")
            if not (is_idle and await worker.hear("done")):
                await worker.end()
            self.workers.pop(0)         # from here on it is not ours
            if worker.is_alive():
                self.pool.give(program, worker)

    async def await_no_locks(self):
        for _ in range(60):
            if not await ask(self.place.servers[0].port, "EXISTS",
                             *(row.name for row in self.rows)) != "0":
                return
            await asyncio.sleep(0.1)

    async def say_keys(self):
        """A key with a TTL may stay: it ends by itself. So may what a client left that was
        killed: no documentation promises that there is nothing."""
        port = self.place.servers[1 if self.switched_us else 0].port
        for key in await ask(port, "KEYS", "*"):
            is_excused = self.fault == "client-killed" or \
                int(await ask(port, "PTTL", key)) > 0
            may = " may=ttl" if is_excused else ""
            for row in self.rows:
                if row.name == key or "{" + row.name + "}" in key:
                    name = key.replace("%", "%25").replace(" ", "%20").replace("=", "%3D")
                    self.lines[row.name].append(
                        (now_us(), f"s1 key name={name} of={row.name}{may}"))

    # -- faults --

    def victims(self, index):
        return [worker for _, i, worker in self.workers if i == index]

    async def do_none(self):
        await asyncio.sleep(2)

    async def do_client_killed(self):
        index = self.dice.randrange(2)
        self.killed = self.victims(index)
        for worker in self.killed:
            worker.process.kill()
        await asyncio.gather(*(worker.process.wait() for worker in self.victims(index)))
        await asyncio.gather(*(worker.reader for worker in self.victims(index)))
        self.say(f"c{index + 1} died")

    async def do_client_stopped(self):
        index = self.dice.randrange(2)
        for worker in self.victims(index):
            worker.process.send_signal(signal.SIGSTOP)
        self.say(f"c{index + 1} stop")
        await asyncio.sleep(self.dice.uniform(1.2, 2.0) * LEASE_MS / 1000)
        self.say(f"c{index + 1} go")
        for worker in self.victims(index):
            worker.process.send_signal(signal.SIGCONT)

    async def restart(self, forgets):
        server, watch = self.place.servers[0], self.watches[0]
        down_s = self.dice.uniform(0.05, 0.6)
        self.fault_line("s1", "begin")
        for proxy in self.place.proxies[0]:
            proxy.refuse(True)
        self.say("s1 down")
        await server.kill()
        await watch.task
        if forgets:
            watch.note(now_us(), "forget")
        await asyncio.sleep(down_s)
        await server.start()
        await watch.start()
        for proxy in self.place.proxies[0]:
            proxy.refuse(False)
        self.say("s1 up")
        self.fault_line("s1", "end")

    async def do_server_restarted(self):
        await self.restart(False)

    async def do_server_emptied(self):
        await self.restart(True)

    async def do_server_frozen(self):
        server = self.place.servers[0]
        self.fault_line("s1", "begin")
        server.send(signal.SIGSTOP)
        await asyncio.sleep(self.dice.uniform(0.3, 2.0) * LEASE_MS / 1000)
        server.send(signal.SIGCONT)
        self.fault_line("s1", "end")

    async def disturb(self, mode, least_s, most_s):
        index = self.dice.randrange(2)
        proxies = [pair[index] for pair in self.place.proxies[:1]]
        self.fault_line(f"c{index + 1}", "begin")
        for proxy in proxies:
            proxy.set_mode(mode)
        await asyncio.sleep(self.dice.uniform(least_s, most_s))
        for proxy in proxies:
            proxy.set_mode("open")
        self.fault_line(f"c{index + 1}", "end")

    async def do_cut_before(self):
        await self.disturb("cut-before", 0.05, 0.8)

    async def do_cut_after(self):
        await self.disturb("cut-after", 0.05, 0.8)

    async def do_swallowed(self):
        await self.disturb("black", 0.5, 1.5)

    async def do_clock_step(self):
        sign = self.dice.choice((1, -1))
        step_us = sign * int(self.dice.uniform(0.5, 2.5) * LEASE_MS * 1000)
        self.say(f"s1 clock step={step_us}")
        self.watches[0].step(now_us(), step_us)
        self.place.servers[0].set_clock(step_us)

    async def do_failover(self):
        _, replica = self.place.servers
        self.fault_line("s1", "begin")
        if self.dice.random() < 0.5:
            replica.send(signal.SIGSTOP)
            await asyncio.sleep(self.dice.uniform(0.05, 0.3))
        await self.replace_master()

    async def do_failover_late(self):
        """The replica loses its link before: what is granted then, it never hears of."""
        master, replica = self.place.servers
        self.fault_line("s1", "begin")
        replica.send(signal.SIGSTOP)
        await ask(master.port, "CLIENT", "KILL", "TYPE", "replica")
        await asyncio.sleep(self.dice.uniform(0.1, 0.5))
        await self.replace_master()

    async def replace_master(self):
        master, replica = self.place.servers
        await master.kill()
        replica.send(signal.SIGCONT)
        for _ in range(1000):
            try:
                if (await ask(replica.port, "ROLE"))[0] == "master":
                    break
            except OSError:
                pass            # sentinels close its connections
            await asyncio.sleep(0.01)
        self.switched_us = now_us()
        await self.place.await_master(replica)
        await asyncio.sleep(1)          # and the clients hear of it
        self.fault_line("s1", "end")

    async def play(self):
        await asyncio.sleep(self.dice.uniform(0.6, 1.6))
        await getattr(self, "do_" + self.fault.replace("-", "_"))()
        await asyncio.sleep(2 * LEASE_MS / 1000 + (2 if self.is_failover() else 0))

    # -- histories --

    def finish_watches(self):
        if self.switched_us:
            # A client may have found the new master before we did.
            new = self.watches[1]
            self.switched_us = min([self.switched_us] + [
                us - 1 for us in (new.gap_us, new.first_us) if us])
            follow(*self.watches, self.switched_us)
        for watch in self.watches:
            watch.owners = self.owners
            watch.finish(now_us())

    def read_servers(self):
        """{row: what its lock's server did}"""
        lines = {row.name: [] for row in self.rows}
        for number, watch in enumerate(self.watches):
            for us, name, text in watch.lines:
                if number == 0 or us >= self.switched_us:
                    lines[name].append((us, "s1 " + watch.resolve(name, text)))
        return lines

    def history(self, row, servers):
        lines = self.lines[row.name] + (servers[row.name] if row.servers == 1 else [])
        lines = [(us, text) for us, text in lines if us <= self.over_us(row)]
        judged = LATE_JUDGED if self.fault == "failover-late" else row.judged
        return verdict.header(row, judged) + [
            f"{us} {text}" for us, text in sorted(lines, key=lambda line: line[0])]

    def over_us(self, row):
        return next(us for us, text in self.lines[row.name] if text == "w over")

    async def measure_lag(self):
        while True:
            us = now_us()
            await asyncio.sleep(0.01)
            self.lag_us = max(self.lag_us, now_us() - us)

    async def run(self):
        lag = None
        try:
            await self.start()
            lag = asyncio.ensure_future(self.measure_lag())
            await self.play()
            await self.end()
            self.finish_watches()
            servers = self.read_servers()
            return {row.name: self.history(row, servers) for row in self.rows}
        finally:
            if lag:
                lag.cancel()
            for watch in self.watches:
                await watch.stop()
            for _, _, worker in self.workers:
                await worker.end()
            await self.place.stop()


# ---- all runs ----

class SelfTest(Run):
    """A holder is stopped for longer than its lease. The naive client, which never looks
    at the time, is convicted; ours is not."""

    def grant_us(self, source):
        """When the naive client wrote that it holds the lock; None: it does not hold it."""
        beliefs = [(us, text) for us, text in self.lines["naive"]
                   if text.startswith(f"{source} safe ")]
        return beliefs[-1][0] if beliefs and not beliefs[-1][1].endswith("until=0") else None

    async def await_grant(self, source, after_us=0):
        """When it was granted the lock, after that time."""
        for _ in range(HELD_TRIES):
            us = self.grant_us(source)
            if us and us > after_us:
                return us
            await asyncio.sleep(0.002)
        raise RuntimeError(f"{source} was never granted the lock")

    async def stop(self, index):
        """Stops both programs of a client. When it returns, each has stopped, and what they
        wrote before has been read: a client writes whether it holds the lock before it sends
        the release and after it is granted the lock, so its last line is true."""
        for worker in self.victims(index):
            worker.process.send_signal(signal.SIGSTOP)
        for worker in self.victims(index):
            os.waitid(os.P_PID, worker.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.say(f"c{index + 1} stop")
        for _ in range(4):      # the loop polls, reads the pipe, and hears its lines
            await asyncio.sleep(0)

    def resume(self, index):
        self.say(f"c{index + 1} go")
        for worker in self.victims(index):
            worker.process.send_signal(signal.SIGCONT)

    async def stop_holder(self):
        """Some holds last 20 ms only, and may end before the stop. Returns the time of the
        grant."""
        for _ in range(1000):
            await self.await_grant("c1")
            await self.stop(0)
            if us := self.grant_us("c1"):
                return us
            self.resume(0)
        raise RuntimeError("c1 was never stopped while it held the lock")

    async def play(self):
        """The second grant is during the first hold, so the holds overlap, however late any
        of the processes is."""
        us = await self.stop_holder()
        await self.await_grant("c2", us)
        self.resume(0)
        await asyncio.sleep(0.1)


class Torture:
    """All cells: their runs, in turns, so that every cell grows alike."""

    def __init__(self, args):
        self.args = args
        self.folder = os.path.join(args.build, "torture")
        self.results = os.path.join(self.folder, "results.tsv")
        self.programs = programs(args.build)
        self.pool = Pool(self.programs, self.folder)
        wanted = args.rows.split(",") if args.rows else [row.name for row in ROWS]
        self.rows = [row for row in ROWS if row.name in wanted and self.is_there(row)]
        missing = [row for row in wanted if row not in [each.name for each in self.rows]]
        if missing and not args.self_test:
            print(f"skipped: {', '.join(missing)} (not installed)")
        self.judge = verdict.Judge(args.build, self.folder)
        # In a process of its own: it must not delay the proxies.
        self.judges = concurrent.futures.ProcessPoolExecutor(
            1, initializer=verdict.end_with_parent)

    def is_there(self, row):
        if row.kind == "redis-py" and \
                not os.path.exists(os.path.join(self.folder, "python", "redis")):
            return False
        return row.program in self.programs

    def done(self):
        """(row, fault, seed) of the runs that are in the results."""
        try:
            with open(self.results, encoding="ascii") as file:
                lines = [line.split("\t") for line in file]
                return {(line[0], line[1], int(line[2])) for line in lines}
        except FileNotFoundError:
            return set()

    def is_done(self, fault, seed, done):
        """Has each row that takes part in this fault that run?"""
        rows = [row for row in self.rows
                if row.servers == 1 or not fault.startswith("failover")]
        return all((row.name, fault, seed) in done for row in rows)

    def todo(self):
        done = self.done()
        faults = self.args.faults.split(",") if self.args.faults else FAULTS
        for index in range(self.args.runs):
            for fault in faults:
                if not self.is_done(fault, self.args.seed + index, done):
                    yield fault, self.args.seed + index

    async def one(self, fault, seed):
        run = Run(self.args.build, self.pool, self.rows, fault, seed)
        histories = await run.run()
        if run.lag_us > LAG_US:
            raise RuntimeError(f"the machine was too busy: {run.lag_us // 1000} ms")
        return await asyncio.get_running_loop().run_in_executor(
            self.judges, self.judge.judge, fault, seed, histories,
            [row.name for row in self.rows if fault in row.excuses])

    async def worker(self, todo, number):
        await asyncio.sleep(START_S * number)
        for fault, seed in todo:
            try:
                rows = await self.one(fault, seed)
            except (RuntimeError, OSError, asyncio.TimeoutError) as error:
                print(f"failed: {fault} seed {seed}: {error!r}", flush=True)
                continue
            with open(self.results, "a", encoding="ascii") as file:
                for row in rows:
                    file.write("\t".join(map(str, row)) + "\n")
            told = [f"{row[0]} {row[3]}" for row in rows if row[3] != "-"]
            print(f"{fault} seed {seed}: {', '.join(told) or 'no violation'}", flush=True)

    async def all(self):
        """Runs that failed, because the machine was busy, have more chances."""
        try:
            for _ in range(TRIES):
                todo = self.todo()
                await asyncio.gather(*(self.worker(todo, i) for i in range(self.args.jobs)))
        finally:
            await self.pool.close()

    async def repeat(self):
        run = Run(self.args.build, self.pool, self.rows, self.args.fault, self.args.seed)
        try:
            histories = await run.run()
        finally:
            await self.pool.close()
        keep = self.write(histories, self.args.keep or os.path.join(self.folder, "run"))
        return max(self.judge.print(os.path.join(keep, name + ".txt")) for name in histories)

    @staticmethod
    def write(histories, folder):
        """A file for each history; returns the folder."""
        os.makedirs(folder, exist_ok=True)
        for name, lines in histories.items():
            with open(os.path.join(folder, name + ".txt"), "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
        return folder

    async def self_test(self):
        rows = [Row("naive", "python", "naive", 1, "1"),     # nothing that is late
                Row("holdfast-lock", "holdfast", "lock", 1, "10")]
        run = SelfTest(self.args.build, self.pool, rows, "client-stopped", 1)
        run.lease_ms = SHORT_LEASE_MS
        try:
            histories = await run.run()
        finally:
            await self.pool.close()
        ours = self.judge.ask({"ours": histories["holdfast-lock"]})["ours"]
        naive = self.judge.ask({"naive": verdict.without_end(
            verdict.of_clients(histories["naive"]))})["naive"]
        if 1 in ours or 1 not in naive:
            keep = self.write(histories, os.path.join(self.folder, "self-test"))
            print(f"torture: ours {ours}, naive {naive}; histories in {keep}", file=sys.stderr)
            return 1
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults")
    parser.add_argument("--rows")
    parser.add_argument("--fault")
    parser.add_argument("--keep")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    # So that servers, clients and folders are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    os.makedirs(os.path.join(args.build, "torture"), exist_ok=True)
    torture = Torture(args)
    if not shutil.which(os.environ.get("HF_TEST_SERVER", "redis-server")):
        print("skipped: torture (no server installed)")
        return 0
    if args.self_test:
        return asyncio.run(torture.self_test())
    if args.fault:
        return asyncio.run(torture.repeat())
    asyncio.run(torture.all())
    left = len(list(torture.todo()))
    if left:
        print(f"{left} runs are missing")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
