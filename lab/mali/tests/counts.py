# SPDX-License-Identifier: MIT
"""Counts by perfctr stat against the truth of a model of a Mali GPU. Imported by tests that run in
the guest, under lab/mali/start."""

import glob
import json
import os
import subprocess

from mali import DEVICE, MODEL, Log, jobs, node, read
from harness import check, drop, run, wait_for

WORK = ("draw=33,2", "fragment=70,50", "compute=5,3,2", "store")
# What one job of WORK does, and nothing else: jobs of the three kinds, 3 × 2 tasks of 32 pixels or
# 2 × 1 of 64, 11 triangles and 9 position tasks twice, 5 × 4 tiles, workgroups
PRODUCT = read(f"{MODEL}/state").split("product ")[1].split()[0]
HAS_128 = PRODUCT in ("g615", "g720", "g725")
JM = DEVICE == "panfrost"
FRAGMENT_JOBS = "jm/JS0_JOBS" if JM else "cshw/ITER_FRAG_JOB_COMPLETED"
CSG, METADATA = (read(f"/sys/module/mali/parameters/{name}") == "Y" for name in ("csg", "metadata"))
EXPECTED = {FRAGMENT_JOBS: 1, "tiler/TRIANGLES": 22, "tiler/LINES": 0,
            "cshw/ITER_FRAG_TASK_COMPLETED": 2 if PRODUCT in ("g720", "g725") else 6}
if JM:
    # Midgard has tasks of 16 pixels, and a job for vertices, and counts lines beside culling
    MIDGARD = PRODUCT.startswith("t")
    EXPECTED = {FRAGMENT_JOBS: 1, "jm/JS0_TASKS": 20 if MIDGARD else 6, "tiler/TRIANGLES": 22,
                "shader/FRAG_PTILES": 20}
    if PRODUCT != "t720":
        EXPECTED["shader/COMPUTE_TASKS"] = 30 + (66 if MIDGARD else 0)
    if not MIDGARD:
        EXPECTED |= {"tiler/LINES": 0, "tiler/IDVS_POS_SHAD_REQ": 18}
elif PRODUCT != "g725":
    EXPECTED["tiler/IDVS_POS_SHAD_REQ"] = 18
# in blocks of 128 counters these are valid together with some that only shaders know: not at all
if not HAS_128 and not JM:
    EXPECTED |= {"cshw/ITER_TILER_JOB_COMPLETED": 1, "cshw/ITER_COMP_JOB_COMPLETED": 1,
                 "shader/FRAG_PTILES": 20, "shader/COMPUTE_TASKS": 30}
# where the model counts jobs of the three kinds
if CSG:
    EXPECTED["csg/C5"] = 3

NAMES = {}


def truth():
    """{(block type, its index, counter by name): counts}"""
    if not NAMES:
        listed = run("perfctr", "list", "-d", node(), "--json").stdout
        NAMES.update(((e["block"], e["position"]), e["name"])
                     for e in json.loads(listed)["events"] if e["position"] is not None)
    values = {}
    for line in read(f"{MODEL}/truth").splitlines():
        kind, index, counter, value = line.split()
        name = NAMES.get((kind, int(counter)), f"C{counter}")
        values[kind, int(index), name] = int(value)
    return values


def device_info():
    return json.loads(run("perfctr", "info", "-d", node(), "--json").stdout)["devices"][0]


PERIOD_NS = 5_000_000
# perfctr's sessions are in its process, though the kernel has the counter core
OWN_INTERFACE = False
SESSIONS = "/sys/kernel/debug/dri/*/perfctr_sessions"


def counting(pid="[0-9]*"):
    """Number of sessions that a process counts, or all of them."""
    done = run("sh", "-c", f"cat /proc/{pid}/task/*/comm", status=(0, 1))
    return done.stdout.split("\n").count("perfctr-local")


def kernel_sessions():
    """Number of sessions that count in the kernel."""
    # a folder has several names
    paths = {os.path.realpath(path) for path in glob.glob(SESSIONS)}
    return sum(read(path).count(" yes ") for path in paths)


def is_started(pid):
    """Whether a session counts, in the kernel or, if a driver's own interface does, in a process:
    then it may have one of the kernel's earlier."""
    return counting(pid) or (not OWN_INTERFACE and kernel_sessions())


class Stat:
    """perfctr stat of all blocks, around a command or a with-block."""

    def __init__(self, *options, period=f"{PERIOD_NS}ns", uid=None, by_others=0):
        """uid: whose process; by_others: what counting() is when another process counts for it."""
        self.begin = truth()
        self.log = Log()
        events = [option for event in EXPECTED for option in ("-e", event)]
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            ("perfctr", "stat", "-d", node(), "--json", "-A", "-p", period, *events, *options, "--",
             "cat"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, preexec_fn=drop(uid) if uid else None)
        wait_for(lambda: (counting() == by_others if by_others else is_started(self.process.pid)),
                 "perfctr stat does not start")

    def end(self):
        out, errors = self.process.communicate(timeout=60)
        check(self.process.returncode == 0, f"perfctr stat: {errors}")
        return json.loads(out)

    def compare(self, result, exact=True):
        """Each of these counters, of each block, against the truth; not exact: never more than it.
        Returns the sums. Nothing is exact if this machine stood still until the driver reset the
        GPU."""
        before, after = self.begin, truth()
        exact = exact and not self.stalled()
        check(len(result["counters"]) >= 3, f"only {len(result['counters'])} counters")
        totals = {}
        for c in result["counters"]:
            key = c["type"], c["index"], c["counter"]
            expected = after.get(key, 0) - before.get(key, 0)
            check(c["state"] == "ok", f"{key} is {c['state']}")
            good = c["value"] == expected if exact else c["value"] <= expected
            check(good, f"{key}: counted {c['value']}, truth {expected}")
            event = f"{c['type']}/{c['counter']}"
            totals[event] = totals.get(event, 0) + c["value"]
        return totals

    def stalled(self):
        return "timedout" in self.log.text()


def count_exactly(*arguments, number, period=f"{PERIOD_NS}ns", work=jobs, **options):
    """Jobs under perfctr stat: the counts equal the truth, and what the jobs should do."""
    stat = Stat(period=period)
    work(*arguments, *WORK, **options)
    totals = stat.compare(stat.end())
    check(totals == {event: n * number for event, n in EXPECTED.items()} or stat.stalled(),
          f"totals {totals}")
