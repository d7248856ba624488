"""The servers of one run, the proxies before them, and what is done to them."""
import asyncio
import atexit
import mmap
import os
import shutil
import signal
import socket
import struct
import tempfile

MASTER = "mymaster"
# A process that the kernel kills when the driver ends, in whatever way.
WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []


reserved = []


def free_port():
    """A port that no other program gets while this one runs, also while nobody listens:
    only who binds with SO_REUSEADDR, as servers do, can listen beside this socket."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.append(s)
    return s.getsockname()[1]


async def ask(port, *words):
    """One request on a connection of its own; the reply as a string or list."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"*%d\r\n" % len(words) +
                     b"".join(b"$%d\r\n%s\r\n" % (len(w), w)
                              for w in (str(word).encode() for word in words)))
        return await read_reply(reader)
    finally:
        writer.close()


async def read_reply(reader):
    line = (await reader.readline()).decode().rstrip("\r\n")
    if not line:
        raise OSError("closed")
    if line[0] == "$":
        size = int(line[1:])
        return None if size < 0 else (await reader.readexactly(size + 2))[:-2].decode()
    if line[0] == "*":
        return [await read_reply(reader) for _ in range(int(line[1:]))]
    return line[1:]


class Server:
    """One redis-server (or a sentinel) with a folder of its own."""

    def __init__(self, folder, number, clock=None):
        self.folder = os.path.join(folder, f"s{number}")
        os.mkdir(self.folder)
        self.number = number
        self.port = free_port()
        self.process = None
        self.args = []
        self.env = dict(os.environ)
        self.step = None
        if clock:
            path = os.path.join(self.folder, "step")
            with open(path, "wb") as file:
                file.write(bytes(8))
            with open(path, "r+b") as file:
                self.step = mmap.mmap(file.fileno(), 8)
            self.env.update(LD_PRELOAD=clock, HF_TORTURE_STEP=path)

    async def start(self, *args):
        self.args = args or self.args
        program = os.environ.get("HF_TEST_SERVER", "redis-server")
        if "/" in program:
            program = os.path.abspath(program)
        self.process = await asyncio.create_subprocess_exec(
            *WITH_PARENT, program, *self.args, cwd=self.folder, env=self.env,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL)
        for _ in range(500):
            try:
                if await ask(self.port, "PING") == "PONG":
                    return
            except OSError:
                pass
            await asyncio.sleep(0.02)
        raise RuntimeError("a server does not start")

    def send(self, number):
        self.process.send_signal(number)

    async def kill(self):
        if self.process and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    def set_clock(self, step_us):
        self.step[:] = struct.pack("=q", step_us)


def plain_args(server, keeps_data):
    return ("--port", str(server.port), "--bind", "127.0.0.1", "--save", "",
            "--appendonly", "yes" if keeps_data else "no", "--appendfsync", "no",
            "--repl-diskless-sync-delay", "0", "--loglevel", "warning")


class Pipe(asyncio.Protocol):
    """One side of a proxied connection."""

    def __init__(self, link, is_client):
        self.link = link
        self.is_client = is_client
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport
        if self.is_client:
            self.link.begin(self)

    def data_received(self, data):
        self.link.pass_on(self, data)

    def connection_lost(self, exc):
        self.link.end(self)


class Link:
    """A client's connection and ours to the server, and the fault between them."""

    def __init__(self, proxy):
        self.proxy = proxy
        self.client = Pipe(self, True)
        self.server = None
        self.kept = b""         # until our connection is there
        self.is_black = False   # nothing passes any more, and nothing is closed
        self.is_cut = False     # the next reply is dropped, and all is closed

    def begin(self, pipe):
        self.proxy.links.add(self)
        if self.proxy.is_gone:
            pipe.transport.abort()
            return
        self.is_black = self.proxy.mode == "black"
        self.proxy.task(self.dial())

    async def dial(self):
        try:
            loop = asyncio.get_running_loop()
            _, self.server = await loop.create_connection(
                lambda: Pipe(self, False), "127.0.0.1", self.proxy.port)
        except OSError:
            self.abort()
            return
        if self.client.transport.is_closing():
            self.abort()
        elif self.kept:
            self.server.transport.write(self.kept)
            self.kept = b""

    def pass_on(self, pipe, data):
        if pipe is self.client:
            self.to_server(data)
        elif self.is_cut:
            self.abort()
        elif not self.is_black:
            self.client.transport.write(data)

    def to_server(self, data):
        if self.proxy.mode == "cut-before":
            self.abort()
            return
        self.is_cut = self.is_cut or self.proxy.mode == "cut-after"
        if self.server:
            self.server.transport.write(data)
        else:
            self.kept += data

    def end(self, pipe):
        other = self.server if pipe is self.client else self.client
        if self.is_black and pipe is self.server:
            return
        if other and other.transport:
            other.transport.close()
        if pipe is self.client:
            self.proxy.links.discard(self)

    def abort(self):
        """The server sees an orderly end, so that it executes what has passed."""
        if self.client.transport:
            self.client.transport.abort()
        if self.server and self.server.transport:
            self.server.transport.close()


