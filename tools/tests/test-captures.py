#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-captures.py PERFCTR BUILD: report, export and diff of generated captures. Prints
TAP."""

import csv
import difflib
import html
import html.parser
import importlib.util
import io
import itertools
import json
import math
import os
import random
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse
import xml.dom.minidom

import capture_bytes as cb
import fleet
import harness
import picture
from harness import check, test

HERE = os.path.dirname(os.path.abspath(__file__))
EXACT = 2**53 + 1
HUGE = 2**64 - 1
START = 10**12
REALTIME = 1_700_000_000 * 10**9
MS = 10**6
NAME = "cmd </script><b>&\"' \x07"


class Tools:
    perfctr = build = work = None


def run(*words, status=0, stdin=None):
    check(harness.jsonschema, "python3-jsonschema is missing: no JSON is compared with the schema")
    return harness.run(Tools.perfctr, *words, status=status, text=False, input=stdin)


def path(name):
    return os.path.join(Tools.work, name)


def head(product=cb.VSOC_CSF):
    """The records before the samples: two shader blocks and one event of a PMU."""
    parts = [cb.HEADER]
    parts += [cb.record(cb.TEXT, cb.texts("driver", "testdriver")),
              cb.record(cb.TEXT, cb.texts("command", NAME)),
              cb.record(cb.TEXT, cb.texts("host", "a,host"))]
    # period, flags, slots, sample_bytes, block_count, set, reserved
    parts.append(cb.record(cb.SESSION, (10 * MS).to_bytes(8, "little") + bytes(24)))
    parts.append(cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, 0x300)))
    parts.append(cb.record(cb.REQUEST,
                           cb.block_request(cb.GENERIC_PMU, 0, 1, pmu_type=20, config=3)))
    parts.append(cb.record(cb.LABEL,
                           (1).to_bytes(8, "little") + cb.texts("my-event", "Joules", "0.25")))
    parts += [cb.counter(product, cb.SHADER, 8, "EIGHT", "fragments"),
              cb.counter(product, cb.SHADER, 9, "LEVEL", "queues", level=True),
              cb.metric(product, cb.SHADER, "eights", "fragments/s", "EIGHT / elapsed_s")]
    parts.append(cb.anchor(START, REALTIME))
    return b"".join(parts)


def pmu_block(count, running=1000):
    return cb.block(cb.GENERIC_PMU, 0, {0: count}, product=cb.PERF_PMU,
                    states=1 | (64 if running < 1000 else 0),
                    pmu={"name": "power", "config": 3, "enabled": 1000, "running": running},
                    running={0: running})


def blocks(first, second, product=cb.UNHEARD_OF, valid=None):
    return [cb.block(cb.SHADER, 0, {8: first, 9: 3}, product=product),
            cb.block(cb.SHADER, 16, {8: second, 9: 4}, product=product, valid=valid), pmu_block(8)]


def unknown_device(finished=True):
    """Three samples of a product that no database has; the second is merged and lacks a counter."""
    parts = [head(cb.UNHEARD_OF)]
    t = START
    parts.append(cb.record(cb.SAMPLE, cb.sample(0, t, t + 10 * MS, blocks(EXACT, 1))))
    parts.append(cb.record(cb.SAMPLE, cb.sample(1, t + 10 * MS, t + 40 * MS,
                                                blocks(2, 0, valid=0x200), merged=2,
                                                flags=cb.PERIODIC | cb.STRETCHED, lost=500)))
    parts.append(cb.record(999, b"something newer"))
    parts.append(cb.record(cb.SAMPLE,
                           cb.sample(2, t + 40 * MS, t + 50 * MS, blocks(5, 7), flags=cb.FINAL)))
    if finished:
        parts += [cb.anchor(START + 50 * MS, REALTIME + 50 * MS), cb.status(3, merged=2, lost=500)]
    return b"".join(parts)


def write(name, data):
    with open(path(name), "wb") as f:
        f.write(data)
    return path(name)


def by_event(entries):
    return {e["event"] if "event" in e else e["metric"]: e for e in entries}


@test
def report_is_exact():
    """report --json: exact sums beyond 2^53, holes and losses of an unknown product"""
    result = json.loads(run("report", "-j", "-A", write("a.cap", unknown_device())).stdout)
    sums, single = by_event(result["counters"]), by_event(result["block_counters"])
    check(sums["shader/EIGHT"]["value"] == EXACT + 1 + 2 + 5 + 7, f"sum {sums['shader/EIGHT']}")
    check(single["shader0/EIGHT"]["value"] == EXACT + 7, "shader0")
    check(single["shader16/EIGHT"]["value"] == 8 and
          single["shader16/EIGHT"]["samples_missed"] == 1, "shader16")
    check(sums["shader/LEVEL"]["value"] == 7 and sums["shader/LEVEL"]["kind"] == "level",
          "levels do not add up")
    check(sums["shader/EIGHT"]["unit"] == "fragments" and
          sums["shader/EIGHT"]["rate_unit"] == "fragments/s", "unit")
    mine = [e for e in result["counters"] if e["counter"] == "my-event"][0]
    check(mine["value"] == 24 and mine["scaled_value"] == 6.0 and mine["unit"] == "Joules",
          f"scaled {mine}")
    rate = by_event(result["metrics"])["metric:shader.eights"]
    check(abs(rate["value"] - (EXACT + 15) / 0.05) < 1e4, f"metric {rate}")
    capture = result["capture"]
    check(capture["finished"] and capture["merged_periods"] == 2 and capture["lost_ns"] == 500,
          "trouble")
    check(capture["start_realtime_ns"] == REALTIME and capture["period_ns"] == 10 * MS, "time")
    check(len(result["notes"]) == 2, f"notes {result['notes']}")
    # of single samples: 7 of both shaders in 10 ms, 2 of one in 30 ms
    check(sums["shader/EIGHT"]["sample_min"] == 2 / 0.03,
          f"min {sums['shader/EIGHT']['sample_min']}")


@test
def means_are_between_their_extremes():
    """report --json: min <= mean <= max of counters and metrics, exactly, of random samples"""
    chance = random.Random(27)
    for number in range(40):
        parts, end, even = [head(cb.UNHEARD_OF)], START, number % 4 == 0
        parts.append(cb.metric(cb.UNHEARD_OF, cb.SHADER, "most", "", "max(EIGHT, 100 * LEVEL)"))
        for n in range(chance.randrange(1, 30)):
            span = chance.choice((10**7, 3, 77777777777, chance.randrange(1, 10**9)))
            # the same rate in each sample, or any
            counts = [span // 3 * 3] * 2 if even else [chance.randrange(2**chance.randrange(64))
                                                       for _ in range(2)]
            parts.append(cb.record(cb.SAMPLE, cb.sample(n, end, end + span, blocks(
                *counts, valid=chance.choice((0x300, 0x200, 0)))[:-1] +
                [pmu_block(chance.randrange(99), chance.choice((1, 300, 1000)))])))
            end += span + chance.choice((0, 0, 50))
        result = json.loads(run("report", "-j", "-A", write("mean.cap", b"".join(parts))).stdout)
        for e in sum((result[k] for k in ("counters", "metrics", "block_counters",
                                          "block_metrics")), []):
            values = [e["sample_min"], e["sample_mean"], e["sample_max"]]
            check(values == [None] * 3 or values == sorted(values), f"{number}: {e}")
            check(e.get("rate") in (None, e["sample_mean"]), f"another mean: {e}")


@test
def tables_fit_the_terminal():
    """report and diff in 40 columns: names are cut, notes wrapped, numbers complete"""
    capture = write("a.cap", unknown_device())
    more = [write(f"more{n}.cap", unknown_device()) for n in range(3)]
    for command in ("report", "-A"), ("diff", "-A", capture), \
            ("diff", "-A", *more[:2], "--against", more[2]):
        wide = run(*command, capture).stdout.decode()
        # two numbers of 21 digits need 42
        for columns in (200, 100, 80, 60, 40)[:4 if command == ("diff", "-A", capture) else 5]:
            lines = harness.lines_in_columns(columns, Tools.perfctr, *command, capture)
            for line in lines:
                # a path is one word
                check(len(line.rstrip()) <= columns or ".cap " in line,
                      f"{len(line)} of {columns}: '{line}'")
            check(columns < 200 or "\n".join(lines).split() == wide.split(),
                  "wide enough, and yet different")
            text = "\n".join(lines)
            for number in re.findall(r"[0-9,]{6,}", wide):
                check(number in text, f"{number} is not in {columns} columns: {text}")
    lines = harness.lines_in_columns(59, Tools.perfctr, "report", "-A", capture)
    check(any("shader16/EI\u2026" in line or "shader16/E\u2026" in line for line in lines),
          f"no name is cut: {lines}")


def mali(values):
    """A capture of two shader cores of a Mali-G610, whose samples have 1000 cycles each."""
    two = [cb.block(cb.SHADER, index, values, product=cb.MALI_V10) for index in range(2)]
    return b"".join([
        cb.HEADER, cb.record(cb.TEXT, cb.texts("driver", "testdriver")),
        cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, sum(1 << n for n in values))),
        *(cb.record(cb.SAMPLE, cb.sample(n, START + n * MS, START + (n + 1) * MS, two))
          for n in range(3)), cb.status(3)])


@test
def busiest_unit():
    """report, list: the unit of a GPU that limits, and what helps; no advice where another unit may
    limit"""
    fma, filtered = 27, 39
    for name, values, unit, said, advice in (
            ("tex", {fma: 100, 28: 200, 29: 10, filtered: 830}, "TEX",
             "TEX, 83 % of its cycles, of 2 of 8 units counted.", "The texture unit limits."),
            ("alu", {fma: 600, 28: 200, 29: 10, filtered: 530}, "ALU",
             "ALU, 81 % of its cycles, of 2 of 8 units counted.", "Arithmetic limits."),
            ("idle", {filtered: 499}, "TEX", None, ""), ("other", {8: 1000}, None, None, "")):
        with open(path(name), "wb") as f:
            f.write(mali(values))
        shown = run("report", path(name)).stdout.decode()
        busiest = json.loads(run("report", "-j", path(name)).stdout)["busiest"]
        page = run("report", "--html", path(name)).stdout.decode()
        check((busiest and busiest["unit"]) == unit, f"{name}: {busiest}")
        check(("busiest" in shown, "busiest unit: " in page) == (bool(said),) * 2, name)
        if said:
            text = " ".join(shown[shown.index(" busiest"):].split())
            check(f"busiest {said} {advice}" in text, text)
            check(f"busiest unit: {said} {advice}" in page, name)
        if busiest:
            check(busiest["advice"].startswith(advice) and bool(busiest["advice"]) == bool(advice),
                  busiest)
    units = json.loads(run("list", "-ja", "G610").stdout)["units"]
    check(len(units) == 8 and all(unit["advice"] for unit in units), units)
    check(b"units of mali_v10 (G310, G510, G610, G710):" in run("list", "-la", "G610").stdout,
          "list -l has no units")


@test
def names_are_kept():
    """report and diff: a counter requested with its block has its own row, else a sum"""
    def named(naming):
        old = cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, 0x300))
        new = b"".join(cb.record(cb.REQUEST, cb.block_request(cb.SHADER, index, 0x300))
                       for index in (0, 16))
        generic = cb.record(cb.REQUEST,
                            cb.block_request(cb.GENERIC_PMU, 0, 1, pmu_type=20, config=3))
        data = unknown_device()
        check(data.count(old + generic) == 1, "no requests in the file")
        # the label belongs to request 1
        return data.replace(old + generic, generic + generic + new + naming)

    def naming(number, single, summed):
        return cb.record(cb.NAMING,
                         b"".join(n.to_bytes(8, "little") for n in (number, single, summed)))

    def rows(name):
        result = json.loads(run("report", "-j", "-A", name).stdout)
        check([c["event"] for c in result["block_counters"]][:2] == ["shader0/EIGHT",
                                                                     "shader0/LEVEL"], "blocks")
        return {c["event"]: c for c in result["counters"] if c["block"].startswith("shader")}

    one = write("n1.cap", named(naming(2, 0x100, 0x200) + naming(3, 0, 0x200)))
    found = rows(one)
    check(list(found) == ["shader/LEVEL", "shader0/EIGHT"], f"{list(found)}")
    eight = found["shader0/EIGHT"]
    check(eight["value"] == EXACT + 7 and eight["sample_min"] == 2 / 0.03, f"{eight}")
    both = rows(write("n2.cap", named(naming(2, 0x100, 0x300) + naming(3, 0, 0x300))))
    check(list(both) == ["shader/EIGHT", "shader/LEVEL", "shader0/EIGHT"], f"{list(both)}")
    check(both["shader/EIGHT"]["value"] == EXACT + 15 and both["shader0/EIGHT"] == eight, f"{both}")
    check(both["shader/EIGHT"]["sample_min"] == 2 / 0.03, f"{both}")
    # recorded by an older version
    check(list(rows(write("n3.cap", named(b"")))) == ["shader/EIGHT", "shader/LEVEL"],
          "without names")
    changes = json.loads(run("diff", "-j", one, path("n2.cap")).stdout)["changes"]
    check({c["event"]: (c["a"] is None, c["b"] is None) for c in changes
           if "EIGHT" in c["event"]} ==
          {"shader0/EIGHT": (False, False), "shader/EIGHT": (True, False)}, f"{changes}")
    for form in ("--svg", "--html"):
        out = run("report", form, one).stdout.decode()
        check("shader0/EIGHT" in out, form)


@test
def text_is_fit_for_a_terminal():
    """report: complete totals, and no control characters of the file"""
    out = run("report", "-A", path("a.cap")).stdout.decode()
    # the sum, of which one block was measured in that sample, and the other block
    check(f"{EXACT + 15:,}" in out and out.count("not measured in 1 of 3 samples") == 2 and
          " of 4 samples" not in out, out)
    check("2 periods merged" in out and "2023-11-14 22:13:20 UTC" in out, out)
    check(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out), "control characters")
    check(all(len(line) < 200 for line in out.splitlines()), "lines too long")


@test
def cut_anywhere():
    """report of a truncated file: its complete samples, and a note that the end is missing"""
    data = unknown_device()
    first = data.index(cb.sample(0, START, START + 10 * MS, blocks(EXACT, 1)))
    seen = set()
    for size in range(16, len(data), 61):
        done = run("report", "-j", "-", stdin=data[:size])
        capture = json.loads(done.stdout)["capture"]
        seen.add(capture["samples"])
        check(not capture["finished"] and capture["damage"] is None, f"cut at {size}: {capture}")
        check(capture["samples"] == 0 or size > first, "samples from nowhere")
        check(b"perfctr report:" in done.stderr, "no message")
    check(seen == {0, 1, 2, 3}, f"samples {seen}")
    run("report", "-", stdin=data[:15], status=1)


@test
def damage_is_reported():
    """report of a damaged file: the samples before the damage, status 1"""
    data = bytearray(unknown_device())
    at = data.index((999).to_bytes(4, "little")) - 4
    data[at:at + 4] = b"\xff\xff\xff\xff"
    done = run("report", "-j", "-", stdin=bytes(data), status=1)
    capture = json.loads(done.stdout)["capture"]
    check(capture["samples"] == 2 and f"byte {at}" in capture["damage"], f"{capture}")
    # an invalid sample is left out
    data = bytearray(unknown_device())
    at = data.index(cb.sample(0, START, START + 10 * MS, blocks(EXACT, 1)))
    data[at + 4:at + 6] = b"\xff\xff"
    done = run("report", "-j", "-", stdin=bytes(data), status=1)
    check(json.loads(done.stdout)["capture"]["bad_samples"] == 1, "bad sample")


@test
def impossible_numbers_are_damage():
    """report and export of damaged numbers: left out and reported, never shown or added up"""
    def capture(seq=1, start=START + 10 * MS, end=START + 40 * MS, merged=2, lost=500, total=3,
                period=10 * MS, anchor=START, realtime=REALTIME):
        parts = [head(cb.UNHEARD_OF).replace((10 * MS).to_bytes(8, "little") + bytes(24),
                                             period.to_bytes(8, "little") + bytes(24))]
        parts += [cb.record(cb.SAMPLE, cb.sample(0, START, START + 10 * MS, blocks(1, 1))),
                  cb.record(cb.SAMPLE, cb.sample(seq, start, end, blocks(2, 2), merged=merged,
                                                 lost=lost)),
                  cb.record(cb.SAMPLE, cb.sample(2, START + 40 * MS, START + 50 * MS, blocks(3, 3),
                                                 flags=cb.FINAL)),
                  cb.anchor(anchor, realtime), cb.status(total, merged=2, lost=500)]
        return write("numbers.cap", b"".join(parts))

    absurd = 71776119061217314
    good = json.loads(run("report", "-j", capture()).stdout)["capture"]
    check(good["samples"] == 3 and good["missing_samples"] == 0 and not good["bad_numbers"],
          f"{good}")
    for change in ({"seq": absurd}, {"end": 2**63}, {"merged": 2**32 - 1}, {"lost": absurd},
                   {"start": absurd * 100, "end": absurd * 100 + 1}, {"total": absurd},
                   {"period": absurd * 100}, {"anchor": absurd * 100}, {"realtime": 2**63},
                   {"total": 1}, {"seq": 2**18}, {"merged": 2**18}):
        name = capture(**change)
        done = run("report", "-j", name, status=1)
        found = json.loads(done.stdout)["capture"]
        check(found["bad_samples"] + found["bad_numbers"] == 1, f"{change}: {found}")
        check(found["finished"] and b"numbers.cap: " in done.stderr, f"{change}: {done.stderr}")
        check(str(absurd)[:12] not in str(found), f"{change}: {found}")
        check(found["missing_samples"] == found["bad_samples"] and found["lost_ns"] in (0, 500) and
              found["samples_not_in_file"] == found["bad_samples"], f"{change}: {found}")
        for form in (("report",), ("report", "--html"), ("export", "-f", "csv"),
                     ("export", "-f", "json")):
            out = run(*form, name, status=1).stdout.decode()
            check(str(absurd)[:12] not in out.replace(",", ""), f"{change}: {form}")


@test
def metrics_of_unknown_types():
    """a metric of a type of blocks that only the recorder knew: all commands end well"""
    unknown = 0x7001
    name = write("type.cap", cb.HEADER + cb.counter(cb.UNHEARD_OF, unknown, 1, "NEW", "") +
                 cb.metric(cb.UNHEARD_OF, unknown, "twice", "", "NEW * 2") +
                 cb.anchor(START, REALTIME) +
                 cb.record(cb.SAMPLE, cb.sample(0, START, START + MS, [
                     cb.block(unknown, 0, {1: 21}, product=cb.UNHEARD_OF)])) + cb.status(1))
    metrics = json.loads(run("report", "-j", name).stdout)["metrics"]
    check([(m["metric"], m["value"]) for m in metrics] == [(f"metric:type{unknown}.twice", 42)],
          f"{metrics}")
    for words in (["report"], ["report", "-A"], ["report", "--svg"], ["report", "--html"],
                  ["diff", name], *(["export", "-f", f] for f in ("csv", "json"))):
        run(*words, name)
    run("export", "-f", "perfetto", "-o", path("type.pftrace"), name)


@test
def layouts_change():
    """samples whose blocks and counters differ: each has its own values, and no others"""
    chance = random.Random(6)
    parts = [cb.HEADER] + [cb.counter(cb.UNHEARD_OF, cb.SHADER, n, f"C{n}", "cycles")
                           for n in range(12)]
    parts += [cb.metric(cb.UNHEARD_OF, cb.SHADER, "both", "", "C1 + C2"),
              cb.anchor(START, REALTIME)]
    samples, last = [], {}
    for n in range(200):
        # cores and counters of each: those of the sample before, without its last core, or others
        if n % 3 == 1 and len(last) > 1:
            last.popitem()
        elif n % 3 == 0:
            last = {core: chance.sample(range(12), chance.randrange(13))
                    for core in chance.sample(range(4), chance.randrange(1, 5))}
        sample = {core: {c: chance.randrange(1000) for c in counters}
                  for core, counters in last.items()}
        samples.append(sample)
        parts.append(cb.record(cb.SAMPLE, cb.sample(
            n, START + n * MS, START + (n + 1) * MS,
            [cb.block(cb.SHADER, core, counters, product=cb.UNHEARD_OF)
             for core, counters in sample.items()])))
    parts.append(cb.status(200))
    name = write("layouts.cap", b"".join(parts))
    lines = [json.loads(line) for line in run("export", "-j", name).stdout.splitlines()][1:-1]
    check(len(lines) == len(samples), f"{len(lines)} lines")
    for line, sample in zip(lines, samples):
        wanted = {f"shader{core}/C{c}": count
                  for core, counters in sample.items() for c, count in counters.items()}
        check(line["counters"] == wanted, f"{line}, wanted {wanted}")
    rates = {f"shader/C{c}": [sum(core.get(c, 0) for core in s.values()) * 1000 for s in samples
                               if any(c in core for core in s.values())] for c in range(12)}
    rows = by_event(json.loads(run("report", "-j", name).stdout)["counters"])
    check(rows.keys() == {event for event, values in rates.items() if values}, f"{rows.keys()}")
    for event, row in rows.items():
        got = [row[f"sample_{k}"] for k in ("min", "mean", "max")]
        values = rates[event]
        check(got == [min(values), got[1], max(values)] and
              abs(got[1] - sum(values) / len(values)) < 1e-6, f"{event}: {got}")


@test
def exports_are_exact():
    """export csv and json: the same exact integers, no values that were not measured"""
    rows = list(csv.DictReader(io.StringIO(run("export", "-f", "csv",
                                               path("a.cap")).stdout.decode())))
    values = {(int(r["seq"]), r["event"]): r["value"] for r in rows}
    check(len(rows) == 3 * 7, f"{len(rows)} rows")
    check({(r["file"], r["host"], r["device"]) for r in rows} == {(path("a.cap"), "a,host", "")} and
          [r["end_realtime_ns"] for r in rows if r["event"] == "shader0/EIGHT"] ==
          [str(REALTIME + n * MS) for n in (10, 40, 50)], f"origin {rows[0]}")
    check([r["value"] for r in rows if r["event"].startswith("metric")] == [""] * 6, "metrics")
    check(values[0, "shader0/EIGHT"] == str(EXACT) and values[1, "shader16/EIGHT"] == "",
          f"{values}")
    check({r["flags"] for r in rows} == {"periodic", "periodic+stretched", "final"}, "flags")
    lines = [json.loads(l)
             for l in run("export", "--json", path("a.cap")).stdout.decode().splitlines()]
    check([l["record"] for l in lines] == ["capture"] + ["sample"] * 3 + ["end"], "records")
    units = {c["event"]: c["unit"] for c in lines[0]["columns"]}
    for line in lines[1:-1]:
        for event, value in line["counters"].items():
            check(values[line["seq"], event] == ("" if value is None else str(value)),
                  f"{event}: {value}")
            check(event in units, f"{event} has no column")
        for event, value in line["metrics"].items():
            row = [r for r in rows if int(r["seq"]) == line["seq"] and r["event"] == event][0]
            check(row["metric"] == "" if value is None else float(row["metric"]) == value,
                  f"{row}: {value}")
        check([line[key] for key in ("file", "host", "device")] == [path("a.cap"), "a,host", ""],
              "origin")
    check(lines[2]["counters"]["shader16/EIGHT"] is None and lines[2]["lost_ns"] == 500,
          "second sample")
    check(abs(lines[3]["metrics"]["metric:shader0.eights"] - 500) < 1e-6, f"{lines[3]['metrics']}")
    largest = head(cb.UNHEARD_OF) + cb.record(cb.SAMPLE,
                                              cb.sample(0, START, START + MS, blocks(HUGE, 0)))
    out = run("export", "-f", "csv", "-", stdin=largest).stdout.decode()
    check(str(HUGE) in out, "largest integer")
    run("export", "-f", "yaml", path("a.cap"), status=2)
    both = run("export", "-f", "csv", path("a.cap"), path("n1.cap")).stdout.decode()
    check(both.count("seq,") == 1 and len(both.splitlines()) == 1 + 6 * 7, "two captures")
    both = [json.loads(l) for l in
            run("export", "-j", path("a.cap"), path("n1.cap")).stdout.decode().splitlines()]
    check([l["record"] for l in both] == 2 * (["capture"] + ["sample"] * 3 + ["end"]), "two")
    names = [path("a.cap"), path("n1.cap")]
    check([r["capture"]["file"] for r in json.loads(run("report", "-j", *names).stdout)] == names,
          "reports")
    table = run("report", *names).stdout
    check(table.count(b" recorded ") == 2 and b" on         a,host\n" in table, "tables")
    run("report", "--html", *names, status=2)
    run("export", "-f", "perfetto", "-o", path("a.pftrace"), *names, status=2)
    run("diff", "-e", "nothing", *names, status=2)


def perfetto_classes():
    """The trace's messages, decoded by Python's protobuf, which shares no code with protobuf-c."""
    proto = os.path.join(HERE, "../perfctr/export")
    subprocess.run(["protoc", f"-I{proto}", f"--python_out={Tools.work}", "perfetto.proto"],
                   check=True)
    spec = importlib.util.spec_from_file_location("perfetto_pb2", path("perfetto_pb2.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def decode_trace(*options, capture="a.cap"):
    trace = perfetto_classes().Trace()
    run("export", "-f", "perfetto", *options, "-o", path("a.pftrace"), path(capture))
    with open(path("a.pftrace"), "rb") as f:
        trace.ParseFromString(f.read())
    return trace


@test
def perfetto_tracks():
    """export perfetto: a track with a unit per event of a PMU, values at the starts of samples"""
    trace = decode_trace()
    first = trace.packet[0]
    check(first.sequence_flags == 1 and first.trace_packet_defaults.timestamp_clock_id == 6,
          "defaults")
    check(len({p.trusted_packet_sequence_id for p in trace.packet}) == 1, "sequences")
    check({p.sequence_flags for p in trace.packet[1:]} == {2},
          "packets that need the defaults are not marked")
    snapshots = [{c.clock_id: c.timestamp for c in p.clock_snapshot.clocks} for p in trace.packet
                 if p.HasField("clock_snapshot")]
    check(snapshots[0] == {5: START, 64: START, 3: START + 5, 6: START + 1000, 1: REALTIME} and
          len(snapshots) == 2, f"clocks {snapshots}")
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet
              if p.HasField("track_descriptor")}
    names = {}
    for track in tracks.values():
        if track.HasField("counter"):
            names[tracks[track.parent_uuid].name, track.name] = track
    check(list(names) == [("power", "my-event")], f"tracks {list(names)}")
    track = names["power", "my-event"]
    check(track.counter.unit_name == track.counter.y_axis_share_key == "Joules/s", "unit")
    defined = set()
    for p in trace.packet:
        if p.HasField("track_descriptor"):
            check(p.track_descriptor.parent_uuid in defined or not p.track_descriptor.parent_uuid,
                  "unknown parent")
            defined.add(p.track_descriptor.uuid)
        elif p.HasField("track_event"):
            check(p.track_event.track_uuid in defined, "event before its track")
    points = [(p.timestamp - 1000, p.track_event.double_counter_value) for p in trace.packet
              if p.HasField("track_event") and p.track_event.track_uuid == track.uuid]
    check(points == [(START, 200.0), (START + 10 * MS, 2 / 0.03), (START + 40 * MS, 200.0),
                     (START + 50 * MS, 0.0)], f"points {points}")


def gpu_events(trace):
    return [p for p in trace.packet if p.HasField("gpu_counter_event")]


def gpu_points(trace, name):
    """[(time, value)] of a counter of the GPU, its description"""
    spec, = [spec for p in gpu_events(trace) for spec in
             p.gpu_counter_event.counter_descriptor.specs if spec.name == name]
    return [(p.timestamp - START - 1000,
             c.int_value if c.HasField("int_value") else c.double_value)
            for p in gpu_events(trace) for c in p.gpu_counter_event.counters
            if c.counter_id == spec.counter_id], spec


@test
def perfetto_gpu():
    """export perfetto: counters of a GPU with units, groups and blocks, values at the ends of
    samples, zeros before the first one and where none was taken"""
    paused = [head(cb.UNHEARD_OF), cb.record(cb.TEXT, cb.texts("path", "/dev/dri/renderD130"))]
    for n, start in enumerate((0, 10 * MS, 50 * MS)):
        paused.append(cb.record(cb.SAMPLE, cb.sample(n, START + start, START + start + 10 * MS,
                                                     blocks(n + 1, n + 2))))
    write("paused.cap", b"".join(paused))
    trace = decode_trace()
    points, spec = gpu_points(trace, "shader0/EIGHT")
    check(points == [(0, 0.0), (10 * MS, EXACT * 100.0), (40 * MS, 2 / 0.03), (50 * MS, 500.0)],
          f"points {points}")
    # fragments per second; FRAGMENTS; the value is of the time before
    check((list(spec.numerator_units), list(spec.denominator_units), list(spec.groups),
           spec.value_direction, spec.select_by_default) == ([39], [22], [3], 1, True), f"{spec}")
    check(spec.description == "short EIGHT, in fragments/s", spec.description)
    _, spec = gpu_points(trace, "shader16/LEVEL")
    check(not spec.numerator_units and not spec.denominator_units and
          spec.description == "short LEVEL, in queues", f"{spec}")
    described = [p.gpu_counter_event for p in gpu_events(trace)
                 if p.gpu_counter_event.HasField("counter_descriptor")]
    check(len(described) == 1 and described[0] == gpu_events(trace)[0].gpu_counter_event,
          "descriptors")
    names = {spec.counter_id: spec.name for spec in described[0].counter_descriptor.specs}
    expected = {label: [f"{label}/EIGHT", f"{label}/LEVEL", f"metric:{label}.eights"]
                for label in ("shader0", "shader16")}
    for part in "blocks", "counter_groups":
        found = {p.name: [names[n] for n in p.counter_ids]
                 for p in getattr(described[0].counter_descriptor, part)}
        check(found == expected, f"{part} {found}")
    gpus, = [p.gpu_info.gpus for p in trace.packet if p.HasField("gpu_info")]
    facts = {f.key: f.value for f in gpus[0].extra_info}
    check(len(gpus) == 1 and facts["driver"] == "testdriver" and facts["host"] == "a,host",
          f"{gpus}")
    trace = decode_trace("--counts", capture="paused.cap")
    points, _ = gpu_points(trace, "shader0/EIGHT")
    check(points == [(0, 0), (10 * MS, 1), (20 * MS, 2), (50 * MS, 0), (60 * MS, 3)],
          f"a pause {points}")
    check({p.gpu_counter_event.gpu_id for p in gpu_events(trace)} == {2}, "number of the GPU")
    check([len(p.gpu_info.gpus) for p in trace.packet if p.HasField("gpu_info")] == [3], "place")


def trace_ids(trace):
    return ({p.trusted_packet_sequence_id for p in trace.packet},
            {p.track_descriptor.uuid for p in trace.packet if p.HasField("track_descriptor")})


@test
def perfetto_ids():
    """export perfetto: ids are of the capture, the track and the unit; none is small"""
    copy = head(cb.UNHEARD_OF).replace(b"a,host", b"b,host")
    later = head(cb.UNHEARD_OF).replace(cb.anchor(START, REALTIME), cb.anchor(START, REALTIME + 1))
    body = unknown_device()[len(head(cb.UNHEARD_OF)):]
    write("host.cap", copy + body)
    write("later.cap", later + body)
    traces = [decode_trace(), decode_trace("--counts"), decode_trace(capture="host.cap"),
              decode_trace(capture="later.cap")]
    check(trace_ids(decode_trace()) == trace_ids(traces[0]), "ids change from export to export")
    sequences = set().union(*(trace_ids(t)[0] for t in traces))
    uuids = [trace_ids(t)[1] for t in traces]
    check(len(sequences) == 4 and min(sequences) >= 2**31, f"sequences {sequences}")
    check(len(uuids[0]) == 4 and len(set().union(*uuids)) == 16 and
          min(set().union(*uuids)) > 2**32, f"tracks {uuids}")
    counters = [{c.counter_id for p in gpu_events(t) for c in p.gpu_counter_event.counters}
                for t in traces]
    check(len(counters[0]) == 6 and len(set().union(*counters)) == 24, f"counters {counters}")


@test
def perfetto_of_a_suspended_machine():
    """export perfetto: times drift with the clock, and leap where the machine slept"""
    parts = [head(cb.UNHEARD_OF)]
    parts += [cb.record(cb.SAMPLE, cb.sample(n, START + n * 10 * MS, START + (n + 1) * 10 * MS,
                                             blocks(n + 1, 1))) for n in range(4)]
    # a drift of 2 us in 20 ms, then 8 hours of sleep
    slept = 8 * 3600 * 10**9
    for raw, drift, sleep in ((START + 20 * MS, 2000, 0), (START + 40 * MS, 4000, slept)):
        ns = raw + 5 + drift
        parts.append(cb.record(cb.ANCHOR, struct.pack("<QQQQQ", raw, ns, ns + 995 + sleep,
                                                      REALTIME, 10)))
    parts.append(cb.status(4))
    write("slept.cap", b"".join(parts))
    times = [p.timestamp - START - 1000 for p in gpu_events(decode_trace(capture="slept.cap"))
             if p.gpu_counter_event.counters]
    check(times == [0, 10 * MS + 1000, 20 * MS + 2000, 30 * MS + 2000, 40 * MS + 4000 + slept],
          f"times {times}")


@test
def perfetto_says_what_is_missing():
    """export perfetto: slices name merged, lost and unmeasured; --counts is exact"""
    trace = decode_trace("--counts")
    events = [p.track_event for p in trace.packet if p.HasField("track_event")]
    begins = [e for e in events if e.type == 1]
    notes = {a.name: (a.string_value or a.uint_value) for a in begins[0].debug_annotations}
    check(len(begins) == 1 and sum(e.type == 2 for e in events) == 1, f"slices {begins}")
    check(notes["not_measured"] == "shader16/EIGHT" and notes["merged_periods"] == 2 and
          notes["lost_ns"] == 500, f"notes {notes}")
    check(gpu_points(trace, "shader0/EIGHT")[0][1][1] == EXACT, "exact count")


class Page(html.parser.HTMLParser):
    """Elements of a page, and references to other files."""

    def __init__(self):
        super().__init__()
        self.loads, self.tags, self.data, self.text, self.inside = [], [], "", "", None

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        attrs = dict(attrs)
        self.inside = attrs.get("id") if tag == "script" else tag
        self.loads += [v for k,
                       v in attrs.items() if k in ("src", "href", "srcset", "data", "action")]

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "data":
            self.data += data
        elif self.inside not in ("script", "style", None):
            self.text += data


def read_page(*words):
    run("report", "--html", "-o", path("a.html"), *words)
    with open(path("a.html"), encoding="utf-8") as f:
        text = f.read()
    page = Page()
    page.feed(text)
    return page, text


@test
def page_is_self_contained():
    """report --html: loads nothing, escapes all names, has every total and every line"""
    page, text = read_page(path("a.cap"))
    check(not page.loads and not re.search(r"@import|url\(", text), f"loads {page.loads}")
    check("b" not in page.tags and "</script><b>" not in text, "the command's name is markup")
    check(f"{EXACT + 15:,}" in page.text, "exact total in the table")
    data = json.loads(page.data)
    lines = {line["event"]: line for line in data["lines"]}
    bins, = data["sessions"]
    check(data["exact"] and bins["from"] == [0, 10 * MS, 40 * MS] and
          bins["to"] == [10 * MS, 40 * MS, 50 * MS], "bins")
    check(lines["shader16/EIGHT"]["mean"] == [100, None, 700] and
          lines["shader16/EIGHT"]["count"] == [1, None, 7], f"{lines['shader16/EIGHT']}")
    check(lines["shader/EIGHT"]["count"] == [str(EXACT + 1), 2, 12], "exact counts of samples")
    check(bins["quality"]["1"][:2] == [2, 500], f"{bins['quality']}")


def long_capture(count, period=MS):
    parts = [head()]
    for n in range(count):
        peak = 10**6 if n == count // 3 else n % 7
        parts.append(cb.record(cb.SAMPLE, cb.sample(n, START + n * period, START + (n + 1) * period,
                                                    [cb.block(cb.SHADER, 0, {8: peak})])))
    return b"".join(parts) + cb.status(count)


@test
def long_captures_hide_no_peak():
    """report --html of a long capture: fewer points than samples, including the largest sample"""
    data = json.loads(read_page(write("long.cap", long_capture(20000)))[0].data)
    line = [line for line in data["lines"] if line["event"].startswith("shader/")][0]
    bins, = data["sessions"]
    check(not data["exact"] and len(bins["from"]) < 10000 and data["samples"] == 20000, "points")
    check(max(line["max"]) == 10**9 and min(line["min"]) == 0, f"peak {max(line['max'])}")
    check(len(line["mean"]) == len(bins["from"]) == len(bins["to"]), "lengths")
    check(sum(line["count"]) == 10**6 + sum(n % 7 for n in range(20000) if n != 20000 // 3),
          "the counts of the points are not the total")
    check(all(abs(m * (b - a) / 1e9 - c) <= c * 1e-6 for m, a, b, c in
              zip(line["mean"], bins["from"], bins["to"], line["count"])), "mean over time")


@test
def pictures_are_well_formed():
    """report --svg: XML, names escaped, gaps where nothing was measured, merged samples marked"""
    for name in ("a.cap", "long.cap"):
        out = run("report", "--svg", "-A", path(name)).stdout
        svg = xml.dom.minidom.parseString(out).documentElement
        check(svg.tagName == "svg", "no svg")
        words = [t.firstChild.data for t in svg.getElementsByTagName("text") if t.firstChild]
        check(any("</script>" in w for w in words), f"title {words[:3]}")
        check(not svg.getElementsByTagName("script"), "scripts")
        paths = [p.getAttribute("d") for p in svg.getElementsByTagName("path")
                 if "mean" in p.getAttribute("class").split()]
        check(paths and all(re.fullmatch(r"[MLHVZ0-9. -]*", p) for p in paths), "paths")
        if name == "a.cap":
            check(any(p.count("M") == 2 for p in paths), "no hole")
            check([r for r in svg.getElementsByTagName("rect") if r.getAttribute("class") == "bad"],
                  "no mark")


@test
def pictures_have_their_colours():
    """report --svg and its picture in the documents, by librsvg: a white page, lines, warnings in
    their colours, not black; no picture of the documents is black"""
    if not picture.available():
        return "no rsvg-convert"
    found = picture.pixels(run("report", "--svg", path("a.cap")).stdout)
    for color, what in (("#b3261e", "merged, lost"), ("#f6f7f9", "card"),
                        ("#1a1f26", "text"), ("#0b62c4", "first group"), ("#c2570c", "second")):
        check(found.get(color, 0) > 20, f"{what}: {found.get(color)} pixels of {color}")
    pictures = os.path.join(HERE, "..", "..", "docs", "pictures")
    for name in sorted(n for n in os.listdir(pictures) if n.endswith(".svg")):
        with open(os.path.join(pictures, name), "rb") as f:
            shown = picture.pixels(f.read())
        check(name == "architecture.svg" or shown.get("#ffffff", 0) > sum(shown.values()) / 4 and
              len(shown) > 20, f"{name}: {sorted(shown.items(), key=lambda c: -c[1])[:5]}")
        check(shown.get("#000000", 0) < sum(shown.values()) / 50, f"{name}: black")
    check(found["#ffffff"] > sum(found.values()) / 2 and "#000000" not in found, "not black")
    return None


HOSTILE = "</script><img src=x onerror=alert(1)>"
# in the page of a test: user input, and what the page says after it
INPUT = """<script>
Element.prototype.setPointerCapture = () => {};
// without a display there are few frames
window.requestAnimationFrame = (draw) => setTimeout(draw);
const said = document.body.appendChild(document.createElement("pre"));
const plot = document.querySelector("#charts .plot"), box = plot.getBoundingClientRect();
const fire = (type, share) => plot.dispatchEvent(new PointerEvent(type,
	{ bubbles: true, clientX: box.left + share * box.width }));
