"""Histories before build/judge, and the shortest history of each violated cell."""
import ctypes
import os
import re
import signal
import subprocess
import tempfile

FOUND = re.compile(r"^(.*): P(\d+), .*:$")
AT = re.compile(r"^  at ([0-9.]+ s): (.*)$")
NAMES = re.compile(r"^(.*): (\d+ events.*)$")

# How late a machine with much else to do may be. A waiter that polls has up to 0.3 s
# between two tries.
FREE_MS = 2000
CONTEXT = 16            # lines of a shortest history before those that show it
SLACK_MS = 200
SETTLE_MS = 3000
TELL_MS = 2000


PR_SET_PDEATHSIG = 1


def end_with_parent():
    """In the judge's process: the kernel kills it when the driver ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def header(row, judged):
    """The first lines of a history. `judged`: digits; 0 is P10."""
    bounds = {"slack_ms": SLACK_MS, "wake_ms": row.free_ms, "look_ms": row.free_ms,
              "settle_ms": max(SETTLE_MS, row.free_ms), "judge": judged}
    if "2" in judged:
        bounds["tell_ms"] = TELL_MS
    return ["# holdfast history 1"] + [f"# {k} {v}" for k, v in bounds.items()]


def of_clients(lines):
    """What the clients wrote, and nothing that excuses an overlap: P1 alone."""
    return ["# holdfast history 1", "# judge 1"] + [
        line for line in lines
        if not line.startswith("#") and line.split(" ", 2)[1][0] == "c" and
        line.split(" ")[2] not in ("stop", "go", "clock")]


def without_end(lines):
    """A user that never looks at the time: every belief lasts until the release."""
    return [re.sub(r"( safe .*until=)(?!0\b)\S+$", r"\1never", line) for line in lines]


class Judge:
    """Runs build/judge; keeps the shortest history of each cell and property."""

    def __init__(self, build, folder):
        self.program = os.path.join(build, "judge")
        self.folder = os.path.join(folder, "histories")
        os.makedirs(self.folder, exist_ok=True)

    def ask(self, histories):
        """{name: {property: the first violation's words}} of {name: lines}."""
        paths = {}
        with tempfile.TemporaryDirectory(prefix="holdfast-torture-") as scratch:
            for name, lines in histories.items():
                paths[os.path.join(scratch, name)] = name
                with open(os.path.join(scratch, name), "w", encoding="utf-8") as file:
                    file.write("\n".join(lines) + "\n")
            done = subprocess.run([self.program, *paths], capture_output=True, text=True,
                                  check=False)
        if done.returncode > 1 or done.stderr:
            raise RuntimeError(done.stderr[:500])
        return self.read(done.stdout, paths)

    @staticmethod
    def read(text, paths):
        found = {name: {} for name in paths.values()}
        at = None
        for line in text.split("\n"):
            if match := FOUND.match(line):
                at = (paths[match[1]], int(match[2]))
            elif at and (match := AT.match(line)):
                found[at[0]].setdefault(at[1], []).append(match[1] + ": " + match[2])
        return found

    def print(self, path):
        return subprocess.run([self.program, "--stats", path], check=False).returncode

    def judge(self, fault, seed, histories, excused):
        """Rows of the results: row, fault, seed, violations, overlaps, overlaps of a
        user that never looks at the time, grants. `excused`: rows that promise nothing
        under this fault."""
        strict = self.ask(histories)
        for name in excused:
            strict[name].pop(1, None)
        clients = {name: of_clients(lines) for name, lines in histories.items()}
        overlaps = self.ask(clients)
        blind = self.ask({name: without_end(lines) for name, lines in clients.items()})
        rows = []
        for name, lines in histories.items():
            found = strict[name]
            words = ",".join(f"P{p}:{len(found[p])}" for p in sorted(found)) or "-"
            grants = sum(" safe " in line and not line.endswith("until=0") for line in lines)
            rows.append((name, fault, seed, words, len(overlaps[name].get(1, ())),
                         len(blind[name].get(1, ())), grants))
            for number in found:
                self.keep((fault, seed), name, number, lines, found[number][0])
            if 1 in overlaps[name] and 1 not in found:
                self.keep((fault, seed), name, "overlap", clients[name], overlaps[name][1][0])
        return rows

    # -- the shortest --

    def violates(self, lines, number, text):
        """Is that violation still the judge's, at the same time?"""
        try:
            found = self.ask({"short": lines})["short"]
        except RuntimeError:            # an end without its ask
            return False
        return any(each == text for each in found.get(number, ()))

    def shorten(self, lines, number, text):
        """Without the calls before and after what matters."""
        head = [line for line in lines if line.startswith("#")]
        rest = lines[len(head):]
        low, high = 0, len(rest)
        while high - low > 1:           # the end: the fewest lines that show it
            middle = (low + high) // 2
            if self.violates(head + rest[:middle], number, text):
                high = middle
            else:
                low = middle
        rest = rest[:high]
        for at in range(len(rest) - 1, 0, -1):      # the latest beginning
            if " op=acquire " in rest[at] and \
                    self.violates(head + self.whole_calls(rest, at), number, text):
                return self.with_context(head, rest, at, number, text)
        return head + rest

    def with_context(self, head, rest, at, number, text):
        """What was before tells why: a few lines more."""
        for earlier in range(max(0, at - CONTEXT), at):
            lines = head + self.whole_calls(rest, earlier)
            if self.violates(lines, number, text):
                return lines
        return head + self.whole_calls(rest, at)

    @staticmethod
    def whole_calls(lines, at):
        """From line `at` on, without the ends of calls that were begun before."""
        calls, kept = set(), []
        for line in lines[at:]:
            words = line.split(" ")
            call = (words[1], words[3] if len(words) > 3 else "")
            if words[2] == "ask":
                calls.add(call)
            if words[2] != "end" or call in calls:
                kept.append(line)
        return kept

    def keep(self, run, name, number, lines, text):
        label = number if isinstance(number, str) else f"P{number}"
        path = os.path.join(self.folder, f"{name}.{run[0]}.{label}.txt")
        number = 1 if label == "overlap" else number
        short = self.shorten(lines, number, text)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                if len(file.read().split("\n")) <= len(short) + 4:
                    return
        told = [f"# {name}, {run[0]}, seed {run[1]}: {label}",
                f"# {text}",
                f"# again: make torture TORTURE='--fault {run[0]} --seed {run[1]}'"]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([short[0]] + told + short[1:]) + "\n")
