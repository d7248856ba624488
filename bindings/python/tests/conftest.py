"""A redis-server of our own on a free port of loopback, and clients of it."""
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time

import pytest

import holdfast

DEADLINE_S = 30


def until(condition, what):
    """Waits until condition() is true, and returns its value."""
    end = time.monotonic() + DEADLINE_S
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what}: not within {DEADLINE_S} s"
        time.sleep(0.01)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """One redis-server, and commands to it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
             "--appendonly", "no", "--dir", self.folder.name], stdout=subprocess.DEVNULL)
        until(self._answers, "the server answers")

    def _answers(self):
        assert self.process.poll() is None, "the server has ended"
        with contextlib.suppress(OSError):
            return self("PING") == "+PONG"

    def __call__(self, *words):
        """The reply to a command, in one text: "+OK", ":1", the bytes of a string, or the lines of
        an array."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_S) as server:
            text = "".join(f"${len(str(word).encode())}\r\n{word}\r\n" for word in words)
            server.sendall(f"*{len(words)}\r\n{text}".encode())
            lines = server.makefile("r", newline="\r\n")
            return self._reply(lines)

    def _reply(self, lines):
        line = lines.readline().rstrip("\r\n")
        if line[:1] == "$":
            size = int(line[1:])
            return lines.read(size + 2)[:-2] if size >= 0 else None
        if line[:1] == "*":
            return [self._reply(lines) for _ in range(int(line[1:]))]
        return line

    def waiters(self, name):
        """How many clients wait for the release of a lock."""
        channel = f"redisson_lock__channel:{{{name}}}"
        return int(self("PUBSUB", "NUMSUB", channel)[1][1:])

    def stop(self):
        self.process.kill()
        self.process.wait(DEADLINE_S)
        self.folder.cleanup()


@pytest.fixture(scope="session")
def one_server():
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def server(one_server):
    one_server("FLUSHALL")
    return one_server


@pytest.fixture
def make_client(server):
    made = []

    def make(**options):
        made.append(holdfast.Client(server.url, **options))
        return made[-1]

    yield make
    for client in made:
        client.close(0)


@pytest.fixture
def client(make_client):
    return make_client()


@pytest.fixture
def other(make_client):
    """A second client: another process, as far as the server knows."""
    return make_client()


class Program:
    """A program of Python, which prints lines."""

    def __init__(self, text, *arguments):
        self.process = subprocess.Popen([sys.executable, "-u", "-c", text, *arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=dict(os.environ))

    def line(self):
        return self.process.stdout.readline().strip()

    def end(self):
        """Its exit status, and what it printed after the lines that were read."""
        try:
            out, err = self.process.communicate(timeout=DEADLINE_S)
        finally:
            self.process.kill()
        return self.process.returncode, out.strip(), err.strip()


@pytest.fixture
def program():
    started = []

    def start(text, *arguments):
        started.append(Program(text, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait(DEADLINE_S)