const click = (share) => ["pointerdown", "pointerup", "click"].forEach((type) => fire(type, share));
const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", { key }));
const cells = () => [...document.querySelectorAll("#legend td")].map((td) => td.textContent);
const say = () => new Promise((done) => setTimeout(() => {
	const words = [document.getElementById("readout").textContent, ...cells()];
	said.textContent += `${words.join("|")}\n`;
	done();
}, 200));
(async () => {
	fire("pointerdown", 0.1); fire("pointermove", 0.9); fire("pointerup", 0.9);
	fire("click", 0.9); fire("pointerleave", 1); press("."); await say();
	press("0"); press(","); press("a"); press("."); press("b"); press("."); await say();
	press("Escape"); click(0.21); click(0.78); fire("pointerleave", 1); await say();
	fire("dblclick", 0.5); await say();
})();
</script>"""


def dump(page, view):
    """The page after its script ran, None without a browser."""
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not browser:
        return None
    done = subprocess.run([browser, "--no-sandbox", "--disable-gpu", "--window-size=1300,2000",
                           "--dump-dom", "--enable-logging=stderr", "--v=0",
                           "--virtual-time-budget=5000", f"file://{path(page)}#{view}"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100,
                          check=False)
    errors = [l for l in done.stderr.splitlines() if "CONSOLE" in l]
    check(not errors, f"console: {errors}")
    return done.stdout


def cells_of(row):
    return [html.unescape(re.sub("<.*?>", "", cell)).strip()
            for cell in re.findall(r"<t[dh]\b.*?>(.*?)</t[dh]>", row, re.S)]


def tables(text):
    """Texts of the cells of rows that begin with an event: those of the legend, of the tables."""
    legend, *others = [[cells_of(row) for row in re.findall(r"<tr\b.*?</tr>", table, re.S)[1:]]
                       for table in re.findall(r"<table\b.*?</table>", text, re.S)]
    return ({row[0]: row for row in legend}, {row[0]: row for rows in others for row in rows})


@test
def page_runs_in_a_browser():
    """report --html in Chromium: every line is drawn, zoom, search; names are never markup"""
    names = [cb.counter(cb.UNHEARD_OF, cb.SHADER, 9, *words, level=True)
             for words in (("LEVEL", "queues"), (HOSTILE, "<b>u</b>"))]
    read_page(write("hostile.cap", unknown_device().replace(*names)))
    everything = dump("a.html", f"blocks=1&zero=1&pin={urllib.parse.quote('shader/' + HOSTILE)}")
    if not everything:
        return "no Chromium"
    rows = re.findall(r'<path class="mean"[^>]*? d="([^"]*)"', everything)
    check('data-ready="' in everything and len(rows) >= 7, f"{len(rows)} lines drawn")
    check(all(d.startswith("M") for d in rows), "empty lines")
    check("<img" not in everything and "<b>u" not in everything, "a name is markup")
    check(f"shader/{HOSTILE}" in tables(everything)[0], f"{tables(everything)[0]}")
    zoomed = dump("a.html", "t=0.02-0.03&q=my-event")
    check("20.000 ms to 30.000 ms" in zoomed, "no zoom")
    check(len(re.findall(r'<div class="row"', zoomed)) == 1, "search shows one line")
    return None


@test
def page_agrees_with_its_tables():
    """report --html in Chromium: plot, legend and tables show the same digits, also in pieces"""
    chance = random.Random(26)
    parts, end = [head(cb.UNHEARD_OF)], START
    for n in range(60):
        span = (128 * 10**9, 8 * 10**9, 2**31, 77777777777)[min(n, 3 - n % 2)]
        count = chance.choice((chance.randrange(20), chance.randrange(2**20), EXACT + n))
        # the extremes of the other block are ties at the last digit: 1/128 and 97/8 per second
        other = (1, 97, 3 * span // 10**9)[min(n, 2)]
        parts.append(cb.record(cb.SAMPLE, cb.sample(n, end, end + span, blocks(count, other))))
        end += span
    capture = write("ties.cap", b"".join([*parts, cb.status(60)]))
    data = json.loads(read_page(capture)[0].data)
    pins = "".join("&pin=" + urllib.parse.quote(line["event"]) for line in data["lines"])
    text = dump("a.html", "zero=1" + pins)
    if not text:
        return "no Chromium"
    legend, rows = tables(text)
    check(set(legend) == set(rows) and len(rows) >= 7, f"{set(legend) ^ set(rows)}")
    for event, (_, count, unit, mean, least, most, rate_unit, _) in rows.items():
        pinned = legend[event]
        # of a metric the number has a prefix
        blank = "" if event.startswith("metric:") and count[-1].isalpha() else " "
        check(pinned[1] == rate_unit and pinned[6:9] == [mean, least, most] and
              pinned[9] == f"{count}{blank}{unit}", f"{event}: {pinned}, {rows[event]}")
    counts = [[int(c) for c in line["count"]] for line in data["lines"]
              if line["event"] == "shader/EIGHT"][0]
    ends = data["sessions"][0]["to"]
    piece = tables(dump("a.html", f"a={ends[9]}&b={ends[39]}&pin=shader/EIGHT"))[0]["shader/EIGHT"]
    check(piece[9] == f"{sum(counts[10:40]):,} fragments", f"between markers: {piece}")
    return None


@test
def long_units():
    """report and diff: a long unit shifts no column; in --svg it is not drawn over the plot"""
    def counter(n, unit):
        return cb.counter(cb.UNHEARD_OF, cb.SHADER, n, f"C{n}", unit)

    data = b"".join([
        cb.HEADER, cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, 3)),
        counter(0, "events"), counter(1, "requests x cycles"),
        *(cb.record(cb.SAMPLE, cb.sample(n, START + n * MS, START + (n + 1) * MS, [
            cb.block(cb.SHADER, 0, {0: 10**6, 1: 10**9}, product=cb.UNHEARD_OF)]))
          for n in range(20)), cb.status(20)])
    capture = write("units.cap", data)
    for words, end in (("report", capture), r"/s"), (("diff", capture, capture), r" %"):
        ends = [line.rindex(end) for line in run(*words).stdout.decode().splitlines()
                if line.startswith("shader/C") or " shader/C" in line]
        check(len(ends) == 2 and ends[0] == ends[1], f"{words}: {ends}")
    picture_texts = xml.dom.minidom.parseString(run("report", "--svg", capture).stdout)
    texts = [t.firstChild.data for t in picture_texts.getElementsByTagName("text")
             if t.firstChild]
    check("20.00 Grequests x cycles" in texts and "20,000,000 events" in texts, f"{texts}")


@test
def page_takes_input():
    """report --html in Chromium: drag to zoom, markers by mouse and keyboard, exact differences"""
    text = read_page(path("a.cap"))[1]
    with open(path("a.html"), "w", encoding="utf-8") as f:
        f.write(text.replace("</body>", INPUT + "</body>"))
    done = dump("a.html", "pin=shader16/EIGHT")
    if not done:
        return "no Chromium"
    said = [[word.strip() for word in line.split("|")]
            for line in re.search(r"<pre>(.*?)</pre>", done, re.S)[1].splitlines()]
    check(len(said) == 4, f"{said}")
    # dragged to 5 to 45 ms, the cursor on the first sample
    check(said[0][:3] == ["at 5.000 ms, 1 sample of 10.000 ms", "fragments/s", "100"], f"{said[0]}")
    # A at the first sample, B at the second, which was not measured, the cursor on the third
    check(said[1][1:] == ["fragments/s", "700", "100", "", "", "100", "100", "100", "1 fragments"],
          f"{said[1]}")
    check(said[2] == ["B \u2212 A 30.000 ms, 1 sample", "fragments/s", "", "", "700", "",
                      "not measured", "", "", ""], f"{said[2]}")
    check(said[3] == ["50.000 ms, 3 samples", "fragments/s", "", "", "", "", "400", "100", "700",
                      "8 fragments"], f"{said[3]}")
    return None


def two_devices(finished=True):
    """unknown_device(), and a session whose samples end 5 ms later: 1, 2 and 4 of a counter."""
    def other(kind, content):
        return cb.record(cb.OF_SESSION, struct.pack("<II", 1, kind) + content)

    parts = [other(cb.TEXT, cb.texts("driver", "otherdriver")),
             other(cb.TEXT, cb.texts("path", "/dev/dri/renderD129")),
             other(cb.SESSION, (10 * MS).to_bytes(8, "little") + bytes(24)),
             other(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, 0x100)),
             other(*cb.content_of(cb.counter(0x7778, cb.SHADER, 8, "OTHER", "threads")))]
    for n, count in enumerate((1, 2, 4)):
        start = START + 5 * MS + 10 * MS * n
        parts.append(other(cb.SAMPLE, cb.sample(n, start, start + 10 * MS,
                                                [cb.block(cb.SHADER, 0, {8: count},
                                                          product=0x7778)])))
    # of sessions that no file has
    parts += [cb.record(cb.OF_SESSION, struct.pack("<II", number, cb.SAMPLE) + bytes(80))
              for number in (0, 64, 2**32 - 1)]
    parts.append(cb.record(cb.OF_SESSION, b""))
    if finished:
        parts.append(other(*cb.content_of(cb.status(3))))
    whole = unknown_device()
    # before the samples of the first
    at = whole.index(cb.record(cb.SAMPLE, cb.sample(0, START, START + 10 * MS, blocks(EXACT, 1))))
    return whole[:at] + b"".join(parts) + whole[at:]


@test
def names_as_recorded():
    """report -e and diff -e take the forms of record -e: a metric without its block, no slash at
    the end, a single block"""
    capture = write("a.cap", unknown_device())
    for form, event in (("metric:eights", "metric:shader.eights"), ("metric:EI*", None),
                        ("power/my-event", "power/my-event/"), ("shader0/EIGHT", "shader0/EIGHT")):
        report = json.loads(run("report", "-j", "-e", form, capture).stdout)
        found = [c["event"] for c in report["counters"] + report.get("block_counters", [])]
        found += [m["metric"] for m in report["metrics"]]
        check(found == [event or "metric:shader.eights"], f"{form}: {found}")
        words = ["-A"] * form.startswith("shader0")
        changes = json.loads(run("diff", "-j", *words, "-e", form, capture, capture).stdout)
        check([c["event"] for c in changes["changes"]] == found, f"{form}: {changes}")
    text = run("report", "-e", "shader0/EIGHT", capture).stdout.decode()
    check(text.count(" event ") == 1 and " shader0/EIGHT " in text, text)
    check(b"-A: single blocks" in run("diff", "-e", "shader0/EIGHT", capture, capture,
                                      status=2).stderr, "hint")
    run("report", "-e", "nothing", capture, status=2)


@test
def devices_are_apart():
    """report and export of two devices: names, losses and damage of each, samples by time"""
    first, second = json.loads(run("report", "-j", write("two.cap", two_devices())).stdout)
    check(first["capture"]["device"]["driver"] == "testdriver" and
          second["capture"]["device"]["driver"] == "otherdriver" and
          second["capture"]["device"]["node"] == "renderD129", f"{second['capture']}")
    check(first["capture"]["lost_ns"] == 500 and second["capture"]["lost_ns"] == 0, "losses")
    check(second["capture"]["texts"]["command"] == first["capture"]["texts"]["command"], "texts")
    sums = by_event(second["counters"])
    check(sums["renderD129:shader/OTHER"]["value"] == 7 and len(sums) == 1, f"{sums}")
    alone = json.loads(run("report", "-j", write("a.cap", unknown_device())).stdout)
    check([c["value"] for c in alone["counters"]] == [c["value"] for c in first["counters"]],
          "the first session is not what it is alone")
    rows = list(csv.DictReader(io.StringIO(run("export", "-f", "csv", path("two.cap")).stdout
                                           .decode())))
    ends = [int(row["end_ns"]) - START for row in rows]
    check(ends == sorted(ends) and len({end // MS for end in ends}) == 6, f"{ends}")
    cut = run("report", write("cut.cap", two_devices(False)))
    check(b"renderD129: recording was not finished" in cut.stderr and
          cut.stderr.count(b"not finished") == 1, f"{cut.stderr}")
    sides = json.loads(run("diff", "-j", path("two.cap"), path("two.cap")).stdout)
    check([[c["device"]["driver"] for c in sides[side]["sessions"]] for side in "ab"] ==
          [["testdriver", "otherdriver"]] * 2, f"{sides['a']}")
    check(all(c["change"] in (0, None) for c in sides["changes"]), f"{sides['changes']}")
    page = json.loads(read_page(path("two.cap"))[0].data)
    check([s["from"][0] for s in page["sessions"]] == [0, 5 * MS], f"{page['sessions']}")
    # markers at samples of the first: those of the other by their middle
    text = dump("a.html", f"a=0&b={40 * MS}&pin=renderD129:shader/OTHER")
    if not text:
        return "no Chromium"
    piece = tables(text)[0]["renderD129:shader/OTHER"]
    check(piece[9] == "7 threads", f"{piece}")
    piece = tables(dump("a.html", f"a=0&b={10 * MS}&pin=renderD129:shader/OTHER"))[0]
    check(piece["renderD129:shader/OTHER"][9] in ("", "1 threads"), f"{piece}")
    return None


def of_cgroups(*names):
    """two_devices(), both the local one, with the cgroups that they counted"""
    path_of = cb.record(cb.TEXT, cb.texts("path", "local"))
    texts = b"".join(cb.record(cb.TEXT, cb.texts(f"cgroup.{n}", name))
                     for n, name in enumerate(names))
    whole = two_devices().replace(cb.texts("path", "/dev/dri/renderD129"),
                                  cb.texts("path", "local".ljust(19, "\0")))
    whole = whole.replace(cb.texts("driver", "otherdriver"),
                          cb.texts("driver", "local".ljust(11, "\0")))
    whole = whole.replace(cb.texts("driver", "testdriver"),
                          cb.texts("driver", "local".ljust(10, "\0")), 1)
    at = len(cb.HEADER)
    return whole[:at] + path_of + texts + whole[at:]


@test
def sessions_of_a_device_are_apart():
    """a session of each cgroup has its whole name in report, diff and export; without names,
    equal nodes are numbered"""
    long = "kubepods.slice/pod-" + "0123456789abcdef" * 20
    for names, nodes in (((f"{long}/a", f"{long}/b"), (f"{long}/a", f"{long}/b")),
                         ((), ("local", "local.1")), (("a", "a"), ("a", "a.1"))):
        capture = write("cgroups.cap", of_cgroups(*names))
        found = json.loads(run("report", "-j", capture).stdout)
        check([f["capture"]["device"]["node"] for f in found] == list(nodes), f"{names}: {found}")
        check([f["capture"]["device"]["name"] for f in found] ==
              [f"cgroup {name}" for name in names] or not names, f"{names}: {found}")
        event = f"{nodes[1]}:shader/OTHER"
        check(event in by_event(found[1]["counters"]), f"{found[1]}")
        changes = {c["event"]: c for c in json.loads(run(
            "diff", "-j", "-e", "shader/OTHER", capture, capture).stdout)["changes"]}
        check(set(changes) == {event} and changes[event]["change_percent"] == 0, f"{changes}")
        other = write("other.cap", of_cgroups(*names).replace(b"a,host", b"b,host"))
        groups = json.loads(run("diff", "-j", "--by", "host", "-e", "shader/OTHER", capture,
                                other).stdout)
        check({c["event"] for c in groups["changes"]} == {event}, f"{groups}")
        for words in (("export", "-f", "csv"), ("report",)):
            check(f"{nodes[1]}:shader".encode() in run(*words, capture).stdout, f"{words}")
    alone = json.loads(run("report", "-j", write("one.cap", of_cgroups(long).split(
        cb.record(cb.OF_SESSION, struct.pack("<II", 1, cb.TEXT) +
                  cb.texts("driver", "local".ljust(11, "\0"))))[0])).stdout)
    check(alone["capture"]["device"]["name"] == f"cgroup {long}", f"{alone}")


@test
def any_bytes_end_well():
    """report, export and diff of fuzzed and damaged captures: a result or an error, no crash"""
    archive = os.path.join(HERE, "..", "..", "libperfctr", "fuzz", "corpus.tar.xz")
    with tarfile.open(archive) as tar:
        names = [name for name in tar.getnames() if name.startswith("capture/")]
        inputs = [tar.extractfile(name).read() for name in names[::4] + ["capture/vsoc-in-stream"]]
    wholes, chance = (unknown_device(), marked_capture(3, 7), two_devices()), random.Random(7)
    for n in range(90):
        data = bytearray(wholes[n // 3 % 3])
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(16, len(data) - 8)
            data[at:at +
                 chance.choice((1, 2, 4))] = chance.choice((b"\0", b"\xff", b"\x7f\xff", b"\x80"))
        inputs.append(bytes(data))
    commands = (("report", "-A"), ("report", "--html"), ("report", "--svg", "-A"),
                ("export", "-f", "perfetto"),
                ("export", "-f", "json"), ("export", "-f", "csv"), ("diff", "-A", path("a.cap")),
                ("diff", "-A", "--per", "shader/EIGHT", path("a.cap")),
                ("diff", "--by-mark", path("marks.cap"), "--against"))
    write("marks.cap", marked_capture(3, 5))
    ends = set()
    for number, data in enumerate(inputs):
        words = commands[number % len(commands)]
        done = subprocess.run([Tools.perfctr, *words, "-"], input=data, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120, check=False)
        check(done.returncode in (0, 1), f"input {number}: {words} ended with {done.returncode}: "
              f"{done.stderr.decode(errors='replace')[-1500:]}")
        ends.add(done.returncode)
    check(ends == {0, 1}, f"only ever {ends}")


@test
def diff_compares_rates():
    """diff: clear and unclear changes, exact totals, holes; --threshold"""
    def capture(scale, seed, count=200, period=MS):
        parts, state = [head()], seed
        for n in range(count):
            state = (state * 1103515245 + 12345) % 2**31
            parts.append(cb.record(cb.SAMPLE, cb.sample(
                n, START + n * period, START + (n + 1) * period,
                [cb.block(cb.SHADER, 0, {8: scale * 1000 + state % 200, 9: 500 + state % 1000})])))
        return b"".join(parts) + cb.status(count)

    a, b = write("d1.cap", capture(10, 1)), write("d2.cap", capture(11, 2, count=400))
    result = json.loads(run("diff", "-j", a, b).stdout)
    took = result["changes"][0]
    check((took["event"], took["a"]["number"], took["b"]["number"], took["number_unit"],
           took["verdict"]) == ("time", 0.2, 0.4, "s", "unknown"), f"{took}")
    chosen = json.loads(run("diff", "-j", "-e", "time", a, b).stdout)["changes"]
    check(chosen == [took], f"{chosen}")
    changes = {c["event"]: c for c in result["changes"]}
    eight, nine = [c for c in changes.values() if not c["is_metric"]][:2]
    check(eight["verdict"] == "clear" and 9 < eight["change_percent"] < 11, f"{eight}")
    check(nine["verdict"] == "within noise", f"{nine}")
    check(isinstance(eight["a"]["value"], int) and eight["b"]["value"] > 2 * eight["a"]["value"],
          "totals")
    run("diff", "--threshold", "5", a, b, status=5)
    run("diff", "--threshold", "20", a, b)
    same = json.loads(run("diff", "-j", a, a).stdout)["changes"]
    check(all(not c["change"] and c["verdict"] != "clear" for c in same),
          "a capture differs from itself")
    # three samples are too few for statistics
    few = json.loads(run("diff", "-j", a, path("a.cap")).stdout)["changes"]
    check({c["verdict"] for c in few if c["a"] and c["b"]} <= {"unknown"},
          "verdict of three samples")
    check([c for c in few if c["a"] is None] and [c for c in few if c["b"] is None],
          "only in one of them")
    check("~" in run("diff", a, b).stdout.decode(), "text")
    run("diff", a, status=2)


def host_capture(host, frames, bytes_per_frame):
    """Samples with so many frames each; returns also the bytes of all."""
    parts = [head(cb.UNHEARD_OF), cb.record(cb.TEXT, cb.texts("host", host))]
    total = 0
    for n, count in enumerate(frames):
        total += count * bytes_per_frame
        parts.append(cb.record(cb.SAMPLE, cb.sample(
            n, START + n * MS, START + (n + 1) * MS,
            [cb.block(cb.SHADER, 0, {8: count * bytes_per_frame, 9: 5}, product=cb.UNHEARD_OF),
             pmu_block(count)])))
    return b"".join(parts) + cb.status(len(frames)), total


def rank_test(a, b):
    """p of the two-sided rank test, by all ways to choose the second group."""
    def far(chosen):
        return abs(2 * sum(ranks[n] for n in chosen) - len(b) * (len(ranks) + 1))

    both = a + b
    ranks = [sum(x < y for x in both) + (both.count(y) + 1) / 2 for y in both]
    ways = [far(c) for c in itertools.combinations(range(len(both)), len(b))]
    return sum(w >= far(range(len(a), len(both))) for w in ways) / len(ways)


@test
def diff_compares_groups():
    """diff of groups: medians, p as by counting all orders, ties too; files, directories"""
    groups = {"one": [10, 11, 12, 13, 14, 12, 11], "two": [13, 12, 15, 16, 14, 15, 17, 12],
              "far": [30, 31, 33, 32, 35], "few": [50, 60]}
    for name, values in groups.items():
        os.makedirs(path(f"groups/{name}/deep"))
        write(f"groups/{name}/README", b"not a capture")
        for n, value in enumerate(values):
            write(f"groups/{name}/{'deep/' if n % 2 else ''}{n}.cap",
                  host_capture(name, [n + 1, 2], value)[0])

    for a, b in ("one", "two"), ("one", "far"), ("two", "few"):
        result = json.loads(run("diff", "-j", "--per", "power/my-event/", path(f"groups/{a}"),
                                "--against", path(f"groups/{b}")).stdout)
        change = by_event(result["changes"])["shader/EIGHT"]
        p = rank_test(groups[a], groups[b])
        check(abs(change["p"] - p) < 1e-9, f"p of {a}, {b} is {p}: {change}")
        for side, values in (change["a"], groups[a]), (change["b"], groups[b]):
            # the PMU's event has a scale of 0.25
            check(side["median"] == 4 * statistics.median(values) and
                  side["captures"] == len(values) and side["max"] == 4 * max(values), f"{side}")
        check(change["verdict"] == {"two": "within noise", "far": "clear", "few": "unknown"}[b],
              f"{change}")
    for words in [], ["-a"]:
        took = json.loads(run("diff", "-j", *words, path("groups/one"), "--against",
                              path("groups/two")).stdout)["changes"][0]
        check(took["event"] == "time" and took["number_unit"] == "s" and
              took["a"]["median"] == took["b"]["median"] == 0.002, f"{took}")
    # the method of Benjamini and Hochberg, of events that are not constant
    result = json.loads(run("diff", "-j", "-a", path("groups/one"), "--against",
                            path("groups/two")).stdout)["changes"]
    varying = sorted((c["p"], c["p_adjusted"]) for c in result
                     if len({c[side][end] for side in "ab" for end in ("min", "max")}) > 1)
    check(len(varying) > 2 and
          all(abs(adjusted - min([1, *(len(varying) * q / (k + 1)
                                       for k, (q, _) in enumerate(varying) if k >= n)])) < 1e-12
              for n, (_, adjusted) in enumerate(varying)), f"{varying}")
    check(any(adjusted > p for p, adjusted in varying), f"{varying}")
    # of more captures p is no less than the exact one, also of mostly equal values
    os.mkdir(path("zeros"))
    zeros = [write(f"zeros/{n}.cap", host_capture("zero", [1], 0)[0]) for n in range(40)]
    one = write("one.cap", host_capture("zero", [1], 1)[0])
    for against, values in ((one,), [1]), ((one, zeros.pop()), [1, 0]):
        result = json.loads(run("diff", "-j", *zeros, "--against", *against).stdout)
        p = by_event(result["changes"])["shader/EIGHT"]["p"]
        check(p >= rank_test([0] * len(zeros), values), f"p {p} of {values}")
    write("none.cap", head(cb.UNHEARD_OF))
    done = run("diff", path("none.cap"), path("groups/one"), "--against", path("groups/far"))
    check(b"none.cap: no samples" in done.stderr and b"...: 7 captures" in done.stdout, f"{done}")
    run("diff", "--per", "power/my-event/", "--threshold", "5", path("groups/one"),
        path("groups/far"), status=5)
    check(b" clearly (p < 0.01)" in run("diff", path("groups/one"), path("groups/two")).stdout,
          "text")
    # 2 of 2 * 3 * 4 * 5 orders, so p is 1/60 at least; 2 / 252 of 5 and 5 is enough
    texts = [" ".join(run("diff", "-e", "shader/EIGHT", *a, "--against",
                          *b).stdout.decode().split())
             for a, b in (([path(f"groups/{name}/{n}.cap") for n in (0, 2)]
                           for name in ("one", "far")),
                          ([path("groups/one")], [path("groups/far")]))]
    check("?: with 2 and 2 captures one event of 1 cannot be clear, unless others differ too: it "
          "takes 5 and 5" in texts[0] and "?: too few" in texts[1], f"{texts}")
    for words in ((path("groups"), "--by", "nothing"), (path("groups/one"), "--by", "host"),
                  (path("groups"), "--against"), (path("groups"), "--against", path("a.cap"), "-j"),
                  (path("groups"), path("groups"), "--per", "nothing"),
                  (path("groups"), path("groups"), "-e", "nothing")):
        check(b"--help" in run("diff", *words, status=2).stderr, f"{words}")
    os.mkdir(path("empty"))
    check(b"no capture" in run("diff", path("empty"), path("groups"), status=1).stderr, "empty")


def marked_capture(frames, rate):
    """Frames of 12 ms in samples of 5 ms; the work of frame n is in its first half."""
    work = [t % 12 < 6 for t in range(12 * frames)]
    parts = [head(cb.UNHEARD_OF)]
    for n in range(0, len(work), 5):
        count = rate * sum(work[n:n + 5])
        parts.append(cb.record(cb.SAMPLE, cb.sample(
            n // 5, START + n * MS, START + (n + 5) * MS,
            [cb.block(cb.SHADER, 0, {8: count, 9: 5}, product=cb.UNHEARD_OF)])))
    marks = [cb.mark("frame", "f\x1b", START + n * 12 * MS) for n in range(frames + 1)]
    for n in range(frames):
        # of two threads, the second of which ends first
        marks += [cb.mark("end", "half", START + (n * 12 + 6) * MS, tid=1),
                  cb.mark("begin", "half", START + n * 12 * MS, tid=1),
                  cb.mark("begin", "half", START + (n * 12 + 1) * MS, tid=2),
                  cb.mark("end", "half", START + (n * 12 + 5) * MS, tid=2)]
    # frames of two threads, in turn; what each has is its own
    marks += [cb.mark("frame", "g", START + n * 6 * MS, tid=7 + n % 2) for n in range(2 * frames)]
    marks += [cb.mark("point", "p", START + 3 * MS, lost=2), cb.mark("end", "none", START),
              cb.mark("begin", "open", START + 6 * MS)]
    return b"".join(parts + marks)


@test
def marks_are_spans():
    """marks: frames end with the next one, phases match by thread; lost and unmatched are counted;
    in text, JSON, picture, page and trace"""
    write("m.cap", marked_capture(5, 1000))
    report = json.loads(run("report", "-j", path("m.cap")).stdout)
    check(report["capture"]["marks_lost"] == 2 and report["capture"]["marks_unmatched"] == 1,
          "lost or unmatched")
    check([m["name"] for m in report["marks"] if m["end_ns"] is None] == ["open"], "unfinished")
    spans = [(m["name"], m["kind"], (m["start_ns"] - START) // MS,
              60 if m["end_ns"] is None else (m["end_ns"] - START) // MS) for m in report["marks"]]
    expected = [("p", "point", 3, 3), ("open", "phase", 6, 60)]
    for n in range(0, 60, 12):
        if n < 48:
            expected += [("g", "frame", n, n + 12), ("g", "frame", n + 6, n + 18)]
        expected += [("f?", "frame", n, n + 12), ("half", "phase", n, n + 6),
                     ("half", "phase", n + 1, n + 5)]
    check(sorted(spans) == sorted(expected), f"spans {spans}")
    lines = run("export", "-j", path("m.cap")).stdout.decode().splitlines()
    lines = [line for line in map(json.loads, lines) if line["record"] == "mark"]
    check([{k: v for k, v in line.items() if k in report["marks"][0]} for line in lines] ==
          report["marks"] and lines[0]["host"], "JSON lines")
    text = run("report", path("m.cap")).stdout.decode()
    check(re.search(r"\b5 +frame +0.060 s +0.012 s +f\?\n", text) and
          re.search(r"\b1 +unfinished .* open\n +1 +ends without a beginning\n", text), text)
    picture = xml.dom.minidom.parseString(run("report", "--svg", path("m.cap")).stdout)
    titles = [t.firstChild.data for t in picture.getElementsByTagName("title")]
    check(titles.count("half") == 10 and titles.count("f?") == 5, f"picture {titles}")
    _, page = read_page(path("m.cap"))
    data = json.loads(re.search('id="data">(.*?)</script>', page, re.S)[1])
    check(sorted((m[4], m[3], m[0] // MS, m[1] // MS) for m in data["marks"]) == sorted(expected),
          "page")
    trace, begun, seen = decode_trace(capture="m.cap"), {}, []
    names = {p.track_descriptor.uuid: p.track_descriptor.name for p in trace.packet
             if p.HasField("track_descriptor")}
    for p in trace.packet:
        if not p.HasField("track_event") or names[p.track_event.track_uuid] != "marks":
            continue
        event, t = p.track_event, (p.timestamp - START - 1000) // MS
        if event.type == event.TYPE_SLICE_END:
            name, start = begun.pop(event.track_uuid)
            seen.append((name, start, t))
        elif event.type == event.TYPE_INSTANT:
            seen.append((event.name, t, t))
        else:
            check(event.track_uuid not in begun, "slices of a track overlap")
            begun[event.track_uuid] = event.name, t
    check(sorted(seen) == sorted((n, a, b) for n, _, a, b in expected), f"trace {seen}")


@test
def diff_compares_marks():
    """diff --by-mark: frames and phases of a capture; of two by name; samples cut by a mark count
    with their share; those of one run are one number"""
    a, b = [[write(f"m{rate + n}.cap", marked_capture(10, rate + n)) for n in range(5)]
            for rate in (1000, 1500)]

    def medians(*words):
        result = json.loads(run("diff", "-j", "-a", *words).stdout)
        return result, {(c["mark"], c["event"]): c for c in result["changes"]}

    result, changes = medians("--by-mark", a[0])
    # of each ms the share of its sample; two spans of each name
    each = [sum(t % 12 < 6 for t in range(n - n % 5, n - n % 5 + 5)) / 5 for n in range(120)]
    check([round(changes[name, "time"]["b"]["median"] / 1e-3, 9) for name in ("half", "f?", "g")] ==
          [5, 12, 12], f"mean times of spans: {changes}")
    halves = sum(sum(each[n:n + 6] + each[n + 1:n + 5]) for n in range(0, 120, 12))
    half = changes["half", "shader/EIGHT"]["b"]
    check(abs(half["median"] / (1000 * halves / 0.1) - 1) < 1e-12 and half["captures"] == 1,
          f"{half} {halves}")
    check({g["name"] for g in result["groups"]} == {"half", "f?", "g"}, "groups")
    done = run("diff", "--by-mark", a[0])
    text = done.stdout.decode()
    check(re.match(r" \S+m1000.cap: frames and phases of 3 names\n\n"
                   r"event +f\? +half +g  unit\n"
                   r"time +0.012 +0.005 +0.012   s\n", text) and
          "One capture does not show" in text and b"1 unfinished" in done.stderr, f"{done}")
    text = run("diff", "--by-mark", "-e", "shader/EIGHT", write(
        "zeros.cap", marked_capture(2, 0))).stdout.decode()
    check("all is zero" in text and "unit" not in text, text)
    # the devices of a capture in turn, with the same marks
    marks = [cb.mark(kind, name, START + at * MS) for kind, name, at in
             (("begin", "x", 0), ("end", "x", 5), ("begin", "y", 5), ("end", "y", 30))]
    result, changes = medians("--by-mark", write("twomarks.cap", two_devices() + b"".join(marks)))
    check([g["captures"] for g in result["groups"]] == [1, 1] and
          changes["y", "renderD129:shader/OTHER"]["b"]["median"] > 0 and
          changes["y", "time"]["b"]["captures"] == 1 and
          len({e for _, e in changes if e.startswith("device0:")}) > 1, f"{changes}")
    _, changes = medians("--by-mark", a[0], b[0])
    for name in "half", "f?":
        check(changes[name, "time"]["change_percent"] == 0, f"{changes[name, 'time']}")
        change = changes[name, "shader/EIGHT"]
        check(abs(change["change_percent"] - 50) < 1e-9 and change["verdict"] == "unknown",
              f"{name}: {change}")
    _, changes = medians("--by-mark", *a, "--against", *b)
    check(changes["f?", "shader/EIGHT"]["verdict"] == "clear", "verdicts")
    _, per = medians("--by-mark", "--per", "shader/EIGHT", a[0], "--against", *b[:2])
    check(per["f?", "shader/EIGHT"]["b"] ==
          {"captures": 2, "median": 1, "lower_quartile": 1, "upper_quartile": 1, "min": 1,
           "max": 1}, f"per {per['f?', 'shader/EIGHT']}")
    marks = [cb.mark("frame", str(n // 2), START + n) for n in range(2 * 257)]
    write("many.cap", marked_capture(1, 1) + b"".join(marks))
    marks = [cb.mark("frame", "half", START + n) for n in range(2)]
    write("both.cap", marked_capture(1, 1) + b"".join(marks))
    for words in ([path("a.cap")], ["--by", "host", a[0]], [path("many.cap")], [path("both.cap")]):
        run("diff", "--by-mark", *words, status=2)


@test
def marks_of_hosts():
    """diff --by host --by-mark: those of a name, a number in each capture, hosts against others"""
    os.mkdir(path("hosts"))
    for n in range(40):
        data = marked_capture(5, 1000 + n % 7 + (500 if n // 5 == 3 else 0))
        write(f"hosts/{n}", data.replace(b"host\0a,host", b"host\0host0%d" % (n // 5)))
    words = ("diff", "--by", "host", "--by-mark", "-e", "shader/EIGHT", path("hosts"))
    result = json.loads(run(*words, "-j", "-a").stdout)
    check([g["captures"] for g in result["groups"]] == [5] * 8, f"{result['groups']}")
    changes = {(c["group"], c["mark"]): c for c in result["changes"]}
    check(set(changes) == {(f"host0{n}", mark) for n in range(8) for mark in ("half", "f?", "g")},
          f"{set(changes)}")
    for mark in "half", "f?", "g":
        # the middle one of host03
        one, = json.loads(run("diff", "--by-mark", "-j", "-e", "shader/EIGHT", "--mark",
                              mark[0] + "*", path("hosts/17"), "--against",
                              path("hosts/0")).stdout)["changes"]
        check(one["a"]["median"] == changes["host03", mark]["b"]["median"],
              f"{mark}: {one} {changes['host03', mark]}")
    check({group for (group, _), c in changes.items() if c["verdict"] == "clear"} == {"host03"},
          "odd host")
    text = run(*words).stdout.decode()
    check(len(re.findall(r"^shader/EIGHT host03 (?:half|f\?  |g   ) ", text, re.M)) == 3, text)


def many_phases(name, names):
    """A capture of 192 counters in which each sample is a phase of one of the names."""
    parts = [cb.HEADER, cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, 2**48 - 1)),
             *(cb.counter(cb.UNHEARD_OF, cb.SHADER, n, f"C{n}", "events") for n in range(48))]
    for n in range(400):
        parts.append(cb.record(cb.SAMPLE, cb.sample(n, START + n * MS, START + (n + 1) * MS, [
            cb.block(cb.SHADER, index, {c: n + c + 1 for c in range(48)}, product=cb.UNHEARD_OF)
            for index in range(4)])))
        parts += [cb.mark(kind, f"phase{n % names}", START + n * MS + at)
                  for kind, at in (("begin", 0), ("end", MS - 1))]
    return write(name, b"".join([*parts, cb.status(400)]))


@test
def many_names():
    """diff -A --by-mark: time is in proportion to the names; --mark chooses among too many"""
    def children_s():
        # Linux counts the sum, and samples what part of it is the user's
        return os.times().children_user + os.times().children_system

    def seconds(names):
        capture = many_phases("many.cap", names)
        before = children_s()
        done = run("diff", "-A", "-a", "--by-mark", capture, capture)
        check(f"\n{241 * names} compared" in done.stdout.decode(), f"{done.stdout[-200:]}")
        return children_s() - before
    few, many = seconds(24), seconds(192)
    check(many < 20 * few, f"{few} s of 24 names, {many} s of 192")
    capture = many_phases("many.cap", 300)
    done = run("diff", "--by-mark", capture, capture, status=2)
    check(b"--mark PATTERN chooses" in done.stderr, f"{done.stderr}")
    changes = json.loads(run("diff", "-j", "-e", "shader/C0", "--by-mark", "--mark", "phase2??",
                             "--mark", "PHASE7", capture, capture).stdout)["changes"]
    check({c["mark"] for c in changes} == {f"phase{n}" for n in (7, *range(200, 300))},
          f"{changes[:2]}")
    # one capture: the names stand beside each other, however many, and nothing is called clear
    for names in 1, 14, 200:
        text = run("diff", "-e", "shader/C0", "--by-mark",
                   many_phases("own.cap", names)).stdout.decode()
        words = text.split("event", 1)[1].splitlines()[0].split()
        check(words == [*(f"phase{n}" for n in range(names)), "unit"] and "clear" not in text and
              "One capture does not show" in text, f"{names}: {text[:400]}")
    run("diff", "--mark", "phase1", capture, capture, status=2)
    run("diff", "--by-mark", "--mark", "nonsense", capture, capture, status=2)


@test
def a_thousand_captures():
    """diff --by host of 1,000 captures finds the two hosts that differ; SQLite finds the same"""
    fleet.write(path("fleet"))
    changes = json.loads(run("diff", "-j", "--by", "host", "--per", "shader/FRAMES", "-e", "*/READ",
                             path("fleet")).stdout)["changes"]
    check({c["group"] for c in changes if c["verdict"] == "clear"} == set(fleet.ODD), "odd hosts")
    medians = {c["group"]: c["b"]["median"] for c in changes}
    imports = ["CREATE TABLE lines (line)", ".mode ascii", '.separator "\\t" "\\n"',
               ".import /dev/stdin lines"]
    with subprocess.Popen([Tools.perfctr, "export", "-j", path("fleet")],
                          stdout=subprocess.PIPE) as export:
        harness.run("sqlite3", path("fleet.db"), *imports, stdin=export.stdout)
    rows = json.loads(harness.run("sqlite3", "-json", path("fleet.db"), """
        SELECT line ->> 'host' AS host, total(CASE WHEN key LIKE '%/READ' THEN value END) /
            total(CASE WHEN key LIKE '%/FRAMES' THEN value END) AS per_frame
        FROM lines, json_each(line, '$.counters') WHERE line ->> 'record' = 'sample'
        GROUP BY line ->> 'file', host""").stdout)
    check(len(rows) == fleet.HOSTS * fleet.EACH, f"{len(rows)} captures")
    theirs = {host: statistics.median(r["per_frame"] for r in rows if r["host"] == host)
              for host in medians}
    total = harness.run("sqlite3", path("fleet.db"), """
        SELECT sum(line ->> '$.counters."shader0/READ"') FROM lines""").stdout
    rows = csv.DictReader(io.StringIO(run("export", "-f", "csv", path("fleet")).stdout.decode()))
    ours = sum(int(r["value"]) for r in rows if r["event"] == "shader0/READ")
    reports = json.loads(run("report", "-j", "-A", path("fleet")).stdout)
    reported = sum(c["value"] for r in reports for c in r["block_counters"]
                   if c["event"] == "shader0/READ")
    check(int(total) == ours == reported, f"CSV {ours}, JSON {total}, report {reported}")
    # the command of docs/captures.md
    run("diff", "-j", "--by", "host", "--per", "shader/FRAMES", "-e", "*/READ", "-o",
        path("groups.json"), path("fleet"))
    done = harness.run("sqlite3", "", """
        SELECT value ->> 'group', value ->> 'event', value ->> 'change_percent'
        FROM json_each(readfile('groups.json'), '$.changes')
        WHERE value ->> 'verdict' = 'clear'""", cwd=Tools.work)
    check({line.split("|")[0] for line in done.stdout.splitlines()} == set(fleet.ODD), done.stdout)
    check(len(medians) == fleet.HOSTS and
          all(abs(medians[host] / theirs[host] - 1) < 1e-12 for host in theirs), f"{theirs}")


@test
def odd_hosts_of_one_capture_each():
    """diff --by host of one capture of each of 200 hosts finds both that differ, and no other"""
    chance = random.Random(51)
    os.makedirs(path("single"))
    for number in range(200):
        write(f"single/{number}", fleet.capture(f"host{number:03}", chance))
    words = ("diff", "--by", "host", "--per", "shader/FRAMES", "-e", "*/READ")
    changes = json.loads(run(*words, "-j", path("single")).stdout)["changes"]
    check({c["group"] for c in changes if c["verdict"] == "clear"} == set(fleet.ODD), "odd hosts")
    check({c["test"] for c in changes} == {"medians"}, "test")
    shown = run(*words, path("single")).stdout.decode()
    check(all(host in shown for host in fleet.ODD) and "host001" not in shown and
          "their medians" in shown, shown)
    few = [path(f"single/{number}") for number in range(8)]
    changes = json.loads(run(*words, "-j", *few).stdout)["changes"]
    check({c["verdict"] for c in changes} == {"unknown"}, "eight hosts show no spread")


def many_blocks(count):
    """Four samples of so many blocks, with two counters and a metric of each."""
    parts = [cb.HEADER, cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, 3)),
             cb.counter(cb.UNHEARD_OF, cb.SHADER, 0, "ZERO", "cycles"),
             cb.counter(cb.UNHEARD_OF, cb.SHADER, 1, "ONE", "cycles"),
             cb.metric(cb.UNHEARD_OF, cb.SHADER, "ratio", "", "ZERO / ONE"),
             cb.anchor(START, REALTIME)]
    for n in range(4):
        blocks = [cb.block(cb.SHADER, index, {0: index + n, 1: index + 1}, product=cb.UNHEARD_OF)
                  for index in range(count)]
        parts.append(cb.record(cb.SAMPLE, cb.sample(n, START + n * MS, START + (n + 1) * MS,
                                                    blocks)))
    return b"".join(parts) + cb.status(4)


def plain():
    """The program without sanitizers."""
    return os.path.join(Tools.build, "bin/perfctr")


@test
def nothing_is_left_out_without_memory():
    """a call of malloc() that fails changes no output: it is an error, or makes no difference"""
    write("16.blocks", many_blocks(16))
    captures, faults = [path("16.blocks")], os.path.join(Tools.build, "tests/faults.so")
    for words in (("report", "-A"), ("export", "-f", "csv"), ("export", "-f", "perfetto"),
                  ("diff", "-A", *captures), ("diff", "-A", *captures, "--against")):
        # sanitizers have a malloc() of their own
        command = (plain(), *words, *captures)
        whole = harness.run(*command, text=False).stdout
        errors = same = 0
        while same < 20:
            number = 1 + 41 * (errors + same)
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  check=False, env={**os.environ, "LD_PRELOAD": faults,
                                                    "FAULT_MEMORY": str(number)})
            # glibc's fts_open() crashes, which is an error too
            check(done.returncode or done.stdout == whole, f"{words} without memory {number}")
            errors += done.returncode != 0
            same += done.returncode == 0
        check(errors > 3, f"{words}: {errors} errors")


def memory_kb(*words):
    """The most memory that a command takes, which is no less than a small Python's."""
    launch = ("import os, sys; "
              "pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=["
              "(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]); "
              "_, status, usage = os.wait4(pid, 0); print(usage.ru_maxrss); sys.exit(status != 0)")
    # not another one's child: Linux adds the memory of the program before exec
    return int(harness.run(sys.executable, "-I", "-S", "-c", launch, plain(), *words).stdout)


