#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: PYTHONPATH=BUILD/python test-python.py BUILD: the package perfctr. Prints TAP."""

import ctypes
import json
import os
import pathlib
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import capture_bytes as cb
import harness
from harness import check, run, test

import numpy
import pandas
import perfctr

TOP = pathlib.Path(__file__).resolve().parents[2]
START, REALTIME, MS = 10**12, 1_700_000_000 * 10**9, 10**6
HUGE = 2**64 - 1
SAMPLES = 300
EVENTS = "page-faults,task-clock"


class Work:
    build = folder = None


def path(name):
    return os.path.join(Work.folder, name)


def write(name, data):
    with open(path(name), "wb") as f:
        f.write(data)
    return path(name)


def head():
    parts = [cb.HEADER, cb.record(cb.TEXT, cb.texts("driver", "testdriver")),
             cb.record(cb.TEXT, cb.texts("command", "a \u2603 job")),
             cb.record(cb.SESSION, MS.to_bytes(8, "little") + bytes(24)),
             cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, 7)),
             cb.record(cb.REQUEST, cb.block_request(cb.GENERIC_PMU, 0, 1, pmu_type=20, config=3)),
             cb.record(cb.LABEL, (1).to_bytes(8, "little") + cb.texts("energy", "Joules", "0.25"))]
    parts += [cb.counter(cb.UNHEARD_OF, cb.SHADER, n, name, unit, level=name == "LEVEL")
              for n, (name, unit) in enumerate((("FRAGMENTS", "fragments"), ("BYTES", "bytes"),
                                                ("LEVEL", "queues")))]
    parts += [cb.metric(cb.UNHEARD_OF, cb.SHADER, "each", "bytes/fragment", "BYTES / FRAGMENTS"),
              cb.anchor(START, REALTIME)]
    return b"".join(parts)


def sample(seq, chance):
    values = {0: chance.randrange(2**chance.randrange(1, 60)), 1: chance.randrange(HUGE),
              2: -seq & HUGE}
    blocks = [cb.block(cb.SHADER, index, values, product=cb.UNHEARD_OF,
                       valid=5 if seq % 7 == index % 7 else None) for index in (0, 16)]
    blocks.append(cb.block(cb.GENERIC_PMU, 0, {0: seq}, product=cb.PERF_PMU,
                           pmu={"name": "power", "config": 3}))
    return cb.record(cb.SAMPLE, cb.sample(seq, START + seq * MS, START + (seq + 1) * MS, blocks,
                                          user_data=seq * 3))


def capture(count=SAMPLES):
    chance = random.Random(5)
    parts = [head(), *(sample(n, chance) for n in range(count))]
    parts += [cb.mark(*mark) for mark in (
        ("begin", "load", START), ("end", "load", START + 10 * MS), ("point", "now", START + MS),
        ("frame", "f", START + 20 * MS), ("frame", "f", START + 30 * MS),
        ("begin", "load", START + 40 * MS), ("end", "load", START + 45 * MS),
        ("begin", "draw", START + 10 * MS))]
    return b"".join([*parts, cb.anchor(START + count * MS, REALTIME + count * MS + 500),
                     cb.status(count)])


def tool(*words, status=0):
    return run(os.path.join(Work.build, "bin/perfctr"), *words, status=status).stdout


def raises(kind, text, call):
    """Whether the call fails so, and says why."""
    try:
        call()
    except kind as error:
        check(text in str(error), f"{error!r} does not say '{text}'")
        return
    raise AssertionError(f"no {kind.__name__}: {text}")


