#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr validate on what NVIDIA's command ncu printed. Prints TAP; needs no device."""

import csv
import io
import json
import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests"))
import harness
from harness import check, test

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")
PERFCTR = os.path.join(BUILD, "bin/perfctr")
FINE, FAILED, DOUBT = 0, 1, 5
HEAD = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
        "Block Size", "Grid Size", "Device", "CC", "Section Name", "Metric Name", "Metric Unit",
        "Metric Value"]
# for each thread (or warp) of the listings: LDG, STG, of the two points of a kernel
PROGRAMS = {"one": "\tLDG R1\n\tSTG R2\n\tEXIT\n",
            "two": "\tLDG R1\n\tLDG R2\n\tLDG R3\n\tSTG R1\n\tEXIT\n"}
AMOUNTS = {"one": (1, 1), "two": (3, 1), "three": (4, 3)}
EVENTS = [{"name": "loads", "counter": "smsp__inst_op_ld", "documented": ["LDG"]},
          {"name": "smsp__inst_op_st", "documented": ["STG"]}]
NAMES = ("smsp__inst_op_ld.sum", "smsp__inst_op_st.sum")


def campaign(threads, third=True):
    """Two benchmarks of one kernel, and one of which only amounts are known."""
    benchmarks = [{"name": name, "listing": f"{name}.lst", "symbol": "work", "threads": threads}
                  for name in PROGRAMS]
    for benchmark in benchmarks:  # written listings have no symbols
        benchmark["command"] = "launch own.ptx work 4x2 128"
        del benchmark["symbol"]
    if threads != "1024":
        for benchmark in benchmarks:
            del benchmark["command"]
        benchmarks = [dict(b, name=n) for b, n in zip(benchmarks, ("work", "other"))]
    if third:
        benchmarks.append({"name": "three", "symbol": "amounts",
                           "quantities": {"LDG": "4", "STG": "3"}})
    return {"campaign": "own", "events": EVENTS, "benchmarks": benchmarks}


def row(number, kernel, metric, value, unit="inst", block="(128, 1, 1)", grid="(4, 2, 1)"):
    return [str(number), "7", "app", "host", kernel, "1", "7", block, grid, "0", "9.0",
            "Command line profiler metrics", metric, unit, value]


def launch(number, kernel, loads, stores, **more):
    return [row(number, kernel, NAMES[0], f"{loads:,}", **more),
            row(number, kernel, NAMES[1], f"{stores:,}", **more)]


def table(rows, head=HEAD):
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([head, *rows])
    return out.getvalue()


def whole(scale=1024, runs=1):
    """All points of campaign(): the third kernel's amounts are of the whole launch."""
    rows, number = [], 0
    for _ in range(runs):
        for name in ("one", "two"):
            rows += launch(number, "work(int *, int)", *(scale * n for n in AMOUNTS[name]))
            number += 1
        rows += launch(number, "amounts", *AMOUNTS["three"], block="(32, 1, 1)", grid="(1, 1, 1)")
        number += 1
    return rows


def evaluate(text, of, status):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in [*((f"{n}.lst", p) for n, p in PROGRAMS.items()),
                              ("own.json", json.dumps(of)), ("ncu.csv", text)]:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(content)
        done = harness.run(PERFCTR, "validate", "-j", "-m", "ncu.csv", "./own.json", status=status,
                           cwd=folder)
    return done.stderr if status == FAILED else json.loads(done.stdout)["campaigns"][0]


def read(text, of, status=FINE):
    """{(benchmark, event, run): value}"""
    result = evaluate(text, of, status)
    return {(r["benchmark"], r["event"], r.get("run", 0)): r["value"] for r in result["rows"]}


def refused(text, of, *parts):
    error = evaluate(text, of, FAILED)
    check(all(p in error for p in parts), f"{parts} in {error}")


EXPECTED = {("one", "loads"): 1024, ("one", "smsp__inst_op_st"): 1024, ("two", "loads"): 3072,
            ("two", "smsp__inst_op_st"): 1024, ("three", "loads"): 4,
            ("three", "smsp__inst_op_st"): 3}