@test
def blocks_take_little_memory():
    """diff -A of 4,096 blocks takes less than 1.3 times the memory of report -A, as A is freed
    before B is read; JSON is written as it is made, and no export takes more"""
    write("4096.blocks", many_blocks(4096))
    report = memory_kb("report", "-A", path("4096.blocks"))
    for words in (("report", "-A", "-j"), ("diff", "-A"), ("diff", "-A", "-j"),
                  ("diff", "-A", path("4096.blocks"), "--against"), ("report", "--html"),
                  ("export", "-f", "csv"), ("export", "-f", "json"), ("export", "-f", "perfetto")):
        captures = [path("4096.blocks")] * (2 if words[0] == "diff" and len(words) < 4 else 1)
        memory = memory_kb(*words, *captures)
        check(memory < 1.3 * report, f"{' '.join(words)}: {memory} kB, report -A {report} kB")


@test
def a_page_has_a_limit():
    """report --html of 6,147 lines: the first 2,000, sums first, which the page says; -e chooses
    blocks alone, too"""
    write("2048.blocks", many_blocks(2048))
    page, _ = read_page(path("2048.blocks"))
    lines = json.loads(page.data)["lines"]
    check(sum(line["block"] for line in lines) <= 2000 - 3 and
          {"shader/ZERO", "shader/ONE"} < {line["event"] for line in lines}, f"{len(lines)} lines")
    check("these are the first 2000 of 6147 counters" in page.text, "the page is silent")
    page, _ = read_page(path("2048.blocks"), "-e", "shader2047/*")
    check({line["event"] for line in json.loads(page.data)["lines"]} ==
          {"shader2047/ZERO", "shader2047/ONE"} and "page has a limit" not in page.text, "-e")