@test
def captures():
    """open(): each value of each sample as perfctr export has it, holes too, and the totals of
    perfctr report"""
    taken = perfctr.open(write("a.cap", capture()))
    lines = [json.loads(line) for line in tool("export", "-j", path("a.cap")).splitlines()]
    samples = [line for line in lines if line["record"] == "sample"]
    check(len(taken.table) == len(samples) == SAMPLES, "rows")
    for name in samples[0]["counters"]:
        check(list(taken.table[name]) == [s["counters"][name] for s in samples], name)
    for name in "seq", "start_ns", "end_ns", "end_realtime_ns", "user_data", "merged_periods":
        check(list(taken.table[name]) == [s[name] for s in samples], name)
    check(len(taken.table.columns) == len(samples[0]["counters"]) + 8, f"{taken.table.columns}")
    for key, per_block in ("counters", False), ("block_counters", True):
        totals = taken.totals(per_block)
        rows = json.loads(tool("report", "-j", "-A", path("a.cap")))[key]
        check({r["event"] for r in rows} == set(totals), f"events {list(totals)}")
        for row in rows:
            total = totals[row["event"]]
            check((total.value, total.unit, total.measured, total.missed) ==
                  (row["value"], row["unit"] or "", row["samples_measured"],
                   row["samples_missed"]), f"{total} is not {row}")
    check(taken.totals().metrics["metric:shader.each"].value ==
          json.loads(tool("report", "-j", path("a.cap")))["metrics"][0]["value"], "metric")
    energy = taken.table["power/energy/"]
    check((energy.unit, energy.scale, energy.total()) ==
          ("Joules", 0.25, SAMPLES * (SAMPLES - 1) // 2), "scale")
    check(taken.totals().span.samples == SAMPLES and taken.period_ns == MS and taken.complete and
          taken.driver == "testdriver" and taken.texts["command"] == "a \u2603 job", "facts")


@test
def exact_sums():
    """Column.total(): beyond 64 bits; of a level the last value, negative ones too"""
    table = perfctr.open(path("a.cap")).table
    values = [v for v in table["shader0/BYTES"] if v is not None]
    check(table["shader0/BYTES"].total() == sum(values) > 2**64, "sum")
    check(table["shader0/BYTES"].missing == SAMPLES - len(values) > 0, "holes")
    check(table["shader0/LEVEL"].total() == 1 - SAMPLES, "level")


@test
def without_a_copy():
    """numpy, pandas and memoryview have the column's own memory, which stays when all else is gone
    and cannot be written"""
    taken = perfctr.open(path("a.cap"))
    column = taken.table["shader0/FRAGMENTS"]
    array = numpy.asarray(column)
    check(array.dtype == numpy.uint64 and array.tolist() == list(column), "values")
    check(array.ctypes.data == numpy.asarray(column).ctypes.data and not array.flags.writeable and
          not array.flags.owndata, "a copy")
    check(numpy.asarray(taken.table["flags"]).dtype == numpy.uint32 and
          numpy.asarray(taken.table["shader0/LEVEL"]).tolist() == [-n for n in range(SAMPLES)],
          "types")
    raises(TypeError, "not writable",
           lambda: (ctypes.c_uint64 * 3).from_buffer(perfctr.open(path("a.cap")).table["seq"]))
    series = pandas.Series(array, copy=False)
    check(numpy.shares_memory(series.to_numpy(), array), "pandas copies")
    expected = sum(list(column))
    del column, taken
    check(int(series.sum()) == expected % 2**64 and memoryview(array)[0] == array[0], "memory")
    valid = perfctr.open(path("a.cap")).table["shader0/BYTES"]
    bits = numpy.unpackbits(numpy.frombuffer(valid.valid, numpy.uint8), bitorder="little")
    check([bool(bit) for bit in bits[:SAMPLES]] == [v is not None for v in valid], "valid")


class ArrowArray(ctypes.Structure):
    """Arrow's C data interface"""


ArrowArray._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers",
                                          "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))), ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))), ("private", ctypes.c_void_p)]


class ArrowSchema(ctypes.Structure):
    """The same for types."""

    _fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p),
                ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
                ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p)]


def pointed(capsule, name, kind):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return ctypes.cast(get(capsule, name), ctypes.POINTER(kind))