class Proxy:
    """A port before a server. Modes: "open"; "cut-before": a request is dropped and its
    connection closed; "cut-after": a request passes, and its connection is closed in
    place of the reply; "black": replies are swallowed, on all connections that there
    are in this mode, for ever."""

    def __init__(self, port):
        self.port = port
        self.mode = "open"
        self.is_gone = False    # connections are refused
        self.links = set()
        self.listener = None
        self.tasks = set()

    def task(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def start(self):
        loop = asyncio.get_running_loop()
        self.listener = await loop.create_server(lambda: Link(self).client, "127.0.0.1", 0)
        return self.listener.sockets[0].getsockname()[1]

    def set_mode(self, mode):
        self.mode = mode
        if mode == "black":
            for link in self.links:
                link.is_black = True

    def refuse(self, is_gone):
        self.is_gone = is_gone
        if is_gone:
            for link in list(self.links):
                link.abort()

    def stop(self):
        self.listener.close()
        for link in list(self.links):
            link.abort()


class Place:
    """One server, or three, and two proxies for each; or a master, its replica and
    three sentinels, without proxies."""

    def __init__(self, fault, count, clock):
        self.folder = tempfile.mkdtemp(prefix="holdfast-torture-")
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.count = count
        self.fault = fault
        self.clock = clock
        self.servers = []
        self.sentinels = []
        self.proxies = []       # of each server: that of c1, that of c2
        self.ports = []

    async def start(self):
        if self.fault.startswith("failover"):
            await self.start_sentinels()
            return
        for number in range(1, self.count + 1):
            is_stepped = self.fault == "clock-step" and number == 1
            server = Server(self.folder, number, self.clock if is_stepped else None)
            self.servers.append(server)
            await server.start(*plain_args(
                server, self.fault == "server-restarted" and number == 1))
            pair = [Proxy(server.port), Proxy(server.port)]
            self.proxies.append(pair)
            self.ports.append([await proxy.start() for proxy in pair])

    async def start_sentinels(self):
        master, replica = (Server(self.folder, n) for n in (1, 2))
        self.servers = [master, replica]
        await master.start(*plain_args(master, False))
        await replica.start(*plain_args(replica, False), "--replicaof", "127.0.0.1",
                            str(master.port))
        for number in range(3, 6):
            sentinel = Server(self.folder, number)
            self.sentinels.append(sentinel)
            path = os.path.join(sentinel.folder, "sentinel.conf")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"port {sentinel.port}\nbind 127.0.0.1\n"
                           f"sentinel monitor {MASTER} 127.0.0.1 {master.port} 2\n"
                           f"sentinel down-after-milliseconds {MASTER} 500\n"
                           f"sentinel failover-timeout {MASTER} 3000\n")
            await sentinel.start(path, "--sentinel", "--loglevel", "warning")
        await self.await_sentinels()

    async def await_sentinels(self):
        for _ in range(400):
            ready = 0
            for sentinel in self.sentinels:
                reply = await ask(sentinel.port, "SENTINEL", "MASTER", MASTER)
                facts = dict(zip(reply[::2], reply[1::2]))
                ready += (facts["num-other-sentinels"] == "2" and
                          facts["num-slaves"] == "1" and facts["flags"] == "master")
            if ready == 3:
                return
            await asyncio.sleep(0.05)
        raise RuntimeError("the sentinels do not agree")

    async def await_master(self, server):
        """Until all sentinels name it."""
        for _ in range(400):
            named = [await ask(sentinel.port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)
                     for sentinel in self.sentinels]
            if all(int(address[1]) == server.port for address in named):
                return
            await asyncio.sleep(0.05)
        raise RuntimeError("the sentinels do not switch")

    def urls(self, client, count):
        """Of the client number 0 or 1: a port for each of `count` servers."""
        if self.sentinels:
            return ["sentinel:" + ",".join(str(s.port) for s in self.sentinels)]
        return [str(ports[client]) for ports in self.ports[:count]]

    async def stop(self):
        for pair in self.proxies:
            for proxy in pair:
                proxy.stop()
        for server in self.servers + self.sentinels:
            await server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