@test
def times_of_captures():
    """--from and --to choose by the beginning of captures, in GNU date's forms and time zones"""
    os.makedirs(path("times"))
    chance = random.Random(53)
    # fleet.START, 1 s after the boot, is REALTIME
    for number in range(4):
        capture = fleet.capture(f"host{number}", chance)
        write(f"times/{number}", capture.replace(
            cb.anchor(fleet.START, REALTIME),
            cb.anchor(fleet.START, REALTIME + number * 3600 * 10**9)))

    def hosts(*words, zone="UTC", status=0):
        os.environ["TZ"] = zone
        try:
            reports = run("report", "-j", *words, path("times"), status=status).stdout
        finally:
            del os.environ["TZ"]
        return [int(r["capture"]["texts"]["host"][4:]) for r in json.loads(reports)]

    # REALTIME is 2023-11-14 22:13:20 UTC
    for words, expected, zone in (
            (("--from", "2023-11-14"), [0, 1, 2, 3], "UTC"),
            (("--from", "2023-11-15"), [2, 3], "UTC"),
            (("--to", "2023-11-15"), [0, 1], "UTC"),
            (("--from", "2023-11-15"), [0, 1, 2, 3], "Asia/Tokyo"),
            (("--from", "2023-11-14 23:13:20", "--to", "2023-11-15 00:13:20"), [1], "UTC"),
            (("--from", "2023-11-14T23:13:21Z"), [2, 3], "Asia/Tokyo"),
            (("--from", "2023-11-15T00:13:20+01:00"), [1, 2, 3], "UTC"),
            (("--from", "2023-11-14 17:43:21 -0530"), [2, 3], "UTC"),
            (("--to", "2023-11-15 00:13 +01"), [0], "UTC"),
            (("--to", f"@{REALTIME // 10**9 + 1}"), [0], "UTC"),
            (("--to", "2 days ago", "--from", "@0"), [0, 1, 2, 3], "UTC")):
        check(hosts(*words, zone=zone) == expected, f"{words} {zone}: {hosts(*words, zone=zone)}")
    for text in "", "tomorrow", "2023-02-30", "2023-11-14 24:61", "2023-11-14 12", "@", "1 ago":
        error = run("report", "--from", text, path("times"), status=2).stderr
        check(f"time '{text}': give one as 2026-11-30".encode() in error, error.decode())
    error = run("export", "-j", "--from", "yesterday", path("times"), status=1).stderr
    check(b"no capture begins in the time of --from and --to, 4 begin outside" in error,
          error.decode())
    groups = json.loads(run("diff", "-j", "--by", "host", "--from", "2023-11-15Z",
                            path("times")).stdout)["groups"]
    check([g["name"] for g in groups] == ["host2", "host3"], f"{groups}")
    run("diff", "--to", "now", path("times/0"), path("times/1"), status=2)