@test
def arrow():
    """Arrow's C data interface: structure, types, values and holes; released by who takes it, and
    without; pyarrow too, if it is there"""
    table = perfctr.open(path("a.cap")).table
    schema, array = table.__arrow_c_array__()
    s = pointed(schema, b"arrow_schema", ArrowSchema)[0]
    a = pointed(array, b"arrow_array", ArrowArray)
    check((s.format, s.n_children, a[0].n_children, a[0].length) ==
          (b"+s", len(table.columns), len(table.columns), SAMPLES), "structure")
    for n, (name, column) in enumerate(table.columns.items()):
        child = a[0].children[n][0]
        single = column.__arrow_c_array__()
        kind = pointed(single[0], b"arrow_schema", ArrowSchema)[0]
        check((child.length, child.null_count, child.n_buffers) == (SAMPLES, column.missing, 2),
              name)
        check(kind.format.decode() == {"flags": "I", "merged_periods": "I", "shader0/LEVEL": "l",
                                       "shader16/LEVEL": "l"}.get(name, "L") and
              kind.name.decode() == name, f"{kind.format} {kind.name}")
        check(child.buffers[1] == numpy.asarray(column).ctypes.data, f"{name} was copied")
        if column.missing:
            bits = ctypes.string_at(child.buffers[0], (SAMPLES + 7) // 8)
            check(bits == column.valid, f"{name} holes")
    release = a[0].release
    release(a)
    check(not a[0].release, "released, and not marked so")
    del schema, array
    try:
        import pyarrow  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("# no pyarrow")
        return
    batch = pyarrow.record_batch(table)
    check(batch.num_rows == SAMPLES and batch.column("shader0/BYTES").null_count > 0 and
          batch.column("shader0/BYTES").to_pylist() == list(table["shader0/BYTES"]), "pyarrow")
    check(batch.column("seq").buffers()[1].address ==
          numpy.asarray(table["seq"]).ctypes.data, "pyarrow copies")


@test
def marks():
    """marks as points, frames and phases"""
    found = [(m.kind, m.name, m.start_ns - START, m.end_ns and m.end_ns - START)
             for m in perfctr.open(path("a.cap")).marks]
    check(found == [("phase", "load", 0, 10 * MS), ("point", "now", MS, MS),
                    ("phase", "draw", 10 * MS, None), ("frame", "f", 20 * MS, 30 * MS),
                    ("phase", "load", 40 * MS, 45 * MS)],
          f"{found}")
    program = "import perfctr\nwith perfctr.phase('busy'):\n  perfctr.point('in')\n"
    run(os.path.join(Work.build, "bin/perfctr"), "record", "-q", "-d", "local", "-e", EVENTS, "-o",
        path("m.cap"), "--", sys.executable, "-c", program,
        env={**os.environ, "PYTHONPATH": os.path.join(Work.build, "python")})
    check([(m.kind, m.name) for m in perfctr.open(path("m.cap")).marks] ==
          [("phase", "busy"), ("point", "in")], "marks of a program")
    check(not perfctr.point("nobody records"), "recorded")


@test
def marks_as_report():
    """marks are paired as by perfctr report: those of other threads and processes, of a shell, of
    a flight recorder and of a later part"""
    perfctr_path = os.path.join(Work.build, "bin/perfctr")
    shell = f"{perfctr_path} mark -b x; {perfctr_path} mark -f f; {perfctr_path} mark -e x; " + \
        f"{perfctr_path} mark -f f"
    run(perfctr_path, "record", "-q", "-d", "local", "-e", EVENTS, "-o", path("s.cap"), "--", "sh",
        "-c", shell)
    check({(m.kind, m.name, m.end_ns > m.start_ns) for m in perfctr.open(path("s.cap")).marks} ==
          {("phase", "x", True), ("frame", "f", True)}, "marks of a shell")
    chance = random.Random(8)
    for number in range(60):
        late = [(), ("flight_ns", "1000"), ("part", "1"), ("part", "2")][number % 4]
        parts = [cb.record(cb.TEXT, cb.texts(*late))] if late else []
        parts += [cb.mark(chance.choice(("point", "frame", "begin", "end")), chance.choice("ab"),
                          START + chance.randrange(-5, 25) * MS // 2, tid=chance.randrange(3),
                          pid=chance.randrange(2), lost=chance.randrange(2)) for _ in range(20)]
        name = write("random.cap", head() + b"".join(sample(n, chance) for n in range(10)) +
                     b"".join(parts) + cb.status(10))
        report, taken = json.loads(tool("report", "-j", name)), perfctr.open(name)
        check([m._asdict() for m in taken.marks] == report["marks"],
              f"{number}: {taken.marks} is not {report['marks']}")
        check(taken.marks_lost == report["capture"]["marks_lost"] > 0, f"{taken.marks_lost}")


def of_other(kind, content):
    return cb.record(cb.OF_SESSION, struct.pack("<II", 1, kind) + content)


@test
def sessions_of_a_capture():
    """a capture of several devices: all are named as by perfctr report, each can be read, and
    open() warns that there are others"""
    chance = random.Random(4)
    body = [sample(n, chance) for n in range(30)]
    parts = [head(), cb.record(cb.TEXT, cb.texts("path", "/dev/dri/renderD128")),
             of_other(cb.TEXT, cb.texts("driver", "otherdriver")),
             of_other(cb.TEXT, cb.texts("path", "/dev/dri/render D129")),
             of_other(cb.SESSION, (5 * MS).to_bytes(8, "little") + bytes(24)),
             of_other(cb.REQUEST, cb.block_request(cb.GENERIC_PMU, 0, 1, pmu_type=20, config=3))]
    for n, one in enumerate(body):
        parts += [one, of_other(cb.SAMPLE, cb.sample(n, START + n * MS, START + (n + 1) * MS, [
            cb.block(cb.GENERIC_PMU, 0, {0: 2}, product=cb.PERF_PMU,
                     pmu={"name": "power", "config": 3})]))]
    two = write("two.cap", b"".join([*parts, cb.status(30),
                                     of_other(*cb.content_of(cb.status(30)))]))
    reports = json.loads(tool("report", "-j", two))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        taken = perfctr.open(two)
    check(len(warned) == 1 and "2 sessions" in str(warned[0].message), f"{warned}")
    check(taken.sessions == [r["capture"]["device"]["node"] for r in reports], f"{taken.sessions}")
    for number, report in enumerate(reports):
        for which in number, taken.sessions[number]:
            one = perfctr.open(two, which)
            check({f"{one.session}:{t.event}": t.value for t in one.totals().values()} ==
                  {c["event"]: c["value"] for c in report["counters"]}, f"{one.totals()}")
            check((one.driver, len(one.table), one.complete, one.period_ns) ==
                  (report["capture"]["device"]["driver"], 30, True,
                   report["capture"]["period_ns"]), f"{one.driver}")
    for which in 2, "nope":
        raises(ValueError, "which has renderD128, render?D129",
               lambda w=which: perfctr.open(two, w))
    raises(ValueError, "not -1", lambda: perfctr.open(two, -1))
    check(perfctr.open(path("a.cap"), 0).sessions == ["device0"], "a single one")


@test
def compressed():
    """a capture that zstd or gzip compressed, cut off too, and one out of a pipe"""
    whole = capture(100)
    plain = perfctr.open(write("plain.cap", whole))
    for packer in "zstd", "gzip":
        packed = subprocess.run([packer, "-c"], input=whole, stdout=subprocess.PIPE,
                                check=True).stdout
        taken = perfctr.open(write("packed.cap", packed))
        check(list(taken.table["shader0/BYTES"]) == list(plain.table["shader0/BYTES"]) and
              taken.totals() == plain.totals() and taken.complete, packer)
        raises(OSError, f"{packer} cannot unpack it",
               lambda data=packed: perfctr.open(write("packed.cap", data[:9])))
    first, second = (subprocess.run(["zstd", "-c"], input=part, stdout=subprocess.PIPE,
                                    check=True).stdout for part in (whole[:4000], whole[4000:]))
    cut = perfctr.open(write("packed.cap", first + second[:-20]))
    report = json.loads(tool("report", "-j", path("packed.cap")))["capture"]
    check(cut.cut_bytes == report["cut_bytes"] == len(second) - 20 and not cut.complete and
          0 < len(cut.table) == report["samples"], f"{cut.cut_bytes}")
    run(os.path.join(Work.build, "bin/perfctr"), "record", "-q", "-z", "-d", "local", "-e", EVENTS,
        "-o", path("z.cap"), "--", "true")
    check(perfctr.open(path("z.cap")).totals()["software/task-clock/"].value > 0, "record -z")
    reading, writing = os.pipe()
    thread = threading.Thread(target=lambda: os.fdopen(writing, "wb").write(whole))
    thread.start()
    check(len(perfctr.open(f"/dev/fd/{reading}").table) == 100, "a pipe")
    thread.join()
    os.close(reading)


@test
def impossible_numbers():
    """what perfctr report refuses is refused: samples, anchors, a period; times of day that are not
    known are None"""
    chance = random.Random(6)
    body = [sample(n, chance) for n in range(20)]
    strange = [cb.anchor(0, REALTIME), cb.anchor(START - 1, REALTIME + 10**15),
               cb.anchor(START, 2**63), body[3],
               cb.record(cb.SAMPLE, cb.sample(10**6, START + 20 * MS, START + 21 * MS, []))]
    name = write("strange.cap", head() + b"".join(body + strange) + cb.status(20))
    report, taken = json.loads(tool("report", "-j", name, status=1)), perfctr.open(name)
    check(taken.bad_samples == report["capture"]["bad_samples"] == 2 and len(taken.table) == 20,
          f"{taken.bad_samples}")
    check(taken.bad_numbers and report["capture"]["bad_numbers"] and len(taken.anchors) == 1,
          f"{taken.anchors}")
    check(list(taken.table["end_realtime_ns"]) == [REALTIME + (n + 1) * MS for n in range(20)],
          "times by anchors that are none")
    later = head().replace(cb.anchor(START, REALTIME), cb.anchor(START + 5 * MS, 3 * MS))
    times = perfctr.open(write("later.cap", later + b"".join(body))).table["end_realtime_ns"]
    check(times[:4] == [None, 0, MS, 2 * MS] and times.missing == 1, f"{times[:4]}")
    long = head().replace(MS.to_bytes(8, "little") + bytes(24), HUGE.to_bytes(8, "little") +
                          bytes(24))
    taken = perfctr.open(write("long.cap", long + b"".join(body)))
    check(taken.period_ns == 0 and taken.bad_numbers, f"{taken.period_ns}")


@test
def multiplexed():
    """totals of counters that took turns, as perfctr report has them: None for what never ran"""
    states = 1 | 1 << 6
    parts = [head()]
    for n in range(10):
        blocks = [cb.block(cb.GENERIC_PMU, index, {0: count}, product=cb.PERF_PMU, states=state,
                           pmu={"name": "power", "config": index, "running": ran},
                           running={0: ran})
                  for index, count, ran, state in ((0, 0, 0, states), (1, 7, 250, states),
                                                   (2, 7, 1000, states), (3, 7, 250, 1),
                                                   (4, 7, 250, states | 1 << 1))]
        parts.append(cb.record(cb.SAMPLE, cb.sample(n, START + n * MS, START + (n + 1) * MS,
                                                    blocks)))
    name = write("turns.cap", b"".join([*parts, cb.status(10)]))
    totals, rows = perfctr.open(name).totals(), json.loads(tool("report", "-j", name))["counters"]
    check(len(rows) == len(totals) == 5, f"{rows}")
    for row in rows:
        t = totals[row["event"]]
        check((t.value is None) == (row["state"] != "ok") and t.rate == row["rate"] and
              100 * t.running == row["running_percent"], f"{t} is not {row}")
    none = [t for t in totals.values() if t.value is None]
    check(len(none) == 1 and {none[0].number, none[0].rate, none[0].minimum, none[0].maximum} ==
          {None} and none[0].running == 0, f"{none}")


@test
def containers():
    """a table is iterated by its columns' names, a column has slices and negative rows"""
    table = perfctr.open(path("a.cap")).table
    check(list(table) == list(table.columns) and "seq" in table and "nonsense" not in table and
          len(table) == SAMPLES, "table")
    column = table["shader0/BYTES"]
    values = list(column)
    for part in (slice(3, 40), slice(None), slice(-5, None), slice(50, 2, -7), slice(9, 9),
                 slice(0, 10**6)):
        check(column[part] == values[part], f"{part}")
    check(column[-1] == values[-1] and None in column, "negative")
    raises(IndexError, "row -1 of 300", lambda: column[-SAMPLES - 1])
    raises(TypeError, "", lambda: column["a"])


@test
def damage():
    """open() of anything: a text that says what is wrong, or what could be read"""
    whole = capture(20)
    cut = perfctr.open(write("cut.cap", whole[:-200]))
    check(0 < len(cut.table) <= 20 and not cut.complete and cut.cut_bytes, "cut")
    bad = perfctr.open(write("bad.cap", whole + struct.pack("<II", 3, 16)))
    check("damaged at byte" in bad.damage and len(bad.table) == 20 and not bad.complete,
          f"{bad.damage}")
    other = cb.record(cb.SAMPLE, cb.sample(21, START + 21 * MS, START + 22 * MS, [
        cb.block(cb.SHADER, 1, {0: 1}, product=cb.UNHEARD_OF)]))
    odd = perfctr.open(write("odd.cap", whole + other + struct.pack(
        "<II", 16, cb.SAMPLE) + bytes(8)))
    check(odd.bad_samples == 2 and len(odd.table) == 20, f"{odd.bad_samples}")
    twice = [cb.block(cb.GENERIC_PMU, 0, {0: 1}, product=cb.PERF_PMU,
                      pmu={"name": "power", "config": 3})] * 2
    evil = perfctr.open(write("evil.cap", head() + b"".join(
        cb.record(cb.SAMPLE, cb.sample(n, START + n * MS, START + (n + 1) * MS, twice))
        for n in range(500))))
    check(evil.bad_samples == 500 and len(evil.table) == 0 and len(evil.table.columns) == 8 and
          {len(c) for c in evil.table.columns.values()} == {0}, f"{evil.bad_samples}")
    chance = random.Random(9)
    after = perfctr.open(write("after.cap", head() + cb.record(cb.SAMPLE, cb.sample(
        0, START, START + MS, twice)) + b"".join(sample(n, chance) for n in range(1, 20))))
    check((after.bad_samples, len(after.table)) == (1, 19), "what a bad first sample leaves")
    huge = [cb.block(cb.SHADER, 0, {0: 10**12, 1: 1, 2: 1}, product=cb.UNHEARD_OF),
            cb.block(cb.SHADER, 7, {0: 1, 1: 1, 2: 1}, product=cb.UNHEARD_OF)]
    missed = [cb.block(cb.SHADER, index, {0: 3, 1: 3, 2: 3}, product=cb.UNHEARD_OF, valid=valid)
              for index, valid in ((0, 6), (16, 7))]
    stale = perfctr.open(write("stale.cap", head() + sample(0, chance) + b"".join(
        cb.record(cb.SAMPLE, cb.sample(n, START + n * MS, START + (n + 1) * MS, blocks))
        for n, blocks in ((1, huge), (2, missed)))))
    column = stale.table["shader0/FRAGMENTS"]
    check(stale.bad_samples == 1 and list(column)[1:] == [None] and
          numpy.asarray(column)[1] == 0 and column.total() == column[0],
          f"{list(column)}, {numpy.asarray(column)}")
    empty = perfctr.open(write("empty.cap", cb.HEADER))
    check(len(empty.table) == 0 and not empty.totals(), "empty")
    chance = random.Random(3)
    for _ in range(300):
        wild = bytearray(whole)
        for _ in range(chance.randrange(1, 9)):
            wild[chance.randrange(16, len(wild))] = chance.randrange(256)
        table = perfctr.open(write("wild.cap", bytes(wild))).table
        check(len(table) <= 20 and all(len(list(c)) == len(table) for c in table.columns.values()),
              "rows")
    raises(FileNotFoundError, "nowhere", lambda: perfctr.open(path("nowhere")))
    raises(FileNotFoundError, "\\udcff", lambda: perfctr.open(b"/nowhere/\xff"))
    raises(OSError, "this is no capture file", lambda: perfctr.open(__file__))
    raises(KeyError, "columns has the names", lambda: empty.table["nonsense"])
    raises(IndexError, "row 0 of 0", lambda: empty.table["seq"][0])


@test
def sessions():
    """Session: totals of this process, samples as columns, errors that say what is wrong"""
    with perfctr.Session(EVENTS, device="local", pid=os.getpid(), period=0.005) as session:
        pages = bytearray(40 << 20)
        pages[::4096] = b"\1" * (len(pages) // 4096)
        session.run(0.1)
    totals, table = session.totals(), session.table()
    check(totals["software/page-faults/"].value >= 1000 and totals["software/page-faults/"].value ==
          table["software/page-faults/"].total(), f"{totals}")
    check(totals["software/task-clock/"].unit == "ns" and totals.span.samples == len(table) > 5 and
          session.status()["published"] == len(table), f"{totals.span}")
    check(numpy.all(numpy.diff(numpy.asarray(table["seq"])) == 1) and len(session.table()) == 0,
          "rows")
    session.close()
    raises(ValueError, "the session is closed", session.read)
    few = perfctr.Session([EVENTS], device="local", pid=os.getpid(), columns=False)
    few.start(7)
    few.sample(8)
    few.stop(9)
    check(few.totals().span.samples == 2, "samples by hand")
    raises(ValueError, "columns=False", few.table)
    raises(OSError, "", few.stop)
    for kind, text, arguments in (
            (ValueError, "nonsense", {"events": "nonsense", "device": "local"}),
            (OSError, 'no device "nope"', {"events": EVENTS, "device": "nope"}),
            (ValueError, "not -1", {"events": EVENTS, "device": "local", "period": -1}),
            (ValueError, "not -7", {"events": EVENTS, "device": "local", "pid": -7}),
            (ValueError, "not both", {"events": EVENTS, "device": "local", "pid": 1,
                                      "cgroup": "/sys/fs/cgroup"}),
            (OSError, "no device", {"events": EVENTS, "device": b"no\xff"}),
            (FileNotFoundError, "", {"events": EVENTS, "device": "local", "cgroup": b"/\xff"}),
            (ValueError, "not nan", {"events": EVENTS, "device": "local", "period": float("nan")}),
            (FileNotFoundError, "", {"events": EVENTS, "device": "local", "cgroup": "/nope"})):
        raises(kind, text, lambda a=arguments: perfctr.Session(**a))
    raises(ValueError, "from 0 on", lambda: few.wait(-1))
    raises(ValueError, "1 to 127 bytes", lambda: perfctr.point(""))
    check(all(set(d) == {"path", "driver", "name", "error"} for d in perfctr.devices()), "devices")


@test
def waiting():
    """wait(): other threads run and stop the session meanwhile; signals end it; one may wait"""
    session = perfctr.Session(EVENTS, device="local", pid=os.getpid())
    session.start()
    results, ticks = [], 0
    waiter = threading.Thread(target=lambda: results.append(session.wait(20)))
    waiter.start()
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        ticks += 1
    check(ticks > 1000 and waiter.is_alive(), f"{ticks} rounds beside a thread that waits")
    for call in session.read, session.table, session.close, session.wait:
        raises(RuntimeError, "a thread waits", call)
    session.stop()
    waiter.join(20)
    check(results == [True] and session.read() == 1 and not session.wait(0.1), f"{results}")
    session = perfctr.Session(EVENTS, device="local", pid=os.getpid())
    session.start()

    def interrupt(number, frame):
        raise KeyboardInterrupt
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    begin = time.monotonic()
    raises(KeyboardInterrupt, "", lambda: session.wait(20))
    check(time.monotonic() - begin < 10 and not session.wait(0), "not interrupted")
    rung = []
    signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    begin = time.monotonic()
    check(not session.wait(0.5) and rung and time.monotonic() - begin >= 0.5, "a handler returns")
    signal.signal(signal.SIGALRM, lambda number, frame: session.close())
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    raises(RuntimeError, "a thread waits", lambda: session.wait(20))

    def beside(number, frame):
        other = threading.Thread(target=lambda: raises(RuntimeError, "a thread", session.close))
        other.start()
        other.join()
        session.stop()
    signal.signal(signal.SIGALRM, beside)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    check(session.wait(20) and session.read() == 1, "a handler stops the session")
    signal.signal(signal.SIGALRM, before)

    class Closes:
        """a number whose use closes the session"""
        def __float__(self):
            session.close()
            return 1.0

        def __bool__(self):
            return bool(float(self))
    for name in "wait", "totals":
        session = perfctr.Session(EVENTS, device="local", pid=os.getpid())
        raises(ValueError, "the session is closed", lambda n=name: getattr(session, n)(Closes()))


@test
def device_gone():
    """wait() and run() of a device that is gone: all samples, then an error, not a busy loop"""
    def rings():
        lines = pathlib.Path("/proc/self/maps").read_text(encoding="ascii").split("\n")
        return {int(line.split("-")[0], 16) for line in lines
                if "perfctr-ring" in line and line.split()[1:3] == ["rw-s", "00000000"]}
    before = rings()
    session = perfctr.Session(EVENTS, device="local", pid=os.getpid())
    session.start()
    session.sample()
    for ring in rings() - before:
        # member state of struct drm_perfctr_ring_control: DRM_PERFCTR_RING_DEAD
        ctypes.c_uint32.from_address(ring + 68).value |= 2
    raises(OSError, "the device is gone", lambda: session.run(20))
    check(session.totals().span.samples == 1, f"{session.totals().span}")


@test
def as_fast_as_report():
    """a capture into columns takes no more CPU time than perfctr report"""
    body = capture(1000)[len(head()):]
    one = sample(0, random.Random(1))
    with open(path("large.cap"), "wb") as f:
        f.write(head())
        for seq in range(60000):
            # sequence number and times of the sample's header
            f.write(one[:16] + struct.pack("<QQQ", seq, START + seq * MS, START + (seq + 1) * MS) +
                    one[40:])
    del body

    def cpu(*command):
        child = os.posix_spawn(command[0], command, os.environ, file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
        _, status, usage = os.wait4(child, 0)
        check(os.waitstatus_to_exitcode(status) == 0, f"{command}")
        return usage.ru_utime + usage.ru_stime
    report = min(cpu(os.path.join(Work.build, "bin/perfctr"), "report", path("large.cap"))
                 for _ in range(3))
    empty = min(cpu(sys.executable, "-c", "import perfctr") for _ in range(3))
    program = f"import perfctr; assert len(perfctr.open({path('large.cap')!r}).table) == 60000"
    ours = min(cpu(sys.executable, "-c", program) for _ in range(3)) - empty
    print(f"# {ours:.3f} s, report {report:.3f} s")
    check(ours <= report, "slower than report")


@test
def notebook():
    """docs/python.ipynb runs, and its database has the sums of perfctr report"""
    with open(TOP / "docs/python.ipynb", encoding="utf-8") as f:
        cells = json.load(f)["cells"]
    os.rename(path("a.cap"), path("perfctr.capture"))
    os.chdir(Work.folder)
    names, before = {}, sys.stdout
    with open(path("said"), "w", encoding="utf-8") as sys.stdout:
        for cell in cells:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)  # pylint: disable=exec-used
    sys.stdout = before
    rows = {r["event"]: r for r in json.loads(tool("report", "-j", "-A", "perfctr.capture"))
            ["block_counters"]}
    with sqlite3.connect("samples.db") as base:
        found = base.execute('SELECT sum("shader0/FRAGMENTS"), count(*) FROM samples').fetchone()
    check(found == (rows["shader0/FRAGMENTS"]["value"], SAMPLES), f"{found}")
    of_each = names["frame"]["shader0/FRAGMENTS"]
    check(list(names["by_phase"].index) == ["load", "draw"] and
          names["by_phase"].loc["load", "shader0/FRAGMENTS"] ==
          of_each[:10].sum() + of_each[40:45].sum(), f"{names['by_phase']}")
    check("shader0/FRAGMENTS" in pathlib.Path("said").read_text(encoding="utf-8"), "output")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    Work.build = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as Work.folder:
        return harness.main()


if __name__ == "__main__":
    sys.exit(main())