@test
def points_in_order():
    """launches become points and runs: two benchmarks of one kernel, one without threads"""
    found = read(table(whole(runs=2)), campaign("1024"))
    check(found == {(*k, run): v for k, v in EXPECTED.items() for run in (0, 1)}, f"{found}")


@test
def repeated_points():
    """'# repeated: 2' has the launches of a point behind each other, and makes the same readings"""
    rows = whole()
    twice = [[str(2 * int(r[0]) + again), *r[1:]]
             for n in range(3) for again in (0, 1) for r in rows if r[0] == str(n)]
    found = read("# repeated: 2\n" + table(twice), campaign("1024"))
    check(found == {(*k, run): v for k, v in EXPECTED.items() for run in (0, 1)}, f"{found}")
    refused("# repeated: 0\n" + table(twice), campaign("1024"), "# repeated: 0", "1 to 1000")


@test
def messages_and_foreign_kernels():
    """messages, other kernels, sections and metrics between the rows end nothing"""
    rows = whole()
    foreign = launch(1, "void at::fill<float>(T1 *)", 5, 6)
    rows = [*rows[:2], *foreign, *([str(int(r[0]) + 1), *r[1:]] for r in rows[2:])]
    rows.insert(1, row(0, "work(int *, int)", "Duration", "3.5", unit="us"))
    rows.insert(2, row(0, "work(int *, int)", "smsp__inst_op_ld.avg", "1.94"))
    rows.insert(3, rows[0])  # a metric may stand in two sections
    lines = table(rows).splitlines(keepends=True)
    lines.insert(5, "sum is 17, \"fine\"\n==PROF== Profiling \"work\" - 3: 0%....100% - 9 passes\n")
    text = "==PROF== Connected to process 7\n" + "".join(lines)
    result = evaluate(text, campaign("1024"), FINE)
    found = {(r["benchmark"], r["event"]): r["value"] for r in result["rows"]}
    check(found == EXPECTED, f"{found}")
    check("1 launches of other kernels left out: void at::fill<float>" in
          result["configuration"]["ncu"], result["configuration"]["ncu"])


@test
def warps():
    """listings whose threads are warps: 1024 launched threads are 32 of them"""
    of = campaign("32", third=False)
    rows = launch(0, "work(int *)", 32, 32) + launch(1, "other(int *)", 96, 32)
    found = read(table(rows), of, DOUBT)
    check(found == {("work", "loads", 0): 32, ("work", "smsp__inst_op_st", 0): 32,
                    ("other", "loads", 0): 96, ("other", "smsp__inst_op_st", 0): 32}, f"{found}")
    refused(table(launch(0, "work", 32, 32, block="(96, 1, 1)")), of, "ncu.csv:2:1",
            "no point of work with 768 threads")


@test
def values():
    """only counts are values: 40 digits, fractions, odd commas and scaled units are refused"""
    rows = whole()

    def changed(value, unit="inst"):
        return table([row(0, "work(int *, int)", NAMES[0], value, unit), *rows[1:]])
    of = campaign("1024")
    for value in ("1" * 40, "18446744073709551616", "18,446,744,073,709,551,616",
                  "9007199254740993", "9,007,199,254,740,993"):
        refused(changed(value), of, "ncu.csv:2:", "more than 2^53")
    for value in ("1.5", "1.00", "1e3", "-1", "1 024"):
        refused(changed(value), of, "ncu.csv:2:", "--print-units base")
    for value in ("10,24", "1,0240", ",024", "1024,", "1,,024", "1024,000",
                  "0,123", "012,345"):
        refused(changed(value), of, "ncu.csv:2:", "groups of three")
    for unit in ("Kinst", "Mbyte", "us", "kinst", "usecond", "%", "inst/cycle"):
        refused(changed("1", unit), of, "ncu.csv:2:", "--print-units base")
    # a value that ncu could not get is missing, and said to be
    result = evaluate(changed("n/a"), of, (FINE, DOUBT))
    check(len(result["rows"]) == 5 and "1 values not available" in result["configuration"]["ncu"],
          f"{result['configuration']}")
    for unit in ("", "inst", "byte", "sector", "thread"):
        found = read(changed("9,007,199,254,740,992", unit), of, DOUBT)
        check(found["one", "loads", 0] == 2**53, f"{found}")