@test
def directories_of_a_fleet():
    """report, export, diff: compressed captures are read; what cannot be read is named, the rest
    is shown, status 1"""
    folder = path("mixed")
    os.makedirs(folder)
    data = unknown_device()
    plain = write("mixed/a.cap", data)
    for command in ("gzip", "zstd"):
        done = subprocess.run([command, "-c", plain], stdout=subprocess.PIPE, check=True)
        write(f"mixed/{command}.packed", done.stdout)
    write("mixed/readme", b"no capture\n")
    write("mixed/log.gz", subprocess.run(["gzip", "-c", path("mixed/readme")], check=True,
                                         stdout=subprocess.PIPE).stdout)
    readable = run("report", "-j", folder)
    check(len(json.loads(readable.stdout)) == 3 and not readable.stderr, readable.stderr.decode())
    with open(path("mixed/zstd.packed"), "rb") as f:
        packed = f.read()
    piped = run("report", "-j", "-", stdin=packed)
    check(json.loads(piped.stdout)["capture"]["samples"] == 3, "a pipe of compressed bytes")
    bad = {"empty": b"", "newer": data[:8] + b"\xff" * 8 + data[16:],
           "cut.zst": packed[:40]}
    for name, content in bad.items():
        write(f"mixed/{name}", content)
    os.symlink("nowhere", path("mixed/dangling"))
    for words in (("report", "-j"), ("export", "-f", "csv"), ("diff", "--by", "host")):
        # all captures are of one host
        done = run(*words, folder, status=2 if words[0] == "diff" else 1)
        errors = done.stderr.decode()
        for name in (*bad, "dangling"):
            check(f"mixed/{name} is left out" in errors, f"{words}: {name}: {errors}")
        check("readme" not in errors and "log.gz" not in errors, errors)
        if words[0] == "report":
            check(len(json.loads(done.stdout)) == 3, "reports")
        if words[0] == "export":
            rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
            check(len({row["file"] for row in rows}) == 3, "exports")
    done = run("report", path("mixed/cut.zst"), status=1)
    check(not done.stdout and b"zstd cannot unpack it: it is cut off" in done.stderr,
          done.stderr.decode())
    done = run("report", path("mixed/newer"), path("mixed/empty"), status=1)
    check(not done.stdout and done.stderr.count(b"is left out") == 2, done.stderr.decode())


