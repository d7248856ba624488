#!/usr/bin/env python3
"""Writes the tables of docs/torture.md from the results, and the shortest histories.

    report.py BUILD [FOLDER]

The tables replace what is between the two markers in docs/torture.md; the histories go
to tests/torture/histories (FOLDER: to there). Of a run that is there twice the last
result counts.
"""
import glob
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import verdict                                  # noqa: E402
from torture import FAULTS, ROWS                # noqa: E402

BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
LINES_MAX = 200         # of a history that is kept


class Cell:
    """The runs of one client under one fault."""

    def __init__(self):
        self.runs = 0
        self.grants = 0
        self.violated = {}      # property: runs
        self.overlaps = 0       # runs with an overlap, excused or not
        self.blind = 0          # and if the user never looks at the time

    def add(self, words, overlaps, blind, grants):
        self.runs += 1
        self.grants += int(grants)
        for word in words.split(",") if words != "-" else ():
            number = int(word.split(":")[0][1:])
            self.violated[number] = self.violated.get(number, 0) + 1
        self.overlaps += overlaps != "0"
        self.blind += blind != "0"

    def at_once(self):
        """P1, and in parentheses the runs in which an overlap is excused."""
        excused = self.overlaps - self.violated.get(1, 0)
        text = str(self.violated.get(1, 0))
        return text + (f" ({excused})" if excused > 0 else "")

    def others(self):
        words = [f"P{number}: {count}" for number, count in sorted(self.violated.items())
                 if number != 1]
        return ", ".join(words) or "."


def read_results(path):
    latest = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            name, fault, seed, *rest = line.rstrip("\n").split("\t")
            latest[name, fault, seed] = rest
    cells = {}
    for (name, fault, _), rest in latest.items():
        cells.setdefault((name, fault), Cell()).add(*rest)
    return cells


def table(cells, text):
    lines = ["| client | " + " | ".join(FAULTS) + " |",
             "| --- |" + " --- |" * len(FAULTS)]
    for row in ROWS:
        words = [text(cells[row.name, fault]) if (row.name, fault) in cells else ""
                 for fault in FAULTS]
        lines.append(f"| {row.name} | " + " | ".join(words) + " |")
    return lines


def span(numbers):
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def tables(cells):
    runs = [cell.runs for cell in cells.values()]
    grants = sum(cell.grants for cell in cells.values())
    return "\n".join([
        f"{sum(runs)} histories with {grants} grants; {span(runs)} runs of each cell.", "",
        "### Two owners at once: P1", "",
        "Runs with a violation of P1. In parentheses: further runs in which two owners "
        "believed at once, and a lost key, a failover or a clock excuses it.", "",
        *table(cells, Cell.at_once), "",
        "### The same, if the user never looks at the time", "",
        "Runs in which a user that acts until it releases overlaps with another; what "
        "excuses it counts as well.", "",
        *table(cells, lambda cell: str(cell.blind)), "",
        "### Other properties", "",
        "Runs with a violation of each; a dot: none.", "",
        *table(cells, Cell.others), ""])


def write_tables(cells):
    path = "docs/torture.md"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n{tables(cells)}\n{END}{tail}")


def copy_histories(build, folder):
    """Shortened once more, and those that are short enough."""
    judge = verdict.Judge(build, os.path.join(build, "torture"))
    os.makedirs(folder, exist_ok=True)
    for path in sorted(glob.glob(os.path.join(judge.folder, "*.txt"))):
        with open(path, encoding="utf-8") as file:
            lines = file.read().rstrip("\n").split("\n")
        label = path.rsplit(".", 2)[1]
        number = 1 if label == "overlap" else int(label[1:])
        told, rest = lines[1:4], [lines[0]] + lines[4:]
        short = judge.shorten(rest, number, told[1][2:])
        if len(short) <= LINES_MAX:
            with open(os.path.join(folder, os.path.basename(path)), "w",
                      encoding="utf-8") as file:
                file.write("\n".join([short[0]] + told + short[1:]) + "\n")


def main():
    build = sys.argv[1]
    write_tables(read_results(os.path.join(build, "torture", "results.tsv")))
    copy_histories(build, sys.argv[2] if len(sys.argv) > 2 else "tests/torture/histories")


main()