@test
def one_process_and_device():
    """launches of two processes, devices or capabilities are refused by name, those of other
    kernels are not; the configuration has the device"""
    of, rows = campaign("1024"), whole()
    for column, name, what, was in ((1, "8", "process", "7"), (9, "1", "device", "0"),
                                    (10, "8.0", "compute capability", "9.0")):
        changed = [[name if i == column and r[0] == "2" else c for i, c in enumerate(r)]
                   for r in rows]
        refused(table(changed), of, "ncu.csv:6:", f"more than one {what},",
                f"{was} above, here: {name}")
        other = [[name if i == column else c for i, c in enumerate(r)]
                 for r in launch(3, "foreign", 1, 2)]
        check(len(read(table(rows + other), of)) == 6, f"foreign {what}")
    result = evaluate(table(rows), of, FINE)["configuration"]
    check(result["GPU number"] == "0" and result["capability"] == "9.0", f"{result}")
    # two runs of ncu have two processes, but not two devices
    second = [[r[0], "8", *r[2:]] for r in rows]
    check(len(read(table(rows) + table(second), of)) == 12, "two runs")
    refused(table(rows) + table([[*r[:9], "1", *r[10:]] for r in second]), of,
            "more than one device")


@test
def cut_in_a_launch():
    """a file that ends within its last launch is refused, and the metric named that is missing"""
    of, lines = campaign("1024"), table(whole()).splitlines(keepends=True)
    refused("".join(lines[:-1]), of, "ncu.csv:6:1", "no smsp__inst_op_st", "cut off")
    refused("".join(lines[:2] + lines[3:]), of, "ncu.csv:3:1", "also smsp__inst_op_st")
    # before the next table as well
    refused("".join(lines[:-1] + lines), of, "ncu.csv:6:1", "no smsp__inst_op_st")


@test
def sums_only():
    """a metric without .sum is no reading: an event that has no other one is an error"""
    for form in ("smsp__inst_op_ld", "smsp__inst_op_ld.avg", "smsp__inst_op_ld.sum.per_second"):
        rows = [[*r[:12], form if r[12] == NAMES[0] else r[12], *r[13:]] for r in whole()]
        refused(table(rows), campaign("1024"), "only .sum of loads is a count", "ncu.csv:2:1")
    refused(table([r for r in whole() if r[12] == "other"]), campaign("1024"), "no launch")


@test
def incomplete_orders():
    """a launch too many or too few is refused: it would shift all that follow"""
    of, rows = campaign("1024"), whole(runs=2)
    refused(table([r for r in rows if r[0] != "4"]), of, "work was launched 3 times",
            "for 2 points")
    refused(table([r for r in rows if r[0] != "5"]), of, "amounts was launched 1 times",
            "not as often as work")
    refused(table(rows[::-1]), of, "not in the order")
    refused(table([*rows[:1], row(0, "work(int *, int)", NAMES[0], "1"), *rows[1:]]), of,
            "another value of loads")


@test
def tables():
    """wrong tables have a line: the raw page, a row that was cut, a text without rows"""
    of, text = campaign("1024"), table(whole())
    raw = [HEAD[:11] + [NAMES[0]], ["0"] * 12]
    refused(table(raw[1:], raw[0]), of, "ncu.csv:1:", "--page details")
    refused(text[:-2], of, "ncu.csv:7:", "no closing quote")
    refused(text[:-4], of, "ncu.csv:7:", "cut off")
    refused(text[:text.rindex(",")], of, "ncu.csv:7:", "not as many cells")
    refused(table([]), of, "no launch")
    # the tables of two runs of ncu, whose numbers begin again
    found = read(text + "==PROF== Connected\n" + text, of)
    check(len(found) == 12, f"{found}")
    # which may have counted other metrics
    parts = [table([r for r in whole() if r[12] == name]) for name in NAMES]
    found = read("".join(parts), of)
    check(len(found) == 6 and found["two", "loads", 0] == 3072, f"{found}")
    # an older ncu has no sizes: the order alone decides
    short = [HEAD[:7] + HEAD[11:], *([*r[:7], *r[11:]] for r in whole())]
    check(len(read(table(short[1:], short[0]), of)) == 6, "without sizes")


if __name__ == "__main__":
    sys.exit(harness.main())