def zstd(data):
    return subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout


@test
def cut_frames_of_zstd():
    """report of a .zst that ends within a frame, as after a crash: all whole frames, the bytes that
    are left out, and status 0; a damaged one: the frames before, status 1; one long frame that is
    cut: its complete samples"""
    data = unknown_device()
    starts, at = [], 16
    while at < len(data):
        size, kind = struct.unpack_from("<II", data, at)
        starts += [at] if kind == 16 else []
        at += size
    ends = [*starts, len(data)]
    frames = [zstd(data[a:b]) for a, b in zip([0, *ends], ends)]
    check(len(frames) == 4, f"{len(frames)} frames")
    whole = json.loads(run("report", "-j", "-", stdin=b"".join(frames)).stdout)
    check(whole["capture"]["samples"] == 3 and whole["capture"]["finished"], f"{whole['capture']}")
    for count in range(1, 4):
        before = b"".join(frames[:count])
        for left in (1, 4, 9, len(frames[count]) - 1):
            done = run("report", "-j", "-", stdin=before + frames[count][:left])
            capture = json.loads(done.stdout)["capture"]
            check((capture["samples"], capture["cut_bytes"], capture["finished"]) ==
                  (count - 1, left, False) and capture["damage"] is None, f"{capture}")
            check(f"in the middle of a frame of zstd ({left} byte" in done.stderr.decode(),
                  done.stderr.decode())
        damaged = bytearray(before + frames[count])
        damaged[-6] ^= 1
        done = run("report", "-j", "-", stdin=bytes(damaged), status=1)
        capture = json.loads(done.stdout)["capture"]
        check(capture["samples"] == count - 1 and capture["damage"], f"{capture}")
    single = zstd(data)
    done = run("report", "-j", "-", stdin=single[:-4])
    check(json.loads(done.stdout)["capture"]["finished"], "a frame without its checksum")
    for size in range(20, len(single), 97):
        done = run("report", "-j", "-", stdin=single[:size], status=(0, 1))
        check(done.stdout or b"cannot unpack" in done.stderr or b"no capture" in done.stderr,
              done.stderr.decode())
    write("kept.zst", single)
    done = run("report", "-o", path("kept.zst"), path("kept.zst"), status=2)
    with open(path("kept.zst"), "rb") as f:
        check(f.read() == single and b"a capture is there" in done.stderr, "it is replaced")


@test
def captures_of_version_1():
    """captures of the kernel interface's version 2 print as they did then"""
    def stored(name):
        with tarfile.open(os.path.join(HERE, "captures-1.tar.xz")) as tar:
            return tar.extractfile(name).read()

    for name in ("soc", "nv50"):
        capture = write(f"{name}.cap", stored(f"{name}.cap"))
        for kind, words in (("report", ("report", "-j", "-A")),
                            ("export", ("export", "-f", "json"))):
            now = run(*words, capture).stdout.replace(capture.encode(), f"{name}.cap".encode())
            now = now.replace(b"longer samples, which loses resolution but no counts",
                              b"longer samples: time resolution lost, no counts")
            # since then each sample says where it comes from
            now = re.sub(rb'(\}),"file":"[^{}]*(\}\n)', rb"\1\2", now)
            then = stored(f"{name}.{kind}.json")
            # empty arrays as json-c 0.18 prints them
            now = re.sub(rb'\n *"sample_mean":.*|\n? *"marks(_\w+)?": ?(0|\[\s*\]),', b"", now)
            now = re.sub(rb'\n? *"busiest": ?(null|\{[^{}]*\}),', b"", now)
            # a count of part of the time is marked now
            now = re.sub(rb'"partial": ?(?:true|false),\s*("running_percent)', rb"\1", now)
            # impossible numbers are looked for now
            now = re.sub(rb'\n? *"bad_numbers": ?false,', b"", now)
            # each counter has the span of its counts now
            now = re.sub(rb'("samples_missed":.*)(\n *"(start|end|elapsed)_ns":.*){3}', rb"\1", now)
            lines = [re.sub(r"\[\s+\]", "[]", text.decode()).splitlines() for text in (then, now)]
            # rates are means of samples now, and the extremes of what took turns those while it ran
            number = re.compile(r'("(?:rate|sample_min|sample_max)": *)([0-9.e+]+)')
            rates = [[number.match(line.strip()) for line in text] for text in lines]
            check(all(math.isclose(float(a[2]), float(b[2]), rel_tol=0.02)
                      for a, b in zip(*rates) if a and b and "rate" in a[1]), "rates")
            lines = [[number.sub(r"\1", line) for line in text] for text in lines]
            check(lines[0] == lines[1], "\n".join([*difflib.unified_diff(*lines, n=0)][:20]))
        # a truncated file is read up to its end
        data = stored(f"{name}.cap")
        for size in range(16, len(data), 4099):
            run("report", "-j", "-", stdin=data[:size], status=0)


@test
def interrupted_output():
    """report, export and diff -o FILE: only a complete result replaces an existing file"""
    capture, out = write("slow.cap", long_capture(60000)), path("out.csv")
    with open(out, "w", encoding="ascii") as f:
        f.write("before")
    process = subprocess.Popen([Tools.perfctr, "export", "-f", "csv", "-o", out, capture])
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    interrupted = process.wait(timeout=60) == -signal.SIGINT
    with open(out, encoding="ascii") as f:
        text = f.read()
    # the signal may come when the file is complete and has its name
    check(text.count("\n") == 120001 or interrupted and text == "before", "half of a file")
    check(not [n for n in os.listdir(Tools.work) if "part" in n], "something stays behind")
    run("export", "-f", "csv", "-o", out, path("a.cap"))
    run("report", "-o", "/dev/null", path("a.cap"))
    with open(out, encoding="ascii") as f:
        check(len(f.read().splitlines()) == 22, "the whole file")
    check(not [n for n in os.listdir(Tools.work) if "part" in n], "something stays behind")
    run("report", "-o", path("no/folder"), path("a.cap"), status=1)
    run("report", path("nothing"), status=1)
    run("report", HERE, status=1)
    run("report", "-o", "/dev/full", path("a.cap"), status=1)
    os.symlink(out, path("link"))
    run("report", "-o", path("link"), path("a.cap"))
    check(os.path.islink(path("link")) and os.path.getsize(out) > 500, "the link is gone")
    # a capture is no output, and a file with several names counts once
    run("export", "-j", "-o", path("a.cap"), path("a.cap"), status=2)
    os.makedirs(path("names"))
    os.symlink(path("a.cap"), path("names/link"))
    os.link(path("a.cap"), path("names/again"))
    rows = run("export", "-f", "csv", path("names"), path("a.cap"), path("a.cap")).stdout
    check(len(rows.splitlines()) == 1 + 3 * 7, f"{rows}")


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    Tools.perfctr, Tools.build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as Tools.work:
        return harness.main()


if __name__ == "__main__":
    sys.exit(main())
